#!/usr/bin/env python3
"""Wrong paths that would overwrite an input of a command are refused before anything is written. Files that may be changed in
place are changed."""
import struct

from EndToEnd import EndToEndTest, main

CONFIG = """
precision=float
deviceId=-1
modelPath=m.dnn
streams="readerType=UCIFastReader; file=train.txt; randomize=none; features=[ dim=2 ]; \
labels=[ dim=1; start=2; labelDim=2; labelMappingFile=map.txt ]"
SGD=[ maxEpochs=1; minibatchSize=4; learningRatesPerSample=0.1 ]
reader=[ $streams$ ]
Train=[ action=train; SimpleNetworkBuilder=[ layerSizes=2:3:2 ] ]
Adapt=[ action=adapt; originalModelFileName=m.dnn; modelPath=adapted.dnn ]
Edit=[ action=edit; editPath=edit.mel ]
Svd=[ action=SVD; outputModelPath=thin.dnn; nodeNameRegex="W.*"; alignedSize=1 ]
Dump=[ action=dumpnode; outputFile=dump.txt ]
Plot=[ action=plot; outputDotFile=m.dot ]
Export=[ action=exportdbn; dbnModelPath=m.dbn ]
Convert=[ action=convertdbn; dbnModelPath=m.dbn; modelPath=converted.dnn ]
Maps=[ action=createLabelMap; section=Train ]
Write=[ action=write; outputPath=out; outputNodeNames=HLast ]
Words=[ action=writeWordAndClass; inputFile=train.txt; outputVocabFile=vocab.txt; outputMappingFile=words.txt; vocabSize=9; nbrClass=0 ]
"""
DATA = "0.5 1 yes\n-1 0.25 no\n0 0 yes\n1 1 no\n0.5 -1 yes\n"


class FileClashTest(EndToEndTest):
    def setUp(self):
        super().setUp()
        self.write("exp.cntk", CONFIG)
        self.write("train.txt", DATA)
        self.write("map.txt", "yes\nno\n")
        self.run_command("Train")
        self.model = (self.folder / "m.dnn").read_bytes()

    def run_command(self, command, *arguments, **keywords):
        return self.cntk("configFile=exp.cntk", "command=" + command, *arguments, **keywords)

    def refuses(self, command, message, *arguments, status=3):
        before = {path.name: path.read_bytes() for path in self.folder.iterdir() if path.is_file()}
        run = self.run_command(command, *arguments, status=status)
        self.assertIn(message + "; expected another file", run.stderr[-1000:])
        after = {path.name: path.read_bytes() for path in self.folder.iterdir() if path.is_file()}
        self.assertEqual(before, after)

    def test_models_are_not_written_onto_what_they_are_made_of(self):
        self.run_command("Export")
        self.refuses("Convert", "modelPath would overwrite 'm.dbn', which is dbnModelPath as well",
                     "Convert=[modelPath=m.dbn]")
        self.refuses("Export", "dbnModelPath would overwrite './m.dnn', which is modelPath as well",
                     "Export=[dbnModelPath=./m.dnn]")
        self.refuses("Adapt", "modelPath would overwrite 'm.dnn', which is originalModelFileName as well",
                     "Adapt=[modelPath=m.dnn]")
        self.refuses("Adapt", "modelPath would overwrite 'map.txt', which is reader:labels:labelMappingFile "
                     "as well", "Adapt=[modelPath=map.txt]")
        self.refuses("Train", "modelPath would overwrite 'train.txt', which is reader:file as well",
                     "modelPath=train.txt")
        self.write("svd.txt", "W.* 0.4\n")
        self.refuses("Svd", "outputModelPath would overwrite 'svd.txt', which is svdConfig as well",
                     "Svd=[outputModelPath=svd.txt; nodeNameRegex=\"\"; svdConfig=svd.txt]")

    def test_a_network_is_not_described_in_the_place_of_what_it_is_made_of(self):
        self.write("net.ndl", "features=Input(2, tag=feature)\nlabels=Input(2, tag=label)\n"
                   "ce=CrossEntropyWithSoftmax(labels, Times(Parameter(2, 2), features), tag=criterion)\n")
        self.write("macros.ndl", "Same(x)=Sigmoid(x)\n")
        ndl = "Train=[NDLNetworkBuilder=[networkDescription=net.ndl; ndlMacros=macros.ndl; dumpFileName=%s]]"
        for file, key in (("net.ndl", "Train:NDLNetworkBuilder:networkDescription"),
                          ("./macros.ndl", "Train:NDLNetworkBuilder:ndlMacros"), ("train.txt", "reader:file")):
            for more in ([], ["--check"]):
                self.refuses("Train", "dumpFileName would overwrite '%s', which is %s as well" % (file, key),
                             ndl % file, "Train=[SimpleNetworkBuilder=default]", "makeMode=false", *more)
        for _ in range(2):  # the second command finds the file that the variable names
            self.cntk("configFile=exp.cntk", "command=Train", ndl % "$Out$", "makeMode=false",
                      "Train=[SimpleNetworkBuilder=default; NDLNetworkBuilder=[Out=dump.txt]]")
        self.assertTrue((self.folder / "dump.txt").exists())

    def test_reports_are_not_written_onto_models(self):
        self.refuses("Dump", "outputFile would overwrite 'm.dnn', which is modelPath as well",
                     "Dump=[outputFile=m.dnn]")
        self.refuses("Plot", "outputDotFile would overwrite 'm.dnn', which is modelPath as well",
                     "Plot=[outputDotFile=m.dnn]")
        self.refuses("Plot", "outputFile would overwrite 'm.dot', which is outputDotFile as well",
                     "Plot=[outputFile=m.dot; renderCmd=\"cp <IN> <OUT>\"]")
        (self.folder / "link.dnn").symlink_to("m.dnn")
        self.refuses("Dump", "outputFile would overwrite 'link.dnn', which is modelPath as well",
                     "Dump=[outputFile=link.dnn]")

    def test_data_are_not_overwritten(self):
        self.write("in.HLast", DATA)
        self.refuses("Write", "outputPath would overwrite 'in.HLast', which is reader:file as well",
                     "Write=[outputPath=in]", "reader=[file=in.HLast]")
        self.refuses("Maps", "labelMappingFile would overwrite 'train.txt', which is reader:file as well",
                     "reader=[labels=[labelMappingFile=train.txt]]")
        self.refuses("Words", "outputVocabFile would overwrite 'train.txt', which is inputFile as well",
                     "Words=[outputVocabFile=train.txt]")
        self.refuses("Words", "outputMappingFile would overwrite 'vocab.txt', which is outputVocabFile as well",
                     "Words=[outputMappingFile=vocab.txt]")
        self.write("data.bin", "x")
        self.refuses("Write", "wfile would overwrite 'data.bin', which is reader:file as well",
                     "Write=[writer=[writerType=BinaryWriter; wfile=data.bin; HLast=[sectionType=data]]]",
                     "reader=[file=data.bin]")

    def test_features_are_not_overwritten_by_what_is_computed_of_them(self):
        features = struct.pack(">iihh4f", 2, 100000, 8, 9, 1, 2, 3, 4)
        (self.folder / "u1.htk").write_bytes(features)
        self.write("in.scp", "x=u1.htk\n")
        self.write("out.scp", "./u1.htk\n")
        reader = "reader=[readerType=HTKMLFReader; features=[dim=2; scpFile=in.scp]]"
        writer = "writer=[writerType=HTKMLFWriter; outputNodeNames=HLast; HLast=[dim=2; scpFile=%s]]"
        self.write("write.cntk", CONFIG.replace("Write=[", "Write=[ " + reader + "; " + writer % "out.scp" + "; "))
        run = self.cntk("configFile=write.cntk", "command=Write", status=3)
        self.assertIn("out.scp:1: the output would overwrite './u1.htk', which is read as features (in.scp:1); "
                      "expected another file", run.stderr)
        self.assertEqual((self.folder / "u1.htk").read_bytes(), features)
        self.write("out.scp", "u2.htk\n")
        self.cntk("configFile=write.cntk", "command=Write")
        self.assertEqual((self.folder / "u2.htk").stat().st_size, 28)

    def test_what_script_files_list_is_not_overwritten(self):
        """No output of a command may be a file in a list of its reader."""
        features = struct.pack(">iihh4f", 2, 100000, 8, 9, 1, 2, 3, 4)
        for name in "out.HLast", "archive":
            (self.folder / name).write_bytes(features)
        (self.folder / "link").symlink_to("archive")
        self.write("in.scp", "a.x=out.HLast[0,0]\nb.x=out.HLast[1,1]\nc.x=archive[0,1]\n")
        self.write("words.txt", "yes\nno\n")
        self.write("vocabulary.txt", "0\t1\tyes\t0\n1\t1\tno\t0\n")
        self.write("labels.mlf", "#!MLF!#\n" + "".join('"%s.lab"\n0 %d yes 0\n.\n' % (name, 100000 * frames)
                                                    for name, frames in (("a", 1), ("b", 1), ("c", 2))))
        self.write("mlfs.txt", "labels.mlf\n")
        reader = "readerType=HTKMLFReader; features=[dim=2; scpFile=in.scp]"
        sgd = "SGD=[maxEpochs=1; minibatchSize=2; learningRatesPerSample=0.1]"
        text = "modelPath=m.dnn\ndeviceId=-1\n" + "".join(
            "%s=[ action=write; outputNodeNames=HLast; reader=[ %s ]; %s ]\n" % (name, reader, output)
            for name, output in (
                ("Text", "outputPath=out"), ("Other", "outputPath=other"),
                ("Binary", "writer=[ wfile=link; HLast=[ sectionType=data ] ]"),
                ("Words", "writer=[ writerType=LMSequenceWriter; outputNodeNames=HLast; "
                          "HLast=[ file=./archive; token=vocabulary.txt ] ]")))
        for name, model, labels in ("Train", "archive", "mlfFile=labels.mlf"), ("Labels", "labels.mlf", "mlfFileList=mlfs.txt"):
            text += ("%s=[ action=train; modelPath=%s; SimpleNetworkBuilder=[ layerSizes=2:3:2 ]\n%s\nreader=[ %s; labels="
                     "[%s; labelMappingFile=words.txt; labelDim=2] ] ]\n" % (name, model, sgd, reader, labels))
        self.write("lists.cntk", text)
        for command, message in [
                ("Text", "outputPath would overwrite 'out.HLast', which is read as features (in.scp:1)"),
                ("Binary", "wfile would overwrite 'link', which is read as features (in.scp:3)"),
                ("Words", "file would overwrite './archive', which is read as features (in.scp:3)"),
                ("Labels", "modelPath would overwrite 'labels.mlf', which is read as labels (mlfs.txt)"),
                ("Train", "modelPath would overwrite 'archive', which is read as features (in.scp:3)")]:
            for check in [], ["--check"]:
                run = self.cntk("configFile=lists.cntk", "command=" + command, "makeMode=false", *check, status=3)
                self.assertIn(message + "; expected another file", run.stderr)
                self.assertRegex(run.stderr, r"lists\.cntk:\d+:\d+: error: ")
        for name in "out.HLast", "archive":
            self.assertEqual((self.folder / name).read_bytes(), features)
        for _ in range(2):
            self.cntk("configFile=lists.cntk", "command=Other")
        self.assertEqual(len(self.read("other.HLast").splitlines()), 4)

    def test_scripts_are_not_overwritten(self):
        self.write("snippet.ndl", "load=[ X=Constant(1) ]\n")
        for script, message in [
                ("m=LoadModel(m.dnn)\nSaveModel(edit.mel)\n", "the model would overwrite 'edit.mel', which is editPath"),
                ("m=LoadModel(m.dnn)\nDumpModel(m, m.dnn)\n",
                 "the dump would overwrite 'm.dnn', which is the model of edit.mel:1:13"),
                ("m=LoadModel(m.dnn)\nDumpModel(m, edit.mel)\n", "the dump would overwrite 'edit.mel', which is editPath"),
                ("m=CreateModel()\nLoadNDLSnippet(m, snippet.ndl)\nSaveModel(m, snippet.ndl)\n",
                 "the model would overwrite 'snippet.ndl', which is the NDL file of edit.mel:2:19")]:
            self.write("edit.mel", script)
            self.refuses("Edit", message + " as well")

    def test_the_runs_own_files_are_not_what_the_config_names(self):
        """For all commands: the log, which is opened first, and the file that reports success."""
        self.write("a_Svd.log", DATA)
        self.refuses("Svd", "stderr would overwrite 'a_Svd.log', which is reader:file as well",
                     "stderr=a", "reader=[file=a_Svd.log]")
        self.refuses("Svd", "doneFile would overwrite './train.txt', which is reader:file as well",
                     "doneFile=./train.txt")
        self.refuses("Svd", "doneFile would overwrite 'm.dnn', which is modelPath as well", "doneFile=m.dnn")
        self.refuses("Svd", "doneFile would overwrite 'exp.cntk', which is configFile as well", "doneFile=exp.cntk")
        self.write("edit.mel", "m=LoadModel(m.dnn)\n")
        self.write("extra.mel", "m=LoadModel(m.dnn)\nSaveModel(x.dnn)\n")
        self.refuses("Edit", "doneFile would overwrite 'extra.mel', which is Edit:editPath as well",
                     "doneFile=extra.mel", "Edit=[editPath=edit.mel+extra.mel]")
        self.refuses("Train", "doneFile would overwrite 'new.dnn', which is an output of command 'Train' as well",
                     "modelPath=new.dnn", "doneFile=new.dnn")
        run = self.run_command("Svd", "stderr=b", "doneFile=b_Svd.log", status=3)
        self.assertIn("doneFile would overwrite 'b_Svd.log', which is the log as well", run.stderr)
        self.assertIn("Svd", self.read("b_Svd.log"))
        # A variable may name them, and a second run writes them again.
        for _ in range(2):
            self.run_command("Svd", "finished=c.done", "doneFile=$finished$", "logs=c", "stderr=$logs$")
        self.assertIn("successfully finished", self.read("c.done"))

    def test_models_that_are_trained_as_one_are_not_written_onto_their_data(self):
        text = "input=[ features=[ dim=2; format=dense ] ]"
        reader = "=[ readerType=CNTKTextFormatReader; file=%s; " + text + " ]\n"
        builder = "NetworkBuilder=[ rnnType=LSTMENCODER; layerSizes=2:3 ]\n"
        self.write("pair.cntk", CONFIG + "Pair=[ action=trainEncoderDecoder\nEncoder" + builder + "Decoder" + builder +
                   "encoderReader" + reader % "data.0" + "decoderReader" + reader % "data.1" + "]\n"
                   "Say=[ action=testEncoderDecoder; encoderModelPath=data.0; decoderModelPath=data.1; outputPath=said\n"
                   "encoderReader" + reader % "train.txt" + "decoderReader" + reader % "train.txt" + "]\n")
        for name in "data.0", "data.1":
            self.write(name, DATA)
        for config, message in [
                ("Pair=[modelPath=data]", "modelPath would overwrite 'data.0', which is Pair:encoderReader:file"),
                ("Pair=[modelPath=data; encoderReader=[file=train.txt]]",
                 "modelPath would overwrite 'data.1', which is Pair:decoderReader:file"),
                ("Say=[outputPath=data.1]", "outputPath would overwrite 'data.1', which is decoderModelPath"),
                ("Say=[outputPath=train.txt]", "outputPath would overwrite 'train.txt', which is Say:encoderReader:file")]:
            run = self.cntk("configFile=pair.cntk", "command=" + config[:config.index("=")], config, status=3)
            self.assertIn(message + " as well; expected another file", run.stderr)
            self.assertEqual((self.read("data.0"), self.read("data.1"), self.read("train.txt")), (DATA,) * 3)

    def test_a_writer_does_not_replace_the_model_whose_outputs_it_writes(self):
        self.refuses("Write", "wfile would overwrite 'm.dnn', which is modelPath as well",
                     "Write=[writer=[writerType=BinaryWriter; wfile=m.dnn; HLast=[sectionType=data]]]")

    def test_an_edit_may_be_in_place(self):
        """An edit may repeat this, because its script names the file. SVD may not, because it loses data."""
        self.write("edit.mel", "m=LoadModel(m.dnn)\nRename(W1, V1)\nSaveModel(m.dnn)\n")
        self.run_command("Edit")
        edited = (self.folder / "m.dnn").read_bytes()
        self.assertNotEqual(edited, self.model)
        (self.folder / "link.dnn").symlink_to("m.dnn")
        for path in "m.dnn", "./m.dnn", "link.dnn", str(self.folder / "m.dnn"):
            self.refuses("Svd", "outputModelPath would overwrite '%s', which is modelPath as well" % path,
                         "Svd=[outputModelPath=%s]" % path)
        self.run_command("Svd", "Svd=[outputModelPath=svd.dnn]")
        self.run_command("Dump", "Dump=[modelPath=svd.dnn]")
        self.assertIn("W0-U", self.read("dump.txt"))
        self.assertIn("V1", self.read("dump.txt"))


if __name__ == "__main__":
    main()
