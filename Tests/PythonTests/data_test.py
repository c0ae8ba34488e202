"""Forms of data and of results, and the errors of wrong data (tables of the forms of sheet 8.2)."""
import numpy as np
import pytest

import cntk as C

ROWS = np.arange(6, dtype=np.float32).reshape(3, 2)


def test_samples_give_one_array():
    x = C.input(2)
    for data in (ROWS, list(ROWS), ROWS.tolist(), ROWS.astype(np.int64), ROWS.T.copy().T):
        value = (x + 1).eval(data)
        assert isinstance(value, np.ndarray) and value.dtype == np.float32 and value.flags.c_contiguous
        np.testing.assert_array_equal(value, ROWS + 1)


def test_sequences_give_lists():
    x = C.input(2)
    for data in ([ROWS, ROWS[:1]], [ROWS.tolist(), ROWS[:1].tolist()]):
        values = (x * 2).eval(data)
        assert isinstance(values, list) and [v.shape for v in values] == [(3, 2), (1, 2)]
        np.testing.assert_array_equal(values[0], 2 * ROWS)
    assert isinstance((x * 2).eval(np.stack([ROWS, ROWS])), list)


def test_eval_of_the_module_always_gives_lists():
    x = C.input(2)
    values = C.eval(x + 0, {x: ROWS})
    assert [v.tolist() for v in values] == [[row] for row in ROWS.tolist()]
    both = C.eval([x + 1, x * 2], {x: ROWS})
    assert len(both) == 2 and len(both[0]) == 3


def test_inputs_of_numbers():
    x = C.input(())
    np.testing.assert_array_equal((x + 1).eval([1, 2, 3]), [2, 3, 4])
    values = (x + 1).eval([[1, 2, 3], [4, 5]])
    assert [v.tolist() for v in values] == [[2, 3, 4], [5, 6]]


def test_results_belong_to_the_caller():
    x = C.input(2)
    y = x * 1
    first = y.eval(ROWS)
    first[:] = 9
    np.testing.assert_array_equal(y.eval(ROWS), ROWS)
    before = ROWS.copy()
    (x @ C.parameter((2, 2))).grad({x: ROWS})
    np.testing.assert_array_equal(before, ROWS)


def test_one_hot_and_sparse():
    scipy = pytest.importorskip("scipy.sparse")
    for is_sparse in (True, False):
        x = C.input(4, is_sparse=is_sparse)
        w = C.constant(np.arange(8).reshape(4, 2))
        y = x @ w
        np.testing.assert_array_equal(y.eval(C.one_hot([3, 0], 4)), [[6, 7], [0, 1]])
        values = y.eval(C.one_hot([[3, 0], [1]], 4))
        assert [v.tolist() for v in values] == [[[6, 7], [0, 1]], [[2, 3]]]
        matrix = scipy.csr_matrix([[0, 2, 0, 0], [1, 0, 0, 1]])
        np.testing.assert_array_equal(y.eval(matrix), [[4, 6], [6, 8]])
        values = y.eval([matrix, matrix[:1]])
        assert [v.tolist() for v in values] == [[[4, 6], [6, 8]], [[4, 6]]]
    with pytest.raises(C.DataError):
        C.one_hot([4], 4)


def test_wrong_data():
    x, t = C.input(2, name="features"), C.dynamic_axis("t")
    y = x + 1
    for data in (np.ones(2), np.ones((3, 3)), [np.ones((2, 3))], np.ones((1, 1, 1, 2)), [np.ones((0, 2))],
                 [[1, 2], [3]]):
        with pytest.raises(C.DataError, match=r"'features'"):
            y.eval(data)
    for data in ("text", [["a", "b"]], np.ones((2, 2)) * 1j):
        with pytest.raises(TypeError):
            y.eval(data)
    named = C.input(2, t, name="words")
    with pytest.raises(C.DataError, match="list"):
        (named + 1).eval(np.ones((3, 2)))
    with pytest.raises(C.DataError, match="features"):
        y.eval({"feature": ROWS})
    with pytest.raises(C.DataError, match="no input"):
        y.eval({x: ROWS, C.input(3, name="other"): np.ones((3, 3))})
    with pytest.raises(C.DataError, match="has no data"):
        y.eval()
    np.testing.assert_array_equal(y.eval({"features": ROWS}), ROWS + 1)


def test_lengths_must_agree():
    a, b = C.input(1, name="a"), C.input(1, name="b")
    with pytest.raises(C.DataError, match="'a'.*'b'.*sequence 1"):
        (a + b).eval({a: [np.ones((2, 1)), np.ones((3, 1))], b: [np.ones((2, 1)), np.ones((2, 1))]})
    with pytest.raises(C.DataError):
        (a + b).eval({a: np.ones((2, 1)), b: np.ones((3, 1))})


def test_inputs_with_data():
    x = C.input_numpy(ROWS)
    np.testing.assert_array_equal((x + 1).eval(), ROWS + 1)
    np.testing.assert_array_equal((x + 1).eval({x: ROWS[:1]}), ROWS[:1] + 1)
    s = C.input_numpy([ROWS, ROWS[:2]], C.dynamic_axis("s"))
    assert s.shape == (2,) and [v.shape for v in (s * 1).eval()] == [(3, 2), (2, 2)]


@pytest.mark.parametrize("leaf", ["w", "x", "both"])
def test_gradients(leaf):
    x, w = C.input(2, dtype=np.float64), C.parameter(init=[[1, 2, 3], [4, 5, 6]], dtype=np.float64)
    y = C.tanh(x @ w / 10)
    value = np.tanh(ROWS @ w.value / 10)
    inner = (1 - value ** 2) / 10
    expected = {"w": ROWS.T @ inner, "x": inner @ w.value.T}
    if leaf == "both":
        gradients = y.grad({x: ROWS}, [w, x])
        np.testing.assert_allclose(gradients[w], expected["w"])
        np.testing.assert_allclose(gradients[x], expected["x"])
    else:
        np.testing.assert_allclose(y.grad({x: ROWS}, w if leaf == "w" else x), expected[leaf])
    weights = np.arange(9.).reshape(3, 3)
    np.testing.assert_allclose(y.grad({x: ROWS}, w, root_gradient=weights), ROWS.T @ (inner * weights))
    assert set(y.grad({x: ROWS})) == {w}
    with pytest.raises(C.UsageError):
        y.grad({x: ROWS}, C.parameter(1))


def test_frames_beside_sequences_of_one_step():
    a, b = C.input(2, name='a'), C.input(2, name='b')
    frames = np.arange(6).reshape(3, 2)
    steps = [np.full((1, 2), 10 * each) for each in range(3)]
    expected = [[[0, 1]], [[12, 13]], [[24, 25]]]
    for values in ((a + b).eval({a: frames, b: steps}), (a + b).eval({a: steps, b: frames})):
        assert [value.tolist() for value in values] == expected
    with pytest.raises(C.DataError, match="sequence 1 has 1 step of one and 2 of the other"):
        (a + b).eval({a: frames, b: [np.ones((1, 2)), np.ones((2, 2)), np.ones((1, 2))]})


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
def test_gaps_of_ragged_data_are_cleared(dtype):
    x = C.input(2, dynamic_axis='t')
    total, w = C.sequence.reduce_sum(x), C.parameter((2, 2), init=1)
    large = [np.full((length, 2), 7, dtype) for length in (5, 3, 4)]
    small = [np.arange(2 * length).reshape(length, 2).astype(dtype) for length in (3, 1, 2)]
    for data in (large, small, [each[::-1] for each in small]):
        np.testing.assert_array_equal(total.eval(data), [each.sum(0) for each in data])
        gradient = C.squared_error(x @ w, 0).grad(data, w)
        all_steps = np.concatenate(data).astype(float)
        np.testing.assert_allclose(gradient, 2 * all_steps.T @ (all_steps @ np.ones((2, 2))), rtol=1e-5)
    mixed = [small[0].astype(np.float32), small[1].astype(np.float64)]
    np.testing.assert_array_equal(total.eval(mixed), [each.sum(0) for each in mixed])
    assert [each.tolist() for each in (x * 1).eval([[[1, 2], [3, 4]], [[5, 6]]])] == [[[1, 2], [3, 4]], [[5, 6]]]


def test_no_sequences():
    x = C.input(2, dynamic_axis='t', name='x')
    for nothing in ([], np.zeros((0, 3, 2)), np.zeros((2, 0, 2))):
        with pytest.raises(C.DataError, match="'x' of shape"):
            (x * 1).eval({x: nothing})


def test_root_gradients_without_an_axis():
    x, w = C.input(2), C.parameter(2, init=3)
    np.testing.assert_array_equal((w * w).grad(wrt=w, root_gradient=[1, 2]), [6, 12])
    loss = C.squared_error(x * w, 0)
    data = {x: [[1, 2]]}
    np.testing.assert_array_equal(loss.grad(data, w, root_gradient=2), 2 * loss.grad(data, w))
    with pytest.raises(C.DataError, match="expected equal shapes"):
        (w * w).grad(wrt=w, root_gradient=[1, 2, 3])


def test_ids_of_an_empty_sequence():
    z = C.input(4, is_sparse=True, name='z')
    with pytest.raises(C.DataError, match="sequence 0 has no steps"):
        C.times(z, np.ones((4, 2))).eval({z: C.one_hot([[], [1]], 4)})


def forms_of(array):
    """The same numbers in other types, orders and strides."""
    wide = np.zeros((array.shape[0] * 2, *array.shape[1:-1], array.shape[-1] * 3))
    wide[::2, ..., 1::3] = array
    yield from (array.astype(dtype) for dtype in (np.float32, np.float64, np.int16, ">f8"))
    yield from (np.asfortranarray(array.astype(dtype)) for dtype in (np.float32, np.float64))
    yield wide[::2, ..., 1::3]
    yield array[::-1, ..., ::-1].copy()[::-1, ..., ::-1]
    yield np.moveaxis(np.moveaxis(array, 0, -1).copy(), -1, 0)
    yield np.frombuffer(b"x" + array.tobytes(), np.uint8)[1:].view(array.dtype).reshape(array.shape)  # not aligned


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(), (1,), (2,), (35,), (2, 3), (3, 1, 2)])
def test_layouts_of_arrays(shape, dtype):
    random = np.random.default_rng(1)
    long, short = (random.integers(-9, 9, (steps, *shape)).astype(np.float32) for steps in (37, 2))
    x, t = C.input(shape, dtype=dtype), C.input(shape, dynamic_axis="t", dtype=dtype)
    forms = list(forms_of(long)) if shape else [long, long.astype(np.float64), np.repeat(long, 2)[::2], long[::-1].copy()[::-1]]
    for form in forms:
        np.testing.assert_array_equal((x * 1).eval({x: form}), long)
        for value, expected in zip((t * 1).eval({t: [form, short, form[:5]]}), (long, short, long[:5])):
            np.testing.assert_array_equal(value, expected)
    equal = np.stack([long, long + 1])
    for form in (equal, equal.astype(np.float64), np.asfortranarray(equal), equal[:, ::-1].copy()[:, ::-1]):
        np.testing.assert_array_equal((t * 1).eval({t: form}), equal)
    same = np.broadcast_to(short[0], (4, *shape))
    np.testing.assert_array_equal((t * 1).eval({t: [same]})[0], same)
