"""Leaves, operators, shapes and names: the listings L1 to L5 of the concepts page."""
import numpy as np
import pytest

import cntk as C

X = np.array([[10, 20, 30], [40, 50, 60]], np.float32)


def test_listing_of_operators():
    x = C.input((2, 3), name="features")
    c = C.constant(2)
    w = C.parameter((2, 3))
    assert (x * w).shape == (2, 3)
    for doubled in (x * c, x * 2):
        np.testing.assert_array_equal(doubled.eval({x: [X]}), [[[20, 40, 60], [80, 100, 120]]])
    product = x * [[1, 2, 3], [4, 5, 6]]
    np.testing.assert_array_equal(product.eval([X]), [[[10, 40, 90], [160, 250, 360]]])
    assert np.abs(w.value).max() <= 0.05 and np.unique(w.value).size == 6


@pytest.mark.parametrize("factor", [2, [2, 2]])
def test_listing_of_broadcasting(factor):
    values = C.eval(C.element_times([2, 3], factor))
    assert len(values) == 1
    np.testing.assert_array_equal(values[0], [[4, 6]])


def one_hidden_layer(X, W1, W2, B1, B2):
    T1 = W1 @ X
    S1 = C.sigmoid(T1 + B1, name="S1")
    return C.softmax(W2 @ S1 + B2), S1


def test_listing_of_a_network():
    X = C.input(3)
    W1 = C.parameter(init=[[.1, .2, .3], [-.4, .5, .6]])
    W2 = C.parameter(init=[[.7, -.8], [.9, 1]])
    O, S1 = one_hidden_layer(X, W1, W2, C.parameter(init=[.1, -.2]), C.parameter(init=[.05, -.05]))
    values = O.eval({X: [[.5, -1, 2], [1, 1, 1]]}, outputs=[O, S1])
    np.testing.assert_allclose(values[S1], [[.634136, .574443], [.668188, .622459]], atol=1e-6)
    np.testing.assert_allclose(values[O], [[.257152, .742848], [.239747, .760253]], atol=1e-6)
    assert O.shape == (2,) and O.find_by_name("S1") == S1


def test_names_and_tags():
    P1 = C.input(2) + 1
    S1 = C.sigmoid(P1, name="S1")
    assert S1.name == "S1" and int(P1.name) > 0
    P1.name = "P1"
    assert P1.name == "P1" and repr(S1) == "Sigmoid 'S1' (2,) x *"
    assert S1.tag is None
    S1.tag = "output"
    assert S1.tag == "output"
    with pytest.raises(C.ModelError, match="criterion, output, eval"):
        S1.tag = "outputs"
    assert S1.output is S1 and S1.parameters == () and len(S1.arguments) == 1 and len(S1.constants) == 1


@pytest.mark.parametrize("a, b", [((2, 3), (3,)), ((2, 1), (1, 3)), ((), (4,)), ((5, 1, 3), (2, 1))])
def test_broadcasting_is_numpys(a, b):
    left, right = np.random.rand(*a), np.random.rand(*b) + .5
    x = C.input(a, dtype=np.float64)
    for ours, theirs in ((x + right, left + right), (x - right, left - right), (x * right, left * right),
                         (right / x, right / left), (right - x, right - left)):
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(ours.eval([left])[0], theirs)


@pytest.mark.parametrize("a, b, rank", [((3,), (3,), 1), ((2, 3), (3,), 1), ((4, 2, 3), (3,), 1), ((3,), (3, 2), 1),
                                        ((2, 3), (3, 4), 1), ((2, 3, 4), (3, 4, 5), 1), ((2, 3), (3, 4, 5), 2)])
@pytest.mark.parametrize("data", ["left", "right", "both", "neither"])
def test_products_are_numpys(a, b, rank, data):
    left, right = np.random.rand(*a), np.random.rand(*b)
    expected = np.tensordot(left, right, 1 if len(b) == 1 else len(b) - rank)
    inputs = {}

    def operand(value, is_data):
        if not is_data:
            return C.constant(value, dtype=np.float64)
        node = C.input(value.shape, dtype=np.float64)
        inputs[node] = np.stack([value, 2 * value])
        return node

    product = C.times(operand(left, data in ("left", "both")), operand(right, data in ("right", "both")), rank)
    assert product.shape == expected.shape
    value = product.eval(inputs)
    if data == "neither":
        np.testing.assert_allclose(value, expected)
    else:
        np.testing.assert_allclose(value, [expected, (4 if data == "both" else 2) * expected])


def test_shapes_of_operations():
    value = np.arange(24, dtype=np.float64).reshape(2, 3, 4)
    x = C.input((2, 3, 4), dtype=np.float64)

    def same(ours, theirs):
        theirs = np.asarray(theirs)
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(ours.eval([value])[0], theirs)

    same(C.reshape(x, (6, -1)), value.reshape(6, 4))
    same(C.reshape(x, -1), value.ravel())
    same(C.transpose(x), value.T)
    same(C.transpose(x, (1, 2, 0)), value.transpose(1, 2, 0))
    same(C.swapaxes(x), value.swapaxes(0, 1))
    same(C.swapaxes(x, -1, 0), value.swapaxes(-1, 0))
    same(x[1], value[1:2])
    same(x[-1], value[-1:])
    same(x[0:2, 1:3], value[0:2, 1:3])
    same(C.slice(x, 2, -2, None), value[:, :, -2:])
    same(C.splice(x, 2 * x, axis=1), np.concatenate([value, 2 * value], 1))
    same(C.reduce_sum(x), value.sum())
    same(C.reduce_sum(x, 1), value.sum(1, keepdims=True))
    same(C.reduce_mean(x, -1, keepdims=False), value.mean(-1))
    for bad in (lambda: x[0:4:2], lambda: x[2], lambda: C.reshape(x, (5, -1)), lambda: C.transpose(x, (0, 0, 1)),
                lambda: C.splice(x, x[0], axis=1), lambda: C.reduce_sum(x, 3)):
        with pytest.raises(C.ModelError):
            bad()


def test_softmax_along_axes():
    value = np.random.randn(2, 3, 4)
    x = C.input((2, 3, 4), dtype=np.float64)
    for axis in (-1, 0, 1, 2):
        e = np.exp(value)
        expected = e / e.sum(axis, keepdims=True)
        np.testing.assert_allclose(C.softmax(x, axis).eval([value])[0], expected)
        np.testing.assert_allclose(C.log_softmax(x, axis).eval([value])[0], np.log(expected))
        np.testing.assert_array_equal(C.hardmax(x, axis).eval([value])[0], (value == value.max(axis, keepdims=True)))
    np.testing.assert_allclose(C.softmax([[1, 1, 2, 3]]).eval(), [[.082595, .082595, .224515, .610296]], atol=1e-6)


def test_errors_name_both_operands():
    a, b = C.input((2, 3), name="left"), C.parameter((2, 4), name="right")
    with pytest.raises(C.ModelError, match=r"'left' \(2, 3\) x \*.*'right' \(2, 4\)"):
        a + b
    with pytest.raises(C.ModelError):
        C.constant(np.ones((6, 2))) + C.constant(np.ones((3, 2)))
    with pytest.raises(TypeError, match="float32.*float64"):
        a + C.constant(1, dtype=np.float64)
    with pytest.raises(TypeError):
        a + "text"
    with pytest.raises(C.ModelError):
        C.input((2, 0))
    for wrong in (bool, len, iter, float):
        with pytest.raises(TypeError, match="symbolic"):
            wrong(a)
    with pytest.raises(TypeError, match="ambiguous"):
        C.input(2, dtype=float)
    assert isinstance(C.ModelError("x"), ValueError) and isinstance(C.DeviceError("x"), RuntimeError)


def test_values_of_parameters():
    w = C.parameter((2, 2), init=1)
    view = w.asarray()
    y = w * 3
    w.value = [[1, 2], [3, 4]]
    np.testing.assert_array_equal(view, [[1, 2], [3, 4]])
    np.testing.assert_array_equal(y.eval(), [[3, 6], [9, 12]])
    w.value = 5
    np.testing.assert_array_equal(y.eval(), np.full((2, 2), 15))
    copy = w.value
    copy[0, 0] = 7
    assert w.value[0, 0] == 5 and not view.flags.writeable
    with pytest.raises(C.ModelError, match=r"\(3,\)"):
        w.value = [1, 2, 3]
    with pytest.raises(ValueError):
        view[0, 0] = 1


def test_inferred_dimensions():
    w = C.parameter((0, 3))
    assert w.shape == (0, 3)
    assert (C.input(5) @ w).shape == (3,) and w.shape == (5, 3) and w.value.shape == (5, 3)


def test_import_star_keeps_builtins():
    names = {}
    exec("from cntk import *", names)
    assert "sigmoid" in names and "input" not in names and "eval" not in names


def test_operators_with_arrays():
    x = C.input(3)
    y = np.array([1, 2, 3]) * x
    assert y.op_name == "ElementTimes"
    np.testing.assert_array_equal((-abs(x)).eval([[1, -2, 3]]), [[-1, -2, -3]])


def test_squared_error_broadcasts():
    assert C.squared_error([4, 6], 1).eval() == 9 + 25
    x = C.input((2, 2))
    loss = C.squared_error(x, [1, 2])
    assert loss.shape == () and loss.eval([[[4, 6], [1, 1]], [[1, 2], [1, 3]]]) == 9 + 16 + 0 + 1 + 1
    np.testing.assert_array_equal(loss.grad([[[4, 6], [1, 1]]], x), [[[6, 8], [0, -2]]])
    with pytest.raises(C.ModelError, match="expected equal shapes"):
        C.squared_error([4, 6], [1, 2, 3])


def test_products_without_output_axes():
    a, b = np.random.rand(2, 3, 4), np.random.rand(3, 4)
    np.testing.assert_allclose(C.times(a, b, output_rank=0).eval(), np.tensordot(a, b, 2), rtol=1e-5)
    assert C.times([1, 2], [3, 4], output_rank=0).eval() == 11
    x = C.input((3, 4))
    np.testing.assert_allclose(C.times(x, b, output_rank=0).eval([b, 2 * b]), [(b * b).sum(), 2 * (b * b).sum()], rtol=1e-5)
    with pytest.raises(C.ModelError, match="output_rank of times is -1"):
        C.times(a, b, output_rank=-1)


def test_wrong_arguments():
    x = C.input(2, name='x')
    for call, text in ((lambda: C.input(2, is_sparce=True), "did you mean 'is_sparse'"),
                       (lambda: C.layers.Dense(3, activaton=C.relu), r"Dense\(\) has no argument 'activaton'"),
                       (lambda: x.clone(metod='share'), "did you mean 'method'"),
                       (lambda: C.sgd([C.parameter(2)], .1, l2_regularisation_weight=1), "'l2_regularization_weight'"),
                       (lambda: C.plus(x, 1, 2), r"plus\(\) got an argument of a wrong type: .*name=2"),
                       (lambda: C.past_value(x, [1]), r"initial_state=\[1\]"),
                       (lambda: C.set_seed('a'), "the seed is 'a'"),
                       (lambda: setattr(x, 'name', None), "the name of node 'x' .* is None"),
                       (lambda: 1 in x, "symbolic"),
                       (lambda: C.dropout(x), "dropout_rate")):
        with pytest.raises(TypeError, match=text) as caught:
            call()
        assert "cntk._cntk" not in str(caught.value)
    with pytest.raises(C.UsageError, match="seed is -1"):
        C.set_seed(-1)
    with pytest.raises(C.ModelError, match="the tag of node 'x' is 3"):
        x.tag = 3


def test_integers_of_all_kinds():
    assert C.input(np.array([2, 3])).shape == C.input((np.int64(2), 3)).shape == (2, 3)
    x = C.input((2, 3))
    assert x[np.int64(1)].shape == (1, 3) and x[:np.int64(1)].shape == (1, 3)
    for wrong in (np.array(2.5), np.array([2.5]), np.array(2), 2.5, [2**70], "2", None):
        with pytest.raises((TypeError, OverflowError)):
            C.input(wrong)
    for wrong in (np.array([0, 1]), 2**70, slice(2**70), slice(.5), 1.5):
        with pytest.raises((TypeError, OverflowError)):
            x[wrong]
