#!/usr/bin/env python3
"""Writes cntk/nodes.py: a function for each node type of the engine's registry.

    GenerateNodes.py FOLDER    FOLDER holds the built package cntk
"""
import os
import sys
import textwrap

HEADER = '''"""Functions of all node types of the engine, made from their records when the module is built.

Parameters and dimensions are the engine's: axes are counted from 1, and shapes are in the engine's order, the first
dimension running fastest. Inputs and results are ordinary nodes.
"""
import difflib as _difflib

from . import _cntk


def _text(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ":".join(_text(each) for each in value)
    return str(value)


def _dims(options, owner):
    text = options.get("dims") or ":".join(str(options[key]) for key in ("rows", "cols") if key in options)
    if not text:
        raise TypeError(owner + " needs dims or rows")
    return tuple(int(part) for part in reversed(_text(text).split(":")))


def _make(type_name, inputs, name, given, defaults, unknown):
    for option in unknown:
        near = _difflib.get_close_matches(option, list(defaults), 1)
        raise TypeError("%s has no parameter '%s'%s" % (type_name, option,
                                                       "; did you mean '%s'?" % near[0] if near else ""))
    options = {key: value for key, value in given.items() if value is not None and value != defaults[key]}
    if type_name in ("InputValue", "SparseInputValue") and not inputs:
        return _cntk.input(_dims(options, type_name), options.get("dynamicAxis"), name, None,
                           type_name == "SparseInputValue", "*")
    if type_name == "LearnableParameter" and not inputs:
        texts = {key: _text(value) for key, value in options.items() if key not in ("rows", "cols", "dims")}
        return _cntk.parameter_from_initializer(_dims(options, type_name), texts, None, name)
    return _cntk.engine_operation(type_name, inputs, [(key, _text(value)) for key, value in options.items()], name)


def __getattr__(name):
    near = _difflib.get_close_matches(name, __all__, 1) or [each for each in __all__ if each.lower() == name.lower()]
    raise AttributeError("there is no node type '%s'%s" % (name, "; did you mean '%s'?" % near[0] if near else ""))


def __dir__():
    return list(__all__)
'''


def default_of(parameter):
    """The default as a Python expression."""
    text, kind = parameter["default"], parameter["kind"]
    if text == "":
        return "None"
    if kind == "Boolean":
        return "True" if text == "true" else "False"
    if kind in ("Integer", "Real"):
        try:
            return repr(int(text) if kind == "Integer" else float(text))
        except ValueError:
            return repr(text)
    return repr(text)


def function_of(record):
    """The source text of the function of a record."""
    parameters = record["parameters"]
    signature = ["*inputs", "name=''"] + ["%s=%s" % (p["name"], default_of(p)) for p in parameters] + ["**unknown"]
    doc = textwrap.wrap(record["doc"], 112)
    if record["inputs"]:
        doc += ["", "Inputs: " + ", ".join(record["inputs"]) + "."]
    for p in parameters:
        doc += textwrap.wrap("%s: %s" % (p["name"], p["doc"]), 112, subsequent_indent="    ")
    if record["book"]:
        doc += ["", "Section %s of the book." % record["book"]]
    text = "\n".join("    " + line if line else "" for line in doc).replace("\\", "\\\\").replace('"""', "'''").strip()
    pairs = ["%r: %s" % (p["name"], p["name"]) for p in parameters]
    defaults = ["%r: %s" % (p["name"], default_of(p)) for p in parameters]
    return '\n\ndef %s(%s):\n    """%s"""\n    return _make(%r, inputs, name, {%s}, {%s}, unknown)\n' % (
        record["name"], ", ".join(signature), text, record["name"], ", ".join(pairs), ", ".join(defaults))


def main():
    folder = sys.argv[1]
    sys.path.insert(0, os.path.join(folder, "cntk"))
    import importlib.util
    found = [name for name in os.listdir(os.path.join(folder, "cntk"))
             if name.startswith("_cntk.") and name.endswith(".so")][0]
    spec = importlib.util.spec_from_file_location("_cntk", os.path.join(folder, "cntk", found))
    extension = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(extension)
    records = sorted(extension.node_types(), key=lambda record: record["name"].lower())
    text = HEADER + "\n\n__all__ = %s\n" % textwrap.fill(repr([record["name"] for record in records]), 118,
                                                         subsequent_indent="           ")
    text += "".join(function_of(record) for record in records)
    path = os.path.join(folder, "cntk", "nodes.py")
    if not os.path.exists(path) or open(path, encoding="utf-8").read() != text:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    main()
