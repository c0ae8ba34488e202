"""Methods of nodes that compute: eval, grad, search by name."""
from . import _cntk
from ._cntk import Function
from .errors import ModelError, UsageError

Variable = Function  # inputs are Functions without inputs of their own


def _method(function):
    setattr(Function, function.__name__, function)
    return function


def eval(node_or_list, arguments=None):
    """Computes nodes. The result is always a list of arrays [steps, *shape], one for each sequence.

    Without a dynamic axis it has one array [1, *shape]. For a list of nodes it is a list of such lists, computed in one
    pass. Anything else that is no node becomes a constant.

    >>> import cntk as C
    >>> C.eval(C.element_times([2, 3], 2))
    [array([[4., 6.]], dtype=float32)]
    """
    is_list = isinstance(node_or_list, (list, tuple)) and any(isinstance(each, Function) for each in node_or_list)
    nodes = [_cntk.as_node(each) for each in node_or_list] if is_list else [_cntk.as_node(node_or_list)]
    values = _cntk.evaluate_sequences(nodes, arguments)
    return values if is_list else values[0]


@_method
def _eval(self, arguments=None, outputs=None):
    """Computes the node. The form of the result follows the form of the data.

    Without a dynamic axis: an array of the node's shape. Samples give an array [N, *shape], sequences a list of N arrays
    [T, *shape]. outputs: nodes to compute in the same pass; then the result is a dict of nodes and values.
    """
    if outputs is None:
        return _cntk.evaluate([self], arguments)[0]
    nodes = list(outputs)
    return dict(zip(nodes, _cntk.evaluate(nodes, arguments)))


@_method
def grad(self, arguments=None, wrt=None, root_gradient=None):
    """The derivative of the sum of all elements of all samples, or of the sum weighted by root_gradient.

    wrt: a leaf -> an array; a list of leaves -> a dict; None: a dict of all parameters. Gradients of inputs have the
    form of their data.

    >>> import cntk as C
    >>> w = C.parameter(2, init=3)
    >>> (w * w).grad(wrt=w)
    array([6., 6.], dtype=float32)
    """
    wanted = list(self.parameters) if wrt is None else list(wrt) if isinstance(wrt, (list, tuple, set)) else [wrt]
    below = set(self.parameters) | set(self.constants) | set(self.arguments)
    for leaf in wanted:
        if not isinstance(leaf, Function):
            raise TypeError("wrt is %r; expected a leaf or a list of leaves" % (leaf,))
        if leaf not in below:
            raise UsageError("%r is no leaf below %r; expected one of its parameters, constants or inputs"
                             % (leaf, self))
    if not wanted:
        if wrt is not None:
            return {}
        raise UsageError("%r has no parameters; give the leaves with wrt=" % (self,))
    gradients = _cntk.differentiate(self, wanted, arguments, root_gradient)
    return gradients[0] if isinstance(wrt, Function) else dict(zip(wanted, gradients))


@_method
def find_all_with_name(self, name):
    """All nodes at or below this one with the name, exact case."""
    return [node for node in _cntk.nodes_below(self) if node.given_name == name and name]


@_method
def find_by_name(self, name):
    """The node at or below this one with the name, exact case; None if there is none, ModelError for two."""
    found = self.find_all_with_name(name)
    if len(found) > 1:
        raise ModelError("%d nodes are named '%s': %s; use find_all_with_name"
                         % (len(found), name, ", ".join(map(repr, found))))
    return found[0] if found else None


Function.eval = _eval
del Function._eval
_eval.__name__ = "eval"
