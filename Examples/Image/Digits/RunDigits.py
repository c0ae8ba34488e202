#!/usr/bin/env python3
"""Trains and tests both networks for several seeds and prints their errors on the test images.

    RunDigits.py [--cntk PROGRAM] [--data FOLDER] [--work FOLDER] [--seeds N] [more arguments for the program]

Without --data the digits come from Debian's python3-sklearn (ConvertDigits.py). Standard library only.
"""
import argparse
import os
import pathlib
import re
import shutil
import statistics
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "../.."))
from RunCntk import program, require, run_cntk, run_script  # noqa: E402
NETWORKS = ("FullyConnected", "Convolution")


def run(cntk, work, network, seed, more):
    """Returns the share of wrong test images."""
    log = run_cntk([cntk, "configFile=Digits.cntk", "Network=" + network, "Seed=%d" % seed] + more, work,
                   work / ("%s.%d.log" % (network, seed)), lambda line: line.startswith("Finished Epoch"))
    found = re.findall(r"Final Results:.*ErrorPrediction/Sample = ([0-9.e-]+)", log)
    if not found:
        sys.exit("%s: the log has no result: %s" % (network, log.splitlines()[-1] if log else "it is empty"))
    return float(found[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cntk", default=os.environ.get("CNTK", str(HERE / "../../../build/bin/cntk")))
    parser.add_argument("--data", help="folder of train.txt, test.txt and labelsmap.txt")
    parser.add_argument("--work", default=os.environ.get("WORK", str(HERE / "../../../build/digits")))
    parser.add_argument("--seeds", type=int, default=5)
    args, more = parser.parse_known_args()
    cntk = program(args.cntk)
    require(args.data)
    work = pathlib.Path(args.work).absolute()
    shutil.rmtree(work / "models", ignore_errors=True)
    (work / "data").mkdir(parents=True, exist_ok=True)
    for name in ("Digits.cntk", "FullyConnected.ndl", "Convolution.ndl"):
        shutil.copy(HERE / name, work)
    if args.data:
        for name in ("train.txt", "test.txt", "labelsmap.txt"):
            shutil.copyfile(pathlib.Path(args.data) / name, work / "data" / name)
    else:
        run_script(HERE / "ConvertDigits.py", work / "data")

    errors = {network: [] for network in NETWORKS}
    for seed in range(args.seeds):
        for network in NETWORKS:
            errors[network].append(run(cntk, work, network, seed, more))
        print("seed %d: %s" % (seed, ", ".join("%s %.2f %%" % (n, 100 * errors[n][-1]) for n in NETWORKS)), flush=True)
    for network in NETWORKS:
        print("%-14s %.2f %% of the test images wrong (mean), %.2f to %.2f" % (
            network, 100 * statistics.mean(errors[network]), 100 * min(errors[network]), 100 * max(errors[network])))


if __name__ == "__main__":
    main()
