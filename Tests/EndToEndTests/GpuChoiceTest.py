#!/usr/bin/env python3
"""The choice of deviceId=auto, the self-check, and the messages about unusable GPUs, on emulated GPUs."""
import fcntl
import os
import re

from EmulatedGpu import EMULATED, EmulatedGpuTest
from EndToEnd import main

CONFIG = """
command=Train
precision=double
modelPath=model.dnn
deviceId=auto
Train=[
  action=train
  SimpleNetworkBuilder=[
    layerSizes=2:$hidden$:2
    trainingCriterion=CrossEntropyWithSoftmax
    evalCriterion=ErrorPrediction
    layerTypes=Sigmoid
  ]
  SGD=[
    minibatchSize=$minibatch$
    learningRatesPerMB=0.5
    maxEpochs=1
  ]
]
reader=[
  readerType=UCIFastReader
  file=data.txt
  miniBatchMode=Partial
  randomize=none
  features=[ dim=2; start=0 ]
  labels=[ start=2; dim=1; labelDim=2; labelMappingFile=map.txt ]
]
hidden=9
minibatch=10
"""
CARD = r"GPU %d \(%s, [0-9]+ MiB, compute capability [0-9.]+; driver for CUDA 13\.0; products: emulated; " \
       r"convolutions: cuDNN 9\.0\)"


class GpuChoiceTest(EmulatedGpuTest):
    def setUp(self):
        super().setUp()
        self.write("config.cntk", CONFIG)
        self.write("data.txt", "".join("%f %f %d\n" % (i % 7 / 7, i % 11 / 11, i % 2) for i in range(100)))
        self.write("map.txt", "0\n1\n")

    def run_on(self, gpus, *arguments, environment, status=0):
        return self.cntk("configFile=config.cntk", "makeMode=false", *arguments, status=status,
                         environment=dict(environment, CNTK_EMULATED_GPUS=gpus))

    def line(self, run):
        lines = [line for line in run.stderr.splitlines() if line.startswith("deviceId=auto takes ")]
        self.assertEqual(len(lines), 1, run.stderr)
        return lines[0]

    def test_auto_trains_on_a_gpu_that_is_right(self):
        environment = self.emulate()
        cpu = self.cntk("configFile=config.cntk", "deviceId=cpu", "modelPath=cpu.dnn")
        self.assertNotIn("deviceId=auto takes", cpu.stderr)
        gpu = self.run_on("name=Card", environment=environment)
        self.assertRegex(self.line(gpu), "^deviceId=auto takes " + CARD % (0, "Card") + "$")
        self.assertIn("Using GPU 0", gpu.stderr)
        self.assert_near(self.criteria(gpu), self.criteria(cpu))

    def test_auto_takes_the_gpu_that_another_command_names(self):
        environment = self.emulate()
        for arguments in ("Train=[deviceId=1]", "Test=[action=test]"), ("Train=[]", "Test=[action=test; deviceId=1]"):
            run = self.run_on("name=A;name=B", "command=Train:Test", *arguments, environment=environment)
            self.assertIn("SimpleNetworkBuilder Using GPU 1", run.stderr)
            self.assertRegex(run.stderr, r"\n(Train|Test): deviceId=auto takes the GPU 1 that another command of this run "
                                         r"names\n")
            self.assertNotIn("\ndeviceId=auto takes", run.stderr)

    def test_commands_of_one_run_may_compute_on_the_cpu_and_on_a_gpu(self):
        environment = self.emulate()
        cpu = self.cntk("configFile=config.cntk", "command=Train:Test", "Test=[action=test]", "deviceId=cpu",
                        "modelPath=cpu.dnn")
        for model, train, test in ("a.dnn", "-1", "0"), ("b.dnn", "0", "cpu"), ("c.dnn", "auto", "-1"):
            arguments = "command=Train:Test", "Train=[deviceId=%s]" % train, "Test=[action=test; deviceId=%s]" % test
            run = self.run_on("name=A", "modelPath=" + model, *arguments, environment=environment)
            self.assertIn("SimpleNetworkBuilder Using " + ("CPU" if train == "-1" else "GPU 0"), run.stderr)
            self.assertEqual("deviceId=auto takes GPU 0" in run.stderr, train == "auto")
            self.assert_near(self.criteria(run), self.criteria(cpu))

    def test_auto_without_a_gpu_shares_the_cpu_that_another_command_names(self):
        run = self.run_on("name=A", "command=Train:Test", "Test=[action=test; deviceId=-1]", "excludedDevices=0",
                          environment=self.emulate())
        self.assertIn("deviceId=auto takes the CPU: ", run.stderr)
        self.assertEqual(len(self.criteria(run)), 2)

    def test_one_run_uses_one_gpu(self):
        run = self.run_on("name=A;name=B", "command=Train:Test", "Train=[deviceId=1]", "Test=[action=test; deviceId=0]",
                          environment=self.emulate(), status=3)
        self.assertRegex(run.stderr, "command 'Test' asks for deviceId=0, but another command of this run computes on GPU 1; "
                                     "one run uses one GPU, besides the CPU")

    def test_auto_leaves_a_gpu_that_is_wrong(self):
        environment = self.emulate()
        cpu = self.cntk("configFile=config.cntk", "deviceId=cpu", "modelPath=cpu.dnn")
        for fault, operation in ("Multiply", "product"), ("CopyToHost", "product"), ("MomentumUpdate", "update"):
            with self.subTest(fault=fault):
                run = self.run_on("name=Bad,fault=" + fault, environment=environment)
                number = r"-?[0-9.e+-]+|-?nan|-?inf"
                self.assertRegex(
                    self.line(run), r"^deviceId=auto takes the CPU: no GPU can be used: GPU 0 \(Bad\): its self-"
                    r"check failed: the %s of float gives (%s) instead of (%s) \(element [0-9]+, tolerance "
                    r"[0-9.e+-]+\); %s$" % (operation, number, number, CARD % (0, "Bad")))
                self.assertIn("Using CPU", run.stderr)
                self.assertEqual(self.criteria(run), self.criteria(cpu))

    def test_a_gpu_asked_for_must_be_right(self):
        environment = self.emulate()
        run = self.run_on("name=Bad,fault=MomentumUpdate", "deviceId=0", status=6, environment=environment)
        self.assertRegex(run.stderr, r"GPU 0 cannot be used: its self-check failed: the update of float gives .* "
                                     r"instead of .*; " + CARD % (0, "Bad") + "; deviceId=cpu runs on the CPU, "
                                     r"gpuSelfCheck=false uses the GPU all the same")
        self.assertFalse((self.folder / "model.dnn").exists())
        unchecked = self.run_on("name=Bad,fault=MomentumUpdate", "deviceId=0", "gpuSelfCheck=false", environment=environment)
        self.assertIn("Using GPU 0", unchecked.stderr)

    def test_the_least_busy_is_taken(self):
        environment = self.emulate()
        environment["LD_LIBRARY_PATH"] += ":%s/management" % EMULATED
        gpus = "name=Busy,busy=95;name=Old,capability=52;name=Wrong,fault=Multiply;name=Good,busy=30,used=200;" \
               "name=Full,used=1000"
        line = self.line(self.run_on(gpus, environment=environment))
        self.assertRegex(line, "^deviceId=auto takes " + CARD % (3, "Good") +
                         ": 30 % busy, 824 of 1024 MiB free; not GPU 1 .Old.: Old has compute capability 5.2; 7.5 or "
                         "later is needed; GPU 2 .Wrong.: its self-check failed: the product of float gives .*$")
        # Among equal cards the first.
        self.assertIn("takes GPU 0 (A,", self.line(self.run_on("name=A;name=B", environment=environment)))
        self.assertIn("takes GPU 1 (B,", self.line(self.run_on("name=A;name=B", "excludedDevices=0", environment=environment)))
        self.assertIn("takes the CPU: no GPU can be used: GPU 0 (A): excludedDevices names it; GPU 1 (B): excludedDevices",
                      self.line(self.run_on("name=A;name=B", "excludedDevices=0:1", environment=environment)))

    def test_a_gpu_that_another_run_has_taken(self):
        environment = self.emulate()
        lock = "/tmp/cntk-gpu-emulated-%s-0.lock" % environment["CNTK_EMULATED_LOCKS"]
        self.addCleanup(lambda: [os.path.exists(lock[:-6] + n) and os.remove(lock[:-6] + n) for n in ("0.lock", "1.lock")])
        with open(lock, "w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            line = self.line(self.run_on("name=A;name=B", environment=environment))
            self.assertIn("takes GPU 1 (B,", line)
            self.assertTrue(line.endswith("; not GPU 0 (A): another run has locked it"), line)
            self.assertIn("takes the CPU: no GPU can be used: GPU 0 (A): another run has locked it",
                          self.line(self.run_on("name=A", environment=environment)))
            self.assertIn("takes GPU 0 (A", self.line(self.run_on("name=A", "lockGPU=false", environment=environment)))
            self.assertIn("Using GPU 0", self.run_on("name=A", "deviceId=0", environment=environment).stderr)
        self.assertIn("takes GPU 0 (A", self.line(self.run_on("name=A", environment=environment)))

    def test_what_is_missing_is_said(self):
        environment = self.emulate()
        run = self.run_on("name=A", "deviceId=3", status=6, environment=environment)
        self.assertIn("GPU 3 cannot be used: there is one: 0 (A); deviceId=cpu runs on the CPU", run.stderr)
        run = self.run_on("name=A;name=B", "deviceId=2", status=6, environment=environment)
        self.assertIn("GPU 2 cannot be used: there are 2: 0 (A), 1 (B); deviceId=cpu runs on the CPU", run.stderr)
        old = dict(environment, CNTK_EMULATED_DRIVER="12080", CUDA_VISIBLE_DEVICES="7")
        for gpus, changed, reason in (
                ("name=A", old, "the NVIDIA driver is too old: it runs CUDA 12.8, this program needs CUDA 13.0, a driver of "
                                "version 580 or later"),
                ("name=A", dict(environment, CNTK_EMULATED_DRIVER="0"), "there is no NVIDIA driver; a driver of version 580 "
                                                                        "or later is needed"),
                ("none", old | {"CNTK_EMULATED_DRIVER": "13000"}, "the NVIDIA driver finds no GPU (no CUDA-capable device is "
                                                                  "detected); CUDA_VISIBLE_DEVICES is '7'")):
            run = self.run_on(gpus, "deviceId=0", status=6, environment=changed)
            self.assertIn("GPU 0 cannot be used: %s; deviceId=cpu runs on the CPU" % reason, run.stderr)
            run = self.run_on(gpus, environment=changed)
            self.assertEqual(self.line(run), "deviceId=auto takes the CPU: no GPU can be used: " + reason)
        run = self.run_on("name=A,capability=70", "deviceId=0", status=6, environment=environment)
        self.assertIn("GPU 0 cannot be used: A has compute capability 7.0; 7.5 or later is needed; deviceId=cpu", run.stderr)
        for value in ("1x", "-2", "all", "*2"):
            run = self.run_on("name=A", "deviceId=" + value, status=3, environment=environment)
            self.assertIn("deviceId is '%s'; expected auto, cpu, -1 (CPU) or the number of a GPU" % value, run.stderr)
        os.remove(self.folder / "lib/libcntkmath_gpu.so")
        environment["LD_LIBRARY_PATH"] = str(self.folder / "driver")
        (self.folder / "driver").mkdir()
        os.symlink(EMULATED / "libcuda.so.1", self.folder / "driver/libcuda.so.1")
        run = self.run_on("name=A", "deviceId=0", status=6, environment=environment)
        self.assertRegex(run.stderr, "GPU 0 cannot be used: the GPU library libcntkmath_gpu.so is in none of .*; deviceId=cpu")
        self.write("lib/libcntkmath_gpu.so", "no library")
        run = self.run_on("name=A", environment=environment)
        self.assertRegex(self.line(run), "takes the CPU: no GPU can be used: the GPU library '.*' cannot be opened: .+")

    def test_auto_without_a_driver_says_so(self):
        environment = self.emulate()
        environment["LD_LIBRARY_PATH"] = ""
        run = self.run_on("name=A", environment=environment)
        if "takes GPU" in run.stderr:
            self.skipTest("there is a GPU")
        self.assertRegex(self.line(run), "takes the CPU: no GPU can be used: .*")

    def test_memory_that_runs_out(self):
        environment = self.emulate()
        arguments = ("deviceId=0", "hidden=40000", "minibatch=100")
        run = self.run_on("name=Small,memory=40", *arguments, status=6, environment=environment)
        self.assertRegex(run.stderr, r"GPU 0 is out of memory: [0-9]+ bytes were asked for, [0-9]+ are free of 41943040, "
                                     r"[0-9]+ are in use by this program")
        self.assertRegex(run.stderr, r"the memory was for the \w+ of '.+'")
        self.assertRegex(run.stderr, r"the largest: the \w+ of '")
        fits = re.search(r"minibatches of ([0-9]+) columns .* would fit: lower minibatchSize, or cut the minibatch with "
                         r"maxSamplesInRAM=\1", run.stderr)
        self.assertTrue(fits, run.stderr)
        self.run_on("name=Small,memory=40", *arguments[:2], "minibatch=" + fits[1], environment=environment)
        # Memory that other processes hold is not free.
        run = self.run_on("name=Small,memory=1000,used=970", *arguments, status=6, environment=environment)
        self.assertRegex(run.stderr, "are free of 1048576000, ")


if __name__ == "__main__":
    main()
