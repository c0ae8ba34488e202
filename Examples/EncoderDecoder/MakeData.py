#!/usr/bin/env python3
"""Makes sentences of random words for an encoder, and the same words backwards for a decoder, in CNTKTextFormat.

    MakeData.py FOLDER    writes train.enc.ctf, train.dec.ctf, test.enc.ctf, test.dec.ctf and the names of the words
"""
import pathlib
import random
import sys

WORDS = ["one", "two", "three", "four", "five", "six", "seven", "eight"]
END = len(WORDS)  # begins and ends a sentence of the decoder
LONGEST = 6


def make(folder, name, count, seed):
    draw = random.Random(seed)
    with open(folder / (name + ".enc.ctf"), "w", encoding="ascii") as encoder, \
            open(folder / (name + ".dec.ctf"), "w", encoding="ascii") as decoder:
        for number in range(count):
            words = [draw.randrange(len(WORDS)) for _ in range(draw.randint(1, LONGEST))]
            encoder.writelines("%d |words %d:1\n" % (number, word) for word in words)
            said = words[::-1] + [END]
            decoder.writelines("%d |before %d:1 |labels %d:1\n" % (number, before, word)
                               for before, word in zip([END] + said, said))


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: MakeData.py FOLDER")
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    make(folder, "train", 6000, 1)
    make(folder, "test", 500, 2)
    (folder / "words.txt").write_text("\n".join(WORDS + ["</s>"]) + "\n", encoding="ascii")


if __name__ == "__main__":
    main()
