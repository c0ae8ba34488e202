#!/usr/bin/env python3
"""Tests network descriptions with the real program: the listings of the book's chapter on NDL, the places of scripts, initial
values, and full error messages. NdlFunctionsTest.py tests the functions."""
import random
import re
import textwrap

from EndToEnd import ROOT, EndToEndTest, main

CONFIG = """command=Train
modelPath=m.dnn
deviceId=cpu
Train=[
  action=train
  NDLNetworkBuilder=[ networkDescription=net.ndl ]
  SGD=[ maxEpochs=1; minibatchSize=8; learningRatesPerSample=0.01 ]
  reader=[
    readerType=UCIFastReader
    file=data.txt
    features=[ start=1; dim=$dim$ ]
    labels=[ start=0; dim=1; labelDim=$classes$; labelMappingFile=map.txt ]
  ]
]
"""

# Book 4.1.1, in the pieces of the book.
VARIABLES = "SDim=784\nHDim=256\nLDim=10\n"
INPUTS = "features=Input(SDim)\nlabels=Input(LDim)\n"
PARAMETERS = "W0=Parameter(HDim, SDim)\nB0=Parameter(HDim)\nW1=Parameter(LDim, HDim)\nB1=Parameter(LDim, 1)\n"
COMPUTATION = ("#Computation\nTimes1=Times(W0, features)\nPlus1=Plus(Times1, B0)\nRL1=RectifiedLinear(Plus1)\n\n"
               "Times2=Times(W1, RL1)\nPlus2=Plus(Times2, B1)\n")
CRITERIA = ("#Training Criterion\nCE=CrossEntropyWithSoftmax(labels, Plus2)\n\n"
            "#Test Objective Function\nErrPredict=ErrorPrediction(labels, Plus2)\n")
SPECIAL = ("FeatureNodes=(features)\nLabelNodes=(labels)\nCriteriaNodes=(CE)\nEvalNodes=(ErrPredict)\n"
           "OutputNodes=(Plus2)\n")

# Book 4.1.2.1
RFF = "RFF(x1, w1, b1)=RectifiedLinear(Plus(Times(w1,x1),b1))\n"
MACROS = """FF(X1, W1, B1)
{
   T=Times(W1, X1)
   FF=Plus(T, B1)
}
BFF(in, rows, cols)
{
   B=Parameter(rows)
   W=Parameter(rows, cols)
   BFF = FF(in, w, b)
}
RBFF(input, rowCount, colCount)
{
  F = BFF(input, rowCount, colCount);
  RBFF = RectifiedLinear(F);
}
SMBFF(x,r,c, labels)
{
  F = BFF(x,r,c);
  SM = CrossEntropyWithSoftmax(labels, F)
}
"""

# Book 4.1.2.2
USE = """# Sample, Hidden, and Label dimensions
SDim=784
HDim=256
LDim=10

#Inputs
features=Input(SDim)
labels=Input(LDim)

# Layer operations
L1 = RBFF(features, HDim, SDim)
CE = SMBFF(L1, LDim, HDim, labels)
Err=ErrorPrediction(labels, CE.F)
"""

SMALL = """features=Input(3, tag=feature)
labels=Input(2, tag=label)
W=Parameter(2, 3)
z=Times(W, features)
ce=CrossEntropyWithSoftmax(labels, z, tag=criterion)
err=ErrorPrediction(labels, z, tag=eval)
OutputNodes=(z)
"""


class NdlTest(EndToEndTest):
    def prepare(self, dim=3, classes=2):
        numbers = random.Random(7)
        rows = []
        for i in range(24):
            values = ["%.3f" % (numbers.gauss(0, 0.3) + (j % classes == i % classes)) for j in range(dim)]
            rows.append(" ".join([str(i % classes)] + values))
        self.write("data.txt", "\n".join(rows) + "\n")
        self.write("map.txt", "".join("%d\n" % label for label in range(classes)))
        self.write("exp.cntk", CONFIG.replace("$dim$", str(dim)).replace("$classes$", str(classes)))

    def check(self, script, *arguments, status=0):
        self.write("net.ndl", textwrap.dedent(script))
        return self.cntk("configFile=exp.cntk", "--check", *arguments, status=status).stderr

    def shapes(self, log):
        return dict(re.findall(r"^Validating --> (\S+) = .* -> (\[.*\])$", log, re.M))

    def train(self, script, *arguments):
        self.write("net.ndl", textwrap.dedent(script))
        log = self.cntk("configFile=exp.cntk", "makeMode=false", *arguments).stderr
        return re.search(r"Finished Epoch\[ *1 of 1\]: \[Training Set\] (TrainLossPerSample = .*?; .*?);.*?; .*?;",
                         log).group(0)

    def train_and_keep(self, script, *arguments):
        """The model before the first epoch is m.dnn.0."""
        self.train(script, "Train=[SGD=[keepCheckPointFiles=true]]", *arguments)

    def values(self, name, model="m.dnn"):
        """Returns the values of a parameter of the saved model, row by row."""
        self.cntk("configFile=exp.cntk", "command=Dump", "modelPath=" + model,
                  "Dump=[action=dumpnode; nodeName=%s; outputFile=dump.txt; printValues=true]" % name)
        body = self.read("dump.txt").split("\n", 1)[1]
        return [[float(word) for word in line.split()] for line in body.splitlines()
                if re.match(r"^[-+.\d][-+.\de ]*$", line.strip())]

    # ---- the listings of the book's section 4.1 -------------------------------------------------------------------------

    def test_4_1_1_the_first_network(self):
        self.prepare(784, 10)
        script = VARIABLES + INPUTS + PARAMETERS + COMPUTATION + CRITERIA + SPECIAL
        self.train(script)
        shapes = self.shapes(self.check(script))
        self.assertEqual(shapes["W0"], "[256 x 784]")
        self.assertEqual(shapes["B0"], "[256]")
        self.assertEqual(shapes["RL1"], "[256 x *]")
        self.assertEqual(shapes["CE"], "[1]")

    def test_4_1_1_6_special_nodes_for_several_sequences(self):
        self.prepare(784, 10)
        before = VARIABLES + INPUTS + PARAMETERS + COMPUTATION + CRITERIA
        self.assertEqual(self.train(before + SPECIAL), self.train(before + SPECIAL + "NodesReqMultiSeqHandling=(CE)\n"))

    def test_4_1_1_7_comments(self):
        self.prepare(784, 10)
        script = VARIABLES + INPUTS + PARAMETERS + COMPUTATION + CRITERIA.replace(
            "Plus2)\n", "Plus2) # classification error\n") + SPECIAL + (
                "# the following variable is set to infinity and\n"
                "# the # in 1#INF is not interpreted as a comment marker\nvar = 1#INF\n"
                "limit = Constant(var)\nEvalNodesToo=Minus(limit, limit, tag=output)\n")
        self.assertEqual(self.shapes(self.check(script))["limit"], "[1 x 1]")

    def test_4_1_2_1_a_macro_in_one_line(self):
        self.prepare(784, 10)
        plain = VARIABLES + INPUTS + PARAMETERS + COMPUTATION + CRITERIA + SPECIAL
        lines = [line for line in plain.splitlines() if not line.startswith(("Times1", "Plus1", "RL1"))]
        at = next(i for i, line in enumerate(lines) if line.startswith("Times2"))
        script = RFF + "\n".join(lines[:at] + ["RL1=RFF(features, W0, B0)"] + lines[at:]) + "\n"
        self.assertEqual(self.train(script), self.train(plain))

    def test_4_1_2_macros_and_their_use(self):
        self.prepare(784, 10)
        groups = ("FeatureNodes=(features)\nLabelNodes=(labels)\nCriteriaNodes=(CE)\nEvalNodes=(Err)\n"
                  "OutputNodes=(CE.F)\n")
        results = [self.train(MACROS + USE + groups), self.train(USE + groups + MACROS)]
        self.assertEqual(results[0], results[1])
        shapes = self.shapes(self.check(MACROS + USE + groups))
        for name, shape in {"L1.F.W": "[256 x 784]", "L1.F.B": "[256]", "L1.F.BFF.T": "[256 x *]",
                            "L1.RBFF": "[256 x *]", "CE.F.BFF.FF": "[10 x *]", "CE.SM": "[1]", "Err": "[1]"}.items():
            self.assertEqual(shapes[name], shape, name)

    def test_4_1_3_1_start_values(self):
        self.prepare(784, 10)
        script = (VARIABLES + INPUTS + "B0=Parameter(HDim, init=zero)\nW0=Parameter(HDim, SDim, init=uniform)\n"
                  "W1=Parameter(LDim, HDim)\nB1=Parameter(LDim, 1)\n" + COMPUTATION + CRITERIA + SPECIAL)
        self.train_and_keep(script)
        self.assertEqual({value for row in self.values("B0", "m.dnn.0") for value in row}, {0.0})
        weights = [abs(value) for row in self.values("W0", "m.dnn.0") for value in row]
        self.assertEqual(len(weights), 256 * 784)
        self.assertTrue(0.0499 < max(weights) <= 0.05)

    def test_4_1_3_2_tags(self):
        self.prepare(784, 10)
        tagged = MACROS + """SDim=784
HDim=16
LDim=10
features=Input(SDim, tag=feature)
labels=Input(LDim, tag=label)
L1 = RBFF(features, HDim, SDim)
L2 = RBFF(L1, HDim, HDim)
L3 = RBFF(L2, HDim, HDim)
CE = SMBFF(L3, LDim, HDim, labels, tag=Criteria)
Err=ErrorPrediction(labels, CE.F, tag=Eval)
CE = SMBFF(L3, LDim, HDim, labels, tag=MultiSeq)
# rootNodes defined here
OutputNodes=(CE.F)
"""
        arrays = re.sub(r", tag=\w+", "", re.sub(r"CE = .*MultiSeq\)\n", "", tagged)) + (
            "FeatureNodes=(features)\nLabelNodes=(labels)\nCriteriaNodes=(CE)\nEvalNodes=(Err)\n"
            "NodesReqMultiSeqHandling=(CE)\n")
        self.assertEqual(self.train(tagged), self.train(arrays))

    def test_4_1_4_ordered_and_named_parameters(self):
        self.prepare()
        shapes = self.shapes(self.check(SMALL + "a=Constant(0, 4, 2)\nb=Constant(0, rows=4, cols=2)\nc=Const(-3)\n"
                                        "d=Parameter(4, 2)\ne=LearnableParameter(4, cols=2)\n"
                                        "x=Input(3, 1, tag=label)\ny=InputValue(3)\n"
                                        "u=Plus(a, b, tag=output)\nv=Plus(d, e, tag=output)\n"
                                        "s=Scale(0.5, z, tag=output)\nq=Plus(c, z, tag=output)\n"
                                        "r=Plus(x, y, tag=output)\n"))
        self.assertEqual([shapes[name] for name in "abcdeuvsqr"],
                         ["[4 x 2]", "[4 x 2]", "[1 x 1]", "[4 x 2]", "[4 x 2]", "[4 x 2]", "[4 x 2]", "[2 x 1 x *]",
                          "[2 x 1 x *]", "[3 x *]"])

    # ---- where scripts stand --------------------------------------------------------------------------------------------

    def test_scripts_in_files_sections_and_the_config(self):
        self.prepare()
        macros = "Lin(x, rows, cols) { W=Parameter(rows, cols); Lin=Times(W, x) }\n"
        net = SMALL.replace("W=Parameter(2, 3)\n", "").replace("Times(W, features)", "Lin(features, LDim, 3)")
        results = [self.train(macros + "LDim=2\n" + net)]
        # A file with sections.
        results.append(self.train("load=parts\nrun=net\nparts=[\n" + macros + "LDim=2\n]\nnet [\n" + net + "]\n"))
        # The builder's block overrides the file's run=.
        results.append(self.train("run=other\nother=[ x=Input(1) ]\nparts=[\n" + macros + "LDim=2\n]\nnet=[\n" + net + "]\n",
                                  "Train=[NDLNetworkBuilder=[load=parts;run=net]]"))
        # Macro files, joined by '+', and variables of the config.
        self.write("a.ndl", "Unused(x)=Tanh(x)\n")
        self.write("b.ndl", macros)
        results.append(self.train(net.replace("LDim", "$outputs$"), "outputs=2",
                                  "Train=[NDLNetworkBuilder=[ndlMacros=a.ndl+b.ndl]]"))
        # Sections in the config, at its root, shared by commands.
        whole = self.read("exp.cntk")
        self.write("exp.cntk", whole.replace("networkDescription=net.ndl", "load=parts;run=net") +
                   "parts=[\n" + macros + "LDim=2\n]\nnet=[\n" + net + "]\n")
        results.append(self.train(""))
        # ndlMacros and the network's file named once, at the root.
        self.write("exp.cntk", whole.replace("networkDescription=net.ndl", "") +
                   "ndlMacros=a.ndl+b.ndl\nnetworkDescription=net.ndl\n")
        results.append(self.train("LDim=2\n" + net))
        self.assertEqual(results, [results[0]] * len(results))

    def test_dump_of_the_network(self):
        self.prepare()
        self.check(SMALL, "Train=[NDLNetworkBuilder=[dumpFileName=net.txt]]")
        self.assertFalse((self.folder / "net.txt").exists())  # a check writes nothing
        self.train_and_keep(SMALL, "Train=[NDLNetworkBuilder=[dumpFileName=net.txt]]")
        self.assertRegex(self.read("net.txt"), r"(?m)^z=Times \( W \[2, ?3\] ,? *, features|^z=Times")

    def test_the_log_names_builder_and_device(self):
        self.prepare()
        self.write("net.ndl", SMALL)
        epochs = "Train=[SGD=[maxEpochs=2; keepCheckPointFiles=true]]"
        log = self.cntk("configFile=exp.cntk", epochs).stderr
        self.assertIn("CNTKCommandTrainBegin: Train\nNDLBuilder Using CPU\n\nCreating virgin network.\n", log)
        (self.folder / "m.dnn").unlink()
        log = self.cntk("configFile=exp.cntk", epochs).stderr
        self.assertIn("CNTKCommandTrainBegin: Train\nNDLBuilder Using CPU\n"
                      "Starting from checkpoint. Loading network from 'm.dnn.1'.\n", log)

    # ---- start values ---------------------------------------------------------------------------------------------------

    def start(self, arguments, *more):
        self.train_and_keep(SMALL.replace("Parameter(2, 3)", "Parameter(2, 3, %s)" % arguments), *more)
        return self.values("W", "m.dnn.0")

    def test_initialisers(self):
        self.prepare()
        self.write("w.txt", "1 2 3\n4 5.5 -6\n")
        self.assertEqual(self.start("init=fromFile, initFromFilePath=w.txt"), [[1, 2, 3], [4, 5.5, -6]])
        self.assertEqual(self.start('init=fromFile, initFromFilePath="w.txt"'), [[1, 2, 3], [4, 5.5, -6]])
        self.assertEqual(self.start("init=fixedValue, value=0.25"), [[0.25] * 3] * 2)
        self.assertEqual(self.start("init=zero"), [[0] * 3] * 2)
        uniform = self.start("init=uniform, initValueScale=4")
        self.assertEqual(self.start("initValueScale=4"), uniform)
        self.assertTrue(all(abs(value) <= 0.2 for row in uniform for value in row))
        self.assertNotEqual(self.start("init=gaussian, initValueScale=4"), uniform)

    def test_seeds(self):
        self.prepare()
        first = self.start("randomSeed=1")
        self.assertEqual(self.start("init=uniform"), first)  # the counter begins at 1
        offset = self.start("init=uniform", "Train=[NDLNetworkBuilder=[randomSeedOffset=4]]")
        self.assertNotEqual(offset, first)
        self.assertEqual(self.start("randomSeed=5"), offset)
        self.assertEqual(self.start("randomSeed=3", "Train=[NDLNetworkBuilder=[randomSeedOffset=2]]"), offset)

    def test_a_start_value_file_of_another_size(self):
        self.prepare()
        self.write("w.txt", "1 2 3\n4 5.5\n")
        message = self.check(SMALL.replace("Parameter(2, 3)", "Parameter(2, 3, init=fromFile, initFromFilePath=w.txt)"),
                             status=None)
        self.assertIn("w.txt", message.splitlines()[-1])
        self.assertIn("line 2", message.splitlines()[-1])

    # ---- errors, in full ------------------------------------------------------------------------------------------------

    def error(self, script, status=3):
        """Returns the output after the line about the check."""
        report = self.check(script, status=status)
        return report[report.index("\n") + 1:].replace("note: while checking command 'Train' (action 'train')\n", "")

    def test_errors(self):
        self.prepare()
        head = "features=Input(3, tag=feature)\nlabels=Input(2, tag=label)\n"
        cases = {
            "z=Sigmoyd(features)\n":
                "    3 | z=Sigmoyd(features)\n      |   ^~~~~~~\n"
                "net.ndl:3:3: error: unknown function or macro 'Sigmoyd'; did you mean 'Sigmoid'?\n",
            "z=Sigmoid(feature)\n":
                "    3 | z=Sigmoid(feature)\n      |           ^~~~~~~\n"
                "net.ndl:3:11: error: unknown variable 'feature'; did you mean 'features'?\n",
            "z=Plus(features)\n":
                "    3 | z=Plus(features)\n      |   ^~~~\n"
                "net.ndl:3:3: error: Plus cannot take 1 argument; expected Plus(a, b)\n",
            "z=Sigmoid(features)\nZ=Tanh(features)\n":
                "    4 | Z=Tanh(features)\n      | ^\n"
                "net.ndl:4:1: error: 'Z' is already defined at net.ndl:3:1\n",
            "M(x) { y=N(x) }\nN(x)=M(x)\nz=M(features)\n":
                "note: in macro 'N', called at net.ndl:3:10\nnote: in macro 'M', called at net.ndl:5:3\n"
                "    4 | N(x)=M(x)\n      |      ^\n"
                "net.ndl:4:6: error: macro 'M' calls itself: M -> N -> M; macros cannot be recursive\n",
            "Inner(x)\n{\n  T=Tims(x, x)\n}\nOuter(x) { I=Inner(x) }\nz=Outer(features)\n":
                "note: in macro 'Inner', called at net.ndl:7:14\nnote: in macro 'Outer', called at net.ndl:8:3\n"
                "    5 |   T=Tims(x, x)\n      |     ^~~~\n"
                "net.ndl:5:5: error: unknown function or macro 'Tims'; did you mean 'Times'?\n",
            "W=Parameter(2, 4)\nz=Times(W, features)\n":
                "note: while validating z = Times(W [2 x 4], features [3 x *])\n"
                "note: 'W' [2 x 4] is Parameter(2, 4) at net.ndl:3:3\n"
                "note: 'features' [3 x *] is Input(3, tag=feature) at net.ndl:1:10\n"
                "    4 | z=Times(W, features)\n      |   ^~~~~\n"
                "net.ndl:4:3: error: the inner dimensions of Times('W' [2 x 4], 'features' [3]) disagree: the left "
                "operand has 4 columns, the right one 3 rows\n",
            "a=Plus(features, b)\nb=Tanh(a)\n":
                "note: 'a' is Plus(features, b) at net.ndl:3:3\nnote: 'b' is Tanh(a) at net.ndl:4:3\n"
                "    4 | b=Tanh(a)\n      |   ^~~~\n"
                "net.ndl:4:3: error: the nodes b (Tanh), a (Plus) form a loop without a delay; a recurrent loop needs a "
                "PastValue or FutureValue node\n",
            "h=Plus(features, Plus(a, b))\na=PastValue(3, h)\nb=FutureValue(3, h)\nz=SumElements(h, tag=criterion)\n":
                "note: 'unnamed1' is Plus(a, b) at net.ndl:3:18\nnote: 'h' is Plus(features, Plus(a, b)) at net.ndl:3:3\n"
                "note: 'a' is PastValue(3, h) at net.ndl:4:3\nnote: 'b' is FutureValue(3, h) at net.ndl:5:3\n"
                "    5 | b=FutureValue(3, h)\n      |   ^~~~~~~~~~~\n"
                "net.ndl:5:3: error: the delay nodes 'a' (PastValue) and 'b' (FutureValue) of one recurrent loop point in "
                "opposite directions; the nodes of the loop are a (PastValue), b (FutureValue), unnamed1 (Plus), h (Plus)\n",
            "z=Sigmoid(features, tag=output)\n":
                "    6 |   NDLNetworkBuilder=[ networkDescription=net.ndl ]\n"
                "      |                                          ^~~~~~~\n"
                "exp.cntk:6:42: error: the network has no criterion node to train; it holds no node of a criterion "
                "type, for example CrossEntropyWithSoftmax or SquareError; tag one with tag=\"criterion\" in the "
                "network description, list it in CriterionNodes, or set trainCriterionNodeName in the SGD block\n",
        }
        for script, expected in cases.items():
            with self.subTest(script):
                self.assertEqual(self.error(head + script), expected)

    def test_a_sparse_input_that_is_not_taken(self):
        self.prepare()
        self.assertEqual(
            self.error("features=SparseInput(3, tag=feature)\nh=Sigmoid(features)\n"),
            "note: while validating h = Sigmoid(features [3 x *])\n"
            "note: 'features' [3 x *] is SparseInput(3, tag=feature) at net.ndl:1:10\n"
            "    2 | h=Sigmoid(features)\n      |   ^~~~~~~\n"
            "net.ndl:2:3: error: input 'features' is sparse, but Sigmoid takes dense values as x; sparse values go into "
            "FutureValue (x), LookupTable (x), PackedIndex (target), PastValue (x), ReconcileDynamicAxis (layout), "
            "ScatterPacked (cond), Times (B), TransposeTimes (B); or make it dense: InputValue in place of "
            "SparseInputValue\n")

    def test_a_criterion_of_parameters_alone_counts_the_samples(self):
        self.prepare()
        self.write("net.ndl", "features=Input(3, tag=feature)\nlabels=Input(2, tag=label)\n"
                              "W=Parameter(1, 1, init=fixedValue, value=3)\nc=SumElements(W, tag=criterion)\n")
        log = self.cntk("configFile=exp.cntk", "Train=[SGD=[momentumPerMB=0]]").stderr
        # Three minibatches, the parameter 0.01 smaller in each.
        self.assertIn("TrainLossPerSample = 0.37375; TotalSamplesSeen = 24", log)

    def test_an_input_in_none_of_the_groups_is_read(self):
        self.prepare()
        script = ("features=Input(3, tag=feature)\nlabels=Input(2%s)\nW=Parameter(2, 3)\n"
                  "z=Times(W, features)\nc=CrossEntropyWithSoftmax(labels, z, tag=criterion)\ne=ErrorPrediction(labels, z, tag=eval)\n")
        self.assertEqual(self.train(script % ""), self.train(script % ", tag=label"))

    def test_a_wrong_seed_has_a_place(self):
        self.prepare()
        self.assertTrue(self.error("M(x)\n{\n W=Parameter(3, 4, randomSeed=1.5)\n y=Times(W, x)\n}\n"
                                   "features=Input(4, tag=feature)\nh=M(features)\n").endswith(
            "net.ndl:3:31: error: parameter 'randomSeed' is '1.5'; expected a whole number\n"))

    def test_parameters_of_nodes_that_are_no_finite_numbers(self):
        self.prepare()
        for call, expected in (
                ("Parameter(3, 3, initValueScale=nan)", "'initValueScale' is 'nan'; expected a number"),
                ("Parameter(3, 3, initValueScale=-inf)", "'initValueScale' is '-inf'; expected a finite number"),
                ("Parameter(3, 3, init=fixedValue, value=nan)", "'value' is 'nan'; expected a number"),
                ("Parameter(3, 3, learningRateMultiplier=inf)",
                 "'learningRateMultiplier' is 'inf'; expected 0 or more, at most 3.4e38"),
                ("Constant(nan)", "'value' is 'nan'; expected a number"),
                ("PastValue(3, features, defaultHiddenActivity=nan)",
                 "'defaultHiddenActivity' is 'nan'; expected a number"),
                ("BatchNormalization(features, s, s, s, s, epsilon=inf)",
                 "'epsilon' is inf; expected a finite number above 0")):
            with self.subTest(call):
                error = self.error("features=Input(3, tag=feature)\ns=Parameter(3)\n" + "x=" + call + "\n")
                self.assertEqual(error.splitlines()[-1], "net.ndl:3:3: error: parameter " + expected)
        # Infinity excludes rows from a softmax.
        self.check("features=Input(3, tag=feature)\nlabels=Input(2, tag=label)\nW=Parameter(2, 3)\nz=Times(W, features)\n"
                   "p=PastValue(2, z, defaultHiddenActivity=-inf, tag=output)\no=Constant(-inf, tag=output)\n"
                   "c=CrossEntropyWithSoftmax(labels, z, tag=criterion)\n")

    # ---- the documentation ----------------------------------------------------------------------------------------------

    def test_the_listings_of_the_documentation_are_networks(self):
        page = (ROOT / "Documentation/NetworkDescription.md").read_text(encoding="utf-8")
        listings = [text for text in re.findall("```\n(.*?)```", page, re.DOTALL) if re.search(r"(?m)^\w+=\w+\(", text)]
        self.assertEqual(len(listings), 3)
        around = ["", "features=Input(4, tag=feature)\nSDim=4\nHDim=5\nLDim=3\n",
                  "W=Parameter(20, 2000)\nR=Parameter(20, 20)\nO=Parameter(5, 20)\n"]
        for text, names in zip(listings, around):
            self.write("net.ndl", names + text)
            self.write("e.mel", "LoadNDLSnippet(m, net.ndl)\nSaveModel(m, m.dnn)\n")
            log = self.cntk("command=Edit", "Edit=[action=edit; editPath=e.mel]").stderr
            self.assertNotIn("WARNING", log)

    # ---- help -----------------------------------------------------------------------------------------------------------

    def test_help_of_functions(self):
        text = self.cntk("--help", "times").stdout
        for part in ("Times(A, B, {outputRank=1})", "v = A B", " -> [", "May be sparse: B", "Get a gradient: A, B", "4.1.4.15"):
            self.assertIn(part, text)
        for alias, part in {"relu": "RectifiedLinear(", "Const": "Constant(value, [rows=1], [cols=1])",
                            "Image": "ImageInput(width, height, channels, [numImages]",
                            "Parameter": "LearnableParameter(rows, [cols=1]",
                            "RowSlice": "RowSlice(startRow, numRows, x"}.items():
            self.assertIn(part, self.cntk("--help", alias).stdout)
        self.assertIn("Book: section 4.1.4.4\n", self.cntk("--help", "constant").stdout)


if __name__ == "__main__":
    main()
