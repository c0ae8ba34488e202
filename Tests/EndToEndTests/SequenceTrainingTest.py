#!/usr/bin/env python3
"""Sequence training: a network trained frame by frame, then with lattices, by MMI and by minimum Bayes risk. The test computes
the criteria of the lattices itself and compares them."""
import array
import math
import random
import re
import struct
import sys

from EndToEnd import EndToEndTest, main

STATES = ["s%d" % i for i in range(8)]
WORDS = {"ab": (0, 1, 2, 3), "ac": (0, 1, 4, 5), "ba": (2, 3, 0, 1), "bd": (2, 3, 6, 7), "cd": (4, 5, 6, 7), "da": (6, 7, 0, 1)}
DIM = 3
FRAME = 100000  # in units of 100 ns

CONFIG = """
command=frames:edit:sequences
deviceId=-1
precision=double
modelPath=frames.dnn
reader=[
  readerType=HTKMLFReader
  frameMode=false
  nbruttsineachrecurrentiter=4
  verbosity=0
  features=[ dim=9; scpFile=train.scp ]
  labels=[ mlfFile=train.mlf; labelMappingFile=states; labelDim=8 ]
  lattices=[ denLatTocFile=train.toc ]
]
frames=[
  action=train
  NDLNetworkBuilder=[ networkDescription=net.ndl ]
  SGD=[ maxEpochs=8; minibatchSize=64; learningRatesPerSample=0.02; momentumPerMB=0 ]
]
edit=[ action=edit; editPath=net.mel; modelPath=sequences.dnn.0 ]
sequences=[
  action=train
  NDLNetworkBuilder=[ networkDescription=net.ndl ]
  modelPath=sequences.dnn
  SGD=[ maxEpochs=6; minibatchSize=64; learningRatesPerSample=0.02; momentumPerMB=0; numMBsToShowResult=1000
        seqGammarAMF=2; seqGammarLMF=2; hSmoothingWeight=0.9 ]
]
"""

NDL = """
features=Input(9, tag=feature)
labels=Input(8, tag=label)
W=Parameter(8, 9, init=uniform, initValueScale=1)
b=Parameter(8, 1, init=fixedValue, value=0)
z=Plus(Times(W, features), b)
prior=Mean(labels)
likelihood=Minus(z, Log(prior), tag=output)
entropy=CrossEntropyWithSoftmax(labels, z, tag=criterion)
errors=ErrorPrediction(labels, z, tag=eval)
"""

MEL = """
m=LoadModel(frames.dnn)
SetDefaultModel(m)
sequence=SequenceWithSoftmax(labels, z, likelihood)
SetProperty(entropy, criterion, false)
SetProperty(sequence, criterion, true)
SaveModel(m, sequences.dnn.0)
"""


class Utterance:
    """Random words from a language model, the frames of their states, noisy features, and a lattice that has all words at the
    place of each spoken word."""

    def __init__(self, name, draw, bigrams, means):
        self.name, self.bigrams = name, bigrams
        self.words, self.spans = [], []  # a span: the states of the frames of a word
        offset = [draw.gauss(0, 0.6) for _ in range(DIM)]  # the speaker
        self.frames = []
        word = None
        for _ in range(draw.randint(2, 5)):
            word = draw.choices(list(WORDS), [math.exp(bigrams[word, to]) for to in WORDS])[0]
            self.words.append(word)
            self.spans.append([state for state in WORDS[word] for _ in range(draw.randint(1, 3))])
            for state in self.spans[-1]:
                self.frames.append([means[state][i] + offset[i] + draw.gauss(0, 1) for i in range(DIM)])
        self.states = [state for span in self.spans for state in span]

    def span_of(self, position, word):
        """Returns the states of the frames of a hypothesis: the spoken states, or the word's states one after another."""
        span = self.spans[position]
        if word == self.words[position]:
            return span
        return [WORDS[word][i * 4 // len(span)] for i in range(len(span))]

    def slf(self):
        """Returns a lattice: a node for the beginning, one for each word at each position, and one for the end."""
        times = [0]
        for span in self.spans:
            times.append(times[-1] + len(span))
        nodes, arcs = ["I=0 t=0.00"], []
        before = [(0, None)]
        for position in range(len(self.spans)):
            now = []
            for word in WORDS:
                now.append((len(nodes), word))
                nodes.append("I=%d t=%.2f W=%s" % (len(nodes), times[position + 1] / 100, word))
                runs = []
                for state in self.span_of(position, word):
                    if runs and runs[-1][0] == state:
                        runs[-1][1] += 1
                    else:
                        runs.append([state, 1])
                div = ":".join("%s,%.2f" % (STATES[state], count / 100) for state, count in runs)
                for node, previous in before:
                    arcs.append("J=%d S=%d E=%d a=-12.5 l=%.6f d=:%s:" % (
                        len(arcs), node, now[-1][0], self.bigrams[previous, word], div))
            before = now
        end = len(nodes)
        nodes.append("I=%d t=%.2f W=!NULL" % (end, times[-1] / 100))
        for node, _ in before:
            arcs.append("J=%d S=%d E=%d l=0" % (len(arcs), node, end))
        return "VERSION=1.0\nUTTERANCE=%s\nN=%d L=%d\n%s\n" % (self.name, len(nodes), len(arcs), "\n".join(nodes + arcs))

    def word_score(self, likelihoods, position, word):
        begin = sum(map(len, self.spans[:position]))
        return sum(likelihoods[begin + i][state] for i, state in enumerate(self.span_of(position, word)))

    def best_words(self, likelihoods, factor):
        best = {None: (0, [])}
        for position in range(len(self.spans)):
            now = {}
            for word in WORDS:
                score = self.word_score(likelihoods, position, word) / factor
                before = max(best, key=lambda one: best[one][0] + self.bigrams[one, word])
                now[word] = (best[before][0] + self.bigrams[before, word] + score, best[before][1] + [word])
            best = now
        return max(best.values())[1]

    def criteria(self, likelihoods, factor):
        """Returns log p(reference) - log p(lattice), and the expected number of correct frames."""
        total = {None: (0, 0)}  # weights of paths, their logarithms, and their numbers of correct frames
        for position, span in enumerate(self.spans):
            now = {}
            for word in WORDS:
                score = self.word_score(likelihoods, position, word) / factor
                right = sum(a == b for a, b in zip(span, self.span_of(position, word)))
                terms = [(worth + self.bigrams[one, word] + score, before + right)
                         for one, (worth, before) in total.items()]
                now[word] = self.add(terms)
            total = now
        worth, right = self.add(list(total.values()))
        reference = sum(likelihoods[i][state] for i, state in enumerate(self.states)) / factor
        return reference - worth, right

    @staticmethod
    def add(terms):
        highest = max(worth for worth, _ in terms)
        shares = [math.exp(worth - highest) for worth, _ in terms]
        return (highest + math.log(sum(shares)),
                sum(share * right for share, (_, right) in zip(shares, terms)) / sum(shares))


def write_htk(path, frames):
    values = array.array("f", [value for frame in frames for value in frame])
    if sys.byteorder == "little":
        values.byteswap()
    path.write_bytes(struct.pack(">iihH", len(frames), FRAME, 4 * DIM, 9) + values.tobytes())


def read_htk(path):
    data = path.read_bytes()
    count, _, size, _ = struct.unpack(">iihH", data[:12])
    values = array.array("f", data[12:])
    if sys.byteorder == "little":
        values.byteswap()
    return [values[t * size // 4:(t + 1) * size // 4] for t in range(count)]


class SequenceTrainingTest(EndToEndTest):
    def setUp(self):
        super().setUp()
        draw = random.Random(3)
        means = [[draw.gauss(0, 0.8) for _ in range(DIM)] for _ in STATES]
        bigrams = {}
        for before in [None, *WORDS]:
            weights = [draw.random() ** 2 + 0.02 for _ in WORDS]
            bigrams.update({(before, word): math.log(weight / sum(weights)) for word, weight in zip(WORDS, weights)})
        self.sets = {part: [Utterance("%s%d" % (part, i), draw, bigrams, means) for i in range(count)]
                     for part, count in (("train", 120), ("held", 60))}
        (self.folder / "feat").mkdir()
        self.write("states", "\n".join(STATES) + "\n")
        self.write("net.ndl", NDL)
        self.write("net.mel", MEL)
        self.write("exp.cntk", CONFIG)
        for part, utterances in self.sets.items():
            self.write_set(part, utterances)

    def write_set(self, part, utterances):
        archive, toc, mlf = "", [], ["#!MLF!#"]
        for one in utterances:
            write_htk(self.folder / "feat" / (one.name + ".feat"), one.frames)
            toc.append("%s=%s.lat[%d]" % (one.name, part, len(archive)))
            archive += one.slf()
            mlf.append('"*/%s.lab"' % one.name)
            mlf += ["%d %d %s" % (i, i + 1, STATES[state]) for i, state in enumerate(one.states)]
            mlf.append(".")
        self.write(part + ".lat", archive)
        self.write(part + ".toc", "\n".join(toc) + "\n")
        self.write(part + ".mlf", "\n".join(mlf) + "\n")
        self.write(part + ".scp", "".join("%s=feat/%s.feat\n" % (one.name, one.name) for one in utterances))

    def train(self, *parameters, command="frames:edit:sequences", **how):
        """Returns the criterion of each epoch of the last training."""
        log = self.cntk("configFile=exp.cntk", "command=" + command, *parameters, **how).stderr
        behind = log[log.rindex("Training criterion node"):]
        self.assertIn("sequence = SequenceWithSoftmax", behind)
        return [float(value) for value in re.findall(r"Finished Epoch\[ *\d+ of \d+\]: \[Training Set\] "
                                                     r"TrainLossPerSample = ([-+0-9.e]+)", behind)]

    def begin_anew(self):
        for left in self.folder.glob("sequences.dnn*"):
            left.unlink()
        self.cntk("configFile=exp.cntk", "command=edit")

    def likelihoods(self, model, part):
        """Returns the outputs of a model for the utterances, by name."""
        self.write("out.scp", "".join("out/%s.like\n" % one.name for one in self.sets[part]))
        (self.folder / "out").mkdir(exist_ok=True)
        self.cntk("configFile=exp.cntk", "command=write", "write=[action=write; modelPath=%s; outputNodeNames=likelihood; "
                  "reader=[readerType=HTKMLFReader; verbosity=0; features=[dim=9; scpFile=%s.scp]]; "
                  "writer=[writerType=HTKMLFWriter; likelihood=[dim=8; scpFile=out.scp]]]" % (model, part))
        return {one.name: read_htk(self.folder / "out" / (one.name + ".like")) for one in self.sets[part]}

    def word_errors(self, model):
        """Returns the number of wrong words among 100 words of held-out data."""
        likelihoods = self.likelihoods(model, "held")
        wrong = words = 0
        for one in self.sets["held"]:
            wrong += sum(a != b for a, b in zip(one.best_words(likelihoods[one.name], 2), one.words))
            words += len(one.words)
        return 100 * wrong / words

    def expected(self, model, part, factor):
        """Returns both criteria per frame."""
        likelihoods = self.likelihoods(model, part)
        sums = [one.criteria(likelihoods[one.name], factor) for one in self.sets[part]]
        frames = sum(len(one.states) for one in self.sets[part])
        return [sum(column) / frames for column in zip(*sums)]

    def test_lattices_reduce_word_errors(self):
        self.cntk("configFile=exp.cntk", "command=frames:edit")
        by_frames = self.word_errors("frames.dnn")
        for name, parameters in (("MMI", []), ("boosted MMI", ["seqGammarBMMIFactor=0.1"]),
                                 ("MBR", ["seqGammarUsesMBR=true"])):
            self.begin_anew()
            values = self.train(*("sequences=[SGD=[%s]]" % one for one in parameters), command="sequences")
            self.assertEqual(len(values), 6)
            self.assertGreater(values[-1], values[0] + 0.001)
            errors = self.word_errors("sequences.dnn")
            print("wrong words: %.1f %% by frames, %.1f %% by %s" % (by_frames, errors, name))
            self.assertLess(errors, by_frames - 1)

    def test_values_are_those_of_all_paths(self):
        self.cntk("configFile=exp.cntk", "command=frames:edit")
        at_rest = "sequences=[SGD=[maxEpochs=2; learningRatesPerSample=1e-8]]"
        information, accuracy = self.expected("frames.dnn", "train", 2)
        self.assertAlmostEqual(self.train(at_rest, command="sequences")[0], information, places=5)
        self.begin_anew()
        self.assertAlmostEqual(self.train(at_rest, "sequences=[SGD=[seqGammarUsesMBR=true]]", command="sequences")[0],
                               accuracy, places=5)
        # Other data. Action test has no SGD block, so it uses the default factors.
        run = self.cntk("configFile=exp.cntk", "command=test", "test=[action=test; modelPath=sequences.dnn]",
                        "reader=[features=[scpFile=held.scp]; labels=[mlfFile=held.mlf]; lattices=[denLatTocFile=held.toc]]")
        value = float(re.search(r"sequence: SequenceWithSoftmax/Sample = ([-+0-9.e]+)", run.stderr).group(1))
        self.assertAlmostEqual(value, self.expected("frames.dnn", "held", 14)[0], places=5)

    def test_parts_of_minibatches_equal_the_whole(self):
        whole = self.train()
        self.begin_anew()
        parts = self.train("sequences=[SGD=[numSubminibatches=2]]", command="sequences")
        for one, other in zip(whole, parts):
            self.assertAlmostEqual(one, other, places=7)

    def test_control_of_the_rate_expects_growing_values(self):
        self.cntk("configFile=exp.cntk", "command=frames:edit")
        control = ("sequences=[SGD=[maxEpochs=5; learningRatesPerSample=0.02; AutoAdjust=[autoAdjustLR=adjustAfterEpoch; "
                   "learnRateDecreaseFactor=0.5; loadBestModel=true]]; cvReader=[readerType=HTKMLFReader; frameMode=false; "
                   "verbosity=0; features=[dim=9; scpFile=held.scp]; labels=[mlfFile=held.mlf; labelMappingFile=states; "
                   "labelDim=8]; lattices=[denLatTocFile=held.toc]]]")
        values = self.train(control, command="sequences")
        self.assertEqual(values, sorted(values))
        self.begin_anew()
        searched = self.train("sequences=[SGD=[maxEpochs=2; learningRatesPerSample=\"\"; AutoAdjust=["
                              "autoAdjustLR=searchBeforeEpoch; numMiniBatch4LRSearch=20]]]", command="sequences")
        self.assertGreater(searched[-1], values[0])

    def test_an_evaluation_node_may_control_the_rate(self):
        """Training maximises the evaluation node, too, and logs its values like the other lines."""
        self.write("net.ndl", NDL.replace(", tag=eval", "") +
                   "sequence=SequenceWithSoftmax(labels, z, likelihood, tag=eval)\n")
        log = self.cntk("configFile=exp.cntk", "command=frames", "frames=[SGD=[maxEpochs=12; earlyStopPatience=2; "
                        "learningRatesPerSample=0.05; AutoAdjust=[useEvalCriterionControlLR=true]]]").stderr
        values = [float(value) for value in re.findall(r"EvalErrPerSample = ([-+0-9.e]+)", log)]
        best = values.index(max(values))
        self.assertEqual(len(values), min(best + 3, 12))
        self.assertGreater(max(values), min(values))
        self.assertIn("epoch %d is the best so far (%.8g)" % (best + 1, values[best]), log)
        self.assertIn("the best of %d epochs was epoch %d (%.8g)" % (len(values), best + 1, values[best]), log)

    def test_searches_log_values_unchanged(self):
        self.cntk("configFile=exp.cntk", "command=frames:edit")
        log = self.cntk("configFile=exp.cntk", "command=sequences", "sequences=[SGD=[maxEpochs=2; learningRatesPerSample=\"\"; AutoAdjust=["
                        "autoAdjustLR=searchBeforeEpoch; autoAdjustMinibatch=true; minibatchSizeTuningMax=128; "
                        "numMiniBatch4LRSearch=20]]]").stderr
        trials = [float(value) for value in re.findall(r"Finished Mini-Epoch.*?TrainLossPerSample = ([-+0-9.e]+)", log)]
        for name in ("baseCriterion", "EpochCriterion", "BaseCriterion"):
            value = float(re.search(name + r" ?= ?([-+0-9.e]+)", log).group(1))
            self.assertLess(min(abs(value - trial) for trial in trials), 1e-6, name)

    def test_lattices_of_a_reader_whose_blocks_are_no_inputs(self):
        """With several readers, the lattices come with the sequences of the other readers."""
        self.cntk("configFile=exp.cntk", "command=frames:edit")
        block = ("%s=[readerType=HTKMLFReader; frameMode=false; nbruttsineachrecurrentiter=4; verbosity=0; "
                 "features%s=[dim=9; scpFile=train.scp]; labels%s=[mlfFile=train.mlf; labelMappingFile=states; labelDim=8]%s]")
        alone = self.train(command="sequences")
        self.begin_anew()
        self.write("exp.cntk", CONFIG.replace("reader=[", "other=[", 1) + "\nreader=[readers=one:two; %s; %s]\n" % (
            block % ("one", "", "", ""), block % ("two", "2", "2", "; lattices=[denLatTocFile=train.toc]")))
        self.assertEqual(self.train(command="sequences"), alone)

    def test_labels_that_are_no_states(self):
        self.cntk("configFile=exp.cntk", "command=frames:edit")
        kept = ("adapt=[action=adapt; origModelFileName=sequences.dnn.0; modelPath=adapted.dnn; refNodeName=z; SGD=[maxEpochs=1; "
                "minibatchSize=64; learningRatesPerSample=0.001; adaptationRegType=KL; adaptationRegWeight=0.5]]")
        run = self.cntk("configFile=exp.cntk", "command=adapt", kept, status=3)
        self.assertIn("adaptationRegType=KL mixes the labels with what the network said before, but SequenceWithSoftmax "
                      "'sequence' takes them for the reference, one state a frame; expected adaptationRegType=none", run.stderr)
        self.write("net.mel", MEL.replace("SequenceWithSoftmax(labels", "SequenceWithSoftmax(halves").replace(
            "sequence=", "halves=Scale(Constant(0.5), labels)\nsequence=", 1))
        self.cntk("configFile=exp.cntk", "command=edit")
        run = self.cntk("configFile=exp.cntk", "command=sequences", status=4)
        self.assertIn("'halves' of step 0 of sequence 0 of the minibatch is 0.5; SequenceWithSoftmax expects a single 1",
                      run.stderr)
        self.assertRegex(run.stderr, "note: sequence 0 of the minibatch is 'train[0-9]+' in the data")

    def test_missing_parts(self):
        self.cntk("configFile=exp.cntk", "command=frames:edit")
        plain = ("sequences=[reader=[readerType=HTKMLFReader; frameMode=false; verbosity=0; features=[dim=9; "
                 "scpFile=train.scp]; labels=[mlfFile=train.mlf; labelMappingFile=states; labelDim=8]]]")
        run = self.cntk("configFile=exp.cntk", "command=sequences", plain, status=3)
        self.assertIn("SequenceWithSoftmax 'sequence' needs lattices, which the reader does not deliver; expected a block "
                      "such as lattices=[denLatTocFile=den.toc] of HTKMLFReader", run.stderr)
        run = self.cntk("configFile=exp.cntk", "command=sequences", plain.replace("[reader=", "[cvReader=", 1), status=3)
        self.assertIn("needs lattices, which the reader does not deliver", run.stderr)
        self.assertIn("note: in the data to validate with (cvReader)", run.stderr)
        run = self.cntk("configFile=exp.cntk", "command=sequences", "sequences=[SGD=[doReferenceAlign=true]]", status=3)
        self.assertIn("doReferenceAlign=true is not supported: SequenceWithSoftmax 'sequence' takes the labels for the "
                      "reference; expected false, with labels that were aligned before", run.stderr)
        self.assertFalse((self.folder / "sequences.dnn").exists())
        run = self.cntk("configFile=exp.cntk", "command=sequences", "sequences=[SGD=[frameDropThresh=1e10]]", status=3)
        self.assertIn("frameDropThresh' is '1e10', expected a number >= 0 and <= 1", run.stderr)
        archive = self.read("train.lat").replace("S=0 E=1 ", "S=0 E=x ")
        self.write("train.lat", archive)
        run = self.cntk("configFile=exp.cntk", "command=sequences", status=4)
        self.assertRegex(run.stderr, r"train.lat:\d+: utterance 'train\d+': 'E=x': expected a node from 0 to \d+")


if __name__ == "__main__":
    main()
