"""Build, train and run computational networks.

    import cntk as C
    x = C.input(2)
    y = C.softmax(C.times(x, C.parameter((2, 3))))
    y.eval({x: [[1, 2], [3, 4]]})

Files of this package, one subject each; Source/Python has the bindings they stand on, one file a class:

    errors.py       exceptions (ErrorBinding.cpp)
    axis.py         dynamic axes (AxisBinding.cpp)
    nodes.py        functions of all node types, generated (GenerateNodes.py)
    ops.py          leaves and operators (LeafBinding.cpp, OperationBinding.cpp)
    sequence.py     operations on whole sequences
    initializer.py  initial values of parameters
    io.py           forms of data: one_hot (DataConversion.cpp)
    function.py     methods of nodes: eval, grad, clone, save, .. (FunctionBinding.cpp, EvaluationBinding.cpp, ModelBinding.cpp)
    graph.py        pictures of graphs
    learners.py     learners and schedules
    trainer.py      Trainer (TrainerBinding.cpp)
    context.py      SGDParams, LocalExecutionContext, DelayedExecutionContext (ContextBinding.cpp)
    device.py       devices (DeviceBinding.cpp)
    logging.py      ProgressPrinter
    layers.py       layers on top of the operators
    userfunction.py operations written in Python (UserFunctionBinding.cpp)
    reader.py       readers: plugins and arrays (ReaderBinding.cpp)

There is no arithmetic in Python: everything is computed by the engine, through Source/Api.
"""
import os as _os

from ._cntk import DynamicAxis, Function, __version__
from . import axis as _axis, device, graph, initializer, io as _io, layers, learners, logging, nodes, ops, reader
from . import sequence
from .axis import dynamic_axis
from .context import DeferredExecutionContext, DelayedExecutionContext, LocalExecutionContext, SGDParams
from .errors import ConfigError, DataError, DeviceError, Error, InternalError, ModelError, OutOfMemoryError, UsageError
from .function import Variable, combine, eval, load_model
from .io import one_hot
from .learners import adagrad, adam, fsadagrad, momentum_sgd, rmsprop, schedule, sgd
from .ops import *
from .ops import abs, input, slice
from .trainer import Trainer
from .userfunction import UserFunction, user_function

# Names of Python's builtins (input, eval, abs, slice) are left out: `from cntk import *` does not replace them.
_BUILTINS = {"input", "eval", "abs", "slice", "round", "min", "max", "sum", "pow",
             "logging"}
__all__ = sorted(name for name in globals() if not name.startswith("_") and name not in _BUILTINS)
