"""The Python code of the documentation runs."""
import pathlib
import re

import pytest

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "Documentation"


@pytest.mark.parametrize("name", ["Python.md", "PythonConcepts.md"])
def test_code_of_the_page(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some blocks write files
    blocks = re.findall(r"```python\n(.*?)```", (FOLDER / name).read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) >= 3
    names = {}
    for block in blocks:
        exec(compile(block, name, "exec"), names)
