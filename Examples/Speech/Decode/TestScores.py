"""Scores of synthspeech by its reference network as files, so that only the search is timed. For BeamPicture.py and benchmarks."""
import pathlib
import resource
import subprocess
import sys

import WordErrors

FRAMES_PER_SECOND = 100
HEADER, FRAME = 12, 4 * 126  # bytes of an HTK file

WRITE = """
command=Write
deviceId=-1
numCPUThreads=1
Write=[
  action=write
  modelPath={corpus}/decoding/model/synthspeech.dnn
  outputNodeNames=ScaledLogLikelihood
  reader=[ readerType=HTKMLFReader; features=[ dim=792; scpFile={corpus}/scp/{part}.fbank.scp; prefixPathInSCP={corpus} ] ]
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


class TestScores:
    """A folder with the scores of a part, a list of all utterances, and a list of the shortest one, whose run is mostly
    loading."""

    def __init__(self, cntk, corpus, folder, part="test"):
        self.cntk, self.corpus, self.folder = cntk, corpus, pathlib.Path(folder)
        names = [line.split("=")[0].rsplit(".", 1)[0] for line in
                 (corpus / ("scp/%s.fbank.scp" % part)).read_text(encoding="utf-8").splitlines()]
        self.write("out.scp", "".join("%s/%s.sll\n" % (folder, name) for name in names))
        self.write("write.cntk", WRITE.format(corpus=corpus, folder=folder, part=part))
        cpu_seconds([cntk, "configFile=%s" % (self.folder / "write.cntk")])
        frames = {name: ((self.folder / (name + ".sll")).stat().st_size - HEADER) // FRAME for name in names}
        shortest = min(frames, key=frames.get)
        self.write("all.scp", "".join("%s.sll\n" % name for name in names))
        self.write("short.scp", "%s.sll\n" % shortest)
        self.seconds = (sum(frames.values()) - frames[shortest]) / FRAMES_PER_SECOND
        self.reference = WordErrors.read_words(corpus / ("mlf/%s.wordonly.mlf" % part))
        self.words = sum(map(len, self.reference.values()))

    def write(self, name, text):
        (self.folder / name).write_text(text, encoding="utf-8")

    def compile(self, graph, acceptor, scores):
        """Compiles an acceptor of the corpus."""
        cpu_seconds([self.cntk, "argon", "-precompile", "true", "-infsm", self.corpus / "decoding" / acceptor,
                     "-transition-file", self.corpus / "lang/state.transitions", "-lookahead-file",
                     self.corpus / "decoding" / scores, "-model-map", self.corpus / "lang/model.state.map", "-graph",
                     self.folder / graph])

    def measure(self, graph, lm, options):
        """Returns the CPU seconds of the search for a second of speech, and the number of word errors."""
        times = []
        for name in ("all", "short"):
            times.append(cpu_seconds([
                self.cntk, "argon", "-graph", self.folder / graph, "-lm", self.corpus / lm, "-cntkmap",
                self.corpus / "decoding/graphs/state.cntkmap", "-infiles", self.folder / (name + ".scp"), "-outmlf",
                self.folder / (name + ".mlf"), *options])[0])
        result = WordErrors.read_words(self.folder / "all.mlf")
        return (times[0] - times[1]) / self.seconds, sum(WordErrors.count_errors(self.reference, result)[:3])
