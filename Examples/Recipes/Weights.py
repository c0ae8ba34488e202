#!/usr/bin/env python3
"""Reads the parameters of a model into numpy arrays, from the text of action=dumpnode.

    Weights.py DUMP [--npz FILE]

Prints name, shape, mean and standard deviation of each parameter; --npz also saves all arrays. In a script of your own:

    import Weights
    weights = Weights.read("out/weights.txt")     # weights["W0"] is an array of rows x columns
"""
import argparse
import re
import sys

try:
    import numpy
except ImportError:
    sys.exit("Weights.py needs numpy (Debian package python3-numpy)")

PARAMETER = re.compile(r"^(\S+)=(?:LearnableParameter|Mean|InvStdDev)\b.*?\[([\d, x]+)\]")


def read(path):
    """Returns {name: array of rows x columns}. Parameters of more dimensions keep them: columns are the last one."""
    weights = {}
    name, shape, values = None, None, []

    def end():
        if name is not None:
            # Lines of the dump are the rows of the parameter's matrix.
            weights[name] = numpy.array(values, dtype=float).reshape(shape)

    with open(path, encoding="utf-8") as lines:
        for line in lines:
            found = PARAMETER.match(line.strip())
            if found:
                end()
                name, values = found.group(1), []
                shape = [int(size) for size in re.findall(r"\d+", found.group(2))]
            elif line.strip().startswith("###"):
                end()
                name = None
            elif name is not None and line.strip():
                values += [float(value) for value in line.split()]
    end()
    return weights


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dump", help="the file that action=dumpnode has written")
    parser.add_argument("--npz", help="file for all arrays, for numpy.load")
    arguments = parser.parse_args()
    weights = read(arguments.dump)
    for name, array in weights.items():
        print("%-12s %-12s mean %9.5f  standard deviation %8.5f" % (name, array.shape, array.mean(), array.std()))
    if arguments.npz:
        numpy.savez(arguments.npz, **weights)


if __name__ == "__main__":
    main()
