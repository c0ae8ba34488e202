"""Execution contexts: the program's whole training, or a config that does the same."""
import contextlib
import difflib
import logging
import os
import re
import shutil
import tempfile
import threading

import numpy as np

from . import _cntk
from .errors import DataError, ModelError, UsageError, check_calls
from .reader import NumpyReader, _text

_logger = logging.getLogger("cntk")


def _snake(name):
    """learningRatesPerMB -> learning_rates_per_mb"""
    name = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name)
    return re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", name).lower()


def _known_options():
    known = {}
    for name, aliases, _default, _doc in _cntk.sgd_options():
        for each in [name] + list(aliases):
            for spelling in (each.lower(), _snake(each), _snake(each).replace("_", "")):
                known.setdefault(spelling, name)
    return known


class SGDParams:
    """The options of the SGD block, under their own names or in snake_case: minibatch_size, learning_rates_per_mb, ..

    Values are numbers, lists or the config's texts. Defaults are the program's.

    >>> import cntk as C
    >>> C.SGDParams(minibatch_size=32, learning_rates_per_mb=[0.5, 0.1]).options
    {'minibatchSize': 32, 'learningRatesPerMB': [0.5, 0.1]}
    """

    def __init__(self, **options):
        known = _known_options()
        self.options = {}
        for given, value in options.items():
            name = known.get(given.lower()) or known.get(given.lower().replace("_", ""))
            if name is None:
                near = difflib.get_close_matches(given.lower(), list(known), 1)
                raise TypeError("SGDParams has no option '%s'%s"
                                % (given, "; did you mean '%s'?" % _snake(known[near[0]]) if near else ""))
            self.options[name] = value

    def to_config(self):
        """The text of the SGD block."""
        return "".join("%s=%s\n" % (name, _text(value)) for name, value in self.options.items())

    def __repr__(self):
        return "SGDParams(%s)" % ", ".join("%s=%r" % item for item in self.options.items())


def _roots(root_nodes):
    nodes = list(root_nodes) if isinstance(root_nodes, (list, tuple)) else [root_nodes]
    for node in nodes:
        if not isinstance(node, _cntk.Function):
            raise TypeError("the root nodes hold %r; expected nodes" % (node,))
    return [output for node in nodes for output in node.outputs]


def _nodes_below(roots):
    return list(dict.fromkeys(node for root in roots for node in _cntk.nodes_below(root)))


def _tagged(roots, *tags):
    """The tagged nodes below the roots, in the order of the tags."""
    nodes = _nodes_below(roots)
    return [node for tag in tags for node in nodes if node.tag == tag]


def _input_map(roots, input_map):
    """The reader: given, or the data of inputs with data of their own, in their order."""
    if input_map is not None:
        return input_map if hasattr(input_map, "_open_source") else NumpyReader(input_map)
    inputs = list(dict.fromkeys(node for root in roots for node in root.arguments))
    without = [node.name for node in inputs if not _cntk.has_input_data(node)]
    if without:
        raise DataError("the inputs %s have no data; give a reader as input_map, or make them with input_numpy"
                        % ", ".join("'%s'" % name for name in without))
    return NumpyReader({node: None for node in inputs})


@contextlib.contextmanager
def _logged(path):
    """Sends the lines of a log to the logger while the body writes them."""
    done = threading.Event()

    def follow():
        rest, position, is_last = b"", 0, False
        while not is_last:
            is_last = done.wait(0.05)
            if not os.path.exists(path):
                continue
            with open(path, "rb") as file:
                file.seek(position)
                lines = (rest + file.read()).split(b"\n")
                position = file.tell()
            rest = b"" if is_last else lines.pop()
            for line in lines:
                if line.strip():
                    _logger.info("%s", line.decode("utf-8", "replace"))

    follower = threading.Thread(target=follow, name="cntk log", daemon=True)
    follower.start()
    try:
        yield
    finally:
        done.set()
        follower.join()


class _Context:
    def __init__(self, name=None, device_id=-1, precision="float"):
        if precision not in ("float", "double"):
            raise UsageError("the precision is %r; expected 'float' or 'double'" % (precision,))
        if device_id < -1:
            raise UsageError("the device_id is %r; expected -1 for the CPU, or the number of a GPU" % (device_id,))
        self.name = name or "experiment"
        self.device_id = device_id
        self.precision = precision
        self._takes_device = False

    def __enter__(self):
        self._device_before = _cntk.current_device() if self._takes_device else None
        if self._takes_device:
            _cntk.use_device(_cntk.gpu_device(self.device_id))
        self._before = _cntk.default_dtype()
        _cntk.set_default_dtype(np.float32 if self.precision == "float" else np.float64)
        return self

    def __exit__(self, *_):
        _cntk.set_default_dtype(self._before)
        if self._takes_device:
            _cntk.use_device(self._device_before)
        return False


class LocalExecutionContext(_Context):
    """Trains, tests and writes in this process, as the program does. A with block with a scratch folder."""

    def __init__(self, name=None, device_id=-1, precision="float", clean_up=True):
        super().__init__(name, device_id, precision)
        self._takes_device = device_id >= 0  # -1: the present device
        self.clean_up = clean_up
        self.directory = tempfile.mkdtemp(prefix="cntk_%s_" % re.sub(r"\W", "_", self.name))
        self._trainings = 0

    def __exit__(self, *args):
        if self.clean_up:
            shutil.rmtree(self.directory, ignore_errors=True)
        return super().__exit__(*args)

    def train(self, root_nodes, training_params, input_map=None):
        """The program's whole training. Criterion and evaluations are found by their tags.

        Afterwards the parameters of the nodes are the trained ones. The log goes to logging.getLogger('cntk').
        """
        roots = _roots(root_nodes)
        if not _tagged(roots, "criterion"):
            raise ModelError("no node at or below %s has the tag 'criterion'; expected one to train"
                             % ", ".join(map(repr, roots)))
        if not isinstance(training_params, SGDParams):
            raise TypeError("the training parameters are %r; expected SGDParams" % (training_params,))
        reader = _input_map(roots, input_map)
        dtype = roots[0].dtype
        mapped = reader._open_source(dtype)[1]
        self._trainings += 1
        folder = os.path.join(self.directory, "train%d" % self._trainings)
        os.makedirs(folder, exist_ok=True)
        log = os.path.join(folder, "train.log")
        with _logged(log):
            _cntk.train(roots, training_params.to_config(), os.path.join(folder, "model"), log,
                        lambda: reader._open_source(dtype)[0], mapped)

    def test(self, root_nodes, input_map=None, minibatch_size=1024):
        """Averages per sample of criteria and evaluations by name, SamplesSeen, and Perplexity of the criterion."""
        roots = _roots(root_nodes)
        nodes = _tagged(roots, "eval", "criterion") or roots
        reader = _input_map(roots, input_map)
        source, mapped = reader._open_source(roots[0].dtype)
        sums, samples = _cntk.sum_over(nodes, source, mapped, minibatch_size)
        result = {node.name: total / max(samples, 1) for node, total in zip(nodes, sums)}
        result["SamplesSeen"] = samples
        criteria = _tagged(roots, "criterion") or nodes[:1]
        result["Perplexity"] = float(np.exp(result[criteria[0].name]))
        return result

    def write(self, root_nodes, input_map=None, minibatch_size=1024):
        """Values of the nodes with the tag output, by name."""
        roots = _roots(root_nodes)
        nodes = _tagged(roots, "output") or roots
        parts = [_cntk.evaluate(nodes, minibatch)
                 for minibatch in _input_map(roots, input_map).minibatches(minibatch_size)]
        values = {}
        for number, node in enumerate(nodes):
            own = [part[number] for part in parts]
            if own and isinstance(own[0], list):
                values[node.name] = [value for part in own for value in part]
            elif own and node.dynamic_axis is not None:
                values[node.name] = np.concatenate(own)
            else:
                values[node.name] = own[-1] if own else np.empty((0,) + node.shape, node.dtype)
        return values

    def eval(self, node, input_map=None, backward_pass=False, input_name=None):
        """The node's value; with backward_pass the gradient of the input (or parameter) of that name."""
        arguments = input_map
        if hasattr(input_map, "minibatches"):
            arguments = next(iter(input_map.minibatches(1 << 30)))
        if not backward_pass:
            return node.eval(arguments)
        leaf = node.find_by_name(input_name) if isinstance(input_name, str) else input_name
        if leaf is None:
            raise ModelError("no node below %r is named %r" % (node, input_name))
        return node.grad(arguments, leaf)


class DelayedExecutionContext(_Context):
    """Notes what to do, and exports a config that does it: export(folder) writes folder/<name>.cntk and what it needs."""

    def __init__(self, name=None, device_id=-1, precision="float"):
        if isinstance(name, int):  # DelayedExecutionContext(-1)
            name, device_id = None, name
        super().__init__(name, device_id, precision)
        self._actions = []

    def train(self, root_nodes, training_params, input_map=None):
        """Notes a training."""
        roots = _roots(root_nodes)
        if not _tagged(roots, "criterion"):
            raise ModelError("no node at or below %s has the tag 'criterion'; expected one to train"
                             % ", ".join(map(repr, roots)))
        if not isinstance(training_params, SGDParams):
            raise TypeError("the training parameters are %r; expected SGDParams" % (training_params,))
        self._actions.append(("train", roots, training_params, input_map))

    def test(self, root_nodes, input_map=None):
        """Notes a test."""
        self._actions.append(("test", _roots(root_nodes), None, input_map))

    def write(self, root_nodes, input_map=None):
        """Notes the writing of outputs."""
        self._actions.append(("write", _roots(root_nodes), None, input_map))

    def export_string(self, folder="."):
        """The text of the config, as export writes it."""
        if not self._actions:
            raise UsageError("the context has nothing to export; call train, test or write before")
        commands, blocks = [], []
        model = "model"
        for number, (kind, roots, params, input_map) in enumerate(self._actions):
            command = kind if kind not in commands else "%s%d" % (kind, number + 1)
            commands.append(command)
            lines = ["%s=[" % command, "    action=%s" % {"train": "adapt"}.get(kind, kind)]
            if kind == "train":
                lines += ['    modelPath="$folder$/%s"' % model, '    origModelFileName="$folder$/%s.untrained"' % self.name,
                          "    SGD=[", params.to_config(), "    ]"]
            else:
                has_training = any(each[0] == "train" for each in self._actions[:number])
                lines.append('    modelPath="$folder$/%s"' % (model if has_training else self.name + ".untrained"))
            if kind == "test":
                lines.append("    minibatchSize=1024")
            if kind == "write":
                lines += ['    outputPath="$folder$/output"']
            lines += ["    reader=[", self._reader_text(number, roots, input_map, folder), "    ]", "]"]
            blocks.append("\n".join(lines))
        header = ["command=" + ":".join(commands), "precision=%s" % self._precision(), "deviceId=%s" % self.device_id,
                  'folder="%s"' % os.path.abspath(folder)]
        return "\n".join(header + blocks) + "\n"

    def _precision(self):
        return "double" if self._actions[0][1][0].dtype == np.float64 else "float"

    def _reader_text(self, number, roots, input_map, folder):
        reader = _input_map(roots, input_map)
        if hasattr(reader, "reader"):
            reader = reader.reader
        if isinstance(reader, NumpyReader):
            return reader._as_text_format(os.path.join(os.path.abspath(folder), "data%d.txt" % number),
                                          _cntk.file_names(roots))
        return reader._config_for(_cntk.file_names(roots))

    def export(self, folder):
        """Writes the config with what it needs and returns its path."""
        os.makedirs(folder, exist_ok=True)
        text = self.export_string(folder)
        roots = list(dict.fromkeys(root for _, each, _, _ in self._actions for root in each))
        _cntk.save(roots, os.path.join(os.path.abspath(folder), self.name + ".untrained"))
        for number, (_, action_roots, _, input_map) in enumerate(self._actions):
            reader = _input_map(action_roots, input_map)
            if isinstance(reader, NumpyReader):
                reader._write_text_format(os.path.join(os.path.abspath(folder), "data%d.txt" % number),
                                          _cntk.file_names(action_roots))
        path = os.path.join(os.path.abspath(folder), self.name + ".cntk")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path


DeferredExecutionContext = DelayedExecutionContext


check_calls(globals())
