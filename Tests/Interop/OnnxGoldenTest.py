#!/usr/bin/env python3
"""Tests that golden cases with a write command give the same values in onnxruntime as in the write action."""
import json
import re
import shutil

import Interop
from Interop import SHARED, check_onnx, describe_onnx, has_module, install_runtime, run_onnx, tensor, values_of

# Each sequence ends with a line of its own.
FORMAT = 'format=[precisionFormat=.17; sequenceEpilogue="\\n#\\n"; sequencePrologue=""; sequenceSeparator=""; sampleSeparator="\\n"; ' \
    'elementSeparator="\\s"; prologue=""; epilogue=""; type=real; transpose=true]'
LIMITS = {"float": 2e-5, "double": 1e-9}


def blocks_of(text):
    """The text of each block at the root of a config, by name."""
    blocks = {}
    for match in re.finditer(r"^(\w+) *= *\[", text, re.M):
        depth, end = 1, match.end()
        while depth and end < len(text):
            depth += {"[": 1, "]": -1}.get(text[end], 0)
            end += 1
        blocks[match[1]] = text[match.end():end - 1]
    return blocks


def value_of(block, text, key):
    match = re.search(r"^\s*%s *= *(\S+)" % key, block, re.M | re.I) or re.search(r"^%s *= *(\S+)" % key, text, re.M | re.I)
    return match and match[1].strip('"')


class OnnxGoldenTest(Interop.EndToEndTest):
    def sequences(self, path):
        """The values of a written file: a list of samples for each sequence."""
        return [[list(map(float, line.split())) for line in part.splitlines() if line.strip()]
                for part in self.read(path).split("#\n") if part.strip()]

    def check_command(self, case, name, block, text):
        """Exports the nodes of a write command, and writes their values and those of the inputs."""
        model, nodes = value_of(block, text, "modelPath"), value_of(block, text, "outputNodeNames")
        if model is None or not (self.folder / model).exists():
            return
        precision = value_of("", text, "precision") or "float"
        block = "AllOnnx=[action=export;modelPath=%s;%soutputPath=a.onnx" % (
            model, "outputNodeNames=%s;" % nodes if nodes else "")
        export = self.cntk("configFile=config.cntk", "command=AllOnnx", block + "]", status=None)
        if "onnxruntime 1.20 does not compute" in export.stderr:
            precision = "float"
            export = self.cntk("configFile=config.cntk", "command=AllOnnx", block + ";precision=float]", status=None)
        if export.returncode == 5:
            self.assertRegex(export.stderr.splitlines()[-1], "which (needs labels|sums over|depends on|is not computed)")
            self.refused.append("%s/%s" % (case, name))
            return
        self.assertEqual(0, export.returncode, case + export.stderr[-2000:])
        target = self.models / ("%s.%s.onnx" % (case, name))
        shutil.copy(self.folder / "a.onnx", target)
        inputs = describe_onnx(target)
        names = [entry["name"] for entry in inputs if entry["name"] != "sequenceLengths"]
        outputs = nodes.split(":") if nodes else []
        self.cntk("configFile=config.cntk", "command=" + name, "%s=[outputPath=cmp; %s; outputNodeNames=%s]" % (
            name, FORMAT, ":".join(names + outputs)))
        self.collect(case + "/" + name, target, inputs, outputs, precision)

    def collect(self, title, model, inputs, outputs, precision):
        """Adds a job for each of the first sequences."""
        kind = "float32" if precision == "float" else "float64"
        data = {entry["name"]: self.sequences("cmp." + entry["name"]) for entry in inputs
                if entry["name"] != "sequenceLengths"}
        expected = {name: self.sequences("cmp." + name) for name in outputs}
        for s in range(min(8, len(next(iter(data.values()))))):
            feeds = {}
            for entry in inputs:
                if entry["name"] == "sequenceLengths":
                    continue
                samples = data[entry["name"]][s]
                dims = [dim if dim > 0 else 1 for dim in entry["dims"]]
                dims[0] = len(samples)  # N, or T with S = 1
                feeds[entry["name"]] = tensor(kind, dims, [value for sample in samples for value in sample])
            feeds["sequenceLengths"] = tensor("int64", [1], [len(samples)])
            wanted = {name: [v for sample in expected[name][s] for v in sample] for name in outputs
                      if len(expected[name]) == len(next(iter(data.values())))}
            self.jobs.append(({"model": str(model), "feeds": feeds}, title, wanted, precision))

    def compare(self):
        """Returns the number of outputs compared and the faults."""
        count, faults = 0, []
        for (job, title, wanted, precision), result in zip(self.jobs, run_onnx(self.models, [job for job, *_ in self.jobs])):
            if "error" in result:
                faults.append("%s: %s" % (title, result["error"]))
                continue
            for name, values in wanted.items():
                found = list(values_of(result["outputs"].get(name) or result["outputs"][name + ".out"]))
                largest = max(map(abs, values), default=0) or 1
                worst = max((abs(a - b) for a, b in zip(values, found)), default=0)
                if len(found) != len(values) or not worst <= LIMITS[precision] * largest:
                    faults.append("%s: %s differs by %g of %g" % (title, name, worst, largest))
                count += 1
        return count, faults

    def test_golden_cases(self):
        golden = self.shared("golden")
        if not has_module("onnx"):
            self.skipTest("Python's onnx package, which tells the inputs of a model, is not installed")
        top = self.folder
        self.models = top / "models"
        self.models.mkdir()
        self.refused, self.jobs = [], []
        for case in sorted(path.parent for path in golden.glob("*/config.cntk")):
            text = (case / "config.cntk").read_text()
            description = json.loads((case / "case.json").read_text())
            blocks = {name: block for name, block in blocks_of(text).items() if re.search(r"action *= *write", block, re.I) and "writerType" not in block}
            if not blocks or "{data}" in json.dumps(description["runs"]) or "ImageReader" in text:
                continue
            with self.subTest(case.name):
                self.folder = top / case.name
                shutil.copytree(case, self.folder)
                for entry in description.get("setup", []):
                    (self.folder / entry["to"]).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy(self.folder / entry["copy"], self.folder / entry["to"])
                self.cntk("configFile=config.cntk", status=None)
                for name, block in blocks.items():
                    self.check_command(case.name, name, block, text)
        count, faults = self.compare()
        complaints = check_onnx(self.models, sorted(self.models.glob("*.onnx")))
        print("%d outputs of %d models compared; refused: %s" % (
            count, len(list(self.models.glob("*.onnx"))), ", ".join(self.refused)))
        self.assertEqual("", "\n".join(faults + [complaints]).strip())
        self.assertGreater(count, 100)


if __name__ == "__main__":
    install_runtime()
    Interop.main()
