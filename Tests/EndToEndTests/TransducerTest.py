#!/usr/bin/env python3
"""rnnType=TRANSDUCER from end to end: a network that spells a word's labels from its letters and the label before. Its
outputs are computed here once more from the dumped parameters."""
import math
import random
import re

from EndToEnd import EndToEndTest, main

LETTERS, LABELS = 4, 5  # the last label stands in front of a word
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
SimpleNetworkBuilder=[ rnnType=TRANSDUCER; layerSizes=1:3:12:6:5; streamSizes=5:8; lookupTableOrderSizes=1:2
  sparseinput=$sparse$; initValueScale=6; inputGateInitVal=0.5; forgetGateInitVal=1; outputGateInitVal=0.25
  trainingCriterion=CrossEntropyWithSoftmax; evalCriterion=ErrorPrediction ]
sparse=true
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
    """The node's formulas: columns of the gates are a bias, the input, the output before, the peephole."""

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


class TransducerTest(EndToEndTest):
    def setUp(self):
        super().setUp()
        self.words = {}
        self.make("train", 200, 1)
        self.make("test", 40, 2)
        self.write("exp.cntk", CONFIG)

    def make(self, name, count, seed):
        """A label is the one before, moved on by the letter; the network sees this letter and the next."""
        draw = random.Random(seed)
        lines, self.words[name] = [], []
        for number in range(count):
            letters = [draw.randrange(LETTERS) for _ in range(draw.randint(1, 7))]
            past, samples = LABELS - 1, []
            for here, following in zip(letters, letters[1:] + [letters[-1]]):
                label = (past + here) % LABELS
                samples.append((past, here, following, label))
                lines.append("%d |past %d:1 |letters %d:1 %d:1 |labels %d:1" % (
                    number, past, here, LETTERS + following, label))
                past = label
            self.words[name].append(samples)
        self.write(name + ".ctf", "\n".join(lines) + "\n")

    def run_command(self, *arguments):
        return self.cntk("configFile=exp.cntk", *arguments).stderr

    def parameters(self):
        """Of a dump: lists of rows by name."""
        tokens = self.read("dump.txt").split()
        found = {}
        for at, token in enumerate(tokens):
            if token.endswith("=LearnableParameter"):
                rows, columns = map(int, tokens[at + 1].strip("[]").split(","))
                numbers = list(map(float, tokens[at + 4:at + 4 + rows * columns]))
                self.assertEqual(tokens[at + 4 + rows * columns], "#" * 68)
                found[token[:token.index("=")]] = [numbers[r * columns:(r + 1) * columns] for r in range(rows)]
        return found

    def outputs(self, samples, parameters):
        """Of one word: the posteriors after each letter, as the formulas have them."""
        layers = [Lstm(parameters, 1), Lstm(parameters, 2)]
        column = lambda matrix, number: [row[number] for row in matrix]
        for past, here, following, _ in samples:
            x = (column(parameters["Embedding0"], past) + column(parameters["Embedding1"], here)
                 + column(parameters["Embedding1"], following))
            for layer in layers:
                x = layer.step(x)
            yield softmax(times(parameters["ConnectToLowerLayers"], x))

    def test_learns_to_spell_and_computes_what_the_formulas_say(self):
        log = self.run_command("command=Train:Dump:Test:Write", "set=train", "Test=[set=test]")
        losses = [float(x) for x in re.findall(r"\[Training Set\] TrainLossPerSample = ([0-9.e-]+)", log)]
        self.assertEqual(len(losses), 40)
        self.assertGreater(losses[0], 1)
        self.assertLess(losses[-1], 0.05)

        parameters = self.parameters()
        self.assertEqual({name: (len(rows), len(rows[0])) for name, rows in parameters.items()}, {
            "Embedding0": (3, 5), "Embedding1": (3, 4), "ConnectToLowerLayers": (5, 6),
            "WINPUTGATE1": (12, 1 + 9 + 12 + 1), "WFORGETGATE1": (12, 23), "WOUTPUTGATE1": (12, 23),
            "WMEMORYCELLWEIGHT1": (12, 22), "WINPUTGATE2": (6, 1 + 12 + 6 + 1), "WFORGETGATE2": (6, 20),
            "WOUTPUTGATE2": (6, 20), "WMEMORYCELLWEIGHT2": (6, 19)})
        written = [list(map(float, line.split())) for line in self.read("out.outputs").splitlines() if line.strip()]
        computed = [p for samples in self.words["train"] for p in self.outputs(samples, parameters)]
        self.assertEqual(len(written), len(computed))
        # Sequences of a minibatch stand in the order of their length: the same lines, in whatever order.
        for ours, theirs in zip(sorted(computed), sorted(written)):
            for a, b in zip(ours, theirs):
                self.assertAlmostEqual(a, b, delta=1e-10)

        # Words that the training has not seen; one by one and side by side.
        loss, wrong, count = 0, 0, 0
        for samples in self.words["test"]:
            for (_, _, _, label), p in zip(samples, self.outputs(samples, parameters)):
                loss, wrong, count = loss - math.log(p[label]), wrong + (p.index(max(p)) != label), count + 1
        self.assertLess(wrong / count, 0.1)
        for parallel in 1, 7, 1000:
            result = self.run_command("command=Test", "set=test", "parallel=%d" % parallel)
            self.assertEqual(int(re.search(r"Final Results: .*SamplesSeen = (\d+)", result).group(1)), count)
            error = float(re.search(r"EvalErrorPrediction: ErrorPrediction/Sample = (\S+)", result).group(1))
            value = float(re.search(r"CrossEntropyWithSoftmax: CrossEntropyWithSoftmax/Sample = (\S+)", result).group(1))
            self.assertAlmostEqual(error, wrong / count, delta=1e-7)
            self.assertAlmostEqual(value, loss / count, delta=1e-7 * max(1, value))

    def test_gradients_agree_with_differences(self):
        for sparse in "true", "false":
            log = self.run_command("command=Check", "sparse=" + sparse, "modelPath=none")
            for name in "Embedding0", "Embedding1", "WINPUTGATE1", "WMEMORYCELLWEIGHT2", "ConnectToLowerLayers":
                self.assertIn(name, log)
            self.assertIn("Gradient check: all elements agree to 6 digits.", log)


if __name__ == "__main__":
    main()
