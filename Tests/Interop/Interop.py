"""Shared parts of the interoperability tests: models made by the program, values of its write action, and evaluation of
exported networks in onnxruntime (a package of the npm registry, installed on the first run).

Environment: CNTK_INTEROP_FOLDER is where the package is installed; CNTK_INTEROP is AUTO (skip if it cannot be) or ON.
"""
import array
import base64
import fcntl
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time
import unittest  # noqa: F401

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "EndToEndTests"))
from EndToEnd import CNTK, ROOT, SHARED, SKIPPED, EndToEndTest, main  # noqa: E402,F401  (used by the tests)

HERE = pathlib.Path(__file__).resolve().parent
FOLDER = pathlib.Path(os.environ.get("CNTK_INTEROP_FOLDER", ROOT / "build/tests/interop")).absolute()
CODES = {"float32": "f", "float64": "d", "int64": "q"}
SYSTEM_PYTHON = "/usr/bin/python3"  # has Debian's numpy and onnx


def install_runtime():
    """Installs onnxruntime once. Without node or the npm registry the test is skipped, or fails with CNTK_INTEROP=ON."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with open(FOLDER / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several tests run at once
        reason = why_not_installed()
    if reason:
        print("Interop: " + reason)
        sys.exit(1 if os.environ.get("CNTK_INTEROP") == "ON" else SKIPPED)


def why_not_installed():
    """Returns why onnxruntime cannot be installed; empty if it is installed."""
    wanted = (HERE / "package-lock.json").read_bytes()
    installed = FOLDER / "node_modules" / "installed.json"
    if installed.exists() and installed.read_bytes() == wanted:
        return ""
    if shutil.which("node") is None or shutil.which("npm") is None:
        return "node and npm are not installed"
    failed = FOLDER / "failed"
    if failed.exists() and time.time() - failed.stat().st_mtime < 600:  # the tests of one run do not all wait
        return failed.read_text()
    for name in ("package.json", "package-lock.json"):
        shutil.copy(HERE / name, FOLDER / name)
    # The scripts of the package would fetch CUDA libraries, which the tests do not need.
    run = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1",
                          "--fetch-timeout=30000"], cwd=FOLDER, capture_output=True, text=True)
    if run.returncode == 0:
        installed.write_bytes(wanted)
        return ""
    reason = "npm cannot install onnxruntime-node: " + " ".join(run.stderr.split())[-300:]
    failed.write_text(reason)
    return reason


def has_module(name):
    """True if the system's Python has the module."""
    return os.path.exists(SYSTEM_PYTHON) and \
        subprocess.run([SYSTEM_PYTHON, "-c", "import " + name], capture_output=True).returncode == 0


def tensor(kind, dims, values):
    return {"type": kind, "dims": dims, "data": base64.b64encode(array.array(CODES[kind], values).tobytes()).decode()}


def values_of(text):
    values = array.array(CODES[text["type"]])
    values.frombytes(base64.b64decode(text["data"]))
    return values


def run_onnx(folder, jobs):
    """Evaluates the jobs of RunOnnx.js in one process and returns their results."""
    (folder / "jobs.json").write_text(json.dumps(jobs))
    environment = dict(os.environ, CNTK_INTEROP_MODULES=str(FOLDER / "node_modules"))
    subprocess.run(["node", str(HERE / "RunOnnx.js"), "jobs.json", "results.json"], cwd=folder, env=environment, check=True,
                   timeout=600)
    return json.loads((folder / "results.json").read_text())


def check_onnx(folder, files):
    """Checks files with Debian's onnx package: types and shapes, opset, unique names. Returns its complaints, or None where
    the package is not installed."""
    if not has_module("onnx"):
        return None
    run = subprocess.run([SYSTEM_PYTHON, str(HERE / "CheckOnnx.py")] + [str(file) for file in files], cwd=folder,
                         capture_output=True, text=True)
    return run.stdout + run.stderr if run.returncode != 0 else ""


def describe_onnx(file):
    """Returns name and dimensions of each input of a model; 0 stands for a dimension with a name."""
    script = ("import json, sys, onnx; print(json.dumps([{'name': i.name, 'dims': [d.dim_value for d in "
              "i.type.tensor_type.shape.dim]} for i in onnx.load(sys.argv[1]).graph.input]))")
    run = subprocess.run([SYSTEM_PYTHON, "-c", script, str(file)], capture_output=True, text=True, check=True)
    return json.loads(run.stdout)
