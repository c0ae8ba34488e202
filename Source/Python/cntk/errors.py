"""The errors of the module. Each is also the exception that numpy or Python users expect."""
import functools
import re
import types


class Error(Exception):
    """An error of the engine. str() is its report.

    kind: Usage, Config, Data, Model, Device or Internal; notes: a list of texts; where: (file, line, column) or None.
    """

    kind = "Internal"

    def __init__(self, message="", notes=(), where=None):
        super().__init__(message)
        self.notes = list(notes)
        self.where = where


class UsageError(Error, ValueError):
    """A call that makes no sense."""

    kind = "Usage"


class ConfigError(Error, ValueError):
    """A fault in options or in a config."""

    kind = "Config"


class DataError(Error, ValueError):
    """A fault in data."""

    kind = "Data"


class ModelError(Error, ValueError):
    """A fault in a graph or in a model file."""

    kind = "Model"


class DeviceError(Error, RuntimeError):
    """A fault of the machine: GPU, memory, disk."""

    kind = "Device"


class OutOfMemoryError(DeviceError, MemoryError):
    """There is not enough memory on the device."""


class InternalError(Error, RuntimeError):
    """A bug of the program."""

    kind = "Internal"


_CLASSES = {each.kind.lower(): each for each in
            (UsageError, ConfigError, DataError, ModelError, DeviceError, InternalError)}


def class_of(kind, is_out_of_memory=False):
    """Returns the class for a kind of the engine."""
    return OutOfMemoryError if is_out_of_memory else _CLASSES.get(kind.lower(), InternalError)


# ---- calls with wrong arguments ----

def _explanation(function, error, args, named):
    """Returns a better text for a TypeError about the arguments of a call; None if the error is about something else."""
    import difflib
    import inspect

    name = function.__qualname__.replace(".__init__", "")
    parameters = [each for each in inspect.signature(function).parameters if each != "self"]
    unknown = re.search(r"unexpected keyword argument '(\w+)'", str(error))
    if unknown and error.__traceback__.tb_next is None:
        near = difflib.get_close_matches(unknown.group(1), parameters, 1)
        return "%s() has no argument '%s'; %s" % (
            name, unknown.group(1),
            "did you mean '%s'?" % near[0] if near else "expected %s" % (", ".join(parameters) or "none"))
    if "incompatible function arguments" in str(error) or "incompatible constructor arguments" in str(error):
        given = inspect.signature(function).bind(*args, **named).arguments
        return "%s() got an argument of a wrong type: %s" % (
            name, ", ".join("%s=%.100r" % pair for pair in given.items()))
    return None


def checked(function):
    """Wraps a function so that a wrong keyword names the nearest one."""
    @functools.wraps(function)
    def call(*args, **named):
        try:
            return function(*args, **named)
        except TypeError as error:
            text = _explanation(function, error, args, named)
            if text is None:
                raise
            raise TypeError(text) from None

    return call


def check_calls(namespace):
    """Wraps the public functions and the constructors of a module. namespace: its globals()."""
    wrapped = {}
    for name, value in list(namespace.items()):
        if name.startswith("_") or getattr(value, "__module__", None) != namespace["__name__"]:
            continue
        if isinstance(value, types.FunctionType):
            namespace[name] = wrapped.setdefault(value, checked(value))
        elif isinstance(value, type) and "__init__" in vars(value):
            value.__init__ = checked(value.__init__)
