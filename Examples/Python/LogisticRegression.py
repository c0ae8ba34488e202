#!/usr/bin/env python3
"""A classifier of three classes: made data, the program's training, a test."""
import logging

import numpy as np

import cntk as C

logging.basicConfig(level=logging.INFO, format="%(message)s")
random = np.random.RandomState(1)
labels = random.randint(0, 3, 1500)
points = random.randn(1500, 2) + np.array([[0, 2], [2, -1], [-2, -1]])[labels]

x = C.input(2, name="features")
t = C.input(3, name="labels")
z = x @ C.parameter((2, 3), init=0, name="W") + C.parameter(3, init=0, name="b")
z.tag = "output"
loss = C.cross_entropy_with_softmax(z, t, name="ce")
loss.tag = "criterion"
errors = C.classification_error(z, t, name="errors")
errors.tag = "eval"


def reader(part):
    """Minibatches of a part of the data."""
    return C.reader.NumpyReader({x: points[part], t: np.eye(3)[labels[part]]})


with C.LocalExecutionContext("logistic") as context:
    context.train([loss, errors, z], C.SGDParams(minibatch_size=25, learning_rates_per_mb=0.1, max_epochs=3),
                  reader(slice(0, 1000)))
    print(context.test([loss, errors], reader(slice(1000, None))))
