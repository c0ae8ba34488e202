#!/usr/bin/env python3
"""Compares recognised slots with the reference: precision, recall and F1 of whole slots.

    ScoreSlots.py REFERENCE RECOGNISED [--slots]

REFERENCE is a column file of LUSequenceReader (a token a line, its label in the last column, blank lines between sentences)
or a file with one line of labels a sentence. RECOGNISED has one line of labels a sentence, the output of LUSequenceWriter.
--slots lists the scores of every kind of slot. Standard library only.

A slot is a run of tokens of one kind that begins with B-, or with an I- that continues nothing. It is right when a
recognised slot has the same kind, the same first and the same last token.
"""
import argparse
import collections
import sys


class DataError(Exception):
    pass


def read_column_file(path):
    sentences, labels = [], []
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            columns = line.split()
            if columns:
                labels.append(columns[-1])
            elif labels:
                sentences.append(labels)
                labels = []
    return sentences + [labels] if labels else sentences


def read_lines(path):
    with open(path, encoding="utf-8") as lines:
        return [line.split() for line in lines if line.strip()]


def read_labels(path):
    """Reads a column file, which has blank lines between its sentences, or a file with one sentence a line."""
    with open(path, encoding="utf-8") as lines:
        is_column_file = any(not line.strip() for line in lines)
    return read_column_file(path) if is_column_file else read_lines(path)


def slots_of(labels):
    """Returns the set of (kind, first token, last token)."""
    slots, kind, first = set(), None, 0
    for position, label in enumerate(list(labels) + ["O"]):
        prefix, _, name = label.partition("-")
        if kind is not None and not (prefix == "I" and name == kind):
            slots.add((kind, first, position - 1))
            kind = None
        if kind is None and prefix in ("B", "I"):
            kind, first = name, position
    return slots


class Score:
    def __init__(self):
        self.right = self.recognised = self.wanted = 0

    def add(self, recognised, wanted):
        self.right += len(recognised & wanted)
        self.recognised += len(recognised)
        self.wanted += len(wanted)

    @property
    def precision(self):
        return self.right / self.recognised if self.recognised else 0.0

    @property
    def recall(self):
        return self.right / self.wanted if self.wanted else 0.0

    @property
    def f1(self):
        return 2.0 * self.right / (self.recognised + self.wanted) if self.recognised + self.wanted else 0.0

    def __str__(self):
        return "F1 %.2f %% (precision %.2f %%, recall %.2f %%)" % (100 * self.f1, 100 * self.precision, 100 * self.recall)


def score(reference, recognised):
    """Returns the score of all slots, the scores of each kind, and the share of right labels."""
    if len(reference) != len(recognised):
        raise DataError("%d sentences were recognised, the reference has %d" % (len(recognised), len(reference)))
    total, kinds, right, tokens = Score(), collections.defaultdict(Score), 0, 0
    for number, (wanted, found) in enumerate(zip(reference, recognised), 1):
        if len(wanted) != len(found):
            raise DataError("sentence %d: %d labels were recognised, the reference has %d" % (
                number, len(found), len(wanted)))
        right += sum(a == b for a, b in zip(wanted, found))
        tokens += len(wanted)
        wanted, found = slots_of(wanted), slots_of(found)
        total.add(found, wanted)
        for kind in {slot[0] for slot in wanted | found}:
            kinds[kind].add({s for s in found if s[0] == kind}, {s for s in wanted if s[0] == kind})
    return total, kinds, right / max(tokens, 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("reference")
    parser.add_argument("recognised")
    parser.add_argument("--slots", action="store_true", help="also list the score of every kind of slot")
    args = parser.parse_args()
    try:
        total, kinds, accuracy = score(read_labels(args.reference), read_lines(args.recognised))
    except DataError as error:
        sys.exit("%s: %s" % (args.recognised, error))
    if args.slots:
        for kind in sorted(kinds, key=lambda k: (-kinds[k].wanted, k)):
            print("%-32s %5d slots  %s" % (kind, kinds[kind].wanted, kinds[kind]))
    print("Slots: %s; %d slots; %.2f %% of the labels right" % (total, total.wanted, 100 * accuracy))


if __name__ == "__main__":
    main()
