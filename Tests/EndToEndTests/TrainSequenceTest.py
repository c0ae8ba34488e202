#!/usr/bin/env python3
"""action=trainSequence: a model trained on single frames continues with a criterion for whole sequences."""
import itertools
import math
import random
import re

from EndToEnd import EndToEndTest, main

STATES = 3
NETWORK = """features=Input(2, tag=feature)
labels=Input(3, tag=label)
W=Parameter(3, 2, initValueScale=10)
B=Parameter(3, 1, init=fixedValue, value=0)
z=Plus(Times(W, features), B)
"""
FRAMES = NETWORK + """ce=CrossEntropyWithSoftmax(labels, z, tag=criterion)
err=ErrorPrediction(labels, z, tag=eval)
OutputNodes=(z)
"""
SEQUENCES = NETWORK + """T=Parameter(3, 3, init=fixedValue, value=0.25)
crf=CRF(labels, z, T, tag=criterion)
path=SequenceDecoderNode(labels, z, T, tag=output)
"""
CONFIG = """precision=double
numCPUThreads=1
traceLevel=1
reader=[ readerType=CNTKTextFormatReader; file=data.ctf; randomize=none
  input=[ features=[ dim=2; format=dense ]; labels=[ dim=3; format=dense ] ] ]
Frames=[ action=train; modelPath=frames.dnn
  NDLNetworkBuilder=[ networkDescription=frames.ndl ]
  SGD=[ maxEpochs=3; minibatchSize=1000; learningRatesPerSample=0.02; momentumPerMB=0 ] ]
Sequences=[ action=$action$; modelPath=sequences.dnn; origModelFileName=$original$
  NDLNetworkBuilder=[ networkDescription=$description$.ndl ]
  SGD=[ maxEpochs=4; minibatchSize=1000; learningRatesPerSample=0.02; momentumPerMB=0 ] ]
Dump=[ action=dumpnode; modelPath=$dumped$; outputFile=dump.txt ]
action=trainSequence
description=sequences
original=frames.dnn
dumped=frames.dnn
"""


class TrainSequenceTest(EndToEndTest):
    def setUp(self):
        super().setUp()
        draw = random.Random(3)
        lines, self.sequences = [], []
        for number in range(20):
            state, sequence = draw.randrange(STATES), []
            for _ in range(draw.randint(2, 5)):
                x = [round(math.cos(2 * state) + draw.gauss(0, 0.7), 3), round(math.sin(2 * state) + draw.gauss(0, 0.7), 3)]
                sequence.append((x, state))
                lines.append("%d |features %g %g |labels %s" % (
                    number, *x, " ".join("1" if s == state else "0" for s in range(STATES))))
                state = state if draw.random() < 0.8 else (state + 1) % STATES
            self.sequences.append(sequence)
        self.write("data.ctf", "\n".join(lines) + "\n")
        self.write("frames.ndl", FRAMES)
        self.write("sequences.ndl", SEQUENCES)
        self.write("exp.cntk", CONFIG)

    def run_command(self, command, *arguments, status=0):
        return self.cntk("configFile=exp.cntk", "command=" + command, *arguments, status=status).stderr

    def parameters(self, model):
        self.run_command("Dump", "dumped=" + model)
        tokens, found = self.read("dump.txt").split(), {}
        for at, token in enumerate(tokens):
            if token.endswith("=LearnableParameter"):
                rows, columns = map(int, tokens[at + 1].strip("[]").split(","))
                numbers = list(map(float, tokens[at + 4:at + 4 + rows * columns]))
                found[token[:token.index("=")]] = [numbers[r * columns:(r + 1) * columns] for r in range(rows)]
        return found

    def loss(self, parameters):
        """Returns -log of the labels' probability among all sequences of states, per sample."""
        total, samples = 0, 0
        for sequence in self.sequences:
            scores = [[sum(w * x for w, x in zip(row, features)) + bias[0]
                       for row, bias in zip(parameters["W"], parameters["B"])] for features, _ in sequence]

            def score(path):
                moves = sum(parameters["T"][to][old] for old, to in zip(path, path[1:]))
                return moves + sum(score[state] for score, state in zip(scores, path))

            # The first label counts as its own predecessor.
            first = sequence[0][1]
            start = lambda path: score(path) + parameters["T"][path[0]][first]
            everything = [start(path) for path in itertools.product(range(STATES), repeat=len(sequence))]
            total += math.log(sum(map(math.exp, everything))) - start([state for _, state in sequence])
            samples += len(sequence)
        return total / samples

    @staticmethod
    def losses(log):
        return [float(x) for x in re.findall(r"\[Training Set\] TrainLossPerSample = ([0-9.e-]+)", log)]

    def test_the_parameters_stay_and_the_criterion_changes(self):
        log = self.run_command("Frames:Sequences", "action=TrainSequenceRNN")
        self.assertIn("Load Network From the original model file frames.dnn.\n", log)
        self.assertIn("frames.dnn does not have node 'T'; it is copied from the described network with its start values.\n",
                      log)
        self.assertNotIn("does not have node 'W'", log)
        self.assertEqual(re.findall("WARNING: (.*)", log),
                         ["trainSequence: 'path' (SequenceDecoderNode) of the described network does not come into the "
                          "model, which takes the criterion and the nodes below it; an edit command can add it"])
        frames, begin = self.parameters("frames.dnn"), self.parameters("sequences.dnn.0")
        self.assertEqual({name: begin[name] for name in "WB"}, {name: frames[name] for name in "WB"})
        self.assertEqual(begin["T"], [[0.25] * 3] * 3)
        dump = self.read("dump.txt")
        self.assertIn("crf=CRF ( labels , z , T )", dump)
        self.assertNotIn("ce=", dump)
        self.assertIn("err=", dump) # the evaluation stays the same
        losses = self.losses(log)[3:]
        self.assertEqual(len(losses), 4)
        # An epoch is one minibatch, so its loss is that of the previous model.
        for epoch, loss in enumerate(losses):
            self.assertAlmostEqual(loss, self.loss(self.parameters("sequences.dnn.%d" % epoch)), delta=1e-7)
        self.assertLess(losses[-1], 0.9 * losses[0])
        self.assertIn("Final model exists", self.run_command("Sequences"))

    def test_a_stopped_training_resumes(self):
        self.run_command("Frames:Sequences")
        whole = (self.folder / "sequences.dnn").read_bytes()
        for name in "sequences.dnn", "sequences.dnn.3", "sequences.dnn.ckp":
            (self.folder / name).unlink(missing_ok=True)
        log = self.run_command("Sequences")
        self.assertNotIn("Load Network From", log)
        self.assertEqual((self.folder / "sequences.dnn").read_bytes(), whole)
        self.run_command("Sequences", "makeMode=false")
        self.assertEqual((self.folder / "sequences.dnn").read_bytes(), whole)

    def test_a_criterion_of_the_same_name(self):
        """The new criterion has the name of the frame criterion, and a feature that the original lacks."""
        self.run_command("Frames")
        self.write("sequences.ndl", FRAMES.replace("ce=Cross", "more=Input(2, tag=feature)\nce=Cross"))
        log = self.run_command("Sequences", "Sequences=[reader=[input=[more=[alias=features; dim=2; format=dense]; "
                               "features=[alias=features]]]]", status=None)
        self.assertIn("does not have node 'more'", log)

    def test_a_network_with_other_names(self):
        self.run_command("Frames")
        self.write("other.ndl", re.sub(r"\b([WBz])\b", r"\1x", SEQUENCES))
        log = self.run_command("Sequences", "description=other")
        self.assertIn("frames.dnn does not have node 'Wx'", log)
        # The products have no names of their own, but they are different nodes.
        self.assertRegex(log, r"frames.dnn does not have node 'crf.unnamed\d+'")
        self.assertIn("WARNING: trainSequence: the new criterion has no parameter of frames.dnn; the nodes below the "
                      "criterion have other names there\n", log)
        self.assertNotIn("has no parameter of", self.run_command("Sequences", "makeMode=false"))

    def test_check_trains_nothing(self):
        self.assertIn("Command 'Sequences': model 'frames.dnn' comes from command 'Frames' and is checked when 'Sequences' "
                      "runs", self.run_command("Frames:Sequences", "--check"))
        self.assertFalse((self.folder / "frames.dnn").exists())
        self.run_command("Frames")
        self.assertIn("Command 'Sequences' (action trainSequence): 4 epochs into sequences.dnn",
                      self.run_command("Sequences", "--check"))
        self.assertEqual(list(self.folder.glob("sequences.dnn*")), [])

    def test_messages(self):
        self.assertIn("origModelFileName", self.run_command("Sequences", 'original=""', status=3))
        self.assertIn("error: model file 'frames.dnn' does not exist", self.run_command("Sequences", status=None))
        self.run_command("Frames")
        self.assertIn("modelPath would overwrite 'frames.dnn', which is origModelFileName as well",
                      self.run_command("Sequences", "Sequences=[modelPath=frames.dnn]", status=3))
        self.assertIn("modelPath would overwrite 'frames.dnn.1', which is origModelFileName as well",
                      self.run_command("Sequences", "original=frames.dnn.1", "Sequences=[modelPath=frames.dnn; "
                                       "makeMode=false]", status=3))
        self.write("other.ndl", SEQUENCES.replace("z=Plus(Times(W, features), B)", "y=Plus(Times(W, features), B)\nz=Tanh(y)"))
        self.assertIn("node 'z' is of type Tanh in the described network and Plus in the original model; the "
                      "criterion's inputs are found by their names: expected the same type",
                      self.run_command("Sequences", "description=other", status=None))
        self.write("none.ndl", NETWORK)
        self.assertIn("the described network has no training criterion",
                      self.run_command("Sequences", "description=none", status=None))


if __name__ == "__main__":
    main()
