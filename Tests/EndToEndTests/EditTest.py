#!/usr/bin/env python3
"""Edits models with the real program: every command of the model editing language (book 4.2), its messages, svd, adapt and
convertdbn."""
import os
import re
import shutil
import struct

from EndToEnd import EndToEndTest, main

MACROS = """
FF(X, W, B) { T=Times(W, X); P=Plus(T, B) }
BFF(In, Rows, Cols) { B=Parameter(Rows, init=fixedvalue, value=0); W=Parameter(Rows, Cols); FF=FF(In, W, B) }
RBFF(X, Rows, Cols) { BFF=BFF(X, Rows, Cols); RL=RectifiedLinear(BFF.FF.P) }
SMBFF(X, Rows, Cols, Labels) { BFF=BFF(X, Rows, Cols); F=CrossEntropyWithSoftmax(Labels, BFF.FF.P) }
"""
NETWORK = """
SDim=2
HDim=4
LDim=2
features=Input(SDim, tag=feature)
labels=Input(LDim, tag=label)
L1=RBFF(features, HDim, SDim)
L2=RBFF(L1, HDim, HDim)
L3=RBFF(L2, HDim, HDim)
CE=SMBFF(L3, LDim, HDim, labels, tag=Criteria)
Err=ErrorPrediction(labels, CE.BFF.FF.P, tag=Eval)
OutputNodes=(CE.BFF.FF.P)
"""
CONFIG = """
precision=double
deviceId=-1
modelPath=m.dnn
Train=[
  action=train
  NDLNetworkBuilder=[ networkDescription=net.ndl; ndlMacros=macros.ndl ]
  SGD=[ maxEpochs=2; minibatchSize=4; learningRatesPerSample=0.1; momentumPerMB=0 ]
  reader=[ $streams$ ]
]
streams="readerType=UCIFastReader; file=train.txt; randomize=none; features=[ dim=2 ]; \
labels=[ dim=1; start=2; labelDim=2; labelMappingFile=map.txt ]"
Edit=[ action=edit; editPath=edit.mel; ndlMacros=macros.ndl; In=m.dnn; Out=new.dnn ]
Test=[ action=test; modelPath=new.dnn; reader=[ $streams$ ] ]
Svd=[ action=SVD; outputModelPath=svd.dnn; nodeNameRegex="L[23].*W"; keepRatio=0.4; alignedSize=1 ]
Adapt=[
  action=adapt
  origModelFileName=m.dnn
  modelPath=adapted.dnn
  SGD=[ maxEpochs=2; minibatchSize=4; learningRatesPerSample=0.1; momentumPerMB=0 ]
  reader=[ $streams$ ]
]
Convert=[ action=convertdbn; dbnModelPath=m.dbn; modelPath=new.dnn ]
Write=[
  action=write
  modelPath=new.dnn
  outputNodeNames=HLast:ScaledLogLikelihood
  outputPath=out
  format=[ precisionFormat=.6 ]
  reader=[ readerType=UCIFastReader; file=train.txt; randomize=none; features=[ dim=2 ] ]
]
"""
DATA = "0.5 1 yes\n-1 0.25 no\n0 0 yes\n1 1 no\n0.5 -1 yes\n"
RESULT = re.compile(r"Final Results: .* CrossEntropyWithSoftmax/Sample = (\S+) ")


def dbn_matrix(name, rows, columns, values):
    return b"BMAT" + name + b"\0" + struct.pack("<ii%df" % len(values), rows, columns, *values) + b"EMAT"


class EditTest(EndToEndTest):
    def setUp(self):
        super().setUp()
        self.write("exp.cntk", CONFIG)
        self.write("train.txt", DATA)
        self.write("map.txt", "yes\nno\n")
        self.write("net.ndl", NETWORK)
        self.write("macros.ndl", MACROS)

    def run_command(self, command, *arguments, **keywords):
        return self.cntk("configFile=exp.cntk", "command=" + command, *arguments, **keywords)

    def edit(self, script, **keywords):
        self.write("edit.mel", script)
        return self.run_command("Edit", **keywords)

    def fails(self, script, *messages, status=3, line=None):
        """The script ends with a message that names its line; nothing is saved."""
        self.write("edit.mel", script)
        run = self.run_command("Edit", status=status)
        self.assertNotEqual(run.returncode, 0)
        end = run.stderr[-1200:]
        for message in messages:
            self.assertIn(message, end)
        if line:
            self.assertIn("edit.mel:%d" % line, end)
        self.assertFalse((self.folder / "new.dnn").exists())

    def names(self, dump="dump.txt"):
        """Returns a map from the names of a dump to (type, inputs)."""
        nodes = {}
        for name, kind, inputs in re.findall(r"^(\S+)=(\w+)(?: ?\(([^)]*)\))?", self.read(dump), re.M):
            nodes[name] = (kind, [part.split("[")[0].strip() for part in inputs.split(",")] if inputs else [])
        return nodes

    def test_the_books_example(self):
        self.run_command("Train")
        self.edit("""
            model1 = LoadModel("$In$", format=cntk)
            SetDefaultModel(model1)
            DumpModel(model1, "dump.txt", includeData = true)
            Copy(L3.*, L4.*, copy=all)
            SetInput(L4.*.T, 1, L3.RL) # Layer 3 output to Layer 4 input
            SetInput(CE.*.T, 1, L4.RL)
            meanVal = Mean(features)
            invstdVal = InvStdDev(features)
            inputVal = PerDimMeanVarNormalization(features, meanVal,
                invstdVal)
            SetInput(L1.BFF.FF.T, 1, inputVal)
            DumpModel(model1, "after.txt")
            SaveModel("$Out$")
            """)
        before, after = self.names(), self.names("after.txt")
        self.assertEqual(set(after) - set(before), {"L4.RL", "L4.BFF.B", "L4.BFF.W", "L4.BFF.FF.T", "L4.BFF.FF.P",
                                                    "meanVal", "invstdVal", "inputVal"})
        self.assertIn("####", self.read("dump.txt"))
        # The resumed training computes the statistics.
        self.run_command("Train", "modelPath=next.dnn",
                         "Train=[makeMode=true; NDLNetworkBuilder=[networkDescription=net.ndl]]")
        (self.folder / "new.dnn").rename(self.folder / "more.dnn.0")
        run = self.run_command("Train", "modelPath=more.dnn")
        self.assertIn("Precomputing --> 2 PreCompute nodes found.", run.stderr)

    def test_run_again_a_training_behind_an_edit_goes_on(self):
        # The edit does not write its initial model again, which would be newer than the models of the epochs.
        self.write("edit.mel", "m=LoadModel($In$)\nL4=RBFF(L3.RL, 4, 4)\nSetInput(CE.*.T, 1, L4.RL)\nSaveModel($Out$)")
        chain = ["Train:Edit:More:Svd", "Edit=[ Out=more.dnn.0 ]", "Svd=[ modelPath=more.dnn ]", "traceLevel=1",
                 "More=[ action=train; modelPath=more.dnn; NDLNetworkBuilder=[ networkDescription=none.ndl ]; "
                 "reader=[ $streams$ ]; SGD=[ maxEpochs=3; minibatchSize=4; learningRatesPerSample=0.1; "
                 "keepCheckPointFiles=true ] ]"]
        # A training that begins with the edit's model needs no description of a network.
        self.assertIn("Command 'More': model 'more.dnn' comes from command 'Edit' and is checked when 'More' runs.\n",
                      self.run_command(*chain, "--check").stderr)
        self.assertNotIn("has this model already", self.run_command(*chain).stderr)
        whole = {name: (self.folder / name).read_bytes() for name in ("more.dnn", "more.dnn.ckp", "svd.dnn")}
        for name in ("more.dnn", "more.dnn.ckp", "more.dnn.2", "more.dnn.2.ckp"):
            (self.folder / name).unlink()
        log = self.run_command(*chain).stderr
        self.assertIn("Loading network from 'more.dnn.1'", log)
        for name in ("more.dnn.0", "svd.dnn"):
            self.assertIn("'%s' has this model already and stays as it is." % name, log)
        self.assertNotIn("WARNING", log)
        self.assertEqual(whole, {name: (self.folder / name).read_bytes() for name in whole})
        # Another model replaces it, and the training restarts.
        self.write("edit.mel", "m=LoadModel($In$)\nSaveModel($Out$)")
        for name in ("more.dnn", "more.dnn.2"):
            (self.folder / name).unlink()
        log = self.run_command("Edit:More", *chain[1:]).stderr
        self.assertIn("'more.dnn.1' is older than 'more.dnn.0'", log)
        self.assertIn("Loading network from 'more.dnn.0'", log)

    def test_dumps(self):
        self.run_command("Train")
        self.edit("m=LoadModel($In$)\nDump(m, all.txt)\nDumpNode(L1.*, some.txt, includeData=true)\n"
                  "DumpModel(m, data.txt, includeData=true)")
        self.assertEqual(len([name for name in self.names("some.txt") if name.startswith("L1.")]), 5)
        self.assertNotIn("####", self.read("all.txt"))
        self.assertIn("####", self.read("some.txt"))
        self.assertGreater(len(self.read("data.txt")), len(self.read("all.txt")))

    def test_models(self):
        self.run_command("Train")
        self.write("part.ndl", "run=Second\nFirst=[ P=Parameter(1, 1) ]\n"
                               "Second=[ Q=Parameter(2, 2, init=fixedvalue, value=3) ]\n")
        self.edit("""
            LoadModelWithName(a, "$In$", format=cntk)
            CreateModelWithName(b)
            c=CreateModel()
            LoadNDLSnippet(d, part.ndl, section=Second)
            e=[
              Twice(x) { y=Plus(x, x) }
              one=Parameter(1, 1, init=fixedvalue, value=1)
            ]
            Copy(a.L1.*, b.First.*)
            Copy(d.Q, c.Q)
            SetDefaultModel(c)
            double=Twice(Q)
            SetProperty(double.y, Output, true)
            DumpModel(b, b.txt)
            DumpModel(c, c.txt, includeData=true)
            UnloadModel(a, b)
            SaveDefaultModel($Out$)
            """)
        self.assertEqual(set(self.names("b.txt")), {"First.RL", "First.BFF.B", "First.BFF.W", "First.BFF.FF.T",
                                                    "First.BFF.FF.P"})
        self.assertIn("double.y", self.names("c.txt"))
        self.assertIn("\n 3 3 \n 3 3 \n", self.read("c.txt"))
        self.assertTrue((self.folder / "new.dnn").exists())

    def test_copies_inputs_and_names(self):
        self.run_command("Train")
        self.write("values.txt", "1 2\n3 4\n5 6\n7 8\n")
        self.edit("""
            m=LoadModel($In$)
            CopyNode(L2.BFF.W, L3.BFF.W, copy=value)
            CopySubTree(L1.RL, m, Sub.)
            CopyNodeInputs(L3.BFF.FF.T, L2.BFF.FF.T)
            SetNodeInput(L2.BFF.FF.T, 1, L1.RL)
            SetNodeInputs(Err, labels, CE.BFF.FF.P)
            ReviseParameter(L1.BFF.W, values.txt)
            Rename(L3.*, Top.*)
            RemoveNode(Sub.*)
            spare=Parameter(1, 1)
            other=Parameter(1, 1)
            DeleteNode(spare, other)
            DumpModel(m, dump.txt, includeData=true)
            SaveModel(m, $Out$)
            """)
        nodes = self.names()
        self.assertIn("Top.RL", nodes)
        self.assertEqual([name for name in nodes if name.startswith(("L3.", "Sub.", "spare", "other"))], [])
        self.assertIn("\n 1 2 \n 3 4 \n 5 6 \n 7 8 \n", self.read("dump.txt"))
        self.assertRegex(self.run_command("Test").stderr, RESULT)

    def test_properties(self):
        self.run_command("Train")
        self.edit("""
            m=LoadModel($In$)
            SetProperty(L1.*.W, ComputeGradient, false)
            SetPropertyForSubTree(L2.RL, NeedsGradient, false)
            SetProperty(CE.BFF.W, LearningRateMultiplier, 0.5)
            SetProperty(L3.RL, Output, true)
            SetProperty(CE.F, Evaluation, true)
            SetProperty(labels, Label, true)
            SetProperty(features, Feature, true)
            SetProperty(CE.F, Criterion, true)
            SetProperty(L1.RL, MultiSeq, true)
            DumpModel(m, dump.txt)
            SaveModel($Out$)
            """)
        text = self.read("dump.txt")
        multipliers = {name: float(value) for name, value in
                       re.findall(r"^(\S+)=LearnableParameter .*learningRateMultiplier=(\S+)", text, re.M)}
        self.assertEqual(multipliers["CE.BFF.W"], 0.5)
        self.assertEqual(multipliers["L3.BFF.W"], 1)
        for name in ("L1.BFF.W", "L1.BFF.B", "L2.BFF.W", "L2.BFF.B"):
            self.assertEqual(multipliers[name], 0, name)
        run = self.run_command("Test")
        self.assertIn("CrossEntropyWithSoftmax", run.stderr)

    def test_comments_hold_no_variables(self):
        self.write("net.ndl", "# load=$OldMacros$\n" + NETWORK + "# HDim=$HiddenDim$\n")
        self.write("macros.ndl", MACROS + "# $Unused$\n")
        self.run_command("Train")
        self.edit("# edit.mel; $names$ are looked up in the block\nm=LoadModel($In$) # not $Other$\nSaveModel($Out$)\n")
        self.assertRegex(self.run_command("Test").stderr, RESULT)
        (self.folder / "new.dnn").unlink()
        self.fails("# $names$\nm=LoadModel($In$) # $names$\n  Rename(nosuch, x) # $names$", "edit.mel:3:10", "nosuch")
        self.fails("# $names$\nm=LoadModel($nosuch$)", "'nosuch'", line=2)

    def test_what_cannot_be_loaded_is_not_saved(self):
        self.run_command("Train")
        before = (self.folder / "m.dnn").read_bytes()
        script = "m=LoadModel($In$)\nd=Plus(L1.BFF.W, L1.BFF.B)\nCopyInputs(d, L2.RL)\nSaveModel(m, $In$)"
        self.fails(script, "node 'L2.RL' (RectifiedLinear) cannot take the inputs of 'd' (Plus)", line=3)
        self.assertEqual((self.folder / "m.dnn").read_bytes(), before)

    def test_misspelt_scripts_stop_before_anything_runs(self):
        self.write("edit.mel", "m=LoadModel($In$)\nSetImput(L1.RL, 0, L2.RL)\n")
        run = self.run_command("Train:Edit", status=3)
        self.assertIn("edit.mel:2", run.stderr)
        self.assertIn("Unknown Editor function SetImput", run.stderr)
        self.assertIn("did you mean 'SetInput'", run.stderr)
        self.assertFalse((self.folder / "m.dnn").exists())
        for script, message in (
                ("m=LoadModel($In$)\nSetInput(L1.RL, 0)",
                 "Invalid number of parameters (2). Valid parameters: SetNodeInput(nodes, index, input)"),
                ("m=LoadModel($In$)\nCopy(a, b, cpoy=all)",
                 "CopyNode has no optional parameter 'cpoy'. Valid parameters: CopyNode(from, to, [copy=all|value])"),
                ("m=LoadModel($In$)\nSetProperty(a, Outptu, true)",
                 "Invalid property, Outptu, is not supported; did you mean 'Output'"),
                # In-line NDL and values.
                ("m=LoadModel($In$)\nz=Sigmoyd(L1.RL)",
                 "unknown function or macro 'Sigmoyd'; did you mean 'Sigmoid'?"),
                ("m=LoadModel($In$)\nSaveModel(m, $Out$, format=foo)", "the format of a model is 'foo', expected cntk"),
                ("m=LoadModel($In$)\nDump(m, d.txt, includeData=maybe)",
                 "includeData is 'maybe', expected true or false"),
                ("m=LoadModel($In$)\nCopySubTree(a, b, copy=most)", "copy is 'most', expected all or value"),
                ("m=LoadModel($In$)\nSetInput(a, first, b)", "'first' is no input, expected a whole number from 0"),
                ("m=LoadModel($In$)\nSetProperty(a, Output, maybe)",
                 "'maybe' is no property value, expected true or false"),
                ("m=LoadModel($In$)\nSetProperty(a, LearningRateMultiplier, -1)",
                 "'-1' is no learning rate multiplier, expected a number that is not negative, of at most 3.4e38"),
                ("m=LoadModel($In$)\nSetPropertyForSubTree(a, Output, true)",
                 "property 'Output' is not supported for a sub-tree, expected ComputeGradient, NeedsGradient or "
                 "LearningRateMultiplier"),
                ("m=LoadModel($In$)\nDelete(a, *.b.*)", "'*.b.*' has several '*', expected one at most"),
                ("m=LoadModel($In$)\nRename(a, \"\")",
                 "a name is empty, expected a node, a model, or a pattern with a '*'")):
            with self.subTest(script=script):
                self.write("edit.mel", script)
                run = self.run_command("Train:Edit", status=3)
                self.assertRegex(run.stderr, r"edit\.mel:2:\d+: error: " + re.escape(message))
                self.assertRegex(run.stderr, "(while preparing|in) command 'Edit'")

    def test_messages_about_models(self):
        self.run_command("Train")
        load = "m=LoadModel($In$)\n"
        for script, message in (
                (load + "DumpNode(L9.*, x.txt)", "L9.*"),
                (load + "SetInput(L1.LR, 0, features)", "L1.LR"),
                (load + "SetInput(L1.RL, 1, features)", "L1.RL"),
                (load + "SetInputs(Err, labels)", "Err"),
                (load + "Rename(L1.RL, L2.RL)", "L2.RL"),
                (load + "Delete(L2.RL)\nSaveModel($Out$)", "L3.BFF.FF.T"),
                (load + "SetInput(L3.BFF.FF.T, 1, features)\nSaveModel($Out$)", "L3.BFF.FF.T"),
                (load + "SetProperty(L1.BFF.W, ComputeGradient, maybe)", "maybe"),
                (load + "Copy(L1.*, L4)", "L4"),
                (load + "ReviseParameter(L1.BFF.W, map.txt)", "map.txt"),
                (load + "SaveModel(other, $Out$)", "other"),
                ("m=LoadModel(nosuch.dnn)", "nosuch.dnn"),
                ("SaveModel($Out$)", "model")):
            with self.subTest(script=script):
                self.fails(script, message, "edit.mel:%d" % len(script.splitlines()), status=None)
                self.assertEqual(list(self.folder.glob("*.tmp")), [])

    def test_check_writes_nothing(self):
        self.run_command("Train")
        self.write("edit.mel", "m=LoadModel($In$)\nRename(L3.*, L4.*)\nSaveModel($Out$)")
        self.run_command("Edit", "--check")
        self.assertFalse((self.folder / "new.dnn").exists())
        self.write("edit.mel", "m=LoadModel($In$)\nRename(L5.*, L4.*)\nSaveModel($Out$)")
        self.assertIn("edit.mel:2", self.run_command("Edit", "--check", status=None).stderr)

    def test_check_of_discriminative_pre_training(self):
        """Train, edit, train, edit, train (book 7.1.5) before anything has run: models and scripts that depend on earlier
        commands are checked when their commands run."""
        builder = "NDLNetworkBuilder=[ networkDescription=one.ndl; ndlMacros=macros.ndl ]\n"
        sgd = "SGD=[ maxEpochs=2; minibatchSize=4; learningRatesPerSample=0.1 ]\nreader=[ $streams$ ]\n"
        config = CONFIG
        for stage in 1, 2, 3:
            config += "Train%d=[ action=train; modelPath=stage%d/m.dnn\n%s%s]\n" % (stage, stage, builder, sgd)
            config += ("Add%d=[ action=edit; editPath=add.mel; ndlMacros=macros.ndl; Curr=%d; New=%d\n"
                       "CurrModel=stage%d/m.dnn; NewModel=./stage%d/m.dnn.0 ]\n" % (
                           stage + 1, stage, stage + 1, stage, stage + 1))
        self.write("exp.cntk", config + "Eval=[ action=test; modelPath=stage3/m.dnn.1; reader=[ $streams$ ] ]\n"
                   "Thin=[ action=SVD; modelPath=stage3/m.dnn; outputModelPath=thin.dnn; nodeNameRegex=\"L[123].*W\" ]\n"
                   "Last=[ action=edit; editPath=last.mel ]\n")
        self.write("one.ndl", NETWORK.replace("L2=RBFF(L1, HDim, HDim)\nL3=RBFF(L2, HDim, HDim)\n", "").replace(
            "CE=SMBFF(L3", "CE=SMBFF(L1"))
        add = """
            m1=LoadModel($CurrModel$)
            HDim=4
            L$New$=RBFF(L$Curr$.RL, HDim, HDim)
            SetInput(CE.*.T, 1, L$New$.RL)
            SaveModel(m1, $NewModel$)
            """
        self.write("add.mel", add)
        self.write("last.mel", "m=LoadModel(thin.dnn)\nSetProperty(L3.BFF.W-SVD, Output, true)\nSaveModel(last.dnn)\n")
        commands = "Train1:Add2:Train2:Add3:Train3:Eval:Thin:Last"
        log = self.run_command(commands, "--check").stderr
        self.assertIn("Command 'Train3': model 'stage3/m.dnn' comes from command 'Add3' and is checked when 'Train3' runs",
                      log)
        self.assertIn("add.mel:2:26: 'stage2/m.dnn' comes from command 'Train2'; the script is checked when it runs", log)
        self.assertEqual([each.name for each in self.folder.glob("**/*.dnn*")], [])
        # A model that no earlier command writes is missing.
        run = self.run_command("Add3:Train3", "--check", status=5)
        self.assertIn("model file 'stage2/m.dnn' does not exist", run.stderr)
        self.assertIn("add.mel:2:", run.stderr)
        self.assertIn("model file 'stage3/m.dnn.1' does not exist",
                      self.run_command("Eval:Train1", "--check", status=5).stderr)
        # The builder of a training that begins with an edited model describes another network, also if the training resumes
        # in the middle.
        log = self.run_command("Train1:Add2:Train2").stderr
        (self.folder / "stage2/m.dnn").unlink()
        log += self.run_command("Train1:Add2:Train2").stderr
        self.assertEqual(log.count("Loaded model with"), 2)
        self.assertNotIn("is not the network described now", log)
        # The same holds if the commands run one by one.
        (self.folder / "stage2/m.dnn").unlink()
        log = self.run_command("Train2").stderr
        self.assertIn("Loaded model with", log)
        self.assertNotIn("is not the network described now", log)
        (self.folder / "stage2/m.dnn").unlink()
        self.write("add.mel", add.replace("$NewModel$", "./stage2/m.dnn.0"))
        whole = self.read("exp.cntk")
        self.write("exp.cntk", whole.replace("; NewModel=./stage2/m.dnn.0", "").replace("Curr=2;", "x=[ y= ]; Curr=2;"))
        self.assertNotIn("is not the network described now", self.run_command("Train2").stderr)
        # A command that only reads the model has not written it.
        (self.folder / "stage2/m.dnn").unlink()
        self.write("add.mel", "m=LoadModel(m.dnn)\nSaveModel(new.dnn)\n")
        self.assertIn("is not the network described now",
                      self.run_command("Train2", "Eval=[modelPath=stage2/m.dnn.0]").stderr)
        self.write("exp.cntk", whole)
        self.write("add.mel", add)
        (self.folder / "other").mkdir()
        shutil.copy(self.folder / "stage2/m.dnn.0", self.folder / "other/m.dnn.0")
        self.assertIn("is not the network described now", self.run_command("Train1", "Train1=[modelPath=other/m.dnn; "
                                                                           "SGD=[maxEpochs=3]]").stderr)

    def test_check_of_models_that_are_not_there(self):
        for command, key in [("Test", "modelPath"), ("Svd", "modelPath"), ("Adapt", "origModelFileName"),
                             ("Write", "modelPath")]:
            run = self.run_command(command, "--check", status=5)
            self.assertIn("' does not exist", run.stderr)
            self.assertIn("while checking command '%s'" % command, run.stderr)
            self.assertRegex(run.stderr, r"exp\.cntk:\d+:\d+: ", key)

    def test_a_script_that_is_not_there(self):
        run = self.run_command("Edit", status=3)
        self.assertIn("editPath: file 'edit.mel' does not exist", run.stderr)
        run = self.run_command("Edit", "Edit=[editPath=none.mel]", status=3)
        self.assertIn("editPath: file 'none.mel' does not exist", run.stderr)
        (self.folder / "sub").mkdir()
        run = self.run_command("Edit", "Edit=[editPath=sub]", status=3)
        self.assertRegex(run.stderr, r"command line:1:\d+: error: editPath: file 'sub' is a folder, expected a file")

    def test_a_script_without_statements(self):
        self.write("edit.mel", "# all of it is a comment\n")
        run = self.run_command("Edit")
        self.assertRegex(run.stderr, r"WARNING: \S+:\d+:\d+: the script 'edit.mel' has no statement; nothing is edited\n")

    def test_svd(self):
        self.run_command("Train:Svd")
        run = self.run_command("Train:Svd:Test", "Test=[modelPath=svd.dnn]", "Svd=[keepRatio=1]")
        self.assertEqual(len(re.findall(r"^Performing SVD for a +4-by-4 +matrix", run.stderr, re.M)), 2)
        kept = float(RESULT.search(run.stderr).group(1))
        whole = float(RESULT.search(self.run_command("Test", "Test=[modelPath=m.dnn]").stderr).group(1))
        self.assertAlmostEqual(kept, whole, places=6)
        run = self.run_command("Svd", "Svd=[nodeNameRegex=\"\"; svdConfig=groups.txt]", status=3)
        self.assertIn("svdConfig: file 'groups.txt' does not exist", run.stderr)
        self.write("groups.txt", "# shares\nL2.*W half\n")
        run = self.run_command("Svd", "Svd=[nodeNameRegex=\"\"; svdConfig=groups.txt]", status=3)
        self.assertIn("groups.txt:2: 'L2.*W half', expected a regular expression, a blank and the share", run.stderr)

        run = self.run_command("Svd", "Svd=[nodeNameRegex=\"\"; svdConfig=m.dnn]", status=4)
        self.assertIn("svdConfig: file 'm.dnn' has a zero byte in line 1, expected UTF-8 or ASCII text", run.stderr)
        self.write("groups.txt", "# shares\nL2[.*W 0.4\n")
        run = self.run_command("Svd", "Svd=[nodeNameRegex=\"\"; svdConfig=groups.txt]", status=3)
        self.assertIn("groups.txt:2: 'L2[.*W' is no valid regular expression", run.stderr)
        run = self.run_command("Svd", "Svd=[nodeNameRegex=\"L2[\"]", status=3)
        self.assertIn("error: nodeNameRegex: 'L2[' is no valid regular expression", run.stderr)
        # Percents.
        run = self.run_command("Train:Svd", "Svd=[keepRatio=40]")
        self.assertIn("WARNING: SVD: the share to keep of 'L[23].*W' is 40, so all singular values are kept and the "
                      "model gets larger; 0.4 keeps 40 % of their sum", run.stderr)

    def test_adapt(self):
        run = self.run_command("Train:Adapt:Test", "Test=[modelPath=adapted.dnn]")
        self.assertIn("Load Network From the original model file m.dnn.", run.stderr)
        # Two further epochs give the same as four at once.
        adapted = RESULT.search(run.stderr).group(1)
        run = self.run_command("Train:Test", "Train=[modelPath=four.dnn; SGD=[maxEpochs=4]]", "Test=[modelPath=four.dnn]")
        self.assertEqual(adapted, RESULT.search(run.stderr).group(1))

    def test_adapt_validates_with_the_readers_data_and_follows_the_seed(self):
        self.run_command("Train")
        self.write("cv.txt", "3 1 no\n-2 0.5 no\n1 4 yes\n")
        cv = "cvReader=[ $streams$; file=cv.txt ]"
        log = self.run_command("Adapt:Test", "Adapt=[%s; SGD=[maxEpochs=1]]" % cv,
                               "Test=[modelPath=adapted.dnn; reader=[file=cv.txt]]").stderr
        validation, = re.findall(r"\[Validation Set\] TrainLossPerSample = (\S+);", log)
        self.assertAlmostEqual(float(validation), float(RESULT.findall(log)[-1]), delta=1e-6)

        def adapted(seed):
            self.run_command("Adapt", "trainingSeed=%d" % seed, "Adapt=[makeMode=false; SGD=[gaussianNoiseInjectStd=0.1]]")
            return (self.folder / "adapted.dnn").read_bytes()

        self.assertEqual(adapted(5), adapted(5))
        self.assertEqual(len({adapted(seed) for seed in (0, 5, 6)}), 3)

    def test_adapt_does_not_write_onto_the_epoch_that_it_reads(self):
        self.run_command("Train")
        before = (self.folder / "m.dnn.1").read_bytes()
        kept = "Adapt=[origModelFileName=./m.dnn.1; modelPath=m.dnn; SGD=[maxEpochs=%d]]"
        message = ("error: modelPath would overwrite 'm.dnn.1', which is origModelFileName as well; expected another "
                   "file\n")
        for check in [], ["--check"]:
            run = self.run_command("Adapt", kept % 4, "Adapt=[makeMode=false]", *check, status=3)
            self.assertIn(message, run.stderr)
            self.assertIn("while preparing command 'Adapt'", run.stderr)
        # A model of no epoch of this training; one from which it resumes; one that it ignores and would overwrite.
        self.run_command("Adapt", kept % 1, "Adapt=[makeMode=false; modelPath=other.dnn]", "--check")
        self.run_command("Adapt", kept % 1, "Adapt=[makeMode=false]", "--check")
        (self.folder / "m.dnn").unlink()
        self.run_command("Adapt", kept % 3)
        self.assertEqual((self.folder / "m.dnn.1").read_bytes(), before)
        (self.folder / "m.dnn").unlink()
        (self.folder / "m.dnn.2").unlink()
        os.utime(self.folder / "m.dnn.1", (1e9, 1e9))  # older than m.dnn.0
        for check in [], ["--check"]:
            self.assertIn(message, self.run_command("Adapt", kept % 3, *check, status=3).stderr)
        self.assertEqual((self.folder / "m.dnn.1").read_bytes(), before)

    def test_the_reference_node_of_an_adaptation_is_there(self):
        self.run_command("Train")
        kl = "Adapt=[refNodeName=CE.BFF.FF.Q; SGD=[adaptationRegType=KL; adaptationRegWeight=0.5]]"
        for check in [], ["--check"]:
            self.assertRegex(self.run_command("Adapt", kl, *check, status=3).stderr,
                             r"command line:1:\d+: error: refNodeName names 'CE\.BFF\.FF\.Q', but there is no such node in "
                             r"the original model; did you mean 'CE\.BFF\.FF\.P' or ")
            self.assertIn("error: refNodeName 'L1.BFF.B' has dimension 4, but label 'labels' has 2; expected the same, since "
                          "they are mixed\n",
                          self.run_command("Adapt", kl.replace("CE.BFF.FF.Q", "L1.BFF.B"), *check, status=3).stderr)
        self.assertEqual(list(self.folder.glob("adapted.dnn*")), [])

    def test_scores_are_no_posteriors(self):
        self.run_command("Train")
        kl = "Adapt=[refNodeName=%s; SGD=[adaptationRegType=KL; adaptationRegWeight=0.5]]"
        run = self.run_command("Adapt", kl % "CE.BFF.FF.P")
        self.assertRegex(run.stderr, r"WARNING: command line:1:\d+: refNodeName 'CE.BFF.FF.P' is a node of type Plus; "
                         "adaptationRegType=KL mixes the labels with posteriors, the values of a Softmax node")
        self.edit("m=LoadModel(m.dnn)\nP=Softmax(CE.BFF.FF.P)\nSaveModel(m.dnn)\n")
        run = self.run_command("Adapt", kl % "P", "Adapt=[makeMode=false]")
        self.assertNotIn("refNodeName 'P'", run.stderr)

    def test_a_model_saved_under_its_name_in_the_script(self):
        self.run_command("Train")
        run = self.edit("m=LoadModel(m.dnn)\nSaveModel(m)\n")
        self.assertIn("WARNING: edit.mel:2:1: the default model is saved to the file 'm', which is also the name of a "
                      "model; SaveModel(name, file) names both", run.stderr)

    def test_convertdbn(self):
        content = b"DBN\nby hand\0BDBN" + struct.pack("<ii", 0, 1)
        content += dbn_matrix(b"gmean", 2, 1, [0.5, 0]) + dbn_matrix(b"gstddev", 2, 1, [0.5, 2]) + b"BNET"
        content += b"perceptron\0" + dbn_matrix(b"W", 2, 2, [1, 2, 3, 4]) + dbn_matrix(b"a", 2, 1, [0.5, -0.5])
        content += dbn_matrix(b"b", 0, 0, []) + b"ENET" + dbn_matrix(b"Pu", 2, 1, [1, 0.5]) + b"EDBN"
        (self.folder / "m.dbn").write_bytes(content)
        self.run_command("Convert:Write")
        self.assertEqual(self.read("out.HLast").splitlines()[0].split(), ["1.500000", "1.500000"])  # (0, 0.5)
        self.assertEqual(self.read("out.ScaledLogLikelihood").splitlines()[0].split(), ["1.500000", "2.193147"])
        (self.folder / "m.dbn").write_bytes(content[:-1])
        (self.folder / "new.dnn").unlink()
        run = self.run_command("Convert", status=5)
        self.assertIn("DBN file 'm.dbn' ends at byte %d: expected the mark 'EDBN'" % (len(content) - 1), run.stderr)
        self.assertFalse((self.folder / "new.dnn").exists())
        run = self.run_command("Write", "Write=[modelPath=m.dbn]", status=5)
        self.assertIn("convert it with action=convertdbn", run.stderr)
        run = self.run_command("Convert", "Convert=[dbnModelPath=nosuch.dbn]", status=3)
        self.assertIn("dbnModelPath: file 'nosuch.dbn' does not exist", run.stderr)
        run = self.run_command("Convert", "Convert=[layerTypes=Sigmod]", status=3)
        self.assertIn("unknown layer type 'Sigmod'", run.stderr)


if __name__ == "__main__":
    main()
