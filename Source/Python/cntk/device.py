"""Devices. New parameters are made on the present device, and graphs are computed where their parameters are."""
import contextlib

from . import _cntk
from .errors import check_calls as _check_calls


def cpu(threads=0):
    """The CPU as a device of its own; threads: 0 takes all cores."""
    return _cntk.cpu_device(threads)


def gpu(device_id=0):
    """A GPU. Fails with a DeviceError that says why if it cannot be used."""
    return _cntk.gpu_device(device_id)


def current():
    """The device of new parameters."""
    return _cntk.current_device()


def use_default_device(device):
    """Makes new parameters on this device from now on."""
    _cntk.use_device(device)


@contextlib.contextmanager
def use(device):
    """Makes new parameters on this device within the with block."""
    before = _cntk.current_device()
    _cntk.use_device(device)
    try:
        yield device
    finally:
        _cntk.use_device(before)


_check_calls(globals())
