#!/usr/bin/env python3
"""Times the Python module on one thread: steps, evaluations, graphs, ragged data, and growth of memory.

    PYTHONPATH=build/python PythonBenchmark.py [--cntk build/bin/cntk] [--rounds N] [--long] [--json OUT]

Each figure stands beside its goal. The peers are the engine's own loop, the program (with --cntk), numpy's memcpy, and
PyTorch where it is installed. --long counts 10^5 evaluations and 10^4 graphs for the growth of memory. Needs numpy.
"""
import argparse
import gc
import json
import logging
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

import cntk as C

SIMPLE2D = ([2, 50, 50, 2], 25, C.sigmoid)  # layers, minibatch size, activation
MNIST = ([784, 256, 10], 32, C.relu)


def seconds(action, count, rounds):
    """The median over rounds of the seconds that one of `count` actions takes."""
    action()
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        for _ in range(count):
            action()
        times.append((time.perf_counter() - begin) / count)
    return statistics.median(times)


class Network:
    """A feed-forward network with momentum SGD."""

    def __init__(self, layers, minibatch, activation):
        C.set_seed(1)
        self.minibatch = minibatch
        self.x, self.y = C.input(layers[0], name="x"), C.input(layers[-1], name="y")
        h = self.x
        for number, (inner, outer) in enumerate(zip(layers, layers[1:])):
            h = h @ C.parameter((inner, outer)) + C.parameter(outer, init=0)
            h = activation(h) if number + 2 < len(layers) else h
        self.output = h
        self.loss = C.cross_entropy_with_softmax(h, self.y)
        self.loss.tag = "criterion"
        self.trainer = C.Trainer(None, self.loss, C.momentum_sgd(self.loss.parameters, lr=.01, momentum=.9))
        self.data = data_of(layers, 400 * minibatch)
        self.parts = [{self.x: self.data[0][i:i + minibatch], self.y: self.data[1][i:i + minibatch]}
                      for i in range(0, len(self.data[0]), minibatch)]

    def reader(self):
        return C.reader.NumpyReader({self.x: self.data[0], self.y: self.data[1]})


def data_of(layers, count):
    random = np.random.default_rng(0)
    x = random.standard_normal((count, layers[0])).astype(np.float32)
    y = np.eye(layers[-1], dtype=np.float32)[random.integers(layers[-1], size=count)]
    return x, y


def torch_rate(layers, minibatch, activation, rounds):
    """Samples a second of the same loop with PyTorch; None if it is not installed."""
    try:
        import torch
    except ImportError:
        return None
    torch.set_num_threads(1)
    parts = []
    for inner, outer in zip(layers, layers[1:]):
        parts += [torch.nn.Linear(inner, outer), torch.nn.Sigmoid() if activation is C.sigmoid else torch.nn.ReLU()]
    net = torch.nn.Sequential(*parts[:-1])
    optimizer = torch.optim.SGD(net.parameters(), lr=.01, momentum=.9)
    x, y = data_of(layers, 400 * minibatch)
    batches = [(torch.from_numpy(x[i:i + minibatch]), torch.from_numpy(y[i:i + minibatch].argmax(1)))
               for i in range(0, len(x), minibatch)]

    def epoch():
        for features, labels in batches:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(net(features), labels, reduction="sum").backward()
            optimizer.step()

    return len(x) / seconds(epoch, 1, rounds)


def steps(results, name, spec, rounds, goal):
    net = Network(*spec)

    def loop():
        for part in net.parts:
            net.trainer.train_minibatch(part)

    python = seconds(loop, 1, rounds) / len(net.parts)
    inside = seconds(lambda: net.trainer.train(net.reader(), spec[1]), 1, rounds) / len(net.parts)
    if name == "simple2d":
        results["train_minibatch over the engine's own loop, us"] = ((python - inside) * 1e6, "5")
    results["%s, samples/s from a Python loop" % name] = (spec[1] / python, "")
    peer = torch_rate(*spec, rounds)
    if peer is not None:
        results["%s, times PyTorch's rate" % name] = (spec[1] / python / peer, goal)
    return net


class EpochTimes(logging.Handler):
    """Collects the seconds of epochs from the log."""

    def __init__(self):
        super().__init__()
        self.text = ""

    def emit(self, record):
        self.text += record.getMessage() + "\n"


def epoch_seconds(text):
    return statistics.median([float(each) for each in re.findall(r"[eE]pochTime=([\d.e-]+)", text)][1:])


def share_of_program(results, cntk):
    """Epoch times of the same training in this process and by the program."""
    options = C.SGDParams(minibatch_size=25, learning_rates_per_mb=.01, max_epochs=7)
    net = Network(*SIMPLE2D)
    log, times = logging.getLogger("cntk"), EpochTimes()
    log.addHandler(times)
    log.setLevel(logging.INFO)
    with C.LocalExecutionContext("local") as context:
        context.train(net.loss, options, net.reader())
    log.removeHandler(times)
    with tempfile.TemporaryDirectory() as folder:
        delayed = C.DelayedExecutionContext("exported")
        delayed.train(net.loss, options, net.reader())
        run = subprocess.run([cntk, "configFile=" + delayed.export(folder), "numCPUThreads=1"], capture_output=True,
                             text=True, cwd=folder, check=True)
    share = 100 * epoch_seconds(run.stderr + run.stdout) / epoch_seconds(times.text)
    results["LocalExecutionContext.train, % of the program's rate"] = (share, "97")


def small_things(results, rounds):
    x = C.input(10)
    y = C.tanh(x @ C.parameter((10, 10)) + C.parameter(10))
    sample = np.ones((1, 10), np.float32)
    results["eval of a small network, one sample, us"] = (seconds(lambda: y.eval({x: sample}), 2000, rounds) * 1e6, "10")
    results["writing one operation, us"] = (seconds(lambda: C.plus(x, x), 2000, rounds) * 1e6, "25")

    def deep():
        h = C.input(10)
        w = C.parameter((10, 10))
        for _ in range(33):
            h = C.sigmoid(h @ w + 1)
        begin = time.perf_counter()
        h.eval(sample)
        return time.perf_counter() - begin

    results["first evaluation of 100 nodes, ms"] = (statistics.median(deep() for _ in range(rounds + 1)) * 1e3, "20")


def ragged(results, rounds):
    """Feeding 64 sequences, 10,000 steps of 100 numbers. The network reads one number of a step, and the time of the same
    network over sequences of one number is subtracted."""
    random = np.random.default_rng(0)
    lengths = random.integers(57, 256, 64)
    lengths = lengths * 10000 // lengths.sum()
    lengths[-1] += 10000 - lengths.sum()
    x, one = C.input(100, dynamic_axis="t"), C.input(1, dynamic_axis="t")
    all_of, one_of = C.nodes.SumElements(C.slice(x, 0, 0, 1)), C.nodes.SumElements(C.slice(one, 0, 0, 1))
    for name, dtype in (("float32", np.float32), ("float64", np.float64)):
        sequences = [random.standard_normal((length, 100)).astype(dtype) for length in lengths]
        thin = [np.ascontiguousarray(each[:, :1]) for each in sequences]
        source = np.concatenate(sequences).astype(np.float32)
        target = np.empty_like(source)
        copy = seconds(lambda: np.copyto(target, source), 20, rounds)
        feed = (seconds(lambda: all_of.eval({x: sequences}), 20, rounds)
                - seconds(lambda: one_of.eval({one: thin}), 20, rounds))
        results["ragged feeding of %s, %% of memcpy" % name] = (100 * copy / feed, "50")


def resident():
    gc.collect()
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def growth(results, evaluations, graphs):
    x = C.input(10)
    y = C.tanh(x @ C.parameter((10, 10)))
    data = np.ones((4, 10), np.float32)

    def graph():
        z = C.input(10)
        C.sigmoid(z @ y.parameters[0] + 1).eval(data)

    for name, action, count in (("evaluation", lambda: y.eval(data), evaluations), ("graph", graph, graphs)):
        for _ in range(count // 5):
            action()
        before = resident()
        for _ in range(count):
            action()
        results["growth, bytes a %s (%d of them)" % (name, count)] = ((resident() - before) / count, "0")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cntk", help="the program, for its own rate")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--long", action="store_true", help="10^5 evaluations and 10^4 graphs")
    parser.add_argument("--json", help="file for the figures")
    options = parser.parse_args()
    results = {}
    with C.device.use(C.device.cpu(threads=1)):
        steps(results, "simple2d", SIMPLE2D, options.rounds, "6")
        steps(results, "mnist-mlp", MNIST, options.rounds, "1.9")
        small_things(results, options.rounds)
        ragged(results, options.rounds)
        growth(results, *((100000, 10000) if options.long else (20000, 2000)))
        if options.cntk:
            share_of_program(results, os.path.abspath(options.cntk))
    for name, (value, goal) in results.items():
        print("%-58s %12.4g%s" % (name, value, "   goal " + goal if goal else ""))
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({name: value for name, (value, _) in results.items()}, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
