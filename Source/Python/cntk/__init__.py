"""Build, train and run computational networks.

    import cntk as C
    x = C.input(2)
    y = C.softmax(C.times(x, C.parameter((2, 3))))
    y.eval({x: [[1, 2], [3, 4]]})

Files of this package, one subject each; Source/Python has the bindings they stand on, one file a class:

    errors.py       exceptions (ErrorBinding.cpp)
    axis.py         dynamic axes (AxisBinding.cpp)
    ops.py          leaves and operators (LeafBinding.cpp, OperationBinding.cpp)
    sequence.py     operations on whole sequences
    initializer.py  initial values of parameters
    io.py           forms of data: one_hot (DataConversion.cpp)
    function.py     methods of nodes: eval, grad, find_by_name (FunctionBinding.cpp, EvaluationBinding.cpp)

There is no arithmetic in Python: everything is computed by the engine, through Source/Api.
"""
import os as _os

from ._cntk import DynamicAxis, Function, __version__
from . import axis as _axis, initializer, io as _io, ops, sequence
from .axis import dynamic_axis
from .errors import ConfigError, DataError, DeviceError, Error, InternalError, ModelError, OutOfMemoryError, UsageError
from .function import Variable, eval
from .io import one_hot
from .ops import *
from .ops import abs, input, slice

# Names of Python's builtins (input, eval, abs, slice) are left out: `from cntk import *` does not replace them.
_BUILTINS = {"input", "eval", "abs", "slice", "round", "min", "max", "sum", "pow"}
__all__ = sorted(name for name in globals() if not name.startswith("_") and name not in _BUILTINS)
