#!/usr/bin/env python3
"""Makes the data of the Simple demo: 2-D points whose two classes meet at a curved boundary (book, figure 1.1).

The same seed gives the same files everywhere: the generator is written out below and uses no library.
Usage: GenerateData.py FOLDER [--train 10000] [--test 600] [--seed 1]
"""
import argparse
import math
import os


class Random:
    """The 48-bit linear congruential generator of drand48."""

    def __init__(self, seed):
        self.state = (seed << 16) + 0x330E

    def uniform(self, low, high):
        self.state = (self.state * 0x5DEECE66D + 0xB) & ((1 << 48) - 1)
        return low + (high - low) * self.state / (1 << 48)

    def normal(self, deviation):
        while True:
            x, y = self.uniform(-1, 1), self.uniform(-1, 1)
            square = x * x + y * y
            if 0 < square < 1:
                return deviation * x * math.sqrt(-2 * math.log(square) / square)


def boundary(x):
    """Returns the second coordinate at which the class changes."""
    return 0.45 * math.sin(3.2 * x) + 0.3 * x * x - 0.1


def points(random, count):
    for _ in range(count):
        x, y = random.uniform(-1, 1), random.uniform(-1, 1)
        # A little noise, so that no network can be perfect: about 4 % of the labels end up on the wrong side.
        label = 1 if y + random.normal(0.08) > boundary(x) else 0
        yield x, y, label


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--train", type=int, default=10000)
    parser.add_argument("--test", type=int, default=600)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()

    os.makedirs(options.folder, exist_ok=True)
    random = Random(options.seed)
    for name, count in (("SimpleDataTrain.txt", options.train), ("SimpleDataTest.txt", options.test)):
        with open(os.path.join(options.folder, name), "w") as file:
            for x, y, label in points(random, count):
                file.write(f"{x:.6f} {y:.6f} {label}\n")
    with open(os.path.join(options.folder, "SimpleMapping.txt"), "w") as file:
        file.write("0\n1\n")
    # A regular grid, for the picture of the decision boundary.
    with open(os.path.join(options.folder, "Grid.txt"), "w") as file:
        for row in range(61):
            for column in range(61):
                file.write(f"{-1 + column / 30:.6f} {-1 + row / 30:.6f}\n")


if __name__ == "__main__":
    main()
