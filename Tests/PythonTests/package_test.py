"""The package works outside of the build folder: native module, plugins, program, type stubs."""
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

from cntk import _cntk

BUILD = pathlib.Path(_cntk.__file__).resolve().parents[2]

TRAINING = """
import cntk as C
x, y = C.input(2, name='x'), C.input(1, name='y')
w = C.parameter((2, 1), init=0)
loss = C.squared_error(x @ w, y)
text = C.reader.CNTKTextFormatReader('data.txt', randomize=False)
text.map(x, 'x').map(y, 'y')
C.Trainer(None, loss, C.sgd(w, lr=0.5)).train(text, 4, epochs=20)
print(C.__file__, [round(float(each), 2) for each in w.value.ravel()])
assert C.sigmoid.__doc__ and C.nodes.Sigmoid.__doc__
"""

CONFIG = """
command=Train
modelPath=m.dnn
deviceId=-1
reader=[ readerType=CNTKTextFormatReader; file=data.txt
    input=[ features=[ alias=x; dim=2; format=dense ]; labels=[ alias=y; dim=1; format=dense ] ] ]
Train=[ action=train; SimpleNetworkBuilder=[ layerSizes=2:1; trainingCriterion=SquareError ]
    SGD=[ minibatchSize=4; maxEpochs=2; learningRatesPerMB=0.1 ] ]
"""


@pytest.fixture(name="package", scope="module")
def installed_package(tmp_path_factory):
    """The folder that holds an installed package, and nothing else of the build."""
    if not (BUILD / "cmake_install.cmake").exists() or shutil.which("cmake") is None:
        pytest.skip("the module was not built with CMake here")
    if not (BUILD / "bin/cntk").exists():
        pytest.skip("the program is not built")
    prefix = tmp_path_factory.mktemp("a package")
    run(["cmake", "--install", BUILD, "--component", "python", "--prefix", prefix], prefix)
    return prefix


def run(command, folder, path=None):
    environment = {name: value for name, value in os.environ.items()
                   if name not in ("PYTHONPATH", "LD_LIBRARY_PATH")}
    if path:
        environment["PYTHONPATH"] = str(path)
    done = subprocess.run([str(part) for part in command], cwd=folder, env=environment, capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(name="data")
def data_folder(tmp_path):
    (tmp_path / "data.txt").write_text("".join("|x %d %d |y %d\n" % (a, b, 2 * a - b)
                                               for a, b in [(1, 0), (0, 1), (1, 1), (-1, 1)] * 3))
    return tmp_path


def test_reader_and_training(package, data):
    out = run([sys.executable, "-B", "-c", TRAINING], data, package).split(" [")
    assert out[0].startswith(str(package)) and out[1] == "2.0, -1.0]\n"


@pytest.mark.parametrize("is_module", [True, False])
def test_program(package, data, is_module):
    (data / "x.cntk").write_text(CONFIG)
    program = [sys.executable, "-B", "-m", "cntk"] if is_module else [package / "cntk/bin/cntk"]
    run([*program, "configFile=x.cntk"], data, package)
    assert (data / "m.dnn").exists()


def test_stubs(package):
    modules = {path.stem for path in (package / "cntk").glob("*.py")} - {"__main__"}
    assert {path.stem for path in (package / "cntk").glob("*.pyi")} - {"_cntk"} == modules
    assert (package / "cntk/py.typed").exists()
