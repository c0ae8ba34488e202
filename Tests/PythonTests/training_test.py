"""Criteria, learners, Trainer, readers and contexts: the examples E8 to E13."""
import logging
import os
import subprocess

import numpy as np
import pytest

import cntk as C

SHARED = os.environ.get("CNTK_TEST_SHARED", "../shared")
X = np.array([[1, 2], [-1, .5], [3, -2], [.5, .5]])
TARGETS = X @ [2, -1] + .25


def regression():
    x, t = C.input(2, name="x", dtype=np.float64), C.input((), name="t", dtype=np.float64)
    w, b = C.parameter(2, init=0, dtype=np.float64, name="w"), C.parameter((), init=0, dtype=np.float64, name="b")
    return x, t, w, b, C.squared_error(x @ w + b, t)


def test_criteria():
    assert C.squared_error([4, 6], [2, 1]).eval() == 29
    assert C.cross_entropy_with_softmax([1, 2, 3, 4], [.35, .15, .05, .45]).eval() == pytest.approx(1.840190, abs=1e-6)
    assert C.classification_error([1, 2, 3, 4], [0, 0, 1, 0]).eval() == 1
    assert C.classification_error([1, 2, 3, 4], [0, 0, 1, 0], topN=2).eval() == 0
    assert C.cross_entropy_with_softmax(output_vector=[1., 2.], target_vector=[0, 1]).shape == ()
    with pytest.raises(C.ModelError):
        C.squared_error([1, 2, 3], [1, 2])


def test_sgd():
    x, t, w, b, loss = regression()
    trainer = C.Trainer(None, loss, C.sgd([w, b], .05))
    losses = []
    for step in range(4):
        assert trainer.train_minibatch({x: X, t: TARGETS}) is True
        losses.append(trainer.previous_minibatch_loss_average)
        if step == 0:
            np.testing.assert_allclose(w.value, [.690625, -.41875])
            assert b.value == pytest.approx(.175)
    np.testing.assert_allclose(losses, [18.4375, 7.312828, 2.911714, 1.169677], atol=1e-6)
    np.testing.assert_allclose(w.value, [1.579875, -.940694], atol=1e-6)
    assert b.value == pytest.approx(.386067, abs=1e-6)
    assert trainer.total_number_of_samples_seen == 16 and trainer.previous_minibatch_sample_count == 4


def test_momentum():
    x, t, w, b, loss = regression()
    trainer = C.Trainer(None, loss, [C.momentum_sgd([w, b], .05, .8)])
    for rows, expected, bias in ((slice(0, 3), [.181667, -.114167], .041667), (slice(3, 4), [.333746, -.198754], .088492),
                                 (slice(0, 4), [.568989, -.335077], .154335)):
        trainer.train_minibatch({x: X[rows], t: TARGETS[rows]})
        np.testing.assert_allclose(w.value, expected, atol=1e-6)
        assert b.value == pytest.approx(bias, abs=1e-6)


def test_adam():
    x, t, w, b, loss = regression()
    trainer = C.Trainer(None, loss, C.adam([w, b], .05, variance_momentum=.99))
    for _ in range(4):
        trainer.train_minibatch({x: X, t: TARGETS})
    np.testing.assert_allclose(w.value, [.199561, -.199550], atol=1e-6)
    assert b.value == pytest.approx(.199363, abs=1e-6)


@pytest.mark.parametrize("nesterov", [False, True])
def test_formulas(nesterov):
    x, t, w, b, loss = regression()
    trainer = C.Trainer(None, loss, [C.momentum_sgd([w], .1, .7, nesterov, l2_regularization_weight=.01),
                                     C.adagrad([b], lr_per_sample=.2)])
    W, S, B, A = np.zeros(2), np.zeros(2), 0., 0.
    for rows in (slice(0, 3), slice(1, 4)):
        trainer.train_minibatch({x: X[rows], t: TARGETS[rows]})
        error = X[rows] @ W + B - TARGETS[rows]
        G = 2 * X[rows].T @ error + .01 * 3 * W
        S = .7 * S + .3 * .1 / 3 * G
        W = W - (.7 * S + .3 * .1 / 3 * G if nesterov else S)
        g = 2 * error.sum()
        A += g * g
        B -= .2 * g  # q / mean(q) of one element
        np.testing.assert_allclose(w.value, W, atol=1e-12)
        assert b.value == pytest.approx(B, abs=1e-9)


def test_outputs_and_test():
    x, t, w, b, loss = regression()
    model = x @ w + b
    metric = C.squared_error(model, t)
    trainer = C.Trainer(model, (loss, metric), C.sgd([w, b], .05))
    before = trainer.test_minibatch({x: X, t: TARGETS})
    assert before == pytest.approx(18.4375) and (w.value == 0).all()
    trained, values = trainer.train_minibatch({x: X, t: TARGETS}, outputs=[model])
    assert trained and (values[model] == 0).all()
    trainer.train_minibatch({x: X, t: TARGETS})
    assert trainer.previous_minibatch_evaluation_average == pytest.approx(7.312828, abs=1e-6)


def test_dropout_trains_only():
    x = C.input(1000)
    w = C.parameter((1000,), init=1)
    y = C.dropout(x, .5) * w
    np.testing.assert_array_equal(y.eval(np.ones((1, 1000))), np.ones((1, 1000)))
    trainer = C.Trainer(y, C.reduce_sum(y), C.sgd(w, lr_per_sample=0))
    _, values = trainer.train_minibatch({x: np.ones((1, 1000), np.float32)}, outputs=[y])
    assert 350 < (values[y] == 0).sum() < 650 and set(np.unique(values[y])) == {0, 2}


def test_wrong_trainings():
    x, t, w, b, loss = regression()
    with pytest.raises(C.UsageError):
        C.sgd([w])
    with pytest.raises(C.UsageError):
        C.sgd([C.constant(1)], .1)
    with pytest.raises(C.UsageError, match="does not depend"):
        C.Trainer(None, loss, C.sgd([C.parameter(2, dtype=np.float64)], .1))
    trainer = C.Trainer(None, loss, C.sgd([w], .1))
    with pytest.raises(C.ModelError, match="not finite|nan"):
        trainer.train_minibatch({x: [[np.nan, 0]], t: [0]})
    assert (w.value == 0).all()
    trainer.train_minibatch({x: X, t: TARGETS})
    assert np.isfinite(w.value).all()


@pytest.mark.parametrize("make", [
    lambda w: C.schedule([.1, .2], epoch_size=-1),
    lambda w: C.schedule("0.1*-2:0.1"),
    lambda w: C.schedule([.1, -.1]),
    lambda w: C.sgd([w], .1).reset_learning_rate(-1),
    lambda w: C.sgd([w], .1, l1_regularization_weight=-1),
    lambda w: C.sgd([w], .1, l2_regularization_weight=np.nan),
    lambda w: C.sgd([w], .1, gradient_clipping_threshold_per_sample=0),
    lambda w: C.momentum_sgd([w], .1, 1),
    lambda w: C.adam([w], .1, variance_momentum=1),
    lambda w: C.adam([w], .1, epsilon=-1),
    lambda w: C.rmsprop([w], .1, gamma=2),
    lambda w: C.rmsprop([w], .1, min=2, max=1),
    lambda w: C.LocalExecutionContext(device_id=-2),
    lambda w: C.initializer.normal(-1),
    lambda w: C.initializer.uniform(np.nan),
    lambda w: C.initializer.he_normal(np.inf),
    lambda w: C.initializer.glorot_uniform(seed=-1)])
def test_values_out_of_range(make):
    with pytest.raises(C.UsageError, match="expected"):
        make(C.parameter(2))


def test_multipliers_of_rates():
    x, t, w, b, loss = regression()
    b.learning_rate_multiplier = 0
    trainer = C.Trainer(None, loss, C.sgd([w, b], .05))
    trainer.train_minibatch({x: X, t: TARGETS})
    np.testing.assert_allclose(w.value, [.690625, -.41875], rtol=1e-6)
    assert b.value == 0
    before = w.value
    w.learning_rate_multiplier, b.learning_rate_multiplier = 0, .5
    trainer.train_minibatch({x: X, t: TARGETS})
    np.testing.assert_array_equal(w.value, before)
    np.testing.assert_allclose(b.value, -.025 * 2 * (X @ before - TARGETS).mean(), rtol=1e-5)


def test_a_wrong_rate_changes_nothing():
    x, t, w, b, loss = regression()
    learner = C.sgd([w, b], .1)
    trainer = C.Trainer(None, loss, learner)
    with pytest.raises(C.UsageError):
        learner.reset_learning_rate(np.nan)
    assert learner.learning_rate == .1
    reader = C.reader.NumpyReader({x: X, t: TARGETS})
    for options in (dict(minibatch_size=0), dict(epochs=-1)):
        with pytest.raises(C.UsageError):
            trainer.train(reader, **options)
    with pytest.raises(C.UsageError):
        next(reader.minibatches(2, epoch=-1))


def test_readers_of_arrays_name_their_inputs():
    x, t = C.input(2, name="Words"), C.input(2, name="words")
    with pytest.raises(C.DataError, match="'Words' have 1 sequence and those of 'words_2' 2"):
        C.reader.NumpyReader({x: [[1, 2]], t: [[1, 2], [3, 4]]})
    minibatch = next(C.reader.NumpyReader({x: [[1, 2]], t: [[3, 4]]}).minibatches(1))
    assert (x - t).eval(minibatch).tolist() == [[-2, -2]]


def test_rates():
    x, t, w, b, loss = regression()
    learner = C.sgd([w, b], C.schedule([.05, 0], epoch_size=8))
    trainer = C.Trainer(None, loss, learner)
    for _ in range(3):
        trainer.train_minibatch({x: X, t: TARGETS})
    assert learner.learning_rate == 0
    learner.reset_learning_rate(.01)
    assert learner.learning_rate == .01


def test_checkpoints(tmp_path):
    path = str(tmp_path / "model")

    def make():
        x, t, w, b, loss = regression()
        return x, t, w, C.Trainer(None, loss, C.adam([w, b], .05))

    x, t, w, trainer = make()
    for _ in range(3):
        trainer.train_minibatch({x: X, t: TARGETS})
    trainer.save_checkpoint(path)
    for _ in range(3):
        trainer.train_minibatch({x: X, t: TARGETS})
    expected = w.value
    x, t, w, trainer = make()
    trainer.restore_from_checkpoint(path)
    assert trainer.total_number_of_samples_seen == 12
    for _ in range(3):
        trainer.train_minibatch({x: X, t: TARGETS})
    np.testing.assert_array_equal(w.value, expected)
    with pytest.raises(FileNotFoundError):
        trainer.restore_from_checkpoint(str(tmp_path / "other"))


class Writer:
    def __init__(self):
        self.epochs, self.minibatches = [], []

    def on_minibatch(self, *args):
        self.minibatches.append(args)

    def on_epoch(self, *args):
        self.epochs.append(args)


class PythonSource:
    def __init__(self, x, t):
        self.inputs = x, t

    def minibatches(self, size, epoch):
        for first in range(0, 4, size):
            yield {self.inputs[0]: X[first:first + size], self.inputs[1]: TARGETS[first:first + size]}


def test_sources():
    results = []
    for kind in ("numpy", "python"):
        x, t, w, b, loss = regression()
        source = C.reader.NumpyReader({x: X, t: TARGETS}) if kind == "numpy" else PythonSource(x, t)
        writer = Writer()
        C.Trainer(None, loss, C.sgd([w, b], .05), progress_writers=[writer]).train(source, 2, epochs=3)
        results.append(w.value)
        assert [(index, samples) for index, _, _, samples, _ in writer.epochs] == [(1, 4), (2, 4), (3, 4)]
    np.testing.assert_array_equal(*results)


def test_numpy_reader():
    x, y = C.input(1, name="x"), C.input_variable(2, name="y")
    sequences = [np.full((n, 1), n) for n in (3, 1, 2, 4)]
    labels = np.arange(8).reshape(4, 2)
    reader = C.reader.NumpyReader({x: sequences, y: labels})
    minibatches = list(reader.minibatches(4))
    assert [m[x].num_sequences for m in minibatches] == [2, 1, 1] and minibatches[0][x].num_samples == 4
    np.testing.assert_array_equal(minibatches[0][y].asarray(), labels[:2])
    np.testing.assert_array_equal(minibatches[0][x].asarray()[0], sequences[0])
    values = (x * 2).eval(minibatches[0])
    np.testing.assert_array_equal(values[0], 2 * sequences[0])
    shuffled = C.reader.NumpyReader({y: labels}, randomize=True)
    first, again, other = ([m[y].asarray().tolist() for m in shuffled.minibatches(1, e)] for e in (0, 0, 1))
    assert first == again and sorted(map(str, first)) == sorted(map(str, other))


CTF = """0 |words 1:1 |tag 1 0
0 |words 3:1 |tag 0 1
1 |words 0:1 |tag 1 0
"""


def test_text_format_reader(tmp_path):
    path = tmp_path / "data.txt"
    path.write_text(CTF)
    words, tags = C.input(4, is_sparse=True, name="words"), C.input(2, name="tag")
    reader = C.reader.CNTKTextFormatReader(str(path), randomize=False).map(words, format="sparse").map(tags)
    minibatch = next(iter(reader.minibatches(10)))
    assert minibatch[words].is_sparse and minibatch[words].num_samples == 3
    assert [v.tolist() for v in minibatch[tags].asarray()] == [[[1, 0], [0, 1]], [[1, 0]]]
    values = (words @ C.constant(np.arange(4).reshape(4, 1))).eval(minibatch)
    assert [v.tolist() for v in values] == [[[1], [3]], [[0]]]
    with pytest.raises(FileNotFoundError):
        C.reader.CNTKTextFormatReader(str(tmp_path / "none.txt"))
    with pytest.raises(TypeError, match="maxErrors"):
        C.reader.CNTKTextFormatReader(str(path), maxError=1)
    path.write_text("|words 1:1 |tag 1 x\n")
    reader = C.reader.CNTKTextFormatReader(str(path)).map(words, format="sparse").map(tags)
    with pytest.raises(C.DataError, match="data.txt"):
        list(reader.minibatches(10))


def test_the_log_of_a_reader(tmp_path, caplog, capfd):
    (tmp_path / "data.txt").write_text("1 2 0\n3 4 1\n")
    reader = C.reader.Reader("UCIFastReader", file=tmp_path / "data.txt", features=dict(dim=2, start=0))
    x, w = C.input(2, name="features"), C.parameter(2)
    reader.map(x)
    with caplog.at_level("INFO", "cntk"):
        C.Trainer(None, C.squared_error(x * w, 0), C.sgd([w], .1)).train(reader)
    assert "2 records found" in caplog.text
    assert capfd.readouterr() == ("", "")


def test_whole_training_of_a_line():
    x = C.input_numpy(np.array([1, 2, 3, 4]).reshape(4, 1), name="x")
    w = C.parameter((1,), init=1)
    loss = C.squared_error(w * x, [0], name="loss")
    loss.tag = "criterion"
    with C.LocalExecutionContext("line") as context:
        context.train(loss, C.SGDParams(minibatch_size=2, learning_rates_per_mb=.02, momentum_per_mb=.5, max_epochs=2))
    assert w.value[0] == pytest.approx(.308594, abs=1e-6)


HELLO = os.path.join(SHARED, "data", "simple2d", "helloworld")


def hello_world():
    x, t = C.input(2, name="features"), C.input(3, name="labels")
    model = x @ C.parameter((2, 3), init=0) + C.parameter(3, init=0)
    model.tag = "output"
    loss = C.cross_entropy_with_softmax(model, t, name="ce")
    loss.tag = "criterion"
    error = C.squared_error(model, t, name="se")
    error.tag = "eval"

    def reader(part):
        path = os.path.join(HELLO, part + "-3Classes_cntk_text.txt")
        return C.reader.CNTKTextFormatReader(path, randomize=False).map(x).map(t)

    return [loss, error, model], reader


@pytest.mark.skipif(not os.path.isdir(HELLO), reason="no shared test data")
def test_the_example_of_the_era(caplog):
    roots, reader = hello_world()
    params = C.SGDParams(minibatch_size=25, learning_rates_per_mb=.1, max_epochs=3)
    with C.LocalExecutionContext("hello") as context, caplog.at_level(logging.INFO, "cntk"):
        context.train(roots, params, reader("Train"))
        result = context.test(roots, reader("Test"))
        values = context.write(roots, reader("Test"))
    assert result["ce"] == pytest.approx(.43924664, abs=2e-6)
    assert result["se"] == pytest.approx(3.26340137, abs=2e-5)
    assert result["Perplexity"] == pytest.approx(1.55153792, abs=3e-6)
    assert list(values) == [roots[2].name] and len(values[roots[2].name]) == result["SamplesSeen"]
    assert "Finished Epoch" in caplog.text


@pytest.mark.skipif(not os.path.isdir(HELLO), reason="no shared test data")
def test_export(tmp_path):
    program = os.path.join(os.path.dirname(C.__file__), "..", "..", "bin", "cntk")
    if not os.path.exists(program):
        pytest.skip("the program is not built")
    roots, reader = hello_world()
    params = C.SGDParams(minibatch_size=25, learning_rates_per_mb=.1, max_epochs=3)
    context = C.DelayedExecutionContext("hello")
    context.train(roots, params, reader("Train"))
    context.test(roots, reader("Test"))
    path = context.export(str(tmp_path))
    run = subprocess.run([program, "configFile=" + path], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert "0.43924" in run.stderr
    trained = C.load_model(str(tmp_path / "model"))
    with C.LocalExecutionContext("same") as local:
        local.train(roots, params, reader("Train"))
    np.testing.assert_array_equal(trained.parameters[0].value, roots[0].parameters[0].value)
    assert context.export_string().startswith("command=train:test")


def test_options():
    assert C.SGDParams(L2_reg_weight=.1).options == {"L2RegWeight": .1}
    with pytest.raises(TypeError, match="minibatch_size"):
        C.SGDParams(minbatch_size=3)
    x = C.input_numpy(np.ones((3, 1)))
    with C.LocalExecutionContext("none") as context, pytest.raises(C.ModelError, match="criterion"):
        context.train(x + 1, C.SGDParams())


def test_statistics():
    x = C.input(2, name="x")
    data = np.random.RandomState(1).randn(100, 2).astype(np.float32) * [1, 3] + [5, -2]
    mean, deviation = C.nodes.Mean(x), C.nodes.InvStdDev(x)
    y = C.nodes.PerDimMeanVarNormalization(x, mean, deviation)
    C.precompute([mean, deviation], C.reader.NumpyReader({x: data}))
    np.testing.assert_allclose(y.eval(data), (data - data.mean(0)) / data.std(0), atol=1e-4)
    np.testing.assert_allclose(mean.eval(data).ravel(), data.mean(0), rtol=1e-5)
    with pytest.raises(C.UsageError):
        C.precompute([y], C.reader.NumpyReader({x: data}))


def test_a_number_next_to_an_output():
    x = C.input(2, name="x")
    assert float(C.squared_error(x, 0).eval({x: [[1, 2], [3, 0]]})) == 14
    assert float(C.squared_error(1, x).eval({x: [[1, 2], [3, 0]]})) == 6
    with pytest.raises(C.DataError, match="at least one sample"):
        C.input_numpy([])


def test_learners_need_their_arguments():
    w = C.parameter(2)
    with pytest.raises(TypeError, match="momentum"):
        C.momentum_sgd([w], .1)
    with pytest.raises(C.UsageError, match="at least one parameter"):
        C.sgd([], .1)
    assert repr(C.momentum_sgd([w], .1, .9, nesterov=True)) == "momentum_sgd(1 parameter, lr=0.1, momentum=0.9, nesterov=True)"
    x = C.input(2)
    with pytest.raises(TypeError, match="expected a reader"):
        C.Trainer(None, C.squared_error(x * w, 0), C.sgd([w], .1)).train({x: [[1, 2]]})


def test_reports_of_single_steps_add_up(monkeypatch):
    class Writer:
        reports = []

        def on_minibatch(self, *report):
            self.reports.append(report)

    monkeypatch.setattr(C.Trainer, "_REPORT_SECONDS", 0)
    x, w = C.input(()), C.parameter((), init=1)
    trainer = C.Trainer(None, C.squared_error(x * w, 0), C.sgd([w], 0), Writer())
    trainer.train_minibatch({x: [1, 1]})
    trainer.train_minibatch({x: [3, 3]})
    assert Writer.reports == [(1, 1, 1, 2), (2, 5, 5, 4)]


def test_the_log_comes_while_the_training_runs():
    import logging
    import signal

    class Interrupts(logging.Handler):
        def emit(self, record):
            if "Finished Epoch" in record.getMessage():
                logging.getLogger("cntk").removeHandler(self)
                signal.raise_signal(signal.SIGINT)

    log, handler = logging.getLogger("cntk"), Interrupts()
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    x, w = C.input_numpy([1, 2, 3, 4.]), C.parameter((), init=1)
    loss = C.squared_error(w * x, 0)
    loss.tag = "criterion"
    with C.LocalExecutionContext("log") as context, pytest.raises(KeyboardInterrupt):
        context.train(loss, C.SGDParams(minibatch_size=2, learning_rates_per_mb=.001, max_epochs=1000000))
