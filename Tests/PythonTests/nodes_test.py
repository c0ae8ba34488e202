"""Functions of all node types."""
import inspect

import numpy as np
import pytest

import cntk as C
from cntk import _cntk


def test_every_type_has_a_function():
    assert sorted(dir(C.nodes)) == sorted(record["name"] for record in _cntk.node_types())
    signature = inspect.signature(C.nodes.Times)
    assert list(signature.parameters)[:2] == ["inputs", "name"]
    assert C.nodes.Softmax.__doc__


def test_engine_order():
    x = C.input(3, dtype=np.float64)
    W = np.arange(6.).reshape(3, 2)
    y = C.nodes.Times(C.constant(W, dtype=np.float64), x, name="y")
    assert y.shape == (2,) and y.name == "y" and y.op_name == "Times"
    np.testing.assert_allclose(y.eval([[1, 2, 3]]), [np.array([1, 2, 3]) @ W])
    part = C.nodes.Slice(x, startRow=1, numRows=2)
    np.testing.assert_allclose(part.eval([[1, 2, 3]]), [[2, 3]])
    assert C.nodes.Plus(C.constant(np.ones((6, 2))), C.constant(np.ones((3, 2)))).shape == (6, 2)


def test_wrong_calls():
    x = C.input(3)
    with pytest.raises(TypeError, match="numRows"):
        C.nodes.Slice(x, numRow=2)
    with pytest.raises(C.ModelError):
        C.nodes.Plus(x)
    with pytest.raises(AttributeError, match="Sigmoid"):
        C.nodes.Sigmoidal


def test_statistics_of_data():
    x = C.input(2, name="x")
    mean, deviation = C.nodes.Mean(x), C.nodes.InvStdDev(x)
    normalized = C.nodes.PerDimMeanVarNormalization(x, mean, deviation)
    assert normalized.shape == (2,) and normalized.dynamic_axis.name == "*"
    with pytest.raises(C.ModelError, match="PerDimMeanVarNormalization"):
        C.nodes.PerDimMeanVarNormalization(x, deviation, mean)
