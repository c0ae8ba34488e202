#!/usr/bin/env python3
"""Trains on real data with the real program: the original's Simple demo, handwritten digits, stopping and resuming."""
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import time

from EndToEnd import CNTK, ROOT, EndToEndTest, main

SIMPLE = ROOT / "Examples/Simple2d/Simple.cntk"

DIGITS = """command=Train:Test
precision=float
modelPath=digits.dnn
traceLevel=1
Train=[
  action=train
  SimpleNetworkBuilder=[
    layerSizes=64:100:10
    layerTypes=Sigmoid
    trainingCriterion=CrossEntropyWithSoftmax
    evalCriterion=ErrorPrediction
    applyMeanVarNorm=false
    initValueScale=4
    randomSeedOffset=$seed$
  ]
  SGD=[
    maxEpochs=30
    minibatchSize=32
    learningRatesPerSample=0.005*20:0.001
    momentumPerMB=0.9
    L2RegWeight=0.0005
  ]
  reader=[
    readerType=UCIFastReader
    file=train.txt
    features=[ start=1; dim=64 ]
    labels=[ start=0; dim=1; labelDim=10; labelMappingFile=labelsmap.txt ]
  ]
]
Test=[
  action=test
  reader=[
    readerType=UCIFastReader
    file=test.txt
    features=[ start=1; dim=64 ]
    labels=[ start=0; dim=1; labelDim=10; labelMappingFile=labelsmap.txt ]
  ]
]
"""


def test_error(log):
    return float(re.search(r"Final Results: .*ErrorPrediction/Sample = (\S+)", log).group(1))


class TrainingTest(EndToEndTest):
    def simple_demo(self, *arguments, **keywords):
        """Runs the config of the Simple demo on the original's data, ten epochs."""
        return self.cntk("configFile=%s" % SIMPLE, "stderr=log/demo", "command=Simple_Demo:Simple_Demo_Test",
                         "Simple_Demo=[SGD=[maxEpochs=10;numMBsToShowResult=100]]", *arguments, **keywords)

    def prepare_simple_demo(self):
        for name in ("SimpleDataTrain.txt", "SimpleDataTest.txt", "SimpleMapping.txt"):
            self.copy_shared("data/simple2d/" + name, "data")

    def test_simple_demo_reaches_the_original_s_error(self):
        self.prepare_simple_demo()
        self.simple_demo()
        log = self.read("log/demo_Simple_Demo_Simple_Demo_Test.log")
        # The original, from the same initial values, gets 27 of the 603 test points wrong.
        self.assertAlmostEqual(test_error(log), 27 / 603, places=6)
        self.assertTrue(log.rstrip().endswith("__COMPLETED__"))
        self.assertEqual(len(re.findall(r"^ Epoch\[ *\d+ of 10\]-Minibatch\[ *\d+- *\d+.*\]: SamplesSeen = 2500; "
                                        r"TrainLossPerSample = +[\d.e+-]+; EvalErr\[0\]PerSample = [\d.e+-]+; "
                                        r"TotalTime = [\d.]+s; SamplesPerSecond = [\d.]+$", log, re.M)), 40)

    def test_threads_do_not_change_the_path(self):
        self.prepare_simple_demo()
        for threads in (1, 3):
            self.simple_demo("numCPUThreads=%d" % threads, "makeMode=false")
        first, second = self.read("log/demo_Simple_Demo_Simple_Demo_Test.log").split(" next run: ")
        finals = [re.search("Final Results.*", log).group(0) for log in (first, second)]
        self.assertEqual(finals[0], finals[1])

    def test_digits(self):
        for name in ("train.txt", "test.txt", "labelsmap.txt"):
            self.copy_shared("data/digits/" + name)
        self.write("digits.cntk", DIGITS)
        errors = []
        for seed in range(5):
            run = self.cntk("configFile=digits.cntk", "seed=%d" % seed, "makeMode=false")
            errors.append(test_error(run.stderr))
        print("test errors of five seeds: " + ", ".join("%.1f %%" % (100 * error) for error in errors))
        self.assertLessEqual(max(errors), 0.09)

    def test_resumes_to_the_bit_after_a_kill(self):
        self.prepare_simple_demo()
        arguments = ["configFile=%s" % SIMPLE, "stderr=log/demo", "command=Simple_Demo",
                     "Simple_Demo=[SGD=[maxEpochs=40]]"]
        self.cntk(*arguments, "modelPath=whole/m.dnn")
        for _ in range(20):  # on a busy machine it may end before it is killed
            shutil.rmtree(self.folder / "killed", ignore_errors=True)
            process = subprocess.Popen([str(CNTK), *arguments, "modelPath=killed/m.dnn"], cwd=self.folder,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            third = self.folder / "killed/m.dnn.3.ckp"
            while process.poll() is None and not third.exists() and not (self.folder / "killed/m.dnn.4").exists():
                time.sleep(0.001)
            process.send_signal(signal.SIGKILL)
            process.wait()
            if not (self.folder / "killed/m.dnn").exists():
                break
        self.assertFalse((self.folder / "killed/m.dnn").exists(), "the training ended before it could be killed")
        self.cntk(*arguments, "modelPath=killed/m.dnn")
        for name in ("m.dnn", "m.dnn.ckp"):
            self.assertEqual((self.folder / "killed" / name).read_bytes(), (self.folder / "whole" / name).read_bytes())

    def test_make_mode_does_nothing_when_the_model_exists(self):
        self.prepare_simple_demo()
        self.simple_demo()
        before = (self.folder / "models/simple.dnn").stat().st_mtime_ns
        self.simple_demo()
        log = self.read("log/demo_Simple_Demo_Simple_Demo_Test.log").split(" next run: ")[1]
        self.assertIn("Final model exists: models/simple.dnn\nNo further training is necessary.\n", log)
        self.assertNotIn("WARNING", log)
        self.simple_demo("Simple_Demo=[SimpleNetworkBuilder=[layerSizes=2:9:2]]", "trainingSeed=3")
        log = self.read("log/demo_Simple_Demo_Simple_Demo_Test.log").split(" next run: ")[2]
        self.assertIn("No further training is necessary.\n", log)
        self.assertRegex(log, "WARNING: the final model 'models/simple.dnn' is not the network described now: its 'B0' "
                              "is 50 x 1, but 9 x 1 in the description; nothing is trained: give makeMode=false or ")
        self.assertRegex(log, "WARNING: .*trainingSeed=0, but the config has trainingSeed=3; .*makeMode=false")
        self.assertEqual((self.folder / "models/simple.dnn").stat().st_mtime_ns, before)

    def test_an_initial_model_without_later_ones_is_built_again(self):
        self.prepare_simple_demo()
        arguments = ["configFile=%s" % SIMPLE, "stderr=log/demo", "command=Simple_Demo"]
        layers = "Simple_Demo=[SGD=[maxEpochs=1]; SimpleNetworkBuilder=[layerSizes=2:%d:2]]"
        killed = subprocess.Popen([str(CNTK), *arguments, layers % 5, "Simple_Demo=[SGD=[maxEpochs=100000]]"],
                                  cwd=self.folder, stderr=subprocess.PIPE)
        start, lock = (self.folder / ("models/simple.dnn." + end) for end in ("0", "lock"))
        while not (lock.exists() and "start model" in lock.read_text()):
            self.assertIsNone(killed.poll())
        killed.kill()
        killed.communicate()
        later = [path for path in (self.folder / "models").iterdir() if path not in (start, lock)]
        for path in later:  # like a training that was killed in its first epoch
            path.unlink()
        stale = lock.read_bytes()
        self.cntk(*arguments, layers % 7)
        log = self.read("log/demo_Simple_Demo.log").split(" next run: ")[1]
        self.assertIn("Creating virgin network.", log)
        self.assertNotIn("WARNING", log)
        # The training starts from the user's initial model, whatever an earlier training left.
        os.replace(self.folder / "models/simple.dnn", start)
        lock.write_bytes(stale)
        self.cntk(*arguments, layers % 9)
        log = self.read("log/demo_Simple_Demo.log").split(" next run: ")[2]
        self.assertIn("Loading network from 'models/simple.dnn.0'", log)
        self.assertIn("its 'B0' is 7 x 1, but 9 x 1 in the description", log)

    def test_warns_when_another_network_is_continued(self):
        self.prepare_simple_demo()
        arguments = ["configFile=%s" % SIMPLE, "stderr=log/demo", "command=Simple_Demo"]
        self.cntk(*arguments, "Simple_Demo=[SGD=[maxEpochs=2]]")
        (self.folder / "models/simple.dnn").unlink()
        for change, difference in (("layerSizes=2:9:2", "its 'B0' is 50 x 1, but 9 x 1 in the description"),
                                   ("layerTypes=Tanh", "its 'H2' is Sigmoid, but Tanh in the description")):
            self.cntk(*arguments, "Simple_Demo=[SGD=[maxEpochs=2]]", "Simple_Demo=[SimpleNetworkBuilder=[%s]]" % change)
            self.assertRegex(self.read("log/demo_Simple_Demo.log"), "WARNING: .*: %s; .*makeMode=false" % difference)
            (self.folder / "models/simple.dnn").unlink()

    def test_nan_criterion_stops_with_its_place(self):
        self.prepare_simple_demo()
        run = self.cntk("configFile=%s" % SIMPLE, "stderr=log/demo", "command=Simple_Demo",
                        "Simple_Demo=[SGD=[maxEpochs=3;learningRatesPerMB=1e30;numMBsToShowResult=10]]",
                        "Simple_Demo=[SimpleNetworkBuilder=[layerTypes=RectifiedLinear]]", status=5)
        last = run.stderr.rstrip().splitlines()[-1]
        for word in ("epoch", "minibatch", "rate"):
            self.assertIn(word, last + run.stderr)
        self.assertEqual(list((self.folder / "models").iterdir()), [])

    def test_sequences_of_several_axes_are_trained_in_parts(self):
        """Words, and labels of the marked words: numSubminibatches cuts both together, with the same result."""
        rng = random.Random(5)
        lines = []
        for sequence in range(40):
            marks = [rng.randrange(2) for _ in range(rng.randint(1, 9))]
            marks[rng.randrange(len(marks))] = 1
            labels = ["|L 1 0", "|L 0 1"] * len(marks)
            for i, mark in enumerate(marks):
                lines.append("%d |W %g %g |M %d %s" % (sequence, rng.uniform(-1, 1), rng.uniform(-1, 1), mark,
                                                      labels[rng.randrange(2)] if i < sum(marks) else ""))
        self.write("data.txt", "\n".join(lines) + "\n")
        self.write("net.ndl", "axis=DynamicAxis()\nwords=Input(2, dynamicAxis=axis, tag=feature)\n"
                   "mark=Input(1, dynamicAxis=axis, tag=feature)\nlabels=Input(2, tag=label)\n"
                   "h=Tanh(Plus(Times(Parameter(3, 2, initValueScale=9), words), PastValue(3, h)))\n"
                   "marked=GatherPacked(PackedIndex(h, Where(mark)), h)\n"
                   "g=Tanh(Plus(marked, Times(Parameter(3, 3, initValueScale=9), PastValue(3, g, timeStep=2))))\n"
                   "z=ReconcileDynamicAxis(Times(Parameter(2, 3), g), labels)\n"
                   "c=CrossEntropyWithSoftmax(labels, z, tag=criterion)\n")
        self.write("c.cntk", "command=T\nprecision=double\nmodelPath=m.dnn\nmakeMode=false\ntraceLevel=1\n"
                   "T=[ action=train; NDLNetworkBuilder=[ networkDescription=net.ndl ]\n"
                   "SGD=[ maxEpochs=3; minibatchSize=70; learningRatesPerSample=0.1; momentumPerMB=0.5 ]\n"
                   "reader=[ readerType=CNTKTextFormatReader; file=data.txt; input=[ "
                   "words=[ alias=W; dim=2; format=dense ]; mark=[ alias=M; dim=1; format=dense ]; "
                   "labels=[ alias=L; dim=2; format=dense ] ] ]\n]\n")
        found = {}
        for parts in ("", "numSubminibatches=2", "numSubminibatches=5", "numSubminibatches=100", "maxSamplesInRAM=20"):
            log = self.cntk("configFile=c.cntk", *["T=[SGD=[%s]]" % parts] * (parts != "")).stderr
            found[parts] = [float(x) for x in re.findall(r"Training Set.*TrainLossPerSample = ([^;]+);", log)]
            self.assertEqual(len(found[parts]), 3, log)
            for one, other in zip(found[parts], found[""]):
                self.assertAlmostEqual(one, other, places=6, msg=parts)

    def test_truncated_of_the_learner_alone(self):
        self.write("seq.ctf", "0 |x 1 |y 1\n0 |x 2 |y 0\n")
        self.write("seq.cntk", "command=Train\nTrain=[ action=train; modelPath=m.dnn\nNDLNetworkBuilder=[ run=N\n"
                   "N=[ x=Input(1, tag=feature); y=Input(1, tag=label)\n"
                   "ce=SquareError(y, Times(Parameter(1, 1), x), tag=criterion) ] ]\n"
                   "SGD=[ maxEpochs=1; learningRatesPerSample=0.1; truncated=true ]\n"
                   "reader=[ readerType=CNTKTextFormatReader; file=seq.ctf\n"
                   "input=[ x=[ dim=1; format=dense ]; y=[ dim=1; format=dense ] ] ] ]\n")
        self.assertIn("WARNING: seq.cntk:6:58: truncated=true of the training, but the CNTKTextFormatReader at seq.cntk:7:1 "
                      "reads whole sequences; expected truncated=true of the reader, too, or around both\n",
                      self.cntk("configFile=seq.cntk").stderr)
        for argument in ("truncated=true", "Train=[reader=[truncated=true]]", "Train=[SGD=[truncated=false]]",
                         "Train=[reader=[frameMode=true]]", "Train=[reader=[skipSequenceIds=true]]"):  # nothing to cut
            self.assertNotIn("WARNING", self.cntk("configFile=seq.cntk", "makeMode=false", argument).stderr)


if __name__ == "__main__":
    main()
