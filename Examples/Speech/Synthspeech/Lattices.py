#!/usr/bin/env python3
"""Makes lattices of the corpus for sequence training, and counts the wrong phones on their best paths.

    Lattices.py make CORPUS FOLDER [--parts train dev test] [--others 9]
    Lattices.py score CORPUS FOLDER LIKELIHOODS [--part test] [--factor 4]

The script replaces a recogniser: each phone of the label file has some alternatives of the same length, with their states one
after another. All paths have the scores of the corpus's bigram model of phones. make writes FOLDER/PART.slf, an archive of
lattices in HTK's Standard Lattice Format, and its list FOLDER/PART.toc. score reads log likelihoods from the HTK files
LIKELIHOODS/NAME.like, and finds the best phones. Standard library only.
"""
import argparse
import array
import math
import pathlib
import random
import re
import struct
import sys

FRAME = 100000  # frame of label files, in units of 100 ns
BEGIN, END = "<s>", "</s>"


def phone_of(state):
    return state.rsplit("_", 1)[0]


def read_phones(path):
    """Returns the phones of each utterance, each a list of (state, frames)."""
    utterances = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        columns = line.split()
        if line.startswith('"'):
            phones, before = utterances.setdefault(re.sub(r"\.\w+$", "", line.strip('"').split("/")[-1]), []), ""
        elif len(columns) >= 3:
            state = columns[2]
            if phone_of(state) != phone_of(before) or state <= before:
                phones.append([])
            phones[-1].append((state, (int(columns[1]) - int(columns[0])) // FRAME))
            before = state
    return utterances


class Bigrams:
    """An ARPA file; natural logarithms."""

    def __init__(self, path):
        self.pairs, self.single, self.backoff = {}, {}, {}
        order = 0
        for line in path.read_text(encoding="utf-8").splitlines():
            columns = line.split()
            if line.startswith("\\"):
                order = int(line[1]) if line[1].isdigit() else 0
            elif order == 1 and columns:
                self.single[columns[1]] = float(columns[0]) * math.log(10)
                self.backoff[columns[1]] = float(columns[2]) * math.log(10) if len(columns) > 2 else 0
            elif order == 2 and columns:
                self.pairs[columns[1], columns[2]] = float(columns[0]) * math.log(10)

    def score(self, before, phone):
        return self.pairs.get((before, phone), self.backoff.get(before, 0) + self.single.get(phone, -10))


def spread(states, frames):
    """Distributes the states of a phone over a stretch of time."""
    ends = [frames * (i + 1) // len(states) for i in range(len(states))]
    return [(state, end - begin) for state, begin, end in zip(states, [0] + ends, ends) if end > begin]


def slf(name, phones, states, bigrams, draw, others):
    """Returns a lattice: a node for the beginning, one for each hypothesis of a phone, and one for the end."""
    nodes, arcs = ["I=0 t=0.00"], []
    before, frames = [(0, BEGIN)], 0
    for said in phones:
        length = sum(share for _, share in said)
        frames += length
        phone = phone_of(said[0][0])
        hypotheses = [(phone, said)] + [(other, spread(states[other], length)) for other in
                                        draw.sample(sorted(set(states) - {phone}), others)]
        now = []
        for word, shares in hypotheses:
            now.append((len(nodes), word))
            nodes.append("I=%d t=%.2f W=%s" % (len(nodes), frames / 100, word))
            div = ":".join("%s,%.2f" % (state, share / 100) for state, share in shares)
            for node, one in before:
                arcs.append("J=%d S=%d E=%d l=%.3f d=:%s:" % (len(arcs), node, now[-1][0], bigrams.score(one, word), div))
        before = now
    nodes.append("I=%d t=%.2f W=!NULL" % (len(nodes), frames / 100))
    for node, one in before:
        arcs.append("J=%d S=%d E=%d l=%.3f" % (len(arcs), node, len(nodes) - 1, bigrams.score(one, END)))
    return "VERSION=1.0\nUTTERANCE=%s\nN=%d L=%d\n%s\n" % (name, len(nodes), len(arcs), "\n".join(nodes + arcs))


def make(corpus, folder, parts, others):
    folder.mkdir(parents=True, exist_ok=True)
    bigrams = Bigrams(corpus / "lang/phone.2gram.arpa")
    states = {}
    for line in (corpus / "lang/model.state.map").read_text(encoding="utf-8").splitlines():
        states[line.split()[0]] = line.split()[1:]
    draw = random.Random(1)
    for part in parts:
        offset = 0
        with open(folder / (part + ".slf"), "w", encoding="utf-8", newline="\n") as archive, \
                open(folder / (part + ".toc"), "w", encoding="utf-8", newline="\n") as toc:
            for name, phones in read_phones(corpus / "mlf" / (part + ".state.mlf")).items():
                toc.write("%s=.../%s.slf[%d]\n" % (name, part, offset))
                offset += archive.write(slf(name, phones, states, bigrams, draw, others))


def read_htk(path):
    data = path.read_bytes()
    size = struct.unpack(">iihH", data[:12])[2] // 4
    values = array.array("f", data[12:])
    if sys.byteorder == "little":
        values.byteswap()
    return [values[i:i + size] for i in range(0, len(values), size)]


def best_words(lattice, likelihoods, ids, factor):
    """Returns the words on the best path; nodes must be in the order of time."""
    times, words, best = [], [], {0: (0.0, None)}
    for line in lattice:
        fields = dict(field.split("=", 1) for field in line.split())
        if "I" in fields:
            times.append(round(100 * float(fields["t"])))
            words.append(fields.get("W"))
        elif "J" in fields:
            begin, end = int(fields["S"]), int(fields["E"])
            score, frame = best[begin][0] + factor * float(fields["l"]), times[begin]
            for piece in filter(None, fields.get("d", "").split(":")):
                state, seconds = piece.split(",")
                for _ in range(round(100 * float(seconds))):
                    score += likelihoods[frame][ids[state]]
                    frame += 1
            if end not in best or score > best[end][0]:
                best[end] = (score, begin)
    path, node = [], best[len(times) - 1][1]
    while node:
        path.append(words[node])
        node = best[node][1]
    return path[::-1]


def score(corpus, folder, likelihoods, part, factor):
    """Returns the numbers of wrong phones and of all phones of a part."""
    ids = {state: i for i, state in enumerate((corpus / "lists/state.list").read_text(encoding="utf-8").split())}
    wrong = count = 0
    phones = read_phones(corpus / "mlf" / (part + ".state.mlf"))
    for text in (folder / (part + ".slf")).read_text(encoding="utf-8").split("VERSION=1.0\n")[1:]:
        lattice = text.splitlines()
        name = lattice[0].split("=", 1)[1]
        said = [phone_of(states[0][0]) for states in phones[name]]
        best = best_words(lattice[2:], read_htk(likelihoods / (name + ".like")), ids, factor)
        wrong += sum(one != other for one, other in zip(best, said))
        count += len(said)
    return wrong, count


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    maker, scorer = commands.add_parser("make"), commands.add_parser("score")
    for command in (maker, scorer):
        command.add_argument("corpus", type=pathlib.Path)
        command.add_argument("folder", type=pathlib.Path, help="folder of the lattices")
    maker.add_argument("--parts", nargs="+", default=["train", "dev", "test"])
    maker.add_argument("--others", type=int, default=9, help="number of alternatives of each phone")
    scorer.add_argument("likelihoods", type=pathlib.Path)
    scorer.add_argument("--part", default="test")
    scorer.add_argument("--factor", type=float, default=4, help="language model factor, seqGammarLMF")
    options = parser.parse_args()
    if options.command == "make":
        make(options.corpus, options.folder, options.parts, options.others)
    else:
        wrong, count = score(options.corpus, options.folder, options.likelihoods, options.part, options.factor)
        print("%d of %d phones are wrong: %.2f %%" % (wrong, count, 100 * wrong / count))


if __name__ == "__main__":
    main()
