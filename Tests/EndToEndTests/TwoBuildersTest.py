#!/usr/bin/env python3
"""Compares SimpleNetworkBuilder with the same network in NDL: from the same initial values both give, after the same epochs,
model files and checkpoints with equal bytes.

SIMPLENET names its criterion like its type, a name that NDL reserves. So the edit action renames this one node before the
files are compared. No other difference is allowed."""
import random

from EndToEnd import EndToEndTest, main

COMMANDS = """Simple=[
  action=train
  modelPath=simple/m.dnn
  SimpleNetworkBuilder=[ $simple$ ]
]
Ndl=[
  action=train
  modelPath=ndl/m.dnn
  NDLNetworkBuilder=[ networkDescription=net.ndl ]
]
Rename=[ action=edit; editPath=rename.mel ]
"""

FRAMES = """command=Simple:Ndl:Rename
deviceId=cpu
precision=$precision$
SGD=[
  maxEpochs=4; minibatchSize=8; learningRatesPerSample=0.05; momentumPerMB=0.9; keepCheckPointFiles=true
  dropoutRate=0.25
]
reader=[
  readerType=UCIFastReader
  file=frames.txt
  randomize=auto
  features=[ start=1; dim=3 ]
  labels=[ start=0; dim=1; labelDim=2; labelMappingFile=map.txt ]
]
""" + COMMANDS

SEQUENCES = """command=$commands$
deviceId=cpu
precision=$precision$
SGD=[ maxEpochs=4; minibatchSize=24; learningRatesPerSample=0.05; momentumPerMB=0.9; keepCheckPointFiles=true ]
reader=[
  readerType=CNTKTextFormatReader
  file=sequences.txt
  randomize=false
  input=[
    features=[ dim=6; format=$format$ ]
    labels=[ dim=6; format=dense ]
  ]
]
""" + COMMANDS


def feed_forward(sizes, kinds=("Sigmoid",), start="init=uniform", normalise=False, dropout=False, prior=False,
                 criterion="CrossEntropyWithSoftmax", evaluation="ErrorPrediction"):
    """Returns SIMPLENET in NDL, with the names and the order of nodes of SimpleNetworkBuilder."""
    lines = ["features=Input(%d, tag=feature)" % sizes[0]]
    layer = "features"
    if normalise:
        lines += ["MeanOfFeatures=Mean(features)", "InvStdOfFeatures=InvStdDev(features)",
                  "MVNormalizedFeatures=PerDimMVNorm(features, MeanOfFeatures, InvStdOfFeatures)"]
        layer = "MVNormalizedFeatures"
    hidden = len(sizes) - 2
    for i in range(hidden):
        kind = kinds[min(i, len(kinds) - 1)]
        product = "W%d*%s" % (i, "H%d" % i if i else "features")
        total = product + "+B%d" % i if kind != "None" else "H%d" % (i + 1)
        lines += ["W%d=Parameter(%d, %d, %s)" % (i, sizes[i + 1], sizes[i], start),
                  "B%d=Parameter(%d, 1, init=zero)" % (i, sizes[i + 1]),
                  "%s=Times(W%d, %s)" % (product, i, layer), "%s=Plus(%s, B%d)" % (total, product, i)]
        layer = "H%d" % (i + 1)
        if kind != "None":
            lines.append("%s=%s(%s)" % (layer, kind, total))
        if dropout:
            lines.append("Drop%s=Dropout(%s)" % (layer, layer))
            layer = "Drop" + layer
    product = "W%d*H%d" % (hidden, hidden - 1)
    lines += ["W%d=Parameter(%d, %d, %s)" % (hidden, sizes[-1], sizes[-2], start),
              "B%d=Parameter(%d, 1, init=zero)" % (hidden, sizes[-1]),
              "%s=Times(W%d, %s)" % (product, hidden, layer), "HLast=Plus(%s, B%d)" % (product, hidden),
              "labels=Input(%d, tag=label)" % sizes[-1]]
    if evaluation == criterion:
        lines.append("renamed=%s(labels, HLast, tag=criterion, tag=eval)" % criterion)
    else:
        lines += ["renamed=%s(labels, HLast, tag=criterion)" % criterion,
                  "EvalErrorPrediction=ErrorPrediction(labels, HLast, tag=eval)"]
    if prior:
        lines += ["Prior=Mean(labels)", "LogOfPrior=Log(Prior)", "ScaledLogLikelihood=Minus(HLast, LogOfPrior)"]
    lines += ["OutputNodes=(%s)" % ("ScaledLogLikelihood" if prior else "HLast"), "PosteriorProb=Softmax(HLast)"]
    return "\n".join(lines) + "\n"


# Parameters of SIMPLENET, and the arguments of the function above for the same network.
FEED_FORWARD = [
    ("layerSizes=3:4:2; layerTypes=Sigmoid", dict(sizes=[3, 4, 2])),
    ("layerSizes=3:2", dict(sizes=[3, 2])),
    ("layerSizes=3:5:4:2; layerTypes=Tanh:RectifiedLinear; initValueScale=4",
     dict(sizes=[3, 5, 4, 2], kinds=["Tanh", "RectifiedLinear"], start="initValueScale=4")),
    ("layerSizes=3:5:4:2; layerTypes=None:Sigmoid; uniformInit=false",
     dict(sizes=[3, 5, 4, 2], kinds=["None", "Sigmoid"], start="init=gaussian")),
    ("layerSizes=3:6:5:2; layerTypes=Sigmoid; applyMeanVarNorm=true; needPrior=true; addDropoutNodes=true",
     dict(sizes=[3, 6, 5, 2], normalise=True, prior=True, dropout=True)),
    ("layerSizes=3:4:2; trainingCriterion=SquareError", dict(sizes=[3, 4, 2], criterion="SquareError")),
    ("layerSizes=3:4:2; evalCriterion=CrossEntropyWithSoftmax",
     dict(sizes=[3, 4, 2], evaluation="CrossEntropyWithSoftmax")),
]

# SimpleNetworkBuilder names nodes without a name AutoName0, AutoName1, ..., so these networks need no renaming.
RECURRENT = """features=SparseInput(6, tag=feature)
U0=Parameter(4, 6)
W0=Parameter(4, 4)
AutoName0=PastValue(4, AutoName4, timeStep=1, defaultHiddenActivity=0.3)
AutoName1=Times(W0, AutoName0)
AutoName2=Times(U0, features)
AutoName3=Plus(AutoName2, AutoName1)
AutoName4=Sigmoid(AutoName3)
W1=Parameter(6, 4)
labels=Input(6, tag=label)
AutoName5=Times(W1, AutoName4)
criterion=CrossEntropyWithSoftmax(labels, AutoName5, tag=criterion)
eval=ErrorPrediction(labels, AutoName5, tag=eval)
outputs=Times(W1, AutoName4, tag=output)
"""

# The block of book 2.6 with peepholes, in the order in which SimpleNetworkBuilder draws its initial values.
LSTM = """features=Input(6, tag=feature)
WXO0=Parameter(4, 6)
WXI0=Parameter(4, 6)
WXF0=Parameter(4, 6)
WXC0=Parameter(4, 6)
bo0=Parameter(4, 1, init=fixedValue, value=-1)
bc0=Parameter(4, 1, init=zero)
bi0=Parameter(4, 1, init=fixedValue, value=-1)
bf0=Parameter(4, 1, init=fixedValue, value=-1)
WHI0=Parameter(4, 4)
WCI0=Parameter(4, 1)
WHF0=Parameter(4, 4)
WCF0=Parameter(4, 1)
WHO0=Parameter(4, 4)
WCO0=Parameter(4, 1)
WHC0=Parameter(4, 4)
# the input gate
AutoName0=PastValue(4, AutoName37)
AutoName4=PastValue(4, AutoName28)
AutoName7=DiagTimes(WCI0, AutoName4)
AutoName8=Times(WHI0, AutoName0)
AutoName9=Times(WXI0, features)
AutoName10=Plus(AutoName9, bi0)
AutoName11=Plus(AutoName10, AutoName8)
AutoName12=Plus(AutoName11, AutoName7)
AutoName13=Sigmoid(AutoName12)
# what comes into the cell
AutoName3=PastValue(4, AutoName37)
AutoName14=Times(WHC0, AutoName3)
AutoName15=Plus(AutoName14, bc0)
AutoName16=Times(WXC0, features)
AutoName17=Plus(AutoName16, AutoName15)
AutoName18=Tanh(AutoName17)
AutoName19=ElementTimes(AutoName13, AutoName18)
# the forget gate and the cell
AutoName1=PastValue(4, AutoName37)
AutoName5=PastValue(4, AutoName28)
AutoName6=PastValue(4, AutoName28)
AutoName20=DiagTimes(WCF0, AutoName5)
AutoName21=Times(WHF0, AutoName1)
AutoName22=Times(WXF0, features)
AutoName23=Plus(AutoName22, bf0)
AutoName24=Plus(AutoName23, AutoName21)
AutoName25=Plus(AutoName24, AutoName20)
AutoName26=Sigmoid(AutoName25)
AutoName27=ElementTimes(AutoName26, AutoName6)
AutoName28=Plus(AutoName27, AutoName19)
# the output gate and the output
AutoName2=PastValue(4, AutoName37)
AutoName29=DiagTimes(WCO0, AutoName28)
AutoName30=Times(WHO0, AutoName2)
AutoName31=Times(WXO0, features)
AutoName32=Plus(AutoName31, bo0)
AutoName33=Plus(AutoName32, AutoName30)
AutoName34=Plus(AutoName33, AutoName29)
AutoName35=Sigmoid(AutoName34)
AutoName36=Tanh(AutoName28)
AutoName37=ElementTimes(AutoName35, AutoName36)
W1=Parameter(6, 4)
labels=Input(6, tag=label)
AutoName38=Times(W1, AutoName37)
renamed=CrossEntropyWithSoftmax(labels, AutoName38, tag=criterion)
EvalErrorPrediction=ErrorPrediction(labels, AutoName38, tag=eval)
outputs=Times(W1, AutoName37, tag=output)
PosteriorProb=Softmax(outputs)
"""


class TwoBuildersTest(EndToEndTest):
    def prepare(self):
        numbers = random.Random(3)
        frames = [[numbers.gauss(0, 0.5) + (j % 2 == i % 2) for j in range(3)] for i in range(200)]
        self.write("frames.txt", "".join("%d %s\n" % (i % 2, " ".join("%.3f" % x for x in row))
                                         for i, row in enumerate(frames)))
        self.write("map.txt", "0\n1\n")
        self.write("rename.mel", "".join(
            'm=LoadModel("ndl/m.dnn%s")\nRename(m.renamed, m.$criterion$)\nSaveModel(m, "renamed/m.dnn%s")\n'
            % (end, end) for end in ("", ".0", ".1", ".2", ".3")))

    def write_sequences(self, sparse):
        numbers = random.Random(3)
        lines = []
        for sequence in range(30):
            word = numbers.randrange(6)
            for _ in range(numbers.randrange(2, 9)):
                following = (word * 2 + 1) % 6 if numbers.random() < 0.8 else numbers.randrange(6)
                one_hot = [" ".join(str(int(i == place)) for i in range(6)) for place in (word, following)]
                lines.append("%d |features %s |labels %s\n" % (
                    sequence, "%d:1" % word if sparse else one_hot[0], one_hot[1]))
                word = following
        self.write("sequences.txt", "".join(lines))

    def run_both(self, config, simple, script, precision, **words):
        for word, value in dict(words, simple=simple, precision=precision).items():
            config = config.replace("$%s$" % word, value)
        self.write("exp.cntk", config)
        self.write("net.ndl", script)
        return self.cntk("configFile=exp.cntk", "makeMode=false").stderr

    def same_files(self, folder):
        for end in ("", ".0", ".1", ".2", ".3"):
            first, second = ((self.folder / path / ("m.dnn" + end)).read_bytes() for path in ("simple", folder))
            self.assertTrue(first == second, "m.dnn%s differs" % end)
        for end in ("", ".1", ".2", ".3"):
            first, second = ((self.folder / path / ("m.dnn" + end + ".ckp")).read_bytes() for path in ("simple", "ndl"))
            self.assertTrue(first == second, "m.dnn%s.ckp differs" % end)
        self.assertNotEqual((self.folder / "simple/m.dnn").read_bytes(), (self.folder / "simple/m.dnn.0").read_bytes())

    def test_feed_forward_networks(self):
        self.prepare()
        renames = self.read("rename.mel")
        for simple, arguments in FEED_FORWARD:
            for precision in ("float", "double"):
                with self.subTest(simple, precision=precision):
                    criterion = arguments.get("criterion", "CrossEntropyWithSoftmax")
                    if "trainingCriterion" not in simple:
                        simple += "; trainingCriterion=CrossEntropyWithSoftmax"
                    if "evalCriterion" not in simple:
                        simple += "; evalCriterion=ErrorPrediction"
                    self.write("rename.mel", renames.replace("$criterion$", criterion))
                    log = self.run_both(FRAMES, simple, feed_forward(**arguments), precision)
                    self.same_files("renamed")
                    epochs = [line.split("EpochTime")[0].replace("renamed", criterion) for line in log.splitlines()
                              if line.startswith("Finished Epoch")]
                    self.assertEqual(len(epochs), 8)
                    self.assertEqual(epochs[:4], epochs[4:])

    def test_recurrent_networks(self):
        self.prepare()
        self.write("rename.mel", self.read("rename.mel").replace("$criterion$", "CrossEntropyWithSoftmax"))
        for kind, script, folder in (("SIMPLERNN", RECURRENT, "ndl"), ("LSTM", LSTM, "renamed")):
            for precision in ("float", "double"):
                with self.subTest(kind, precision=precision):
                    self.write_sequences(sparse=kind == "SIMPLERNN")
                    simple = "rnnType=%s; layerSizes=6:4:6; recurrentLayer=1; layerTypes=Sigmoid" % kind
                    if kind == "SIMPLERNN":
                        simple += "; defaultHiddenActivity=0.3"
                    simple += "; trainingCriterion=CrossEntropyWithSoftmax; evalCriterion=ErrorPrediction"
                    self.run_both(SEQUENCES, simple, script, precision,
                                  format="sparse" if kind == "SIMPLERNN" else "dense",
                                  commands="Simple:Ndl" if folder == "ndl" else "Simple:Ndl:Rename")
                    self.same_files(folder)


if __name__ == "__main__":
    main()
