#!/usr/bin/env python3
"""Evaluates a model that the program has trained.

    EvaluateModel.py MODEL SAMPLES [--node NAME]

A line of SAMPLES has the numbers of a sample. The script prints the values of the output node, or of another one, a
sample a line, as the program's action=write does.
"""
import argparse
import sys

try:
    import numpy as np
    import cntk as C
except ImportError as error:
    sys.exit("%s; Documentation/Python.md says what is needed" % error)

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("model")
parser.add_argument("samples")
parser.add_argument("--node", help="the name of a node; default: the output of the model")
args = parser.parse_args()

# %% A matrix [50 x 2] of the program has the shape (2, 50) here.
model = C.load_model(args.model)
print("inputs:    ", [(each.name, each.shape) for each in model.arguments], file=sys.stderr)
print("parameters:", [(each.name, each.shape) for each in model.parameters], file=sys.stderr)

# %% Any node of the model can be computed, with the inputs below it alone.
node = model if args.node is None else model.find_by_name(args.node)
if node is None:
    sys.exit("the model '%s' has no node '%s'" % (args.model, args.node))
outputs = getattr(node, "outputs", None) or (node,)

# %% Labels are not needed for the outputs.
for output in outputs:
    values = output.eval(np.loadtxt(args.samples, ndmin=2))
    print("%s: %d samples of shape %s" % (output.name, len(values), output.shape), file=sys.stderr)
    np.savetxt(sys.stdout, values.reshape(len(values), -1), fmt="%.6g")
