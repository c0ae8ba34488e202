#!/usr/bin/env python3
"""Forced alignment: finds the most likely times of known sounds in each utterance (Viterbi), and writes training data.

    Align.py --scores FILE --transcripts FILE --sounds FILE --frames OLD.ctf --aligned NEW.ctf [--truth FILE]

The scores are posteriors of action=write, a line for each frame and a blank line after each utterance. They are divided by
the share of each sound in the old labels, which gives scaled likelihoods. NEW.ctf has the frames of OLD.ctf with the labels
of the new alignment. With --truth, the share of frames that are right is printed for both.
"""
import argparse
import math
import re


def read_utterances(path):
    """Returns a list of lines for each utterance."""
    with open(path, encoding="utf-8") as file:
        return [part.split("\n") for part in re.split(r"\n\s*\n", file.read().strip())]


def align(scores, sounds):
    """Returns the sound of each frame: the path of the highest score through the sounds, at least one frame each."""
    minus_infinity = -math.inf
    best = [scores[0][sounds[0]]] + [minus_infinity] * (len(sounds) - 1)
    came_from = []
    for frame in scores[1:]:
        steps, now = [], []
        for place, sound in enumerate(sounds):
            stays = best[place]
            enters = best[place - 1] if place > 0 else minus_infinity
            steps.append(place if stays >= enters else place - 1)
            now.append(max(stays, enters) + frame[sound])
        came_from.append(steps)
        best = now
    place, path = len(sounds) - 1, [len(sounds) - 1]
    for steps in reversed(came_from):
        place = steps[place]
        path.append(place)
    return [sounds[place] for place in reversed(path)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("scores", "transcripts", "sounds", "frames", "aligned"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--truth")
    arguments = parser.parse_args()
    with open(arguments.sounds, encoding="utf-8") as file:
        names = file.read().split()
    with open(arguments.transcripts, encoding="utf-8") as file:
        transcripts = [[names.index(word) for word in line.split()] for line in file]
    with open(arguments.frames, encoding="utf-8") as file:
        frames = file.read().splitlines()
    old = [int(re.search(r"\|labels (\d+):1", line).group(1)) for line in frames]
    prior = [math.log(max(old.count(i), 1) / len(old)) for i in range(len(names))]
    new = []
    for lines, sounds in zip(read_utterances(arguments.scores), transcripts):
        scores = [[math.log(max(float(value), 1e-30)) - prior[i] for i, value in enumerate(line.split())] for line in lines]
        new += align(scores, sounds)
    if len(new) != len(frames):
        raise SystemExit("%s has %d frames, %s has %d" % (arguments.scores, len(new), arguments.frames, len(frames)))
    with open(arguments.aligned, "w", encoding="utf-8") as file:
        for line, sound in zip(frames, new):
            file.write(re.sub(r"\|labels \d+:1", "|labels %d:1" % sound, line) + "\n")
    print("aligned %d frames of %d utterances" % (len(new), len(transcripts)))
    if arguments.truth:
        with open(arguments.truth, encoding="utf-8") as file:
            truth = [names.index(word) for word in file.read().split()]
        for name, labels in (("before", old), ("after", new)):
            print("frames that are right %s: %.4f" % (name, sum(a == b for a, b in zip(labels, truth)) / len(truth)))


if __name__ == "__main__":
    main()
