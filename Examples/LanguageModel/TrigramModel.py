#!/usr/bin/env python3
"""Computes the perplexity of interpolated trigram models, the baseline of a language model.

    TrigramModel.py FOLDER VOCABULARY

FOLDER holds train.txt, valid.txt and test.txt, one sentence a line between the markers </s>; VOCABULARY is the file of
writeWordAndClass. Words that it lacks count as <unk>. The models predict each word of a sentence and its end, like the
networks. Standard library only. Two models:

  linear      p = a3 f(w | u v) + a2 f(w | v) + a1 f(w) + a0 / V, with relative frequencies f of train.txt. The weights
              depend on the count of u v. EM finds the weights that make valid.txt most probable.
  Kneser-Ney  interpolated, with absolute discounts: lower orders count the contexts of a word. Three discounts an order
              (for counts 1, 2 and more), by the formula of Chen and Goodman.
"""
import argparse
import collections
import math
import pathlib
import sys

MARKER, UNKNOWN = "</s>", "<unk>"


def read_vocabulary(path):
    words = [line.split()[2] for line in open(path, encoding="utf-8") if line.strip()]
    return {word: number for number, word in enumerate(words)}


def read_text(path, vocabulary):
    """Returns sentences as word numbers, each with two markers before it and one after it."""
    end, unknown = vocabulary[MARKER], vocabulary.get(UNKNOWN)
    sentences = []
    for number, line in enumerate(open(path, encoding="utf-8"), 1):
        words = line.split()
        if len(words) < 3:
            continue
        ids = [vocabulary.get(word, unknown) for word in words[1:-1]]
        if None in ids:
            sys.exit("%s:%d: a word is not in the vocabulary, which has no %s" % (path, number, UNKNOWN))
        sentences.append([end, end, *ids, end])
    return sentences


def trigrams_of(sentences):
    for words in sentences:
        yield from zip(words, words[1:], words[2:])


def perplexity(model, sentences):
    total, count = 0.0, 0
    for u, v, w in trigrams_of(sentences):
        total -= math.log(model.probability(u, v, w))
        count += 1
    return math.exp(total / count), count


class Linear:
    BUCKETS = (0, 1, 2, 4, 8, 16, 32, 64, 256)

    def __init__(self, train, valid, vocabulary_size):
        self.size = vocabulary_size
        self.three, self.two, self.one = (collections.Counter() for _ in range(3))
        self.context2, self.context1 = collections.Counter(), collections.Counter()
        for u, v, w in trigrams_of(train):
            self.three[u, v, w] += 1
            self.two[v, w] += 1
            self.one[w] += 1
            self.context2[u, v] += 1
            self.context1[v] += 1
        self.total = sum(self.one.values())
        self.weights = [[0.25] * 4 for _ in self.BUCKETS]  # also of buckets that valid.txt lacks
        self.fit(valid)

    def bucket(self, u, v):
        seen = self.context2[u, v]
        return max(i for i, least in enumerate(self.BUCKETS) if seen >= least)

    def parts(self, u, v, w):
        one = self.one[w] / self.total
        two = self.two[v, w] / self.context1[v] if self.context1[v] else one
        three = self.three[u, v, w] / self.context2[u, v] if self.context2[u, v] else two
        return three, two, one, 1.0 / self.size

    def fit(self, valid):
        events = collections.defaultdict(list)
        for u, v, w in trigrams_of(valid):
            events[self.bucket(u, v)].append(self.parts(u, v, w))
        for bucket, rows in events.items():
            for _ in range(50):
                weights, sums = self.weights[bucket], [0.0] * 4
                for row in rows:
                    products = [a * f for a, f in zip(weights, row)]
                    total = sum(products)
                    for i, product in enumerate(products):
                        sums[i] += product / total
                self.weights[bucket] = [s / len(rows) for s in sums]

    def probability(self, u, v, w):
        return sum(a * f for a, f in zip(self.weights[self.bucket(u, v)], self.parts(u, v, w)))


class Order:
    """The counts of one order of a Kneser-Ney model, with its discounts."""

    def __init__(self, counts):
        self.counts = counts
        self.sums = collections.Counter()
        self.kinds = collections.defaultdict(lambda: [0, 0, 0])  # words seen once, twice, more often after a context
        numbers = collections.Counter()
        for ngram, count in counts.items():
            self.sums[ngram[:-1]] += count
            self.kinds[ngram[:-1]][min(count, 3) - 1] += 1
            numbers[count] += 1
        n = [numbers[i] for i in range(5)]
        common = n[1] / (n[1] + 2 * n[2]) if n[1] else 0.0
        self.discounts = [min(max(i - (i + 1) * common * n[i + 1] / n[i], 0.0), float(i)) if n[i] else 0.0
                          for i in (1, 2, 3)]

    def probability(self, context, word, lower):
        total = self.sums.get(context)
        if not total:
            return lower
        count = self.counts.get(context + (word,), 0)
        seen = count - self.discounts[min(count, 3) - 1] if count else 0.0
        kept = sum(d * k for d, k in zip(self.discounts, self.kinds[context]))
        return (seen + kept * lower) / total


class KneserNey:
    def __init__(self, train, vocabulary_size):
        self.size = vocabulary_size
        three = collections.Counter(trigrams_of(train))
        two = collections.Counter((v, w) for _, v, w in three)
        # Nothing precedes the beginning of a sentence, so there bigrams are counted instead of their contexts.
        begin = train[0][0]
        two.update({(v, w): count - 1 for (u, v, w), count in three.items() if u == begin and v == begin})
        one = collections.Counter((w,) for _, w in two)
        self.orders = [Order(one), Order(two), Order(three)]

    def probability(self, u, v, w):
        p = 1.0 / self.size
        for order, context in zip(self.orders, ((), (v,), (u, v))):
            p = order.probability(context, w, p)
        return p


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("vocabulary")
    args = parser.parse_args()
    vocabulary = read_vocabulary(args.vocabulary)
    train, valid, test = (read_text(args.folder / (part + ".txt"), vocabulary) for part in ("train", "valid", "test"))
    models = {"linear": Linear(train, valid, len(vocabulary)), "Kneser-Ney": KneserNey(train, len(vocabulary))}
    for name, model in models.items():
        figure, count = perplexity(model, test)
        print("Trigram, %s: perplexity %.2f of %d words of the test (validation %.2f)" % (
            name, figure, count, perplexity(model, valid)[0]))


if __name__ == "__main__":
    main()
