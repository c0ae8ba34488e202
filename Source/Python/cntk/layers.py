"""Layers: functions that make their parameters at the first call, when the shape of the input is known, and share them
in later calls."""
from . import _cntk, initializer as _initializer, ops, sequence
from .errors import ModelError, check_calls as _check_calls
from .ops import default_options, defaults as _defaults

_DEFAULT = object()


def _or_default(value, name, otherwise):
    return _defaults.get(name, otherwise) if value is _DEFAULT else value


def _shape(value):
    return (value,) if isinstance(value, int) else tuple(value)


def _known(x, layer):
    x = ops.as_node(x)
    if x.shape is None:
        raise ModelError("%s needs the shape of its input, but a loop leaves that of %r open" % (layer, x))
    return x


class Layer:
    """A function of nodes with parameters of its own."""

    def __init__(self, name=""):
        self.name = name
        self._made = False
        self._parameters = {}

    def _parameter(self, name, shape, init, dtype):
        self._parameters[name] = parameter = ops.parameter(shape, init, dtype, (self.name + "." if self.name else "") + name)
        return parameter

    def __getattr__(self, name):
        parameters = self.__dict__.get("_parameters", {})
        if name in parameters:
            return parameters[name]
        raise AttributeError("%s has no attribute '%s'" % (type(self).__name__, name))

    @property
    def parameters(self):
        """The parameters that the layer has made."""
        return tuple(self._parameters.values())

    def __call__(self, x):
        x = _known(x, type(self).__name__)
        if not self._made:
            self._make(x)
            self._made = True
        return self._apply(x)

    def _make(self, x):
        pass

    def _named(self, node):
        return ops.alias(node, self.name) if self.name else node


class Dense(Layer):
    """activation(x @ W + b): W of the input's shape + shape, b of the shape."""

    def __init__(self, shape, activation=_DEFAULT, init=_DEFAULT, bias=_DEFAULT, name="", init_bias=0):
        super().__init__(name)
        self.shape = _shape(shape)
        self.activation = _or_default(activation, "activation", None)
        self.init = _or_default(init, "init", _initializer.glorot_uniform())
        self.bias = _or_default(bias, "bias", True)
        self.init_bias = init_bias

    def _make(self, x):
        self._parameter("W", x.shape + self.shape, self.init, x.dtype)
        if self.bias:
            self._parameter("b", self.shape, self.init_bias, x.dtype)

    def _apply(self, x):
        y = ops.times(x, self.W, output_rank=max(len(self.shape), 1))
        if self.bias:
            y = y + self.b
        return self._named(self.activation(y) if self.activation else y)


class Embedding(Layer):
    """x @ E, for one-hot x: E of the input's shape + shape."""

    def __init__(self, shape, init=_DEFAULT, name=""):
        super().__init__(name)
        self.shape = _shape(shape)
        self.init = _or_default(init, "init", _initializer.glorot_uniform())

    def _make(self, x):
        self._parameter("E", x.shape + self.shape, self.init, x.dtype)

    def _apply(self, x):
        return self._named(ops.times(x, self.E, output_rank=len(self.shape)))


class Dropout(Layer):
    """Dropout of a rate, in training only."""

    def __init__(self, rate, name=""):
        super().__init__(name)
        self.rate = rate

    def _apply(self, x):
        return ops.dropout(x, self.rate, self.name)


class BatchNormalization(Layer):
    """scale * (x - mean) / deviation + bias. map_rank=1: statistics of channels."""

    def __init__(self, map_rank=None, init_scale=1, normalization_time_constant=5000, blend_time_constant=0,
                 epsilon=0.00001, name=""):
        super().__init__(name)
        self.map_rank = map_rank
        self.init_scale = init_scale
        self.options = dict(normalization_time_constant=normalization_time_constant,
                            blend_time_constant=blend_time_constant, epsilon=epsilon)

    def _make(self, x):
        shape = x.shape[:1] if self.map_rank == 1 else x.shape
        self._parameter("scale", shape, self.init_scale, x.dtype)
        self._parameter("bias", shape, 0, x.dtype)
        self.running_mean = ops.constant(0, shape, x.dtype)
        self.running_inv_std = ops.constant(0, shape, x.dtype)

    def _apply(self, x):
        return ops.batch_normalization(x, self.scale, self.bias, self.running_mean, self.running_inv_std,
                                       spatial=self.map_rank == 1, name=self.name, **self.options)


class Convolution(Layer):
    """activation(convolution + b) of images (channels, height, width): W (filters, channels, *window)."""

    def __init__(self, filter_shape, num_filters, activation=_DEFAULT, init=_DEFAULT, pad=False, strides=1,
                 bias=_DEFAULT, name=""):
        super().__init__(name)
        self.filter_shape = _shape(filter_shape)
        self.num_filters = num_filters
        self.activation = _or_default(activation, "activation", None)
        self.init = _or_default(init, "init", _initializer.glorot_uniform())
        self.pad = pad
        self.strides = strides
        self.bias = _or_default(bias, "bias", True)

    def _make(self, x):
        self._parameter("W", (self.num_filters, x.shape[0]) + self.filter_shape, self.init, x.dtype)
        if self.bias:
            self._parameter("b", (self.num_filters,) + (1,) * len(self.filter_shape), 0, x.dtype)

    def _apply(self, x):
        y = ops.convolution(self.W, x, self.strides, self.pad)
        if self.bias:
            y = y + self.b
        return self._named(self.activation(y) if self.activation else y)


class _Pooling(Layer):
    def __init__(self, kind, filter_shape, strides, pad, name):
        super().__init__(name)
        self.arguments = kind, _shape(filter_shape), strides, pad

    def _apply(self, x):
        kind, window, strides, pad = self.arguments
        return ops.pooling(x, kind, window, strides, pad, self.name)


def MaxPooling(filter_shape, strides=1, pad=False, name=""):
    """The largest value of each window of an image (channels, height, width)."""
    return _Pooling("max", filter_shape, strides, pad, name)


def AveragePooling(filter_shape, strides=1, pad=False, name=""):
    """The mean of each window of an image (channels, height, width)."""
    return _Pooling("average", filter_shape, strides, pad, name)


# ---- recurrence ----

class _Step(Layer):
    """One step of a recurrence: called with the states of the step before and the input."""

    def __init__(self, shape, init, name):
        super().__init__(name)
        self.shape = _shape(shape)
        if len(self.shape) != 1:
            raise ModelError("the shape of %s is %r; expected one dimension" % (type(self).__name__, shape))
        self.init = _or_default(init, "init", _initializer.glorot_uniform())

    def __call__(self, *arguments):
        *states, x = arguments
        x = _known(x, type(self).__name__)
        if not self._made:
            self._make(x)
            self._made = True
        return self._apply(*states, x)


class RNNStep(_Step):
    """h = activation(x W + h' H + b)."""

    def __init__(self, shape, activation=_DEFAULT, init=_DEFAULT, name=""):
        super().__init__(shape, init, name)
        self.activation = _or_default(activation, "activation", ops.tanh) or ops.tanh
        self.states = 1

    def _make(self, x):
        n = self.shape[0]
        self._parameter("W", x.shape + self.shape, self.init, x.dtype)
        self._parameter("H", (n, n), self.init, x.dtype)
        self._parameter("b", self.shape, 0, x.dtype)

    def _apply(self, h, x):
        return (self.activation(ops.times(x, self.W) + ops.times(h, self.H) + self.b),)


class LSTM(_Step):
    """c = f c' + i g; h = o tanh(c). W [in, 4n], H [n, 4n], b [4n]: blocks i, g, f, o."""

    def __init__(self, shape, init=_DEFAULT, name=""):
        super().__init__(shape, init, name)
        self.states = 2

    def _make(self, x):
        n = self.shape[0]
        self._parameter("W", x.shape + (4 * n,), self.init, x.dtype)
        self._parameter("H", (n, 4 * n), self.init, x.dtype)
        self._parameter("b", (4 * n,), 0, x.dtype)

    def _apply(self, h, c, x):
        n = self.shape[0]
        blocks = ops.times(x, self.W) + ops.times(h, self.H) + self.b
        i, g, f, o = (ops.slice(blocks, -1, k * n, (k + 1) * n) for k in range(4))
        c = ops.sigmoid(f) * c + ops.sigmoid(i) * ops.tanh(g)
        return ops.sigmoid(o) * ops.tanh(c), c


def _states_of(step):
    return getattr(step, "states", 1)


class Recurrence:
    """Runs a step along the sequences: all states h. go_backwards: from the last step to the first."""

    def __init__(self, step, go_backwards=False, initial_state=0, name=""):
        self.step = step
        self.go_backwards = go_backwards
        self.initial_state = initial_state
        self.name = name

    parameters = property(lambda self: getattr(self.step, "parameters", ()))

    def __call__(self, x):
        x = _known(x, "Recurrence")
        delay = sequence.future_value if self.go_backwards else sequence.past_value
        placeholders = [ops.placeholder() for _ in range(_states_of(self.step))]
        initial = self.initial_state if isinstance(self.initial_state, (list, tuple)) else [self.initial_state] * len(placeholders)
        outputs = self.step(*[delay(p, s or 0) for p, s in zip(placeholders, initial)], x)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        outputs[0].replace_placeholders(dict(zip(placeholders, outputs)))
        return ops.alias(outputs[0], self.name) if self.name else outputs[0]


class Fold(Recurrence):
    """The last state of a recurrence; with go_backwards that of the first step."""

    def __call__(self, x):
        states = super().__call__(x)
        return sequence.first(states) if self.go_backwards else sequence.last(states)


# ---- combination ----

class Sequential:
    """Applies layers, or any functions of nodes, one after another."""

    def __init__(self, layers, name=""):
        self.layers = _flat(layers)
        self.name = name

    @property
    def parameters(self):
        """The parameters of all layers."""
        return tuple(dict.fromkeys(p for layer in self.layers for p in getattr(layer, "parameters", ())))

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return ops.alias(x, self.name) if self.name else x

    def __getitem__(self, index):
        return self.layers[index]

    def __len__(self):
        return len(self.layers)


def _flat(layers):
    result = []
    for each in layers:
        result += _flat(each) if isinstance(each, (list, tuple)) else [each]
    return result


def For(what_range, constructor):
    """Sequential of constructor(0), constructor(1), .. or of calls without argument."""
    import inspect

    takes_index = len(inspect.signature(constructor).parameters) > 0
    return Sequential([constructor(index) if takes_index else constructor() for index in what_range])


_check_calls(globals())
