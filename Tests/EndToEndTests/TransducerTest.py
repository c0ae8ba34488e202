#!/usr/bin/env python3
"""rnnType=TRANSDUCER and JOINTCONDITIONALBILSTMSTREAMS from end to end: networks that predict a word's labels from its
letters and the previous label, the second one also from the next letters. The test computes their outputs from the dumped
parameters."""
import math
import random
import re
import struct

from EndToEnd import EndToEndTest, main

LETTERS, LABELS = 4, 5  # the last label stands before a word
CONFIG = """
precision=double
numCPUThreads=1
modelPath=m.dnn
parallel=64
set=train
traceLevel=1
reader=[ readerType=CNTKTextFormatReader; file=$set$.ctf; randomize=none
  input=[ featurepastValueedTarget=[ alias=past; dim=5; format=sparse ]
    ltrForward=[ alias=letters; dim=8; format=sparse ]; labels=[ dim=5; format=sparse ] ] ]
SimpleNetworkBuilder=[ rnnType=$kind$; layerSizes=1:3:12:6:5; streamSizes=5:8; lookupTableOrderSizes=1:2
  sparseinput=$sparse$; initValueScale=6; inputGateInitVal=0.5; forgetGateInitVal=1; outputGateInitVal=0.25
  trainingCriterion=CrossEntropyWithSoftmax; evalCriterion=ErrorPrediction ]
sparse=true
kind=TRANSDUCER
Train=[ action=train; SGD=[ maxEpochs=40; minibatchSize=64; learningRatesPerMB=0.02; momentumPerMB=0.9
  gradUpdateType=adam ] ]
Test=[ action=test; minibatchSize=$parallel$ ]
Write=[ action=write; outputPath=out; outputNodeNames=outputs; minibatchSize=$parallel$
  format=[ precisionFormat=.15; sequenceEpilogue="\\n" ] ]
Check=[ action=gradientCheck; minibatchSize=30; elementsPerParameter=60 ]
Dump=[ action=dumpnode; outputFile=dump.txt ]
"""


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def softmax(values):
    powers = [math.exp(v - max(values)) for v in values]
    return [p / sum(powers) for p in powers]


def times(matrix, vector):
    return [sum(a * b for a, b in zip(row, vector)) for row in matrix]


class Lstm:
    """The node's formulas. Columns of the gates: bias, input, previous output, peephole."""

    def __init__(self, parameters, number):
        self.input, self.forget, self.output, self.cell = (
            parameters[name + str(number)] for name in
            ("WINPUTGATE", "WFORGETGATE", "WOUTPUTGATE", "WMEMORYCELLWEIGHT"))
        self.c, self.h = [0.1] * len(self.cell), [0.0] * len(self.cell)

    def step(self, x):
        seen = [1.0] + x + self.h
        gate = lambda weights, c: [sigmoid(sum(a * b for a, b in zip(row, seen)) + row[-1] * old)
                                   for row, old in zip(weights, c)]
        i, f = gate(self.input, self.c), gate(self.forget, self.c)
        self.c = [keep * old + new * math.tanh(z)
                  for keep, old, new, z in zip(f, self.c, i, times(self.cell, seen))]
        self.h = [open_ * math.tanh(c) for open_, c in zip(gate(self.output, self.c), self.c)]
        return self.h


class LstmBlock:
    """The same from single nodes, each with its own matrix; the state before a word is 0.1, as a float."""

    def __init__(self, parameters, number):
        self.weights = {name[:-len(str(number))]: rows for name, rows in parameters.items()
                        if re.fullmatch("[A-Za-z]+%d" % number, name)}
        before, = struct.unpack("f", struct.pack("f", 0.1))
        self.c = [before] * len(self.weights["bc"])
        self.h = self.c

    def sums(self, gate, x):
        rows = zip(times(self.weights["WX" + gate], x), times(self.weights["WH" + gate], self.h),
                   self.weights["b" + gate.lower()])
        return [a + b + bias for a, b, (bias,) in rows]

    def gate(self, name, x, c):
        return [sigmoid(z + peephole * old)
                for z, (peephole,), old in zip(self.sums(name, x), self.weights["WC" + name], c)]

    def step(self, x):
        i, f = self.gate("I", x, self.c), self.gate("F", x, self.c)
        self.c = [keep * old + new * math.tanh(z) for keep, old, new, z in zip(f, self.c, i, self.sums("C", x))]
        self.h = [open_ * math.tanh(c) for open_, c in zip(self.gate("O", x, self.c), self.c)]
        return self.h


class TransducerTest(EndToEndTest):
    def setUp(self):
        super().setUp()
        self.words = {}
        self.write("exp.cntk", CONFIG)

    def make_words(self, sees_the_end=False):
        self.make("train", 200, 1, sees_the_end)
        self.make("test", 40, 2, sees_the_end)

    def make(self, name, count, seed, sees_the_end):
        """Makes words. A label is the previous label plus the letter; with both directions also plus the word's last letter.
        The network sees this letter and the next one."""
        draw = random.Random(seed)
        lines, self.words[name] = [], []
        for number in range(count):
            letters = [draw.randrange(LETTERS) for _ in range(draw.randint(1, 7))]
            past, samples = LABELS - 1, []
            for here, following in zip(letters, letters[1:] + [letters[-1]]):
                label = (past + (letters[-1] if sees_the_end else here)) % LABELS
                samples.append((past, here, following, label))
                lines.append("%d |past %d:1 |letters %d:1 %d:1 |labels %d:1" % (
                    number, past, here, LETTERS + following, label))
                past = label
            self.words[name].append(samples)
        self.write(name + ".ctf", "\n".join(lines) + "\n")

    def run_command(self, *arguments):
        return self.cntk("configFile=exp.cntk", *arguments).stderr

    def parameters(self):
        """Returns the parameters of a dump: lists of rows by name."""
        tokens = self.read("dump.txt").split()
        found = {}
        for at, token in enumerate(tokens):
            if token.endswith("=LearnableParameter"):
                rows, columns = map(int, tokens[at + 1].strip("[]").split(","))
                numbers = list(map(float, tokens[at + 4:at + 4 + rows * columns]))
                self.assertEqual(tokens[at + 4 + rows * columns], "#" * 68)
                found[token[:token.index("=")]] = [numbers[r * columns:(r + 1) * columns] for r in range(rows)]
        return found

    @staticmethod
    def embedded(samples, parameters):
        """Returns the embedding of one word: its previous labels and its letters."""
        column = lambda matrix, number: [row[number] for row in matrix]
        for past, here, following, _ in samples:
            yield (column(parameters["Embedding0"], past),
                   column(parameters["Embedding1"], here) + column(parameters["Embedding1"], following))

    def outputs(self, samples, parameters):
        """Returns the posteriors after each letter of a word, by the formulas."""
        layers = [Lstm(parameters, 1), Lstm(parameters, 2)]
        for past, letters in self.embedded(samples, parameters):
            x = past + letters
            for layer in layers:
                x = layer.step(x)
            yield softmax(times(parameters["ConnectToLowerLayers"], x))

    def outputs_of_both_directions(self, samples, parameters):
        """Returns the same for the network that reads the letters in both directions."""
        words = list(self.embedded(samples, parameters))

        def through(inputs, *numbers):
            blocks = [LstmBlock(parameters, number) for number in numbers]
            for x in inputs:
                for block in blocks:
                    x = block.step(x)
                yield x

        forward = through((past + letters for past, letters in words), 101, 102)
        backward = list(through((letters for _, letters in reversed(words)), 201, 202))[::-1]
        for x in through((a + b for a, b in zip(forward, backward)), 3):
            yield softmax(times(parameters["ConnectToLowerLayers"], x))

    def test_learns_to_spell_and_follows_the_formulas(self):
        self.make_words()
        sizes = self.check_learning("TRANSDUCER", self.outputs)
        self.assertEqual(sizes, {
            "Embedding0": (3, 5), "Embedding1": (3, 4), "ConnectToLowerLayers": (5, 6),
            "WINPUTGATE1": (12, 1 + 9 + 12 + 1), "WFORGETGATE1": (12, 23), "WOUTPUTGATE1": (12, 23),
            "WMEMORYCELLWEIGHT1": (12, 22), "WINPUTGATE2": (6, 1 + 12 + 6 + 1), "WFORGETGATE2": (6, 20),
            "WOUTPUTGATE2": (6, 20), "WMEMORYCELLWEIGHT2": (6, 19)})

    def test_learns_from_letters_that_follow(self):
        self.make_words(sees_the_end=True)
        sizes = self.check_learning("biDirectionalLSTMWithPastPrediction", self.outputs_of_both_directions)
        expected = {"Embedding0": (3, 5), "Embedding1": (3, 4), "ConnectToLowerLayers": (5, 6)}
        for number, inputs, size in (101, 9, 12), (102, 12, 6), (201, 6, 12), (202, 12, 6), (3, 12, 6):
            for gate in "IFOC":
                expected["WX%s%d" % (gate, number)] = (size, inputs)
                expected["WH%s%d" % (gate, number)] = (size, size)
                expected["b%s%d" % (gate.lower(), number)] = (size, 1)
                if gate != "C":
                    expected["WC%s%d" % (gate, number)] = (size, 1)
        self.assertEqual(sizes, expected)

    def check_learning(self, kind, outputs):
        """Trains, and compares outputs and log with the formulas. Returns the sizes of the parameters by name."""
        log = self.run_command("command=Train:Dump:Test:Write", "set=train", "Test=[set=test]", "kind=" + kind)
        losses = [float(x) for x in re.findall(r"\[Training Set\] TrainLossPerSample = ([0-9.e-]+)", log)]
        self.assertEqual(len(losses), 40)
        self.assertGreater(losses[0], 1)
        self.assertLess(losses[-1], 0.05)

        parameters = self.parameters()
        written = [list(map(float, line.split())) for line in self.read("out.outputs").splitlines() if line.strip()]
        computed = [p for samples in self.words["train"] for p in outputs(samples, parameters)]
        self.assertEqual(len(written), len(computed))
        # Sequences of a minibatch are ordered by their length, so only the set of lines is compared.
        for ours, theirs in zip(sorted(computed), sorted(written)):
            for a, b in zip(ours, theirs):
                self.assertAlmostEqual(a, b, delta=1e-10)

        # Words that are not in the training data, one by one and in parallel.
        loss, wrong, count = 0, 0, 0
        for samples in self.words["test"]:
            for (_, _, _, label), p in zip(samples, outputs(samples, parameters)):
                loss, wrong, count = loss - math.log(p[label]), wrong + (p.index(max(p)) != label), count + 1
        self.assertLess(wrong / count, 0.1)
        for parallel in 1, 7, 1000:
            result = self.run_command("command=Test", "set=test", "parallel=%d" % parallel)
            self.assertEqual(int(re.search(r"Final Results: .*SamplesSeen = (\d+)", result).group(1)), count)
            error = float(re.search(r"EvalErrorPrediction: ErrorPrediction/Sample = (\S+)", result).group(1))
            value = float(re.search(r"CrossEntropyWithSoftmax: CrossEntropyWithSoftmax/Sample = (\S+)", result).group(1))
            self.assertAlmostEqual(error, wrong / count, delta=1e-7)
            self.assertAlmostEqual(value, loss / count, delta=1e-7 * max(1, value))
        return {name: (len(rows), len(rows[0])) for name, rows in parameters.items()}

    def test_gradients_agree_with_differences(self):
        self.make_words()
        names = {"TRANSDUCER": ("WINPUTGATE1", "WMEMORYCELLWEIGHT2"),
                 "JointConditionalBiLSTMStreams": ("WXI101", "WHC202", "WCO3")}
        for kind, blocks in names.items():
            for sparse in "true", "false":
                log = self.run_command("command=Check", "sparse=" + sparse, "modelPath=none", "kind=" + kind)
                for name in "Embedding0", "Embedding1", "ConnectToLowerLayers", *blocks:
                    self.assertIn(name, log)
                self.assertIn("Gradient check: all elements agree to 6 digits.", log)


if __name__ == "__main__":
    main()
