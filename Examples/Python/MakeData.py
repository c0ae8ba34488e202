#!/usr/bin/env python3
"""Makes data for the examples: points of three classes, and sentences with labelled cities.

    MakeData.py FOLDER

    FOLDER/points-train.txt points-test.txt          lines `|features 0.85 1.75 |labels 1 0 0`
    FOLDER/sentences-train.txt sentences-test.txt    a token a line: word and label; a blank line ends a sentence

The same files on every machine. Standard library only.
"""
import argparse
import os
import random

CENTRES = ((0.0, 1.5), (-1.5, -1.0), (1.5, -1.0))
CITIES = [["boston"], ["denver"], ["new", "york"], ["dallas"], ["san", "jose"], ["oakland"], ["las", "vegas"]]
BEGINNINGS = ["show flights", "i want to fly", "is there a flight", "list the cheapest fares"]
ENDINGS = ["", "in the morning", "on monday", "please"]


def point(source):
    kind = source.randrange(len(CENTRES))
    numbers = " ".join("%.4f" % source.gauss(centre, 0.8) for centre in CENTRES[kind])
    return "|features %s |labels %s\n" % (numbers, " ".join(str(int(kind == each)) for each in range(len(CENTRES))))


def city(source, role):
    words = source.choice(CITIES)
    return [(word, ("B-" if place == 0 else "I-") + role) for place, word in enumerate(words)]


def sentence(source):
    """From and to come in both orders, so that the word before a city decides its label."""
    def others(text):
        return [(word, "O") for word in text.split()]

    places = [others("from") + city(source, "from"), others("to") + city(source, "to")]
    source.shuffle(places)
    tokens = others(source.choice(BEGINNINGS)) + places[0] + places[1] + others(source.choice(ENDINGS))
    return "".join("%s %s\n" % token for token in tokens) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    folder = parser.parse_args().folder
    os.makedirs(folder, exist_ok=True)
    for name, make, counts in (("points", point, (1000, 500)), ("sentences", sentence, (800, 200))):
        source = random.Random(1)
        for part, count in zip(("train", "test"), counts):
            with open(os.path.join(folder, "%s-%s.txt" % (name, part)), "w", encoding="utf-8") as file:
                file.write("".join(make(source) for _ in range(count)))


if __name__ == "__main__":
    main()
