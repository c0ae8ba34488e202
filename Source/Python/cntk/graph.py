"""Pictures of graphs, for notebooks and files: `node` at the end of a notebook cell, or plot(node, 'graph.svg').

Shapes and colours are those of the program's plot action. Data flow upwards, from the leaves to the roots. An arc that
leaves a delay starts at a copy of the delay, so that a loop is drawn without a cycle.
"""
import os
from html import escape  # xml.sax.saxutils would load urllib, which takes longer than the rest of the package

from . import _cntk
from ._cntk import Function
from .errors import UsageError

_DELAYS = ("PastValue", "FutureValue")
_STYLES = {  # kind: DOT attributes, border and fill in SVG
    "parameter": ("shape=box, color=gray, style=\"filled, rounded\"", "gray", "lightgray"),
    "input": ("shape=ellipse, color=red", "red", "white"),
    "label": ("shape=diamond, color=brown, style=bold", "brown", "white"),
    "criterion": ("shape=doublecircle, color=red", "red", "white"),
    "statistics": ("shape=box, color=black, style=\"dashed, filled\", fillcolor=limegreen", "black", "limegreen"),
    "past": ("shape=box3d, color=lightgray", "lightgray", "white"),
    "future": ("shape=box3d, color=red", "red", "white"),
    "operation": ("shape=ellipse, color=blue", "blue", "white"),
}
_CHARACTER, _HEIGHT, _GAP, _STEP = 7, 36, 24, 78  # sizes in pixels: a character, a box, between boxes, between layers
_SWEEPS = 8


def _kind(node):
    if node.tag in ("criterion", "label"):
        return node.tag
    return {"LearnableParameter": "parameter", "InputValue": "input", "SparseInputValue": "input", "PastValue": "past",
            "FutureValue": "future", "Mean": "statistics", "InvStdDev": "statistics"}.get(node.op_name, "operation")


class _Graph:
    """Vertices and arcs of the picture. A vertex is a number; the copy of a delay is a vertex of its own."""

    def __init__(self, roots):
        self.labels, self.kinds, self.arcs = [], [], []
        nodes = list(dict.fromkeys(node for root in roots for node in _cntk.nodes_below(root)))
        numbers = {node: self._add(node) for node in nodes}
        copies = {}
        by_name = {node.given_name: node for node in nodes if node.given_name}
        for node in nodes:
            inputs = list(node.inputs)
            if node.op_name in _DELAYS and not inputs:  # a loop by name
                inputs = [by_name[name] for name in [str(node.attributes.get("target"))] if name in by_name]
            for each in inputs:
                if each.op_name in _DELAYS:
                    if each not in copies:
                        copies[each] = self._add(each)
                    self.arcs.append((copies[each], numbers[node]))
                elif each in numbers:
                    self.arcs.append((numbers[each], numbers[node]))

    def _add(self, node):
        shape = "(open)" if node.shape is None else str(node.shape)
        axis = " x " + node.dynamic_axis.name if node.dynamic_axis is not None else ""
        name = node.name if node.given_name or node.inputs or node.op_name in _DELAYS else ""
        if node._role == "constant" and node.shape == ():
            name = "%g" % node.value
        self.labels.append((name, node.op_name, shape + axis))
        self.kinds.append(_kind(node))
        return len(self.labels) - 1


# ---- DOT ----

def _quoted(text):
    return '"%s"' % text.replace("\\", "\\\\").replace('"', '\\"')


def _dot(graph):
    lines = ["strict digraph {", "  rankdir = BT;"]
    for number, (label, kind) in enumerate(zip(graph.labels, graph.kinds)):
        text = _quoted("\n".join(filter(None, label))).replace("\n", "\\n")
        lines.append("  n%d [%s, label=%s];" % (number, _STYLES[kind][0], text))
    lines += ["  n%d -> n%d;" % arc for arc in graph.arcs]
    return "\n".join(lines + ["}", ""])


# ---- SVG ----

def _layers(graph):
    """The layer of each vertex, counted from the leaves. A leaf stands right below its lowest user."""
    layer = [0] * len(graph.labels)
    users = [[] for _ in layer]
    waiting = [0] * len(layer)
    for source, target in graph.arcs:
        users[source].append(target)
        waiting[target] += 1
    leaves = ready = [vertex for vertex, count in enumerate(waiting) if count == 0]
    ready = list(ready)
    while ready:
        vertex = ready.pop()
        for user in users[vertex]:
            layer[user] = max(layer[user], layer[vertex] + 1)
            waiting[user] -= 1
            if waiting[user] == 0:
                ready.append(user)
    for leaf in leaves:
        if users[leaf]:
            layer[leaf] = min(layer[user] for user in users[leaf]) - 1
    return layer


def _bends(graph, layer):
    """Splits each arc at the layers between its ends. Returns the rows of vertices, and a chain of vertices for each arc.

    Vertices beyond those of the graph are bends.
    """
    rows = [[] for _ in range(max(layer, default=-1) + 1)]
    for vertex, row in enumerate(layer):
        rows[row].append(vertex)
    chains, count = [], len(layer)
    for source, target in dict.fromkeys(graph.arcs):
        chain = [source]
        for row in range(layer[source] + 1, layer[target]):
            rows[row].append(count)
            chain.append(count)
            count += 1
        chains.append(chain + [target])
    return rows, chains, count


def _order(rows, chains):
    """Sorts each row by the mean place of the neighbours below and above, in turns, which removes most crossings."""
    below, above = {}, {}
    for chain in chains:
        for source, target in zip(chain, chain[1:]):
            below.setdefault(target, []).append(source)
            above.setdefault(source, []).append(target)
    for sweep in range(_SWEEPS):
        neighbours = below if sweep % 2 == 0 else above
        place = {vertex: index / len(row) for row in rows for index, vertex in enumerate(row)}
        for row in rows if sweep % 2 == 0 else reversed(rows):
            def mean(vertex):
                near = neighbours.get(vertex)
                return sum(place[each] for each in near) / len(near) if near else place[vertex]
            row.sort(key=mean)
            place.update((vertex, index / len(row)) for index, vertex in enumerate(row))


def _svg(graph):
    layer = _layers(graph)
    rows, chains, count = _bends(graph, layer)
    _order(rows, chains)
    texts = [(" ".join(filter(None, label[:2])), label[2]) for label in graph.labels]
    width = [max(map(len, text)) * _CHARACTER + 20 for text in texts] + [10] * (count - len(texts))
    row_widths = [sum(width[vertex] + _GAP for vertex in row) for row in rows]
    whole = max(row_widths, default=0) + _GAP
    height = len(rows) * _STEP
    x, y = [0.0] * count, [0.0] * count
    for row, vertices in enumerate(rows):
        left = (whole - row_widths[row] + _GAP) / 2
        for vertex in vertices:
            x[vertex], y[vertex] = left + width[vertex] / 2, height - (row + 0.5) * _STEP
            left += width[vertex] + _GAP
    parts = ['<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="sans-serif" '
             'font-size="11" text-anchor="middle">' % (whole, height, whole, height),
             '<defs><marker id="cntk-arrow" markerWidth="8" markerHeight="8" refX="7" refY="3" orient="auto">'
             '<path d="M0,0 L7,3 L0,6 z"/></marker></defs>']
    for chain in chains:
        points = [(x[chain[0]], y[chain[0]] - _HEIGHT / 2)] + [(x[v], y[v]) for v in chain[1:-1]]
        points.append((x[chain[-1]], y[chain[-1]] + _HEIGHT / 2))
        parts.append('<polyline fill="none" stroke="black" marker-end="url(#cntk-arrow)" points="%s"/>'
                     % " ".join("%.0f,%.0f" % point for point in points))
    for vertex, (first, second) in enumerate(texts):
        parts.append(_shape(graph.kinds[vertex], x[vertex], y[vertex], width[vertex]))
        parts.append('<text x="%.0f" y="%.0f">%s</text><text x="%.0f" y="%.0f">%s</text>'
                     % (x[vertex], y[vertex] - 2, escape(first), x[vertex], y[vertex] + 11, escape(second)))
    return "\n".join(parts + ["</svg>", ""])


def _shape(kind, x, y, width):
    _, border, fill = _STYLES[kind]
    style = 'stroke="%s" fill="%s"%s' % (border, fill, ' stroke-dasharray="4"' if kind == "statistics" else "")
    if kind in ("input", "operation", "criterion"):
        thick = ' stroke-width="3"' if kind == "criterion" else ""
        return '<ellipse cx="%.0f" cy="%.0f" rx="%.0f" ry="%.0f" %s%s/>' % (x, y, width / 2, _HEIGHT / 2, style, thick)
    if kind == "label":
        points = ((x - width / 2, y), (x, y - _HEIGHT / 2 - 4), (x + width / 2, y), (x, y + _HEIGHT / 2 + 4))
        return '<polygon points="%s" stroke-width="2" %s/>' % (" ".join("%.0f,%.0f" % point for point in points), style)
    return '<rect x="%.0f" y="%.0f" width="%.0f" height="%d" rx="%d" %s/>' % (
        x - width / 2, y - _HEIGHT / 2, width, _HEIGHT, 8 if kind == "parameter" else 0, style)


# ---- for users ----

def plot(root, filename=None):
    """The picture of the graph below a node: SVG for a file name with .svg, DOT for .dot or without a file name.

    Returns the text, and writes it into the file if there is a name. The program dot of Graphviz draws DOT files.

    >>> import cntk as C
    >>> x = C.input(2, name='x')
    >>> 'digraph' in C.graph.plot(x * 2)
    True
    """
    roots = list(_cntk.as_node(root).outputs)
    ending = ".dot" if filename is None else os.path.splitext(os.fspath(filename))[1].lower()
    if ending not in (".dot", ".svg"):
        raise UsageError("plot: the file name is %r; expected one that ends with .dot or .svg" % os.fspath(filename))
    graph = _Graph(roots)
    text = _svg(graph) if ending == ".svg" else _dot(graph)
    if filename is not None:
        with open(filename, "w", encoding="utf-8") as file:
            file.write(text)
    return text


def _repr_svg_(self):
    """The picture that notebooks show."""
    return _svg(_Graph(self.outputs))


Function._repr_svg_ = _repr_svg_
