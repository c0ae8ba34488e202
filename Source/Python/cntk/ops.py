"""Leaves and operators of graphs.

Operators take nodes, numbers, nested lists and arrays. Shapes follow numpy's rules, and a shape that cannot be is a
ModelError at the call. All take `name`.
"""
import contextlib as _contextlib
import os as _os

from . import _cntk
from . import initializer as _initializer
from .errors import DataError as _DataError, UsageError as _UsageError, check_calls as _check_calls


# ---- leaves ----

def input(shape, dynamic_axis=None, name="", dtype=None, is_sparse=False, needs_gradient=False, *, dynamicAxis=None):
    """An input whose values are given when the graph is computed.

    shape: that of one sample; an integer n means (n,), and () a number a sample. dynamic_axis: a DynamicAxis or its
    name; None is the default axis `*`, which takes samples or sequences. needs_gradient has no effect: grad works for
    all inputs.

    >>> import cntk as C
    >>> C.input((2, 3), name='features')
    InputValue 'features' (2, 3) x *
    """
    axis = dynamic_axis if dynamic_axis is not None else dynamicAxis
    return _cntk.input(shape, axis, name, dtype, is_sparse, "*")


def input_variable(shape, dtype=None, needs_gradient=False, is_sparse=False, dynamic_axes=None, name=""):
    """An input with exactly one sample a sequence: its axis is `#`."""
    axis = dynamic_axes[0] if isinstance(dynamic_axes, (list, tuple)) and dynamic_axes else dynamic_axes or None
    return _cntk.input(shape, axis, name, dtype, is_sparse, "#")


def input_numpy(value, dynamic_axis=None, name="", dtype=None):
    """An input with data of its own, used where a call gives none.

    Without an axis value[i] is a sample, with an axis value[i] is a sequence.
    """
    import numpy as np

    if not hasattr(value, "__len__") or getattr(value, "shape", None) == ():
        raise TypeError("input_numpy() got %.100r; expected samples or sequences as an array or a list" % (value,))
    if len(value) == 0:
        raise _DataError("input_numpy() needs at least one sample")
    first = np.asarray(value[0]) if dynamic_axis is not None else None
    shape = first.shape[1:] if first is not None else np.asarray(value).shape[1:]
    node = _cntk.input(tuple(shape), dynamic_axis, name, dtype, False, "*")
    _cntk.set_input_data(node, value)
    return node


def parameter(shape=None, init=None, dtype=None, name="", *, value=None, learning_rate_multiplier=1.0,
              init_from_file_path=None):
    """A parameter, which training adapts.

    init (or value): None for uniform random values in +-0.05, a number, an array, or one of C.initializer. A dimension
    of 0 is inferred from the first operation. init_from_file_path: a text file, one row of the first axis a line.

    >>> import cntk as C
    >>> C.parameter((2, 3), init=1).value.sum()
    6.0
    """
    if init is not None and value is not None:
        raise TypeError("parameter() takes init or value, not both")
    init = value if init is None else init
    if init_from_file_path is not None:
        if init is not None:
            raise TypeError("parameter() takes init or init_from_file_path, not both")
        if not _os.path.exists(init_from_file_path):
            raise FileNotFoundError(2, "No such file or directory", str(init_from_file_path))
        node = _cntk.parameter_from_file(shape, str(init_from_file_path), dtype, name)
    elif init is None or isinstance(init, (int, float)) or _initializer.is_initializer(init):
        if shape is None:
            if init is None or _initializer.is_initializer(init):
                raise TypeError("parameter() needs a shape, or an array as initial value")
            shape = ()
        node = _cntk.parameter_from_initializer(shape, _initializer.options_of(init, shape), dtype, name)
    else:
        node = _cntk.parameter_from_values(init, shape, dtype, name)
    if learning_rate_multiplier != 1.0:
        node.learning_rate_multiplier = learning_rate_multiplier
    return node


def constant(value, shape=None, dtype=None, name=""):
    """A constant: a number, nested lists or an array; with a shape the values repeat to it.

    >>> import cntk as C
    >>> C.constant([1, 2]).value
    array([1., 2.], dtype=float32)
    """
    return _cntk.constant(value, shape, dtype, name)


def placeholder(shape=None, dynamic_axis=None, name=""):
    """A node to be replaced by replace_placeholders, which closes loops."""
    return _cntk.placeholder(shape, dynamic_axis, name)


def set_seed(seed):
    """Seeds random values of parameters, dropout and shuffling from here on; None takes the system's randomness."""
    if seed is not None and not hasattr(seed, "__index__"):
        raise TypeError("the seed is %r; expected a whole number or None" % (seed,))
    if seed is not None and not 0 <= seed < 2**64:
        raise _UsageError("the seed is %d; expected 0 or more and less than 2^64" % seed)
    _cntk.set_seed(seed)


def as_node(value):
    """Returns the node, or a constant made of anything else."""
    return _cntk.as_node(value)


# ---- element by element ----

def _unary(name, type_name, text):
    def function(x, name=""):
        return _cntk.unary(type_name, x, name)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = text
    return function


sigmoid = _unary("sigmoid", "Sigmoid", "1 / (1 + exp(-x)), element by element.")
tanh = _unary("tanh", "Tanh", "tanh(x), element by element.")
relu = _unary("relu", "RectifiedLinear", "max(x, 0), element by element.")
exp = _unary("exp", "Exp", "exp(x), element by element.")
log = _unary("log", "Log", "log(x), element by element; arguments below 1e-37 give -85.1.")
sqrt = _unary("sqrt", "Sqrt", "sqrt(max(x, 0)), element by element.")
abs = _unary("abs", "Abs", "|x|, element by element.")
negate = _unary("negate", "Negate", "-x, element by element.")
reciprocal = _unary("reciprocal", "Reciprocal", "1 / x, element by element; 0 for x = 0.")
sin = _unary("sin", "Sin", "sin(x), element by element.")
cos = _unary("cos", "Cosine", "cos(x), element by element.")
alias = _unary("alias", "Pass", "x under another name.")


def plus(left, right, name=""):
    """left + right, with broadcasting.

    >>> import cntk as C
    >>> C.plus([1, 2], 3).eval()
    array([4., 5.], dtype=float32)
    """
    return _cntk.binary("Plus", left, right, name)


def minus(left, right, name=""):
    """left - right, with broadcasting."""
    return _cntk.binary("Minus", left, right, name)


def element_times(left, right, name=""):
    """left * right element by element, with broadcasting."""
    return _cntk.binary("ElementTimes", left, right, name)


def element_divide(left, right, name=""):
    """left / right element by element, with broadcasting; x / 0 is 0."""
    return _cntk.divide(left, right, name)


def square(x, name=""):
    """x * x, element by element."""
    return _cntk.square(x, name)


def dropout(x, dropout_rate, name=""):
    """x in evaluation; in training a share of the elements is 0, and the others are divided by 1 - dropout_rate."""
    return _cntk.dropout(x, dropout_rate, name)


# ---- products ----

def times(left, right, output_rank=1, name=""):
    """Contracts the last axes of left with the first of right: numpy's tensordot. The operator is @.

    right has output_rank axes that stay; a vector has none.

    >>> import cntk as C
    >>> C.times([[1, 2], [3, 4]], [1, 1]).eval()
    array([3., 7.], dtype=float32)
    """
    return _cntk.times(left, right, output_rank, name)


def times_transpose(left, right, name=""):
    """left @ right', for a matrix on the right."""
    return _cntk.times(left, transpose(right), 1, name)


# ---- along axes ----

def softmax(x, axis=-1, name=""):
    """exp(x) / sum(exp(x)) along an axis."""
    return _cntk.along_axis("Softmax", x, axis, name)


def log_softmax(x, axis=-1, name=""):
    """The logarithm of softmax."""
    return _cntk.along_axis("LogSoftmax", x, axis, name)


def hardmax(x, axis=-1, name=""):
    """1 for the largest element along an axis (the first on ties), else 0."""
    return _cntk.along_axis("Hardmax", x, axis, name)


def _reduce(x, is_mean, axis, keepdims, name):
    axes = None if axis is None else list(axis) if isinstance(axis, (list, tuple)) else [axis]
    keep = keepdims if keepdims is not None else axes is not None
    return _cntk.reduce(x, is_mean, axes, keep, name)


def reduce_sum(x, axis=None, keepdims=None, name=""):
    """The sum along an axis, which stays with the dimension 1 unless keepdims=False; None: over all axes, shape ()."""
    return _reduce(x, False, axis, keepdims, name)


def reduce_mean(x, axis=None, keepdims=None, name=""):
    """The mean along an axis, which stays with the dimension 1 unless keepdims=False; None: over all axes, shape ()."""
    return _reduce(x, True, axis, keepdims, name)


def reshape(x, shape, name=""):
    """x in another shape, in C order; one dimension may be -1."""
    return _cntk.reshape(x, list(shape) if isinstance(shape, (list, tuple)) else [shape], name)


def swapaxes(x, axis1=0, axis2=1, name=""):
    """Exchanges two axes."""
    return _cntk.swapaxes(x, axis1, axis2, name)


def transpose(x, perm=None, name=""):
    """Permutes the axes; None reverses them."""
    return _cntk.transpose(x, None if perm is None else list(perm), name)


def slice(x, axis, begin_index, end_index, name=""):
    """The elements begin_index to end_index - 1 of an axis. Negative numbers count from the end; None, and an
    end_index of 0 after a negative begin_index, is the end."""
    if end_index == 0 and begin_index is not None and begin_index < 0:
        end_index = None
    return _cntk.slice(x, axis, begin_index, end_index, name)


def splice(*inputs, axis=-1, name=""):
    """Joins nodes along an axis."""
    if len(inputs) == 1 and isinstance(inputs[0], (list, tuple)):
        inputs = tuple(inputs[0])
    if not inputs:
        raise TypeError("splice() needs at least one node")
    return _cntk.splice(tuple(inputs), axis, name)


# ---- sequences ----

def past_value(x, initial_state=0.1, time_step=1, name=""):
    """The value time_step steps before in the same sequence, initial_state where there is none.

    x may be the name of a node that is written later: a loop.
    """
    return _cntk.delay("PastValue", x, initial_state, time_step, name)


def future_value(x, initial_state=0.1, time_step=1, name=""):
    """The value time_step steps later in the same sequence, initial_state where there is none."""
    return _cntk.delay("FutureValue", x, initial_state, time_step, name)


def reconcile_dynamic_axis(x, dynamic_axis_as, name=""):
    """x with the dynamic axis of another node. Their sequences must have equal lengths, which is checked at run time."""
    return _cntk.reconcile(x, dynamic_axis_as, name)


# ---- criteria ----

def cross_entropy_with_softmax(output_vector, target_vector, name=""):
    """-sum of target * log(softmax(output)) over the minibatch."""
    return _cntk.cross_entropy_with_softmax(output_vector, target_vector, name)


def _in_the_shape_of(value, other):
    """A number next to a node becomes a constant of the node's shape."""
    import numpy as np

    if isinstance(other, _cntk.Function) and not isinstance(value, _cntk.Function) and np.ndim(value) == 0 and other.shape:
        return constant(value, other.shape, other.dtype)
    return value


def squared_error(output, target, name=""):
    """The sum of (output - target)^2 over the minibatch.

    >>> import cntk as C
    >>> float(C.squared_error([4, 6], [2, 1]).eval())
    29.0
    """
    return _cntk.squared_error(_in_the_shape_of(output, target), _in_the_shape_of(target, output), name)


square_error = squared_error


def classification_error(output_vector, target_vector, topN=1, name=""):
    """The number of samples whose target class is not among the topN largest outputs."""
    return _cntk.classification_error(output_vector, target_vector, topN, name)


error_prediction = classification_error


# ---- images, statistics ----

def _list(value):
    return list(value) if isinstance(value, (list, tuple)) else [value]


def convolution(convolution_map, operand, strides=1, auto_padding=True, name=""):
    """Convolution of an image (channels, height, width) with kernels (outputs, channels, height, width).

    auto_padding: the image is padded evenly, so that (size - 1) / stride + 1 windows fit; else (size - kernel) / stride
    + 1. Strides and padding are one value, or one for each axis of the window.
    """
    return _cntk.convolution(convolution_map, operand, _list(strides), [bool(each) for each in _list(auto_padding)], name)


def pooling(operand, pooling_type, pooling_window_shape, strides=1, auto_padding=False, name=""):
    """The largest value ('max') or the mean ('average') of each window of an image (channels, height, width)."""
    kinds = {"max": "max", 0: "max", "average": "average", "avg": "average", 1: "average"}
    if pooling_type not in kinds:
        from .errors import ModelError
        raise ModelError("the pooling type is %r; expected 'max' or 'average'" % (pooling_type,))
    return _cntk.pooling(operand, kinds[pooling_type], _list(pooling_window_shape), _list(strides),
                         [bool(each) for each in _list(auto_padding)], name)


def batch_normalization(operand, scale, bias, running_mean, running_inv_std, spatial=False,
                        normalization_time_constant=5000, blend_time_constant=0, epsilon=0.00001, name=""):
    """scale * (x - mean) / deviation + bias. In training mean and deviation are those of the minibatch, and the running
    ones follow; else the running ones count. spatial: statistics of channels."""
    options = [("spatial", "true" if spatial else "false"),
               ("normalizationTimeConstant", repr(float(normalization_time_constant))),
               ("blendTimeConstant", repr(float(blend_time_constant))), ("epsilon", repr(float(epsilon)))]
    return _cntk.engine_operation("BatchNormalization", (operand, scale, bias, running_mean, running_inv_std), options,
                                  name)


def cosine_distance(x, y, name=""):
    """x'y / (|x| |y|) of each sample; 0 where one of them is 0."""
    return _cntk.cosine_distance(x, y, name)


def lookup(table, x, name=""):
    """The rows of a table (words, size) of one-hot samples x."""
    return _cntk.times(x, table, 1, name)


# ---- defaults ----

defaults = {}  # of layers: init, activation, bias


@_contextlib.contextmanager
def default_options(dtype=None, **options):
    """Defaults within the with block: dtype of leaves; init, activation and bias of layers.

    >>> import cntk as C, numpy as np
    >>> with C.default_options(dtype=np.float64):
    ...     C.input(2).dtype
    dtype('float64')
    """
    for name in options:
        if name not in ("init", "activation", "bias"):
            raise TypeError("default_options has no option '%s'; expected dtype, init, activation or bias" % name)
    before_type, before = _cntk.default_dtype(), dict(defaults)
    _cntk.set_default_dtype(dtype if dtype is not None else before_type)
    defaults.update(options)
    try:
        yield
    finally:
        _cntk.set_default_dtype(before_type)
        defaults.clear()
        defaults.update(before)


_check_calls(globals())
