#!/usr/bin/env python3
"""Makes train.txt, valid.txt and test.txt for the language models: one sentence a line, between the markers </s>.

    MakeText.py TARGET --bible [FILE]                 verses of the King James Bible
    MakeText.py TARGET --train FILE --test FILE       texts that are already split into words, such as the Penn Treebank's

FILE of --bible has one verse a line after its reference, the output of the program "bible -f" of Debian's packages bible-kjv
and bible-kjv-text. Without FILE the script runs that program. Words are in small letters; punctuation marks and the ending 's
are separate words. Of each 20 chapters, the 10th is for validation and the 20th for the test. In other texts each 10th
sentence of the training file is for validation. Standard library only.
"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys

MARKER = "</s>"
VERSE = re.compile(r"^([0-9]?[A-Za-z]+[0-9]+):[0-9]+ (.*)$")
WORD = re.compile(r"'s\b|[a-z]+(?:-[a-z]+)*|[^a-z\s]")


def bible_lines(path):
    if path:
        return open(path, encoding="utf-8").read().splitlines()
    if not shutil.which("bible"):
        sys.exit("the program 'bible' is missing; install it with 'apt-get install bible-kjv bible-kjv-text'")
    return subprocess.run(["bible", "-f", "gen1:1-rev22:21"], check=True, stdout=subprocess.PIPE, encoding="utf-8",
                          stdin=subprocess.DEVNULL).stdout.splitlines()


def words_of_verse(text):
    return WORD.findall(text.lower())


def split_bible(path):
    parts = {"train": [], "valid": [], "test": []}
    chapter, chapters = None, 0
    for number, line in enumerate(bible_lines(path), 1):
        found = VERSE.match(line)
        if not found:
            sys.exit("verse %d: expected a reference and a text, as in 'Ge1:1 In the beginning', found '%s'" % (
                number, line))
        if found.group(1) != chapter:
            chapter, chapters = found.group(1), chapters + 1
        part = {10: "valid", 0: "test"}.get(chapters % 20, "train")
        parts[part].append(words_of_verse(found.group(2)))
    return parts


def read_words(path):
    with open(path, encoding="utf-8") as lines:
        return [[word for word in line.split() if word != MARKER] for line in lines]


def split_words(train, test):
    sentences = read_words(train)
    return {"train": [s for i, s in enumerate(sentences) if i % 10 != 9], "valid": sentences[9::10],
            "test": read_words(test)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("target", type=pathlib.Path)
    parser.add_argument("--bible", nargs="?", const="", metavar="FILE")
    parser.add_argument("--train", metavar="FILE")
    parser.add_argument("--test", metavar="FILE")
    args = parser.parse_args()
    if args.bible is None and not (args.train and args.test):
        parser.error("either --bible, or both --train and --test")
    parts = split_bible(args.bible) if args.bible is not None else split_words(args.train, args.test)
    args.target.mkdir(parents=True, exist_ok=True)
    for part, sentences in parts.items():
        lines = [" ".join([MARKER, *words, MARKER]) + "\n" for words in sentences if words]
        (args.target / (part + ".txt")).write_text("".join(lines), encoding="utf-8")
        print("%-5s %6d sentences, %7d words" % (part, len(lines), sum(len(words) + 1 for words in sentences if words)))


if __name__ == "__main__":
    main()
