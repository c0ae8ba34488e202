"""Runs the commands of Examples/Recipes/README.md in their order, and checks what comes out."""
import importlib.util
import math
import os
import re
import shlex
import subprocess
import sys

from EndToEnd import CNTK, ROOT, EndToEndTest, main

RECIPES = ROOT / "Examples/Recipes"
HAS_NUMPY = importlib.util.find_spec("numpy") is not None


def commands_of(part):
    """Returns the commands of a section of the README; the first section has none but its preparation."""
    text = (RECIPES / "README.md").read_text(encoding="utf-8")
    sections = {section.split("\n", 1)[0]: section for section in re.split(r"^#+ ", text, flags=re.MULTILINE)[1:]}
    lines = re.findall(r"^    (.*)$", sections[part].replace("\\\n", " "), re.MULTILINE)
    return [line for line in lines if not line.startswith("mkdir")]


class RecipesTest(EndToEndTest):
    def run_part(self, part):
        outputs = []
        for command in commands_of(part):
            words = shlex.split(command.replace("../../Examples/Recipes", str(RECIPES)))
            self.assertIn(words[0], ("python3", "cntk"))
            words[0] = sys.executable if words[0] == "python3" else str(CNTK)
            done = subprocess.run(words, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, timeout=120, check=False,
                                  env=dict(os.environ, PATH="%s:%s" % (CNTK.parent, os.environ["PATH"])))
            self.assertEqual(done.returncode, 0, "%s\n%s" % (command, done.stderr[-2000:]))
            outputs.append(done.stdout + done.stderr)
        return outputs

    def setUp(self):
        super().setUp()
        self.run_part("Recipes")

    def error_of(self, log):
        return float(re.search(r"EvalErrorPrediction: ErrorPrediction/Sample = (\S+)", log).group(1))

    def output_of(self, name):
        return [[float(value) for value in line.split()] for line in self.read(name).splitlines() if line.strip()]

    def test_weights(self):
        if not HAS_NUMPY:
            self.skipTest("there is no numpy")
        import numpy
        self.run_part("Weights in numpy")
        weights = numpy.load(self.folder / "out/weights.npz")
        self.assertEqual(weights["W0"].shape, (8, 2))
        self.cntk("configFile=%s" % (RECIPES / "Recipes.cntk"), "command=WritePoints")
        points = [[float(value) for value in line.split()[:2]] for line in self.read("data/points.test.txt").splitlines()]
        for point, expected in zip(points, self.output_of("out/points.dnn.PosteriorProb")):
            hidden = 1 / (1 + numpy.exp(-(weights["W0"] @ numpy.array(point)[:, None] + weights["B0"])))
            scores = numpy.exp(weights["W1"] @ hidden + weights["B1"])
            self.assertLess(abs(scores[:, 0] / scores.sum() - expected).max(), 1e-5)

    def test_average(self):
        if not HAS_NUMPY:
            self.skipTest("there is no numpy")
        import numpy
        log = self.run_part("The average of several models")[1]
        self.assertLess(self.error_of(log), 0.15)
        values = []
        for model in ("averaged.dnn", "points.dnn.10", "points.dnn.11", "points.dnn"):
            self.cntk("command=Dump", "Dump=[action=dumpnode; nodeName=W1; outputFile=dump.txt; printMetadata=false]",
                      "modelPath=out/%s" % model)
            values.append(numpy.array(self.output_of("dump.txt")))
        self.assertLess(abs(values[0] - sum(values[1:]) / 3).max(), 1e-6)

    def test_ensemble(self):
        text = self.run_part("An ensemble of models")[-1]
        errors = [float(value) for value in re.findall(r"error (\S+)", text)]
        self.assertEqual(len(errors), 4)
        labels = [line.split(",")[1] for line in self.read("out/points.predictions.csv").splitlines()[1:]]
        outputs = [self.output_of("out/seed%d.dnn.PosteriorProb" % seed) for seed in (1, 7, 13)]
        wrong = 0
        for label, *samples in zip(labels, *outputs):
            together = [sum(values) for values in zip(*samples)]
            wrong += "abc"[together.index(max(together))] != label
        self.assertAlmostEqual(errors[3], wrong / len(labels), 4)
        self.assertLess(errors[3], 0.15)

    def test_forced_alignment(self):
        outputs = self.run_part("Forced alignment")
        before, after = map(float, re.findall(r"right \w+: (\S+)", outputs[1]))
        self.assertLess(before, 0.8)
        self.assertGreater(after, 0.97)
        # Each utterance has its sounds in their order.
        runs = {}
        for line in self.read("data/frames.aligned.ctf").splitlines():
            utterance, label = line.split()[0], re.search(r"\|labels (\d)", line).group(1)
            runs.setdefault(utterance, "")
            if not runs[utterance].endswith(label):
                runs[utterance] += label
        transcripts = [line.replace(" ", "").translate(str.maketrans("abc", "012"))
                       for line in self.read("data/transcripts.txt").splitlines()]
        self.assertEqual(list(runs.values()), transcripts)

    def test_rescoring(self):
        best = self.run_part("N-best lists rescored by a language model")[-1]
        right = [line.split()[2:] for line in self.read("data/nbest.txt").splitlines() if line.split()[1] == "-100.00"]
        chosen = [line.split()[2:] for line in best.splitlines()]
        self.assertEqual(len(chosen), 40)
        self.assertGreaterEqual(sum(a == b for a, b in zip(right, chosen)), 22)
        # One score, computed again.
        words = self.read("data/words.txt").split()
        lists = [line.split() for line in self.read("data/nbest.txt").splitlines()]
        sentences = [part.split("\n") for part in re.split(r"\n\s*\n", self.read("out/nbest.outputs").strip())]
        scores = {}
        for (utterance, score, *sentence), lines in zip(lists, sentences):
            total = float(score)
            for line, word in zip(lines, [*sentence, "</s>"]):
                values = [math.exp(float(value)) for value in line.split()]
                total += math.log(values[words.index(word)] / sum(values))
            scores.setdefault(utterance, []).append((total, sentence))
        for line, (utterance, hypotheses) in zip(best.splitlines(), scores.items()):
            number, score, *sentence = line.split()
            self.assertEqual((number, sentence), (utterance, max(hypotheses)[1]))
            self.assertAlmostEqual(float(score), max(hypotheses)[0], 2)


if __name__ == "__main__":
    main()
