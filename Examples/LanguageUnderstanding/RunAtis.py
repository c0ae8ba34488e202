#!/usr/bin/env python3
"""Trains the slot filler for several seeds, decodes the test sentences and prints the F1 of their slots.

    RunAtis.py --train FILE --test FILE [--words FILE --wordmap FILE --labels FILE]
               [--cntk PROGRAM] [--work FOLDER] [--seeds N] [--jobs N] [more arguments for the program]

The files are those of ConvertAtis.py. --jobs trainings run in parallel, each on one thread. Standard library only.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import time

import ScoreSlots

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / ".."))
from RunCntk import program, require, run_cntk  # noqa: E402


def convert(args, data):
    """Makes the data, and returns the sizes of the network, which follow from the lists."""
    command = [sys.executable, str(HERE / "ConvertAtis.py"), "--train", args.train, "--test", args.test]
    for name in ("words", "wordmap", "labels"):
        if getattr(args, name):
            command += ["--" + name, getattr(args, name)]
    done = subprocess.run(command + [str(data)], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:  # the script has printed the reason
        sys.exit(done.returncode)
    print(done.stdout.strip(), flush=True)
    words, labels = (len(ScoreSlots.read_lines(data / name)) for name in ("words.txt", "labels.txt"))
    return words, labels


def run(cntk, work, words, labels, seed, more):
    """Returns the score of one seed and its time in seconds."""
    folder = work / ("seed%d" % seed)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    started = time.monotonic()
    log = run_cntk([cntk, "configFile=" + str(HERE / "Atis.cntk"), "DataDir=" + str(work / "data"), "Seed=%d" % seed,
                    "Inputs=%d" % (3 * words), "Labels=%d" % labels, "numCPUThreads=1"] + more, folder,
                   folder / "log.txt", lambda line: line.startswith("Finished Epoch"))
    losses = re.findall(r"Finished Epoch.*\[Validation Set\] TrainLossPerSample = ([0-9.e-]+)", log)
    total, _, accuracy = ScoreSlots.score(ScoreSlots.read_labels(work / "data/test.txt"),
                                          ScoreSlots.read_lines(folder / "output/recognised.txt"))
    print("seed %d: slots %s; %.2f %% of the labels right; validation loss %s; %.0f s" % (
        seed, total, 100 * accuracy, losses[-1] if losses else "none", time.monotonic() - started), flush=True)
    return total.f1


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("train", "test"):
        parser.add_argument("--" + name, required=True)
    for name in ("words", "wordmap", "labels"):
        parser.add_argument("--" + name)
    parser.add_argument("--cntk", default=os.environ.get("CNTK", str(HERE / "../../build/bin/cntk")),
                        help="the program")
    parser.add_argument("--work", default=os.environ.get("WORK", str(HERE / "../../build/atis")),
                        help="folder for data, models and outputs")
    parser.add_argument("--seeds", type=int, default=5, metavar="N", help="trainings, with the seeds 0 to N - 1")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="trainings at the same time, one core each")
    args, more = parser.parse_known_args()
    if args.seeds < 1:
        parser.error("--seeds %d; expected 1 or more trainings" % args.seeds)
    cntk, work = program(args.cntk), pathlib.Path(args.work).absolute()
    require(args.train, args.test, args.words, args.wordmap, args.labels)
    words, labels = convert(args, work / "data")
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        scores = list(pool.map(lambda seed: run(cntk, work, words, labels, seed, more), range(args.seeds)))
    print("Slot F1 of %d seeds: mean %.2f %%, %.2f to %.2f" % (
        len(scores), 100 * statistics.mean(scores), 100 * min(scores), 100 * max(scores)))


if __name__ == "__main__":
    main()
