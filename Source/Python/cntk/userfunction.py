"""Operations written in Python."""
from . import _cntk


class UserFunction:
    """Base class of operations written in Python. Make a node of it with C.user_function.

    infer_shape(self, *shapes): the shape of one sample of the result.
    forward(self, *values): the result, an array [columns, *shape]; values are arrays [columns, *shape] without gaps, of
    all sequences one after another. Inputs without an axis have no first dimension.
    backward(self, gradient, *values): a tuple with the gradient of each input, None for none.

    Called once a forward or backward pass. A graph with a user function cannot be saved.
    """

    def __init__(self, inputs, name=""):
        self.inputs = tuple(inputs) if isinstance(inputs, (list, tuple)) else (inputs,)
        self.name = name

    def infer_shape(self, *shapes):
        return shapes[0]

    def forward(self, *values):
        raise NotImplementedError("%s has no forward" % type(self).__name__)

    def backward(self, gradient, *values):
        raise NotImplementedError("%s has no backward" % type(self).__name__)


def user_function(function):
    """Returns the node of a UserFunction."""
    if not isinstance(function, UserFunction):
        raise TypeError("user_function takes an object of a subclass of UserFunction, not %r" % (function,))
    return _cntk.user_function(function, function.inputs, function.name)
