"""The scripts of Examples/Python run."""
import os
import pathlib
import re
import subprocess
import sys

import pytest

import cntk as C

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "Examples" / "Python"
DIGITS = os.path.join(os.environ.get("CNTK_TEST_SHARED", "../shared"), "data", "digits")


def run(script, *arguments):
    done = subprocess.run([sys.executable, "-B", str(FOLDER / script), *map(str, arguments)], capture_output=True,
                          text=True, check=False, env=dict(os.environ, PYTHONPATH=os.path.dirname(os.path.dirname(C.__file__))))
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_logistic_regression():
    assert float(re.search(r"'errors': ([\d.]+)", run("LogisticRegression.py")).group(1)) < .15


@pytest.mark.skipif(not os.path.isdir(DIGITS), reason="no shared test data")
def test_digits():
    assert float(re.search(r"test set: ([\d.]+)", run("Digits.py", DIGITS)).group(1)) < 12


def test_tagger():
    assert float(re.findall(r"([\d.]+) % errors", run("Tagger.py"))[-1]) < 20


def test_export(tmp_path):
    path = run("Export.py", tmp_path).strip()
    assert "command=train" in open(path, encoding="utf-8").read()


def test_evaluation(tmp_path):
    x = C.input(3, name="x")
    y = C.softmax(x @ C.parameter((3, 2)), name="y")
    y.save(str(tmp_path / "model"))
    assert "Softmax 'y'" in run("EvaluateModel.py", tmp_path / "model")
