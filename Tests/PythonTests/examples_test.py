"""The scripts of Examples/Python: the commands of their README on made data, and the figures on real data."""
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

import cntk as C

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "Examples" / "Python"
DATA = pathlib.Path(os.environ.get("CNTK_TEST_SHARED", "../shared")) / "data"
PROGRAM = pathlib.Path(os.path.dirname(C.__file__)) / ".." / ".." / "bin" / "cntk"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="no shared test data")
needs_program = pytest.mark.skipif(not PROGRAM.exists(), reason="the program is not built")


def run(script, *arguments):
    done = subprocess.run([sys.executable, "-B", str(EXAMPLES / script), *map(str, arguments)], capture_output=True,
                          text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def number(pattern, text):
    found = re.findall(pattern, text)
    assert found, text
    return float(found[-1])


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    run("MakeData.py", folder)
    return folder


@needs_program
def test_commands_of_the_readme(tmp_path):
    """Runs them as they stand, in a folder that looks like the checkout."""
    (tmp_path / "Examples").symlink_to(ROOT / "Examples")
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "python").symlink_to(os.path.dirname(os.path.dirname(C.__file__)))
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python3").symlink_to(sys.executable)
    commands = re.findall(r"```sh\n(.*?)```", (EXAMPLES / "README.md").read_text(), re.DOTALL)[0]
    done = subprocess.run(["sh", "-e", "-c", commands], cwd=tmp_path, capture_output=True, text=True, timeout=200,
                          check=False, env=dict(os.environ, PATH="%s:%s" % (tmp_path / "bin", os.environ["PATH"])))
    assert done.returncode == 0, done.stdout + done.stderr
    assert number(r"epoch 3: ([\d.]+) % of the test labels wrong", done.stdout) < 1
    assert number(r"counted in Python: ([\d.]+) %", done.stdout) < 8
    assert np.loadtxt(tmp_path / "build/python-data/outputs.txt").shape == (500, 3)


@needs_data
def test_logistic_regression_of_the_era():
    folder = DATA / "simple2d" / "helloworld"
    text = run("LogisticRegression.py", "--train", folder / "Train-3Classes_cntk_text.txt",
               "--test", folder / "Test-3Classes_cntk_text.txt")
    assert number(r"cross_entropy: ([\d.]+)", text) == pytest.approx(.43924664, abs=2e-6)
    assert number(r"squared_error: ([\d.]+)", text) == pytest.approx(3.26340137, abs=2e-5)
    assert number(r"Perplexity: ([\d.]+)", text) == pytest.approx(1.55153792, abs=3e-6)


@needs_data
def test_digits(tmp_path):
    text = run("Digits.py", "--train", DATA / "digits/train.txt", "--test", DATA / "digits/test.txt",
               "--picture", tmp_path / "digits.svg")
    wrong = number(r"wrong test images: ([\d.]+) %", text)
    assert wrong < 11
    assert number(r"counted by numpy: ([\d.]+) %", text) == wrong
    assert "<svg" in (tmp_path / "digits.svg").read_text()


@needs_data
def test_tagger_on_atis():
    folder = DATA / "atis" / "derived"
    text = run("Tagger.py", "--train", folder / "atis.train.IOB", "--test", folder / "atis.test.IOB", "--epochs", 2)
    assert number(r"epoch 2: ([\d.]+) % of the test labels wrong", text) < 3.5
    assert "charlotte        B-fromloc.city_name" in text


def test_tagger_needs_both_directions(made):
    text = run("Tagger.py", "--train", made / "sentences-train.txt", "--test", made / "sentences-test.txt")
    assert number(r"epoch 3: ([\d.]+) %", text) < 1


@needs_program
def test_training_with_the_program(made, tmp_path):
    text = run("TrainWithProgram.py", "--train", made / "points-train.txt", "--test", made / "points-test.txt",
               "--work", tmp_path / "work", "--cntk", PROGRAM)
    told = number(r"ErrorPrediction/Sample = ([\d.]+)", text)
    assert told < .08
    assert number(r"counted in Python: ([\d.]+) %", text) == pytest.approx(100 * told, abs=.006)


CONFIG = """
command=train:write
precision=double
modelPath=model.dnn
outputNodeNames=HLast:H1
train=[
    action=train
    SimpleNetworkBuilder=[
        layerSizes=2:7:3
        layerTypes=Sigmoid
        trainingCriterion=CrossEntropyWithSoftmax
        evalCriterion=ErrorPrediction
        applyMeanVarNorm=true
    ]
    SGD=[
        minibatchSize=25
        learningRatesPerMB=0.5
        maxEpochs=2
    ]
    reader=[ readerType=CNTKTextFormatReader ; file=FOLDER/points-train.txt ; INPUT ]
]
write=[
    action=write
    outputPath=output
    reader=[ readerType=CNTKTextFormatReader ; file=FOLDER/points-test.txt ; randomize=none ; INPUT ]
]
"""
INPUT = "input=[ features=[ dim=2 ; format=dense ] ; labels=[ dim=3 ; format=dense ] ]"


@needs_program
def test_a_model_of_the_program(made, tmp_path):
    config = tmp_path / "train.cntk"
    config.write_text(CONFIG.replace("INPUT", INPUT).replace("FOLDER", str(made)))
    done = subprocess.run([PROGRAM, "configFile=train.cntk"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    samples = tmp_path / "samples.txt"
    lines = (made / "points-test.txt").read_text().splitlines()
    samples.write_text("".join(re.match(r"\|features (.*) \|", line).group(1) + "\n" for line in lines))
    for node, options, size in (("HLast", (), 3), ("H1", ("--node", "H1"), 7)):
        values = np.loadtxt(run("EvaluateModel.py", tmp_path / "model.dnn", samples, *options).splitlines())
        assert values.shape == (500, size)
        np.testing.assert_allclose(values, np.loadtxt(tmp_path / ("output." + node)), rtol=2e-5, atol=2e-6)
