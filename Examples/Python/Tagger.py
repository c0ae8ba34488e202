#!/usr/bin/env python3
"""Labels the words of sentences with a recurrent network that is written out step by step.

    Tagger.py --train FILE --test FILE [--epochs N] [--hidden N]

The files are column files: a token a line, its word first and its label last; a blank line ends a sentence.
"""
import argparse
import sys

try:
    import numpy as np
    import cntk as C
except ImportError as error:
    sys.exit("%s; Documentation/Python.md says what is needed" % error)

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--train", required=True)
parser.add_argument("--test", required=True)
parser.add_argument("--epochs", type=int, default=3)
parser.add_argument("--hidden", type=int, default=64)
args = parser.parse_args()


# %% The data: sentences of different lengths, without padding.
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


train, test = read_sentences(args.train), read_sentences(args.test)
words = {word: number for number, word in enumerate(sorted({"<unk>"} | {w for tokens in train for w, _ in tokens}))}
tags = {tag: number for number, tag in enumerate(sorted({t for tokens in train + test for _, t in tokens}))}


def word_ids(sentences):
    return C.one_hot([[words.get(word, words["<unk>"]) for word, _ in tokens] for tokens in sentences], len(words))


def tag_ids(sentences):
    return C.one_hot([[tags[tag] for _, tag in tokens] for tokens in sentences], len(tags))


print("%d sentences, %d words, %d labels" % (len(train), len(words), len(tags)))

# %% The network. Both inputs have the default axis: their sequences have the same lengths.
C.set_seed(1)
n = args.hidden
x = C.input(len(words), name="words", is_sparse=True)
y = C.input(len(tags), name="tags")
uniform = C.initializer.glorot_uniform()
E = C.parameter((len(words), n), init=uniform, name="E")
embedded = x @ E


def recurrence(name, delay):
    """h = tanh(e W + delayed h H + b): the delay refers to the node by its name, which closes the loop."""
    W, H, b = C.parameter((n, n), init=uniform), C.parameter((n, n), init=uniform), C.parameter(n, init=0)
    return C.tanh(embedded @ W + delay(name, 0) @ H + b, name=name)


forwards = recurrence("forwards", C.past_value)  # what came before a word
backwards = recurrence("backwards", C.future_value)  # what comes after it
O = C.parameter((2 * n, len(tags)), init=uniform)
z = C.splice(forwards, backwards) @ O + C.parameter(len(tags), init=0)
loss = C.cross_entropy_with_softmax(z, y)
metric = C.classification_error(z, y)

# %% The training: a minibatch has some 200 words, in whole sentences.
trainer = C.Trainer(z, (loss, metric), C.adam(z.parameters, lr=0.003))
source = C.reader.NumpyReader({x: word_ids(train), y: tag_ids(train)}, randomize=True)
for epoch in range(args.epochs):
    trainer.train(source, minibatch_size=200)
    wrong = trainer.test_minibatch({x: word_ids(test), y: tag_ids(test)})
    print("epoch %d: %.2f %% of the test labels wrong" % (epoch + 1, 100 * wrong))

# %% One sentence: the value is a list of arrays, one row a word.
value = z.eval({x: word_ids(test[:1])})[0]
names = list(tags)
for (word, tag), number in zip(test[0], np.argmax(value, axis=1)):
    print(("%-16s %-28s %s" % (word, names[number], "" if names[number] == tag else "expected " + tag)).rstrip())
