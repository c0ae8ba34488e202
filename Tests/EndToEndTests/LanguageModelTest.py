#!/usr/bin/env python3
"""Language models: the example's scripts, and its networks compared with trigram models."""
import math
import os
import random
import re
import subprocess
import sys

from EndToEnd import CNTK, ROOT, EndToEndTest, main

EXAMPLE = ROOT / "Examples/LanguageModel"
sys.path.insert(0, str(EXAMPLE))
import MakeText  # noqa: E402
import TrigramModel  # noqa: E402

VERSES = """Ge1:1 In the beginning God created the heaven and the earth.
Ge1:2 And God said, Let there be light: and there was light.
Ge2:1 The LORD'S day; (well-beloved) Cush's son?
"""


def agreeing_text(rng, count):
    """Makes a text in which the last word of a sentence depends on the first one, which trigrams do not see."""
    lines = []
    for _ in range(count):
        kind = rng.randrange(4)
        middle = [rng.choice(["walks", "runs", "sits"]), rng.choice(["slowly", "gladly"]), rng.choice(["and", "or"])]
        middle += [rng.choice(["sings", "talks", "reads"]) for _ in range(rng.randrange(1, 3))]
        lines.append("</s> subject%d %s object%d </s>\n" % (kind, " ".join(middle), kind))
    return "".join(lines)


class LanguageModelTest(EndToEndTest):
    def run_script(self, *command, status=0, path=""):
        run = subprocess.run([sys.executable, "-B", *map(str, command)], cwd=self.folder, stdin=subprocess.DEVNULL,
                             env=dict(os.environ, PATH=path + os.environ["PATH"]), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", timeout=300, check=False)
        self.assertEqual(run.returncode, status, run.stdout)
        return run.stdout

    def perplexities(self, text):
        found = dict(re.findall(r"^(.*): perplexity ([0-9.]+) of", text, re.M))
        self.assertIn("Trigram, Kneser-Ney", found, text)
        return {name: float(value) for name, value in found.items()}

    def test_verses_become_words(self):
        self.assertEqual(MakeText.words_of_verse("The LORD'S day; (well-beloved) Cush's son?"),
                         "the lord 's day ; ( well-beloved ) cush 's son ?".split())
        self.write("bible.txt", VERSES)
        self.run_script(EXAMPLE / "MakeText.py", "--bible", "bible.txt", "data")
        self.assertEqual(self.read("data/train.txt").splitlines()[1],
                         "</s> and god said , let there be light : and there was light . </s>")
        self.write("bad.txt", VERSES + "no reference\n")
        text = self.run_script(EXAMPLE / "MakeText.py", "--bible", "bad.txt", "data", status=1)
        self.assertIn("verse 4: expected a reference and a text", text)

    def test_trigram_models_are_distributions(self):
        rng = random.Random(2)
        self.write("train.txt", agreeing_text(rng, 200))
        self.write("valid.txt", agreeing_text(rng, 50))
        words = sorted(set(self.read("train.txt").split()) | {"<unk>", "never"})
        vocabulary = {word: i for i, word in enumerate(words)}
        train, valid = (TrigramModel.read_text(self.folder / n, vocabulary) for n in ("train.txt", "valid.txt"))
        for model in (TrigramModel.Linear(train, valid, len(words)), TrigramModel.KneserNey(train, len(words))):
            for u, v in (("</s>", "</s>"), ("</s>", "subject1"), ("slowly", "and"), ("never", "never"), ("and", "never")):
                total = sum(model.probability(vocabulary[u], vocabulary[v], w) for w in range(len(words)))
                self.assertAlmostEqual(total, 1, places=4, msg="%s after %s %s" % (type(model).__name__, u, v))

    def test_networks_trained_with_noise_are_tested_by_perplexity(self):
        self.write("vocab.txt", "0 4 </s> 0\n1 3 a 0\n2 2 b 1\n3 1 <unk> 1\n")
        self.write("text.txt", "</s> a b </s>\n</s> b a a </s>\n</s> c </s>\n")
        self.write("net.ndl", "features=SparseInput(4, tag=feature)\nlabels=Input(6, tag=label)\n"
                   "W=Parameter(2, 4, init=zero, needGradient=false)\n"
                   "b=Parameter(1, 4, init=fromFile, initFromFilePath=b.txt, needGradient=false)\n"
                   "c=NoiseContrastiveEstimation(labels, Times(Parameter(2, 4), features), W, b, tag=criterion)\n")
        self.write("b.txt", "0 0.6931471805599453 1.0986122886681098 1.3862943611198906\n")  # logarithms of 1 to 4
        reader = ("reader=[ readerType=LMSequenceReader; file=text.txt; wordclass=vocab.txt; features=[ mode=%s; "
                  "noise_number=2 ]; labelIn=[ labelType=category ]; labels=[ labelType=nextWord ] ]\n]\n")
        self.write("c.cntk", "command=Train:Test\nprecision=double\nmodelPath=m.dnn\n"
                   "Train=[ action=train; NDLNetworkBuilder=[ networkDescription=net.ndl ]; "
                   "SGD=[ maxEpochs=1; minibatchSize=2; learningRatesPerSample=0.1 ]\n" + reader % "nce" +
                   "Test=[ action=test\n" + reader % "softmax")
        log = self.cntk("configFile=c.cntk").stderr
        # Only the bias decides, independent of the previous words.
        words = ["a", "b", "</s>", "b", "a", "a", "</s>", "<unk>", "</s>"]
        probabilities = {"</s>": 0.1, "a": 0.2, "b": 0.3, "<unk>": 0.4}
        wanted = math.exp(-sum(math.log(probabilities[w]) for w in words) / len(words))
        found = re.search(r"SamplesSeen = 9 .*Perplexity = (\S+)", log)
        self.assertTrue(found, log)
        self.assertAlmostEqual(float(found.group(1)), wanted, places=6)
        self.assertIn("__CHECKED__", self.cntk("configFile=c.cntk", "command=Test", "--check").stderr)
        # With one noise word the labels have as many rows as labels of classes, the default.
        self.write("net.ndl", self.read("net.ndl").replace("Input(6", "Input(4"))
        self.assertIn("error: NCEBasedCrossEntropyWithSoftmax 'c' takes words with their probabilities, but stream 'labels' "
                      "has words with their classes; expected mode=nce of its reader, with noise_number",
                      self.cntk("configFile=c.cntk", "command=Train", "makeMode=false",
                                "Train=[reader=[features=[mode=class]]]", status=3).stderr)

    def test_the_bible_is_the_default_text(self):
        rng = random.Random(6)
        verses = ["Ge%d:%d %s." % (chapter, verse, " ".join(rng.choices(["and", "he", "went", "said", "unto", "them"], k=6)))
                  for chapter in range(1, 41) for verse in range(1, 6)]
        self.write("bible.txt", "\n".join(verses) + "\n")
        program = self.write("bin/bible", "#!/bin/sh\nexec cat bible.txt\n")
        program.chmod(0o755)
        text = self.run_script(EXAMPLE / "RunLanguageModel.py", "--cntk", CNTK, "--work", self.folder / "work",
                               "--vocabulary", "8", "--classes", "3", "Hidden=8", "numCPUThreads=1",
                               "Lstm_Train=[SGD=[maxEpochs=1]]", path="%s:" % program.parent)
        self.assertIn(" 10 sentences,      80 words\ntest ", text)
        self.assertIn("Lstm", self.perplexities(text))

    def test_lstm_sees_further_than_trigrams(self):
        rng = random.Random(4)
        self.write("train.txt", agreeing_text(rng, 3000))
        self.write("test.txt", agreeing_text(rng, 500))
        text = self.run_script(EXAMPLE / "RunLanguageModel.py", "--train", "train.txt", "--test", "test.txt", "--vocabulary",
                               "19", "--classes", "4", "--cntk", CNTK, "--work", self.folder / "work", "numCPUThreads=2",
                               "Hidden=60", "Lstm_Train=[SGD=[maxEpochs=16;learningRatesPerSample=0.05*8:0.02*4:0.005]]")
        found = self.perplexities(text)
        # A network that remembers the first word knows the last one; trigrams guess one of four.
        self.assertLess(found["Lstm"], 0.88 * found["Trigram, Kneser-Ney"], text)

    def test_networks_on_newspaper_text(self):
        data = self.shared("data/ptb")  # single words without context have a perplexity of 253
        for kind, epochs, limit in (("Rnn", 2, 190), ("Lstm", 3, 155)):
            text = self.run_script(EXAMPLE / "RunLanguageModel.py", "--train", data / "ptb.valid.txt", "--test",
                                   data / "ptb.test.txt", "--vocabulary", "3000", "--classes", "50", "--kind", kind,
                                   "--cntk", CNTK, "--work", self.folder / "work", "numCPUThreads=2", "Hidden=100",
                                   "%s_Train=[SGD=[maxEpochs=%d]]" % (kind, epochs))
            found = self.perplexities(text)
            self.assertIn(" of 82402 words of the test", text)
            self.assertLess(found["Trigram, Kneser-Ney"], found["Trigram, linear"], text)
            self.assertLess(found[kind], limit, text)


if __name__ == "__main__":
    main()
