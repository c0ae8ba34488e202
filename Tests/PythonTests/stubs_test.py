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


@pytest.mark.skipif(shutil.which("mypy") is None, reason="mypy is not installed")
def test_mypy_accepts_an_example(tmp_path):
    example = tmp_path / "example.py"
    example.write_text("import cntk as C\nx = C.input(2)\ny = C.softmax(x @ C.parameter((2, 3)))\nprint(y.eval([[1, 2]]))\n")
    run = subprocess.run(["mypy", "--no-error-summary", str(example)], capture_output=True, text=True, check=False,
                         env=dict(os.environ, MYPYPATH=os.path.dirname(FOLDER)))
    assert run.returncode == 0, run.stdout
