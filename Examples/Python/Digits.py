#!/usr/bin/env python3
"""Handwritten digits: a hidden layer, trained from numpy arrays.

    Digits.py FOLDER    FOLDER has train.txt and test.txt: a label and 64 numbers from 0 to 16 a line
"""
import os
import sys

import numpy as np

import cntk as C


def load(name):
    """Pixels from 0 to 1, and labels."""
    rows = np.loadtxt(os.path.join(sys.argv[1], name))
    return rows[:, 1:] / 16, rows[:, 0].astype(int)


if len(sys.argv) != 2:
    sys.exit(__doc__)
pixels, labels = load("train.txt")
x, t = C.input(64), C.input(10, is_sparse=True)
model = C.layers.Sequential([C.layers.Dense(100, C.relu), C.layers.Dense(10)])(x)
loss = C.cross_entropy_with_softmax(model, t)
errors = C.classification_error(model, t)
trainer = C.Trainer(model, (loss, errors), C.momentum_sgd(model.parameters, lr=0.5, momentum=0.9),
                    progress_writers=C.logging.ProgressPrinter())
trainer.train(C.reader.NumpyReader({x: pixels, t: C.one_hot(labels, 10)}, randomize=True), minibatch_size=32, epochs=10)
pixels, labels = load("test.txt")
print("errors on the test set: %.2f %%" % (100 * trainer.test_minibatch({x: pixels, t: C.one_hot(labels, 10)})))
