#!/usr/bin/env python3
"""Classifies handwritten digits with one hidden layer; the data are numpy arrays.

    Digits.py --train FILE --test FILE [--hidden N] [--epochs N] [--picture FILE.svg]

A line of the files has a label and 64 pixels, as Examples/Image/Digits/ConvertDigits.py writes them.
"""
import argparse
import sys

try:
    import numpy as np
    import cntk as C
except ImportError as error:
    sys.exit("%s; Documentation/Python.md says what is needed" % error)

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--train", required=True)
parser.add_argument("--test", required=True)
parser.add_argument("--hidden", type=int, default=128)
parser.add_argument("--epochs", type=int, default=30)
parser.add_argument("--picture", help="an .svg or .dot file for the picture of the network")
args = parser.parse_args()


# %% The data: pixels between 0 and 1, and class numbers.
def read(path):
    rows = np.loadtxt(path)
    return rows[:, 1:] / 16, rows[:, 0].astype(int)


images, classes = read(args.train)
test_images, test_classes = read(args.test)

# %% The network. one_hot stands for rows of ten numbers, one of them 1.
C.set_seed(1)
x = C.input(64, name="pixels")
labels = C.input(10, name="labels")
z = C.layers.Sequential([C.layers.Dense(args.hidden, activation=C.relu), C.layers.Dense(10)])(x)
loss = C.cross_entropy_with_softmax(z, labels)
metric = C.classification_error(z, labels)
if args.picture:
    C.graph.plot(loss, args.picture)


# %% The training: the loop over the minibatches runs inside the engine.
class Progress:
    """Prints a line after every tenth epoch."""

    def on_minibatch(self, index, loss, metric, samples):
        pass

    def on_epoch(self, index, loss, metric, samples, seconds):
        if index % 10 == 0:
            print("epoch %2d: loss %.4f, %.2f %% wrong" % (index, loss, 100 * metric))


learner = C.momentum_sgd(z.parameters, lr=0.2, momentum=0.9)
trainer = C.Trainer(z, (loss, metric), learner, progress_writers=[Progress()])
source = C.reader.NumpyReader({x: images, labels: C.one_hot(classes, 10)}, randomize=True)
trainer.train(source, minibatch_size=32, epochs=args.epochs)

# %% The test, and the classes of some images.
wrong = trainer.test_minibatch({x: test_images, labels: C.one_hot(test_classes, 10)})
print("wrong test images: %.2f %%" % (100 * wrong))
found = z.eval({x: test_images}).argmax(axis=1)
print("the same, counted by numpy: %.2f %%" % (100 * (found != test_classes).mean()))
print("first test images:", found[:10].tolist(), "are", test_classes[:10].tolist())
