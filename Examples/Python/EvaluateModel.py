#!/usr/bin/env python3
"""A model that the program trained: its inputs and parameters, and the output for random data.

    EvaluateModel.py MODEL
"""
import sys

import numpy as np

import cntk as C

if len(sys.argv) != 2:
    sys.exit(__doc__)
model = C.load_model(sys.argv[1])
for node in model.arguments + model.parameters:
    print(node)
roots = getattr(model, "outputs", (model,))
for root in roots:
    values = root.eval({node: np.random.rand(2, *node.shape) for node in root.arguments})
    print("%s:\n%s" % (root, values))
