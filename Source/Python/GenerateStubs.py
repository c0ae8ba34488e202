#!/usr/bin/env python3
"""Writes type stubs (.pyi) of the built package, from the signatures of its functions and classes.

    GenerateStubs.py FOLDER    FOLDER holds the built package cntk
"""
import inspect
import os
import pkgutil
import sys

HEADER = "from typing import Any, Iterator\n"


def parameter_text(parameter):
    """One parameter: defaults become '...'."""
    prefix = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    text = prefix + parameter.name
    if parameter.name != "self":
        text += ": Any"
    return text + (" = ..." if parameter.default is not parameter.empty else "")


def signature_text(function):
    """The parameters of a function as source text."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return "*args: Any, **kwargs: Any"
    texts, has_star = [], False
    for parameter in parameters:
        if parameter.kind == parameter.VAR_POSITIONAL:
            has_star = True
        if parameter.kind == parameter.KEYWORD_ONLY and not has_star:
            texts.append("*")
            has_star = True
        texts.append(parameter_text(parameter))
    return ", ".join(texts)


def class_text(cls):
    """A class with its public members."""
    bases = [base.__name__ for base in cls.__bases__ if base.__module__.startswith("cntk") or base in (dict, Exception, ValueError, RuntimeError, MemoryError)]
    lines = ["class %s%s:" % (cls.__name__, "(%s)" % ", ".join(bases) if bases else "")]
    for name, member in sorted(vars(cls).items()):
        if name.startswith("_") and name not in ("__init__", "__call__", "__getitem__", "__len__", "__add__", "__radd__", "__sub__",
                                                 "__rsub__", "__mul__", "__rmul__", "__truediv__", "__rtruediv__",
                                                 "__matmul__", "__rmatmul__", "__neg__", "__abs__"):
            continue
        if isinstance(member, property):
            lines.append("    @property\n    def %s(self) -> Any: ..." % name)
            if member.fset is not None:
                lines.append("    @%s.setter\n    def %s(self, value: Any) -> None: ..." % (name, name))
        elif inspect.isfunction(member):
            result = "None" if name == "__init__" else "Any"
            lines.append("    def %s(%s) -> %s: ..." % (name, signature_text(member), result))
        elif callable(member):
            lines.append("    def %s(self, *args: Any, **kwargs: Any) -> Any: ..." % name)
    return "\n".join(lines if len(lines) > 1 else lines + ["    ..."])


def module_text(module):
    """The stub of a module: its own functions and classes, and names that it takes from other modules of the package."""
    lines, imports = [], []
    for name, member in sorted(vars(module).items()):
        if name.startswith("_"):
            continue
        home = getattr(member, "__module__", "") or ""
        if inspect.ismodule(member):
            if member.__name__.startswith("cntk."):
                imports.append("from . import %s as %s" % (member.__name__.split(".")[1], name))
        elif home.startswith("cntk.") and home != module.__name__:
            imports.append("from .%s import %s as %s" % (home.split(".")[1], member.__name__ if hasattr(member, "__name__") else name, name))
        elif inspect.isclass(member):
            lines.append(class_text(member))
        elif inspect.isfunction(member):
            lines.append("def %s(%s) -> Any: ..." % (name, signature_text(member)))
        elif home in ("", module.__name__) and not callable(member):
            lines.append("%s: Any" % name)
    return HEADER + "\n".join(imports + [""] + lines) + "\n"


def main():
    folder = sys.argv[1]
    sys.path.insert(0, folder)
    import cntk

    modules = {"__init__": cntk, "_cntk": sys.modules["cntk._cntk"]}
    for each in pkgutil.iter_modules(cntk.__path__):
        if not each.name.startswith("_"):
            modules[each.name] = sys.modules["cntk." + each.name]
    for name, module in modules.items():
        with open(os.path.join(folder, "cntk", name + ".pyi"), "w", encoding="utf-8") as file:
            file.write(module_text(module))
    open(os.path.join(folder, "cntk", "py.typed"), "w", encoding="utf-8").close()


if __name__ == "__main__":
    main()
