#!/usr/bin/env python3
"""Runs one training in the spellings of old configs: each ends with the same model, without a warning."""
from EndToEnd import main
from Messages import CONFIG, DATA, MessagesTestCase

SIZE = "    minibatchSize=4\n"
SIZES = "layerSizes=2:3:2"
FEATURES = "features=[ dim=2; start=0 ]"
FILE = "configFile=exp.cntk"
LABELS = "labels=[ dim=1; start=2; labelDim=2; labelMappingFile=map.txt ]"


class OldConfigsTest(MessagesTestCase):
    def model(self, config, *arguments, model="m.dnn", text=None):
        """Returns the bytes of the model that a config instead of exp.cntk trains."""
        (self.folder / "exp.cntk").write_bytes(config if isinstance(config, bytes) else config.encode())
        for path in self.folder.glob("**/*.dnn*"):
            path.unlink()
        run = self.cntk(*(arguments or [FILE]))
        self.assertNotIn("WARNING", run.stderr)
        if text is not None:
            self.assertIn(text, run.stderr)
        return (self.folder / model).read_bytes()

    def check(self, cases, **options):
        expected = self.model(CONFIG)
        for name, (config, *arguments) in cases.items():
            with self.subTest(name):
                self.assertNotEqual((config, arguments), (CONFIG, []))
                self.assertTrue(self.model(config, *arguments, **options) == expected)

    def changed(self, *changes):
        config = CONFIG
        for old, new in changes:
            self.assertIn(old, config)
            config = config.replace(old, new, 1)
        return config

    def test_booleans(self):
        self.check({word: (self.changed((SIZE, SIZE + "    useNAG=%s\n" % word)),)
                    for word in 'f false F False FALSE fAlSe 0 ""'.split()})
        self.check({word: (self.changed((SIZE, SIZE + "    gradientClippingWithTruncation=%s\n" % word)),)
                    for word in "t true T True TRUE tRuE 1".split()})

    def test_lines(self):
        self.check({
            "CR LF": (CONFIG.replace("\n", "\r\n"),),
            "byte-order mark": ("\ufeff" + CONFIG,),
            "both": ("\ufeff" + CONFIG.replace("\n", "\r\n"),),
            "Latin-1 in a comment": (self.changed((SIZE, SIZE + "  # M\xfcller\n")).encode("latin-1"),),
            "no newline at the end": (CONFIG.rstrip("\n"),),
            "blanks at the ends": (CONFIG.replace("\n", " \t\n"),),
            "tabs": (CONFIG.replace("    ", "\t"),),
            "comments": (self.changed((SIZE, "#minibatchSize=99\n  # maxEpochs=7 ]]\n    minibatchSize=4   # no ]\n"
                                             "\t# a \"quote\n")),)})

    def test_names_and_blocks(self):
        self.check({
            "case": (self.changed(("SGD=[", "sgd=["), ("maxEpochs", "MAXEPOCHS"), ("reader=[", "READER=[")),),
            "no equals sign": (self.changed(("SGD=[", "SGD ["), ("features=[", "features[")),),
            "semicolons": (self.changed(("maxEpochs=1\n    minibatchSize=4\n", "maxEpochs=1;minibatchSize=4;;\n")),),
            "commas": (self.changed((FEATURES, "features=[ dim=2, start=0 ]")),),
            "a separator of its own": (self.changed((FEATURES, "features=[| dim=2 | start=0 ]")),),
            "blanks around the equals sign": (self.changed(("minibatchSize=4", "minibatchSize = 4")),),
            "the last one counts": (self.changed((SIZE, "    minibatchSize=2\n" + SIZE)),),
            "a block in two parts": (self.changed((SIZE, "")) + "Train=[SGD=[minibatchSize=4]]\n",),
            "a block without a name": (self.changed((SIZE, "    [ minibatchSize=4 ]\n")),),
            "a default for all commands": (self.changed((SIZE, ""), ("modelPath", "minibatchSize=4\nmodelPath")),),
            "default": (self.changed((SIZE, SIZE + "    momentumPerMB=default\n")),),
            "infinity": (self.changed((SIZE, SIZE + "    clippingThresholdPerSample=1#INF # none\n")),),
            "an empty block": (self.changed((SIZE, SIZE + "    AutoAdjust=[]\n")),),
            "older names": (self.changed(("learningRatesPerSample", "learningRatePerSample"),
                                         ("evalCriterion", "nodeType=Sigmoid; evalCriterion"),
                                         ("modelPath", "type=float\nmodelPath")),),
            "the action's case": (self.changed(("action=train", "action=Train")),)})

    def test_arrays(self):
        self.check({sizes: (self.changed((SIZES, "layerSizes=" + sizes)),) for sizes in (
            "(2:3:2)", "{2:3:2}", "(2\n3\n2)", "(2, 3, 2)", "(|2|3|2)", "(;2;3;2)", "2:3*1:2", "2::3:2",
            "( 2 : 3 : 2 )")})
        self.check({"schedule": (self.changed(("Sample=0.1", "Sample=0.1*3:0.05")),),
                    "variable": (self.changed((SIZES, "layerSizes=$all$"), ("modelPath", "all=(2:3:2)\nmodelPath")),),
                    "part": (self.changed((SIZES, "layerSizes=2:$inner$:2"), ("modelPath", "inner=3*1\nmodelPath")),)})

    def test_files_and_overrides(self):
        self.write("over.cntk", "Train=[SGD=[minibatchSize=4]]\n")
        other = self.changed(("minibatchSize=4", "minibatchSize=2"))
        self.check({
            "a+b": (other, FILE + "+over.cntk"),
            "two arguments": (other, FILE, "CONFIGFILE=over.cntk"),
            "override": (other, FILE, "Train=[SGD=[minibatchSize=4;maxEpochs=1]]"),
            "override in a reader": (self.changed(("dim=2; start=0", "dim=1; start=0")), FILE,
                                     "Train=[reader=[features=[dim=2]]]"),
            "the file comes later": (CONFIG, "Train=[SGD=[minibatchSize=2]]", FILE),
            "variable": (self.changed(("minibatchSize=4", "minibatchSize=$mb$"), ("modelPath", "mb=7\nmodelPath")),
                         FILE, "mb=4"),
            "include": (other + "include=over.cntk\n",),
            "include twice": (other + "include=exp.cntk+over.cntk\n",)})

    def test_commands(self):
        self.check({commands: (CONFIG, FILE, "command=" + commands)
                    for commands in ("Train:Test", "(Train:Test)", "(Train,Test)", "(|Train|Test)")},
                   text="Final Results")
        self.check({"actions": (self.changed(("action=train", "action=train:test")),)}, text="Final Results")

    def test_where_the_model_path_stands(self):
        config = self.changed(("modelPath=m.dnn\n", "modelPath=other.dnn\n"), (SIZE, SIZE + "    modelPath=m.dnn\n"))
        self.check({
            "in SGD": (config.replace("modelPath=other.dnn\n", "", 1),),
            "in optimizer": (config.replace("modelPath=other.dnn\n", "", 1).replace("SGD=[", "optimizer=[", 1),),
            "in SGD, nearer than at the root": (config,)})
        self.assertEqual([path.name for path in self.folder.glob("other*")], [])
        self.write("exp.cntk", config.replace("action=train\n", "action=train\n  modelPath=third.dnn\n", 1))
        run = self.cntk(FILE)
        self.assertIn("'third.dnn' is not what command 'Train' trains: modelPath of its SGD block, at exp.cntk:",
                      run.stderr)

    def test_standard_input(self):
        """Configs and scripts may come from the standard input: file name '-'."""
        expected = self.model(CONFIG)
        (self.folder / "m.dnn").unlink()
        self.cntk("configFile=-", text=CONFIG)
        self.assertTrue((self.folder / "m.dnn").read_bytes() == expected)
        self.cntk("command=Edit", "Edit=[action=edit; editPath=-]", text="LoadModel(m.dnn)\nSaveModel(copy.dnn)\n")
        self.assertTrue((self.folder / "copy.dnn").read_bytes() == expected)
        run = self.cntk("command=Edit", "Edit=[action=edit; editPath=-]", text="LoadModel(m.dnn)\nFoo(3)\n", status=3)
        self.assertIn("standard input:2:1: error: Unknown Editor function Foo", run.stderr)
        network = self.changed(("SimpleNetworkBuilder=[ layerSizes=2:3:2; evalCriterion=ErrorPrediction ]",
                                "NDLNetworkBuilder=[ networkDescription=- ]"))
        self.write("exp.cntk", network)
        run = self.cntk(FILE, "modelPath=new.dnn", text="features=Input(2, tag=feature)\n", status=3)
        self.assertIn("error: NDL file '-' can be read only once, expected a regular file", run.stderr)

    def test_paths(self):
        self.write("data/sub/train.txt", DATA)
        self.write("my data/train.txt", DATA)
        self.write("data/map.txt", "yes\nno\n")
        self.check({
            "backslashes": (self.changed(("file=train.txt", "file=data\\sub\\train.txt"),
                                         (LABELS, LABELS.replace("map.txt", "data\\map.txt"))),),
            "dot and backslash": (self.changed(("file=train.txt", "file=.\\train.txt")),),
            "a blank": (self.changed(("file=train.txt", "file=my data/train.txt")),),
            "quotes": (self.changed(("file=train.txt", "file=\"my data\\train.txt\"")),)})
        expected = self.model(CONFIG)
        for before, path, model in (("", "out\\models\\m.dnn", "out/models/m.dnn"),
                                    ("root=.\nname=m\nkind=.$ending$\nending=dnn\n", "$root$/$name$$kind$", "m.dnn"),
                                    ("", "cost$5.dnn", "cost$5.dnn")):
            with self.subTest(path):
                config = self.changed(("modelPath=m.dnn", before + "modelPath=" + path))
                self.assertTrue(self.model(config, model=model) == expected)


if __name__ == "__main__":
    main()
