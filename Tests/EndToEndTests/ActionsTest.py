#!/usr/bin/env python3
"""Each action through the real program: what it writes, what it says, what it leaves alone."""
import re

from EndToEnd import EndToEndTest, main

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
DATA = "0.5 1 yes\n-1 0.25 no\n0 0 yes\n1 1 no\n0.5 -1 yes\n"


class ActionsTest(EndToEndTest):
    def setUp(self):
        super().setUp()
        self.write("exp.cntk", CONFIG)
        self.write("train.txt", DATA)
        self.write("map.txt", "yes\nno\n")

    def run_command(self, command, *arguments, **keywords):
        return self.cntk("configFile=exp.cntk", "command=" + command, *arguments, **keywords)

    def test_train_writes_models_and_checkpoints(self):
        run = self.run_command("Train")
        names = sorted(path.name for path in (self.folder / "model").iterdir())
        self.assertEqual(names, ["m.dnn", "m.dnn.0", "m.dnn.1", "m.dnn.1.ckp", "m.dnn.2", "m.dnn.2.ckp", "m.dnn.ckp"])
        for line in ("CNTKCommandTrainBegin: Train", 'Action "train" complete.', "__COMPLETED__",
                     "CNTKCommandTrainInfo: CNTKNoMoreCommands_Total : 3"):
            self.assertIn(line + "\n", run.stderr)
        self.assertEqual(len(re.findall(r"^Finished Epoch\[ \d of 3\]: \[Training Set\] TrainLossPerSample = ",
                                        run.stderr, re.M)), 3)

    def test_progress_tracing(self):
        run = self.run_command("Train", "progressTracing=true")
        self.assertRegex(run.stdout, r"^PROGRESS: 33\.33%\nEVALERR: \d+\.\d{7}%\nPROGRESS: 66\.67%\n")
        self.assertIn("PROGRESS: 100.00%\n", run.stdout)

    def test_eval_and_cv(self):
        self.run_command("Train")
        run = self.run_command("Test:Cv")
        finals = re.findall(r"Final Results: Minibatch\[1-1\]: SamplesSeen = 5    EvalErrorPrediction: "
                            r"ErrorPrediction/Sample = (\S+)    CrossEntropyWithSoftmax: "
                            r"CrossEntropyWithSoftmax/Sample = (\S+)    Perplexity = \S+    \n", run.stderr)
        self.assertEqual(len(finals), 3)
        self.assertIn("Best models:\n------------\nBased on Err[0]: Best model = model/m.dnn.", run.stderr)

    def test_cv_step_of_zero(self):
        self.run_command("Train")
        run = self.run_command("Cv", "Cv=[crossValidationInterval=1:0:2]", status=3)
        self.assertIn("the step of crossValidationInterval is 0; it must be at least 1", run.stderr)

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
        self.run_command("Write", "Write=[format=[precisionFormat=.2;elementSeparator=\"|\"]]")
        self.assertRegex(self.read("out/values.HLast").splitlines()[0], r"^-?\d\.\d\d\|-?\d\.\d\d$")

    def test_failed_write_leaves_the_old_file(self):
        self.run_command("Train:Write")
        before = self.read("out/values.HLast")
        self.write("train.txt", DATA + "1 oops no\n")
        self.run_command("Write", status=4)
        self.assertEqual(self.read("out/values.HLast"), before)
        self.assertEqual([path.name for path in (self.folder / "out").iterdir() if path.suffix == ".tmp"], [])

    def test_dumpnode_and_plot(self):
        self.run_command("Train:Dump")
        dump = self.read("model/m.dnn.__AllNodes__.txt")
        self.assertIn("\n W0=LearnableParameter [3,2]   learningRateMultiplier=1.000000  NeedsGradient=true \n",
                      "\n" + dump.replace("\n\n", "\n").replace("\nW0", "\n W0"))
        self.assertTrue(self.read("graph.dot").startswith("strict digraph {\n"))

    def test_plot_renders_without_a_shell(self):
        self.run_command("Train")
        self.run_command("Dump", "Dump=[action=plot;outputFile=copy.dot;renderCmd=\"cp <IN> <OUT>\"]")
        self.assertEqual(self.read("copy.dot"), self.read("graph.dot"))
        run = self.run_command("Dump", "Dump=[action=plot;outputFile=copy.dot;renderCmd=\"no-such-program <IN>\"]",
                               status=6)
        self.assertIn("renderCmd: cannot start 'no-such-program'", run.stderr)
        self.run_command("Dump", "Dump=[action=plot;outputFile=a b;renderCmd=\"touch <OUT> ; touch evil\"]")
        self.assertFalse((self.folder / "evil").exists() and (self.folder / ";").exists() is False)

    def test_create_label_map(self):
        (self.folder / "map.txt").unlink()
        self.run_command("Map:Train")
        self.assertEqual(self.read("map.txt").split(), ["yes", "no"])
        run = self.run_command("Map")
        self.assertIn("CreateLabelMap: the label mapping file 'map.txt' already exists, no work to do.", run.stderr)

    def test_log_file_and_done_file(self):
        self.run_command("Train:Test", "stderr=logs/run", "DoneFile=done.txt")
        log = self.read("logs/run_Train_Test.log")
        self.assertTrue(log.endswith("__COMPLETED__\n"))
        self.assertRegex(self.read("done.txt"), r"^successfully finished at \d{4}/\d\d/\d\d \d\d:\d\d:\d\d on \S+\n$")

    def test_a_failure_is_told_on_the_terminal_and_in_the_log(self):
        run = self.run_command("Test", "stderr=logs/run", status=5)
        self.assertIn("model/m.dnn", run.stderr.rstrip().splitlines()[-1])
        self.assertIn("EXCEPTION occurred: ", self.read("logs/run_Test.log"))
        self.assertNotIn("__COMPLETED__", self.read("logs/run_Test.log"))


if __name__ == "__main__":
    main()
