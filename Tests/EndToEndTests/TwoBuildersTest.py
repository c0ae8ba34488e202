#!/usr/bin/env python3
"""SimpleNetworkBuilder and the same network written in NDL: from the same start values both give, after the same
epochs, the same model files and checkpoints, to the byte.

NDL reserves the names of functions, and SIMPLENET calls its criterion by the name of its type; that one node is renamed
by the edit action before files are compared. No other difference is allowed for."""
import random

from EndToEnd import EndToEndTest, main

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
Simple=[
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

SEQUENCES = """command=Simple:Ndl
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
Simple=[
  action=train
  modelPath=simple/m.dnn
  SimpleNetworkBuilder=[ $simple$ ]
]
Ndl=[
  action=train
  modelPath=ndl/m.dnn
  NDLNetworkBuilder=[ networkDescription=net.ndl ]
]
"""


def feed_forward(sizes, kinds=("Sigmoid",), start="init=uniform", normalise=False, dropout=False, prior=False,
                 criterion="CrossEntropyWithSoftmax", evaluation="ErrorPrediction"):
    """SIMPLENET in NDL, with the names and in the order that SimpleNetworkBuilder makes its nodes."""
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


# What SIMPLENET is asked for, and the same of the function above.
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

# Nodes without a name are called AutoName0, AutoName1, ... by SimpleNetworkBuilder, so these networks need no renaming.
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
        for precision in ("float", "double"):
            with self.subTest(precision):
                self.write_sequences(sparse=True)
                self.run_both(SEQUENCES, "rnnType=SIMPLERNN; layerSizes=6:4:6; recurrentLayer=1; layerTypes=Sigmoid; "
                              "defaultHiddenActivity=0.3; trainingCriterion=CrossEntropyWithSoftmax; "
                              "evalCriterion=ErrorPrediction", RECURRENT, precision, format="sparse")
                self.same_files("ndl")


if __name__ == "__main__":
    main()
