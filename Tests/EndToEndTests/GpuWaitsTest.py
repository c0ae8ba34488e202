#!/usr/bin/env python3
"""Within an epoch the host does not wait for a GPU, whatever the network; the emulated GPU counts the waits. A training still
stops at NaN."""
import random
import re

from EmulatedGpu import EmulatedGpuTest
from EndToEnd import main

CONFIG = """
command=Train
precision=float
modelPath=model.dnn
makeMode=false
deviceId=0
gpuSelfCheck=false
Train=[
  action=train
  NDLNetworkBuilder=[ networkDescription=net.ndl ]
  SGD=[
    epochSize=$size$
    minibatchSize=$minibatch$
    learningRatesPerMB=0.1
    momentumPerMB=0.9
    maxEpochs=1
    numMBsToShowResult=0
    clippingThresholdPerSample=$clip$
    gradientClippingWithTruncation=$truncate$
    gradUpdateType=$rule$
  ]
  reader=[
    readerType=CNTKTextFormatReader
    file=data.txt
    randomize=none
    input=[
      features=[ alias=x; dim=$dim$; format=$format$ ]
      labels=[ alias=y; dim=3; format=dense ]
    ]
  ]
]
minibatch=6
truncate=true
clip=0.01
rule=none
format=dense
"""


class GpuWaitsTest(EmulatedGpuTest):
    def waits(self, environment, size, *arguments):
        counts = self.folder / "counts"
        counts.unlink(missing_ok=True)
        run = self.cntk("configFile=config.cntk", "size=%d" % size, *arguments,
                        environment=dict(environment, CNTK_EMULATED_COUNTS=str(counts)))
        return int(counts.read_text()), run

    def expect_no_waits(self, environment, *arguments):
        """An epoch of three times the minibatches has equally many waits."""
        short, run = self.waits(environment, 60, *arguments)
        long, _ = self.waits(environment, 180, *arguments)
        self.assertGreater(short, 0)
        self.assertEqual(short, long, run.stderr)

    def set_up(self, network, dim, rows, output="z"):
        self.write("config.cntk", CONFIG.replace("$dim$", str(dim)))
        self.write("net.ndl", network + """
labels = Input(3, tag="label")
W = Parameter(3, %d)
b = Parameter(3, 1)
o = Plus(Times(W, %s), b, tag="output")
ce = CrossEntropyWithSoftmax(labels, o, tag="criterion")
e = ErrorPrediction(labels, o, tag="eval")
""" % (rows, output))

    def frames(self, dim, sparse=False):
        rng = random.Random(1)
        label = lambda: " ".join("1" if i == k else "0" for k in [rng.randrange(3)] for i in range(3))
        values = lambda: " ".join("%d:1" % i for i in sorted(rng.sample(range(dim), 3))) if sparse else \
            " ".join("%.2f" % rng.uniform(-1, 1) for _ in range(dim))
        return values, label

    def write_samples(self, dim, sparse=False):
        values, label = self.frames(dim, sparse)
        self.write("data.txt", "".join("%d |x %s |y %s\n" % (i, values(), label()) for i in range(200)))

    def write_sequences(self, dim, sparse=False):
        """Writes sequences of several lengths, so that there are gaps."""
        values, label = self.frames(dim, sparse)
        self.write("data.txt", "".join("%d |x %s |y %s\n" % (i, values(), label())
                                       for i in range(80) for _ in range(2 + i % 3)))

    def test_dense_layers(self):
        environment = self.emulate()
        self.set_up("""features = Input(12, tag="feature")
W1 = Parameter(8, 12)
b1 = Parameter(8, 1)
z = Dropout(Sigmoid(Plus(Times(W1, features), b1)))""", 12, 8)
        self.write_samples(12)
        for rule in ("none", "adagrad", "rmsprop", "fsadagrad", "adam"):
            for truncate in ("true", "false"):
                with self.subTest(rule=rule, truncate=truncate):
                    self.expect_no_waits(environment, "rule=" + rule, "truncate=" + truncate,
                                         "Train=[SGD=[dropoutRate=0.3]]")

    def test_sparse_input(self):
        environment = self.emulate()
        self.set_up("""features = SparseInput(40, tag="feature")
W1 = Parameter(8, 40)
z = Tanh(Times(W1, features))""", 40, 8)
        self.write_samples(40, sparse=True)
        for truncate in ("true", "false"):
            self.expect_no_waits(environment, "format=sparse", "truncate=" + truncate)

    def test_images(self):
        environment = self.emulate()
        self.set_up("""features = ImageInput(6, 6, 1, imageLayout=CHW, tag="feature")
W1 = Parameter(3, 0)
c = RectifiedLinear(Convolution(W1, features, 3, 3, 3, 1, 1, zeroPadding=true, imageLayout=CHW))
s = Parameter(3, init=fixedValue, value=1)
t = Parameter(3, init=fixedValue, value=0)
m = Parameter(3, init=fixedValue, value=0, needGradient=false)
v = Parameter(3, init=fixedValue, value=0, needGradient=false)
n = BatchNormalization(c, s, t, m, v, spatial=true, normalizationTimeConstant=50)
z = MaxPooling(n, 2, 2, 2, 2, imageLayout=CHW)""", 36, 27)
        self.write_samples(36)
        self.expect_no_waits(environment, "truncate=false")

    def test_recurrent_layers(self):
        environment = self.emulate()
        self.write_sequences(5)
        for network in (
                """features = Input(5, tag="feature")
W1 = Parameter(8, 5)
R = Parameter(8, 8)
past = PastValue(8, 1, z, timeStep=1, defaultHiddenActivity=0.1)
z = Tanh(Plus(Times(W1, features), Times(R, past)))""",
                """features = Input(5, tag="feature")
gi = Parameter(8, 15)
gf = Parameter(8, 15)
go = Parameter(8, 15)
gc = Parameter(8, 14)
z = LSTM(features, gi, gf, go, gc)"""):
            self.set_up(network, 5, 8)
            self.expect_no_waits(environment, "truncate=false", "minibatch=24")

    def test_a_progress_line_is_one(self):
        environment = self.emulate()
        self.set_up("""features = Input(12, tag="feature")
W1 = Parameter(8, 12)
z = Sigmoid(Times(W1, features))""", 12, 8)
        self.write_samples(12)
        none, _ = self.waits(environment, 180)
        lines, _ = self.waits(environment, 180, "Train=[SGD=[numMBsToShowResult=10]]")
        self.assertEqual(lines, none + 2) # the third wait is at the epoch's end

    def test_a_criterion_that_is_not_finite_is_found(self):
        environment = self.emulate()
        self.set_up("""features = Input(12, tag="feature")
W1 = Parameter(8, 12)
z = Times(W1, features)""", 12, 8)
        values, label = self.frames(12)
        lines = ["%d |x %s |y %s\n" % (i, values(), label()) for i in range(200)]
        lines[100] = re.sub(r"\|x \S+", "|x 1e300", lines[100]) # overflows a product
        self.write("data.txt", "".join(lines))
        arguments = ("configFile=config.cntk", "size=180", "precision=double", "clip=1e308")
        messages = []
        for device in ("deviceId=-1", "deviceId=0"):
            run = self.cntk(*arguments, device, status=None, environment=environment)
            messages.append(re.search(r"the training criterion 'ce' is not a finite number.*", run.stderr))
            self.assertTrue(messages[-1], run.stderr)
        self.assertEqual(messages[0][0], messages[1][0])
        self.assertIn("in epoch 1, minibatch ", messages[0][0])
        self.assertIn("the first node that is not finite: value of '", messages[0][0])


if __name__ == "__main__":
    main()
