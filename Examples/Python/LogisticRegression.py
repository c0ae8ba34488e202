#!/usr/bin/env python3
"""Logistic regression of three classes of points in the plane, with the program's whole training.

    LogisticRegression.py --train FILE --test FILE [--epochs N]

The files are in the text format of CNTKTextFormatReader: lines `|features 0.85 1.75 |labels 1 0 0`.
"""
import argparse
import sys

try:
    import cntk as C
except ImportError as error:
    sys.exit("%s; Documentation/Python.md says what is needed" % error)

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--train", required=True)
parser.add_argument("--test", required=True)
parser.add_argument("--epochs", type=int, default=3)
args = parser.parse_args()

# %% The network: writing it computes nothing.
x = C.input(2, name="features")
labels = C.input(3, name="labels")
W = C.parameter((2, 3), init=0, name="W")
b = C.parameter(3, init=0, name="b")
z = x @ W + b
print("the model:", z)

# %% Tags tell the training which nodes to take.
criterion = C.cross_entropy_with_softmax(z, labels, name="cross_entropy")
criterion.tag = "criterion"
evaluation = C.squared_error(z, labels, name="squared_error")
evaluation.tag = "eval"


# %% A reader is apart from the network; map says which of its streams feeds which input.
def reader(path):
    return C.reader.CNTKTextFormatReader(path, randomize=False).map(x).map(labels)


# %% Options of the SGD block have their own names or Python's.
options = C.SGDParams(minibatch_size=25, learning_rates_per_mb=0.1, max_epochs=args.epochs)
with C.LocalExecutionContext("logistic_regression") as context:
    context.train([criterion, evaluation], options, reader(args.train))
    for name, value in context.test([criterion, evaluation], reader(args.test)).items():
        print("%s: %.8g" % (name, value))
print("W:", W.value, "b:", b.value, sep="\n")
