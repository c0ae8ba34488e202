#!/usr/bin/env python3
"""Makes the data of the recipes: points of three classes, utterances of three sounds, sentences and n-best lists.

    MakeData.py FOLDER
"""
import argparse
import pathlib
import random

SOUNDS = "abc"
WORDS = ["<s>", "the", "a", "cat", "dog", "bird", "sees", "hears", "likes", "</s>"]


def point(draw, index, noise):
    return [index + draw.gauss(0, noise), (index == 1) + draw.gauss(0, noise)]


def write_points(folder, draw):
    for name, count in (("points.train.txt", 600), ("points.test.txt", 300)):
        lines = []
        for _ in range(count):
            index = draw.randrange(3)
            lines.append("%.3f %.3f %s" % (*point(draw, index, 0.45), SOUNDS[index]))
        (folder / name).write_text("\n".join(lines) + "\n")
    (folder / "sounds.txt").write_text("\n".join(SOUNDS) + "\n")


def write_utterances(folder, draw, utterances=80):
    """Each utterance is a row of sounds of unequal length. The training has only a flat alignment: equal parts."""
    flat, transcripts, truth = [], [], []
    for number in range(utterances):
        sounds, frames = [draw.randrange(3)], []
        while len(sounds) < draw.randint(3, 6):
            sounds.append(draw.choice([i for i in range(3) if i != sounds[-1]]))
        for index in sounds:
            frames += [index] * draw.randint(2, 12)
        for time, index in enumerate(frames):
            guess = sounds[time * len(sounds) // len(frames)]
            flat.append("%d |features %.3f %.3f |labels %d:1" % (number, *point(draw, index, 0.35), guess))
        transcripts.append(" ".join(SOUNDS[i] for i in sounds))
        truth.append(" ".join(SOUNDS[i] for i in frames))
    (folder / "frames.flat.ctf").write_text("\n".join(flat) + "\n")
    (folder / "transcripts.txt").write_text("\n".join(transcripts) + "\n")
    (folder / "truth.txt").write_text("\n".join(truth) + "\n")


def sentence(draw):
    words = []
    for part in (("the", "a"), ("cat", "dog", "bird"), ("sees", "hears", "likes"), ("the", "a"), ("cat", "dog", "bird")):
        words.append(draw.choice(part))
    return words


def write_sentences(folder, draw):
    (folder / "words.txt").write_text("\n".join(WORDS) + "\n")
    (folder / "sentences.txt").write_text("\n".join(" ".join(sentence(draw)) for _ in range(300)) + "\n")
    # Hypotheses with the scores of a recogniser: wrong ones are often a little better.
    lines = []
    for number in range(40):
        right = sentence(draw)
        lines.append("%d %.2f %s" % (number, -100, " ".join(right)))
        for _ in range(4):
            wrong = list(right)
            wrong[draw.randrange(5)] = draw.choice(WORDS[1:-1])
            if wrong != right:
                lines.append("%d %.2f %s" % (number, -100 + draw.gauss(0, 1.5), " ".join(wrong)))
    (folder / "nbest.txt").write_text("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    draw = random.Random(1)
    write_points(folder, draw)
    write_utterances(folder, draw)
    write_sentences(folder, draw)
    print("wrote points, utterances, sentences and n-best lists into %s" % folder)


if __name__ == "__main__":
    main()
