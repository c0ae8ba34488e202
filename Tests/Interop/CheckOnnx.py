#!/usr/bin/env python3
"""Checks ONNX files with the onnx package: CheckOnnx.py FILE... Prints a line for each fault."""
import sys

import onnx


def names_of(graph):
    """Yields all names that the graph and its inner graphs define."""
    for value in list(graph.input) + list(graph.initializer):
        yield value.name
    for node in graph.node:
        yield from node.output
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from names_of(attribute.g)


def faults(path):
    model = onnx.load(path)
    try:
        onnx.checker.check_model(model, full_check=True)
    except Exception as error:  # the checker has several kinds of errors
        yield str(error)
    names = list(names_of(model.graph))
    if len(names) != len(set(names)):
        yield "names are used twice: " + ", ".join(sorted({name for name in names if names.count(name) > 1}))
    nodes = [node.name for node in model.graph.node]
    if len(nodes) != len(set(nodes)):
        yield "operators have the same name"
    if model.ir_version != 8 or [(o.domain, o.version) for o in model.opset_import] != [("", 17)]:
        yield "IR version or opset differ from 8 and 17"
    if model.producer_name != "CNTK Classic" or not model.producer_version:
        yield "the producer is missing"


wrong = 0
for name in sys.argv[1:]:
    for fault in faults(name):
        print("%s: %s" % (name, fault))
        wrong += 1
sys.exit(1 if wrong else 0)
