#!/usr/bin/env python3
"""Averages the parameters of several models of one training into a new model.

    Average.py NEW MODEL... [--cntk PROGRAM]

The models must have the same network, as those of the last epochs of a training have. The program writes their parameters
as arrays (action=export) and takes the averages back (action=import).
"""
import argparse
import os
import subprocess
import sys
import tempfile

try:
    import numpy
except ImportError:
    sys.exit("Average.py needs numpy (Debian package python3-numpy)")


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
        path = os.path.join(folder, "parameters.npz")
        sums = {}
        for model in arguments.model:
            run(arguments.cntk, "action=export; modelPath=%s; outputPath=%s" % (model, path))
            with numpy.load(path) as arrays:
                for name in arrays.files:
                    if not name.startswith("special:"):
                        sums[name] = sums.get(name, 0) + arrays[name]
        numpy.savez(path, **{name: array / len(arguments.model) for name, array in sums.items()})
        run(arguments.cntk, "action=import; modelPath=%s; inputPath=%s; outputModelPath=%s" %
            (arguments.model[0], path, arguments.new))
    print("%s is the average of %d models" % (arguments.new, len(arguments.model)))


if __name__ == "__main__":
    main()
