#!/usr/bin/env python3
"""Workers that compute on emulated GPUs: gradients and models pass through the host's memory."""
import re
import unittest

from EmulatedGpu import EmulatedGpuTest
from EndToEnd import main
from Workers import HAS_WORKERS, WorkersTest

METHODS = ("method=DataParallelSGD", "Train=[SGD=[ParallelTrain=[DataParallelSGD=[gradientBits=1]]]]",
           "Train=[SGD=[ParallelTrain=[DataParallelSGD=[useBufferedAsyncGradientAggregation=true]]]]",
           "method=ModelAveragingSGD")


@unittest.skipUnless(HAS_WORKERS, "no MPI: neither mpiexec nor a build with it")
class ParallelGpuTest(WorkersTest, EmulatedGpuTest):
    def test_workers_on_gpus_train_as_workers_on_the_cpu_do(self):
        environment = self.emulate(CNTK_EMULATED_GPUS="name=one;name=two")
        for i, method in enumerate(METHODS):
            logs = [self.workers(2, "folder=%s%d" % (device, i), "command=Train", "epochs=1", "deviceId=" + device,
                                 method, environment=environment) for device in ("cpu", "auto")]
            self.assertIn("Using CPU", logs[0])
            self.assertIn("Using GPU", logs[1])
            losses = [re.findall(r"(?:Training|Validation) Set.*?LossPerSample = ([0-9.]+)", log) for log in logs]
            self.assertEqual(len(losses[0]), 2)
            self.assertEqual(losses[0], losses[1])
            WorkersTest.assert_near(self, "auto%d" % i, "cpu%d" % i, digits=9)


if __name__ == "__main__":
    main()
