"""Dynamic axes."""
from ._cntk import DynamicAxis, new_uid
from .errors import check_calls as _check_calls


def dynamic_axis(name=""):
    """Returns a dynamic axis. Equal names are the same axis; '' makes a new name.

    >>> import cntk as C
    >>> t = C.dynamic_axis('t')
    >>> C.input(3, dynamic_axis=t).dynamic_axis == t
    True
    """
    return DynamicAxis(name or "axis%d" % new_uid())


_check_calls(globals())
