"""The errors of the module. Each is also the exception that numpy or Python users expect."""


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
