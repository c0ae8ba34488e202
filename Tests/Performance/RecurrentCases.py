"""Recurrent networks of TrainingBenchmark.py: their data, networks and readers.

Language models read words by LMSequenceReader (classes) or CNTKTextFormatReader (all words), the others
CNTKTextFormatReader. Parallel sequences and steps of back-propagation are those of the peer's workload.
"""
import itertools
import math
import os
import random

SIZES = {  # layers, steps of back-propagation through time
    'class': ('10000:200:200:10000', 10),
    'full': ('10000:200:200:10000', 10),
    'tagger': ('2832:50:300:127', 11),
    'speech': ('33:512:512:512:132', 20),
}

CLASS_NETWORK = """SimpleNetworkBuilder=[
    rnnType=CLASSLSTM
    recurrentLayer=2
    lookupTableOrder=1
    layerSizes={layers}
    trainingCriterion=ClassCrossEntropyWithSoftmax
    evalCriterion=ClassCrossEntropyWithSoftmax
    vocabSize=10000
    nbrClass=50
  ]"""

NETWORK = """SimpleNetworkBuilder=[
    rnnType=LSTM
    {extra}
    layerSizes={layers}
    trainingCriterion=CrossEntropyWithSoftmax
    evalCriterion=CrossEntropyWithSoftmax
  ]"""

LM_READER = """reader=[
    readerType=LMSequenceReader
    file={folder}/data.txt
    wordclass={folder}/vocab.txt
    nbruttsineachrecurrentiter={parallel}
    labelIn=[
      labelDim=10000
      beginSequence="</s>"
      endSequence="</s>"
    ]
  ]"""

TEXT_READER = """reader=[
    readerType=CNTKTextFormatReader
    file={folder}/data.txt
    randomize=none
    {truncation}
    input=[
      features=[
        alias=F
        dim={inputs}
        format={format}
      ]
      labels=[
        alias=L
        dim={outputs}
        format=sparse
      ]
    ]
  ]"""


def word_counts(vocabulary):
    """Returns word counts as in text: the n-th word occurs 1/n as often as the first."""
    return [max(1, 1000000 // (n + 1)) for n in range(vocabulary)]


def draw_words(rng, vocabulary):
    bounds = list(itertools.accumulate(word_counts(vocabulary)))
    return lambda count: rng.choices(range(vocabulary), cum_weights=bounds, k=count)


def write_vocabulary(path, vocabulary, classes):
    """Writes lines of id, count, word and class; each class has an equal share of the square roots of the counts."""
    roots = [math.sqrt(count) for count in word_counts(vocabulary)]
    done, total, group = 0, sum(roots), 0
    with open(path, 'w') as f:
        for n, count in enumerate(word_counts(vocabulary)):
            done += roots[n]
            if done / total > (group + 1) / classes and group + 1 < classes:
                group += 1
            f.write('%d\t%d\t%s\t%d\n' % (n, count, ['<unk>', '</s>'][n] if n < 2 else 'w%d' % n, group))


def write_data(folder, c):
    """Writes sequences of many pieces; those of the tagger are whole sentences."""
    rng = random.Random(1)
    steps = SIZES[c.kind][1]
    path = os.path.join(folder, 'data.txt')
    with open(path, 'w') as f:
        if c.kind == 'class':
            write_vocabulary(os.path.join(folder, 'vocab.txt'), 10000, 50)
            draw = draw_words(rng, 10000)
            for _ in range(c.samples // 100):
                f.write('</s> %s </s>\n' % ' '.join('w%d' % max(2, word) for word in draw(99)))
        elif c.kind == 'full':
            draw = draw_words(rng, 10000)
            for sequence in range(c.samples // 100):
                f.writelines('%d |F %d:1 |L %d:1\n' % (sequence, x, y) for x, y in zip(draw(100), draw(100)))
        elif c.kind == 'tagger':
            draw = draw_words(rng, 944)
            for sequence in range(c.samples // steps):
                for _ in range(steps):
                    words = ' '.join('%d:1' % (word + 944 * n) for n, word in enumerate(draw(3)))
                    f.write('%d |F %s |L %d:1\n' % (sequence, words, rng.randrange(127)))
        else:
            frames = [' '.join('%.3g' % rng.gauss(0, 1) for _ in range(33)) for _ in range(500)]
            for sequence in range(c.samples // (10 * steps)):
                f.writelines('%d |F %s |L %d:1\n' % (sequence, rng.choice(frames), rng.randrange(132))
                             for _ in range(10 * steps))


def network(c):
    layers = SIZES[c.kind][0]
    if c.kind == 'class':
        return CLASS_NETWORK.format(layers=layers)
    extra = {'full': 'lookupTableOrder=1\n    recurrentLayer=2\n    sparseinput=true',
             'tagger': 'lookupTableOrder=3\n    recurrentLayer=2\n    sparseinput=true',
             'speech': 'recurrentLayer=1:2'}[c.kind]
    return NETWORK.format(layers=layers, extra=extra)


def reader(folder, c):
    layers = SIZES[c.kind][0].split(':')
    if c.kind == 'class':
        return LM_READER.format(folder=folder, parallel=c.parallel)
    truncation = '' if c.kind == 'tagger' else 'truncated=true\n    nbruttsineachrecurrentiter=%d' % c.parallel
    return TEXT_READER.format(folder=folder, truncation=truncation, inputs=layers[0], outputs=layers[-1],
                              format='dense' if c.kind == 'speech' else 'sparse')


def minibatch_size(c):
    """Returns time steps if sequences are cut, else samples."""
    steps = SIZES[c.kind][1]
    return steps * c.parallel if c.kind == 'tagger' else steps


def peer_arguments(c):
    arguments = ['--parallel', str(c.parallel)]
    return arguments + (['--output', c.kind] if c.kind in ('class', 'full') else [])
