#!/usr/bin/env python3
"""Tests that the model of the first example gives the same values in onnxruntime."""
import shutil
import subprocess
import sys

import Interop
from Interop import ROOT, install_runtime, run_onnx, tensor, values_of

LIMIT = 2e-5  # of the largest number


class OnnxExamplesTest(Interop.EndToEndTest):
    def numbers(self, name):
        return [list(map(float, line.split())) for line in self.read(name).splitlines() if line.strip()]

    def assert_near(self, expected, found):
        largest = max(abs(value) for value in expected)
        self.assertEqual(len(expected), len(found))
        self.assertLessEqual(max(abs(a - b) for a, b in zip(expected, found)), LIMIT * largest)

    def test_first_example(self):
        example = ROOT / "Examples/Simple2d"
        shutil.copy(example / "Simple.cntk", self.folder)
        subprocess.run([sys.executable, str(example / "GenerateData.py"), "data", "--train", "500"], cwd=self.folder, check=True,
                       stdout=subprocess.DEVNULL)
        self.cntk("configFile=Simple.cntk", "Simple_Demo=[SGD=[maxEpochs=2]]",
                  "Simple_Demo_Output=[format=[precisionFormat=.9]]", "command=Simple_Demo:Simple_Demo_Output:Export",
                  "Export=[action=export;outputPath=first.onnx;labelMappingFile=data/SimpleMapping.txt]")
        points = [row[:2] for row in self.numbers("data/SimpleDataTest.txt")]
        feeds = {"features": tensor("float32", [len(points), 2], [value for point in points for value in point])}
        result = run_onnx(self.folder, [{"model": "first.onnx", "feeds": feeds}])[0]
        self.assertEqual(["features"], result["inputs"])
        expected = self.numbers("output/SimpleOutput.ScaledLogLikelihood")
        self.assert_near([value for row in expected for value in row],
                         list(values_of(result["outputs"]["ScaledLogLikelihood"])))


if __name__ == "__main__":
    install_runtime()
    Interop.main()
