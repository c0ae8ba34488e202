#!/usr/bin/env python3
"""Makes the files that Atis.cntk reads from a column file of the training sentences and one of the test sentences.

    ConvertAtis.py --train FILE --test FILE [--words FILE --wordmap FILE --labels FILE] TARGET

Lists of words and labels and the word map that are not given are made from the training sentences. Words that occur once are
mapped to <unk>, so that the training contains unknown words. Labels that only the test has are in the list, too; they count
as slots that are not found. One of ten training sentences is for validation.
Standard library only.

    TARGET/train.txt dev.txt test.txt    sentences: a token a line, word and label; a blank line between sentences
    TARGET/words.txt labels.txt          the lists, a word a line
    TARGET/wordmap.txt                   lines "from to"
"""
import argparse
import collections
import pathlib
import sys

UNKNOWN = "<unk>"


def read_sentences(path):
    sentences, tokens = [], []
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            columns = line.split()
            if columns:
                tokens.append((columns[0], columns[-1]))
            elif tokens:
                sentences.append(tokens)
                tokens = []
    return sentences + [tokens] if tokens else sentences


def write_sentences(path, sentences):
    path.write_text("".join("".join("%s %s\n" % token for token in tokens) + "\n" for tokens in sentences),
                    encoding="utf-8")


def read_list(path):
    return [line.strip() for line in open(path, encoding="utf-8") if line.strip()]


def write_list(path, words):
    path.write_text("".join(word + "\n" for word in words), encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--train", required=True)
    parser.add_argument("--test", required=True)
    parser.add_argument("--words")
    parser.add_argument("--wordmap")
    parser.add_argument("--labels")
    parser.add_argument("target", type=pathlib.Path)
    args = parser.parse_args()
    train, test = read_sentences(args.train), read_sentences(args.test)
    counts = collections.Counter(word for tokens in train for word, _ in tokens)

    labels = read_list(args.labels) if args.labels else sorted({label for tokens in train + test for _, label in tokens})
    words = read_list(args.words) if args.words else sorted(counts) + [UNKNOWN]
    if args.wordmap:
        word_map = [line.split() for line in read_list(args.wordmap)]
    else:
        word_map = [(word, word if counts[word] > 1 else UNKNOWN) for word in sorted(counts)]

    # A label that a given list lacks cannot be learned, so its tokens are outside of all slots.
    known = set(labels)
    lost = collections.Counter(label for tokens in train for _, label in tokens if label not in known)
    if lost:
        print("Not in the list of labels, taken for O in training: " +
              ", ".join("%s (%d)" % entry for entry in sorted(lost.items())))
    unseen = sorted({label for tokens in test for _, label in tokens} - {label for tokens in train for _, label in tokens})
    if unseen and not args.labels:
        print("Only in the test: " + ", ".join(unseen))
    train = [[(word, label if label in known else "O") for word, label in tokens] for tokens in train]
    missing = sorted({label for tokens in test for _, label in tokens} - known)
    if missing:
        sys.exit("The test has labels that are not in the list: " + " ".join(missing))

    args.target.mkdir(parents=True, exist_ok=True)
    write_sentences(args.target / "train.txt", [s for i, s in enumerate(train) if i % 10 != 9])
    write_sentences(args.target / "dev.txt", train[9::10])
    write_sentences(args.target / "test.txt", test)
    write_list(args.target / "words.txt", words)
    write_list(args.target / "labels.txt", labels)
    write_list(args.target / "wordmap.txt", ["%s %s" % tuple(entry) for entry in word_map])
    print("%d words, %d labels; %d sentences to train, %d to validate, %d to test" % (
        len(words), len(labels), len(train) - len(train[9::10]), len(train[9::10]), len(test)))


if __name__ == "__main__":
    main()
