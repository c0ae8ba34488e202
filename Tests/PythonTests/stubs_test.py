"""Type stubs: they parse and name what the modules have."""
import ast
import os
import shutil
import subprocess

import pytest

import cntk as C

FOLDER = os.path.dirname(C.__file__)


def test_stubs_name_all():
    assert os.path.exists(os.path.join(FOLDER, "py.typed"))
    for module, name in ((C, "__init__"), (C.layers, "layers"), (C.nodes, "nodes")):
        with open(os.path.join(FOLDER, name + ".pyi"), encoding="utf-8") as file:
            tree = ast.parse(file.read())
        named = {node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
        named |= {alias.asname or alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names}
        named |= {node.target.id for node in tree.body if isinstance(node, ast.AnnAssign)}
        missing = {each for each in getattr(module, "__all__", dir(module)) if not each.startswith("_")} - named
        assert not missing - {"math"}


EXAMPLE = """import cntk as C
x = C.input(2, name='x')
y = C.softmax(x @ C.parameter((2, 3)) + [1, 2, 3])
y.name = 'y'
name: str = y.name
leaves: tuple[C.Function, ...] = y.parameters
z = C.nodes.Plus(y, y, name='z')
print(y.eval([[1, 2]]), z[0].shape)
"""


def mypy(folder, text):
    example = folder / "example.py"
    example.write_text(text)
    return subprocess.run(["mypy", "--no-error-summary", "--cache-dir", str(folder), str(example)], capture_output=True,
                          text=True, check=False, env=dict(os.environ, MYPYPATH=os.path.dirname(FOLDER)))


@pytest.mark.skipif(shutil.which("mypy") is None, reason="mypy is not installed")
def test_mypy(tmp_path):
    run = mypy(tmp_path, EXAMPLE)
    assert run.returncode == 0, run.stdout
    run = mypy(tmp_path, EXAMPLE + "y.evall()\nC.plus(x)\nC.input(2, name=3)\nz.uid + 1\n")
    for line, message in ((9, "evall"), (10, "right"), (11, '"name"'), (12, "operand")):
        assert any("example.py:%d:" % line in each and message in each for each in run.stdout.splitlines()), run.stdout
