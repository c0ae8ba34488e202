#!/usr/bin/env python3
"""The first hour of a newcomer: a config given by its name, all mistakes in one check, words of other programs,
models that stay, a training that is made longer."""
import random
import re

from EndToEnd import ROOT, EndToEndTest, main

CONFIG = """
command=Train:Test
modelPath=models/net.dnn
deviceId=cpu
SGD=[
  maxEpochs=3
  minibatchSize=10
  learningRatesPerSample=0.05
]
Train=[
  action=train
  SimpleNetworkBuilder=[
    layerSizes=2:8:2
    trainingCriterion=CrossEntropyWithSoftmax
    evalCriterion=ErrorPrediction
  ]
  reader=[ readerType=UCIFastReader; file=data.txt; features=[ dim=2 ]
           labels=[ start=2; labelDim=2; labelMappingFile=labels.txt ] ]
]
Test=[
  action=test
  reader=[ readerType=UCIFastReader; file=data.txt; features=[ dim=2 ]
           labels=[ start=2; labelDim=2; labelMappingFile=labels.txt ] ]
]
"""


class FirstHourTest(EndToEndTest):
    def setUp(self):
        super().setUp()
        draw = random.Random(1)
        points = [(draw.uniform(-1, 1), draw.uniform(-1, 1)) for _ in range(100)]
        self.write("data.txt", "".join("%.3f %.3f %s\n" % (x, y, "ab"[x + y > 0]) for x, y in points))
        self.write("labels.txt", "a\nb\n")
        self.write("first.cntk", CONFIG)

    def models(self):
        return sorted(path.name for path in (self.folder / "models").glob("net.dnn*") if not path.name.endswith(".ckp"))

    def test_a_config_by_its_name(self):
        self.assertIn("__COMPLETED__", self.cntk("first.cntk", "traceLevel=1").stderr)
        self.assertIn("No further training is necessary", self.cntk("configFile=first.cntk").stderr)
        self.write("more.cntk", "modelPath=models/more.dnn\n")
        self.cntk("first.cntk+more.cntk")
        self.assertTrue((self.folder / "models/more.dnn").exists())
        self.assertIn("no file of that name exists", self.cntk("frist.cntk", status=2).stderr)
        alone = self.cntk(status=2)
        self.assertEqual(len(alone.stderr.splitlines()), 5)
        self.assertTrue(all(len(line) <= 80 for line in alone.stderr.splitlines()), alone.stderr)

    def test_words_of_other_programs(self):
        for word, name in (("epochs", "maxEpochs"), ("batch", "minibatchSize"), ("lr", "learningRatesPerMB"),
                           ("optimizer", "gradUpdateType"), ("shuffle", "randomize"), ("accuracy", "ErrorPrediction"),
                           ("confusion", "predictions"), ("recall", "confusion"), ("normalize", "applyMeanVarNorm"), ("resume", "makeMode"), ("configFile", "command"),
                           ("predict", "write"), ("dropout", "dropoutRate"), ("embedding", "lookupTableOrder")):
            with self.subTest(word=word):
                text = self.cntk("--help", word).stdout
                self.assertRegex(text, r"(?m)^  %s\b" % name)
                self.assertTrue(all(len(line) <= 80 for line in text.splitlines()), text)
        self.assertNotIn("without effect", self.cntk("--help", "shuffle").stdout)
        for word, name in (("epochs", "maxEpochs"), ("batchSize", "minibatchSize"), ("batch_size", "minibatchSize"),
                           ("lr", "learningRatesPerMB"), ("weight_decay", "L2RegWeight")):
            check = self.cntk("first.cntk", "--check", "SGD=[%s=3]" % word)
            self.assertIn("unknown key '%s' in block 'SGD'; did you mean '%s'?" % (word, name), check.stderr)

    def test_all_mistakes_at_once(self):
        self.write("wrong.cntk", CONFIG.replace("maxEpochs=3", "maxEpochs=three").replace("minibatchSize=10", "minibatchSize=0")
                   .replace("layerSizes=2:8:2", "layerSizes=2:8:x").replace("file=data.txt; features=[ dim=2 ]\n", "file=gone.txt; features=[ dim=2 ]\n", 1)
                   .replace("action=test", "action=tets") + "dropuotRate=0.5\n")
        check = self.cntk("wrong.cntk", "--check", status=3).stderr
        for mistake in ("note: wrong.cntk:6:13: 'SGD:maxEpochs' is 'three'", "wrong.cntk:7:17: error: 'SGD:minibatchSize' is '0'",
                        "'Train:SimpleNetworkBuilder:layerSizes' is", "data file 'gone.txt' does not exist",
                        "unknown action 'tets'"):
            self.assertIn(mistake, check)
        self.assertRegex(check.splitlines()[-1], r"error: the check found 5 mistakes, which are described above; the first one is: "
                         r"wrong.cntk:13:20: 'Train:SimpleNetworkBuilder:layerSizes' is 'x'")
        check = self.cntk("first.cntk", "--check", "Train=[reader=[readerType=UCIFastReeder]]", status=3).stderr
        self.assertRegex(check, r"command line:1:\d+: error: there is no reader or writer 'UCIFastReeder'.* did you mean 'UCIFastReader'")
        # A run stops at the first mistake, and shows the other mistakes of that block.
        run = self.cntk("first.cntk", "SGD=[maxEpochs=three;minibatchSize=0]", status=3).stderr
        self.assertIn("'SGD:maxEpochs' is 'three'", run)
        self.assertIn("'SGD:minibatchSize' is '0'", run.splitlines()[-1])

    def test_the_check_says_what_the_run_does(self):
        def plan(*more):
            log = self.cntk("first.cntk", "--check", *more).stderr
            return [line for line in log.splitlines() if line.startswith("In a run")][0]
        self.assertEqual(plan(), "In a run, command 'Train': trains 3 epochs")
        self.cntk("first.cntk", "command=Train")
        self.assertEqual(plan(), "In a run, command 'Train': nothing to train: finished; makeMode=false trains anew")
        self.assertEqual(plan("makeMode=false"), "In a run, command 'Train': trains 3 epochs from the start (makeMode=false)")
        self.assertEqual(plan("SGD=[maxEpochs=5]"),
                         "In a run, command 'Train': continues the finished model of 3 epochs to 5 epochs")
        (self.folder / "models/net.dnn").unlink()
        self.assertEqual(plan(), "In a run, command 'Train': resumes after epoch 2 of 3")

    def test_more_epochs_after_the_end(self):
        self.cntk("first.cntk", "command=Train")
        run = self.cntk("first.cntk", "SGD=[maxEpochs=5]")
        self.assertIn("'models/net.dnn' was trained for 3 epochs, and maxEpochs is 5 now: the training continues from it, "
                      "as 'models/net.dnn.3'", run.stderr)
        self.assertNotIn("Finished Epoch[ 1 of 5]", run.stderr)
        longer = (self.folder / "models/net.dnn").read_bytes()
        self.cntk("first.cntk", "SGD=[maxEpochs=5]", "modelPath=models/five.dnn")
        self.assertEqual(longer, (self.folder / "models/five.dnn").read_bytes(), "as trained without a break")
        self.assertIn("No further training is necessary", self.cntk("first.cntk", "SGD=[maxEpochs=5]").stderr)

    def test_models_that_stay(self):
        def kept(value, *more):
            self.cntk("first.cntk", "command=Train", "makeMode=false", "SGD=[maxEpochs=8;keepModels=%s]" % value, *more)
            models = self.models()
            for path in (self.folder / "models").iterdir():
                path.unlink()
            return models
        start, final = "net.dnn.0", "net.dnn"
        every = ["net.dnn.%d" % i for i in range(1, 8)]
        self.assertEqual(kept("all"), sorted([start, final] + every))
        self.assertEqual(kept("last"), [final, start])
        self.assertEqual(kept("last:3"), sorted([start, final, "net.dnn.6", "net.dnn.7"]))
        self.assertEqual(kept("every:3"), sorted([start, final, "net.dnn.3", "net.dnn.6"]))
        self.assertEqual(kept("best"), sorted([start, final, "net.dnn.best"]))
        self.assertEqual(kept("last:2:best"), sorted([start, final, "net.dnn.7", "net.dnn.best"]))
        wrong = self.cntk("first.cntk", "SGD=[keepModels=bets]", status=3).stderr
        self.assertIn("did you mean 'best'?", wrong)
        # An interrupted training resumes with the models that stay.
        self.cntk("first.cntk", "command=Train", "SGD=[maxEpochs=8;keepModels=last]")
        whole = (self.folder / "models/net.dnn").read_bytes()
        for path in (self.folder / "models").iterdir():
            path.unlink()
        self.cntk("first.cntk", "command=Train", "SGD=[maxEpochs=4;keepModels=last]")
        self.cntk("first.cntk", "command=Train", "SGD=[maxEpochs=8;keepModels=last]")
        self.assertEqual(whole, (self.folder / "models/net.dnn").read_bytes())

    def test_the_page_for_people_who_come_from_pytorch(self):
        """The help knows each name of the table, and both networks of the page train."""
        page = (ROOT / "Documentation/FromPyTorch.md").read_text(encoding="utf-8")
        rows = re.findall(r"(?m)^\| `?[^|]+\| ([^|]+) \|[^|]*\|$", page)[1:]
        names = {name for row in rows for code in re.findall(r"`([^`]+)`", row)
                 for name in re.findall(r"^([A-Za-z]\w+)(?=$|[=(])", code)}
        self.assertGreater(len(names), 25)
        for name in sorted(names):
            with self.subTest(name=name):
                self.cntk("--help", name)
        blocks = re.findall(r"(?m)^    ((?:Simple|NDL)NetworkBuilder=\[(?:.*\n(?:    .*\n)*?)(?:    \]\n|.*ErrorPrediction \]\n))", page)
        self.assertEqual(len(blocks), 2, blocks)
        for i, block in enumerate(blocks):
            block = block.replace("4:64:3", "2:64:2").replace("Input(4", "Input(2").replace("Input(3", "Input(2").replace(
                "Parameter(64, 4", "Parameter(64, 2").replace("Parameter(3", "Parameter(2")
            begin, end = CONFIG.index("  SimpleNetworkBuilder"), CONFIG.index("  reader=[")
            self.write("torch%d.cntk" % i, CONFIG[:begin] + block + CONFIG[end:])
            self.assertIn("Final Results", self.cntk("torch%d.cntk" % i, "modelPath=torch%d/net.dnn" % i).stderr)

    def test_hidden_block(self):
        run = self.cntk("first.cntk", "Train=[SGD=[maxEpochs=5]]", status=3).stderr
        self.assertIn("no learning rate is given", run.splitlines()[-1])
        self.assertIn("this block 'first.cntk:Train:SGD' at command line:1:19 hides the block 'SGD' at first.cntk:5:1",
                      run.splitlines()[-1])

    def test_no_model_path(self):
        self.write("first.cntk", CONFIG.replace("modelPath=models/net.dnn\n", ""))
        self.assertIn("an example: modelPath=models/net.dnn", self.cntk("first.cntk", status=3).stderr.splitlines()[-1])


if __name__ == "__main__":
    main()
