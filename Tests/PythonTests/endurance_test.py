"""Memory, threads and interruption."""
import gc
import resource
import signal
import threading
import time

import numpy as np
import pytest

import cntk as C


def growth(action, warm, count):
    """Bytes that the process grew by over `count` actions after `warm` others."""
    for _ in range(warm):
        action()
    gc.collect()
    before = resident()
    for _ in range(count):
        action()
    gc.collect()
    return resident() - before


def resident():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def test_evaluations_keep_no_memory():
    x = C.input(10)
    y = C.tanh(x @ C.parameter((10, 10)))
    data = np.ones((4, 10), np.float32)
    assert growth(lambda: y.eval(data), 2000, 20000) < 300000


def test_graphs_are_freed():
    w = C.parameter((10, 10))
    data = np.ones((4, 10), np.float32)

    def make():
        x = C.input(10)
        C.sigmoid(x @ w + 1).eval(data)

    assert growth(make, 300, 1500) < 500000


def test_loops_are_freed():
    data = [np.ones((3, 2), np.float32)]
    W = C.parameter((2, 2))

    def make():
        x = C.input(2)
        h = C.placeholder()
        f = C.tanh(x + C.sequence.past_value(h) @ W)
        f.replace_placeholder(f)
        f.eval(data)

    assert growth(make, 200, 800) < 800000


def test_threads():
    x = C.input(50)
    y = C.softmax(x @ C.parameter((50, 20), init=C.initializer.normal(1)))
    datas = [np.random.randn(30, 50).astype(np.float32) for _ in range(8)]
    expected = [y.eval(data) for data in datas]
    faults = []

    def work(number):
        for _ in range(50):
            if not np.array_equal(y.eval(datas[number]), expected[number]):
                faults.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults


def test_interruption():
    x, t = C.input(2), C.input(1)
    loss = C.squared_error(x @ C.parameter((2, 1)), t)
    trainer = C.Trainer(None, loss, C.sgd(loss.parameters, .0001))
    reader = C.reader.NumpyReader({x: np.ones((20000, 2)), t: np.ones((20000, 1))})
    threading.Timer(.3, lambda: signal.raise_signal(signal.SIGINT)).start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        trainer.train(reader, 10, epochs=100000)
    assert time.monotonic() - begin < 20
    assert np.isfinite(loss.eval({x: [[1, 2]], t: [[1]]}))
