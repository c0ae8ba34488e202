#!/usr/bin/env python3
"""Runs each action with the real program and checks its files, its log, and that it changes nothing else."""
import re
import shutil
import struct
import time

from EndToEnd import main
from TwoClasses import DATA, TwoClassesTest

CONFIG = r"""
precision=double
modelPath=model\m.dnn
Train=[
  action=train
  SimpleNetworkBuilder=[ layerSizes=2:3:2; evalCriterion=ErrorPrediction; needPrior=true ]
  SGD=[ maxEpochs=3; minibatchSize=4; learningRatesPerSample=0.1; keepCheckPointFiles=true ]
  reader=[
    file=train.txt
    randomize=none
    features=[ dim=2; start=0 ]
    labels=[ dim=1; start=2; labelDim=2; labelMappingFile=map.txt ]
  ]
]
Test=[ action=eval; reader=[ $streams$ ] ]
Cv=[ action=cv; crossValidationInterval=1:1:2; reader=[ $streams$ ] ]
streams="file=train.txt; features=[ dim=2 ]; labels=[ dim=1; start=2; labelDim=2; labelMappingFile=map.txt ]"
Write=[
  action=write
  reader=[ file=train.txt; features=[ dim=2 ] ]
  outputNodeNames=HLast:PosteriorProb
  outputPath=out\values
]
Dump=[ action=dumpnode:plot; outputDotFile=graph.dot ]
Map=[ action=createLabelMap; section=Train; traceLevel=1 ]
"""


class ActionsTest(TwoClassesTest):
    config = CONFIG

    def test_train_writes_models_and_checkpoints(self):
        run = self.run_command("Train")
        names = sorted(path.name for path in (self.folder / "model").iterdir())
        self.assertEqual(names, ["m.dnn", "m.dnn.0", "m.dnn.1", "m.dnn.1.ckp", "m.dnn.2", "m.dnn.2.ckp", "m.dnn.ckp"])
        for line in ("CNTKCommandTrainBegin: Train\nSimpleNetworkBuilder Using CPU", 'Action "train" complete.',
                     "__COMPLETED__",
                     "CNTKCommandTrainInfo: CNTKNoMoreCommands_Total : 3"):
            self.assertIn(line + "\n", run.stderr)
        self.assertEqual(len(re.findall(r"^Finished Epoch\[ \d of 3\]: \[Training Set\] TrainLossPerSample = ",
                                        run.stderr, re.M)), 3)

    def test_lines_about_the_network(self):
        run = self.run_command("Train", "traceLevel=1")
        self.assertIn("\n8 out of 17 nodes do not share the minibatch layout with the input data.\n", run.stderr)
        self.assertIn("\n5 roots:\n\tCrossEntropyWithSoftmax = CrossEntropyWithSoftmax()\n"
                      "\tEvalErrorPrediction = ErrorPrediction()\n\tPosteriorProb = Softmax()\n\tPrior = Mean()\n"
                      "\tScaledLogLikelihood = Minus()\n", run.stderr)
        self.assertNotIn("Loop[", run.stderr)
        run = self.run_command("Train", "traceLevel=1", "modelPath=rnn", "Train=[SimpleNetworkBuilder=[rnnType=LSTM]]")
        # The whole block, except the products with the input and the sums with a bias alone.
        self.assertIn("\nLoop[0] --> Loop_AutoName37 -> 31 nodes\n", run.stderr)
        loop = run.stderr.split("31 nodes\n")[1].strip("\n").split("\n\n")[0].splitlines()
        self.assertEqual([len(line.split("\t")) - 1 for line in loop], 10 * [3] + [1])

    def test_timestamps(self):
        lines = self.run_command("Train", "timestamping=true").stderr.splitlines()
        stamped = [line[21:] for line in lines if re.match(r"\d\d/\d\d/\d{4} \d\d:\d\d:\d\d: ", line)]
        self.assertIn("Commands: Train", [line.strip() for line in stamped])
        self.assertIn("__COMPLETED__", [line.strip() for line in stamped])
        self.assertIn("precision=double", lines)  # of the config
        self.assertIn("configparameters: exp.cntk:precision=double", lines)

    def test_progress_tracing(self):
        arguments = ["progressTracing=true", "Adapt=[action=adapt; modelPath=a.dnn; origModelFileName=model/m.dnn; reader=[ "
                     "$streams$ ]; SGD=[ maxEpochs=2; minibatchSize=4; learningRatesPerSample=0.1 ]]"]
        progress = lambda text: re.findall(r"^PROGRESS: (\S+)%$", text, re.M)
        run = self.run_command("Train:Adapt", *arguments)
        self.assertRegex(run.stdout, r"^PROGRESS: 20\.00%\nEVALERR: \d+\.\d{7}%\nPROGRESS: 40\.00%\n")
        self.assertEqual(progress(run.stdout), ["20.00", "40.00", "60.00", "80.00", "100.00"])
        self.assertEqual([float(error) for error in re.findall(r"^EVALERR: (\S+)%$", run.stdout, re.M)],
                         [100 * float(error) for error in re.findall(r"; EvalErrPerSample = (\S+); ", run.stderr)])
        (self.folder / "a.dnn").unlink()  # earlier trainings count, too
        self.assertEqual(progress(self.run_command("Train:Adapt", *arguments).stdout), ["100.00"])

    def test_eval_and_cv(self):
        self.run_command("Train")
        run = self.run_command("Test:Cv")
        finals = re.findall(r"Final Results: Minibatch\[1-1\]: SamplesSeen = 5    EvalErrorPrediction: "
                            r"ErrorPrediction/Sample = (\S+)    CrossEntropyWithSoftmax: "
                            r"CrossEntropyWithSoftmax/Sample = (\S+)    Perplexity = \S+    \n", run.stderr)
        self.assertEqual(len(finals), 3)
        # The log spells the action as the config does.
        self.assertRegex(run.stderr, r'\n# Action "eval" {62}#\n')
        self.assertIn('\nAction "eval" complete.\n', run.stderr)
        self.assertIn("Best models:\n------------\nBased on Err[0]: Best model = model/m.dnn.", run.stderr)

    def test_averages_take_each_record_once(self):
        cv_reader = "file=train.txt; features=[dim=2]; labels=[dim=1; start=2; labelDim=2; labelMappingFile=map.txt]"
        results = []
        for mode in "partial", "full":
            run = self.run_command("Train:Test:Cv", "makeMode=false",
                                   "Train=[cvReader=[%s; minibatchMode=%s]]" % (cv_reader, mode),
                                   "Test=[minibatchSize=3; reader=[minibatchMode=%s]]" % mode,
                                   "Cv=[minibatchSize=3; crossValidationInterval=1:1:1; reader=[minibatchMode=%s]]" % mode)
            results.append(re.findall("Validation Set.*|SamplesSeen = 5 .*", run.stderr))
        self.assertEqual(len(results[0]), 8, results)
        self.assertEqual(*results)

    def test_statistics_take_each_record_once(self):
        for mode in "partial", "full":
            self.run_command("Train:Mean", "makeMode=false", "Mean=[action=dumpnode; nodeName=MeanOfFeatures; outputFile=%s]" % mode,
                             "Train=[SimpleNetworkBuilder=[applyMeanVarNorm=true]; reader=[minibatchMode=%s]]" % mode)
        self.assertEqual(self.read("full"), self.read("partial"))

    def test_readers_side_by_side_that_differ_in_their_order(self):
        self.run_command("Train")
        reader = ("Test=[reader=[readers=a:b; randomize=none; a=[file=train.txt; features=[dim=2]]; "
                  "b=[file=train.txt; labels=[dim=1; start=2; labelDim=2; labelMappingFile=map.txt]]]]")
        self.assertNotIn("randomize", self.warnings(self.run_command("Test", reader)))
        self.assertIn("readers: 'b' has randomize=auto, but 'a' has randomize=none; the samples of a minibatch "
                      "then do not belong together",
                      self.warnings(self.run_command("Test", reader, "Test=[reader=[b=[randomize=auto]]]")))
        reader = reader.replace("randomize=none; ", "")
        self.assertNotIn("randomize", self.warnings(self.run_command("Test", reader)))
        self.assertIn("readers: 'b' has randomize=auto, but 'a' has randomize=none; ",  # by default
                      self.warnings(self.run_command("Test", reader, "Test=[reader=[a=[randomize=none]]]")))
        # When values are written, all readers keep the order of their files.
        self.assertNotIn("randomize", self.warnings(self.run_command(
            "Write", reader.replace("Test=", "Write="), "Write=[reader=[a=[randomize=none]]]")))
        # Readers of two kinds shuffle differently, and a sequence of one sample is a record.
        self.write("labels.txt", "|labels 0:1\n" * 5)
        other = ("Test=[reader=[readers=a:b; a=[file=train.txt; features=[dim=2]]; b=[readerType=CNTKTextFormatReader; "
                 "file=labels.txt; input=[labels=[dim=2; format=sparse]]]]]")
        self.assertIn("readers: 'b', a CNTKTextFormatReader, and 'a', a UCIFastReader, shuffle in different ways; the "
                      "samples of a minibatch then do not belong together; expected randomize=none in both, or readers "
                      "of one kind", self.warnings(self.run_command("Test", other)))
        self.assertNotIn("randomize", self.warnings(self.run_command("Test", other, "Test=[reader=[randomize=none]]")))
        # The label belongs to the second reader.
        self.run_command("Map", "Map=[section=Test]", reader, "Test=[reader=[b=[labels=[labelMappingFile=made.txt]]]]")
        self.assertEqual(self.read("made.txt"), "yes\nno\n")

    @staticmethod
    def warnings(run):
        return "".join(line for line in run.stderr.splitlines(True) if line.startswith("WARNING"))

    def test_sequences_side_by_side_that_have_other_names(self):
        self.run_command("Train")
        self.write("a.txt", "1 |features 0.5 1\n2 |features -1 0.25\n")
        reader = ("Named=[action=test; reader=[readers=a:b; randomize=none; readerType=CNTKTextFormatReader; "
                  "a=[file=a.txt; input=[features=[dim=2; format=dense]]]; "
                  "b=[file=b.txt; input=[labels=[dim=2; format=dense]]]]]")
        for ids, isWrong in (("12", False), ("21", True)):
            self.write("b.txt", "%s |labels 0 1\n%s |labels 1 0\n" % tuple(ids))
            run = self.run_command("Named", reader)
            self.assertIn("SamplesSeen = 2 ", run.stderr)
            self.assertEqual("readers: sequence '2' of 'b' is paired with '1' of 'a'" in run.stderr, isWrong)

    def test_cv_step_of_zero(self):
        self.run_command("Train")
        run = self.run_command("Cv", "Cv=[crossValidationInterval=1:0:2]", status=3)
        self.assertIn("the step of crossValidationInterval is 0; it must be at least 1", run.stderr)

    def test_cv_goes_through_the_interval(self):
        self.run_command("Train")  # models 0, 1, 2 and the final one
        (self.folder / "model/m.dnn.1").unlink()
        run = self.run_command("Cv", "Cv=[crossValidationInterval=0:1:4]")
        said = re.findall(r"^(Model \S+ (?:-->|does not exist\.))", run.stderr, re.M)
        self.assertEqual(said, ["Model model/m.dnn.0 -->", "Model model/m.dnn.1 does not exist.", "Model model/m.dnn -->",
                                "Model model/m.dnn.2 -->", "Model model/m.dnn.3 does not exist.",
                                "Model model/m.dnn.4 does not exist."])
        errors = [float(value) for value in re.findall(r"CrossEntropyWithSoftmax/Sample = (\S+) ", run.stderr)]
        self.assertEqual(len(errors), 3)
        # A check reports missing models, too.
        missing = re.compile(r"^Model \S+ does not exist\.", re.M)
        check = self.run_command("Cv", "Cv=[crossValidationInterval=0:1:4]", "--check").stderr
        self.assertEqual(missing.findall(check), [line for line in said if "exist" in line])
        check = self.run_command("Train:Cv", "Train=[modelPath=new.dnn]", "Cv=[modelPath=new.dnn; "
                                 "crossValidationInterval=1:1:4]", "--check").stderr
        self.assertIn("Command 'Cv': model 'new.dnn.1' comes from command 'Train' and is checked when 'Cv' runs", check)
        best = re.findall(r"^Based on Err\[(\d)\]: Best model = (\S+) with min err (\S+)$", run.stderr, re.M)
        self.assertEqual([number for number, _, _ in best], ["0", "1"])
        self.assertAlmostEqual(float(best[1][2]), min(errors), places=6)
        self.assertEqual(best[1][1], ["model/m.dnn.0", "model/m.dnn", "model/m.dnn.2"][errors.index(min(errors))])

    def test_check_loads_all_models_of_cv(self):
        self.run_command("Train")
        model = self.folder / "model/m.dnn.2"
        model.write_bytes(model.read_bytes()[:300])
        for check in [], ["--check"]:
            self.assertIn("model file 'model/m.dnn.2' ends at byte 300",
                          self.run_command("Cv", *check, status=5).stderr)

    def test_check_reads_data_for_a_model_that_is_not_known_yet(self):
        commands = ["Train:Export:Convert:Last", "Export=[action=exportdbn; dbnModelPath=m.dbn]",
                    "Convert=[action=convertdbn; dbnModelPath=m.dbn; modelPath=back.dnn; layerSizes=2:3:2]",
                    "Train=[SimpleNetworkBuilder=[layerTypes=Sigmoid]]", "Last=[modelPath=back.dnn; reader=[$streams$]]"]
        self.write("none.txt", "")
        for action in "test", "gradientCheck":
            commands[-1] = "Last=[action=%s; modelPath=back.dnn; reader=[$streams$]]" % action
            run = self.run_command(*commands, "--check")
            self.assertIn("Command 'Last': model 'back.dnn' comes from command 'Convert' and is checked when 'Last' runs",
                          run.stderr)
            run = self.run_command(*commands, "Last=[reader=[file=none.txt]]", "--check", status=4)
            self.assertIn("data file 'none.txt' is empty", run.stderr)

    def test_cv_waits_between_models(self):
        self.run_command("Train")
        started = time.monotonic()
        self.run_command("Cv", "Cv=[sleepTimeBetweenRuns=1]")
        self.assertGreater(time.monotonic() - started, 2)

    def test_cv_messages(self):
        self.run_command("Train")
        for interval, message in (("1:2", "crossValidationInterval needs first:step:last, as in 1:1:10; found '1:2'"),
                                  ("3:1:2", "crossValidationInterval ends at epoch 2, before its first, 3"),
                                  ("0:2:18446744073709551615",
                                   "crossValidationInterval names more than 100000 models")):
            run = self.run_command("Cv", "Cv=[crossValidationInterval=%s]" % interval, status=3)
            self.assertIn(message, run.stderr)
        for model in (self.folder / "model").iterdir():
            model.unlink()
        for check in [], ["--check"]:
            run = self.run_command("Cv", *check, status=5)
            self.assertIn("no model is evaluated: found neither model/m.dnn.1 nor model/m.dnn", run.stderr)
            self.assertEqual(run.stderr.count(" does not exist.\n"), 2)

    def test_write_text(self):
        self.run_command("Train:Write")
        rows = [[float(word) for word in line.split()] for line in self.read("out/values.PosteriorProb").splitlines()]
        self.assertEqual(len(rows), 5)
        for row in rows:
            self.assertAlmostEqual(sum(row), 1, places=5)
        self.assertEqual(len(self.read("out/values.HLast").splitlines()), 5)

    def test_write_formats(self):
        self.run_command("Train")
        self.run_command("Write", "Write=[format=[type=category;labelMappingFile=map.txt]]",
                         "outputNodeNames=PosteriorProb")
        self.assertEqual(set(self.read("out/values.PosteriorProb").split()) - {"yes", "no"}, set())
        # `type` at the root is the precision of the run.
        self.run_command("Write", "Write=[format=[precisionFormat=.2;elementSeparator=\"|\"]]", "type=double")
        self.assertRegex(self.read("out/values.HLast").splitlines()[0], r"^-?\d\.\d\d\|-?\d\.\d\d$")

    def test_write_forms_of_real_numbers(self):
        self.run_command("Train")
        self.run_command("Write")
        rows = [line.split() for line in self.read("out/values.HLast").splitlines()]
        self.run_command("Write", "Write=[format=[transpose=false; sampleSeparator=\"&\"; prologue=\"begin, \"; "
                                  "sequenceEpilogue=\" \\s%n/%d\\n\"; epilogue=end]]")
        lines = self.read("out/values.HLast").splitlines()
        self.assertEqual(len(lines), 6)
        # The bias makes a sample [2 x 1], so each line has the index of its element.
        self.assertEqual(lines[0], "begin,[0,0]\t%s&[1,0]\t%s 0/0" % tuple(rows[0]))
        self.assertEqual(lines[4], "[0,0]\t%s&[1,0]\t%s 0/4" % tuple(rows[4]))
        self.assertEqual(lines[5], "end")

    def test_write_sparse_and_category(self):
        self.run_command("Train")
        self.run_command("Write", "Write=[format=[precisionFormat=.3]]")
        values = [[float(word) for word in line.split()] for line in self.read("out/values.PosteriorProb").splitlines()]
        self.run_command("Write", "Write=[format=[type=sparse; precisionFormat=.3]]")
        self.assertEqual(self.read("out/values.PosteriorProb").splitlines(),
                         [entry for row in values for entry in ("%.3f[0,0]" % row[0], "%.3f[1,0]" % row[1])])
        self.run_command("Write", "Write=[format=[type=category]]")
        self.assertEqual(self.read("out/values.PosteriorProb").split(), ["01"[row[1] >= row[0]] for row in values])
        categories = [int(line) for line in self.read("out/values.PosteriorProb").splitlines()]
        self.run_command("Write", "Write=[format=[type=category; precisionFormat=+4]]") # %u has no sign
        self.assertEqual(self.read("out/values.PosteriorProb").splitlines(), ["%4d" % row for row in categories])
        self.write("two.txt", "one\n%s\n" % ("x" * 300))
        self.run_command("Write", "Write=[format=[type=category; labelMappingFile=two.txt; precisionFormat=-5; "
                                  "sequenceEpilogue=|\\n]]")
        self.assertEqual(self.read("out/values.PosteriorProb").splitlines(),
                         [("%-5s" % ("one", "x" * 300)[row]) + "|" for row in categories])
        # Labels that need quotes in the map, as createLabelMap writes them, are written with quotes; others without.
        self.write("quotes.txt", "\"a:b\"\n\"c\"\n")
        self.run_command("Write", "Write=[format=[type=category; labelMappingFile=quotes.txt]]")
        self.assertEqual(self.read("out/values.PosteriorProb").splitlines(), [("a:b", '"c"')[row] for row in categories])
        # The separator of sparse values may name the node and the sequence, like the others.
        self.run_command("Write", "Write=[format=[type=sparse; precisionFormat=.3; transpose=false; "
                                  "elementSeparator=\"\\s%d %s\\s\"]]")
        self.assertEqual(self.read("out/values.PosteriorProb").splitlines(),
                         ["%.3f[0,0] %d PosteriorProb %.3f[1,0]" % (row[0], i, row[1]) for i, row in enumerate(values)])
        self.write("three.txt", "a\nb\nc\n")
        run = self.run_command("Write", "Write=[format=[type=category; labelMappingFile=three.txt]]")
        self.assertIn("write: Row dimension 2 does not match number of entries 3 in labelMappingFile, not using mapping",
                      run.stderr)

    def test_write_to_standard_output(self):
        self.run_command("Train:Write")
        run = self.run_command("Write", "Write=[outputPath=-; outputNodeNames=HLast; minibatchSize=3]")
        values = self.read("out/values.HLast").splitlines()
        self.assertEqual(run.stdout.splitlines(), values[:3] + [""] + values[3:] + [""])
        both = self.run_command("Write", "Write=[outputPath=-; outputNodeNames=HLast:PosteriorProb; minibatchSize=3]")
        more = self.read("out/values.PosteriorProb").splitlines()
        self.assertEqual(both.stdout.splitlines(), values[:3] + more[:3] + [""] + values[3:] + more[3:] + [""])

    def test_traced_nodes_show_what_is_written(self):
        self.run_command("Train")
        run = self.run_command("Write", "Write=[minibatchSize=3; traceNodeNamesReal=PosteriorProb:B0; "
                                        "format=[precisionFormat=.12]]")
        shown = self.traced(run.stderr, r"minibatch \d: PosteriorProb = Softmax \[2 x \d\], real")
        self.assertEqual([len(samples) for samples in shown], [3, 2])
        written = [[float(word) for word in line.split()] for line in self.read("out/values.PosteriorProb").splitlines()]
        for sample, row in zip(sum(shown, []), written, strict=True):
            for word, value in zip(sample.split(), row, strict=True):
                self.assertAlmostEqual(float(word), value, places=11)
        bias = self.traced(run.stderr, r"minibatch \d: B0 = LearnableParameter \[3 x 1\], real")
        self.assertEqual([len(columns) for columns in bias], [1, 1])
        self.assertEqual(len(bias[0][0].split()), 3)

    def test_traced_categories_have_labels(self):
        self.run_command("Train")
        run = self.run_command("Test", "Test=[traceNodeNamesCategory=labels; traceNodeNamesSparse=labels:features; "
                                       "randomize=none]")
        self.assertEqual(self.traced(run.stderr, r"minibatch 1: labels = InputValue \[2 x 5\], category"),
                         [["0 'yes'", "1 'no'", "0 'yes'", "1 'no'", "0 'yes'"]])
        self.assertEqual(self.traced(run.stderr, r"minibatch 1: labels = InputValue \[2 x 5\], sparse"),
                         [["0:1", "1:1", "0:1", "1:1", "0:1"]])
        self.assertEqual(self.traced(run.stderr, r"minibatch 1: features = InputValue \[2 x 5\], sparse"),
                         [["0:0.5 1:1", "0:-1 1:0.25", "", "0:1 1:1", "0:0.5 1:-1"]])

    def test_nodes_traced_in_training(self):
        plain = self.run_command("Train")
        model = (self.folder / "model/m.dnn").read_bytes()
        run = self.run_command("Train", "makeMode=false", "Train=[SGD=[traceNodeNamesReal=\"W0*features\":PosteriorProb; "
                                        "numSubminibatches=2]; cvReader=[ $streams$ ]]")
        self.assertEqual(len(self.traced(run.stderr, r"minibatch \d, part [12] of 2: W0\*features = .*, real")), 6)
        self.assertEqual(len(self.traced(run.stderr, r"minibatch 2: PosteriorProb = Softmax \[2 x 1\], real")), 3)
        self.assertEqual(len(self.traced(run.stderr, r"validation minibatch \d: PosteriorProb = .*, real")), 6)
        self.assertNotIn("Trace of", plain.stderr)
        run = self.run_command("Train", "makeMode=false", "Train=[SGD=[traceNodeNamesReal=\"W0*features\"]]")
        self.assertIn("Trace of minibatch 1: W0*features = Times", run.stderr)
        run = self.run_command("Train", "makeMode=false", "Train=[SGD=[traceNodeNamesReal=H1:HLast:W1]]")
        self.assertEqual((self.folder / "model/m.dnn").read_bytes(), model)

    def traced(self, log, heading):
        """Returns the samples after each heading, without their numbers."""
        blocks = re.findall(r"^Trace of %s\n((?:  .*\n)*)" % heading, log, re.M)
        return [[line.split(": ", 1)[1].rstrip() for line in block.splitlines()] for block in blocks]

    def test_write_of_unknown_nodes(self):
        self.run_command("Train")
        run = self.run_command("Write", "Write=[outputNodeNames=HLats]", status=3)
        self.assertIn("outputNodeNames: the model has no node 'HLats'", run.stderr)
        self.assertIn("did you mean 'HLast'", run.stderr)

    def test_failed_write_leaves_the_old_file(self):
        self.run_command("Train:Write")
        before = self.read("out/values.HLast")
        self.write("train.txt", DATA + "1 oops no\n")
        self.run_command("Write", status=4)
        self.assertEqual(self.read("out/values.HLast"), before)
        self.assertEqual([path.name for path in (self.folder / "out").iterdir() if path.suffix == ".tmp"], [])

    def test_files_of_one_command_are_all_new_or_all_old(self):
        """The disk is full when the last file is written."""
        self.run_command("Train")
        self.write("words.txt", "a b a\n")
        words = ("Words=[action=writeWordAndClass; inputFile=words.txt; outputVocabFile=vocab.txt; vocabSize=4; cutoff=0; "
                 "outputMappingFile=words.map; outputWord2Cls=classes.txt; outputCls2Index=firsts.txt; nbrClass=2; makeMode=false]")
        for command, more, files in (
                ("Write", "Write=[]", ["out/values.HLast", "out/values.PosteriorProb"]),
                ("Words", words, ["vocab.txt", "words.map", "classes.txt", "firsts.txt"])):
            for file in files:
                self.write(file, "old\n")
            self.fill_disk_for(files[-1])
            run = self.run_command(command, more, status=6)
            self.assertIn("error: cannot write file '%s': No space left on device; the previous file, if any, is intact\n"
                          % files[-1], run.stderr)
            self.assertEqual([self.read(file) for file in files], ["old\n"] * len(files))
            self.assertEqual(list(self.folder.glob("**/*.tmp")), [])
            self.run_command(command, more)
            self.assertNotIn("old\n", [self.read(file) for file in files])

    def test_files_that_may_not_grow_are_told(self):
        self.write("edit.mel", "m=LoadModel(model/m.dnn)\nSaveModel(m, old.dnn)\n")
        self.run_command("Train")
        for command, more, file in (
                ("Write", "Write=[outputPath=old]", "old.HLast"),
                ("Write", "Write=[writer=[writerType=BinaryWriter; wfile=old.bin; HLast=[sectionType=data]]]", "old.bin"),
                ("Dump", "Dump=[action=dumpnode; outputFile=old.txt]", "old.txt"),
                ("Dump", "Dump=[action=plot; outputDotFile=old.dot]", "old.dot"),
                ("Edit", "Edit=[action=edit; editPath=edit.mel]", "old.dnn"),
                ("Svd", "Svd=[action=SVD; outputModelPath=old.svd; nodeNameRegex=W.*]", "old.svd"),
                ("Export", "Export=[action=exportdbn; dbnModelPath=old.dbn]", "old.dbn"),
                ("Train", "makeMode=false", "model/m.dnn.0")):
            self.write(file, "old\n")
            run = self.run_command(command, more, status=6, file_size=16)
            self.assertIn("%s': File too large; the previous file, if any, is intact" % file, run.stderr)
            self.assertEqual(self.read(file), "old\n")
        self.assertEqual(sorted(self.folder.glob("**/*.tmp")), [])

    def test_dumpnode_and_plot(self):
        self.run_command("Train:Dump")
        dump = self.read("model/m.dnn.__AllNodes__.txt")
        self.assertIn("\n W0=LearnableParameter [3,2]   learningRateMultiplier=1.000000  NeedsGradient=true \n",
                      "\n" + dump.replace("\n\n", "\n").replace("\nW0", "\n W0"))
        self.assertTrue(self.read("graph.dot").startswith(" strict digraph {\n"))

    def test_dumpnode_forms(self):
        self.run_command("Train")

        def dump(options):
            return self.run_command("Dump", "Dump=[action=dumpnode; outputFile=dump.txt; %s]" % options)
        dump("nodeName=w0")
        text = self.read("dump.txt")
        self.assertTrue(text.startswith(" \nW0=LearnableParameter [3,2] "))
        self.assertEqual(len(text.splitlines()), 6)  # blank, name, three rows, the line of #
        dump("nodeName=W0; printMetadata=false")
        numbers = self.read("dump.txt").split()
        self.assertEqual(len(numbers), 6)
        self.assertEqual(numbers, [word for line in text.splitlines()[2:5] for word in line.split()])
        dump("nodeName=W0; printValues=false")
        self.assertEqual(self.read("dump.txt").strip(), text.splitlines()[1].strip())
        run = dump("nodeNameRegex=\"[WB]0\"")
        self.assertIn("DumpNodeInfo: 2 nodes matching RegEx([WB]0): \n\tB0\n\tW0\nDumpNodeInfo: dumping node info (with "
                      "printing values) to dump.txt\n", run.stderr)
        # Expressions that match no name: most have another case, or lack the text around.
        for expression, hint in (("w.*", "; did you mean 'W0', 'W0*features', 'W0*features+B0', ...?"),
                                 ("Last", "; did you mean 'HLast'?"), ("featrues", "; did you mean 'features'?"),
                                 ("Q.*", "")):
            log = dump("nodeNameRegex=\"%s\"" % expression).stderr
            self.assertIn("WARNING: dumpnode: no node of the model has a name that '%s' matches as a whole and with case; "
                          "the file is empty%s\n" % (expression, hint), log)
            self.assertEqual(self.read("dump.txt"), "")
        dump("nodeNameRegex=\"[WB]0\"")
        # A check has the same messages, and writes nothing.
        text = self.read("dump.txt")
        for options, message in (
                ("nodeNameRegex=\"[WB]7\"", "DumpNodeInfo: 0 nodes matching RegEx([WB]7): \n"),
                ("nodeName=HLats", "Warning: node name 'HLats' does not exist in the network. dumping all nodes instead. Did "
                 "you mean 'HLast'?\n")):
            self.assertIn(message, self.run_command("Dump", "Dump=[action=dumpnode; outputFile=dump.txt; %s]" % options,
                                                    "--check").stderr)
            self.assertEqual(self.read("dump.txt"), text)
            self.assertIn(message, dump(options).stderr)
            dump("nodeNameRegex=\"[WB]0\"")
        self.assertEqual(re.findall(r"^(\w+)=", self.read("dump.txt"), re.M), ["B0", "W0"])
        run = dump("nodeName=nosuch")
        self.assertIn("Warning: node name 'nosuch' does not exist in the network. dumping all nodes instead.",
                      run.stderr)
        self.assertIn("PosteriorProb=Softmax ( HLast )", self.read("dump.txt"))
        run = self.run_command("Dump", "Dump=[action=dumpnode; outputFile=-; nodeName=features]")
        self.assertEqual(run.stdout.split(), "features=InputValue [ 2 ]".split())
        run = self.run_command("Dump", "Dump=[action=dumpnode; printValues=false; printMetadata=false]", status=3)
        self.assertIn("printValues and printMetadata are both false: there is nothing to dump", run.stderr)

    def test_plot_messages(self):
        self.run_command("Train")
        run = self.run_command("Dump", "Dump=[action=plot; outputFile=copy.dot]", status=3)
        self.assertIn("has an outputFile but no renderCmd that writes it", run.stderr)
        run = self.run_command("Dump", "Dump=[action=plot; renderCmd=\"cp <IN> <OUT>\"]", status=3)
        self.assertIn("renderCmd has <OUT>, but outputFile, which replaces <OUT>, is not given", run.stderr)
        self.assertFalse((self.folder / "<OUT>").exists())
        run = self.run_command("Dump", "Dump=[action=plot; outputFile=copy.dot; renderCmd=\"false <IN>\"]", status=6)
        self.assertIn("renderCmd: 'false' ended with exit code 1", run.stderr)
        self.assertTrue((self.folder / "graph.dot").exists())

    def test_plot_renders_without_a_shell(self):
        self.run_command("Train")
        self.run_command("Dump", "Dump=[action=plot;outputFile=copy.dot;renderCmd=\"cp <IN> <OUT>\"]")
        self.assertEqual(self.read("copy.dot"), self.read("graph.dot"))
        run = self.run_command("Dump", "Dump=[action=plot;outputFile=copy.dot;renderCmd=\"no-such-program <IN>\"]",
                               status=6)
        self.assertIn("renderCmd: cannot start 'no-such-program'", run.stderr)
        run = self.run_command("Dump", "Dump=[action=plot;outputFile=never.svg;renderCmd=\"true\"]", status=6)
        self.assertIn("renderCmd: 'true' ended well, but did not write the outputFile 'never.svg'", run.stderr)
        self.run_command("Dump", "Dump=[action=plot;outputFile=a b;renderCmd=\"touch <OUT> ; touch evil\"]")
        self.assertFalse((self.folder / "evil").exists() and (self.folder / ";").exists() is False)

    def test_check_of_data_that_a_command_before_writes(self):
        (self.folder / "map.txt").unlink()
        self.write("text.txt", "a b a\n")
        self.run_command("Train", "--check", status=4)
        self.write("other.txt", "yes\nno\n")
        again = ("Again=[ action=test; reader=[ file=out/values.HLast; features=[ dim=2 ]; "
                 "labels=[ start=2; dim=1; labelDim=2; labelMappingFile=other.txt ] ] ]")
        words = ("Words=[ action=writeWordAndClass; inputFile=text.txt; outputVocabFile=vocab.txt; vocabSize=4 ]",
                 "Lines=[ action=write; outputNodeNames=HLast; reader=[ $streams$ ]; writer=[ writerType=LMSequenceWriter; "
                 "HLast=[ file=said.txt; token=vocab.txt ] ] ]")
        run = self.run_command("Map:Train:Test:Write:Again:Words:Lines", again, *words, "--check")
        notes = re.findall(r"'(\S+)' does not exist before command '(\w+)' has run; its data is not checked",
                           run.stderr)
        self.assertEqual(notes, [("map.txt", "Map")] * 2 + [("out/values.HLast", "Write"), ("map.txt", "Map"),
                                                          ("vocab.txt", "Words")])
        binary = ("Bin=[ action=write; outputNodeNames=HLast; reader=[ features=[ dim=2; file=train.txt ] ]; "
                  "writer=[ writerType=BinaryWriter; wfile=h.bin; HLast=[ sectionType=data ] ] ]",
                  "Read=[ action=test; reader=[ readerType=BinaryReader; file=h.bin ] ]")
        self.assertIn("'h.bin' does not exist before command 'Bin' has run",
                      self.run_command("Map:Train:Bin:Read", *binary, "--check").stderr)
        # A file that no command writes is an error.
        self.assertIn("data file 'out/values.HLats' does not exist",
                      self.run_command("Map:Train:Write:Again", again.replace("HLast", "HLats"), "--check",
                                       status=4).stderr)

    def test_check_of_features_that_a_command_before_writes(self):
        """Only script files name them, which --check does not read."""
        (self.folder / "in.htk").write_bytes(struct.pack(">iihH24f", 12, 100000, 8, 9, *range(24)))
        for name, text in ("in.scp", "in.htk\n"), ("lists/out.scp", "features/a.htk\n"), ("states.txt", "s0\ns1\n"):
            self.write(name, text)
        self.write("a.mlf", '#!MLF!#\n"*/a.lab"\n' + "".join("%d %d s%d\n" % (i, i + 1, i % 2) for i in range(12)) + ".\n")
        self.write("htk.cntk", """command=Write:Train
prefix="verbosity=0"
Write=[ action=write; outputNodeNames=z
  NDLNetworkBuilder=[ run=N; N=[ features=Input(2, tag=feature); z=Scale(2, features, tag=output) ] ]
  reader=[ readerType=HTKMLFReader; features=[ dim=2; scpFile=in.scp ] ]
  writer=[ writerType=HTKMLFWriter; z=[ dim=2; scpFile=lists/out.scp ] ]
]
Train=[ action=train; modelPath=m.dnn
  SimpleNetworkBuilder=[ layerSizes=2:2; trainingCriterion=CrossEntropyWithSoftmax; evalCriterion=ErrorPrediction
    applyMeanVarNorm=false; needPrior=false ]
  SGD=[ maxEpochs=1; minibatchSize=4; learningRatesPerSample=0.1 ]
  reader=[ readerType=HTKMLFReader; $prefix$; features=[ dim=2; scpFile=lists/train.scp ]
    labels=[ mlfFile=a.mlf; labelDim=2; labelMappingFile=states.txt ] ]
]
""")
        for entry, prefix in (("a=features/a.htk[0,11]", "verbosity=0"), ("a=.../../features/a.htk[0,11]", "verbosity=0"),
                              ("a=a.htk[0,11]", "prefixPathInSCP=features")):
            self.write("lists/train.scp", entry + "\n")
            arguments = ["configFile=htk.cntk", "prefix=" + prefix]
            log = self.cntk(*arguments, "--check").stderr
            self.assertIn("'lists/train.scp' may list files of command 'Write', which has not run; its data is not checked",
                          log)
            self.cntk(*arguments)
            shutil.rmtree(self.folder / "features")

    def test_check_misses_the_script_file_of_a_writer(self):
        writer = "Write=[writer=[writerType=HTKMLFWriter; outputNodeNames=HLast; HLast=[dim=2; scpFile=out.scp]]]"
        run = self.run_command("Write", writer, "--check", status=4)
        self.assertIn("output script file 'out.scp' does not exist", run.stderr)
        self.assertIn("command line", run.stderr.splitlines()[-1])
        self.write("out.scp", "a.htk\n\nb.htk\n")  # not only its existence
        run = self.run_command("Write", writer, "--check", status=4)
        self.assertIn("out.scp:2: the line is blank, expected the name of an output file", run.stderr)
        self.write("out.scp", "a.htk\n")
        self.run_command("Train:Write", writer, "--check")  # the model is checked when Write runs
        self.run_command("Train")
        self.run_command("Write", "Write=[outputNodeNames=HLast]", writer, "--check")
        for check in [], ["--check"]:  # also before anything is computed
            run = self.run_command("Write", "Write=[outputNodeNames=HLast]", writer, "Write=[writer=[HLast=[dim=3]]]",
                                   *check, status=3)
            self.assertRegex(run.stderr, r"command line:\S+ error: node 'HLast' has 2 elements, but its block in the "
                                         "writer says dim=3\n$")
            self.assertNotIn("in minibatch", run.stderr)
        run = self.run_command("Write", "Write=[outputNodeNames=PosteriorProb]", writer, "--check", status=3)
        self.assertIn("the HTKMLFWriter needs node 'HLast', which the command does not write; it writes PosteriorProb",
                      run.stderr)
        self.assertFalse((self.folder / "a.htk").exists())

    def test_check_misses_what_writers_read(self):
        self.run_command("Train")
        for kind, block in (
                ("BinaryWriter", "wfile=new/out.bin; HLast=[sectionType=labels; "
                 "m=[sectionType=labelMapping; labelMappingFile=none.txt]]"),
                ("LMSequenceWriter", "outputNodeNames=HLast; HLast=[file=new/out.txt; token=none.txt]"),
                ("LUSequenceWriter", "outputNodeNames=HLast; HLast=[file=new/out.txt; token=none.txt]")):
            writer = "Write=[writer=[writerType=%s; %s]]" % (kind, block)
            (self.folder / "none.txt").unlink(missing_ok=True)
            run = self.run_command("Write", writer, "--check", status=4)
            self.assertRegex(run.stderr, "error: .*'none.txt'.*(does not exist|No such file)", kind)
            self.write("none.txt", "0\t1\tyes\t0\n1\t1\tno\t0\n" if kind[:2] == "LM" else "yes\nno\n")
            self.run_command("Write", writer, "--check")
            self.write("none.txt", self.read("none.txt") + "2\t1\tperhaps\t0\n" if kind[:2] == "LM" else "yes\nno\nperhaps\n")
            run = self.run_command("Write", writer, "--check", status=3)
            self.assertRegex(run.stderr, "'none.txt'.* has 3 (words|labels).*; expected (at most )?one a row", kind)
            self.assertFalse((self.folder / "new").exists(), kind)  # nothing was started

    def test_check_misses_the_labels_of_an_output_format(self):
        self.run_command("Train")
        labels = "Write=[format=[type=category; labelMappingFile=names.txt]]"
        for check in [], ["--check"]:
            self.assertIn("label map 'names.txt' does not exist", self.run_command("Write", labels, *check, status=4).stderr)
        self.write("names.txt", "")
        for check in [], ["--check"]:
            self.assertIn("label map 'names.txt' has no labels", self.run_command("Write", labels, *check, status=4).stderr)
        # A label map that an earlier command writes.
        (self.folder / "names.txt").unlink()
        run = self.run_command("Map:Write", labels, "Train=[reader=[labels=[labelMappingFile=names.txt]]]", "--check")
        self.assertIn("'names.txt' does not exist before command 'Map' has run", run.stderr)

    def test_check_follows_statistics_of_data_that_a_command_makes(self):
        # The training's reader needs the label map first; the write command needs none.
        run = self.run_command("Map:Train:Write", "--check", "Train=[SimpleNetworkBuilder=[applyMeanVarNorm=true]; "
                               "reader=[labels=[labelMappingFile=names.txt]]]")
        self.assertIn("'names.txt' does not exist before command 'Map' has run", run.stderr)
        self.assertIn("__CHECKED__: 3 commands", run.stderr)

    def test_write_of_a_model_that_computes_nothing(self):
        self.write("n.ndl", "run=n\nn=[ features=Input(2, tag=feature) ]\n")
        self.write("bare.cntk", "command=Bare\nBare=[ action=write; outputPath=out\n"
                                "reader=[ file=train.txt; features=[ dim=2 ] ]\n"
                                "NDLNetworkBuilder=[ networkDescription=n.ndl ] ]\n")
        run = self.cntk("configFile=bare.cntk", status=5)
        self.assertIn("the model has no node that is computed; there is nothing to write", run.stderr)

    def test_create_label_map(self):
        (self.folder / "map.txt").unlink()
        self.run_command("Map:Train")
        self.assertEqual(self.read("map.txt").split(), ["yes", "no"])
        (self.folder / "map.txt").unlink()
        run = self.run_command("Map")
        self.assertNotIn("labelDim=2 of", run.stderr)
        self.assertRegex(run.stderr, r"\nread 5 labels and produced \S*map.txt\n")
        (self.folder / "map.txt").unlink()
        run = self.run_command("Map", "Train=[reader=[labels=[labelDim=1]]]")
        self.assertIn("labelDim=1 of 'labels', but the data have 2 labels; expected labelDim=2", run.stderr)
        run = self.run_command("Map")
        self.assertIn("CreateLabelMap: the label mapping file 'map.txt' already exists, no work to do.", run.stderr)
        (self.folder / "map.txt").unlink()
        within = "Map=[section=Own; Own=[reader=[$streams$; randomise=none]]]"
        run = self.run_command("Map", within)
        self.assertEqual(self.read("map.txt").split(), ["yes", "no"])
        self.assertEqual(re.findall("WARNING: .*", run.stderr), [
            "WARNING: command line:1:75: unknown key 'randomise' in block 'Map:Own:reader'; did you mean 'randomize'?"])

    def test_keys_that_old_configs_have_in_every_command(self):
        self.write("words.txt", "a b a\n")
        self.write("edit.mel", "m=LoadModel(model/m.dnn)\nSaveModel(m, model/e.dnn)\n")
        self.run_command("Train")
        self.run_command("Map:Train:Test:Cv:Write:Dump:Edit:Svd:Words:Export:Adapt", "strictConfig=true",
                         "Edit=[action=edit; editPath=edit.mel]",
                         "Svd=[action=SVD; outputModelPath=model/s.dnn; nodeNameRegex=W.*]",
                         "Words=[action=writeWordAndClass; inputFile=words.txt; outputVocabFile=v.txt; vocabSize=9]",
                         "Export=[action=exportdbn; dbnModelPath=m.dbn]",
                         "Adapt=[action=adapt; modelPath=a.dnn; origModelFileName=model/m.dnn; reader=[ $streams$ ]; "
                         "SGD=[ maxEpochs=1; minibatchSize=4; learningRatesPerSample=0.1 ]]",
                         *["%s=[traceLevel=1; deviceId=-1; modelPath=model/m.dnn]" % command for command in
                           ("Map", "Train", "Test", "Cv", "Write", "Dump", "Edit", "Svd", "Words", "Export")],
                         "deviceId=-1")

    def test_dbn_files_there_and_back_in_one_run(self):
        self.run_command("Train")
        export = "Export=[action=exportdbn; dbnModelPath=new/m.dbn]"
        convert = ("Convert=[action=convertdbn; dbnModelPath=new\\m.dbn; modelPath=back.dnn; layerSizes=2:3:2; "
                   "needPrior=true]")
        self.assertIn("Command 'Convert': model 'new\\m.dbn' comes from command 'Export' and is checked when 'Convert' runs",
                      self.run_command("Export:Convert", export, convert, "--check").stderr)
        run = self.run_command("Export:Convert:Test", export, convert, "Test=[modelPath=back.dnn]")
        self.assertNotIn("is not read", run.stderr)  # in blocks of commands that do not run
        (self.folder / "new/m.dbn").unlink()
        run = self.run_command("Convert", export, convert, status=None)  # the other command does not run
        self.assertIn("m.dbn", run.stderr.splitlines()[-1])
        self.assertNotEqual(run.returncode, 0)
        run = self.run_command("Export:Convert", export, convert, "Convert=[dbnModelPath=new/n.dbn]", status=3)
        self.assertIn("dbnModelPath: file 'new/n.dbn' does not exist", run.stderr)

    def test_log_file_and_done_file(self):
        self.run_command("Train:Test", "stderr=logs/run", "DoneFile=done.txt")
        log = self.read("logs/run_Train_Test.log")
        self.assertTrue(log.endswith("__COMPLETED__\n"))
        self.assertRegex(self.read("done.txt"), r"^successfully finished at \d{4}/\d\d/\d\d \d\d:\d\d:\d\d on \S+\n$")

    def test_a_done_file_says_that_the_last_run_succeeded(self):
        self.run_command("Train", "doneFile=done.txt")
        self.run_command("Test", "doneFile=done.txt", "--check")
        self.assertTrue((self.folder / "done.txt").exists())
        self.run_command("Test", "doneFile=done.txt", "Test=[modelPath=gone.dnn]", status=5)
        self.assertFalse((self.folder / "done.txt").exists())
        self.write("done.txt", "something else")
        self.run_command("Test", "doneFile=done.txt", "Test=[modelPath=gone.dnn]", status=5)
        self.assertEqual(self.read("done.txt"), "something else")

    def test_log_file_of_more_commands_than_a_name_can_hold(self):
        self.run_command("Train" + ":Test" * 60, "stderr=logs/run")
        (name,) = [path.name for path in (self.folder / "logs").iterdir()]
        self.assertRegex(name, r"^run_Train(_Test)+_and\d+more\.log$")
        self.assertEqual(name.count("_Test") + int(re.search(r"_and(\d+)more", name).group(1)), 60)
        self.assertLessEqual(len(name), 255)
        self.assertGreater(len(name), 245)
        self.assertTrue(self.read("logs/" + name).endswith("__COMPLETED__\n"))

    def test_a_failure_is_told_on_the_terminal_and_in_the_log(self):
        run = self.run_command("Test", "stderr=logs/run", status=5)
        self.assertIn("model/m.dnn", run.stderr.rstrip().splitlines()[-1])
        self.assertIn("EXCEPTION occurred: ", self.read("logs/run_Test.log"))
        self.assertNotIn("__COMPLETED__", self.read("logs/run_Test.log"))
        self.assertNotIn("EXCEPTION occurred: ", run.stderr)

    def test_scripts_find_a_failure_in_what_standard_error_was_led_to(self):
        lines = self.run_command("Test", status=5).stderr.rstrip().splitlines()
        found = [line for line in lines if line.startswith("EXCEPTION occurred: ")]
        self.assertEqual(len(found), 1, lines)
        self.assertIn("model/m.dnn", found[0])
        self.assertIn("model/m.dnn", lines[-1])  # the message is still the last line
        self.assertNotIn("EXCEPTION", self.run_command("Test", "--check", status=5).stderr)  # no run


if __name__ == "__main__":
    main()
