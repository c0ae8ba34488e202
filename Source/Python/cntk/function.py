"""Methods of nodes that compute: eval, grad, search by name."""
import ast
import functools
import os
import warnings

from . import _cntk, nodes
from ._cntk import Function
from .errors import DataError, ModelError, UsageError, check_calls, checked

Variable = Function  # inputs are Functions without inputs of their own


def _method(function):
    setattr(Function, function.__name__, checked(function))
    return function


def _value_of(text):
    """A number, a tuple or a name from the text of an attribute."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


_attribute_texts = Function.attributes
Function.attributes = property(lambda self: {name: _value_of(text) for name, text in
                                             _attribute_texts.__get__(self).items()},
                               doc="The parameters of the operation, by name.")


def eval(node_or_list, arguments=None):
    """Computes nodes. The result is always a list of arrays [steps, *shape], one for each sequence.

    Without a dynamic axis it has one array [1, *shape]. For a list of nodes it is a list of such lists, computed in one
    pass. Anything else that is no node becomes a constant.

    >>> import cntk as C
    >>> C.eval(C.element_times([2, 3], 2))
    [array([[4., 6.]], dtype=float32)]
    """
    if isinstance(node_or_list, Function):
        node_or_list = node_or_list.outputs if len(node_or_list.outputs) > 1 else node_or_list
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
    if outputs is None and self.op_name == "Combine":
        outputs = self
    if outputs is None:
        return _cntk.evaluate([self], arguments)[0]
    nodes = list(outputs.outputs if isinstance(outputs, Function) else outputs)
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
    root = self
    if len(self.outputs) > 1:
        root = functools.reduce(lambda sum, output: sum + nodes.SumElements(output), self.outputs[1:],
                                nodes.SumElements(self.outputs[0]))
    if root_gradient is not None and root.dynamic_axis is None:
        weights = _cntk.as_node(root_gradient)
        if root.shape is not None and weights.shape != root.shape:
            raise DataError("root_gradient has the shape %s, but %r has the shape %s; expected equal shapes"
                            % (weights.shape, root, root.shape))
        root, root_gradient = root * root_gradient, None
    gradients = _cntk.differentiate(root, wanted, arguments, root_gradient)
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


_eval.__name__ = "eval"
Function.eval = checked(_eval)
del Function._eval


# ---- composition ----

def _pairs(substitutions):
    return [] if not substitutions else [(key, _cntk.as_node(value)) for key, value in substitutions.items()]


@_method
def clone(self, method="share", substitutions=None):
    """A copy with other leaves or nodes.

    method: 'share' (parameters are shared), 'clone' (new parameters with the same values) or 'freeze' (constants).
    """
    if method not in ("share", "clone", "freeze"):
        raise ModelError("clone: the method is %r; expected 'share', 'clone' or 'freeze'" % (method,))
    return _cntk.copy(self, _pairs(substitutions), method)


@_method
def replace_placeholders(self, substitutions):
    """Replaces placeholders in place and returns the node. Closes loops, and checks them then."""
    _cntk.replace_placeholders(self, _pairs(substitutions))
    return self


@_method
def replace_placeholder(self, substitution):
    """Replaces the only placeholder in place and returns the node."""
    placeholders = self.placeholders
    if len(placeholders) != 1:
        raise ModelError("%r has %d placeholders; replace_placeholder needs one" % (self, len(placeholders)))
    return self.replace_placeholders({placeholders[0]: substitution})


def _bind(self, args, named):
    """Returns the substitutions for a call."""
    arguments = list(self.arguments) + list(self.placeholders)
    if len(args) > len(arguments):
        raise TypeError("%r has %d arguments, but %d values are given" % (self, len(arguments), len(args)))
    bound = dict(zip(arguments, args))
    for name, value in named.items():
        found = [node for node in arguments if node.given_name == name]
        if len(found) != 1:
            raise TypeError("%r has %s named '%s'" % (self, "no argument" if not found else "two arguments", name))
        if found[0] in bound:
            raise TypeError("%r got two values for the argument '%s'" % (self, name))
        bound[found[0]] = value
    return bound


@_method
def __call__(self, *args, **named):
    """With data for all arguments: the value. With a node among them: a copy with arguments replaced."""
    if len(args) == 1 and isinstance(args[0], dict) and not named:
        bound = dict(args[0])
    else:
        bound = _bind(self, args, named)
    if any(isinstance(value, Function) for value in bound.values()):
        return self.clone("share", bound)
    return self.eval(bound)


# ---- files ----

@_method
def save(self, path):
    """Writes a model file of the program."""
    _save(list(self.outputs), path)


def _save(nodes, path):
    changed = _cntk.save(nodes, os.fspath(path))
    if changed:
        warnings.warn("the file keeps other names: " + ", ".join(changed), stacklevel=3)


def load_model(path, dtype=None):
    """Loads a model file of the program: its output node, or all its roots combined."""
    path = os.fspath(path)
    if not os.path.exists(path):
        raise FileNotFoundError(2, "No such file or directory", path)
    roots = _cntk.load(path, dtype)
    return roots[0] if len(roots) == 1 else combine(roots)


def combine(*nodes, name=""):
    """Several nodes as one Function with `outputs`; eval gives a dict. Its own shape and value are those of the first.

    >>> import cntk as C
    >>> both = C.combine([C.constant(1, name='a'), C.constant(2, name='b')])
    >>> [each.name for each in both.outputs]
    ['a', 'b']
    """
    if len(nodes) == 1 and isinstance(nodes[0], (list, tuple)):
        nodes = nodes[0]
    outputs = [output for node in nodes for output in _cntk.as_node(node).outputs]
    if not outputs:
        raise ModelError("combine() needs at least one node")
    return _cntk.combine(tuple(outputs), name)


Function.outputs = property(lambda self: self.inputs if self.op_name == "Combine" else (self,),
                            doc="The nodes that combine() was given; else the node itself.")
check_calls(globals())
