#!/usr/bin/env python3
"""Converts the files of MNIST, or of any data set in their format (idx), to text for UCIFastReader.

    ConvertMnist.py FOLDER_OF_THE_IDX_FILES [FOLDER]

Reads train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte, compressed
(.gz) or not, and writes train.txt, test.txt and labelsmap.txt into FOLDER (default: data): the label, then the pixels
(0..255) row by row. Standard library only.
"""
import argparse
import gzip
import os
import struct
import sys

PARTS = {"train": "train", "test": "t10k"}


def read_idx(folder, name, dimensions):
    """The sizes and the bytes of an idx file of unsigned bytes."""
    for path in (os.path.join(folder, name), os.path.join(folder, name + ".gz"),
                 os.path.join(folder, name.replace("-idx", ".idx"))):
        if os.path.exists(path):
            break
    else:
        sys.exit("%s: neither %s nor %s.gz exists" % (folder, name, name))
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as file:
        data = file.read()
    if len(data) < 4 + 4 * dimensions or data[:4] != bytes([0, 0, 8, dimensions]):
        sys.exit("%s: expected an idx file of unsigned bytes with %d dimensions" % (path, dimensions))
    sizes = struct.unpack(">%dI" % dimensions, data[4:4 + 4 * dimensions])
    count = 1
    for size in sizes:
        count *= size
    values = data[4 + 4 * dimensions:]
    if len(values) != count:
        sys.exit("%s: expected %s values, found %d" % (path, " x ".join(map(str, sizes)), len(values)))
    return sizes, values


def convert(source, target, part, stem):
    sizes, pixels = read_idx(source, stem + "-images-idx3-ubyte", 3)
    (count,), labels = read_idx(source, stem + "-labels-idx1-ubyte", 1)
    if count != sizes[0]:
        sys.exit("%s: %d images, but %d labels" % (stem, sizes[0], count))
    length = sizes[1] * sizes[2]
    text = [str(value) for value in range(256)]
    with open(os.path.join(target, part + ".txt"), "w") as out:
        for i in range(count):
            image = pixels[i * length:(i + 1) * length]
            out.write("%d %s\n" % (labels[i], " ".join([text[value] for value in image])))
    print("%s.txt: %d images of %d x %d" % (part, count, sizes[2], sizes[1]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", help="folder of the idx files")
    parser.add_argument("folder", nargs="?", default="data")
    args = parser.parse_args()
    os.makedirs(args.folder, exist_ok=True)
    for part, stem in PARTS.items():
        convert(args.source, args.folder, part, stem)
    with open(os.path.join(args.folder, "labelsmap.txt"), "w") as out:
        out.writelines("%d\n" % digit for digit in range(10))


if __name__ == "__main__":
    main()
