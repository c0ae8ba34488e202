"""Dynamic axes, delays, loops and operations on sequences: the listing L6, the examples E4 to E7."""
import numpy as np
import pytest

import cntk as C

R = [[1, 2, 3], [4, 5], [6], [7, 8, 9, 10]]
DATA = [np.array(each, np.float64) for each in R]


def check(values, expected, tolerance=1e-5):
    assert len(values) == len(expected)
    for ours, theirs in zip(values, expected):
        np.testing.assert_allclose(ours, theirs, atol=tolerance)


def sequences(name="R", axis=None, shape=()):
    return C.input(shape, axis, name=name, dtype=np.float64)


def test_delays():
    x = sequences()
    check(C.past_value(x, -1).eval(DATA), [[-1, 1, 2], [-1, 4], [-1], [-1, 7, 8, 9]])
    check(C.future_value(x, -2, time_step=2).eval(DATA), [[3, -2, -2], [-2, -2], [-2], [9, 10, -2, -2]])
    assert C.past_value(x).eval(DATA)[2] == pytest.approx([.1])
    assert C.sequence.past_value(x).eval(DATA)[2] == [0]
    check(C.past_value(x, 5).eval([1, 2, 3]), [5, 5, 5])


def loop(x, delay=C.past_value, initial=0, name="h"):
    return C.tanh(.5 * x + .8 * delay(name, initial), name=name)


FORWARD = [[.462117, .878622, .975882], [.964028, .997122], [.995055], [.998178, .999864, .999950, .999982]]
BACKWARD = [[.849108, .941185, .935409], [.992525, .991007], [.996682], [.999632, .999865, .999950, .999939]]


def test_loops_by_name():
    x = sequences()
    h = loop(x)
    assert h.shape == () and h.dynamic_axis.name == "*"
    check(h.eval(DATA), FORWARD)
    check(loop(x, C.future_value, .25).eval(DATA), BACKWARD)
    # The name may come later.
    late = C.tanh(.5 * x + .8 * C.past_value("later", 0))
    assert late.shape is None
    late.name = "later"
    assert late.shape == ()
    check(late.eval(DATA), FORWARD)
    # Nothing passes from one call to the next.
    check(h.eval(DATA[:1]), FORWARD[:1])


def test_loops_of_matrices():
    n = 3
    W, H = np.random.rand(2, n) - .5, np.random.rand(n, n) - .5
    x = sequences(shape=2)
    h = C.tanh(x @ C.constant(W, dtype=np.float64) + C.sequence.past_value("hidden") @ C.constant(H, dtype=np.float64),
               name="hidden")
    data = [np.random.randn(t, 2) for t in (3, 1, 5)]
    expected = []
    for steps in data:
        state, states = np.zeros(n), []
        for step in steps:
            state = np.tanh(step @ W + state @ H)
            states.append(state)
        expected.append(states)
    assert h.shape == (n,)
    check(h.eval(data), expected, 1e-12)


def test_faults_of_loops():
    x = sequences()
    with pytest.raises(C.ModelError, match="hiden.*did you mean 'hidden'"):
        C.tanh(x + C.past_value("hiden"), name="hidden").eval(DATA)
    both = C.tanh(x + C.past_value("h") + C.future_value("h"), name="other")
    with pytest.raises(C.ModelError):
        both.name = "h"
        both.eval(DATA)
    with pytest.raises(C.ModelError, match="no dynamic axis"):
        C.past_value(C.parameter(2))
    with pytest.raises(C.ModelError, match="one step a sequence"):
        C.past_value(C.input_variable(2))


def test_criterion_of_a_loop():
    x = sequences()
    a, b = C.parameter((), init=.5, dtype=np.float64), C.parameter((), init=.8, dtype=np.float64)
    h = C.tanh(a * x + b * C.past_value("h", 0), name="h")
    loss = C.squared_error(h, 1)
    assert loss.shape == () and loss.dynamic_axis is None
    assert loss.eval(DATA) == pytest.approx(.305962, abs=1e-6)
    gradients = loss.grad(DATA)
    assert gradients[a] == pytest.approx(-1.020750, abs=1e-6)
    assert gradients[b] == pytest.approx(-.027825, abs=1e-6)
    np.testing.assert_allclose(C.sequence.reduce_sum(h).eval(DATA), [2.316621, 1.961150, .995055, 3.997974], atol=1e-6)


def test_gradients_of_sequences_have_their_form():
    x = sequences()
    check((x * x).grad(DATA, x), [2 * np.array(each) for each in R])
    check((x * x).grad(DATA, x, root_gradient=DATA), [2 * np.array(each) ** 2 for each in R])


def test_axes():
    t = C.dynamic_axis("t")
    features, labels = sequences("features", t), sequences("labels")
    assert features.dynamic_axis == t == C.dynamic_axis("t") and C.dynamic_axis() != C.dynamic_axis()
    with pytest.raises(C.ModelError, match=r"'features' \(\) x t.*'labels' \(\) x \*.*reconcile_dynamic_axis"):
        features + labels
    both = features + C.reconcile_dynamic_axis(labels, features)
    assert both.dynamic_axis == t
    tens = [10 * each for each in DATA]
    check(both.eval({features: DATA, labels: tens}), [11 * each for each in DATA])
    tens[2] = np.array([1., 2.])
    with pytest.raises(C.DataError, match="sequence 2 has 2"):
        both.eval({features: DATA, labels: tens})
    assert C.input(2, dynamicAxis=t).dynamic_axis == t
    assert (features + C.parameter((), dtype=np.float64)).dynamic_axis == t


def test_ends_and_sums():
    x = C.sequence.input_variable((), dtype=np.float64)
    assert x.dynamic_axis.name == "sequence"
    for operation, expected in ((C.sequence.first, [1, 4, 6, 7]), (C.sequence.last, [3, 5, 6, 10]),
                                (C.sequence.reduce_sum, [6, 9, 6, 34]), (C.sequence.reduce_mean, [2, 4.5, 6, 8.5])):
        y = operation(x)
        assert y.dynamic_axis.name == "#" and y.shape == ()
        np.testing.assert_allclose(y.eval(DATA), expected)
    check(C.sequence.is_first(x).eval(DATA), [[1, 0, 0], [1, 0], [1], [1, 0, 0, 0]])
    check(C.sequence.is_last(x).eval(DATA), [[0, 0, 1], [0, 1], [1], [0, 0, 0, 1]])
    check(C.sequence.broadcast_as(C.sequence.last(x), x).eval(DATA), [[3] * 3, [5] * 2, [6], [10] * 4])


def test_values_of_whole_sequences_meet():
    x, y = C.sequence.input_variable(2, dtype=np.float64), C.input_variable(2, dtype=np.float64)
    data = [np.random.randn(t, 2) for t in (3, 1, 2)]
    batch = np.random.randn(3, 2)
    total = C.sequence.last(x) + y + C.sequence.first(x)
    np.testing.assert_allclose(total.eval({x: data, y: batch}), [d[-1] + b + d[0] for d, b in zip(data, batch)])
    loss = C.squared_error(C.sequence.last(x), y)
    assert loss.eval({x: data, y: batch}) == pytest.approx(sum(((d[-1] - b) ** 2).sum() for d, b in zip(data, batch)))


def test_selections():
    x = sequences()
    mark = sequences("mark")
    marks = [np.array(m, np.float64) for m in ([1, 0, 1], [0, 1], [1], [0, 0, 1, 1])]
    arguments = {x: DATA, mark: marks}
    picked = [[1, 3], [5], [6], [9, 10]]
    chosen = C.sequence.gather(x, mark)
    check(chosen.eval(arguments), picked)
    check(C.sequence.where(mark).eval(marks), [[0, 2], [1], [0], [2, 3]])
    doubled = chosen + C.sequence.gather(2 * x, mark)
    check(doubled.eval(arguments), [3 * np.array(p) for p in picked])
    check(C.sequence.scatter(chosen, mark).eval(arguments), [[1, 0, 3], [0, 5], [6], [0, 0, 9, 10]])
    with pytest.raises(C.DataError, match="sequence 1"):
        chosen.eval({x: DATA, mark: [marks[0], np.zeros(2), marks[2], marks[3]]})


def test_operations_on_sequences_with_nan_and_infinity():
    x = C.input(2, dynamic_axis='t')
    for odd in (np.nan, np.inf, -np.inf):
        data = [np.array([[1, 2], [odd, 3], [4, 5]]), np.array([[6, odd]])]
        np.testing.assert_array_equal(C.sequence.last(x).eval(data), [[4, 5], [6, odd]])
        np.testing.assert_array_equal(C.sequence.first(x).eval(data), [[1, 2], [6, odd]])
        assert [each.tolist() for each in C.sequence.is_last(x).eval(data)] == [[0, 0, 1], [1]]
        spread = C.sequence.broadcast_as(C.sequence.last(x), x).eval(data)
        np.testing.assert_array_equal(spread[0], [[4, 5]] * 3)


def test_errors_name_the_operation():
    x = C.sequence.input_variable(1, name="x")
    picked = C.sequence.gather(x, x, name="picked")
    with pytest.raises(C.DataError, match=r"Where 'picked.Where' picks no frame of sequence 1") as caught:
        picked.eval([[[1], [0]], [[0], [0]]])
    assert "AutoName" not in str(caught.value)
