"""Operations on whole sequences."""
from . import _cntk
from .errors import check_calls as _check_calls


def input_variable(shape, dtype=None, needs_gradient=False, is_sparse=False, sequence_axis=None, name=""):
    """An input of sequences; sequence_axis: a DynamicAxis or its name, by default the axis `sequence`."""
    return _cntk.input(shape, sequence_axis, name, dtype, is_sparse, "sequence")


def past_value(x, initial_state=0, time_step=1, name=""):
    """Like C.past_value, with an initial state of 0."""
    return _cntk.delay("PastValue", x, 0 if initial_state is None else initial_state, time_step, name)


def future_value(x, initial_state=0, time_step=1, name=""):
    """Like C.future_value, with an initial state of 0."""
    return _cntk.delay("FutureValue", x, 0 if initial_state is None else initial_state, time_step, name)


def is_first(x, name=""):
    """1 at the first step of each sequence, else 0."""
    return _cntk.sequence_operation("is_first", (x,), name)


def is_last(x, name=""):
    """1 at the last step of each sequence, else 0."""
    return _cntk.sequence_operation("is_last", (x,), name)


def first(x, name=""):
    """The first step of each sequence."""
    return _cntk.sequence_operation("first", (x,), name)


def last(x, name=""):
    """The last step of each sequence."""
    return _cntk.sequence_operation("last", (x,), name)


def where(condition, name=""):
    """The positions, within each sequence, of the steps whose condition is not 0."""
    return _cntk.sequence_operation("where", (condition,), name)


def gather(x, condition, name=""):
    """The steps of x whose condition is not 0."""
    return _cntk.sequence_operation("gather", (x, condition), name)


def scatter(x, condition, name=""):
    """The steps of x at the places whose condition is not 0; 0 elsewhere."""
    return _cntk.sequence_operation("scatter", (x, condition), name)


def broadcast_as(x, broadcast_as_operand, name=""):
    """The first step of each sequence of x at every step of the other node's sequence."""
    return _cntk.sequence_operation("broadcast_as", (x, broadcast_as_operand), name)


def reduce_sum(x, name=""):
    """The sum over the steps of each sequence."""
    return _cntk.sequence_operation("reduce_sum", (x,), name)


def reduce_mean(x, name=""):
    """The mean over the steps of each sequence."""
    return _cntk.sequence_operation("reduce_mean", (x,), name)


_check_calls(globals())
