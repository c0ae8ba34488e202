#!/usr/bin/env python3
"""A tagger: words of different sentences get a tag each; the recurrence is written by hand.

The made language has a rule that needs memory: the tag of a word says whether an even number of words 0 came before.
"""
import numpy as np

import cntk as C

VOCABULARY, TAGS, CELLS = 8, 2, 16
random = np.random.RandomState(1)
sentences = [random.randint(0, VOCABULARY, random.randint(3, 12)) for _ in range(600)]
tags = [np.cumsum(words == 0) % 2 for words in sentences]

words = C.input(VOCABULARY, is_sparse=True, name="words")
labels = C.input(TAGS, is_sparse=True, name="labels")
embedding = words @ C.parameter((VOCABULARY, CELLS), init=C.initializer.glorot_uniform())
H = C.parameter((CELLS, CELLS), init=C.initializer.glorot_uniform())
state = C.tanh(embedding + C.past_value("state", 0) @ H + C.parameter(CELLS, init=0), name="state")
model = C.layers.Dense(TAGS)(state)
loss = C.cross_entropy_with_softmax(model, labels)
errors = C.classification_error(model, labels)

trainer = C.Trainer(model, (loss, errors), C.adam(model.parameters, lr=0.02))


def batch(part):
    """Sentences of a part of the data with their tags."""
    return {words: C.one_hot(sentences[part], VOCABULARY), labels: C.one_hot(tags[part], TAGS)}


for epoch in range(30):
    for first in range(0, 500, 50):
        trainer.train_minibatch(batch(slice(first, first + 50)))
    if epoch % 10 == 9:
        print("epoch %d: loss %.4f a word, %.2f %% errors on new sentences"
              % (epoch + 1, trainer.previous_minibatch_loss_average, 100 * trainer.test_minibatch(batch(slice(500, None)))))
