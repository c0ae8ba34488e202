#!/usr/bin/env python3
"""Runs the code blocks of Documentation/Exporting.md, where their tools are installed, and compares what they print."""
import os
import re
import shutil
import subprocess
import unittest

import Interop
from Interop import FOLDER, ROOT, SYSTEM_PYTHON, has_module, install_runtime

BLOCK = re.compile(r'^\*\*`(\S+)`\*\*\n\n```\w*\n(.*?)^```$', re.MULTILINE | re.DOTALL)

# The models that the page presumes.
SCRIPTS = {"first": """m=CreateModel()
SetDefaultModel(m)
features=InputValue(3)
W=LearnableParameter(2,3,init=fixedValue,value=0.25)
b=LearnableParameter(2,1,init=fixedValue,value=1)
z=Plus(Times(W,features),b)
SetProperty(z,output,true)
SaveModel(m,model/first.dnn)
""", "rnn": """m=CreateModel()
SetDefaultModel(m)
features=InputValue(3)
U=LearnableParameter(2,3,init=fixedValue,value=0.5)
before=PastValue(2,1,h,timeStep=1)
h=Plus(Times(U,features),before)
SetProperty(h,output,true)
SaveModel(m,model/rnn.dnn)
"""}
Z = [1.375, 1.375]  # 0.25 * (0.5 - 1 + 2) + 1


def numbers(text):
    return [float(number) for number in re.findall(r"-?\d+\.?\d*", text)]


class PagesTest(Interop.EndToEndTest):
    def setUp(self):
        super().setUp()
        page = (ROOT / "Documentation/Exporting.md").read_text(encoding="utf-8")
        for name, text in BLOCK.findall(page):
            self.write(name, text)
        for name, script in SCRIPTS.items():
            self.write("make.mel", script)
            self.write("make.cntk", "command=Make\nMake=[ action=edit; editPath=make.mel ]\n")
            self.cntk("configFile=make.cntk")
        for name in ("weights", "network", "stream"):
            self.cntk("configFile=%s.cntk" % name)

    def run_tool(self, *command):
        environment = dict(os.environ, NODE_PATH=str(FOLDER / "node_modules"))
        run = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, env=environment)
        self.assertEqual(0, run.returncode, run.stderr)
        return run.stdout

    @unittest.skipUnless(has_module("numpy"), "numpy is not installed")
    def test_numpy(self):
        self.assertEqual(Z, numbers(self.run_tool(SYSTEM_PYTHON, "weights.py")))
        self.run_tool(SYSTEM_PYTHON, "halve.py")
        run = self.cntk("configFile=import.cntk")
        self.assertIn("Imported 1 parameter with 6 values", run.stderr)

    def test_node(self):
        self.assertEqual(Z, numbers(self.run_tool("node", "first.js")))

    def test_streaming(self):
        lines = self.run_tool("node", "stream.js").splitlines()
        for line, h in zip(lines, (0.6, 1.1, 1.6)):
            for number in numbers(line):
                self.assertAlmostEqual(h, number, places=5)
        self.assertEqual(3, len(lines))

    @unittest.skipUnless(has_module("onnxruntime"), "onnxruntime for Python is not installed")
    def test_python(self):
        self.assertEqual(Z, numbers(self.run_tool(SYSTEM_PYTHON, "first.py")))

    @unittest.skipUnless(os.path.exists("/usr/include/onnxruntime_cxx_api.h") and shutil.which("g++"),
                         "onnxruntime's C++ header is not installed")
    def test_service(self):
        self.run_tool("g++", "-std=c++17", "first.cpp", "-o", "first", "-lonnxruntime")
        self.assertEqual(Z, numbers(self.run_tool("./first")))


if __name__ == "__main__":
    install_runtime()
    Interop.main()
