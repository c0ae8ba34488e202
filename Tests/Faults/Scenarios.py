"""Small runs of the program, shared by Faults.py, Kills.py and PowerCut.py: their files and their command lines.
DataScenarios.py has further ones."""
import os
import pathlib
import random
import shutil
import signal
import struct
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
CNTK = pathlib.Path(os.environ.get("CNTK", ROOT / "build/bin/cntk")).absolute()
TIMEOUT = 60

sys.path.insert(0, str(ROOT / "Tests/EndToEndTests"))
from SmallDecoding import write_task  # noqa: E402

HEAD = """precision=double
traceLevel=0
deviceId=-1
numCPUThreads=$threads$
threads=1
folder=out
modelPath=$folder$/m.dnn
epochs=2
minutes=0
control=none
size=8
rule=none
keep=all
method=DataParallelSGD
"""
READER = """[ readerType=UCIFastReader; file=%s; randomize=%s; cacheMB=%d
    features=[ start=0; dim=2 ]; labels=[ start=2; dim=1; labelDim=2; labelMappingFile=map.txt ] ]
"""
TRAIN = """Train=[
  action=train
  SimpleNetworkBuilder=[ layerSizes=2:$hidden$:2; layerTypes=Sigmoid; applyMeanVarNorm=$normalize$; addDropoutNodes=true
    trainingCriterion=CrossEntropyWithSoftmax; evalCriterion=ErrorPrediction ]
  SGD=[ maxEpochs=$epochs$; minibatchSize=$size$; learningRatesPerSample=0.01; momentumPerMB=0.9; dropoutRate=0.2
    gradUpdateType=$rule$; saveEveryMinutes=$minutes$; keepModels=$keep$
    AutoAdjust=[ autoAdjustLR=$control$; numMiniBatch4LRSearch=40; reduceLearnRateIfImproveLessThan=0.1 ]
    ParallelTrain=[ parallelizationMethod=$method$ ] ]
  reader=""" + READER % ("train.txt", "$order$", 0) + "  cvReader=" + READER % ("valid.txt", "none", 0) + "]\n" + """
hidden=6
normalize=false
order=auto
file=out/m.npz
Adapt=[
  action=adapt; origModelFileName=old.dnn; refNodeName=PosteriorProb
  SGD=[ maxEpochs=$epochs$; minibatchSize=$size$; learningRatesPerSample=0.05; momentumPerMB=0.9; saveEveryMinutes=$minutes$
    adaptationRegType=KL; adaptationRegWeight=0.1 ]
  reader=""" + READER % ("train.txt", "auto", 0) + """]
Test=[ action=test; modelPath=old.dnn
  reader=""" + READER % ("train.txt", "none", 0) + """]
Write=[ action=write; modelPath=old.dnn; outputPath=out/scores; outputNodeNames=PosteriorProb
  reader=""" + READER % ("train.txt", "none", 0) + """]
Edit=[ action=edit; editPath=edit.mel ]
Convert=[ action=convertdbn; dbnModelPath=m.dbn; modelPath=out/m.dnn ]
ExportDbn=[ action=exportdbn; modelPath=old.dnn; dbnModelPath=out/m.dbn ]
Export=[ action=export; modelPath=old.dnn; outputPath=$file$ ]
Dump=[ action=dumpnode; modelPath=old.dnn; outputFile=out/dump.txt; printValues=true ]
"""
EDIT = """m1=LoadModel(old.dnn, format=cntk)
SetDefaultModel(m1)
CopyNode(W0, W9)
SaveModel(m1, out/m.dnn)
"""
SENTENCES = """Pair=[
  action=trainEncoderDecoder
  EncoderNetworkBuilder=[ rnnType=LSTMENCODER; layerSizes=4:5:6; lookupTableOrder=1; sparseinput=true ]
  DecoderNetworkBuilder=[ rnnType=ALIGNMENTSIMILARITYGENERATOR; layerSizes=5:5:6:6:5; lookupTableOrder=1
    trainingCriterion=CrossEntropyWithSoftmax; evalCriterion=ErrorPrediction ]
  SGD=[ maxEpochs=$epochs$; minibatchSize=16; learningRatesPerSample=0.001; momentumPerMB=0.9; saveEveryMinutes=$minutes$ ]
  encoderReader=[ readerType=CNTKTextFormatReader; file=pairs.enc.ctf; randomize=auto
    input=[ features=[ alias=words; dim=4; format=sparse ] ] ]
  decoderReader=[ readerType=CNTKTextFormatReader; file=pairs.dec.ctf; randomize=auto
    input=[ features=[ alias=prev; dim=5; format=sparse ]; labels=[ dim=5; format=sparse ] ] ]
]
"""
PRECOMPILE = ["argon", "-precompile", "true", "-infsm", "graph.txt", "-transition-file", "transitions", "-model-map", "models",
              "-graph", "g.dg"]
DECODE = ["argon", "-graph", "g.dg", "-lm", "lm", "-cntkmap", "map", "-infiles", "list.scp", "-acweight", "1", "-outmlf",
          "out/words.mlf", "-outscores", "out/scores.tsv", "-lattice-prefix", "out/l", "-outctm", "out/ctm"]


class Workers(list):
    """Arguments of two workers of MPI. Settings of the environment apply to the disturbed worker alone."""
    COMMAND = ["mpiexec", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]

    def __init__(self, arguments, disturbed):
        super().__init__(arguments)
        self.disturbed = disturbed

    def command(self, environment):
        settings = ["env", *("%s=%s" % pair for pair in environment.items())] if environment else []
        command = list(self.COMMAND)
        for worker in range(2):
            command += [":"] * worker + ["-n", "1", *(settings if worker == self.disturbed else []), CNTK, *self]
        return command

    @staticmethod
    def available():
        return shutil.which("mpiexec") is not None and (CNTK.parent.parent / "lib/libcntkmpi.so").exists()


def processes_in(folder):
    """Returns the processes of the program that work in the folder."""
    found = []
    for entry in os.listdir("/proc"):
        try:
            if entry.isdigit() and os.readlink("/proc/%s/cwd" % entry) == os.path.realpath(folder) and \
                    os.path.basename(os.readlink("/proc/%s/exe" % entry)) == CNTK.name:
                found.append(int(entry))
        except OSError:
            pass  # the process has ended
    return found


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def run_cntk(folder, arguments, environment=None):
    """Runs the program in the folder; returns its status and its standard error. Status None: it did not end in time.
    If the first argument is a path, that program runs, and its output is kept in out/printed."""
    is_other = isinstance(arguments[0], pathlib.Path)
    environment = environment or {}
    if isinstance(arguments, Workers):
        command, environment = arguments.command(environment), {"OMPI_MCA_mpi_yield_when_idle": "1"}
    else:
        command = [*([] if is_other else [CNTK]), *arguments]
    try:
        run = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             env=dict(os.environ, **environment), timeout=TIMEOUT, check=False)
    except subprocess.TimeoutExpired:
        for pid in processes_in(folder):  # without mpiexec, workers would wait for each other
            kill(pid)
        return None, "no end within %d seconds" % TIMEOUT
    if is_other:
        (folder / "out/printed").write_bytes(run.stdout)
    return run.returncode, run.stderr.decode("utf-8", "replace")


def must_run(folder, *arguments, status=0):
    found, log = run_cntk(folder, arguments)
    if found != status:
        sys.exit("cntk %s\nin %s ended with %s instead of %d\n%s" % (" ".join(arguments), folder, found, status, log[-1500:]))


def contents(folder):
    """Returns the bytes of all files by name, without files that contain times: logs, metrics and reports."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*"))
            if path.is_file() and path.suffix not in (".log", ".csv", ".html", ".jsonl")}


def differences(found, wanted):
    """Returns what differs from the wanted files, in words."""
    texts = ["%s is missing" % name for name in wanted if name not in found]
    texts += ["%s remains" % name for name in found if name not in wanted]
    return texts + ["%s differs" % name for name in wanted if name in found and found[name] != wanted[name]]


def write_points(folder, count, seed=1, name="train.txt"):
    draw = random.Random(seed)
    points = [(draw.uniform(-1, 1), draw.uniform(-1, 1)) for _ in range(count)]
    (folder / name).write_text("".join("%g %g %d\n" % (x, y, y > x * x - 0.3) for x, y in points))


def write_sentences(folder, count, seed=1):
    draw, encoder, decoder = random.Random(seed), [], []
    for number in range(count):
        words = [draw.randrange(4) for _ in range(draw.randint(1, 6))]
        encoder += ["%d |words %d:1\n" % (number, word) for word in words]
        said = words[::-1] + [4]
        decoder += ["%d |prev %d:1 |labels %d:1\n" % (number, before, word) for before, word in zip([4] + said, said)]
    (folder / "pairs.enc.ctf").write_text("".join(encoder))
    (folder / "pairs.dec.ctf").write_text("".join(decoder))


def write_common(folder, samples=200):
    write_points(folder, samples)
    write_points(folder, 40, 2, "valid.txt")
    (folder / "map.txt").write_text("0\n1\n")
    (folder / "c.cntk").write_text(HEAD + TRAIN + SENTENCES)
    (folder / "out").mkdir()


def config(command, *more):
    return ["configFile=c.cntk", "command=" + command, *more]


def write_old_model(folder):
    must_run(folder, *config("Train", "epochs=1", "folder=first"))
    (folder / "first/m.dnn").rename(folder / "old.dnn")
    for path in (folder / "first").iterdir():
        path.unlink()
    (folder / "first").rmdir()


def prepare_train(folder):
    write_common(folder)


def prepare_resume(folder):
    """A wrong line ends the training within the second epoch, which saves its place. Then the line is mended."""
    write_common(folder)
    lines = (folder / "train.txt").read_text().splitlines(True)
    must_run(folder, *config("Train", "order=none", "epochs=1"))
    for name in ("m.dnn", "m.dnn.ckp"):
        (folder / "out" / name).rename(folder / "out" / name.replace("m.dnn", "m.dnn.1"))
    (folder / "train.txt").write_text("".join(lines[:150] + ["0.1 x 1\n"] + lines[151:]))
    must_run(folder, *config("Train", "order=none"), status=4)
    (folder / "train.txt").write_text("".join(lines))
    if not list((folder / "out").glob("m.dnn.1.at*.ckp")):
        sys.exit("the scenario 'resume' has no place within the epoch")


def prepare_with_model(folder):
    write_common(folder)
    write_old_model(folder)
    (folder / "edit.mel").write_text(EDIT)
    for name in ("scores.PosteriorProb", "m.dnn", "m.dbn", "m.npz", "m.onnx", "dump.txt"):
        (folder / "out" / name).write_text("an old file\n")


def prepare_evaluate(folder):
    """Builds an example of the evaluation library. Returns its arguments. The example itself reads the samples, which
    lie outside the folder, because only the calls of the library are tested."""
    prepare_with_model(folder)
    (folder / "bin").mkdir()
    samples = folder.parent / "samples.txt"
    samples.write_text("0.5 -0.25\n1 1\n")
    library = CNTK.parent.parent / "lib"
    subprocess.run(["cc", ROOT / "Examples/Evaluation/Evaluate.c", "-I", ROOT / "Source/EvalLibrary/Include",
                    library / "libcntk.so", "-Wl,-rpath," + str(library), "-o", folder / "bin/evaluate"], check=True)
    return [pathlib.Path("bin/evaluate"), "old.dnn", str(samples)]


def prepare_adapt(folder):
    write_common(folder)
    write_old_model(folder)


def prepare_pair(folder):
    write_common(folder)
    write_sentences(folder, 40)


def dbn_matrix(name, rows, columns, values):
    return b"BMAT" + name + b"\0" + struct.pack("<ii%df" % len(values), rows, columns, *values) + b"EMAT"


def prepare_convert(folder):
    write_common(folder)
    content = b"DBN\nby hand\0BDBN" + struct.pack("<ii", 0, 1)
    content += dbn_matrix(b"gmean", 2, 1, [0.5, 0]) + dbn_matrix(b"gstddev", 2, 1, [0.5, 2]) + b"BNET"
    content += b"perceptron\0" + dbn_matrix(b"W", 2, 2, [1, 2, 3, 4]) + dbn_matrix(b"a", 2, 1, [0.5, -0.5])
    content += dbn_matrix(b"b", 0, 0, []) + b"ENET" + dbn_matrix(b"Pu", 2, 1, [1, 0.5]) + b"EDBN"
    (folder / "m.dbn").write_bytes(content)
    (folder / "out/m.dnn").write_text("an old file\n")


def prepare_decode(folder):
    write_task(folder)
    (folder / "out").mkdir()


def prepare_decode_with_graph(folder):
    prepare_decode(folder)
    must_run(folder, *PRECOMPILE)
    for name in ("words.mlf", "scores.tsv", "ctm"):
        (folder / "out" / name).write_text("an old file\n")


SCENARIOS = {
    "train": (prepare_train, config("Train")),
    "train2": (prepare_train, config("Train", "threads=2", "hidden=64", "minutes=0.00001", "size=50", "epochs=1")),
    "logged": (prepare_train, config("Train", "epochs=1", "stderr=out/log", "metrics=out/metrics.csv", "report=out/report.html")),
    "search": (prepare_train, config("Train", "control=searchBeforeEpoch", "epochs=1")),
    "adjust": (prepare_train, config("Train", "control=adjustAfterEpoch")),
    "resume": (prepare_resume, config("Train", "order=none")),
    "pair": (prepare_pair, config("Pair", "epochs=1")),
    "adapt": (prepare_adapt, config("Adapt", "epochs=1")),
    "test": (prepare_with_model, config("Test")),
    "write": (prepare_with_model, config("Write")),
    "edit": (prepare_with_model, config("Edit")),
    "dump": (prepare_with_model, config("Dump")),
    "convertdbn": (prepare_convert, config("Convert")),
    "exportdbn": (prepare_with_model, config("ExportDbn")),
    "npz": (prepare_with_model, config("Export", "file=out/m.npz")),
    "onnx": (prepare_with_model, config("Export", "file=out/m.onnx")),
    "graph": (prepare_decode, PRECOMPILE),
    "evaluate": (prepare_evaluate, None),
    "decode": (prepare_decode_with_graph, DECODE),
    "decode2": (prepare_decode_with_graph, DECODE + ["-threads", "2"]),
}


def finish(total, noun, findings, began):
    """Prints the findings and ends the driver: with 1 if there are any, or if nothing was tried."""
    for finding in findings:
        print("FOUND " + finding)
    print("%d %s, %d findings, %.0f s" % (total, noun, len(findings), time.monotonic() - began))
    sys.exit(1 if findings or total == 0 else 0)
