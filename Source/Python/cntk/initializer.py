"""Initial values of parameters. Random values come from the engine's generator and follow C.set_seed."""
import math
import operator

from .errors import UsageError


class Initializer:
    """A rule for initial values. options(shape): the options of the engine's node type LearnableParameter."""

    def __init__(self, text, options):
        self._text = text
        self.options = options

    def __repr__(self):
        return self._text


def _uniform(limit):
    # The engine draws from +-0.05 * initValueScale.
    return {"init": "uniform", "initValueScale": repr(limit / 0.05)}


def _normal(deviation, shape):
    # The engine's deviation is 0.2 * initValueScale / sqrt(columns), columns being the engine's.
    columns = math.prod(shape[:-1]) if len(shape) > 1 else 1
    return {"init": "gaussian", "initValueScale": repr(deviation * math.sqrt(max(columns, 1)) / 0.2)}


def _seeded(options, seed):
    if seed is not None:
        options["randomSeed"] = str(seed)
    return options


def _random(name, scale, seed, options):
    """An initializer of random values. options(shape): the engine's, without the seed."""
    if not 0 <= scale < math.inf:
        raise UsageError("the scale of %s is %r; expected a finite number, 0 or more" % (name, scale))
    if seed is not None and operator.index(seed) < 0:
        raise UsageError("the seed of %s is %r; expected 0 or more" % (name, seed))
    return Initializer("%s(%g)" % (name, scale), lambda shape: _seeded(options(shape), seed))


def _fans(shape):
    """(inputs, outputs) of a parameter: its first axes are inputs, its last one outputs."""
    if len(shape) == 0:
        return 1, 1
    if len(shape) == 1:
        return shape[0], shape[0]
    if len(shape) > 2:  # a convolution: (outputs, inputs, height, width)
        window = math.prod(shape[2:])
        return shape[1] * window, shape[0] * window
    return shape[0], shape[1]


def uniform(scale=0.05, seed=None):
    """Uniform in +-scale."""
    return _random("uniform", scale, seed, lambda shape: _uniform(scale))


def normal(scale=1.0, seed=None):
    """Normal with the deviation scale."""
    return _random("normal", scale, seed, lambda shape: _normal(scale, shape))


def glorot_uniform(scale=1.0, seed=None):
    """Uniform in +-scale * sqrt(6 / (inputs + outputs))."""
    return _random("glorot_uniform", scale, seed, lambda shape: _uniform(scale * math.sqrt(6 / sum(_fans(shape)))))


xavier = glorot_uniform


def glorot_normal(scale=1.0, seed=None):
    """Normal with the deviation scale * sqrt(2 / (inputs + outputs))."""
    return _random("glorot_normal", scale, seed, lambda shape: _normal(scale * math.sqrt(2 / sum(_fans(shape))), shape))


def he_uniform(scale=1.0, seed=None):
    """Uniform in +-scale * sqrt(6 / inputs)."""
    return _random("he_uniform", scale, seed, lambda shape: _uniform(scale * math.sqrt(6 / _fans(shape)[0])))


def he_normal(scale=1.0, seed=None):
    """Normal with the deviation scale * sqrt(2 / inputs)."""
    return _random("he_normal", scale, seed, lambda shape: _normal(scale * math.sqrt(2 / _fans(shape)[0]), shape))


def constant(value=0):
    """One number for all elements."""
    return Initializer("constant(%g)" % value, lambda shape: {"init": "fixedValue", "value": repr(float(value))})


def is_initializer(value):
    """True for anything that this module made."""
    return isinstance(value, Initializer)


def options_of(init, shape):
    """Returns the engine's options for None, a number or an Initializer."""
    if init is None:
        return {"init": "uniform"}
    if isinstance(init, (int, float)):
        return {"init": "fixedValue", "value": repr(float(init))}
    return init.options((shape,) if isinstance(shape, int) else tuple(shape))
