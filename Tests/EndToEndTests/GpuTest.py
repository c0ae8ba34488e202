#!/usr/bin/env python3
"""Trains and tests on an emulated GPU what the CPU trains and tests, with the program's own way to a GPU library."""
import os
import re
import shutil
import subprocess
import sys

import EndToEnd
from EndToEnd import CNTK, EndToEndTest, main

EMULATED = CNTK.parent.parent / "tests/emulated"
CONFIG = """
command=Train:Test
precision=double
modelPath=model.dnn
deviceId=-1
traceLevel=1
Train=[
  action=train
  SimpleNetworkBuilder=[
    layerSizes=2:9:3
    trainingCriterion=CrossEntropyWithSoftmax
    evalCriterion=ErrorPrediction
    layerTypes=Sigmoid
    applyMeanVarNorm=true
    needPrior=true
  ]
  SGD=[
    minibatchSize=7
    learningRatesPerMB=0.5
    momentumPerMB=0.9
    dropoutRate=0.2
    maxEpochs=3
  ]
]
Test=[
  action=test
]
reader=[
  readerType=UCIFastReader
  file=data.txt
  miniBatchMode=Partial
  randomize=Auto
  features=[
    dim=2
    start=0
  ]
  labels=[
    start=2
    dim=1
    labelDim=3
    labelMappingFile=map.txt
  ]
]
"""


class GpuTest(EndToEndTest):
    def setUp(self):
        super().setUp()
        self.write("config.cntk", CONFIG)
        points = [(i % 7 / 7, i % 11 / 11, i * i % 5 % 3) for i in range(100)]
        self.write("data.txt", "".join("%f %f %d\n" % point for point in points))
        self.write("map.txt", "0\n1\n2\n")

    def emulate(self):
        """A program beside whose plugins the emulated GPU library lies."""
        if not (EMULATED / "libcntkmath_gpu.so").exists():
            self.skipTest("the emulated GPU was not built")
        (self.folder / "bin").mkdir()
        (self.folder / "lib").mkdir()
        shutil.copy2(CNTK, self.folder / "bin/cntk")
        for plugin in (CNTK.parent.parent / "lib").glob("*.so"):
            if not plugin.name.startswith("lib"):
                os.symlink(plugin, self.folder / "lib" / plugin.name)
        os.symlink(EMULATED / "libcntkmath_gpu.so", self.folder / "lib/libcntkmath_gpu.so")
        program = EndToEnd.CNTK
        EndToEnd.CNTK = self.folder / "bin/cntk"
        self.addCleanup(setattr, EndToEnd, "CNTK", program)
        return {"LD_LIBRARY_PATH": str(EMULATED)}

    def criteria(self, run):
        found = re.findall(r"Finished Epoch.*|Final Results.*", run.stderr)
        self.assertTrue(found, run.stderr)
        return [[float(number) for number in re.findall(r"= ?(-?[0-9.]+(?:e-?[0-9]+)?)", line.split("EpochTime")[0])]
                for line in found]

    def assert_near(self, found, expected):
        self.assertEqual([len(line) for line in found], [len(line) for line in expected])
        for found_line, expected_line in zip(found, expected):
            for a, b in zip(found_line, expected_line):
                self.assertAlmostEqual(a, b, delta=1e-6 * max(1, abs(b)))

    def test_the_gpu_trains_what_the_cpu_trains(self):
        environment = self.emulate()
        cpu = self.criteria(self.cntk("configFile=config.cntk", "modelPath=cpu.dnn"))
        run = self.cntk("configFile=config.cntk", "modelPath=gpu.dnn", "deviceId=0", environment=environment)
        self.assert_near(self.criteria(run), cpu)
        # Models move between devices. auto leaves the GPU alone, which has not been proved, and says so.
        moved = self.cntk("configFile=config.cntk", "command=Test", "modelPath=gpu.dnn")
        self.assert_near(self.criteria(moved), cpu[-1:])
        moved = self.cntk("configFile=config.cntk", "command=Test", "modelPath=cpu.dnn", "deviceId=auto",
                          environment=environment)
        self.assertRegex(moved.stderr, "(?m)^deviceId=auto takes the CPU: the GPU backend has not been proved on cards "
                                       "yet; deviceId=0 asks for .+$")
        self.assert_near(self.criteria(moved), cpu[-1:])

    def test_training_goes_on_on_another_device(self):
        environment = self.emulate()
        whole = self.criteria(self.cntk("configFile=config.cntk", "modelPath=cpu.dnn"))
        self.cntk("configFile=config.cntk", "command=Train", "Train=[SGD=[keepCheckPointFiles=true]]", "deviceId=0",
                  environment=environment)
        for name in ("model.dnn", "model.dnn.ckp", "model.dnn.2", "model.dnn.2.ckp"):
            (self.folder / name).unlink()
        rest = self.criteria(self.cntk("configFile=config.cntk"))
        self.assert_near(rest, whole[1:])

    def test_graphs_change_no_number(self):
        environment = self.emulate()
        models = []
        for graphs in ("true", "false"):
            run = self.cntk("configFile=config.cntk", "command=Train", "modelPath=%s.dnn" % graphs, "deviceId=0",
                            "gpuGraphs=" + graphs, environment=environment)
            self.assertNotIn("step by step", run.stderr)
            models.append((self.folder / (graphs + ".dnn")).read_bytes())
        self.assertEqual(models[0], models[1])

    def test_what_runs_step_by_step_is_told(self):
        environment = self.emulate()
        arguments = ("configFile=config.cntk", "command=Train", "deviceId=0",
                     "Train=[SGD=[clippingThresholdPerSample=0.01;gradientClippingWithTruncation=false;"
                     "gaussianNoiseInjectStd=0.001]]")
        run = self.cntk(*arguments, environment=environment)
        self.assertEqual(run.stderr.count("the update runs step by step, not as a CUDA graph: the host "), 1, run.stderr)
        run = self.cntk(*arguments, "gpuGraphs=false", "makeMode=false", environment=environment)
        self.assertNotIn("step by step", run.stderr)

    def test_golden_cases(self):
        self.shared("golden/run_case.py")
        environment = self.emulate()
        program = self.write("bin/cntk-on-gpu", '#!/bin/sh\nexec "%s/bin/cntk" "$@" deviceId=0\n' % self.folder)
        program.chmod(0o755)
        run = subprocess.run([sys.executable, "-B", EndToEnd.ROOT / "Tests/GoldenTests/RunGolden.py", "--cntk", program,
                              "--shared", EndToEnd.SHARED, "--jobs", "2"], env=dict(os.environ, **environment),
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        self.assertEqual(run.returncode, 0, run.stdout)

    def test_a_number_that_is_not_there(self):
        environment = self.emulate()
        run = self.cntk("configFile=config.cntk", "deviceId=3", status=6, environment=environment)
        self.assertIn("GPU 3 cannot be used: there is one: 0 (emulation); deviceId=cpu runs on the CPU", run.stderr)

    def test_auto_without_a_gpu_says_why(self):
        self.emulate()
        os.remove(self.folder / "lib/libcntkmath_gpu.so")
        run = self.cntk("configFile=config.cntk", "command=Train", "deviceId=auto", "Train=[SGD=[maxEpochs=1]]")
        if "GPU 0" in run.stderr:
            self.skipTest("there is a GPU")
        self.assertRegex(run.stderr, "(?m)^deviceId=auto takes the CPU: no GPU can be used: .*$")


if __name__ == "__main__":
    main()
