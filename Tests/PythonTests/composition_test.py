"""Calls, clones, placeholders, combination, saved and loaded models."""
import numpy as np
import pytest

import cntk as C

DATA = [np.random.RandomState(1).randn(t, 2) for t in (3, 1, 5)]


def test_calls():
    x = C.input(2, name="x", dtype=np.float64)
    w = C.parameter((2, 3), dtype=np.float64)
    f = x @ w
    values = np.random.randn(4, 2)
    np.testing.assert_allclose(f(values), values @ w.value)
    np.testing.assert_allclose(f(x=values), values @ w.value)
    y = C.input(2, name="y", dtype=np.float64)
    g = f(2 * y)
    assert g.arguments == (y,) and g.parameters == (w,)
    np.testing.assert_allclose(g.eval(values), 2 * values @ w.value)
    with pytest.raises(TypeError):
        f(values, values)


def test_clones():
    x = C.input(2, name="x", dtype=np.float64)
    w = C.parameter((2, 3), name="w", dtype=np.float64)
    f = C.tanh(x @ w, name="f")
    shared, own, frozen = f.clone(), f.clone("clone"), f.clone("freeze")
    assert shared.parameters == (w,) and own.parameters != (w,) and frozen.parameters == ()
    assert own.name == "f" and own.find_by_name("w").shape == (2, 3)
    before = w.value
    w.value = 0
    np.testing.assert_array_equal(own.parameters[0].value, before)
    np.testing.assert_array_equal(frozen.constants[0].value, before)
    other = f.clone("share", {w: C.constant(np.ones((2, 3)), dtype=np.float64)})
    np.testing.assert_allclose(other.eval([[1, 2]]), [np.tanh([3] * 3)])


def recurrence():
    x = C.input(2, name="x", dtype=np.float64)
    h = C.placeholder(name="h")
    W = C.parameter(init=[[.5, -1], [1, .25]], dtype=np.float64)
    f = C.tanh(x + C.sequence.past_value(h) @ W)
    return x, W, f


def expected(W):
    result = []
    for steps in DATA:
        state, states = np.zeros(2), []
        for step in steps:
            state = np.tanh(step + state @ W)
            states.append(state)
        result.append(states)
    return result


def check(values, theirs):
    for ours, each in zip(values, theirs):
        np.testing.assert_allclose(ours, each)


def test_loops_by_placeholder():
    x, W, f = recurrence()
    assert f.shape is None and len(f.placeholders) == 1
    assert f.replace_placeholder(f) is f
    assert f.shape == (2,) and f.placeholders == ()
    check(f.eval(DATA), expected(W.value))
    y = C.input(2, dtype=np.float64)
    check(f(2 * y).eval([each / 2 for each in DATA]), expected(W.value))
    check(f.clone("clone").eval(DATA), expected(W.value))


def test_wrong_placeholders():
    p = C.placeholder()
    with pytest.raises(C.ModelError, match="placeholder"):
        (p + 1).eval()
    x = C.input(2)
    f = p + x
    with pytest.raises(C.ModelError, match="no delay"):
        f.replace_placeholder(f)
        f.eval([[1, 2]])


def test_combination():
    x = C.input(2)
    a, b = x + 1, x * 2
    both = C.combine([a, b])
    values = both.eval({x: [[1, 2]]})
    assert both.outputs == (a, b)
    np.testing.assert_array_equal(values[a], [[2, 3]])
    np.testing.assert_array_equal(values[b], [[2, 4]])
    assert a.eval([[1, 2]], outputs=[b, a]).keys() == {a, b}


def test_models(tmp_path):
    path = str(tmp_path / "model")
    x, W, f = recurrence()
    f.replace_placeholder(f)
    out = C.softmax(f @ C.parameter((2, 3), dtype=np.float64), name="out")
    out.save(path)
    loaded = C.load_model(path, dtype=np.float64)
    assert loaded.name == "out" and loaded.tag == "output" and loaded.shape == (3,)
    check(loaded.eval(DATA), out.eval(DATA))
    assert loaded.find_by_name("x").shape == (2,) and len(loaded.parameters) == 2
    twice = loaded + out
    check(twice.eval({loaded.arguments[0]: DATA, x: DATA}), [2 * v for v in out.eval(DATA)])
    with pytest.raises(FileNotFoundError):
        C.load_model(path + "x")
    (tmp_path / "text").write_text("no model at all")
    with pytest.raises(C.ModelError):
        C.load_model(str(tmp_path / "text"))


def test_double_names():
    x = C.input(2, name="x")
    y = C.sigmoid(C.tanh(x, name="n"), name="n")
    assert len(y.find_all_with_name("n")) == 2 and y.find_by_name("nothing") is None
    with pytest.raises(C.ModelError, match="find_all_with_name"):
        y.find_by_name("n")


def test_a_combined_function_is_a_function(tmp_path):
    x, w = C.input(2, name='x'), C.parameter((2, 2), init=1, name='w')
    a, b = C.plus(x @ w, 1, name='a'), C.squared_error(x, 1, name='b')
    both = C.combine([a, b], name='both')
    assert isinstance(both, C.Function) and both.name == 'both' and a.outputs == (a,)
    assert both.outputs == (a, b) and both[1] is b and C.combine([both]).outputs == (a, b)
    both.tag = 'output'
    data = {x: [[1, 2]]}
    assert both.eval(data)[b] == 1 and set(both(data)) == {a, b} and len(C.eval(both, data)) == 2
    np.testing.assert_array_equal(both.grad(data, x), [[2 + 0, 2 + 2]])  # of the sum of all outputs
    assert both.parameters == (w,) and both.arguments == (x,) and both.find_by_name('a') is a
    copy = both.clone('clone')
    assert len(copy.outputs) == 2 and copy.parameters[0] is not w
    assert both(C.input(2, name='y')).arguments[0].name == 'y'
    both.save(tmp_path / 'both.model')
    assert {node.name for node in C.load_model(tmp_path / 'both.model').outputs} == {'a', 'b'}
    trainer = C.Trainer(None, C.combine([C.squared_error(a, 0), b]), C.sgd([w], 0))
    assert trainer.evaluation_function is b
