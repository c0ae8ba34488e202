#!/usr/bin/env python3
"""The binary readers of sparse records: SparsePCReader, LibSVMBinaryReader, DSSMReader. Their data train to the same bits as
the same data in text."""
import random
import re
import shutil
import signal
import subprocess
import time

from EndToEnd import CNTK, EndToEndTest, Instants, main
from SparseFiles import dssm, lib_svm, sparse_pc

RECORDS, WORDS, TOPICS, EPOCHS = 600, 40, 8, 3

CONFIG = """command=Train:Test
precision=$precision$
numCPUThreads=1
modelPath=$folder$/m.dnn
Train=[
  action=train
  NDLNetworkBuilder=[ networkDescription=net.ndl ]
  SGD=[ maxEpochs=%d; minibatchSize=32; epochSize=$epochSize$; learningRatesPerSample=0.05; momentumPerMB=0.5
        saveEveryMinutes=0.00005 ]
  reader=[ $reader$ ]
]
Test=[ action=test; minibatchSize=100; reader=[ $reader$; $testReader$ ] ]
""" % EPOCHS

PAIRS = """
Query = SparseInput(%d, tag="feature")
Doc = SparseInput(%d, tag="feature")
DSSMLabel = Input(4, tag="label")
WQ = Parameter(6, %d)
WD = Parameter(6, %d)
near = CosDistanceWithNegativeSamples(Tanh(Times(WQ, Query)), Tanh(Times(WD, Doc)), 1, 3)
loss = CrossEntropyWithSoftmax(DSSMLabel, Scale(8, near), tag="criterion")
wrong = ErrorPrediction(DSSMLabel, near, tag="eval")
""" % ((WORDS,) * 4)

SUMS = """
A = SparseInput(%d, tag="feature")
B = SparseInput(%d, tag="feature")
y = Input(1, tag="label")
wA = Parameter(1, %d, init=fixedValue, value=0)
wB = Parameter(1, %d, init=fixedValue, value=0)
out = Plus(Times(wA, A), Times(wB, B), tag="output")
loss = SquareError(y, out, tag="criterion")
""" % (WORDS, WORDS // 2, WORDS, WORDS // 2)

CTF = "readerType=CNTKTextFormatReader; file=data.ctf; randomize=none; input=[ %s ]"


def sparse_row(draw, words, count):
    """Returns distinct words in any order, with values that are exact in single precision."""
    return [(word, draw.randrange(1, 9) / 4) for word in draw.sample(words, count)]


def text(row):
    return " ".join("%d:%g" % pair for pair in row)


class SparseReadersTest(EndToEndTest):
    def configure(self, folder, reader, precision="float", test="", epochSize=0):
        values = dict(folder=folder, reader=reader, precision=precision, testReader=test, epochSize=epochSize)
        self.write("config.cntk", re.sub(r"\$(\w+)\$", lambda name: str(values[name[1]]), CONFIG))

    def train(self, folder, reader, precision="float", test="", **values):
        self.configure(folder, reader, precision, test, **values)
        run = self.cntk("configFile=config.cntk")
        self.assertNotIn("WARNING", run.stderr)
        return run.stderr

    def model(self, folder):
        return (self.folder / folder / "m.dnn").read_bytes()

    def losses(self, log):
        return [float(loss) for loss in re.findall(r"Finished Epoch.*TrainLossPerSample = ([\d.e+-]+)", log)]

    def result(self, log):
        return re.search("Final Results.*", log).group(0)

    def write_sums(self, real):
        """Writes records of features A and B, and their weighted sum y, in all three formats."""
        draw = random.Random(3)
        self.write("net.ndl", SUMS)
        weights = {word: draw.randrange(-8, 9) / 8 for word in range(WORDS + WORDS // 2)}
        ctf, records = [], []
        for _ in range(RECORDS):
            a = sparse_row(draw, range(WORDS), draw.randrange(0, 6))
            b = sparse_row(draw, range(WORDS // 2), draw.randrange(1, 4))
            y = sum(weights[w] * v for w, v in a) + sum(weights[WORDS + w] * v for w, v in b)
            records.append((a, b, y))
            ctf.append("|A %s |B %s |y %r\n" % (text(a), text(b), y))
        self.write("data.ctf", "".join(ctf))
        (self.folder / "data.pc").write_bytes(sparse_pc(records, real, 77))
        streams = (("first", WORDS), ("second", WORDS // 2), ("y", 1))
        (self.folder / "data.svm").write_bytes(lib_svm(records, real, streams, 64))

    def test_sums(self):
        """float and double, and all readers, give one result."""
        for precision, real in (("float", "f"), ("double", "d")):
            self.write_sums(real)
            readers = {
                "ctf": CTF % ("A=[ dim=%d; format=sparse ]; B=[ dim=%d; format=sparse ]; y=[ dim=1; format=dense ]" %
                              (WORDS, WORDS // 2)),
                "pc": "readerType=SparsePCReader; file=data.pc; verificationCode=77; randomize=auto; "
                      "A=[ dim=%d ]; B=[ dim=%d ]; y=[ labelDim=1; labelType=regression ]" % (WORDS, WORDS // 2),
                "svm": "readerType=LibSVMBinaryReader; file=data.svm; A=[ rename=first ]; second=[ rename=B ]; "
                       "y=[ labelDim=1; labelType=regression ]"}
            logs = {name: self.train(precision + name, reader, precision) for name, reader in readers.items()}
            self.assertLess(self.losses(logs["ctf"])[-1], 0.2 * self.losses(logs["ctf"])[0])
            self.assertEqual(len(self.losses(logs["ctf"])), EPOCHS)
            for name in ("pc", "svm"):
                self.assertEqual(self.model(precision + name), self.model(precision + "ctf"), name)
                self.assertEqual(self.result(logs[name]), self.result(logs["ctf"]))
            # Dense columns give the same sums as sparse ones.
            dense = self.train(precision + "dense", readers["pc"] + "; returnDense=true", precision)
            self.assertEqual(self.losses(dense), self.losses(logs["ctf"]))

    def write_pairs(self):
        """Writes pairs of a query and a document of one topic, which use different words."""
        draw = random.Random(4)
        self.write("net.ndl", PAIRS)
        size = WORDS // TOPICS
        rows, lines = ([], []), []
        for record in range(RECORDS):
            topic = record * 5 % TOPICS
            words = range(topic * size, (topic + 1) * size)
            for part in (0, 1):
                rows[part].append(sparse_row(draw, words, draw.randrange(1, size)))
            lines.append("|Doc %s |Query %s |DSSMLabel 1\n" % (text(rows[0][-1]), text(rows[1][-1])))
        self.write("data.ctf", "".join(lines))
        for name, part in (("doc", rows[0]), ("query", rows[1])):
            (self.folder / (name + ".bin")).write_bytes(dssm(part, WORDS))

    DSSM = "readerType=DSSMReader; Doc=[ file=doc.bin; dim=40 ]; Query=[ file=query.bin; dim=40 ]; " \
           "DSSMLabel=[ labelDim=4; labelType=Category ]; randomize="

    def test_pairs(self):
        self.write_pairs()
        ctf = self.train("ctf", CTF % "Doc=[ dim=40; format=sparse ]; Query=[ dim=40; format=sparse ]; "
                                      "DSSMLabel=[ dim=4; format=dense ]")
        dssm = self.train("dssm", self.DSSM + "none")
        self.assertEqual(self.model("dssm"), self.model("ctf"))
        self.assertEqual(self.result(dssm), self.result(ctf))
        # Another order gives other minibatches. The file's values have 4 bytes for each precision, and
        # the label's rows are those of its node.
        shuffled = self.train("shuffled", self.DSSM.replace("labelDim=4; ", "") + "auto", "double")
        self.assertNotEqual(self.losses(shuffled), self.losses(dssm))
        for log in (dssm, shuffled):
            self.assertLess(self.losses(log)[-1], 0.7 * self.losses(log)[0])

    def test_killed_it_goes_on(self):
        self.write_pairs()
        self.train("whole", self.DSSM + "auto", epochSize=400)
        began = time.monotonic()
        self.configure("timed", self.DSSM + "auto", epochSize=400)
        self.cntk("configFile=config.cntk", "command=Train")
        whole = time.monotonic() - began
        self.configure("killed", self.DSSM + "auto", epochSize=400)
        instants, kills, ends = Instants(random.Random(5), whole), 0, 0
        while kills < 20 or ends == 0:
            process = subprocess.Popen([str(CNTK), "configFile=config.cntk", "command=Train"], cwd=self.folder,
                                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                process.wait(instants.next())
            except subprocess.TimeoutExpired:
                process.kill()
            status = process.wait()
            instants.note(status == 0)
            if status == -signal.SIGKILL:
                kills += 1
                continue
            self.assertEqual(status, 0)
            self.assertEqual(self.model("killed"), self.model("whole"))
            ends += 1
            shutil.rmtree(self.folder / "killed")

    def test_messages(self):
        """Messages about a wrong precision or dimension."""
        self.write_sums("d")
        reader = "readerType=SparsePCReader; file=data.pc; verificationCode=77; A=[ dim=%d ]; B=[ dim=%d ]; " \
                 "y=[ labelDim=1 ]" % (WORDS, WORDS // 2)
        self.configure("wrong", reader)
        run = self.cntk("configFile=config.cntk", status=4)
        self.assertRegex(run.stderr, r"'data.pc', record 0, byte \d+: expected .*, found .*; the values of the file are "
                                     r"read as numbers of 4 bytes, according to precision")
        run = self.cntk("configFile=config.cntk", "precision=double", "Train=[reader=[A=[dim=41]]]", status=3)
        self.assertIn("input node 'A' of the network has dimension 40, but stream 'A' of the reader has dimension 41",
                      run.stderr)


if __name__ == "__main__":
    main()
