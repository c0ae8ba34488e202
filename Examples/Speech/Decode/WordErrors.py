#!/usr/bin/env python3
"""Counts the word errors of recognition results: substitutions, deletions and insertions.

    WordErrors.py reference.mlf result.mlf [result.mlf ...]

Files are HTK MLFs with one word a line, in the third column or alone. Utterances match by the last part of their names without
extension. Utterances of the reference without a result count as deleted words. <s>, </s> and the silences sil, sp, pau and h# are
no words. Standard library only.
"""
import argparse
import pathlib
import re

NO_WORDS = {"<s>", "</s>", "sil", "sp", "pau", "h#", "!NULL"}


def read_words(path):
    """Returns the words of each utterance of an MLF."""
    utterances, words = {}, None
    for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        columns = line.split()
        if line.startswith('"'):
            name = re.sub(r"\.\w+$", "", line.strip().strip('"').split("/")[-1])
            words = utterances.setdefault(name, [])
        elif line.strip() == ".":
            words = None
        elif words is not None and columns:
            is_timed = len(columns) > 2 and columns[0].isdigit() and columns[1].isdigit()
            word = columns[2] if is_timed else columns[0]
            if word not in NO_WORDS:
                words.append(word)
    return utterances


def align(said, heard):
    """Returns the fewest substitutions, deletions and insertions that turn `said` into `heard`."""
    row = [(i, 0, 0, i) for i in range(len(heard) + 1)]  # total, substitutions, deletions, insertions
    for word in said:
        before, row = row, [(row[0][0] + 1, row[0][1], row[0][2] + 1, row[0][3])]
        for j, other in enumerate(heard):
            total, substituted, deleted, inserted = before[j]
            best = (total, substituted, deleted, inserted) if word == other else (
                total + 1, substituted + 1, deleted, inserted)
            total, substituted, deleted, inserted = before[j + 1]
            best = min(best, (total + 1, substituted, deleted + 1, inserted))
            total, substituted, deleted, inserted = row[j]
            row.append(min(best, (total + 1, substituted, deleted, inserted + 1)))
    return row[-1][1:]


def count_errors(reference, result):
    """Returns substitutions, deletions, insertions, and the number of words of the reference."""
    parts = [align(words, result.get(name, [])) for name, words in reference.items()]
    return tuple(map(sum, zip(*parts))) + (sum(map(len, reference.values())),)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("reference")
    parser.add_argument("result", nargs="+")
    args = parser.parse_args()
    reference = read_words(args.reference)
    for path in args.result:
        substituted, deleted, inserted, count = count_errors(reference, read_words(path))
        errors = substituted + deleted + inserted
        print("%s: %d errors in %d words (%.2f %%): %d substituted, %d deleted, %d inserted" % (
            path, errors, count, 100 * errors / max(count, 1), substituted, deleted, inserted))


if __name__ == "__main__":
    main()
