#!/usr/bin/env python3
"""Tests action=export to ONNX: networks of every node type give the same values in onnxruntime as in the write action, in
float and double precision, sequences one by one and next to each other with rubbish after their ends."""
import random
import re
import struct
import zipfile

import Interop
from Interop import check_onnx, install_runtime, run_onnx, tensor, values_of
from OnnxCases import CASES, INPUTS, STREAMS

LENGTHS = {False: (3, 1, 4, 2), True: (4, 2, 6, 2)}
LIMITS = {"float": 2e-5, "double": 1e-9}  # of the largest number
TENTH = struct.unpack("f", struct.pack("f", 0.1))[0]  # the default state, a single-precision number
KINDS = {"float": "float32", "double": "float64"}


def make_data(lengths):
    """Random values of each stream, a list of samples for each sequence. Words are lists of numbers."""
    draw = random.Random(7)
    data = {}
    for name, size in STREAMS.items():
        if isinstance(size, tuple):
            data[name] = [[[draw.randrange(size[0]) for _ in range(size[1])] for _ in range(n)] for n in lengths]
        else:
            data[name] = [[[float(struct.unpack("f", struct.pack("f", draw.uniform(-2, 2)))[0]) for _ in range(size)]
                           for _ in range(n)] for n in lengths]
    data["x"][0][0][1] = 0.0  # for Reciprocal and Log
    data["y"][1][0] = [0.0] * 4  # for CosDistance
    return data


def data_text(data, lengths):
    lines = []
    for sequence, length in enumerate(lengths):
        for step in range(length):
            line = str(sequence)
            for name, size in STREAMS.items():
                sample = data[name][sequence][step]
                if isinstance(size, tuple):
                    line += " |%s %s" % (name, " ".join("%d:1" % (k * size[0] + word) for k, word in enumerate(sample)))
                else:
                    line += " |%s %s" % (name, " ".join(repr(value) for value in sample))
            lines.append(line)
    return "\n".join(lines) + "\n"


def used_streams(lines):
    text = " ".join(line.split("=", 1)[1] for line in lines)
    return [name for name in STREAMS if re.search(r"[(,]%s[,)]" % name, text)]


def npz_bytes(arrays, path):
    with zipfile.ZipFile(path, "w") as archive:
        for name, values in arrays.items():
            header = "{'descr': '<f8', 'fortran_order': False, 'shape': (%d, 1), }" % len(values)
            header += " " * (117 - len(header)) + "\n"
            archive.writestr(name + ".npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() +
                             struct.pack("<%dd" % len(values), *values))


def reader_block(data_file, streams):
    blocks = ""
    for name in streams:
        size = STREAMS[name]
        sparse = isinstance(size, tuple)
        blocks += " %s=[ dim=%d; format=%s ]\n" % (name, size[0] * size[1] if sparse else size,
                                                   "sparse" if sparse else "dense")
    return "reader=[ readerType=CNTKTextFormatReader\n file=%s\n randomize=false\n input=[\n%s ]\n]\n" % (data_file, blocks)


class OnnxTest(Interop.EndToEndTest):
    def setUp(self):
        super().setUp()
        self.data = {even: make_data(lengths) for even, lengths in LENGTHS.items()}
        for even, lengths in LENGTHS.items():
            self.write("data%d.txt" % even, data_text(self.data[even], lengths))

    # ---- models, expected values and exports by the program ----

    def commands_of(self, case, number):
        name, lines, options = case
        streams = used_streams(lines)
        model = "%s.dnn" % name
        script = ["model=CreateModel()", "SetDefaultModel(model)"]
        script += [INPUTS[stream] for stream in streams] + list(lines)
        script += ["SetProperty(z,output,true)", "SaveModel(model,%s)" % model]
        self.write(name + ".mel", "\n".join(script) + "\n")
        reader = reader_block("data%d.txt" % options.get("even", False), streams)
        blocks = {"Make": "action=edit; editPath=%s.mel" % name}
        if "imports" in options:
            npz_bytes(options["imports"], self.folder / (name + ".npz"))
            blocks["Import"] = "action=import; modelPath=%s; inputPath=%s.npz; outputModelPath=%s" % (model, name, model)
        blocks["Write"] = "action=write; modelPath=%s; outputPath=%s; outputNodeNames=z; format=[precisionFormat=.17]\n%s" % (
            model, name, reader)
        words = "; wordInputs=" + ":".join(options["words"]) if "words" in options else ""
        blocks["Export"] = "action=export; modelPath=%s; outputPath=%s.onnx%s" % (model, name, words)
        if not options.get("frames") and options.get("causal", True):
            blocks["State"] = "action=export; modelPath=%s; outputPath=%s.state.onnx; stateInputs=true%s" % (
                model, name, words)
        return {"%s%d" % (key, number): block for key, block in blocks.items()}

    def run_program(self, cases, precision):
        blocks = {}
        for number, case in enumerate(cases):
            blocks.update(self.commands_of(case, number))
        config = "command=%s\nprecision=%s\ndeviceId=cpu\n" % (":".join(blocks), precision)
        for name, block in blocks.items():
            config += "%s=[ %s\n]\n" % (name, block)
        self.write("all.cntk", config)
        return self.cntk("configFile=all.cntk")

    def expected(self, case):
        """The write action's values: a list of samples for each sequence."""
        name, _, options = case
        samples = [list(map(float, line.split())) for line in self.read(name + ".z").splitlines() if line.strip()]
        sequences = []
        for length in LENGTHS[options.get("even", False)]:
            count = int(length * options.get("derived", 1))
            sequences.append(samples[:count])
            samples = samples[count:]
        self.assertEqual([], samples, name)
        return sequences

    # ---- evaluation in the runtime ----

    def dims_of(self, stream, options):
        size = STREAMS[stream]
        if isinstance(size, tuple):
            if stream in options.get("words", ()):
                return [] if size[1] == 1 else [size[1]]
            return [size[0] * size[1]]
        return {"m": [3, 2], "i": [3, 4, 2], "v": [2, 3, 5], "q": [2, 2, 3, 2]}.get(stream, [size])

    def sample_of(self, stream, sample, options):
        size = STREAMS[stream]
        if not isinstance(size, tuple) or stream in options.get("words", ()):
            return sample
        values = [0.0] * (size[0] * size[1])
        for k, word in enumerate(sample):
            values[k * size[0] + word] = 1.0
        return values

    def feed(self, stream, columns, prefix, options, precision):
        """columns: samples, None where rubbish is given."""
        dims = self.dims_of(stream, options)
        is_word = stream in options.get("words", ())
        size = 1
        for dim in dims:
            size *= dim
        values = []
        for number, sample in enumerate(columns):
            if sample is None:
                rubbish = 1 if is_word else (float("nan"), 1e30, -7.0)[number % 3]
                values += [rubbish] * size
            else:
                values += self.sample_of(stream, sample, options)
        return tensor("int64" if is_word else KINDS[precision], prefix + dims, values)

    def jobs_of(self, case, precision):
        """Jobs, and for each the places of the expected samples in its output: (index, sequence, step)."""
        name, lines, options = case
        lengths, data = LENGTHS[options.get("even", False)], self.data[options.get("even", False)]
        streams = used_streams(lines)
        places = [(s, t) for s, n in enumerate(lengths) for t in range(n)]
        derived = options.get("derived", 1)
        jobs = []

        def add(columns, prefix, where, steps=None, model=".onnx", states=None):
            feeds = {stream: self.feed(stream, [None if at is None else data[stream][at[0]][at[1]] for at in columns],
                                       prefix, options, precision) for stream in streams}
            if steps is not None:
                feeds["sequenceLengths"] = tensor("int64", [len(steps)], steps)
            job = {"model": str(self.folder / (name + model)), "feeds": feeds}
            if states is not None:
                job["states"] = states
            jobs.append((job, where))

        if options.get("frames"):
            add(places, [len(places)], {i: at for i, at in enumerate(places)})
            add(places[:1], [1], {0: places[0]})
            return jobs
        for s, length in enumerate(lengths):
            add([(s, t) for t in range(length)], [length, 1], {t: (s, t) for t in range(int(length * derived))}, [length])
        longest, count = max(lengths), len(lengths)
        side_by_side = [(s, t) if t < lengths[s] else None for t in range(longest) for s in range(count)]
        where = {t * count + s: (s, t) for s in range(count) for t in range(int(lengths[s] * derived))}
        add(side_by_side, [longest, count], where, list(lengths))
        if options.get("causal", True):
            add(side_by_side, [longest, count], where, None, ".state.onnx", self.states_of(case, count, precision))
        return jobs

    def states_of(self, case, count, precision):
        """Initial states of the delays and LSTM nodes of a case."""
        name, lines, _ = case
        sizes = {"m": [3, 2], "i": [3, 4, 2], "v": [2, 3, 5]}
        states = {}

        def add(state, dims, value):
            size = 1
            for dim in dims:
                size *= dim
            states[state] = tensor(KINDS[precision], dims, [value] * size)

        for line in lines:
            if match := re.match(r"(\w+)=PastValue\((\d+),(\d+),(\w+)", line):
                steps = int((re.search(r"timeStep=(\d+)", line) or [0, 1])[1])
                initial = float((re.search(r"defaultHiddenActivity=([-.\d]+)", line) or [0, TENTH])[1])
                rows, columns = int(match[2]), int(match[3])
                dims = sizes.get(match[4], [columns, rows] if columns > 1 else [rows])
                add(match[1] + ".state", [steps, count] + dims, initial)
            elif match := re.match(r"(\w+)=LSTM", line):
                add(match[1] + ".state.h", [1, count, 3], 0.0)
                add(match[1] + ".state.c", [1, count, 3], TENTH)
        return states

    def compare(self, case, result, where, precision):
        """Returns the difference in units of the limit, or a message."""
        name, _, _ = case
        if "error" in result:
            return "%s (%s): %s" % (name, precision, result["error"])
        values = values_of(result["outputs"]["z"])
        expected = self.expected(case)
        size = len(expected[0][0])
        largest = max([abs(value) for sequence in expected for sample in sequence for value in sample] + [1e-30])
        worst = 0.0
        for index, (sequence, step) in where.items():
            for k, value in enumerate(expected[sequence][step]):
                difference = abs(values[index * size + k] - value)
                worst = max(worst, difference) if difference == difference else float("inf")
        if worst > LIMITS[precision] * largest:
            return "%s (%s, %d inputs): differs by %g of %g" % (name, precision, len(where), worst, largest)
        return ""

    def check_cases(self, cases, precision):
        run = self.run_program(cases, precision)
        evaluated = [case for case in cases if precision == "float" or not case[2].get("floatOnly")]
        jobs = [(case, job, where) for case in evaluated for job, where in self.jobs_of(case, precision)]
        results = run_onnx(self.folder, [job for _, job, _ in jobs])
        faults = [self.compare(case, result, where, precision) for (case, _, where), result in zip(jobs, results)]
        complaints = check_onnx(self.folder, sorted(self.folder.glob("*.onnx")))
        if complaints:
            faults.append(complaints)
        print("%d networks, %d evaluations in %s precision" % (len(evaluated), len(jobs), precision))
        self.assertEqual("", "\n".join(filter(None, faults)))
        return run

    def test_every_node_type_in_float(self):
        self.check_cases(CASES, "float")

    def test_every_node_type_in_double(self):
        run = self.check_cases(CASES, "double")
        self.assertIn("onnxruntime 1.20 does not compute Conv in double precision", run.stderr)


if __name__ == "__main__":
    install_runtime()
    Interop.main()
