"""Pictures of graphs."""
import re
import xml.etree.ElementTree as ElementTree

import pytest

import cntk as C

SVG = "{http://www.w3.org/2000/svg}"


def labels(dot):
    return [text.split("\\n") for text in re.findall(r'label="([^"]*)"', dot)]


def arcs(dot):
    """The arcs as pairs of labels."""
    names = dict(re.findall(r'(n\d+) \[.*label="([^"]*)"', dot))
    return {(names[a].split("\\n")[0], names[b].split("\\n")[0]) for a, b in re.findall(r"(n\d+) -> (n\d+);", dot)}


def network():
    x = C.input((2, 3), name="x")
    y = C.sigmoid(C.plus(x, C.parameter((2, 3), name="W"), name="sum"), name="y")
    t = C.input((2, 3), name="t")
    t.tag = "label"
    loss = C.squared_error(y, t, name="loss")
    loss.tag = "criterion"
    return y, loss


def test_dot():
    _, loss = network()
    dot = C.graph.plot(loss)
    assert ["x", "InputValue", "(2, 3) x *"] in labels(dot) and ["W", "LearnableParameter", "(2, 3)"] in labels(dot)
    assert arcs(dot) == {("x", "sum"), ("W", "sum"), ("sum", "y"), ("y", "loss"), ("t", "loss")}
    assert len(re.findall("shape=diamond", dot)) == 1 and len(re.findall("shape=doublecircle", dot)) == 1


def test_constants_show_their_number():
    assert ["0.5", "LearnableParameter", "()"] in labels(C.graph.plot(C.input(2) * .5))


def test_loops_have_no_cycle():
    x = C.input(2, name="x")
    h = C.placeholder()
    f = C.tanh(C.plus(x, C.sequence.past_value(h, name="d"), name="sum"), name="f")
    f.replace_placeholder(f)
    assert arcs(C.graph.plot(f)) == {("x", "sum"), ("d", "sum"), ("sum", "f"), ("f", "d")}
    assert labels(C.graph.plot(f)).count(["d", "PastValue", "(2,) x *"]) == 2
    g = C.tanh(C.plus(x, C.future_value("g", 0, name="d"), name="sum"), name="g")
    assert arcs(C.graph.plot(g)) == {("x", "sum"), ("d", "sum"), ("sum", "g"), ("g", "d")}


def test_svg(tmp_path):
    y, loss = network()
    path = tmp_path / "graph.svg"
    text = C.graph.plot(loss, path)
    assert path.read_text() == text == loss._repr_svg_()
    root = ElementTree.fromstring(text)
    shapes = [len(root.findall(SVG + kind)) for kind in ("ellipse", "rect", "polygon")]
    assert shapes == [4, 1, 1]  # x, sum, y, loss; W; t
    width, height = float(root.get("width")), float(root.get("height"))
    for line in root.findall(SVG + "polyline"):
        points = [tuple(map(float, point.split(","))) for point in line.get("points").split()]
        assert all(0 <= px <= width and 0 <= py <= height for px, py in points)
        assert all(first[1] > second[1] for first, second in zip(points, points[1:]))  # data flow upwards
    assert len(root.findall(SVG + "polyline")) == 5
    # No two boxes overlap.
    places = [(float(e.get("cx")), float(e.get("cy")), float(e.get("rx"))) for e in root.findall(SVG + "ellipse")]
    for number, (x1, y1, r1) in enumerate(places):
        for x2, y2, r2 in places[number + 1:]:
            assert y1 != y2 or abs(x1 - x2) > r1 + r2


def test_text_is_escaped():
    x = C.input(2, name='<a & "b">')
    ElementTree.fromstring((x * 2)._repr_svg_())
    assert '\\"b\\"' in C.graph.plot(x * 2)


def test_combined_and_open_graphs():
    y, loss = network()
    assert ElementTree.fromstring(C.combine([y, loss])._repr_svg_()) is not None
    open_graph = C.tanh(C.placeholder(name="later"))
    assert "(open)" in C.graph.plot(open_graph)
    assert ElementTree.fromstring(open_graph._repr_svg_()) is not None


def test_wrong_file_name(tmp_path):
    y, _ = network()
    with pytest.raises(C.UsageError, match="png"):
        C.graph.plot(y, tmp_path / "graph.png")
    assert list(tmp_path.iterdir()) == []
