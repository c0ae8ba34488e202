"""Layers against numpy, images, and operations written in Python."""
import numpy as np
import pytest

import cntk as C

F64 = np.float64
DATA = [np.random.RandomState(3).randn(t, 2) for t in (3, 1, 5)]


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def check(values, theirs):
    assert len(values) == len(theirs)
    for ours, each in zip(values, theirs):
        np.testing.assert_allclose(ours, each, atol=1e-12)


def test_dense():
    x = C.input(2, dtype=F64)
    layer = C.layers.Dense(3, C.tanh, name="d")
    y = layer(x)
    assert layer.W.shape == (2, 3) and layer.b.shape == (3,) and y.shape == (3,) and y.name == "d"
    np.testing.assert_allclose(y.eval(DATA[0][:, None][:, 0]), np.tanh(DATA[0] @ layer.W.value + layer.b.value))
    assert layer(2 * x).parameters == y.parameters
    wide = C.layers.Dense((2, 3))(C.input((4, 5), dtype=F64))
    assert wide.shape == (2, 3)
    with C.default_options(activation=C.relu, init=0, bias=False):
        plain = C.layers.Dense(3)
    assert len(plain(x).parameters) == 1 and plain(x).op_name == "RectifiedLinear"


@pytest.mark.parametrize("go_backwards", [False, True])
@pytest.mark.parametrize("kind", ["rnn", "lstm"])
def test_recurrences(kind, go_backwards):
    n = 3
    x = C.sequence.input_variable(2, dtype=F64)
    step = C.layers.LSTM(n) if kind == "lstm" else C.layers.RNNStep(n)
    h = C.layers.Recurrence(step, go_backwards)(x)
    assert h.shape == (n,) and h.dynamic_axis == x.dynamic_axis
    W, H = step.W.value, step.H.value
    step.b.value = np.linspace(-1, 1, step.b.shape[0])
    b = step.b.value
    expected = []
    for steps in DATA:
        state, c, states = np.zeros(n), np.zeros(n), []
        for value in steps[::-1] if go_backwards else steps:
            z = value @ W + state @ H + b
            if kind == "rnn":
                state = np.tanh(z)
            else:
                i, g, f, o = (z[k * n:(k + 1) * n] for k in range(4))
                c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
                state = sigmoid(o) * np.tanh(c)
            states.append(state)
        expected.append(states[::-1] if go_backwards else states)
    check(h.eval(DATA), expected)
    folded = C.layers.Fold(step, go_backwards)(x)
    np.testing.assert_allclose(folded.eval(DATA), [each[0 if go_backwards else -1] for each in expected])
    assert set(folded.parameters) == set(h.parameters)


def test_combinations():
    x = C.sequence.input_variable(4, is_sparse=True)
    model = C.layers.Sequential([C.layers.Embedding(3), C.layers.For(range(2), lambda i: C.layers.Dense(3 + i)),
                                 C.layers.Fold(C.layers.LSTM(5)), C.layers.Dropout(.5), C.layers.Dense(2)])
    y = model(x)
    assert y.shape == (2,) and y.dynamic_axis.name == "#" and len(model.parameters) == len(y.parameters) == 10
    assert y.eval(C.one_hot([[0, 1, 3], [2]], 4)).shape == (2, 2)
    label = C.input_variable(2)
    loss = C.cross_entropy_with_softmax(y, label)
    trainer = C.Trainer(y, loss, C.adam(y.parameters, .05))
    data = {x: C.one_hot([[0, 1, 3], [2], [1, 1]], 4), label: np.eye(2)[[0, 1, 0]]}
    first = None
    for _ in range(60):
        trainer.train_minibatch(data)
        first = first or trainer.previous_minibatch_loss_average
    assert trainer.previous_minibatch_loss_average < first / 3 and trainer.previous_minibatch_sample_count == 3


def test_images():
    image, kernels = np.random.randn(2, 5, 6), np.random.randn(3, 2, 3, 2)
    x = C.input((2, 5, 6), dtype=F64)
    y = C.convolution(C.constant(kernels, dtype=F64), x, auto_padding=False)
    expected = np.array([[[(image[:, r:r + 3, c:c + 2] * kernel).sum() for c in range(5)] for r in range(3)]
                         for kernel in kernels])
    assert y.shape == (3, 3, 5)
    np.testing.assert_allclose(y.eval([image])[0], expected)
    assert C.convolution(C.constant(kernels, dtype=F64), x, (2, 1)).shape == (3, 3, 6)
    pooled = C.pooling(x, "max", (3, 3), (2, 3))
    np.testing.assert_allclose(pooled.eval([image])[0],
                               [[[p[r:r + 3, c:c + 3].max() for c in (0, 3)] for r in (0, 2)] for p in image])
    mean = C.layers.AveragePooling((5, 6))(x)
    np.testing.assert_allclose(mean.eval([image])[0].ravel(), image.mean((1, 2)))
    layer = C.layers.Convolution((3, 2), 4, C.relu, pad=True)
    assert layer(x).shape == (4, 5, 6) and layer.W.shape == (4, 2, 3, 2)


def test_batch_normalization():
    x = C.input(3, dtype=F64)
    layer = C.layers.BatchNormalization(normalization_time_constant=0)
    y = layer(x)
    data = np.random.randn(50, 3) * [1, 2, 3] + 5
    trainer = C.Trainer(y, C.reduce_sum(y * 0 + layer.bias * 0), C.sgd(y.parameters, .0))
    _, values = trainer.train_minibatch({x: data}, outputs=[y])
    normal = (data - data.mean(0)) / data.std(0)
    np.testing.assert_allclose(values[y], normal, atol=1e-4)
    np.testing.assert_allclose(y.eval(data), normal, atol=1e-4)


def test_cosine_and_lookup():
    a, b = C.input(3, dtype=F64), C.input(3, dtype=F64)
    u, v = np.random.randn(4, 3), np.random.randn(4, 3)
    y = C.cosine_distance(a, b)
    assert y.shape == ()
    np.testing.assert_allclose(y.eval({a: u, b: v}),
                               (u * v).sum(1) / np.linalg.norm(u, axis=1) / np.linalg.norm(v, axis=1))


class Scaled(C.UserFunction):
    """x * w of a sample and a parameter."""

    def infer_shape(self, x, w):
        assert x == w
        return x

    def forward(self, x, w):
        self.columns = len(x)
        return x * w

    def backward(self, gradient, x, w):
        return gradient * w, (gradient * x).sum(0)


def test_user_functions(tmp_path):
    x = C.input(2, dtype=F64)
    w = C.parameter(2, init=3, dtype=F64)
    function = Scaled([x, w], name="scaled")
    y = C.user_function(function)
    assert y.name == "scaled" and y.shape == (2,) and y.op_name == "UserFunction"
    check(y.eval(DATA), [3 * each for each in DATA])
    assert function.columns == 9  # without gaps
    loss = C.reduce_sum(y * y)
    np.testing.assert_allclose(loss.grad(DATA, w), 6 * (np.concatenate(DATA) ** 2).sum(0))
    check(loss.grad(DATA, x), [18 * each for each in DATA])
    with pytest.raises(C.ModelError, match="scaled"):
        y.save(str(tmp_path / "model"))


class Faulty(C.UserFunction):
    def forward(self, x):
        raise KeyError("mine")


def test_errors_of_user_functions_pass_through():
    x = C.input(2)
    with pytest.raises(KeyError, match="mine"):
        C.user_function(Faulty([x])).eval([[1, 2]])
    np.testing.assert_array_equal((x + 1).eval([[1, 2]]), [[2, 3]])
