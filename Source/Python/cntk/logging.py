"""Progress of trainings. The engine's own log goes to logging.getLogger('cntk')."""
import sys
import time

from .errors import check_calls as _check_calls


class ProgressPrinter:
    """Prints the program's lines: one for each epoch, and with freq=n one for each n minibatches reported.

    On a terminal and in a notebook a line with the rate is drawn below while an epoch runs, from the second epoch on
    with the time left.
    """

    def __init__(self, freq=None, first=0, tag="Training", log_to_file=None, file=None):
        self.freq = freq
        self.first = first
        self.tag = tag
        self._file = open(log_to_file, "a", encoding="utf-8") if log_to_file else file
        self._begin = None
        self._reports = 0
        self._epoch_samples = 0  # of the last epoch

    def _write(self, text):
        stream = self._file or sys.stdout
        stream.write(text + "\n")
        stream.flush()

    def _draws(self):
        return self._file is None and (sys.stderr.isatty() or "ipykernel" in sys.modules)

    def _draw(self, text):
        sys.stderr.write("\r%-78s\r%s" % ("", text))
        sys.stderr.flush()

    def on_minibatch(self, index, loss, metric, samples):
        """Called at most ten times a second, with averages."""
        now = time.monotonic()
        self._begin = self._begin or now
        self._reports += 1
        if self.freq and (self._reports <= self.first or self._reports % self.freq == 0):
            self._write(" Minibatch[%4d]: [%s] loss = %.8f * %d; metric = %.8f * %d"
                        % (index, self.tag, loss, samples, metric, samples))
        elif self._draws():
            rate = samples / max(now - self._begin, 1e-9)
            left = (self._epoch_samples - samples) / rate if samples < self._epoch_samples else None
            self._draw("%d minibatches, %d samples, loss %.5f, %.0f samples/s%s"
                       % (index, samples, loss, rate, "" if left is None else ", %.0f s left" % left))

    def on_epoch(self, index, loss, metric, samples, seconds):
        """Called after each epoch, with averages."""
        if self._draws():
            self._draw("")
        self._begin = None
        self._epoch_samples = samples
        self._write("Finished Epoch[%2d]: [%s] loss = %.8f * %d; metric = %.8f * %d; epochTime=%.6gs"
                    % (index, self.tag, loss, samples, metric, samples, seconds))


_check_calls(globals())
