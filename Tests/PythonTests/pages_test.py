"""The Python code of the documentation runs."""
import pathlib
import re

PAGE = pathlib.Path(__file__).resolve().parents[2] / "Documentation" / "Python.md"


def test_code_of_the_page():
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) >= 3
    names = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
