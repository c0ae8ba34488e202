#!/usr/bin/env python3
"""A model built in Python and trained by the program.

    Export.py FOLDER    writes FOLDER/example.cntk; train with: cntk configFile=FOLDER/example.cntk
"""
import sys

import numpy as np

import cntk as C

if len(sys.argv) != 2:
    sys.exit(__doc__)
random = np.random.RandomState(1)
data = random.randn(500, 2)
x, t = C.input(2, name="features"), C.input(2, name="labels")
model = C.layers.Sequential([C.layers.Dense(10, C.sigmoid), C.layers.Dense(2)])(x)
model.tag = "output"
loss = C.cross_entropy_with_softmax(model, t, name="ce")
loss.tag = "criterion"
context = C.DelayedExecutionContext("example")
context.train([loss, model], C.SGDParams(minibatch_size=25, learning_rates_per_mb=0.5, max_epochs=5),
              C.reader.NumpyReader({x: data, t: np.eye(2)[(data.prod(1) > 0).astype(int)]}))
print(context.export(sys.argv[1]))
