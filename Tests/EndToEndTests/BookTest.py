#!/usr/bin/env python3
"""Runs the configs of the book's chapters 1, 3, 5 and 7 as printed: no name in them is refused or unknown."""
import random

from EndToEnd import EndToEndTest, main

# 3.1 and 3.4.1, with the network of chapter 4 in a section of a file.
MNIST = r"""
command=mnistTrain
mnistTrain=[
  action=train

 NDLNetworkBuilder=[
  networkDescription=cntk\config\sample.ndl
  run=ndlMacroUse
 ]
 SGD=[
  modelPath=cntk\model\mnist.cn
  learningRatesPerMB=0.001
  minibatchSize=32
  epochSize=32
  maxEpochs=1
 ]
 reader=[
   readerType=UCIFastReader
   file=cntk\data\mnist_train.txt
   features=[
    dim=7
    start=1
  ]
  labels=[
    dim=1
    start=0
    labelDim=3
       labelMappingFile=cntk\data\mnistlabels.txt
  ]
 ]
]
"""

SAMPLE = """
load=ndlMacros
run=ndlAnother
ndlMacros=[
  FF(X1, W1, B1)
  {
     T=Times(W1, X1)
     FF=Plus(T, B1)
  }
  BFF(in, rows, cols)
  {
     B=Parameter(rows)
     W=Parameter(rows, cols)
     BFF = FF(in, w, b)
  }
  RBFF(input, rowCount, colCount)
  {
    F = BFF(input, rowCount, colCount);
    RBFF = RectifiedLinear(F);
  }
  SMBFF(x,r,c, labels)
  {
    F = BFF(x,r,c);
    SM = CrossEntropyWithSoftmax(labels, F)
  }
]
ndlAnother=[
  features=Input(99)
]
ndlMacroUse=[
  # Sample, Hidden, and Label dimensions
  SDim=7
  HDim=5
  LDim=3
  #Inputs
  features=Input(SDim, tag=feature)
  labels=Input(LDim, tag=label)
  # Layer operations
  L1 = RBFF(features, HDim, SDim)
  CE = SMBFF(L1, LDim, HDim, labels, tag=Criteria)
  Err=ErrorPrediction(labels, CE.F, tag=Eval)
]
"""

# 1.2, with corrected brackets.
DEMO = """
# deviceId=-1 for CPU, >=0 for GPU devices
DeviceNumber=-1
stderr=Demo
precision=float
modelPath=models/simple.dnn
deviceId=$DeviceNumber$
outputNodeNames=ScaledLogLikelihood
traceLevel=1
# TRAINING CONFIG (Simple, Fixed LR) #
Simple_Demo=[
  action=train
   # Notation xxx:yyy*n:zzz is equivalent to xxx,
   # then yyy repeated n times, then zzz
   # example: 10:20*3:5 is equivalent to 10:20:20:20:5
  SimpleNetworkBuilder=[
     # 2 input, 2 50-element hidden, 2 output
     layerSizes=2:50*2:2
     trainingCriterion=CrossEntropyWithSoftmax
     evalCriterion=ErrorPrediction
     layerTypes=Sigmoid
     initValueScale=1.0
     applyMeanVarNorm=true
     uniformInit=true
     needPrior=true ]
  SGD=[
     epochSize=0
     minibatchSize=25
     learningRatesPerMB=0.5:0.2*20:0.1
     momentumPerMB=0.9
     dropoutRate=0.0
     maxEpochs=2
  ]
  # Parameter values for the reader
  reader=[
    # reader to use
    readerType=UCIFastReader
    file=SimpleDataTrain.txt
    miniBatchMode=Partial
    randomize=Auto
    verbosity=1
    features=[
      dim=2 # two-dimensional input data
      start=0 # Start with first element on line
    ]
    labels=[
     start=2 # Skip two elements
     dim=1 # One label dimension
     labelDim=2 # Two labels possible
     labelMappingFile=SimpleMapping.txt
    ]
  ]
]
# OUTPUT RESUTLS (Simple) #
Simple_Demo_Output=[
  action=write
  reader=[
    readerType=UCIFastReader
    file=SimpleDataTrain.txt
    features=[
      dim=2
      start=0
    ]
    labels=[
     start=2
     dim=1
     labelDim=2
     labelMappingFile=SimpleMapping.txt
    ]
  ]
  outputPath=SimpleOutput # Dump output as text
]
"""

# 7.2.1: its list of parameters, put into blocks, with the reader of 3.4.3.
LANGUAGE_MODEL = r"""
command=train:test
DataDir=data
train=[
  action=train
  minibatchSize=10
  deviceId=-1
  epochSize=4430000
  SimpleNetworkBuilder=[
    rnnType=CLASSLM
    trainingCriterion=classCrossEntropyWithSoftmax
    evalCriterion=classCrossEntropyWithSoftmax
    nodeType=Sigmoid
    layerSizes=12:6:12
    uniformInit=true
    vocabSize=12
    nbrClass=3
  ]
  SGD=[
    learningRatesPerSample=0.1
    momentumPerMB=0
    gradientClippingWithTruncation=true
    clippingThresholdPerSample=15.0
    maxEpochs=2
    numMBsToShowResult=2000
    gradUpdateType=None
    modelPath=log\modelRnnCNTK
    loadBestModel=true
    reduceLearnRateIfImproveLessThan=0.001
    continueReduce=true
    learnRateDecreaseFactor=0.5
  ]
  reader=[
    readerType=LMSequenceReader
    randomize=false
    nbruttineachrecurrentiter=10
    unk="<unk>"
    wordclass=$DataDir$\wordclass.txt
    file=$DataDir$\ptb.train.cntk.txt

  labelIn=[
    labelDim=12
  beginSequence="</s>"
  endSequence="</s>"
  ]
  ]
  cvReader=[
    readerType=LMSequenceReader
    randomize=None
    nbruttsineachrecurrentiter=10
    unk="<unk>"
    wordclass=$DataDir$\wordclass.txt
    file=$DataDir$\ptb.valid.cntk.txt
    labelIn=[
      labelDim=12
      beginSequence="</s>"
      endSequence="</s>"
    ]
  ]
]
test=[
  action=eval
  minibatchSize=100
  deviceId=-1
  modelPath=log\modelRnnCNTK
  reader=[
    readerType=LMSequenceReader
    wordclass=$DataDir$\wordclass.txt
    file=$DataDir$\ptb.valid.cntk.txt
    labelIn=[
      labelDim=12
      beginSequence="</s>"
      endSequence="</s>"
    ]
  ]
]
"""

# 7.4.1 and 7.4.2, with the reader of 3.4.4.
SLOTS = r"""
command=train:write
deviceId=-1
modelPath=temp\exp\ATIS\temp\cntkdebug.dnn
DataDir=data
train=[
  action=train
  minibatchSize = 10
  SimpleNetworkBuilder=[
    recurrentLayer=2
    rnnType=LSTM
    lookupTableOrder=3
    trainingCriterion=crossentropywithsoftmax
    evalCriterion=crossentropywithsoftmax
    layerSizes=21:4:5:3
  ]
  SGD=[
    learningRatePerSample=0.1
    gradUpdateType=AdaGrad
    maxEpochs=1
  ]
  reader=[
    readerType=LUSequenceReader
    randomize=None
    wordContext=0:1:2
    nbruttineachrecurrentiter=10
    unk="<unk>"
    wordmap=$DataDir$\inputmap.txt
    file=$DataDir$\atis.train.IOB
    labelIn=[
     usewordmap=true
     beginSequence="BOS"
     endSequence="EOS"
     token=$DataDir$\input.txt
    ]
    labels=[
     beginSequence="0"
     endSequence="0"
     token=$DataDir$\output.txt
  ]
  ]
  cvReader=[
    readerType=LUSequenceReader
    wordcontext=0:1:2
    wordmap=$DataDir$\inputmap.txt
    file=$DataDir$\atis.train.IOB
    labelIn=[
     usewordmap=true
     beginingSequence="BOS"
     endSequence="EOS"
     token=$DataDir$\input.txt
    ]
    labels=[
     token=$DataDir$\output.txt
    ]
  ]
]
write=[
  action=write
  outputNodeNames=outputs:labels
  reader=[
    readerType=LUSequenceReader
    wordContext=0:1:2
    wordmap=$DataDir$\inputmap.txt
    file=$DataDir$\atis.test.IOB
    labelIn=[
     usewordmap=true
     beginSequence="BOS"
     endSequence="EOS"
     token=$DataDir$\input.txt
    ]
    labels=[
     token=$DataDir$\output.txt
    ]
  ]
  writer=[
    writerType=LUSequenceWriter
    outputs=[
      file=output\output.rec.txt
      token=$DataDir$\output.txt
    ]
    labels=[
      file=output\labels.txt
      token=$DataDir$\output.txt
    ]
  ]
]
"""


class BookTest(EndToEndTest):
    def strict(self, *arguments):
        """Runs with unknown and unused names as errors."""
        return self.cntk(*arguments, "strictConfig=true").stderr

    def write_points(self, name, inputs, classes, label_first, count=32):
        points = random.Random(7)
        lines = []
        for i in range(count):
            values = ["%.2f" % (points.gauss(0, 1) + i % classes) for _ in range(inputs)]
            lines.append(" ".join([str(i % classes)] + values if label_first else values + [str(i % classes)]))
        self.write(name, "\n".join(lines) + "\n")

    def test_1_2_the_simple_demo(self):
        self.write_points("SimpleDataTrain.txt", 2, 2, False, 100)
        self.write("SimpleMapping.txt", "0\n1\n")
        self.write("Simple.config", DEMO)
        self.strict("configFile=Simple.config", "command=Simple_Demo:Simple_Demo_Output")
        log = self.read("Demo_Simple_Demo_Simple_Demo_Output.log")
        self.assertIn("Finished Epoch[ 2 of 2]", log)
        self.assertEqual(len(self.read("SimpleOutput.ScaledLogLikelihood").splitlines()), 100)
        # The printed text has no command= and lacks brackets.
        run = self.cntk("configFile=Simple.config", status=3)
        self.assertIn("blocks in the config: Simple_Demo, Simple_Demo_Output", run.stderr)
        self.write("Printed.config", DEMO.replace("    ]\n    labels", "    labels"))
        run = self.cntk("configFile=Printed.config", status=3)
        self.assertIn("no closing ']' found for the '[' that opens here", run.stderr)

    def mnist(self):
        self.write("yourExp.config", MNIST)
        self.write("cntk/config/sample.ndl", SAMPLE)
        self.write_points("cntk/data/mnist_train.txt", 7, 3, True)
        self.write_points("mynewfile.txt", 7, 3, True, 64)
        self.write("cntk/data/mnistlabels.txt", "0\n1\n2\n")

    def test_3_1_a_section_of_a_file_and_paths_of_windows(self):
        self.mnist()
        self.assertIn("Finished Epoch[ 1 of 1]", self.strict("configFile=yourExp.config"))
        self.assertTrue((self.folder / "cntk/model/mnist.cn").exists())

    def test_3_9_2_and_3_9_3_overrides_and_layers(self):
        self.mnist()
        # The whole of mynewfile.txt has 64 samples.
        self.write("yourExp2.config", "mnistTrain=[reader=[file=mynewfile.txt]]\n")
        self.write("yourExp3.config", "mnistTrain=[SGD=[epochSize=$var1$]]\n")
        self.write("including.config", "include=yourExp.config\nmnistTrain=[reader=[file=mynewfile.txt]]\n"
                                       "include=yourExp3.config\ninclude=yourExp.config\n")
        new_file = "mnistTrain=[reader=[file=mynewfile.txt]]"
        for arguments in (["configFile=yourExp.config", new_file, "mnistTrain=[SGD=[epochSize=0]]"],
                          ["configFile=yourExp.config+yourExp2.config", "var1=0", "configFile=yourExp3.config"],
                          ["configFile=yourExp.config", "configFile=yourExp2.config", "configFile=yourExp3.config",
                           "var1=0"],
                          ["configFile=including.config", "var1=0"]):
            log = self.strict(*arguments, "makeMode=false")
            self.assertIn("TotalSamplesSeen = 64;", log, arguments)
        self.cntk("configFile=yourExp.config", r"stderr=temp\newpath")
        self.assertTrue((self.folder / "temp/newpath_mnistTrain.log").exists())

    def test_3_9_4_variables_and_folders_that_do_not_exist(self):
        self.mnist()
        self.write("words.config", MNIST.replace(r"cntk\model\mnist.cn", r"$Root$\$RunName$.cn").replace(
            "dim=7", "dim=$DataSet1_Dim$").replace(r"cntk\data\mnist_train.txt", "$DataSet1_Features$").replace(
                "command=mnistTrain", "command=MnistTrain\nRoot=elsewhere\nA=$B$\nB=$C$\nC=mynewfile.txt"))
        self.strict("configFile=words.config", r"stderr=$Root$\$RunName$\$RunName$.log", "Root=new", "RunName=exp1",
                    "DataSet1_Dim=7", "DataSet1_Features=$A$")
        self.assertTrue((self.folder / "new/exp1/exp1.log_MnistTrain.log").exists())
        self.assertTrue((self.folder / "new/exp1.cn").exists())

    def test_3_9_5_and_5_1_3_values_comments_and_separators(self):
        self.write("c.config", r"""
stderr=log\cntk # "_mnistTrain_mnistTest.log"
command=t
block1=[id=1;size=256]
block2=[
  subblock=[string="hi";num=5]
  value=1e-10
  array=10:"this is a test":1.25
]
params=[a=1;b=2;c=3]
params=[c=5;d=6;e=7]
name=[|parameter1=value1|parameter2=value2|parameter3=value3
]
array={|c:\temp\new.txt||12*3||1e-12}
var=1#INF
t=[ action=dumpnode; modelPath=m.dnn ]
""")
        shown = " ".join(line.split("#")[0].strip() if "INF" not in line else line.strip()
                         for line in self.cntk("configFile=c.config", "--print-config").stdout.splitlines())
        for part in ("id=1 size=256", 'string="hi" num=5', "value=1e-10", 'array=10:"this is a test":1.25',
                     "a=1 b=2 c=5 d=6 e=7", "parameter1=value1 parameter2=value2 parameter3=value3", "var=1#INF"):
            self.assertIn(part, shown)

    def write_text(self, name, sentences):
        words = random.Random(sentences)
        lines = [" ".join("w%d" % words.randrange(10) for _ in range(words.randrange(2, 9))) for _ in range(sentences)]
        self.write(name, "".join("</s> %s </s>\n" % line for line in lines))

    def test_7_2_and_7_3_language_models(self):
        self.write_text("data/ptb.train.cntk.txt", 20)
        self.write_text("data/ptb.valid.cntk.txt", 6)
        vocabulary = ["</s>", "<unk>"] + ["w%d" % i for i in range(10)]
        self.write("data/wordclass.txt", "".join("%d\t%d\t%s\t%d\n" % (i, 100 - i, word, i // 4)
                                                 for i, word in enumerate(vocabulary)))
        self.write("rnnlm.config", LANGUAGE_MODEL)
        # The list lacks recurrentLayer, which 7.3 has: the network is built, with a warning.
        log = self.cntk("configFile=rnnlm.config").stderr
        self.assertNotIn("unknown key", log)
        self.assertIn("no layer of this CLASSLM is recurrent", log)
        self.write("lstmlm.config", LANGUAGE_MODEL.replace("nodeType=Sigmoid", "recurrentLayer=1").replace(
            "momentumPerMB=0", "useAdagrad=true").replace("modelRnnCNTK", "lstm.dnn"))
        log = self.strict("configFile=lstmlm.config", "train=[SimpleNetworkBuilder=[nodeType=Tanh]]", "traceLevel=1")
        self.assertNotIn("WARNING", log)
        self.assertIn(" = Tanh (AutoName", log)
        self.assertRegex(log, r"Final Results: .*TrainNodeClassBasedCrossEntropy: "
                              r"ClassBasedCrossEntropyWithSoftmax/Sample = \S+ +Perplexity = \S+")

    def test_7_4_language_understanding(self):
        self.write("data/atis.train.IOB", "BOS O\nfly O\nto O\nrome CITY\nEOS O\n\nBOS O\nto O\nnew CITY\nyork REST\n"
                                          "EOS O\n\n")
        self.write("data/atis.test.IOB", "BOS O\ntrans O\nto O\nrome CITY\nEOS O\n\n")
        words = "BOS EOS <unk> fly to rome york".split()
        self.write("data/input.txt", "\n".join(words) + "\n")
        pairs = [(word, word) for word in words] + [("trans", "<unk>"), ("new", "<unk>")]
        self.write("data/inputmap.txt", "".join("%s %s\n" % pair for pair in pairs))
        self.write("data/output.txt", "O\nCITY\nREST\n")
        self.write("rnnlu.config", SLOTS)
        log = self.strict("configFile=rnnlu.config")
        self.assertNotIn("WARNING", log)
        self.assertEqual(self.read("output/labels.txt"), "O O O CITY O \n")
        self.assertEqual(len(self.read("output/output.rec.txt").split()), 5)


if __name__ == "__main__":
    main()
