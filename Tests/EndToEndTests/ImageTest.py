#!/usr/bin/env python3
"""Images: the examples of digits, conversion of idx files, training of batch normalization that is saved and resumed,
networks in the form of 2016, layouts that do not fit."""
import gzip
import random
import re
import struct
import subprocess
import sys

from EndToEnd import CNTK, ROOT, EndToEndTest, main

EXAMPLES = ROOT / "Examples/Image"

BATCH_CONFIG = """
command=train:test
precision=double
deviceId=-1
modelPath=out/net.dnn
train=[
  action=train
  NDLNetworkBuilder=[
    run=ndl
    ndl=[
      features=ImageInput(4, 4, 1, imageLayout=CHW, tag=feature)
      labels=Input(2, tag=label)
      W=Parameter(3, 0, initValueScale=5)
      c=Convolution(W, features, 3, 3, 3, 1, 1, zeroPadding=true, imageLayout=CHW)
      s=Parameter(3, init=fixedValue, value=1)
      b=Parameter(3, init=fixedValue, value=0)
      m=Parameter(3, init=fixedValue, value=0, needGradient=false)
      v=Parameter(3, init=fixedValue, value=0, needGradient=false)
      n=BatchNormalization(c, s, b, m, v, spatial=true, normalizationTimeConstant=50)
      p=AveragePooling(RectifiedLinear(n), 4, 4, 1, 1, imageLayout=CHW)
      U=Parameter(2, 0, initValueScale=5)
      d=Parameter(2, init=fixedValue, value=0)
      z=Plus(Times(U, p), d)
      ce=CrossEntropyWithSoftmax(labels, z, tag=criterion)
      e=ErrorPrediction(labels, z, tag=eval)
      OutputNodes=(z)
    ]
  ]
  SGD=[
    epochSize=0
    minibatchSize=20
    learningRatesPerSample=0.02
    momentumPerMB=0.5
    maxEpochs=6
    keepCheckPointFiles=true
  ]
  reader=[
    readerType=UCIFastReader
    file=data.txt
    randomize=none
    features=[
      dim=16
      start=1
    ]
    labels=[
      dim=1
      start=0
      labelDim=2
      labelMappingFile=map.txt
    ]
  ]
]
test=[
  action=test
  minibatchSize=7
  reader=[
    readerType=UCIFastReader
    file=data.txt
    randomize=none
    features=[
      dim=16
      start=1
    ]
    labels=[
      dim=1
      start=0
      labelDim=2
      labelMappingFile=map.txt
    ]
  ]
]
"""

# Convolution, pooling and a dense layer on the image, as configs of version 1.1 write them.
MACROS = """
ConvReLULayer(inp, outMap, inWCount, kW, kH, hStride, vStride, wScale, bValue)
{
    W = Parameter(outMap, inWCount, init="uniform", initValueScale=wScale)
    b = ImageParameter(1, 1, outMap, init="fixedValue", value=bValue, imageLayout=$imageLayout$)
    c = Convolution(W, inp, kW, kH, outMap, hStride, vStride, zeroPadding=true, imageLayout=$imageLayout$)
    p = Plus(c, b)
    y = RectifiedLinear(p)
}
DnnImageReLULayer(inW, inH, inC, outDim, x, wScale, bValue)
{
    W = ImageParameter(outDim, inW, inH, inC, init="gaussian", initValueScale=wScale, imageLayout=$imageLayout$)
    b = Parameter(outDim, init="fixedValue", value=bValue)
    t = Times(W, x)
    z = Plus(t, b)
    y = RectifiedLinear(z)
}
DnnLayer(hiddenDim, labelDim, x, wScale, bValue)
{
    W = Parameter(labelDim, hiddenDim, init="uniform", initValueScale=wScale)
    b = Parameter(labelDim, init="fixedValue", value=bValue)
    t = Times(W, x)
    z = Plus(t, b)
}
"""

NETWORK_2016 = """
load = ndlConstants
run = DNN

ndlConstants = [
    imageW = 4
    imageH = 4
    labelDim = 2
    featScale = Const(0.5)
    Scale1(f) = [ Scale1 = Scale(featScale, f) ]
]

DNN = [
    cMap1 = 3
    hiddenDim = 8

    features = ImageInput(imageW, imageH, 1, tag="feature", imageLayout=$imageLayout$)
    featScaled = Scale1(features)
    labels = Input(labelDim, tag="label")

    conv1 = ConvReLULayer(featScaled, cMap1, 9, 3, 3, 1, 1, 10, 0.1)
    pool1 = MaxPooling(conv1, 2, 2, 2, 2, imageLayout=$imageLayout$)
    h1 = DnnImageReLULayer(2, 2, cMap1, hiddenDim, pool1, 3, 0)
    ol = DnnLayer(hiddenDim, labelDim, h1, 5, 0)

    ce = CrossEntropyWithSoftmax(labels, ol, tag="criterion")
    err = ErrorPrediction(labels, ol, tag="eval")
    OutputNodes = ol
]
"""

CONFIG_2016 = """
RootDir = "."
ConfigDir = "$RootDir$"
ModelDir = "$RootDir$/$imageLayout$"
ndlMacros = "$ConfigDir$/Macros.ndl"
imageLayout = "legacy"
precision = "double"
deviceId = -1
command = Train:Test:Dump
modelPath = "$ModelDir$/net.dnn"
Train = [
    action = "train"
    NDLNetworkBuilder = [
        networkDescription = "$ConfigDir$/Network.ndl"
    ]
    SGD = [
        epochSize = 0
        minibatchSize = 20
        learningRatesPerMB = 0.1
        momentumPerMB = 0:0.5
        maxEpochs = 12
    ]
    reader = [
        readerType = "UCIFastReader"
        file = "$RootDir$/data.txt"
        randomize = "none"
        verbosity = 0
        features = [ dim = 16 ; start = 1 ]
        labels = [ dim = 1 ; start = 0 ; labelDim = 2 ; labelMappingFile = "$RootDir$/map.txt" ]
    ]
]
Test = [
    action = "test"
    reader = [
        readerType = "UCIFastReader"
        file = "$RootDir$/data.txt"
        features = [ dim = 16 ; start = 1 ]
        labels = [ dim = 1 ; start = 0 ; labelDim = 2 ; labelMappingFile = "$RootDir$/map.txt" ]
    ]
]
Dump = [ action = "dumpnode" ; nodeName = "h1.W" ; printValues = false ; outputFile = "$ModelDir$/dump.txt" ]
"""


class ImageTest(EndToEndTest):
    def run_script(self, *command):
        run = subprocess.run([sys.executable, "-B", *map(str, command)], cwd=self.folder, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", timeout=500, check=False)
        self.assertEqual(run.returncode, 0, run.stdout)
        return run.stdout

    def test_convolution_beats_full_connection(self):
        data = self.shared("data/digits")
        text = self.run_script(EXAMPLES / "Digits/RunDigits.py", "--cntk", CNTK, "--data", data, "--work",
                               self.folder / "work", "--seeds", "1")
        means = {name: float(value) for name, value in re.findall(r"^(\w+) +([0-9.]+) % of the test images", text, re.M)}
        self.assertLess(means["Convolution"], 7.5, text)
        self.assertLess(means["Convolution"], means["FullyConnected"] - 1, text)

    def test_digits_are_converted(self):
        with gzip.open(self.folder / "digits.csv.gz", "wt") as out:
            for i in range(1797):
                out.write(",".join([str(i % 17)] * 64 + [str(i % 10)]) + "\n")
        self.run_script(EXAMPLES / "Digits/ConvertDigits.py", "data", "digits.csv.gz")
        train, test = self.read("data/train.txt").splitlines(), self.read("data/test.txt").splitlines()
        self.assertEqual((len(train), len(test)), (1437, 360))
        self.assertEqual(test[0], "7 " + " ".join(["9"] * 64))

    def test_idx_files_are_converted_and_train(self):
        rng = random.Random(3)
        for stem, count in (("train", 40), ("t10k", 20)):
            labels = bytes(i % 10 for i in range(count))
            pixels = bytes(min(255, 20 * label + rng.randrange(40)) for label in labels for _ in range(784))
            (self.folder / (stem + "-labels-idx1-ubyte")).write_bytes(struct.pack(">II", 0x801, count) + labels)
            with gzip.open(self.folder / (stem + "-images-idx3-ubyte.gz"), "wb") as out:
                out.write(struct.pack(">IIII", 0x803, count, 28, 28) + pixels)
        self.run_script(EXAMPLES / "MNIST/ConvertMnist.py", ".", "data")
        line = self.read("data/train.txt").splitlines()[3].split()
        self.assertEqual(len(line), 785)
        self.assertEqual(line[0], "3")
        for name in ("Mnist.cntk", "Macros.ndl", "OneHidden.ndl", "Convolution.ndl"):
            self.write(name, (EXAMPLES / "MNIST" / name).read_text(encoding="utf-8"))
        for network in ("OneHidden", "Convolution"):
            run = self.cntk("configFile=Mnist.cntk", "Network=" + network, "Mnist_Train=[SGD=[maxEpochs=1]]")
            self.assertIn("Final Results", run.stderr)

    def write_bright_lines(self):
        rng = random.Random(5)
        lines = []
        for i in range(200):
            row = [rng.uniform(0, 1) for _ in range(16)]
            if i % 2:
                row[4 * (i % 4):4 * (i % 4) + 4] = [3.0] * 4  # a bright line
            lines.append("%d %s\n" % (i % 2, " ".join("%.3f" % v for v in row)))
        self.write("data.txt", "".join(lines))
        self.write("map.txt", "0\n1\n")
        self.write("config.cntk", BATCH_CONFIG)

    def test_batch_normalization_trains_and_resumes_to_the_bit(self):
        self.write_bright_lines()
        run = self.cntk("configFile=config.cntk")
        error = float(re.search(r"Final Results.*ErrorPrediction/Sample = ([0-9.e-]+)", run.stderr).group(1))
        self.assertLess(error, 0.1, "running statistics must serve where nothing is trained")
        whole = (self.folder / "out/net.dnn").read_bytes()
        (self.folder / "out").rename(self.folder / "whole")
        self.cntk("configFile=config.cntk", "command=train", "train=[SGD=[maxEpochs=3]]")
        (self.folder / "out/net.dnn").unlink()
        self.cntk("configFile=config.cntk", "command=train")
        self.assertEqual((self.folder / "out/net.dnn").read_bytes(), whole)

    def test_time_constants_that_go_back_to_0_resume_to_the_bit(self):
        self.write_bright_lines()
        constants = "train=[SGD=[batchNormalizationTimeConstant=%s; batchNormalizationBlendTimeConstant=%s; maxEpochs=4]]"

        def train(*schedules):
            log = self.cntk("configFile=config.cntk", "command=train", constants % schedules).stderr
            return (self.folder / "out/net.dnn").read_bytes(), re.findall(r"Setting batch (.*)\.\n", log)

        def cut(epochs):
            for name in ["", *("." + str(epoch) for epoch in range(epochs + 1, 4))]:
                (self.folder / ("out/net.dnn" + name)).unlink()
                (self.folder / ("out/net.dnn" + name + ".ckp")).unlink()

        whole, lines = train("100:0:30", "20:0")
        self.assertEqual(lines, ["normalization time constant to 100", "normalization blend time constant to 20",
                                 "normalization time constant to 0", "normalization blend time constant to 0",
                                 "normalization time constant to 30"])
        for epochs in 1, 2, 3:
            cut(epochs)
            self.assertEqual(train("100:0:30", "20:0"), (whole, lines[2 * epochs:]), epochs)
        # 0 is kept even if the config has another number from now on.
        cut(1)
        resumed = train("0:0:30", "0")
        self.assertEqual(resumed, (whole, lines[2:]))

    def test_dense_layers_on_images_in_both_layouts(self):
        self.write_bright_lines()
        self.write("config.cntk", CONFIG_2016)
        self.write("Network.ndl", NETWORK_2016)
        matrix = re.sub(r"ImageParameter\(outDim, inW, inH, inC,(.*), imageLayout=.*\)", r"Parameter(outDim, 0,\1)", MACROS)
        self.assertNotEqual(matrix, MACROS)
        for layout, shape in (("legacy", "8 x 3 x 2 x 2"), ("cudnn", "8 x 2 x 2 x 3")):
            criteria = []
            for macros in MACROS, matrix:
                self.write("Macros.ndl", macros)
                log = self.cntk("configFile=config.cntk", "imageLayout=" + layout, "Train=[makeMode=false]",
                                "traceLevel=1").stderr
                self.assertNotIn("WARNING", log)
                self.assertIn("h1.t = Times (h1.W, pool1) : [%s], " % shape, log)
                criteria.append(re.findall(r"Final Results.*", log) + re.findall(r"TrainLossPerSample = \S+", log))
                self.assertLess(float(re.search(r"ErrorPrediction/Sample = (\S+)", criteria[-1][0]).group(1)), 0.1)
                self.assertEqual(self.read(layout + "/dump.txt").strip(),
                                 "h1.W=LearnableParameter [8,12]   learningRateMultiplier=1.000000  NeedsGradient=true")
            # A matrix times the elements of the image is the same layer.
            self.assertEqual(criteria[0], criteria[1])
            self.assertEqual(len(criteria[0]), 13)

    def test_layouts_of_reader_and_network_that_differ(self):
        if not (CNTK.parent.parent / "lib/ImageReader.so").exists():
            self.skipTest("there is no ImageReader")
        (self.folder / "a.ppm").write_bytes(b"P6\n2 2\n255\n" + bytes(range(12)))
        self.write("map.txt", "a.ppm\t0\na.ppm\t1\n")
        self.write("config.cntk", """command=train
deviceId=-1
train=[
  action=train; modelPath=net.dnn; SGD=[ maxEpochs=1; minibatchSize=2; learningRatesPerMB=0.01 ]
  NDLNetworkBuilder=[ run=ndl; ndl=[
      features=ImageInput(2, 2, 3, imageLayout=$layout$, tag=feature)
      labels=Input(2, tag=label)
      z=Times(Parameter(2, 0), features)
      ce=CrossEntropyWithSoftmax(labels, z, tag=criterion)
  ] ]
  reader=[ readerType=ImageReader; file=map.txt
    features=[ width=2; height=2; channels=3
      mbFormat=$format$ ]
    labels=[ labelDim=2 ]
  ]
]
""")
        for layout, order, more, warns in (("HWC", "nchw", [], True), ("CHW", "nhwc", ["--check"], True),
                                           ("CHW", "nchw", [], False), ("HWC", "legacy", [], False)):
            log = self.cntk("configFile=config.cntk", "layout=" + layout, "format=" + order, "train=[makeMode=false]",
                            *more).stderr
            self.assertEqual("config.cntk:6:16: input node 'features' takes images as [" in log, warns, log)
            self.assertEqual("(mbFormat=%s, which goes with imageLayout=" % order in log, warns, log)
            self.assertEqual("at config.cntk:13:" in log, warns, log)


if __name__ == "__main__":
    main()
