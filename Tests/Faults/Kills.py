#!/usr/bin/env python3
"""Kills trainings at random instants (SIGKILL), resumes them until they end, and compares all files with those of a
training that was never killed.

    Kills.py [--seed N] [--kinds KIND,...] [KILLS]

KILLS (default: 1000) is the number of kills of all kinds together. Kinds of trainings: one (process), rule (AdaGrad),
search and adjust (control of the learning rate), adapt, pair (encoder and decoder), precompute (mean and deviation),
rotation (keepModels removes models), two and three (workers of MPI; without
MPI they are left out). The column `within` counts the kills that left a place within an epoch. With several workers, either all or only one of them is killed.
"""
import argparse
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

from Scenarios import (CNTK, Workers, config, contents, differences, kill, processes_in, write_common, write_old_model,
                       write_sentences)
from EndToEnd import Instants

OFTEN = "minutes=0.00005"  # saves the place within the epoch every 3 ms
# Arguments, number of processes, and the part of the kills in percent.
KINDS = {
    "one": (config("Train", "epochs=4", OFTEN), 1, 15),
    "rule": (config("Train", "epochs=4", "rule=adagrad", OFTEN), 1, 10),
    "search": (config("Train", "epochs=3", "control=searchBeforeEpoch", OFTEN), 1, 15),
    "adjust": (config("Train", "epochs=4", "control=adjustAfterEpoch", OFTEN), 1, 10),
    "adapt": (config("Adapt", "epochs=4", OFTEN), 1, 10),
    "pair": (config("Pair", "epochs=4", OFTEN), 1, 15),
    "precompute": (config("Train", "epochs=1", "normalize=true"), 1, 5),
    "rotation": (config("Train", "epochs=8", "keep=last:2:best", OFTEN), 1, 5),
    "two": (config("Train", "epochs=4", "parallelTrain=true", "minutes=0.0005"), 2, 10),
    "three": (config("Train", "epochs=4", "parallelTrain=true", "minutes=0.0005"), 3, 5),
}
SAMPLES, SENTENCES = 24000, 1000
TIMEOUT = 120


class Training:
    """A training in a folder of its own, which is killed and resumed."""

    def __init__(self, kind, root, draw):
        self.kind, self.draw = kind, draw
        self.arguments, self.workers, _ = KINDS[kind]
        self.start, self.whole, self.folder = root / kind / "start", root / kind / "whole", root / kind / "killed"
        self.start.mkdir(parents=True)
        write_common(self.start, SAMPLES)
        write_sentences(self.start, SENTENCES)
        write_old_model(self.start)
        shutil.copytree(self.start, self.whole)
        began = time.monotonic()
        status, log, _ = self.run(self.whole, None)
        if status != 0:
            sys.exit("the training '%s' ends with %s\n%s" % (kind, status, log[-1500:]))
        self.instants = Instants(draw, time.monotonic() - began)
        self.kills = self.ends = self.within = 0
        self.problems = []

    def run(self, folder, delay):
        """Returns the status, the log, and whether the training was killed after the delay."""
        command = [str(CNTK), *self.arguments]
        if self.workers > 1:
            command = [*Workers.COMMAND, "-n", str(self.workers), *command]
        process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, env=dict(os.environ, OMPI_MCA_mpi_yield_when_idle="1"))
        killed = False
        # mpiexec needs long to start the workers.
        while self.workers > 1 and delay is not None and process.poll() is None and not processes_in(folder):
            time.sleep(0.005)
        try:
            try:
                log = process.communicate(timeout=delay if delay is not None else TIMEOUT)[1]
            except subprocess.TimeoutExpired:
                if delay is None:
                    raise
                killed = True
                if self.workers > 1:
                    workers = processes_in(folder)
                    for pid in workers if self.draw.random() < 0.5 else workers[:1]:
                        kill(pid)
                else:
                    process.kill()
                log = process.communicate(timeout=TIMEOUT)[1]
        except subprocess.TimeoutExpired:
            for pid in processes_in(folder):
                kill(pid)
            process.kill()
            process.communicate()
            return None, "no end within %d seconds" % TIMEOUT, killed
        return process.returncode, log.decode("utf-8", "replace"), killed

    def kill_or_end(self, last=False):
        if not self.folder.exists():
            shutil.copytree(self.start, self.folder)
        status, log, killed = self.run(self.folder, None if last else self.instants.next())
        self.instants.note(status == 0)
        if killed and status != 0:
            self.kills += 1
            self.within += bool(list((self.folder / "out").glob("*.at*.ckp")))
            return
        if status != 0:
            self.problems.append("%s: a resumed training ends with %s\n%s" % (self.kind, status, log[-1500:]))
        else:
            self.ends += 1
            self.problems += ["%s: %s" % (self.kind, text)
                              for text in differences(contents(self.folder), contents(self.whole))]
        shutil.rmtree(self.folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kills", nargs="?", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kinds", default=",".join(KINDS))
    options = parser.parse_args()
    kinds = options.kinds.split(",")
    if not Workers.available():
        kinds = [kind for kind in kinds if KINDS[kind][1] == 1]
        print("without MPI: no trainings of several workers")
    parts = sum(KINDS[kind][2] for kind in kinds)
    draw, failed, total = random.Random(options.seed), False, 0
    print("%-8s %6s %6s %6s %9s  %s" % ("kind", "kills", "within", "ends", "seconds", "result"), flush=True)
    with tempfile.TemporaryDirectory(prefix="cntk-kills-") as scratch:
        for kind in kinds:
            began = time.monotonic()
            training = Training(kind, pathlib.Path(scratch).resolve(), draw)
            while training.kills < -(-options.kills * KINDS[kind][2] // parts) and len(training.problems) < 5:
                training.kill_or_end()
            while training.folder.exists() and not training.problems:
                training.kill_or_end(last=True)
            total += training.kills
            failed = failed or bool(training.problems) or training.ends == 0
            print("%-8s %6d %6d %6d %9.0f  %s" % (kind, training.kills, training.within, training.ends,
                                                  time.monotonic() - began, "\n".join(training.problems) or "same bits"), flush=True)
    print("%d kills" % total)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
