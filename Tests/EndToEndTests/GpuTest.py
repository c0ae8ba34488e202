#!/usr/bin/env python3
"""Trains and tests the same networks on an emulated GPU and on the CPU; the program itself loads the GPU library."""
import os
import subprocess
import sys

import EndToEnd
from EmulatedGpu import EmulatedGpuTest
from EndToEnd import main

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


class GpuTest(EmulatedGpuTest):
    def setUp(self):
        super().setUp()
        self.write("config.cntk", CONFIG)
        points = [(i % 7 / 7, i % 11 / 11, i * i % 5 % 3) for i in range(100)]
        self.write("data.txt", "".join("%f %f %d\n" % point for point in points))
        self.write("map.txt", "0\n1\n2\n")

    def test_the_gpu_trains_what_the_cpu_trains(self):
        environment = self.emulate()
        cpu = self.criteria(self.cntk("configFile=config.cntk", "modelPath=cpu.dnn"))
        run = self.cntk("configFile=config.cntk", "modelPath=gpu.dnn", "deviceId=0", environment=environment)
        self.assert_near(self.criteria(run), cpu)
        # Models move between devices.
        moved = self.cntk("configFile=config.cntk", "command=Test", "modelPath=gpu.dnn")
        self.assert_near(self.criteria(moved), cpu[-1:])
        moved = self.cntk("configFile=config.cntk", "command=Test", "modelPath=cpu.dnn", "deviceId=0",
                          environment=environment)
        self.assert_near(self.criteria(moved), cpu[-1:])

    def test_training_goes_on_on_another_device(self):
        environment = self.emulate()
        for precision in ("double", "float"):
            for first, second in (("deviceId=0", "deviceId=-1"), ("deviceId=-1", "deviceId=0")):
                with self.subTest(precision=precision, first=first):
                    folder = "%s%s" % (precision, first)
                    common = ("configFile=config.cntk", "command=Train", "precision=" + precision)
                    run = lambda model, *arguments: self.cntk(*common, "modelPath=%s/%s" % (folder, model), *arguments,
                                                              environment=environment)
                    whole = self.criteria(run("whole.dnn"))
                    run("parts.dnn", "Train=[SGD=[keepCheckPointFiles=true]]", first)
                    for name in ("", ".ckp", ".2", ".2.ckp"):
                        (self.folder / folder / ("parts.dnn" + name)).unlink()
                    rest = self.criteria(run("parts.dnn", second))
                    self.assert_near(rest, whole[1:], 1e-6 if precision == "double" else 1e-4)

    def test_graphs_change_no_number(self):
        environment = self.emulate()
        models = []
        for graphs in ("true", "false"):
            run = self.cntk("configFile=config.cntk", "command=Train", "modelPath=%s.dnn" % graphs, "deviceId=0",
                            "gpuGraphs=" + graphs, "Train=[SGD=[gaussianNoiseInjectStd=0.001]]",
                            environment=environment)
            self.assertNotIn("step by step", run.stderr)
            models.append((self.folder / (graphs + ".dnn")).read_bytes())
        self.assertEqual(models[0], models[1])

    def test_what_runs_step_by_step_is_told(self):
        environment = self.emulate()
        self.write("net.ndl", """
features=Input(2, tag=feature)
labels=Input(3, tag=label)
W=Parameter(3, 2)
T=Parameter(3, 3)
z=Times(W, features)
crf=CRF(labels, z, T, tag=criterion)
""")
        builder = CONFIG[CONFIG.index("  SimpleNetworkBuilder"):CONFIG.index("  SGD")]
        self.write("crf.cntk", CONFIG.replace(builder, "  NDLNetworkBuilder=[ networkDescription=net.ndl ]\n"))
        arguments = ("configFile=crf.cntk", "command=Train", "deviceId=0")
        run = self.cntk(*arguments, environment=environment)
        self.assertEqual(run.stderr.count(" runs step by step, not as a CUDA graph: the host "), 1, run.stderr)
        run = self.cntk(*arguments, "gpuGraphs=false", "makeMode=false", environment=environment)
        self.assertNotIn("step by step", run.stderr)

    def test_golden_cases(self):
        self.shared("golden/run_case.py")
        environment = self.emulate()
        program = self.write("bin/cntk-on-gpu",
                             '#!/bin/sh\nexec "%s/bin/cntk" "$@" deviceId=0 gpuSelfCheck=false\n' % self.folder)
        program.chmod(0o755)
        run = subprocess.run([sys.executable, "-B", EndToEnd.ROOT / "Tests/GoldenTests/RunGolden.py", "--cntk", program,
                              "--shared", EndToEnd.SHARED, "--jobs", "2"], env=dict(os.environ, **environment),
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        self.assertEqual(run.returncode, 0, run.stdout)


if __name__ == "__main__":
    main()
