#!/usr/bin/env python3
"""Tests what an export to ONNX leaves out, refuses, names and writes: pruning, refusals, names, metadata, fixed sizes."""
import array
import re

import Interop
from Interop import check_onnx, describe_onnx, has_module, install_runtime, run_onnx, tensor, values_of

SCRIPT = """m=CreateModel()
SetDefaultModel(m)
x=InputValue(4)
labels=InputValue(3)
W=LearnableParameter(3,4,init=fixedValue,value=0.5)
V=LearnableParameter(3,3,init=fixedValue,value=2)
z=Times(W,x)
ce=CrossEntropyWithSoftmax(labels,z)
err=ErrorPrediction(labels,z)
sum=SumElements(z)
l2=MatrixL2Reg(W)
s=Times(V,W)
mn=Mean(x)
d=Minus(x,mn)
f=FutureValue(3,1,z,timeStep=1)
p=PastValue(3,1,z,timeStep=1)
h=Plus(z,q)
q=PastValue(3,1,h,timeStep=1)
g=Plus(Plus(z,r),sum)
r=PastValue(3,1,g,timeStep=1)
SetProperty(z,output,true)
SetProperty(ce,criterion,true)
SaveModel(m,m.dnn)
"""
CONFIG = """command=Make
Make=[ action=edit; editPath=m.mel ]
Export=[ action=export; modelPath=m.dnn; outputPath=m.onnx ]
"""
INTERNAL = "which sums over the samples of a minibatch; export what it reads: outputNodeNames=z"


class OnnxFilesTest(Interop.EndToEndTest):
    def setUp(self):
        super().setUp()
        self.write("m.mel", SCRIPT)
        self.write("c.cntk", CONFIG)
        self.cntk("configFile=c.cntk")

    def export(self, keys="", status=0, *arguments):
        return self.cntk("configFile=c.cntk", "command=Export", "Export=[%s]" % keys, *arguments, status=status)

    def evaluate(self, feeds):
        result = run_onnx(self.folder, [{"model": "m.onnx", "feeds": feeds}])[0]
        self.assertNotIn("error", result)
        return result

    # ---- what is exported ----

    def test_criteria_and_labels_are_left_out(self):
        run = self.export()
        self.assertIn("Exported 1 input, 1 output, 1 operator, 1 parameter with 12 values (float) to 'm.onnx'.", run.stderr)
        result = self.evaluate({"x": tensor("float32", [2, 4], [1, 2, 3, 4, 0, 0, 0, 1])})
        self.assertEqual((["x"], ["z"]), (result["inputs"], list(result["outputs"])))
        self.assertEqual([5, 5, 5, 0.5, 0.5, 0.5], list(values_of(result["outputs"]["z"])))

    def test_inputs_parameters_and_computed_values_may_be_outputs(self):
        self.export("outputNodeNames=z:s:l2:W:x")
        result = self.evaluate({"x": tensor("float32", [1, 4], [1, 2, 3, 4])})
        outputs = {name: (text["dims"], list(values_of(text))) for name, text in result["outputs"].items()}
        self.assertEqual({"z": ([1, 3], [5.0] * 3), "s": ([4, 3], [3.0] * 12), "W.out": ([4, 3], [0.5] * 12),
                          "x.out": ([1, 4], [1.0, 2.0, 3.0, 4.0])},
                         {name: value for name, value in outputs.items() if name != "l2"})
        self.assertAlmostEqual(12 ** 0.5 / 2, outputs["l2"][1][0], places=6)

    def test_same_model_gives_the_same_bytes(self):
        self.export("outputNodeNames=h:f:s")
        first = (self.folder / "m.onnx").read_bytes()
        self.export("outputNodeNames=h:f:s")
        self.assertEqual(first, (self.folder / "m.onnx").read_bytes())

    def test_parameters_are_the_models_memory(self):
        self.write("m.mel", SCRIPT.replace("init=fixedValue,value=0.5", "init=uniform"))
        self.cntk("configFile=c.cntk")
        self.export()
        model, onnx = (self.folder / "m.dnn").read_bytes(), (self.folder / "m.onnx").read_bytes()
        at = onnx.rindex(b"W") + 1  # the name, then the field of the data: tag and length
        values = onnx[at + 2:at + 2 + 48]
        self.assertIn(values, model)
        self.assertEqual(12, len(array.array("f", values)))

    def test_precision_is_that_of_the_file(self):
        self.write("c.cntk", "precision=double\n" + CONFIG)
        self.cntk("configFile=c.cntk")
        self.write("c.cntk", CONFIG)
        run = self.export()
        self.assertIn("12 values (double)", run.stderr)
        run = self.export("", 0, "precision=float")
        self.assertIn("12 values (float)", run.stderr)

    @Interop.unittest.skipUnless(has_module("onnx"), "the Python package onnx is not installed")
    def test_shapes_and_labels(self):
        self.write("labels.txt", "first\nsecond\n")
        self.export("outputNodeNames=h; fixedBatch=2; labelMappingFile=labels.txt")
        self.assertEqual([{"name": "x", "dims": [0, 2, 4]}], describe_onnx(self.folder / "m.onnx"))
        self.assertEqual("", check_onnx(self.folder, ["m.onnx"]))
        self.assertIn(b"\x12\x0cfirst\nsecond", (self.folder / "m.onnx").read_bytes())
        self.export("outputNodeNames=f:h; stateInputs=false")
        self.assertEqual([{"name": "x", "dims": [0, 0, 4]}, {"name": "sequenceLengths", "dims": [0]}],
                         describe_onnx(self.folder / "m.onnx"))

    def test_a_missing_label_file_is_found_before_the_first_command(self):
        run = self.cntk("configFile=c.cntk", "command=Make:Export", "Export=[labelMappingFile=nolabels.txt]", status=4)
        self.assertIn("labelMappingFile: 'nolabels.txt' does not exist, and no earlier command writes it", run.stderr)
        self.assertNotIn("Action \"edit\"", run.stderr)

    def test_check_writes_nothing(self):
        run = self.export("", 0, "--check")
        self.assertIn("Would export 1 input, 1 output", run.stderr)
        self.assertFalse((self.folder / "m.onnx").exists())
        self.export("outputNodeNames=ce", 5, "--check")

    # ---- refusals ----

    def assert_refused(self, keys, *messages):
        run = self.export(keys, 5)
        lines = run.stderr.splitlines()
        for message in messages:
            self.assertTrue(any(message in line for line in lines), "%s\nnot in\n%s" % (message, run.stderr[-2000:]))
        self.assertRegex(lines[-1], r"error: '\w+' is a \w+, which .*; ")
        self.assertFalse((self.folder / "m.onnx").exists())

    def test_all_refusals_are_listed(self):
        self.assert_refused(
            "outputNodeNames=ce:err:sum:d:z",
            "'ce' is a CrossEntropyWithSoftmax, which needs labels; export what it reads: outputNodeNames=z",
            "'err' is a ErrorPrediction, which needs labels; export what it reads: outputNodeNames=z",
            "'sum' is a SumElements, " + INTERNAL,
            "'mn' is a Mean, which is not computed yet; train the model")

    def test_refusal_in_a_loop(self):
        self.assert_refused("outputNodeNames=g", "'sum' is a SumElements, " + INTERNAL)

    def test_state_of_networks_that_look_ahead(self):
        self.assert_refused("outputNodeNames=f:h; stateInputs=true", "'f' is a FutureValue, which looks ahead")

    def test_convolution_without_sharing(self):
        self.write("m.mel", """m=CreateModel()
SetDefaultModel(m)
x=ImageInput(4,2,1,imageLayout=CHW)
W=LearnableParameter(4,4,init=uniform)
own=Convolution(W,x,{2,2,1},mapCount=2,stride=2,autoPadding=false,sharing={false,true,true})
SaveModel(m,m.dnn)
""")
        self.cntk("configFile=c.cntk")
        self.assert_refused("outputNodeNames=own", "'own' is a Convolution, which has a kernel of its own for each window")

    def test_unknown_names(self):
        run = self.export("outputNodeNames=zz", 3)
        self.assertRegex(run.stderr.splitlines()[-1], "outputNodeNames: the model has no node 'zz'; candidates: d, ")
        run = self.export("wordInputs=z", 3)
        self.assertIn("wordInputs: 'z' is no input of the model; its inputs are labels, x", run.stderr.splitlines()[-1])

    def test_names_of_helpers_are_unique(self):
        # A node has the name that a helper value of another node would get.
        self.write("m.mel", re.sub("z=Times.*", "z=Softmax(x)", SCRIPT.split("ce=")[0]) +
                   "y=Log(z)\nSetProperty(y,output,true)\nRename(V,y/1)\nk=Times(y/1,RowSlice(0,3,y))\n"
                   "SetProperty(k,output,true)\nSaveModel(m,m.dnn)\n")
        self.cntk("configFile=c.cntk")
        self.export("outputNodeNames=k:y")
        self.assertIn(b"y/2", (self.folder / "m.onnx").read_bytes())
        self.assertIn(check_onnx(self.folder, ["m.onnx"]), (None, ""))


if __name__ == "__main__":
    install_runtime()
    Interop.main()
