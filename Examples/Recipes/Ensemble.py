#!/usr/bin/env python3
"""Averages the probabilities of several models, and says how many samples each of them and all together get wrong.

    Ensemble.py --labels PREDICTIONS --classes LABELS OUTPUT...

PREDICTIONS is a file of predictions= of action=test on the same data, which has the labels. LABELS lists the classes, one a
line. Each OUTPUT is a file of action=write with the probabilities of a model, a line for each sample.
"""
import argparse
import csv
import sys


def read_output(path):
    with open(path, encoding="utf-8") as lines:
        return [[float(value) for value in line.split()] for line in lines if line.strip()]


def errors(outputs, labels):
    return sum(values.index(max(values)) != label for values, label in zip(outputs, labels)) / len(labels)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--labels", required=True)
    parser.add_argument("--classes", required=True)
    parser.add_argument("output", nargs="+")
    arguments = parser.parse_args()
    with open(arguments.classes, encoding="utf-8") as lines:
        classes = lines.read().split()
    with open(arguments.labels, encoding="utf-8", newline="") as file:
        labels = [classes.index(row["label"]) for row in csv.DictReader(file)]
    outputs = [read_output(path) for path in arguments.output]
    for path, output in zip(arguments.output, outputs):
        if len(output) != len(labels):
            sys.exit("%s has %d samples, %s has %d" % (path, len(output), arguments.labels, len(labels)))
        print("%s: error %.4f" % (path, errors(output, labels)))
    together = [[sum(values) / len(values) for values in zip(*sample)] for sample in zip(*outputs)]
    print("all %d models together: error %.4f" % (len(outputs), errors(together, labels)))


if __name__ == "__main__":
    main()
