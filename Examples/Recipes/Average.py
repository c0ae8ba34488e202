#!/usr/bin/env python3
"""Averages the parameters of several models of one training into a new model.

    Average.py NEW MODEL... [--cntk PROGRAM]

The models must have the same network, as those of the last epochs of a training have. The program writes their parameters
as text (action=dumpnode) and takes the averages back (the MEL command ReviseParameter).
"""
import argparse
import os
import subprocess
import sys
import tempfile

import Weights


def run(program, step):
    done = subprocess.run([program, "command=Step", "Step=[%s]" % step], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        sys.exit("%s failed: %s" % (program, done.stdout.strip().splitlines()[-1]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("new", help="file of the new model")
    parser.add_argument("model", nargs="+")
    parser.add_argument("--cntk", default="cntk")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        sums = {}
        for model in arguments.model:
            dump = os.path.join(folder, "dump.txt")
            run(arguments.cntk, "action=dumpnode; modelPath=%s; outputFile=%s" % (model, dump))
            for name, array in Weights.read(dump).items():
                sums[name] = sums.get(name, 0) + array
        script = ['m = LoadModel("%s")' % arguments.model[0], "SetDefaultModel(m)"]
        for name, array in sums.items():
            path = os.path.join(folder, "%d.txt" % len(script))
            with open(path, "w", encoding="utf-8") as file:
                for row in array.reshape(array.shape[0], -1) / len(arguments.model):
                    file.write(" ".join("%.9g" % value for value in row) + "\n")
            script.append('ReviseParameter(%s, "%s")' % (name, path))
        script.append('SaveModel(m, "%s")' % arguments.new)
        path = os.path.join(folder, "average.mel")
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(script) + "\n")
        run(arguments.cntk, "action=edit; editPath=%s" % path)
    print("%s is the average of %d models" % (arguments.new, len(arguments.model)))


if __name__ == "__main__":
    main()
