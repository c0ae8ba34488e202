#!/usr/bin/env python3
"""Rescores n-best lists by a language model: sentences as data for the model, and its scores back into the lists.

    Rescore.py data --words FILE --sentences FILE --to FILE.ctf     each word with the next one, for training
    Rescore.py data --words FILE --nbest FILE --to FILE.ctf         the same for the hypotheses of n-best lists
    Rescore.py best --words FILE --nbest FILE --scores FILE [--weight W]

An n-best list has lines "utterance score words...", the best hypothesis of each utterance is printed by `best`: that of the
highest score + weight * log probability of the words. The scores are the outputs of the model before the softmax, as
action=write writes them: a line for each word and a blank line after each sentence.
"""
import argparse
import math
import re


def read_nbest(path):
    with open(path, encoding="utf-8") as file:
        lines = [line.split() for line in file if line.strip()]
    return [(line[0], float(line[1]), line[2:]) for line in lines]


def write_data(arguments, index):
    if arguments.nbest:
        sentences = [words for _, _, words in read_nbest(arguments.nbest)]
    else:
        with open(arguments.sentences, encoding="utf-8") as file:
            sentences = [line.split() for line in file]
    with open(arguments.to, "w", encoding="utf-8") as file:
        for number, words in enumerate(sentences):
            for word, following in zip(["<s>", *words], [*words, "</s>"]):
                file.write("%d |features %d:1 |labels %d:1\n" % (number, index[word], index[following]))
    print("wrote %d sentences to %s" % (len(sentences), arguments.to))


def find_best(arguments, index):
    hypotheses = read_nbest(arguments.nbest)
    with open(arguments.scores, encoding="utf-8") as file:
        sentences = [part.split("\n") for part in re.split(r"\n\s*\n", file.read().strip())]
    if len(sentences) != len(hypotheses):
        raise SystemExit("%s has %d sentences, %s has %d" % (arguments.scores, len(sentences), arguments.nbest, len(hypotheses)))
    best = {}
    for (utterance, score, words), lines in zip(hypotheses, sentences):
        for line, word in zip(lines, [*words, "</s>"]):
            outputs = [float(value) for value in line.split()]
            highest = max(outputs)
            total = highest + math.log(sum(math.exp(value - highest) for value in outputs))
            score += arguments.weight * (outputs[index[word]] - total)
        if utterance not in best or score > best[utterance][0]:
            best[utterance] = (score, words)
    for utterance, (score, words) in best.items():
        print("%s %.3f %s" % (utterance, score, " ".join(words)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=["data", "best"])
    parser.add_argument("--words", required=True, help="the vocabulary, one word a line")
    for name in ("sentences", "nbest", "to", "scores"):
        parser.add_argument("--" + name)
    parser.add_argument("--weight", type=float, default=1.0, help="of the language model; 0: the list's own scores")
    arguments = parser.parse_args()
    with open(arguments.words, encoding="utf-8") as file:
        index = {word: number for number, word in enumerate(file.read().split())}
    (write_data if arguments.step == "data" else find_best)(arguments, index)


if __name__ == "__main__":
    main()
