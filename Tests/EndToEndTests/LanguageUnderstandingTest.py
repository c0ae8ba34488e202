#!/usr/bin/env python3
"""Slot filling: the example's scripts, and its LSTM on sentences of a small grammar and on a part of ATIS."""
import random
import re
import subprocess
import sys

from EndToEnd import CNTK, ROOT, EndToEndTest, main

EXAMPLE = ROOT / "Examples/LanguageUnderstanding"
sys.path.insert(0, str(EXAMPLE))
import ScoreSlots  # noqa: E402

CITIES = ["boston", "denver", "oslo", "rome", "paris", "lima", "new york", "san jose", "las palmas"]
DAYS = ["monday", "friday", "sunday"]


def sentence(rng):
    """Makes a sentence in which the kind of a city depends on a word several tokens before it."""
    start, end = rng.sample(CITIES, 2)
    parts = [("from", start, "fromloc"), ("to", end, "toloc")]
    rng.shuffle(parts)
    tokens = [("BOS", "O")] + [(w, "O") for w in rng.choice(["show me flights", "i want to fly", "flights"]).split()]
    for word, city, kind in parts:
        tokens += [(w, "O") for w in (word + " " + rng.choice(["", "", "the city of", "the town of"])).split()]
        tokens += [(w, ("I-" if i else "B-") + kind) for i, w in enumerate(city.split())]
    if rng.random() < 0.5:
        tokens += [("on", "O"), (rng.choice(DAYS), "B-day")]
    return tokens + [("EOS", "O")]


class LanguageUnderstandingTest(EndToEndTest):
    def run_script(self, *command, status=0):
        run = subprocess.run([sys.executable, "-B", *map(str, command)], cwd=self.folder, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", timeout=300, check=False)
        self.assertEqual(run.returncode, status, run.stdout)
        return run.stdout

    def write_sentences(self, name, sentences):
        return self.write(name, "".join("".join("%s %s\n" % token for token in s) + "\n" for s in sentences))

    def f1(self, text):
        found = re.search(r"mean ([0-9.]+) %", text)
        self.assertTrue(found, text)
        return float(found.group(1))

    def test_parallel_sentences_follow_the_first_reader(self):
        self.write("train.txt", "BOS O\nrome B\nEOS O\n\n" * 4)
        self.write("words.txt", "BOS\nEOS\nrome\n")
        self.write("tags.txt", "O\nB\n")
        part = ("[ readerType=LUSequenceReader; file=train.txt; %s; %s=[ dim=0 ]; labelIn=[ token=words.txt ]; "
                "%s=[ token=tags.txt ] ]\n")
        for second, status in (("randomize=none", 0), ("nbruttsineachrecurrentiter=1", 4)):
            self.write("two.cntk", "command=T\ntraceLevel=1\nmodelPath=m.dnn\nT=[ action=train; makeMode=false\n"
                       "NDLNetworkBuilder=[ run=N\nN=[\nfeatures=SparseInput(3, tag=feature)\nlabels=Input(2, tag=label)\n"
                       "W=Parameter(2, 3)\nce=SquareError(labels, Times(W, features), tag=criterion)\n] ]\n"
                       "SGD=[ maxEpochs=1; minibatchSize=10; learningRatesPerSample=0.1; numMBsToShowResult=1 ]\n"
                       "reader=[ readers=a:b\na=" + part % ("nbruttsineachrecurrentiter=2", "features", "other") +
                       "b=" + part % (second, "more", "labels") + "]\n]\n")
            log = self.cntk("configFile=two.cntk", status=status).stderr
            if status == 0:
                self.assertEqual(re.findall(r"SamplesSeen = (\d+)", log), ["6", "6", "12"])
            else:
                self.assertIn("readers: in one minibatch 'a' has 6 samples of 2 parallel sequences, 'b' has 3 of 1; they "
                              "must agree", log)

    def test_slots(self):
        cases = {
            "O O": set(),
            "B-a I-a O": {("a", 0, 1)},
            "B-a B-a": {("a", 0, 0), ("a", 1, 1)},
            "O I-a I-a": {("a", 1, 2)},
            "B-a I-b": {("a", 0, 0), ("b", 1, 1)},
            "I-a O B-c I-c": {("a", 0, 0), ("c", 2, 3)},
        }
        for labels, wanted in cases.items():
            self.assertEqual(ScoreSlots.slots_of(labels.split()), wanted, labels)

    def test_score(self):
        self.write("right.txt", "a B-x\nb I-x\nc O\n\nd B-y\ne O\n")
        self.write("found.txt", "B-x O O \nB-y B-y \n")
        text = self.run_script(EXAMPLE / "ScoreSlots.py", "right.txt", "found.txt", "--slots")
        # one of three recognised slots is right, two are wanted
        self.assertIn("Slots: F1 40.00 % (precision 33.33 %, recall 50.00 %); 2 slots; 60.00 % of the labels right", text)
        self.assertRegex(text, r"(?m)^y +1 slots  F1 66\.67 %")
        self.write("short.txt", "B-x O \nB-y B-y \n")
        text = self.run_script(EXAMPLE / "ScoreSlots.py", "right.txt", "short.txt", status=1)
        self.assertIn("sentence 1: 2 labels were recognised, the reference has 3", text)
        self.write("one.txt", "B-x O O \n")
        text = self.run_script(EXAMPLE / "ScoreSlots.py", "right.txt", "one.txt", status=1)
        self.assertIn("1 sentences were recognised, the reference has 2", text)

    def test_lists_are_made_from_the_training_sentences(self):
        self.write_sentences("train.txt", [[("to", "O"), ("rome", "B-x")]] * 9 + [[("to", "O"), ("once", "I-x")]])
        self.write_sentences("test.txt", [[("to", "O"), ("new", "B-x")]])
        self.run_script(EXAMPLE / "ConvertAtis.py", "--train", "train.txt", "--test", "test.txt", "data")
        self.assertEqual(self.read("data/words.txt"), "once\nrome\nto\n<unk>\n")
        self.assertEqual(self.read("data/wordmap.txt"), "once <unk>\nrome rome\nto to\n")
        self.assertEqual(self.read("data/labels.txt"), "B-x\nI-x\nO\n")
        self.assertEqual(self.read("data/dev.txt"), "to O\nonce I-x\n\n")
        self.write_sentences("bad.txt", [[("to", "O"), ("new", "B-other")]])
        text = self.run_script(EXAMPLE / "ConvertAtis.py", "--train", "train.txt", "--test", "bad.txt", "d")
        self.assertIn("Only in the test: B-other\n", text)
        self.assertEqual(self.read("d/labels.txt"), "B-other\nB-x\nI-x\nO\n")
        for script, more in ("ConvertAtis.py", ["e"]), ("RunAtis.py", ["--work", self.folder / "e"]):
            text = self.run_script(EXAMPLE / script, "--train", "train.txt", "--test", "bad.txt", "--labels",
                                   "data/labels.txt", *more, status=1)
            self.assertIn("The test has labels that are not in the list: B-other", text)
            self.assertNotIn("Traceback", text)

    def test_lstm_remembers_earlier_words(self):
        rng = random.Random(7)
        self.write_sentences("train.txt", [sentence(rng) for _ in range(800)])
        self.write_sentences("test.txt", [sentence(rng) for _ in range(200)])
        text = self.run_script(EXAMPLE / "RunAtis.py", "--train", "train.txt", "--test", "test.txt", "--cntk", CNTK,
                               "--work", self.folder / "work", "--seeds", "1", "Atis_Train=[SGD=[maxEpochs=9]]")
        self.assertGreater(self.f1(text), 97, text)  # a network without memory guesses the kinds of places

    def test_part_of_atis(self):
        data = self.shared("data/atis")
        lines = (data / "derived/atis.train.IOB").read_text(encoding="utf-8").split("\n\n")
        self.write("train.txt", "\n\n".join(lines[:1500]) + "\n")
        text = self.run_script(EXAMPLE / "RunAtis.py", "--train", "train.txt", "--test", data / "derived/atis.test.IOB",
                               "--words", data / "lu/input.txt", "--wordmap", data / "lu/inputmap.txt", "--labels",
                               data / "lu/output.txt", "--cntk", CNTK, "--work", self.folder / "work", "--seeds", "1",
                               "Atis_Train=[SGD=[maxEpochs=6]]")
        self.assertIn("944 words, 127 labels", text)
        self.assertGreater(self.f1(text), 80, text)


if __name__ == "__main__":
    main()
