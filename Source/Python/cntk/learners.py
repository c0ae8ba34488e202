"""Learners: how parameters follow their gradients.

With G the gradient summed over a minibatch of N samples and r = lr_per_sample, or lr / N:
sgd W -= r G; momentum S = m S + (1 - m) r G, W -= S; nesterov W -= m S + (1 - m) r G;
adagrad A += G^2, q = 1 / sqrt(A + 1e-16), W -= r q G / mean(q); adam the usual, bias-corrected, with G / N.
"""
import math
import operator

from . import _cntk
from .errors import UsageError, check_calls


class Schedule:
    """Values that follow one another, each for epoch_size samples (0: an epoch of the trainer). The last one stays."""

    def __init__(self, values, epoch_size=0):
        self.values = _expanded(values)
        self.epoch_size = 0 if epoch_size is None else operator.index(epoch_size)
        if self.epoch_size < 0:
            raise UsageError("epoch_size of a schedule is %d; expected samples, or 0 for an epoch of the trainer"
                             % self.epoch_size)

    def __repr__(self):
        return "schedule(%r, epoch_size=%d)" % (self.values, self.epoch_size)


def _expanded(values):
    """Returns the numbers of a number, a list, or the config's text such as "0.5*10:0.1"."""
    if isinstance(values, str):
        numbers = []
        try:
            for part in values.split(":"):
                value, _, count = part.partition("*")
                numbers += [float(value) for _ in range(_count(count) if count else 1)]
        except ValueError:
            raise UsageError("the schedule is %r; expected numbers such as '0.5*10:0.1'" % values) from None
    elif isinstance(values, (list, tuple)):
        numbers = [float(value) for value in values]
    else:
        numbers = [float(values)]
    if not numbers:
        raise UsageError("the schedule is empty; expected at least one number")
    for number in numbers:
        _check_range("a learning rate", number, 0)
    return numbers


def _check_range(name, value, least, limit=math.inf):
    """UsageError unless least <= value < limit."""
    if not least <= value < limit:
        raise UsageError("%s is %r; expected %s" % (name, value, "%g or more and less than %g" % (least, limit)
                                                    if math.isfinite(limit) else "a finite number, %g or more" % least))


def _check_options(options):
    """UsageError for options of an update rule out of the ranges that the SGD block has for them."""
    for name in {"l1_regularization_weight", "l2_regularization_weight", "inc", "dec", "max", "min"} & options.keys():
        _check_range(name, options[name], 0)
    _check_range("variance_momentum", options.get("variance_momentum", 0), 0, 1)
    for name in {"gradient_clipping_threshold_per_sample", "epsilon"} & options.keys():
        if not options[name] > 0:
            raise UsageError("%s is %r; expected a number above 0" % (name, options[name]))
    if not 0 <= options.get("gamma", 0) <= 1:
        raise UsageError("gamma is %r; expected 0 to 1" % options["gamma"])
    if options.get("min", 0) > options.get("max", 0):
        raise UsageError("max is %r, below min %r; expected at least that" % (options["max"], options["min"]))


def _count(text):
    if int(text) < 0:
        raise ValueError
    return int(text)


def schedule(values, epoch_size=0):
    """A schedule of learning rates: a list, or the config's text.

    >>> import cntk as C
    >>> C.schedule('0.5*2:0.1', epoch_size=1000).values
    [0.5, 0.5, 0.1]
    """
    return Schedule(values, epoch_size)


class Learner:
    """Parameters with an update rule and a learning rate. Made by sgd, momentum_sgd, adagrad, rmsprop, fsadagrad, adam."""

    def __init__(self, rule, parameters, lr, lr_per_sample, momentum=0.0, **options):
        if isinstance(parameters, _cntk.Function):
            parameters = [parameters]
        self.parameters = tuple(parameters)
        for each in self.parameters:
            if not isinstance(each, _cntk.Function):
                raise TypeError("a learner's parameters hold %r; expected nodes that parameter() made" % (each,))
            if each._role != "parameter":
                raise UsageError("%r is among the parameters of a learner, but it is no parameter" % (each,))
        if not self.parameters:
            raise UsageError("a learner needs at least one parameter")
        if (lr is None) == (lr_per_sample is None):
            raise UsageError("a learner needs lr or lr_per_sample%s" % ("" if lr is None else ", not both"))
        rate = lr_per_sample if lr is None else lr
        self._schedule = rate if isinstance(rate, Schedule) else Schedule(rate)
        self.is_per_sample = lr is None
        _check_range("the momentum", float(momentum), 0, 1)
        _check_options(options)
        self.rule = rule
        self.momentum = momentum
        self._options = options
        self._attached = None  # the trainer's core and the learner's number in it

    def _settings(self):
        return dict(self._options, rule=self.rule, parameters=list(self.parameters), momentum=float(self.momentum),
                    rates=self._schedule.values, epoch_size=self._schedule.epoch_size, is_per_sample=self.is_per_sample)

    def _attach(self, core, number):
        self._attached = (core, number)

    @property
    def learning_rate(self):
        """The present learning rate, per minibatch or per sample as given."""
        if self._attached is None:
            return self._schedule.values[0]
        core, number = self._attached
        return core.rate_of(number)

    def reset_learning_rate(self, rate):
        """Sets the learning rate from now on: a number, or a schedule."""
        schedule_ = rate if isinstance(rate, Schedule) else Schedule(rate)
        if self._attached is not None:
            core, number = self._attached
            if len(schedule_.values) != 1:
                raise UsageError("a learner of a trainer takes a single new rate")
            core.set_rate(number, schedule_.values[0])
        self._schedule = schedule_

    def __repr__(self):
        is_momentum_sgd = self.rule == "nesterov" or (self.rule == "sgd" and self.momentum > 0)
        return "%s(%d parameter%s, %s=%g%s%s)" % (
            "momentum_sgd" if is_momentum_sgd else self.rule, len(self.parameters), "s"[len(self.parameters) == 1:],
            "lr_per_sample" if self.is_per_sample else "lr", self.learning_rate,
            ", momentum=%g" % self.momentum if self.momentum > 0 else "", ", nesterov=True" if self.rule == "nesterov" else "")


def _learner(rule, parameters, lr, lr_per_sample, l1, l2, threshold, truncation, momentum=0.0, **options):
    return Learner(rule, parameters, lr, lr_per_sample, momentum, l1_regularization_weight=float(l1),
                   l2_regularization_weight=float(l2), gradient_clipping_threshold_per_sample=float(threshold),
                   gradient_clipping_with_truncation=bool(truncation), **options)


def sgd(parameters, lr=None, *, lr_per_sample=None, l1_regularization_weight=0, l2_regularization_weight=0,
        gradient_clipping_threshold_per_sample=math.inf, gradient_clipping_with_truncation=True):
    """W -= r G."""
    return _learner("sgd", parameters, lr, lr_per_sample, l1_regularization_weight, l2_regularization_weight,
                    gradient_clipping_threshold_per_sample, gradient_clipping_with_truncation)


def momentum_sgd(parameters, lr=None, momentum=None, nesterov=False, *, lr_per_sample=None, l1_regularization_weight=0,
                 l2_regularization_weight=0, gradient_clipping_threshold_per_sample=math.inf,
                 gradient_clipping_with_truncation=True):
    """S = m S + (1 - m) r G, W -= S; with nesterov W -= m S + (1 - m) r G. momentum must be given."""
    if momentum is None:
        raise TypeError("momentum_sgd() needs the argument 'momentum'; expected 0 or more and less than 1")
    return _learner("nesterov" if nesterov else "sgd", parameters, lr, lr_per_sample, l1_regularization_weight,
                    l2_regularization_weight, gradient_clipping_threshold_per_sample,
                    gradient_clipping_with_truncation, momentum)


def adagrad(parameters, lr=None, need_ave_multiplier=True, *, lr_per_sample=None, l1_regularization_weight=0,
            l2_regularization_weight=0, gradient_clipping_threshold_per_sample=math.inf,
            gradient_clipping_with_truncation=True):
    """A += G^2, q = 1 / sqrt(A + 1e-16), W -= r q G / mean(q); without need_ave_multiplier the mean counts as 1."""
    return _learner("adagrad", parameters, lr, lr_per_sample, l1_regularization_weight, l2_regularization_weight,
                    gradient_clipping_threshold_per_sample, gradient_clipping_with_truncation,
                    need_ave_multiplier=bool(need_ave_multiplier))


def rmsprop(parameters, lr=None, gamma=0.99, inc=1.2, dec=0.75, max=10.0, min=0.1, need_ave_multiplier=True, *,
            lr_per_sample=None, l1_regularization_weight=0, l2_regularization_weight=0,
            gradient_clipping_threshold_per_sample=math.inf, gradient_clipping_with_truncation=True):
    """The program's RmsProp: steps grow by inc while the sign of the gradient stays, else they shrink by dec."""
    return _learner("rmsprop", parameters, lr, lr_per_sample, l1_regularization_weight, l2_regularization_weight,
                    gradient_clipping_threshold_per_sample, gradient_clipping_with_truncation, gamma=float(gamma),
                    inc=float(inc), dec=float(dec), max=float(max), min=float(min),
                    need_ave_multiplier=bool(need_ave_multiplier))


def fsadagrad(parameters, lr=None, momentum=0.9, *, lr_per_sample=None, l1_regularization_weight=0,
              l2_regularization_weight=0, gradient_clipping_threshold_per_sample=math.inf,
              gradient_clipping_with_truncation=True):
    """The program's FSAdaGrad."""
    return _learner("fsadagrad", parameters, lr, lr_per_sample, l1_regularization_weight, l2_regularization_weight,
                    gradient_clipping_threshold_per_sample, gradient_clipping_with_truncation, momentum)


def adam(parameters, lr=None, momentum=0.9, variance_momentum=0.999, epsilon=1e-8, *, lr_per_sample=None,
         l1_regularization_weight=0, l2_regularization_weight=0, gradient_clipping_threshold_per_sample=math.inf,
         gradient_clipping_with_truncation=True):
    """Adam of the mean gradient, bias-corrected, with the step size lr (or lr_per_sample N)."""
    return _learner("adam", parameters, lr, lr_per_sample, l1_regularization_weight, l2_regularization_weight,
                    gradient_clipping_threshold_per_sample, gradient_clipping_with_truncation, momentum,
                    variance_momentum=float(variance_momentum), epsilon=float(epsilon))


check_calls(globals())
