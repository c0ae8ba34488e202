"""Readers: sources of minibatches, apart from networks."""
import difflib
import operator
import os
import re

from . import _cntk
from .errors import ConfigError, UsageError, check_calls as _check_calls


class Minibatch(dict):
    """The data of one minibatch: inputs (or names of streams) and MinibatchData. Goes into eval, grad, train_minibatch."""

    _may_have_more = True  # streams than a graph has inputs


class _Source:
    """The base of readers: inputs for their streams, and minibatches."""

    def __init__(self):
        self._mapped = {}  # stream -> input
        self._sources = {}

    def map(self, node, alias=None, **_):
        """Lets a stream of the reader feed an input."""
        self._mapped[alias or node.name] = node
        return self

    def _make(self, dtype):
        raise NotImplementedError

    def _open_source(self, dtype=None):
        """Returns the engine's reader and the inputs of its streams."""
        for node in self._mapped.values():
            dtype = node.dtype
        key = str(dtype)
        if key not in self._sources:
            self._sources[key] = self._make(dtype)
        source = self._sources[key]
        streams = {name.lower(): name for name in source.streams()}
        mapped = {}
        for stream, node in self._mapped.items():
            if stream.lower() not in streams:
                near = difflib.get_close_matches(stream, source.streams(), 1)
                raise ConfigError("the reader has no stream '%s'; it has %s%s"
                                  % (stream, ", ".join(source.streams()),
                                     "; did you mean '%s'?" % near[0] if near else ""))
            mapped[streams[stream.lower()]] = node
        return source, mapped

    def minibatches(self, minibatch_size=256, epoch=0):
        """The minibatches of an epoch. The same epoch gives the same order."""
        if operator.index(minibatch_size) < 1:
            raise UsageError("the minibatch size is %r; expected 1 or more" % (minibatch_size,))
        if operator.index(epoch) < 0:
            raise UsageError("the epoch is %r; expected 0 or more" % (epoch,))
        source, mapped = self._open_source()
        names = source.streams()
        source.start(epoch, minibatch_size, list(mapped))
        while True:
            streams = source.next()
            if streams is None:
                return
            minibatch = Minibatch()
            for name, data in zip(names, streams):
                if data is None:
                    continue
                node = mapped.get(name)
                if node is not None:
                    data.shape = node.shape
                minibatch[node if node is not None else name] = data
            yield minibatch


class InputMap:
    """A reader with inputs for its streams, as map returns it."""

    def __init__(self, reader):
        self.reader = reader

    def map(self, *args, **options):
        self.reader.map(*args, **options)
        return self

    def minibatches(self, minibatch_size=256, epoch=0):
        return self.reader.minibatches(minibatch_size, epoch)

    def _open_source(self, dtype=None):
        return self.reader._open_source(dtype)

    def __repr__(self):
        return "InputMap(%r)" % (self.reader,)


# ---- plugins ----

def _text(value, depth=0):
    """A value as the config language has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "[\n" + _block(value) + "]"
    if isinstance(value, (list, tuple)):
        return ":".join(_text(each) for each in value)
    text = os.fspath(value) if isinstance(value, os.PathLike) else value if isinstance(value, str) else repr(value)
    return '"%s"' % text if re.search(r"[\s\[\]{}#=;]", text) else text


def _block(options):
    return "".join("%s=%s\n" % (name, _text(value)) for name, value in options.items())


def _check_options(reader_type, options):
    """TypeError for an option that the plugin does not have."""
    _, _, described = _cntk.describe_reader(reader_type)
    if not described or "readers" in {name.lower() for name in options}:
        return
    known = {}
    for _block_name, name, aliases, _doc in described:
        for each in [name] + list(aliases):
            known[each.lower()] = each
    known.update({"readertype": "readerType", "tracelevel": "traceLevel", "verbosity": "verbosity"})

    def check(block):
        for name, value in block.items():
            if isinstance(value, dict):
                check(value)
            elif name.lower() not in known:
                near = difflib.get_close_matches(name.lower(), list(known), 1)
                raise TypeError("%s has no option '%s'%s" % (reader_type, name,
                                                             "; did you mean '%s'?" % known[near[0]] if near else ""))

    check(options)


class Reader(_Source):
    """Any reader plugin, with options and blocks (dicts) as in its config block.

        C.reader.Reader('UCIFastReader', file='data.txt', features=dict(dim=2, start=0), labels=dict(dim=1, start=2, ..))
    """

    def __init__(self, reader_type, **options):
        super().__init__()
        _check_options(reader_type, options)
        for name, value in options.items():
            if name.lower() == "file" and isinstance(value, (str, os.PathLike)) and not os.path.exists(value):
                raise FileNotFoundError(2, "No such file or directory", os.fspath(value))
        self.reader_type = reader_type
        self.options = options

    def _config(self):
        return _block(dict({"readerType": self.reader_type}, **self.options))

    def _make(self, dtype):
        return _cntk.Source(self._config(), dtype)

    def _config_for(self, names):
        """The reader's block for a network whose inputs have these names."""
        return self._config()

    def __repr__(self):
        return "Reader('%s')" % self.reader_type


_SNAKE = {"skip_sequence_ids": "skipSequenceIds", "max_errors": "maxErrors", "chunk_size_in_bytes": "chunkSizeInBytes",
          "frame_mode": "frameMode", "num_chunks_to_cache": "numChunksToCache", "keep_data_in_memory": "keepDataInMemory",
          "randomization_window": "randomizationWindow", "truncation_length": "truncationLength"}


class CNTKTextFormatReader(Reader):
    """Reads the text format `|name values`: several inputs in a file, dense or sparse, sequences by ids.

    Numbers of a sample stand in C order of the input's shape.
    """

    def __init__(self, filename, randomize=True, skip_sequence_ids=False, max_errors=0, chunk_size_in_bytes=32 * 1024 * 1024,
                 **options):
        options = {_SNAKE.get(name, name): value for name, value in options.items()}
        super().__init__("CNTKTextFormatReader", file=os.path.abspath(os.fspath(filename)),
                         randomize="auto" if randomize is True else "none" if randomize is False else randomize,
                         skipSequenceIds=skip_sequence_ids, maxErrors=max_errors, chunkSizeInBytes=chunk_size_in_bytes,
                         **options)
        self._streams = {}

    def map(self, node, alias=None, dim=None, format="dense"):
        """Lets a stream feed an input. alias: the name in the file; dim: elements of a sample; format: dense or sparse."""
        if format not in ("dense", "sparse"):
            raise ConfigError("the format is %r; expected 'dense' or 'sparse'" % (format,))
        elements = _elements(node.shape)
        if dim is None:
            dim = elements
        elif dim != elements:
            raise ConfigError("dim is %r, but the shape of %r has %d elements" % (dim, node, elements))
        alias = alias or node.name
        name = re.sub(r"\W", "_", alias)
        name = name if re.match(r"[A-Za-z]", name) else "s" + name
        self._streams[name] = dict(alias=alias, dim=dim, format=format)
        self._mapped[name] = node
        self._sources.clear()
        return InputMap(self)

    def _config(self):
        if not self._streams:
            raise UsageError("%r has no inputs; give them with map" % (self,))
        return _block(dict({"readerType": self.reader_type}, **self.options, input=self._streams))

    def _config_for(self, names):
        streams = {names.get(self._mapped[name], name): block for name, block in self._streams.items()}
        return _block(dict({"readerType": self.reader_type}, **self.options, input=streams))

    def __repr__(self):
        return "CNTKTextFormatReader(%r)" % self.options["file"]


# ---- arrays ----

class NumpyReader(_Source):
    """Minibatches of arrays in memory: {input: data} in the forms that eval takes."""

    def __init__(self, data, randomize=False):
        super().__init__()
        if not isinstance(data, dict) or not data:
            raise TypeError("NumpyReader takes a dict of inputs and data")
        for node in data:
            if not isinstance(node, _cntk.Function):
                raise TypeError("a key of the data is %r; expected an input" % (node,))
        self._values = data
        for node in data:  # streams have the names of their inputs, for messages
            name = node.name
            while name.lower() in map(str.lower, self._mapped):
                name += "_2"
            self._mapped[name] = node
        self._data = [(name, node, data[node]) for name, node in self._mapped.items()]
        self._source = _cntk.Source(self._data, bool(randomize))

    def _open_source(self, dtype=None):
        return self._source, self._mapped

    # ---- export: the same data in the text format ----

    def _as_text_format(self, path, names):
        streams = {names[node]: dict(dim=max(1, _elements(node.shape)), format="dense") for _, node, _ in self._data
                   if node in names}
        return _block({"readerType": "CNTKTextFormatReader", "file": path, "randomize": "none", "input": streams})

    def _write_text_format(self, path, names):
        """Writes all data as rows with sequence ids."""
        source, mapped = self._open_source()
        source.start(0, 1 << 40, [])
        whole = source.next()
        columns = []
        for name, data in zip(source.streams(), whole):
            node = mapped[name]
            data.shape = node.shape
            if node in names:
                columns.append((names[node], data.asarray()))
        with open(path, "w", encoding="utf-8") as file:
            for sequence in range(len(columns[0][1])):
                parts = [(name, value[sequence] if isinstance(value, list) else value[sequence:sequence + 1])
                         for name, value in columns]
                for step in range(max(len(value) for _, value in parts)):
                    file.write("%d%s\n" % (sequence, "".join(
                        " |%s %s" % (name, " ".join(repr(float(number)) for number in value[step].ravel()))
                        for name, value in parts if step < len(value))))

    def __repr__(self):
        return "NumpyReader(%s)" % ", ".join(node.name for _, node, _ in self._data)


def _elements(shape):
    elements = 1
    for dimension in shape:
        elements *= dimension
    return elements


_check_calls(globals())
