#!/usr/bin/env python3
"""Runs long trainings of small networks and watches memory, open files and threads of the process, and files on disk.

    LongRuns.py [--minibatches N] [--epochs N] [--out FOLDER] [RUN ...]

The runs are `minibatches` (one training of 10^6 minibatches) and `epochs` (10^4 epochs with checkpoints), each with the
shuffle of records (UCIFastReader) and the shuffle of chunks (HTKMLFReader), without a cache of the data, with prefetch and
two threads. FOLDER receives a table (CSV) and a plot (SVG) of each run. After the first fifth of its time a run may not
grow: its memory by at most 1 MB, the numbers of files by at most those that are being replaced.
"""
import argparse
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import time

from Scenarios import CNTK, write_points

WARM_UP = 0.2  # part of the run that is not judged
# Growth that is no leak: a row may see a file that is being replaced, or not.
ALLOWED = (("memory (kB)", 1024), ("open files", 3), ("threads", 1), ("temporary files", 2), ("checkpoints", 2))
INTERVAL = 0.03  # seconds between two rows
CONFIG = """command=Train
precision=float
traceLevel=0
deviceId=-1
numCPUThreads=2
Train=[
  action=train
  modelPath=models/m.dnn
  SimpleNetworkBuilder=[ layerSizes=2:8:2; layerTypes=Sigmoid; applyMeanVarNorm=false
    trainingCriterion=CrossEntropyWithSoftmax; evalCriterion=ErrorPrediction ]
  SGD=[ maxEpochs=%d; epochSize=%d; minibatchSize=%d; learningRatesPerSample=0.0001; momentumPerMB=0.9
    keepModels=last; saveEveryMinutes=0.02 ]
  reader=[
    %s
  ]
]
"""
UCI = """readerType=UCIFastReader; file=train.txt; randomize=auto; cacheMB=0
    features=[ start=0; dim=2 ]; labels=[ start=2; dim=1; labelDim=2; labelMappingFile=map.txt ]"""
HTK = """readerType=HTKMLFReader; readMethod=blockRandomize; randomize=200
    features=[ dim=2; scpFile=list.scp ]; labels=[ mlfFile=labels.mlf; labelDim=2; labelMappingFile=states.txt ]"""
UTTERANCES, FRAMES = 40, 50


def write_data(folder):
    write_points(folder, UTTERANCES * FRAMES)
    (folder / "map.txt").write_text("0\n1\n")
    (folder / "states.txt").write_text("s0\ns1\n")
    points = [line.split() for line in (folder / "train.txt").read_text().splitlines()]
    labels, names = ["#!MLF!#"], []
    for number in range(UTTERANCES):
        part = points[number * FRAMES:(number + 1) * FRAMES]
        name = "u%d.htk" % number
        names.append(name)
        (folder / name).write_bytes(struct.pack(">iihh", FRAMES, 100000, 8, 9) +
                                    b"".join(struct.pack(">2f", float(x), float(y)) for x, y, _ in part))
        labels.append('"*/u%d.lab"' % number)
        labels += ["%d %d s%s" % (i * 100000, (i + 1) * 100000, part[i][2]) for i in range(FRAMES)] + ["."]
    (folder / "labels.mlf").write_text("\n".join(labels) + "\n")
    (folder / "list.scp").write_text("".join(name + "\n" for name in names))


def status_of(process):
    """Returns memory in kB, number of open files, number of threads; None: the process has ended."""
    try:
        text = pathlib.Path("/proc/%d/status" % process.pid).read_text()
        memory = re.search(r"VmRSS:\s+(\d+)", text)
        files = len(list(pathlib.Path("/proc/%d/fd" % process.pid).iterdir()))
        return memory and (int(memory[1]), files, int(re.search(r"Threads:\s+(\d+)", text)[1]))
    except (FileNotFoundError, ProcessLookupError):
        return None


def watch(folder, arguments):
    """Runs the training; returns the rows (seconds, kB, open files, threads, temporary files, checkpoints)."""
    rows, began = [], time.monotonic()
    with open(folder / "log", "wb") as log:
        process = subprocess.Popen([str(CNTK), *arguments], cwd=folder, stdin=subprocess.DEVNULL, stderr=log, stdout=log)
        while process.poll() is None:
            time.sleep(INTERVAL)
            found = status_of(process)
            if found is None:
                continue
            names = [path.name for path in (folder / "models").iterdir()] if (folder / "models").exists() else []
            rows.append((round(time.monotonic() - began, 3), *found, sum(name.endswith(".tmp") for name in names),
                         sum(name.endswith(".ckp") for name in names)))
    if process.returncode != 0:
        sys.exit("the training ended with %d\n%s" % (process.returncode, (folder / "log").read_text()[-1000:]))
    return rows


def growth_of(rows):
    """Compares the second half after the warm-up with the first one. Returns the texts of what has grown."""
    judged = [row for row in rows if row[0] > WARM_UP * rows[-1][0]]
    half = len(judged) // 2
    most = [[max(row[column] for row in part) for column in range(1, 6)] for part in (judged[:half], judged[half:])]
    texts = []
    for column, (name, allowed) in enumerate(ALLOWED):
        if most[1][column] > most[0][column] + allowed:
            texts.append("%s grew from %d to %d" % (name, most[0][column], most[1][column]))
    return texts


def plot(rows, title):
    """Returns an SVG picture with memory above and open files below."""
    width, height, left = 720, 150, 80
    last = rows[-1][0] or 1
    parts = ['<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">' % (
        width + left + 20, 2 * height + 110), '<rect width="100%" height="100%" fill="white"/>',
        '<text x="%d" y="18" font-size="14">%s</text>' % (left, title)]
    for number, (column, name, scale) in enumerate(((1, "memory, MB", 1 / 1024), (2, "open files", 1))):
        top = 40 + number * (height + 30)
        values = [row[column] * scale for row in rows]
        most = max(values) * 1.1
        points = " ".join("%.1f,%.1f" % (left + row[0] / last * width, top + height - value / most * height)
                          for row, value in zip(rows, values))
        parts += ['<rect x="%d" y="%d" width="%d" height="%d" fill="none" stroke="#999"/>' % (left, top, width, height),
                  '<polyline points="%s" fill="none" stroke="#1f77b4"/>' % points,
                  '<text x="8" y="%d">%s</text>' % (top - 6, name),
                  '<text x="%d" y="%d" text-anchor="end">%.1f</text>' % (left - 6, top + 12, most),
                  '<text x="%d" y="%d" text-anchor="end">0</text>' % (left - 6, top + height)]
    parts.append('<text x="%d" y="%d" text-anchor="end">%.0f s</text></svg>' % (left + width, 2 * height + 90, last))
    return "\n".join(parts) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minibatches", type=int, default=10 ** 6)
    parser.add_argument("--epochs", type=int, default=10 ** 4)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("longruns"))
    names = [kind + "-" + reader for kind in ("minibatches", "epochs") for reader in ("records", "chunks")]
    parser.add_argument("runs", nargs="*", default=names, metavar="RUN", help=", ".join(names))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    failed = False
    samples = UTTERANCES * FRAMES
    print("%-20s %9s %8s %9s %9s %6s %8s  %s" % ("run", "samples", "seconds", "first kB", "last kB", "files", "threads", "result"))
    for run in options.runs:
        kind, reader = run.split("-")
        # One sample a minibatch, several epochs of data in one epoch of the training.
        epochs, size, count = (4, options.minibatches // 4, 1) if kind == "minibatches" else (options.epochs, samples, 500)
        with tempfile.TemporaryDirectory(prefix="cntk-long-") as scratch:
            folder = pathlib.Path(scratch)
            write_data(folder)
            (folder / "c.cntk").write_text(CONFIG % (epochs, size, count, UCI if reader == "records" else HTK))
            rows = watch(folder, ["configFile=c.cntk"])
        if len(rows) < 20:
            sys.exit("the run '%s' is too short: %d rows" % (run, len(rows)))
        header = "seconds,kB,openFiles,threads,temporaryFiles,checkpoints\n"
        (options.out / (run + ".csv")).write_text(header + "".join(",".join(map(str, row)) + "\n" for row in rows))
        (options.out / (run + ".svg")).write_text(plot(rows, run))
        grown = growth_of(rows)
        failed = failed or bool(grown)
        first = next(row for row in rows if row[0] > WARM_UP * rows[-1][0])
        print("%-20s %9d %8.0f %9d %9d %6d %8d  %s" % (run, epochs * size, rows[-1][0], first[1], rows[-1][1], rows[-1][2],
                                                     rows[-1][3], "; ".join(grown) or "no growth"), flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
