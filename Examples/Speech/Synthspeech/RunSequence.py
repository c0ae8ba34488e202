#!/usr/bin/env python3
"""Trains on synthspeech with sequence criteria, and compares wrong phones with training by frames.

    RunSequence.py --corpus FOLDER [--cntk PROGRAM] [--work FOLDER] [--seeds 1,2,3] [--others 9] [more arguments]

Makes lattices (Lattices.py), trains the network Simple of Synthspeech.cntk, and continues by MMI and by minimum Bayes
risk (MBR). Each network has the language model factor that is best for it on the development set. Unknown arguments go to the
program. A stopped training resumes.
"""
import argparse
import os
import pathlib
import re
import statistics
import subprocess
import sys

import Lattices

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "../.."))
from RunCntk import program, require  # noqa: E402
PARTS = ("dev", "test")
FACTORS = (1, 2, 3, 4, 6, 8)


class Runner:
    def __init__(self, args, more):
        self.args, self.more = args, more

    def folder(self, seed):
        return self.args.work / ("Simple.%d" % seed)

    def cntk(self, seed, commands, *arguments):
        self.folder(seed).mkdir(parents=True, exist_ok=True)
        log = self.folder(seed) / "log"
        with open(log, "ab") as stream:
            done = subprocess.run(
                [self.args.cntk, "configFile=Synthspeech.cntk", "Corpus=%s" % self.args.corpus,
                 "ExpDir=%s" % self.args.work, "Seed=%d" % seed, "command=" + commands, *arguments, *self.more],
                cwd=HERE, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=stream, check=False)
        if done.returncode != 0:
            sys.exit("%s, seed %d failed:\n%s" % (commands, seed, log.read_text(encoding="utf-8", errors="replace")[-3000:]))

    def likelihoods(self, seed, model, part):
        """Writes the outputs of a network for a part, and returns the folder."""
        names = re.findall(r"^([^=.]+)", (self.args.corpus / ("scp/%s.fbank.scp" % part)).read_text(encoding="utf-8"),
                           re.MULTILINE)
        folder = self.folder(seed) / "likelihoods" / part
        (self.folder(seed) / "likelihoods.scp").write_text("".join("%s/%s.like\n" % (folder, name) for name in names),
                                                           encoding="utf-8")
        self.cntk(seed, "WriteLikelihoods", "Part=" + part, "TestModel=" + model)
        return folder

    def errors(self, seed, model):
        """Returns the errors of each part, in per cent, and the language model factor, which is the best one for the first
        part."""
        result, factors = [], FACTORS
        for part in PARTS:
            folder = self.likelihoods(seed, model, part)
            errors = {}
            for factor in factors:
                wrong, count = Lattices.score(self.args.corpus, self.args.work / "lattices", folder, part, factor)
                errors[factor] = 100 * wrong / count
            factors = [min(errors, key=errors.get)]
            result.append(errors[factors[0]])
        return result + factors

    def run(self, seed):
        self.cntk(seed, "Simple")
        results = {"frames": self.errors(seed, "net.dnn")}
        for kept, risk in (("mmi", "false"), ("mbr", "true")):
            steps = "Sequence" if (self.folder(seed) / (kept + ".dnn")).exists() else "AddSequence:Sequence"
            self.cntk(seed, steps, "Kept=" + kept, "Risk=" + risk)
            results[kept] = self.errors(seed, kept + ".dnn")
        for name, (dev, test, factor) in results.items():
            print("%-7s seed %d: dev %.2f %%, test %.2f %% of the phones wrong, factor %d" % (name, seed, dev, test, factor),
                  flush=True)
        return results


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cntk", default=os.environ.get("CNTK", str(HERE / "../../../build/bin/cntk")))
    parser.add_argument("--corpus", required=True, type=pathlib.Path)
    parser.add_argument("--work", type=pathlib.Path, default=HERE / "../../../build/synthspeech")
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--others", type=int, default=9, help="number of alternatives of each phone")
    args, more = parser.parse_known_args()
    args.cntk, args.corpus, args.work = program(args.cntk), args.corpus.absolute(), args.work.absolute()
    require(args.corpus)
    if not (args.work / "lattices/train.toc").exists():
        Lattices.make(args.corpus, args.work / "lattices", ("train",) + PARTS, args.others)
    runner = Runner(args, more)
    results = [runner.run(int(seed)) for seed in args.seeds.split(",")]
    for name in results[0]:
        for column, part in enumerate(PARTS):
            values = [result[name][column] for result in results]
            print("%-7s %s: mean %.2f %%, %.2f to %.2f" % (name, part, statistics.mean(values), min(values), max(values)))


if __name__ == "__main__":
    main()
