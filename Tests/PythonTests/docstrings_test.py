"""Every example in a docstring runs and gives what it says."""
import doctest
import importlib
import pkgutil

import pytest

import cntk

MODULES = [each.name for each in pkgutil.iter_modules(cntk.__path__) if not each.name.startswith("_")]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    result = doctest.testmod(importlib.import_module("cntk." + name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0
