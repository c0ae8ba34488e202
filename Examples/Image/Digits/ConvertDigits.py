#!/usr/bin/env python3
"""Converts the digits of Debian's python3-sklearn (digits.csv.gz: 64 pixels and the label, a line an image).

    ConvertDigits.py FOLDER [DIGITS_CSV_GZ]

Writes train.txt (the first 1,437 images), test.txt (the last 360, from other writers) and labelsmap.txt: the label,
then the pixels row by row. Standard library only.
"""
import argparse
import glob
import gzip
import os
import sys

PLACES = ["/usr/lib/python3*/dist-packages/sklearn/datasets/data/digits.csv.gz",
          "/usr/share/doc/python3-sklearn*/digits.csv.gz"]
TRAINING_IMAGES = 1437


def find_digits():
    for pattern in PLACES:
        for path in sorted(glob.glob(pattern)):
            return path
    return None


def read_images(path):
    images = []
    with gzip.open(path, "rt") as lines:
        for number, line in enumerate(lines, 1):
            values = [int(float(value)) for value in line.split(",")]
            if len(values) != 65 or not 0 <= values[64] <= 9:
                sys.exit("%s, line %d: expected 64 pixels and a digit, found %d numbers" %
                         (path, number, len(values)))
            images.append((values[64], values[:64]))
    return images


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("digits", nargs="?", help="digits.csv.gz; default: the file of Debian's python3-sklearn")
    args = parser.parse_args()
    source = args.digits or find_digits()
    if source is None:
        sys.exit("digits.csv.gz was not found; install it with 'apt-get install python3-sklearn', or name the file")
    images = read_images(source)
    os.makedirs(args.folder, exist_ok=True)
    for name, part in (("train.txt", images[:TRAINING_IMAGES]), ("test.txt", images[TRAINING_IMAGES:])):
        with open(os.path.join(args.folder, name), "w") as out:
            for label, pixels in part:
                out.write("%d %s\n" % (label, " ".join(map(str, pixels))))
    with open(os.path.join(args.folder, "labelsmap.txt"), "w") as out:
        out.writelines("%d\n" % digit for digit in range(10))
    print("%d images for training, %d for the test" % (TRAINING_IMAGES, len(images) - TRAINING_IMAGES))


if __name__ == "__main__":
    main()
