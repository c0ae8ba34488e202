"""Training, one minibatch at a time or a whole source at once."""
import operator
import os
import time

from . import _cntk
from .errors import UsageError, check_calls
from .learners import Learner


class Trainer:
    """Trains the parameters of its learners.

    model may be None. criterion: a loss, or (loss, metric). learners: one or a list. A loss with an axis or several
    elements is summed. progress_writers: objects with on_minibatch(index, loss, metric, samples) and
    on_epoch(index, loss, metric, samples, seconds); losses and metrics are averages per sample.
    """

    _REPORT_SECONDS = 0.1

    def __init__(self, model, criterion, learners, progress_writers=None):
        if isinstance(criterion, _cntk.Function):
            criterion = criterion.outputs
        pair = tuple(criterion) if isinstance(criterion, (tuple, list)) else (criterion, None)
        if len(pair) == 1:
            pair = (pair[0], None)
        if len(pair) != 2 or not isinstance(pair[0], _cntk.Function) or not isinstance(pair[1], (_cntk.Function, type(None))):
            raise TypeError("the criterion is %r; expected a loss, or (loss, metric)" % (criterion,))
        if not isinstance(model, (_cntk.Function, type(None))):
            raise TypeError("the model is %r; expected a node or None" % (model,))
        self.model = model
        self.loss_function, self.evaluation_function = pair
        self.learners = list(learners) if isinstance(learners, (list, tuple)) else [learners]
        for each in self.learners:
            if not isinstance(each, Learner):
                raise TypeError("the learners hold %r; expected learners such as sgd(..)" % (each,))
        writers = progress_writers if progress_writers is not None else []
        self.progress_writers = list(writers) if isinstance(writers, (list, tuple)) else [writers]
        self._core = _cntk.Trainer(self.loss_function, self.evaluation_function,
                                   [each._settings() for each in self.learners])
        for number, learner in enumerate(self.learners):
            learner._attach(self._core, number)
        self._last = None
        self._minibatches = 0
        self._sums = (0.0, 0.0, 0)  # loss, metric and samples of train_minibatch since the last epoch ended
        self._reported = 0.0
        self._epochs = 0

    def __repr__(self):
        return "Trainer(%r, %s)" % (self.loss_function, ", ".join(map(repr, self.learners)))

    # ---- one minibatch ----

    def train_minibatch(self, arguments, outputs=None):
        """Makes one step. True; with outputs (True, values of the outputs in that forward pass)."""
        nodes = [] if outputs is None else [outputs] if isinstance(outputs, _cntk.Function) else list(outputs)
        self._last, values = self._core.train_minibatch(arguments, nodes)
        self._minibatches += 1
        if self.progress_writers:
            self._sums = tuple(sum + value for sum, value in zip(self._sums, self._last))
            self._report(self._minibatches, *self._sums)
        return True if outputs is None else (True, dict(zip(nodes, values)))

    def test_minibatch(self, arguments):
        """The metric (or the loss) per sample. Nothing is updated, and dropout is off."""
        _, metric, samples = self._core.test_minibatch(arguments)
        return metric / samples if samples else 0.0

    def _report(self, index, loss, metric, samples):
        """Reports sums since the last epoch ended, at most ten times a second."""
        now = time.monotonic()
        if now - self._reported < self._REPORT_SECONDS or samples == 0:
            return
        self._reported = now
        for writer in self.progress_writers:
            writer.on_minibatch(index, loss / samples, metric / samples, samples)

    def _average(self, index):
        if self._last is None:
            raise UsageError("the trainer has not trained a minibatch yet")
        return self._last[index] / self._last[2] if self._last[2] else 0.0

    previous_minibatch_loss_average = property(lambda self: self._average(0), doc="Loss per sample of the last minibatch.")
    previous_minibatch_evaluation_average = property(lambda self: self._average(1),
                                                     doc="Metric per sample of the last minibatch.")
    previous_minibatch_sample_count = property(lambda self: self._last[2] if self._last else 0,
                                               doc="Samples of the last minibatch.")
    total_number_of_samples_seen = property(lambda self: self._core.samples_seen, doc="Samples of all steps.")

    # ---- whole epochs ----

    def train(self, source, minibatch_size=256, epochs=1):
        """Trains on a reader, or any object with minibatches(size, epoch). The loop over a reader runs inside the engine."""
        if not hasattr(source, "_open_source") and not hasattr(source, "minibatches"):
            raise TypeError("the source is %.100r; expected a reader such as reader.NumpyReader(..), or an object with "
                            "minibatches(size, epoch)" % (source,))
        if operator.index(minibatch_size) < 1 or operator.index(epochs) < 0:
            raise UsageError("train() got minibatch_size=%d and epochs=%d; expected a size of 1 or more and no negative count"
                             % (minibatch_size, epochs))
        for _ in range(epochs):
            begin = time.monotonic()
            if hasattr(source, "_open_source"):
                loss, metric, samples, _count = self._train_inside(source, minibatch_size)
            else:
                loss, metric, samples = self._train_outside(source, minibatch_size)
            self._epochs += 1
            self._sums = (0.0, 0.0, 0)
            for writer in self.progress_writers:
                writer.on_epoch(self._epochs, loss / max(samples, 1), metric / max(samples, 1), samples,
                                time.monotonic() - begin)

    def _train_inside(self, source, minibatch_size):
        inner, mapped = source._open_source(self.loss_function.dtype)
        result = self._core.train_epoch(inner, mapped, minibatch_size, self._epochs,
                                        self._report if self.progress_writers else None)
        self._last = result[:3]
        return result

    def _train_outside(self, source, minibatch_size):
        self._core.begin_epoch(self._epochs)
        loss = metric = 0.0
        samples = 0
        for arguments in source.minibatches(minibatch_size, self._epochs):
            self._last, _ = self._core.train_minibatch(arguments, [])
            self._minibatches += 1
            loss, metric, samples = loss + self._last[0], metric + self._last[1], samples + self._last[2]
            if self.progress_writers:
                self._report(self._minibatches, loss, metric, samples)
        return loss, metric, samples

    # ---- checkpoints ----

    def save_checkpoint(self, path):
        """Saves model and learners in the files path and path.ckp."""
        self._core.save_checkpoint(os.fspath(path))

    def restore_from_checkpoint(self, path):
        """Goes on bit for bit where save_checkpoint was called."""
        path = os.fspath(path)
        for name in (path, path + ".ckp"):
            if not os.path.exists(name):
                raise FileNotFoundError(2, "No such file or directory", name)
        self._core.restore_checkpoint(path)


def precompute(nodes, source, minibatch_size=1024):
    """Fills Mean and InvStdDev nodes (C.nodes) in one pass over a reader."""
    nodes = [nodes] if isinstance(nodes, _cntk.Function) else list(nodes)
    inner, mapped = source._open_source(nodes[0].dtype)
    _cntk.precompute(nodes, inner, mapped, minibatch_size)


check_calls(globals())
