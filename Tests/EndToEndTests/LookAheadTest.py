#!/usr/bin/env python3
"""Errors that would end a later command are reported before the first command runs; files that an earlier command writes
may be missing."""
import struct

from EndToEnd import CNTK, main
from Messages import CONFIG, MessagesTestCase

NETWORK = """features=Input(2, tag=feature)
labels=Input(2, tag=label)
W=Parameter(2, 2)
z=Times(W, features, tag=output)
ce=CrossEntropyWithSoftmax(labels, z, tag=criterion)
"""
SECOND = "Second=[ action=train; modelPath=second.dnn; NDLNetworkBuilder=[ networkDescription=net.ndl ]; " \
         "reader=[ readerType=UCIFastReader; file=train.txt; features=[ dim=2; start=0 ]; " \
         "labels=[ dim=1; start=2; labelDim=2; labelMappingFile=map.txt ] ]; " \
         "SGD=[ maxEpochs=1; minibatchSize=4; learningRatesPerSample=0.1 ] ]"


class LookAheadTest(MessagesTestCase):
    def assert_nothing_ran(self):
        self.assertEqual(sorted(path.name for path in self.folder.glob("*.dnn*")), [])

    def run_all(self, commands, *arguments):
        return self.cntk("configFile=exp.cntk", "command=" + commands, *arguments)

    def test_data_of_a_later_command(self):
        self.edit("Test=[\n  action=test\n  reader=[\n    readerType=UCIFastReader\n    file=train.txt",
                  "Test=[\n  action=test\n  reader=[\n    readerType=UCIFastReader\n    file=trian.txt")
        self.assertEqual(self.error("command=Train:Test", status=4),
                         "exp.cntk:23:10: error: data file 'trian.txt' does not exist, and no earlier command writes it; "
                         "did you mean 'train.txt' in folder '.'?")
        self.assert_nothing_ran()

    def test_options_of_a_later_reader(self):
        for old, new, message in (
                ("file=train.txt\n    features=[ dim=2; start=0 ]\n    labels", "features=[ dim=2; start=0 ]\n    labels",
                 "exp.cntk:23:5: error: required parameter missing: exp.cntk:Test:reader:features:file"),
                ("train.txt\n    features=[ dim=2; start=0 ]\n    labels", "train.txt\n    features=[ dim=2 start=0 ]\n    labels",
                 "exp.cntk:24:20: error: 'Test:reader:features:dim' is '2 start=0', expected a whole number that is not "
                 "negative; parameters that share a line are separated by ';', here before 'start'"),
                ("train.txt\n    features=[ dim=2; start=0 ]\n    labels=[ dim=1; start=2; labelDim=2; labelMappingFile",
                 "train.txt\n    features=[ dim=2; start=0 ]\n    labels=[ dim=1; start=2; labelDim=2; labelMappingFil",
                 "exp.cntk:25:5: error: 'labels': a category label needs labelMappingFile, ")):
            begin = CONFIG.index("Test=[")
            self.assertIn(old, CONFIG[begin:])
            self.write("exp.cntk", CONFIG[:begin] + CONFIG[begin:].replace(old, new, 1))
            self.assertIn(message, self.error("command=Train:Test"))
            self.assert_nothing_ran()

    def test_streams_of_a_later_reader(self):
        self.write("x.ctf", "|f 1 2\n")
        for streams, message in (("features=[ alias=f; dim=2; format=dens ]", "one of dense, sparse; did you mean 'dense'?"),
                                 ("features=[ alias=f; format=dense ]", "required parameter missing: ")):
            self.assertIn(message, self.error("command=Train:More", "More=[ action=write; modelPath=m.dnn; outputPath=o; reader=[ "
                                              "readerType=CNTKTextFormatReader; file=x.ctf; input=[ %s ] ] ]" % streams))
            self.assert_nothing_ran()

    def test_streams_of_every_later_reader(self):
        self.write("d.bin", "data")
        words = "readerType=LMSequenceReader; file=train.txt; "
        slots = "readerType=LUSequenceReader; file=train.txt; "
        for reader, message in (
                (words + "features=[ dim=0 ]", "error: the reader has 0 label blocks; expected two"),
                (words + "labelIn=[ labelDim=2 ]; labels=[ labelType=next ]",
                 "error: 'More:reader:labels:labelType' is 'next', expected one of category, nextWord, none"),
                (words + "labelIn=[ labelDim=2 ]; labels=[ labelDim=3 ]", "differ; both are the size of one vocabulary"),
                (words + "labelIn=[ labelDim=2; labelMappingFile=gone ]; labels=[ labelType=none ]",
                 "error: data file 'gone' does not exist, and no earlier command writes it"),
                (slots + "labelIn=[ token=map.txt ]", "error: the reader has 1 label blocks; expected two"),
                (slots + "labelIn=[ token=map.txt ]; labels=[ token=map.txt; mode=klass ]", "expected one of plain, class"),
                (slots + "labelIn=[ token=gone ]; labels=[ token=map.txt ]",
                 "error: data file 'gone' does not exist, and no earlier command writes it"),
                (slots + "wordmap=gone; labelIn=[ token=map.txt ]; labels=[ token=map.txt ]",
                 "error: data file 'gone' does not exist, and no earlier command writes it"),
                ("readerType=DSSMReader; a=[ dim=2; file=d.bin ]", "error: the reader has 1 feature blocks, a; expected two"),
                ("readerType=DSSMReader; a=[ dim=2; file=d.bin ]; b=[ dim=2; file=d.bin ]; c=[ labelDim=many ]",
                 "'More:reader:c:labelDim' is 'many', expected a whole number"),
                ("readerType=SparsePCReader; file=d.bin; a=[ dim=0 ]", "'More:reader:a:dim' is '0', expected a whole number"),
                ("readerType=LibSVMBinaryReader; file=d.bin; DSSMLabel=[ labelDim=-1 ]",
                 "'More:reader:DSSMLabel:labelDim' is '-1', expected a whole number")):
            with self.subTest(reader):
                run = self.cntk("configFile=exp.cntk", "command=Train:More", status=None, *[
                    "More=[ action=test; modelPath=m.dnn; reader=[ %s ] ]" % reader])
                self.assertIn(message, run.stderr.rstrip().splitlines()[-1])
                self.assert_nothing_ran()

    def test_writers_of_a_later_command(self):
        self.write("tags.txt", "yes\nno\n")
        for writer, message in (
                ("writerType=BinaryWriter; wfile=w.bin", "error: the writer has 0 sections, expected 1 to "),
                ("writerType=BinaryWriter; wfile=w.bin; HLast=[ sectionType=text ]",
                 "'Write:writer:HLast:sectionType' is 'text', expected one of "),
                ("writerType=HTKMLFWriter; outputNodeNames=HLast; HLats=[ dim=2; scpFile=o.scp ]",
                 "error: outputNodeNames lists 'HLast', but the writer has no block HLast=[...] that names the file for its "
                 "values; did you mean 'HLats'?"),
                ("writerType=LUSequenceWriter; outputNodeNames=HLast; HLast=[ file=train.txt; token=tags.txt ]",
                 "error: file would overwrite 'train.txt'")):
            with self.subTest(writer):
                self.assertIn(message, self.error("command=Train:Write", "Write=[ writer=[ %s ] ]" % writer))
                self.assert_nothing_ran()
        log = self.run_all("Train:Write", "Write=[ writer=[ writerType=LUSequenceWriter; outputNodeNames=HLast; "
                           "HLast=[ file=o.txt; token=tags.txt ] ] ]").stderr
        self.assertIn("__COMPLETED__", log)

    def test_lists_of_words_that_a_command_makes(self):
        self.write("text.txt", "</s> a b </s>\n")
        run = self.cntk("configFile=exp.cntk", "command=Words:Train:More", "More=[ action=test; reader=[ "
                        "readerType=LMSequenceReader; file=text.txt; labels=[ labelType=none ]; "
                        "labelIn=[ labelMappingFile=w.txt ] ] ]", "Words=[ action=writeWordAndClass; inputFile=text.txt; "
                        "vocabSize=4; outputVocabFile=v.txt; outputMappingFile=w.txt; nbrClass=0 ]", status=None)
        self.assertIn("in command 'More'", run.stderr)  # for the network's inputs are others
        self.assertNotIn("does not exist", run.stderr)
        self.assertTrue((self.folder / "m.dnn").exists())

    def test_data_that_a_command_writes(self):
        self.run_all("Train:Write:Again", "Again=[ action=write; outputPath=out/again; "
                     "reader=[ readerType=UCIFastReader; file=out/values.HLast; features=[ dim=2; start=0 ] ] ]")
        self.assertTrue((self.folder / "out/again.HLast").exists())

    def test_data_that_are_no_single_file(self):
        # Only the reader knows the meaning of a list.
        self.assertIn("in command 'Test'", self.run_all_failing("Train:Test", "Test=[ reader=[ file=a.txt+b.txt ] ]"))
        self.assertTrue((self.folder / "m.dnn").exists())

    def run_all_failing(self, commands, *arguments):
        return self.cntk("configFile=exp.cntk", "command=" + commands, *arguments, status=4).stderr

    def test_data_that_no_reader_opens(self):
        run = self.run_all("Train:Test:Write",
                           "Test=[ reader=[ file=gone.txt; features=[ file=train.txt ]; labels=[ file=train.txt ] ] ]",
                           "Write=[ reader=[ more=[ file=gone.txt ]; labels=[ file=gone.txt; dim=1; labelType=none ] ] ]")
        self.assertIn("__COMPLETED__", run.stderr)

    def test_data_of_every_reader(self):
        words = "file=train.txt; x=[ labelType=category; token=train.txt ]; y=[ labelType=category; token=map.txt ]"
        readers = {
            "BinaryReader": ["file=gone"], "LibSVMBinaryReader": ["file=gone"], "SparsePCReader": ["file=gone"],
            "CNTKTextFormatReader": ["file=gone; input=[ features=[ dim=2; format=dense; file=passed.over ] ]"],
            "DSSMReader": ["a=[ dim=2; file=train.txt ]; b=[ dim=2; file=gone ]; c=[ labelDim=2; file=passed.over ]"],
            "HTKMLFReader": ["x=[ dim=2; scpFile=gone; mlfFile=passed.over ]",
                             "x=[ dim=2; scpFile=train.txt ]; y=[ labelDim=2; mlfFile=gone ]",
                             "x=[ dim=2; scpFile=train.txt ]; y=[ labelDim=2; mlfFileList=gone ]",
                             "x=[ dim=2; scpFile=train.txt ]; y=[ labelDim=2; mlfFile=train.txt; labelMappingFile=gone ]",
                             "x=[ dim=2; scpFile=train.txt ]; y=[ labelDim=2; mlfFile=train.txt; targetDim=2; "
                             "labelToTargetMappingFile=gone ]",
                             "frameMode=false; x=[ dim=2; scpFile=train.txt ]; y=[ labelDim=2; mlfFile=train.txt; "
                             "labelMappingFile=map.txt ]; z=[ denLatTocFile=gone; numLatTocFile=passed.over ]"],
            "LMSequenceReader": ["file=gone", "file=train.txt; wordclass=gone"],
            "LUSequenceReader": ["file=gone", "ioNodeNames=a:b; file=passed.over; a=[ %s ]; b=[ file=gone ]" % words,
                                 words.replace("token=map.txt", "token=gone"), "wordmap=gone; " + words,
                                 words.replace("token=map.txt", "labelMappingFile=gone")],
            "UCIFastReader": ["x=[ dim=2; file=gone ]", "file=gone; x=[ dim=2 ]; y=[ dim=1; labelType=none; file=no ]",
                              "file=train.txt; x=[ dim=2 ]; y=[ dim=1; labelDim=2; labelMappingFile=gone ]"]}
        if (CNTK.parent.parent / "lib/ImageReader.so").exists():
            readers["ImageReader"] = ["file=gone", "file=train.txt; y=[ labelDim=2 ]; "
                                      "x=[ width=1; height=1; channels=1; meanFile=gone ]"]
        for name, blocks in readers.items():
            for block in blocks:
                for more in ("reader=[ readerType=%s; %s ]" % (name, block),
                             "reader=[ readers=p; p=[ readerType=%s; %s ] ]" % (name, block)):
                    with self.subTest(more):
                        self.assertIn("data file 'gone' does not exist, and no earlier command writes it", self.error(
                            "command=Train:More", "More=[ action=test; modelPath=m.dnn; %s ]" % more, status=4))
                        self.assert_nothing_ran()

    def test_label_maps_that_are_made(self):
        (self.folder / "map.txt").unlink()
        run = self.run_all("Map:Train:Test", "Map=[ action=createLabelMap; section=Train ]")
        self.assertIn("__COMPLETED__", run.stderr)
        (self.folder / "map.txt").unlink()
        self.run_all("Train:Test", "makeMode=false", "allowMapCreation=true")

    def test_data_named_around_the_reader(self):
        self.assertIn("'gone' does not exist, and no earlier command writes it", self.error(
            "command=Train:More", "More=[ action=test; modelPath=m.dnn; file=gone; reader=[ x=[ dim=2 ] ] ]", status=4))

    def test_labels_that_a_write_command_does_not_read(self):
        (self.folder / "a.feat").write_bytes(struct.pack(">iihh4f", 2, 100000, 8, 9, 0.5, 1, -1, 0.25))
        self.write("a.scp", "a.feat\n")
        self.run_all("Train:Write", "Write=[ reader=[ readerType=HTKMLFReader; features=[ dim=2; scpFile=a.scp ]; "
                     "labels=[ mlfFile=gone.mlf; labelDim=2; labelMappingFile=map.txt ] ] ]")
        self.assertEqual(self.error("command=Train:Write", "Write=[ reader=[ readerType=HTKMLFReader; "
                                    "features=[ dim=2; scpFile=gone.scp ] ] ]", status=4).split(": ", 2)[2],
                         "data file 'gone.scp' does not exist, and no earlier command writes it")

    def test_lattices_that_a_pattern_means(self):
        """They may still come; what else is wrong with their block is told."""
        reader = "More=[ action=test; modelPath=m.dnn; reader=[ readerType=HTKMLFReader; frameMode=%s; features=[ dim=2; " \
                 "scpFile=train.txt ]; labels=[ labelDim=2; mlfFile=train.txt; labelMappingFile=map.txt ]; " \
                 "lattices=[ denLatTocFile=gone.*.toc ] ] ]"
        self.assertIn("'lattices' has lattices, which are of whole utterances: sequence training needs frameMode=false and "
                      "truncated=false", self.error("command=Train:More", reader % "true"))
        self.assert_nothing_ran()
        run = self.cntk("configFile=exp.cntk", "command=Train:More", reader % "false", status=4)
        self.assertNotIn("gone", run.stderr.splitlines()[-1])
        self.assertTrue((self.folder / "m.dnn").exists())

    def test_data_of_a_training_that_is_over(self):
        second = SECOND.replace("file=train.txt", "file=$Data$")
        self.write("net.ndl", NETWORK)
        self.run_all("Train:Second", second, "Data=train.txt")
        gone = "cvReader=[ readerType=UCIFastReader; file=gone.txt; features=[ dim=2; start=0 ] ]"
        self.run_all("Train:Second", second, "Data=gone.txt", "Second=[ %s ]" % gone)
        # An earlier command writes its final model.
        third = second.replace("Second", "Third")
        (self.folder / "second.dnn").unlink()
        run = self.run_all("Second:Third", second, third.replace("$Data$", "gone.txt"), "Data=train.txt")
        self.assertIn("Final model exists", run.stderr)
        self.assertIn("'gone.txt' does not exist", self.cntk(
            "configFile=exp.cntk", "command=Train:Second", second, "Data=gone.txt", "makeMode=false", status=4).stderr)

    def test_model_of_a_later_command(self):
        for command in ("Test", "Write", "D=[action=dumpnode]", "P=[action=plot]", "E=[action=exportdbn;dbnModelPath=d]",
                        "S=[action=SVD;outputModelPath=s;nodeNameRegex=W.*]",
                        "A=[action=adapt;reader=[readerType=UCIFastReader;file=train.txt;features=[dim=2]];"
                        "SGD=[maxEpochs=1;minibatchSize=4;learningRatesPerSample=0.1];modelPath=a.dnn;"
                        "origModelFileName=n.dnn]"):
            name = command.split("=")[0]
            blocks = [command] if "=" in command else []
            arguments = [] if name == "A" else ["%s=[modelPath=n.dnn]" % name]
            last = self.error("command=Train:" + name, *blocks, *arguments, status=5)
            self.assertIn("error: model file 'n.dnn' does not exist, and no earlier command writes it", last)
            self.assert_nothing_ran()

    def test_models_that_commands_make(self):
        self.write("edit.mel", "m=LoadModel(m.dnn)\nSaveModel(edited.dnn)")
        run = self.run_all("Train:Edit:Test:Write", "Edit=[ action=edit; editPath=edit.mel ]",
                           "Test=[ modelPath=edited.dnn ]", "Write=[ modelPath=m.dnn.0 ]")
        self.assertIn("__COMPLETED__", run.stderr)

    def test_model_that_a_later_script_loads(self):
        for statement, column in ("n=LoadModel(n.dnn)", 13), ("LoadModelWithName(n, n.dnn)", 22):
            self.write("e.mel", "m=LoadModel(m.dnn)\n%s\nSaveModel(m, n.dnn)\n" % statement)
            last = self.error("command=Train:E", "E=[action=edit;editPath=e.mel]", status=5)
            self.assertIn("e.mel:2:%d: error: model file 'n.dnn' does not exist, and no earlier command writes it" % column,
                          last)
            self.assert_nothing_ran()
        self.write("e.mel", "m=LoadModel(m.dnn)\nSaveModel(m, n.dnn)\nn=LoadModel(n.dnn)\nSaveModel(n, o.dnn)\n")
        self.run_all("Train:E", "E=[action=edit;editPath=e.mel]")

    def test_network_of_a_later_command(self):
        for text, place in ((None, "command line:1:"),
                            (NETWORK.replace("Times(", "Tmies("), "did you mean 'Times'?"),
                            (NETWORK.replace(", tag=criterion", ""), "net.ndl"),
                            (NETWORK.replace("Parameter(2, 2)", "Parameter(2, 3)"), "net.ndl:4:")):
            if text is not None:
                self.write("net.ndl", text)
            run = self.cntk("configFile=exp.cntk", "command=Train:Second", SECOND, status=3)
            self.assertIn("note: while preparing command 'Second' (action 'train')\n", run.stderr)
            self.assertIn(place, run.stderr)
            self.assert_nothing_ran()

    def test_what_is_looked_at_changes_nothing(self):
        # Seeds of start values count on from command to command; the dump is the network's when it is trained.
        third = SECOND.replace("Second", "Third").replace("second.dnn", "third.dnn").replace(
            "net.ndl", "net.ndl; dumpFileName=dump.txt")
        self.write("net.ndl", NETWORK)
        self.run_all("Second:Third", SECOND, third)
        self.assertTrue((self.folder / "dump.txt").exists())
        models = [self.folder / name for name in ("second.dnn.0", "third.dnn.0")]
        first, then = (model.read_bytes() for model in models)
        self.assertNotEqual(first, then)
        self.run_all("Train:Second:Third", SECOND, third, "makeMode=false")
        self.assertEqual([model.read_bytes() for model in models], [first, then])

    def test_label_map_that_the_training_makes(self):
        (self.folder / "map.txt").unlink()
        self.run_all("Train:Test", "Train=[ reader=[ allowMapCreation=true ] ]",
                     "Test=[ action=test; reader=[ readerType=UCIFastReader; file=train.txt; features=[ dim=2; start=0 ]; "
                     "labels=[ dim=1; start=2; labelDim=2; labelMappingFile=map.txt ] ] ]")

    def test_network_that_no_command_needs(self):
        self.write("net.ndl", NETWORK)
        self.run_all("Train:Second", SECOND)
        (self.folder / "net.ndl").unlink()
        self.assertIn("Final model exists", self.run_all("Train:Second", SECOND).stderr)


if __name__ == "__main__":
    main()
