#!/usr/bin/env python3
"""Times the decoder: CPU seconds for a second of speech, with lattices and for the best path only.

    DecodingBenchmark.py [--cntk PATH] [--shared FOLDER] [--json OUT] [--rounds N]

Machines differ, so each figure is also given in units of a yardstick y: the CPU seconds in which OpenFst's programs make the
acceptor of the 20,000-word task small. The time of a run over one short utterance, which is mostly loading, is subtracted.
The script computes the scores of the test set with the reference network first. Needs the shared data; without OpenFst's programs
there is no yardstick. Standard library only.
"""
import argparse
import collections
import gzip
import json
import os
import pathlib
import shutil
import statistics
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "Examples/Speech/Decode"))
from TestScores import TestScores, cpu_seconds  # noqa: E402

# goal: of CPU seconds for a second of speech, in units of the yardstick. For lattices the half of Kaldi's latgen-faster-mapped
# (at least 200 tokens a frame), for the best path Kaldi's decode-faster (at least 20 tokens).
Case = collections.namedtuple("Case", "name graph lm options lattices goal")
COMMON = ["-word_end_beam_frac", "1", "-sil-cost", "0"]
SMALL = ["small.dg", "lang/word.2gram.arpa", COMMON + ["-acweight", "0.5", "-beam", "15"]]
LARGE = ["large.dg", "decoding/large/word.2gram.arpa.gz", COMMON + ["-acweight", "0.3", "-beam", "13"]]
FEW = ["-min-tokens", "20"]
CASES = [
    Case("528 words, lattices", *SMALL, True, 0.00567 / 2),
    Case("528 words, best path", *SMALL[:2], SMALL[2] + FEW, False, 0.0016),
    Case("20000 words, lattices", *LARGE, True, 0.00884 / 2),
    Case("20000 words, best path", *LARGE[:2], LARGE[2] + FEW, False, 0.0042),
]


class Bench:
    def __init__(self, cntk, corpus, folder):
        self.folder, self.corpus = folder, corpus
        self.fst = self.compile_large() if shutil.which("fstcompile") else None
        self.scores = TestScores(cntk, corpus, folder)
        self.scores.compile("small.dg", "graphs/word.lookahead.hcl.gz", "graphs/word.lookahead")
        self.scores.compile("large.dg", "large/word.lookahead.hcl.gz", "large/word.lookahead.gz")

    def compile_large(self):
        """Returns the large acceptor in OpenFst's form."""
        text = gzip.decompress((self.corpus / "decoding/large/word.lookahead.hcl.gz").read_bytes())
        names = {b"<eps>": 0}
        for line in text.splitlines():
            columns = line.split()
            if len(columns) > 2:
                names.setdefault(columns[2], len(names))
        symbols = self.folder / "symbols"
        symbols.write_bytes(b"".join(b"%s\t%d\n" % item for item in names.items()))
        return cpu_seconds(["fstcompile", "--acceptor", "--isymbols=%s" % symbols], text)[1]

    def yardstick(self):
        total, data = 0.0, self.fst
        for command in (["fstdeterminize", "--delta=1e-6"], ["fstpush", "--push_weights"], ["fstminimize", "--delta=1e-6"]):
            seconds, data = cpu_seconds(command, data)
            total += seconds
        return total

    def measure(self, case):
        options = case.options + (["-lattice-prefix", self.folder / "lattices."] if case.lattices else [])
        return self.scores.measure(case.graph, case.lm, options)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cntk", default=os.environ.get("CNTK", str(ROOT / "build/bin/cntk")))
    parser.add_argument("--shared", type=pathlib.Path, default=os.environ.get("CNTK_TEST_SHARED", str(ROOT.parent / "shared")))
    parser.add_argument("--json")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    args.cntk, args.shared = os.path.abspath(args.cntk), pathlib.Path(args.shared).absolute()
    if not (args.shared / "data/synthspeech/decoding").exists():
        print("DecodingBenchmark: skipped, there are no shared data in %s" % args.shared)
        return
    with tempfile.TemporaryDirectory(prefix="cntk-bench-") as folder:
        bench = Bench(args.cntk, args.shared / "data/synthspeech", pathlib.Path(folder))
        yardsticks, rates, errors = [], {case.name: [] for case in CASES}, {}
        for _ in range(args.rounds):
            if bench.fst is not None:
                yardsticks.append(bench.yardstick())
            for case in CASES:
                rate, errors[case.name] = bench.measure(case)
                rates[case.name].append(rate)
    results = []
    unit = statistics.median(yardsticks) if yardsticks else None
    print("yardstick: %s" % ("%.3f CPU seconds" % unit if unit else "none; install libfst-tools"))
    for case in CASES:
        rate = statistics.median(rates[case.name])
        result = {"name": case.name, "cpu_seconds_per_second": rate, "word_errors": errors[case.name], "goal_in_yardsticks": case.goal}
        line = "%-24s %.5f CPU seconds for a second of speech, %d word errors" % (case.name, rate, errors[case.name])
        if unit:
            result.update(yardstick_cpu_seconds=unit, in_yardsticks=rate / unit)
            line += ", %.5f y; goal %.5f y" % (rate / unit, case.goal)
        print(line)
        results.append(result)
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
