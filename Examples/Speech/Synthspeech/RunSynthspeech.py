#!/usr/bin/env python3
"""Trains the networks of Synthspeech.cntk and prints their state errors on the development and the test set.

    RunSynthspeech.py --corpus FOLDER [--cntk PROGRAM] [--work FOLDER] [--networks A,B] [--seeds 1,2] [more arguments]

Unknown arguments go to the program. A stopped training resumes. Standard library only.
"""
import argparse
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "../.."))
from RunCntk import program, require  # noqa: E402
PRETRAIN = "PreTrain1:AddLayer2:PreTrain2:AddLayer3:Train3"
NETWORKS = {  # name: commands, arguments
    "Simple": ("Simple:Dev:Test", []),
    "Compressed": ("Simple:Compress:Retrain:Dev:Test", ["TestModel=narrow.dnn"]),
    "Ndl": ("Ndl:Dev:Test", []),
    "Mfcc": ("Simple:Dev:Test", ["Kind=mfcc", "FeatDim=429"]),
    "Deep": ("Simple:Dev:Test", ["Hidden=512*3"]),
    "PreTrained": (PRETRAIN + ":Dev:Test", []),
    "LstmTruncated": ("LstmTruncated:DevLstm:TestLstm", ["FeatDim=72"]),
    "LstmWhole": ("LstmWhole:DevLstm:TestLstm", ["FeatDim=72"]),
}


def run(args, more, network, seed):
    """Returns the state errors of the development and the test set, in per cent."""
    commands, own = NETWORKS[network]
    folder = args.work / ("%s.%d" % (network, seed))
    folder.mkdir(parents=True, exist_ok=True)
    begin = time.time()
    with open(folder / "log", "ab") as log:
        done = subprocess.run(
            [args.cntk, "configFile=Synthspeech.cntk", "Corpus=%s" % args.corpus, "ExpDir=%s" % args.work,
             "Name=" + network, "Seed=%d" % seed, "command=" + commands] + own + more,
            cwd=HERE, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log, check=False)
    text = (folder / "log").read_text(encoding="utf-8", errors="replace")
    if done.returncode != 0:
        sys.exit("%s, seed %d failed:\n%s" % (network, seed, text[-3000:]))
    errors = re.findall(r"Final Results:.*ErrorPrediction/Sample = ([0-9.e-]+)", text)[-2:]
    if len(errors) != 2:
        sys.exit("%s, seed %d: no results in %s" % (network, seed, folder / "log"))
    dev, test = (100 * float(error) for error in errors)
    print("%-14s seed %d: dev %.2f %%, test %.2f %% of the states wrong, %.0f s" % (
        network, seed, dev, test, time.time() - begin), flush=True)
    return dev, test


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cntk", default=os.environ.get("CNTK", str(HERE / "../../../build/bin/cntk")))
    parser.add_argument("--corpus", required=True, type=pathlib.Path)
    parser.add_argument("--work", type=pathlib.Path, default=HERE / "../../../build/synthspeech")
    parser.add_argument("--networks", default=",".join(NETWORKS))
    parser.add_argument("--seeds", default="1,2,3,4,5")
    args, more = parser.parse_known_args()
    args.cntk, args.corpus, args.work = program(args.cntk), args.corpus.absolute(), args.work.absolute()
    require(args.corpus)
    for network in args.networks.split(","):
        results = [run(args, more, network, int(seed)) for seed in args.seeds.split(",")]
        for name, column in (("dev", 0), ("test", 1)):
            values = [result[column] for result in results]
            print("%-14s %s: mean %.2f %%, %.2f to %.2f" % (
                network, name, statistics.mean(values), min(values), max(values)), flush=True)


if __name__ == "__main__":
    main()
