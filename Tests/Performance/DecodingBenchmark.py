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
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "Examples/Speech/Decode"))
import WordErrors  # noqa: E402

FRAMES_PER_SECOND = 100
# goal: of CPU seconds for a second of speech, in units of the yardstick
Case = collections.namedtuple("Case", "name graph lm arguments lattices goal")
SMALL = ["-acweight", "0.5", "-beam", "15", "-word_end_beam_frac", "1", "-sil-cost", "0"]
LARGE = ["-acweight", "0.3", "-beam", "13", "-word_end_beam_frac", "1", "-sil-cost", "0"]
CASES = [
    Case("528 words, lattices", "small.dg", "lang/word.2gram.arpa", SMALL, True, 0.00567 / 2),
    Case("528 words, best path", "small.dg", "lang/word.2gram.arpa", SMALL, False, 0.0016),
    Case("20000 words, lattices", "large.dg", "decoding/large/word.2gram.arpa.gz", LARGE, True, 0.00884 / 2),
    Case("20000 words, best path", "large.dg", "decoding/large/word.2gram.arpa.gz", LARGE, False, 0.0042),
]

WRITE = """
command=Write
deviceId=-1
numCPUThreads=1
Write=[
  action=write
  modelPath={corpus}/decoding/model/synthspeech.dnn
  outputNodeNames=ScaledLogLikelihood
  reader=[ readerType=HTKMLFReader; features=[ dim=792; scpFile={corpus}/scp/test.fbank.scp; prefixPathInSCP={corpus} ] ]
  writer=[ writerType=HTKMLFWriter; ScaledLogLikelihood=[ dim=126; scpFile={folder}/out.scp ] ]
]
"""


def cpu_seconds(command, data=None):
    """Runs a program; returns the CPU seconds that it took and its output."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([str(word) for word in command], input=data, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        sys.exit("%s failed:\n%s" % (command[0], done.stderr.decode("utf-8", "replace")[-2000:]))
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


class Bench:
    def __init__(self, args, folder):
        self.args, self.folder, self.corpus = args, folder, args.shared / "data/synthspeech"
        self.fst = self.compile_large() if shutil.which("fstcompile") else None
        names = [line.split("=")[0].rsplit(".", 1)[0] for line in
                 (self.corpus / "scp/test.fbank.scp").read_text(encoding="utf-8").splitlines()]
        (folder / "out.scp").write_text("".join("%s/%s.sll\n" % (folder, name) for name in names), encoding="utf-8")
        (folder / "write.cntk").write_text(WRITE.format(corpus=self.corpus, folder=folder), encoding="utf-8")
        cpu_seconds([args.cntk, "configFile=%s" % (folder / "write.cntk")])
        sizes = {name: (folder / (name + ".sll")).stat().st_size for name in names}
        self.frames = sum((size - 12) // (4 * 126) for size in sizes.values())
        (folder / "all.scp").write_text("".join("%s.sll\n" % name for name in names), encoding="utf-8")
        shortest = min(sizes, key=sizes.get)
        self.short_frames = (sizes[shortest] - 12) // (4 * 126)
        (folder / "short.scp").write_text("%s.sll\n" % shortest, encoding="utf-8")
        graphs = self.corpus / "decoding"
        for name, acceptor, scores in (("small.dg", "graphs/word.lookahead.hcl.gz", "graphs/word.lookahead"),
                                       ("large.dg", "large/word.lookahead.hcl.gz", "large/word.lookahead.gz")):
            cpu_seconds([args.cntk, "argon", "-precompile", "true", "-infsm", graphs / acceptor, "-transition-file",
                         self.corpus / "lang/state.transitions", "-lookahead-file", graphs / scores, "-model-map",
                         self.corpus / "lang/model.state.map", "-graph", folder / name])

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

    def decode(self, case, utterances, result):
        command = [self.args.cntk, "argon", "-graph", self.folder / case.graph, "-lm", self.corpus / case.lm, "-cntkmap",
                   self.corpus / "decoding/graphs/state.cntkmap", "-infiles", self.folder / utterances, "-outmlf",
                   self.folder / result, *case.arguments]
        if case.lattices:
            command += ["-lattice-prefix", self.folder / "lattices."]
        return cpu_seconds(command)[0]

    def measure(self, case):
        """Returns CPU seconds for a second of speech, and the word errors."""
        seconds = self.decode(case, "all.scp", "all.mlf") - self.decode(case, "short.scp", "short.mlf")
        reference = WordErrors.read_words(self.corpus / "mlf/test.wordonly.mlf")
        errors = sum(WordErrors.count_errors(reference, WordErrors.read_words(self.folder / "all.mlf"))[:3])
        return seconds * FRAMES_PER_SECOND / (self.frames - self.short_frames), errors


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
        bench = Bench(args, pathlib.Path(folder))
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
