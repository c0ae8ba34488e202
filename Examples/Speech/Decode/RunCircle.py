#!/usr/bin/env python3
"""Trains on synthspeech, decodes, trains on with the decoder's own lattices and alignments, and decodes again.

    RunCircle.py --corpus FOLDER [--cntk PROGRAM] [--work FOLDER] [--seeds 1,2,3] [more arguments]

For each seed: trains the network Simple of ../Synthspeech/Synthspeech.cntk by frames. With `cntk argon` the network aligns the
transcripts of the training set, and makes lattices of it. Sequence training continues the network with these lattices, by MMI and by
minimum Bayes risk (MBR); its labels are the alignment, so that labels and lattices have the same borders of states. A new network
is trained by frames on the alignment. Each network decodes the development and the test set with a bigram, a trigram and both
interpolated. The lattices have a unigram model: it lets more wrong words compete than a bigram, which knows the training sentences.
Prints a table of word errors. Unknown arguments go to the trainings. A stopped run resumes. Needs OpenFst's programs. Standard
library only.
"""
import argparse
import os
import pathlib
import statistics
import subprocess
import sys

import WordErrors

HERE = pathlib.Path(__file__).resolve().parent
RECIPE = HERE.parent / "Synthspeech"
PARTS = ("dev", "test")
MODELS = ("bigram", "trigram", "both")
WEIGHT = 0.3  # of the acoustic scores, the best one for the development set
SEARCH = ["-acweight", "%g" % WEIGHT, "-word_end_beam_frac", "1"]
NETWORKS = (("frames", "trained by frames"), ("mmi", "continued with MMI"), ("mbr", "continued with MBR"),
            ("realigned", "trained by frames on the decoder's alignment"))


def run(command, log):
    """Runs a program whose output is appended to a log; ends the script if it fails."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with open(log, "ab") as stream:
        done = subprocess.run([str(word) for word in command], cwd=RECIPE, stdin=subprocess.DEVNULL, stdout=stream,
                              stderr=stream, check=False)
    if done.returncode != 0:
        sys.exit("%s failed:\n%s" % (command[0], log.read_text(encoding="utf-8", errors="replace")[-3000:]))


class Circle:
    def __init__(self, args, more):
        self.args, self.more = args, more
        self.lang, self.graph = args.corpus / "lang", args.work / "words.dg"
        self.lists = {part: args.corpus / ("scp/%s.fbank.scp" % part) for part in PARTS + ("train",)}
        self.language_models = {"bigram": ["-lm", self.lang / "word.2gram.arpa"], "trigram": ["-lm", self.lang / "word.3gram.arpa"],
                                "both": ["-lm-collection", args.work / "both.collection"]}

    def prepare(self):
        """Makes the decoding graph, the state map and the list of interpolated models."""
        self.args.work.mkdir(parents=True, exist_ok=True)
        states = (self.args.corpus / "lists/state.list").read_text(encoding="utf-8").split()
        (self.args.work / "state.cntkmap").write_text(
            "".join("[%s] %d\n" % (state, row) for row, state in enumerate(states)), encoding="utf-8")
        (self.args.work / "both.collection").write_text("0.6 %s\n0.4 %s\n" % (
            self.lang / "word.2gram.arpa", self.lang / "word.3gram.arpa"), encoding="utf-8")
        bigram = (self.lang / "word.2gram.arpa").read_text(encoding="utf-8")
        single = bigram.split("\\1-grams:")[1].split("\\2-grams:")[0]
        words = [line.split()[:2] for line in single.splitlines() if line.strip()]
        (self.args.work / "word.1gram.arpa").write_text("\\data\\\nngram 1=%d\n\n\\1-grams:\n%s\n\\end\\\n" % (
            len(words), "".join("%s\t%s\n" % tuple(word) for word in words)), encoding="utf-8")
        if not self.graph.exists():
            run([HERE / "MakeGraph.py", "words", "--lexicon", self.lang / "lexicon.prob.txt", "--model-map",
                 self.lang / "model.state.map", "--lm", self.lang / "word.2gram.arpa", "--transitions",
                 self.lang / "state.transitions", "--cntk", self.args.cntk, "--out", self.args.work / "words"],
                self.args.work / "graph.log")

    def folder(self, name, seed):
        return self.args.work / ("%s.%d" % (name, seed))

    def train(self, name, seed, commands, *arguments):
        run([self.args.cntk, "configFile=Synthspeech.cntk", "Corpus=%s" % self.args.corpus, "ExpDir=%s" % self.args.work,
             "Name=" + name, "Seed=%d" % seed, "command=" + commands, *arguments, *self.more],
            self.folder(name, seed) / "log")

    def argon(self, model, part, *options):
        run([self.args.cntk, "argon", "-graph", self.graph, "-am", model, "-cntkmap", self.args.work / "state.cntkmap",
             "-infiles", self.lists[part], "-prefixPathInSCP", self.args.corpus, *SEARCH, *options],
            model.parent / "argon.log")

    def errors(self, model):
        """Returns the word errors in per cent for each part and language model."""
        result = {}
        for part in PARTS:
            reference = WordErrors.read_words(self.args.corpus / ("mlf/%s.wordonly.mlf" % part))
            for name, options in self.language_models.items():
                mlf = model.parent / ("%s.%s.%s.mlf" % (model.stem, part, name))
                self.argon(model, part, *options, "-outmlf", mlf)
                *wrong, count = WordErrors.count_errors(reference, WordErrors.read_words(mlf))
                result[part, name] = 100 * sum(wrong) / count
        return result

    def run(self, seed):
        """Returns the errors of each network."""
        home = self.folder("Simple", seed)
        self.train("Simple", seed, "Simple")
        results = {"frames": self.errors(home / "net.dnn")}
        alignment = home / "aligned.mlf"
        if not alignment.exists():
            self.argon(home / "net.dnn", "train", "-beam", "40", "-alignmlf", self.args.corpus / "mlf/train.wordonly.mlf",
                       "-detailed-alignment", "true", "-outmlf", alignment)
        lattices = home / "lattices"
        if not (lattices / "train.toc").exists():
            lattices.mkdir(parents=True, exist_ok=True)
            self.argon(home / "net.dnn", "train", "-lm", self.args.work / "word.1gram.arpa", "-beam", "20", "-lattice-beam",
                       "16", "-lattice-prefix", lattices / "train.")
        for kept, risk in (("mmi", "false"), ("mbr", "true")):
            steps = "Sequence" if (home / (kept + ".dnn")).exists() else "AddSequence:Sequence"
            # The factors of the search: weight * acoustic + lm = (acoustic + lm / weight) / (1 / weight).
            self.train("Simple", seed, steps, "Kept=" + kept, "Risk=" + risk, "Lattices=%s" % (lattices / "train.toc"),
                       "Alignment=%s" % alignment, "AcousticFactor=%g" % (1 / WEIGHT), "LanguageModelFactor=%g" % (1 / WEIGHT),
                       "SequenceRate=%g" % self.args.rate)
            results[kept] = self.errors(home / (kept + ".dnn"))
        self.train("Realigned", seed, "Simple", "Alignment=%s" % alignment)
        results["realigned"] = self.errors(self.folder("Realigned", seed) / "net.dnn")
        for name, errors in results.items():
            print("seed %d, %-9s: %s" % (seed, name, ", ".join(
                "%s %s %.2f" % (part, model, errors[part, model]) for part in PARTS for model in MODELS)), flush=True)
        return results


def print_table(results):
    """Prints mean and range of the word errors in per cent over the seeds, as a table in Markdown."""
    columns = [(part, model) for part in PARTS for model in MODELS]
    print("| network | %s |" % " | ".join("%s, %s" % column for column in columns))
    print("|---" * (len(columns) + 1) + "|")
    for name, text in NETWORKS:
        cells = []
        for column in columns:
            values = [result[name][column] for result in results]
            cells.append("%.2f (%.2f to %.2f)" % (statistics.mean(values), min(values), max(values)))
        print("| %s | %s |" % (text, " | ".join(cells)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cntk", default=os.environ.get("CNTK", str(HERE / "../../../build/bin/cntk")))
    parser.add_argument("--corpus", required=True, type=pathlib.Path)
    parser.add_argument("--work", type=pathlib.Path, default=HERE / "../../../build/circle")
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--rate", type=float, default=0.0002, help="learning rate of sequence training, for one frame")
    args, more = parser.parse_known_args()
    args.cntk, args.corpus, args.work = os.path.abspath(args.cntk), args.corpus.absolute(), args.work.absolute()
    circle = Circle(args, more)
    circle.prepare()
    print_table([circle.run(int(seed)) for seed in args.seeds.split(",")])


if __name__ == "__main__":
    main()
