#!/usr/bin/env python3
"""Runs files of the original with the real program: its models, the data that its readers delivered, its own data."""
import itertools
import math
import re
import struct

from EndToEnd import EndToEndTest, main

MODEL_RUNS = """
command=dump:test:write
deviceId=-1
precision=float
dump=[ action=dumpnode; outputFile=dump.txt ]
test=[ action=test; reader=[ $data$ ] ]
write=[ action=write; outputNodeNames=$node$; outputPath=out; reader=[ $data$ ] ]
"""

# A class for each sequence of words: the state after the last word, reconciled with the labels' own axis.
SEQUENCE_CLASSES = """
command=train
deviceId=-1
precision=float
traceLevel=1
train=[
  action=train
  modelPath=m.dnn
  NDLNetworkBuilder=[ networkDescription=net.ndl ]
  SGD=[ maxEpochs=2; minibatchSize=200; learningRatesPerSample=0.005; momentumPerMB=0 ]
  reader=[
    readerType=CNTKTextFormatReader
    file=%s
    randomize=false
    input=[ features=[alias=x; dim=2000; format=sparse]; labels=[alias=y; dim=5; format=dense] ]
  ]
]
"""

SEQUENCE_CLASSES_NDL = """
words=DynamicAxis()
features=SparseInput(2000, dynamicAxis=words, tag=feature)
labels=Input(5, tag=label)
E=Parameter(20, 2000)
W=Parameter(20, 20)
R=Parameter(20, 20)
O=Parameter(5, 20)
nothing=Times(Constant(0, rows=1, cols=2000), features)
isLast=FutureValue(1, nothing, defaultHiddenActivity=1)
h=Tanh(Plus(Times(W, Times(E, features)), Times(R, PastValue(20, h))))
last=GatherPacked(PackedIndex(h, Where(isLast)), h)
z=ReconcileDynamicAxis(Times(O, last), labels)
ce=CrossEntropyWithSoftmax(labels, z, tag=criterion)
err=ErrorPrediction(labels, z, tag=eval)
"""

# Pieces of 32 parallel utterances. Only the lengths of the utterances matter, so the features are made here.
TRUNCATED = """
command=train
deviceId=-1
precision=float
traceLevel=1
truncated=true
train=[
  action=train
  modelPath=m.dnn
  NDLNetworkBuilder=[ networkDescription=net.ndl ]
  SGD=[ epochSize=20480; minibatchSize=20; learningRatesPerMB=0.01; momentumPerMB=0; maxEpochs=2 ]
  reader=[
    readerType=HTKMLFReader
    readMethod=blockRandomize
    randomize=Auto
    frameMode=false
    nbruttsineachrecurrentiter=32
    features=[ dim=1; scpFile={0}/glob_0000.scp; prefixPathInSCP=. ]
    labels=[ mlfFile={0}/glob_0000.mlf; labelMappingFile={0}/state.list; labelDim=132 ]
  ]
]
"""

TRUNCATED_NDL = """
features=Input(1, tag=feature)
labels=Input(132, tag=label)
h=Tanh(Plus(features, Times(Parameter(1, 1), PastValue(1, h))))
ce=CrossEntropyWithSoftmax(labels, Times(Parameter(132, 1), h), tag=criterion)
"""

# Writes the data that a reader delivers.
DELIVERED = """
command=write
deviceId=-1
precision=%s
write=[
  action=write
  minibatchSize=%d
  outputPath=out
  format=[ precisionFormat=".0" ]
  NDLNetworkBuilder=[ networkDescription=net.ndl ]
  reader=[ %s ]
]
"""


class RecordedDataTest(EndToEndTest):
    def evaluate(self, model, node, data, streams, dump=None):
        """Returns a dump, totals over the data, and values of a node."""
        self.write("runs.cntk", MODEL_RUNS)
        reader = "readerType=CNTKTextFormatReader; file=%s; randomize=false; input=[ %s ]" % (
            self.shared("data/" + data), streams)
        run = self.cntk("configFile=runs.cntk", "modelPath=%s" % self.shared("data/models/" + model), "node=" + node,
                        'data="%s"' % reader)
        if dump:
            # The original's exponents have three digits on Windows.
            wanted = self.shared("data/models/" + dump).read_text(encoding="utf-8").replace("e-00", "e-0")
            self.assertEqual(self.read("dump.txt").split(), wanted.split())
        return run.stderr, [line.split() for line in self.read("out." + node).splitlines()]

    def assert_first(self, values, derived, delta=2e-6):
        wanted = self.shared("data/models/derived/" + derived).read_text(encoding="utf-8").splitlines()
        self.assertEqual(len(wanted), 20)
        for got, line in zip(values, wanted):
            for number, other in itertools.zip_longest(got, line.split()):
                self.assertAlmostEqual(float(number), float(other), delta=delta * max(1, abs(float(other))))

    def test_logistic_regression(self):
        streams = "features=[dim=2; format=dense]; labels=[dim=1; format=dense]"
        log, values = self.evaluate("LR_reg.dnn", "p", "simple2d/helloworld/Test_cntk_text.txt", streams,
                                    "LR_reg.dnn_Expected.txt")
        self.assertIn("SamplesSeen = 500    err: SquareError/Sample = 0.00688694", log)
        self.assertIn("lr: Logistic/Sample = 0.0290940", log)
        self.assert_first(values, "LR_reg_p_HelloWorld_test_first20.txt")
        log, _ = self.evaluate("LR_reg.dnn", "p", "simple2d/helloworld/Train_cntk_text.txt", streams)
        self.assertIn("SamplesSeen = 1000    err: SquareError/Sample = 0.0110896", log)
        self.assertIn("lr: Logistic/Sample = 0.0408960", log)

    def test_three_classes(self):
        streams = "features=[dim=2; format=dense]; labels=[dim=3; format=dense]"
        log, values = self.evaluate("MC.dnn", "z", "simple2d/helloworld/Test-3Classes_cntk_text.txt", streams,
                                    "MC.dnn_Expected.txt")
        self.assertRegex(log, r"errs: ErrorPrediction/Sample = 0\.102    "
                              r"ce: CrossEntropyWithSoftmax/Sample = 0\.24347\b")
        self.assert_first(values, "MC_z_HelloWorld_3class_test_first20.txt")

    def test_digits_in_one_hidden_layer(self):
        log, values = self.evaluate("01_OneHidden.dnn", "z.z", "mnist/ctf/MNIST_dense.txt",
                                    "features=[alias=F; dim=784; format=dense]; labels=[alias=L; dim=10; format=dense]",
                                    "01_OneHidden.dnn_Expected.txt")
        self.assertRegex(log, r"errs: ErrorPrediction/Sample = 0\.905    ce: CrossEntropyWithSoftmax/Sample = 10\.7459")
        self.assert_first(values, "01_OneHidden_z_MNIST_dense_first20.txt", 1e-5)

    def delivered(self, network, reader, minibatch_size, precision="double"):
        self.write("net.ndl", network)
        self.write("read.cntk", DELIVERED % (precision, minibatch_size, reader))
        self.cntk("configFile=read.cntk")

    def test_images_of_digits_as_text(self):
        data = self.shared("data/mnist/ctf/MNIST_dense.txt")
        self.delivered("F=Input(784, tag=feature)\nL=Input(10, tag=label)\nimages=Pass(F, tag=output)\n"
                       "classes=Pass(L, tag=output)\n",
                       "readerType=CNTKTextFormatReader; file=%s; randomize=false; "
                       "input=[ F=[dim=784; format=dense]; L=[dim=10; format=dense] ]" % data, 1000)
        wanted = self.shared("data/mnist/ctf/MNIST_dense.expected.txt").read_text(encoding="utf-8").split()
        got = (self.read("out.images") + "\n" + self.read("out.classes")).split()
        self.assertEqual([float(x) for x in got], [float(x) for x in wanted])

    def image(self, map_file, width, height, crop):
        self.copy_shared("data/image/images")
        self.copy_shared("data/image/" + map_file)
        self.delivered("features=ImageInput(%d, %d, 3, imageLayout=cudnn, tag=feature)\nx=Pass(features, tag=output)\n"
                       % (width, height),
                       "readerType=ImageReader; file=%s; randomize=none; features=[ width=%d; height=%d; channels=3; "
                       "%s; jitterType=UniRatio; interpolations=Linear ]; labels=[ labelDim=4 ]"
                       % (map_file, width, height, crop), 10, "float")
        return self.read("out.x").splitlines()

    def test_ten_views_of_an_image(self):
        got = self.image("ImageReaderMultiView_map.txt", 2, 2, "cropType=MultiView10; cropRatio=0.5")
        wanted = self.shared("data/image/expected/ImageReaderMultiView_Control.txt").read_text(encoding="utf-8")
        self.assertEqual([line.split() for line in got], [line.split() for line in wanted.splitlines()])

    def test_images_of_one_colour(self):
        for map_file, control in (("ImageReaderSimple_map.txt", "ImageReaderSimple_Control.txt"),
                                  ("ImageReaderZip_map.txt", "ImageReaderZip_Control.txt")):
            with self.subTest(map_file):
                wanted = self.shared("data/image/expected/" + control).read_text(encoding="utf-8").split()
                got = self.image(map_file, 4, 8, "cropType=Center; cropRatio=1.0")
                # The record was made on Windows, where a shuffle has another order: green, red, blue, black.
                self.assertEqual([x for i in (2, 3, 1, 0) for x in got[i].split()], wanted)

    def test_a_class_for_each_sequence(self):
        self.write("net.ndl", SEQUENCE_CLASSES_NDL)
        self.write("train.cntk", SEQUENCE_CLASSES % self.shared("data/ctf/SequenceClassification_Train.ctf"))
        log = self.cntk("configFile=train.cntk").stderr
        # Averages are over sequences; guessing has a cross entropy of log(5).
        totals = re.findall(r"TrainLossPerSample = (\S+); TotalSamplesSeen = (\d+); EvalErrPerSample = (\S+);", log)
        self.assertEqual([samples for _, samples, _ in totals], ["1247", "2494"])
        self.assertLess(float(totals[1][0]), float(totals[0][0]))
        self.assertLess(abs(float(totals[0][0]) - math.log(5)), 0.3)

    def test_truncated_utterances_of_an4(self):
        folder = self.shared("data/an4")
        frames = 252734
        (self.folder / "Features").mkdir()
        (self.folder / "Features/000000000.chunk").write_bytes(struct.pack(">iihh", frames, 100000, 4, 9)
                                                               + bytes(4 * frames))
        self.write("net.ndl", TRUNCATED_NDL)
        self.write("train.cntk", TRUNCATED.format(folder))
        log = self.cntk("configFile=train.cntk").stderr
        # The original's numbers of samples in ten minibatches, and the beginning of its second epoch.
        seen = re.findall(r"Epoch\[ (\d) of 2\]-Minibatch.*: SamplesSeen = (\d+);", log)
        self.assertEqual([int(count) for epoch, count in seen if epoch == "1"], [6400, 6400, 5738, 1840])
        self.assertEqual([int(count) for epoch, count in seen if epoch == "2"], [6400, 6400, 4782, 2238, 608])
        self.assertIn("TotalSamplesSeen = 20546;", log)
        # Two parallel whole utterances, and a third one if it fits after the shorter one.
        log = self.cntk("configFile=train.cntk", "truncated=false", "makeMode=false",
                        "train=[reader=[nbruttsineachrecurrentiter=2]]", "train=[SGD=[numMBsToShowResult=1]]").stderr
        seen = re.findall(r"Epoch\[ 1 of 2\]-Minibatch.*: SamplesSeen = (\d+);", log)
        self.assertEqual([int(count) for count in seen[:3]], [516, 456, 704])

    def test_sentences_that_end_after_every_o(self):
        folder = self.shared("data/atis/lu")
        self.delivered("features=SparseInput(2832, tag=feature)\nlabels=Input(127, tag=label)\n"
                       "y=Pass(labels, tag=output)\n",
                       "readerType=LUSequenceReader; traceLevel=1; wordContext=0:1:2; randomize=None; unk=\"<unk>\"; "
                       "wordmap={0}/inputmap.txt; file={0}/atis.train.apos.pred.pos.head.IOB.simple; "
                       "labelIn=[ usewordmap=true; token={0}/input.txt; beginSequence=BOS; endSequence=EOS ]; "
                       "labels=[ token={0}/output.txt; beginSequence=O; endSequence=O ]".format(folder), 1000)
        # The original's log: "Parsed 51 lines with a total of 36+51 tokens."
        log = self.cntk("configFile=read.cntk").stderr
        self.assertIn("51 sequences with a total of 81 tokens", log)
        lines = self.read("out.y").splitlines()
        self.assertEqual(len(lines), 81)
        self.assertTrue(all(line.split().count("1") == 1 for line in lines))


if __name__ == "__main__":
    main()
