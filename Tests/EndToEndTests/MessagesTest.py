#!/usr/bin/env python3
"""Mistakes of users in data and models, and faults of the machine: each message names the place, the value found and the remedy.

ConfigMessagesTest.py tests the config. Every test compares the whole last line on standard error (or the whole warning).
"""
import binascii
import gzip
import os
import re
import shutil
import subprocess
from unittest import mock

from EndToEnd import CNTK, main
from Messages import CONFIG, DATA, MessagesTestCase


class MessagesTest(MessagesTestCase):
    # ---- data -----------------------------------------------------------------------------------------------------------

    def test_malformed_row(self):
        self.write("train.txt", DATA.replace("0 0 yes", "0 zero yes"))
        self.assertEqual(self.error(status=4),
                         "error: train.txt:3:3: expected a number in column 1 ('features' is columns 0 to 1, counted "
                         "from 0), found 'zero'")

    def test_start_values_that_are_not_finite(self):
        for key, value, number in (("initValueScale", "inf", "inf"), ("initValueScale", "1e60", "1e+60"),
                                   ("defaultHiddenActivity", "-inf", "-inf"), ("forgetGateInitVal", "1#INF", "inf")):
            self.edit("layerSizes=2:3:2;", "layerSizes=2:3:2; %s=%s;" % (key, value))
            self.assertEqual(self.error(), "exp.cntk:5:%d: error: %s is %s; expected a finite number, in single precision "
                             "below 3.4e38" % (45 + len(key), key, number))

    def test_missing_column(self):
        self.write("train.txt", DATA.replace("0 0 yes", "0 0"))
        self.assertEqual(self.error(status=4),
                         "error: train.txt:3:4: the line has 2 columns, but 'labels' is column 2 (counted from 0)")

    def test_label_not_in_the_map(self):
        self.write("train.txt", DATA.replace("0 0 yes", "0 0 yess"))
        self.assertEqual(self.error(status=4),
                         "error: train.txt:3:5: label 'yess' is not in label map 'map.txt', which has 2 labels; did "
                         "you mean 'yes'?")

    def test_label_map_and_network_disagree(self):
        self.edit("layerSizes=2:3:2", "layerSizes=2:3:4")
        message = self.error()
        self.assertEqual(message, "exp.cntk:5:37: error: input node 'labels' of the network has dimension 4, but stream "
                         "'labels' of the reader has dimension 2 (from 'train.txt', labelDim=2 at exp.cntk:16:39, with 2 labels in its map); expected "
                         "labelDim of the reader and the label dimension of the network to agree")

    def test_missing_data_file(self):
        self.edit("file=train.txt\n    randomize", "file=trian.txt\n    randomize")
        message = self.error(status=4)
        self.assertIn("trian.txt", message)
        self.assertIn("did you mean 'train.txt'", message)

    def test_the_home_folder_of_shells(self):
        run = self.cntk("configFile=exp.cntk", "Train=[reader=[file=~/data/train.txt]]", status=4,
                        environment={"HOME": "/home/me"})
        self.assertIn("data file '~/data/train.txt' does not exist; '~' is the home folder to shells only; write "
                      "'/home/me/data/train.txt'", run.stderr)
        run = self.cntk("configFile=exp.cntk", "modelPath=~/m/n.dnn", status=3, environment={"HOME": "/home/me"})
        self.assertIn("error: cannot write file '~/m/n.dnn': '~' is the home folder to shells only; write "
                      "'/home/me/m/n.dnn', or './~/m/n.dnn' for a folder of that name", run.stderr)
        self.assertFalse((self.folder / "~").exists())
        self.cntk("configFile=exp.cntk", "modelPath=./~/m/n.dnn")
        self.cntk("configFile=exp.cntk", "modelPath=~/m/other.dnn")

    def test_empty_data_file(self):
        self.write("train.txt", "")
        self.assertIn("train.txt", self.error(status=4))

    def test_whole_data_set_with_randomization(self):
        self.edit("randomize=none", "randomize=auto")
        self.train()

    def test_window_smaller_than_the_epoch(self):
        self.edit("randomize=none", "randomize=2")
        self.write("exp.cntk", self.read("exp.cntk").replace("minibatchSize=4", "minibatchSize=2\n    epochSize=4"))
        self.train()

    def test_epochs_shorter_than_sequences(self):
        """The second epoch starts after the beginning of the last sequence and ends before the next one."""
        self.write("train.ctf", "".join("%d |features %d 1 |labels 1 0\n" % (i // 5, i) for i in range(10)))
        reader = CONFIG[CONFIG.index("  reader=["):CONFIG.index("Test=[")]
        self.write("exp.cntk", CONFIG.replace(reader, """  reader=[
    readerType=CNTKTextFormatReader
    file=train.ctf
    randomize=none
    input=[ features=[ dim=2; format=dense ]; labels=[ dim=2; format=dense ] ]
  ]
]
""").replace("maxEpochs=1", "maxEpochs=2").replace("minibatchSize=4", "minibatchSize=1; epochSize=2"))
        self.assertEqual(self.error(status=4),
                         "error: the reader delivered no data for epoch 2, of 2 samples from sample 2 on, where no sequence "
                         "begins; give more (epochSize, or numMiniBatch4LRSearch for the trials of a search)")

    def test_unknown_reader_of_a_later_command(self):
        """The error comes before any training, and without warnings about keys that only the reader knows."""
        for command in ("Test", "Write"):
            self.write("exp.cntk", CONFIG.replace("%s=[\n  action=%s\n  reader=[\n    readerType=UCIFastReader" % (
                command, command.lower()), "%s=[\n  action=%s\n  reader=[\n    readerType=UCIReader" % (
                    command, command.lower())))
            run = self.cntk("configFile=exp.cntk", "command=Train:" + command, status=3)
            self.assertIn("error: there is no reader or writer 'UCIReader'; ", run.stderr.splitlines()[-1])
            self.assertNotIn("WARNING", run.stderr)
            self.assertFalse((self.folder / "m.dnn").exists())
        self.write("exp.cntk", CONFIG)
        message = self.error("command=Train:Write", "Write=[writer=[writerType=BinryWriter; wfile=x]]")
        self.assertIn("there is no reader or writer 'BinryWriter'", message)
        self.assertFalse((self.folder / "m.dnn").exists())
        for precision, function in (("float", "GetWriterF"), ("double", "GetWriterD")):
            message = self.error("command=Train:Write", "precision=" + precision,
                                 "Write=[writer=[writerType=UCIFastReader; wfile=x]]")
            self.assertRegex(message, "error: plugin 'UCIFastReader' does not write: '.*/UCIFastReader.so' does not "
                                      "export '%s'; writers that exist: BinaryWriter, HTKMLFWriter, LMSequenceWriter, "
                                      "LUSequenceWriter$" % function)
        self.assertFalse((self.folder / "m.dnn").exists())

    def test_unknown_reader(self):
        self.edit("readerType=UCIFastReader\n    file=train.txt\n    randomize",
                  "readerType=UCIFastReeder\n    file=train.txt\n    randomize")
        message = self.error()
        self.assertIn("there is no reader or writer 'UCIFastReeder'; folders searched for 'UCIFastReeder.so': ", message)
        self.assertIn("readers that exist: ", message)
        self.assertTrue(message.endswith("did you mean 'UCIFastReader'?"), message)

    # ---- models ----------------------------------------------------------------------------------------------------------

    def test_output_node_given_twice(self):
        self.train()
        self.cntk("configFile=exp.cntk", "command=Write", "outputNodeNames=HLast:HLast")
        self.assertEqual(len(self.read("out/values.HLast").splitlines()), 5)

    def test_unknown_output_node(self):
        self.train()
        self.assertEqual(
            self.error("command=Write", "outputNodeNames=HLasd"),
            "command line:1:51: error: outputNodeNames: the model has no node 'HLasd'; candidates: H1, HLast, "
            "PosteriorProb, W0*features, W0*features+B0, W1*H0; did you mean 'HLast'?")

    def test_checkpoint_given_as_model(self):
        self.train()
        self.assertEqual(self.error("command=Test", "modelPath=m.dnn.ckp", status=5),
                         "command line:1:44: error: 'm.dnn.ckp' is a training checkpoint (version 2), which holds the learner's state and "
                         "no network; give the model file 'm.dnn'")

    def test_text_given_as_model(self):
        self.assertEqual(self.error("command=Test", "modelPath=map.txt", status=5),
                         "command line:1:44: error: 'map.txt' is a text file that begins with 'yes'; expected a model file, as the actions "
                         "train and edit write them")

    def test_model_that_is_not_there(self):
        for command in ("Test", "Dump", "Plot", "Adapt"):
            blocks = "Dump=[action=dumpnode]; Plot=[action=plot]; Adapt=[action=adapt; origModelFileName=nope.dnn]"
            self.write("more.cntk", blocks + "\nAdapt=[ SGD=[ maxEpochs=1; learningRatesPerSample=1 ]\n reader=[ ] ]\n")
            place = "more.cntk:1:84" if command == "Adapt" else "command line:1:%d" % (50 + len(command))
            message = self.last_line("configFile=exp.cntk+more.cntk", "command=" + command, "modelPath=none.dnn", status=5)
            name = "nope.dnn" if command == "Adapt" else "none.dnn"
            self.assertEqual(message, place + ": error: model file '%s' does not exist" % name)

    def test_newer_model(self):
        self.train()
        model = bytearray((self.folder / "m.dnn").read_bytes())
        mark = "BVersion\0".encode("utf-16-le")
        at = model.index(mark) + len(mark)
        model[at] = 99
        (self.folder / "new.dnn").write_bytes(model)
        message = self.error("command=Test", "modelPath=new.dnn", status=5)
        self.assertIn("'new.dnn'", message)
        self.assertIn("99", message)

    def test_truncated_model(self):
        self.train()
        model = (self.folder / "m.dnn").read_bytes()
        (self.folder / "cut.dnn").write_bytes(model[:len(model) // 2])
        self.assertIn("cut.dnn", self.error("command=Test", "modelPath=cut.dnn", status=5))

    def test_no_criterion(self):
        self.write("net.ndl", "features=Input(2, tag=feature)\nlabels=Input(2, tag=label)\n"
                              "W=Parameter(2, 2)\nz=Times(W, features)\nce=CrossEntropyWithSoftmax(labels, z)\n")
        self.edit("SimpleNetworkBuilder=[ layerSizes=2:3:2; evalCriterion=ErrorPrediction ]",
                  "NDLNetworkBuilder=[ networkDescription=net.ndl ]")
        message = self.error()
        self.assertIn("ce", message)
        self.assertIn("criteri", message)

    # ---- runs of some commands of a config ---------------------------------------------------------------------------------

    def test_label_maps_from_the_reader_of_any_command(self):
        labels = "reader=[labels=[dim=1; start=2; labelDim=2; labelMappingFile=map.txt]]"
        map_of_write = ("command=Map", "Map=[action=createLabelMap; section=Write]", "Write=[%s]" % labels)
        self.assertEqual(self.warnings(*map_of_write), [])
        self.assertEqual(self.warnings(*map_of_write, "Write=[outputPth=x]"),
                         ["WARNING: command line:1:162: unknown key 'outputPth' in block 'Write'; did you mean "
                          "'outputPath'?"])

    def test_variables_of_scripts_that_this_run_does_not_read(self):
        self.write("net.ndl", "features=Input(2, tag=feature)\nlabels=Input(2, tag=label)\nW=Parameter($rows$, 2)\n"
                              "ce=CrossEntropyWithSoftmax(labels, Times(W, features), tag=criterion)\n")
        self.write("a.mel", "m=LoadModel(m.dnn)\nSaveModel(m, $where$)\n")
        self.edit("Test=[", "rows=2\nwhere=n.dnn\nrow=3\nDir=.\n"
                            "Ndl=[ action=train; NDLNetworkBuilder=[ networkDescription=$Dir$/net.ndl ] ]\n"
                            "Edit=[ action=edit; editPath=gone.mel+a.mel ]\nTest=[")
        self.cntk("configFile=exp.cntk")
        (warning,) = self.warnings("command=Test")
        self.assertIn("unknown key 'row' at the root of the config", warning)

    # ---- the machine -----------------------------------------------------------------------------------------------------

    def test_folder_that_cannot_be_made(self):
        self.write("file", "not a folder")
        message = self.error("modelPath=file/m.dnn", status=6)
        self.assertRegex(message, "^error: cannot create folder 'file' for file 'file/m.dnn': ")

    def test_log_on_a_full_disk(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("there is no /dev/full here")
        self.write("logs/placeholder", "")
        (self.folder / "logs/run_Train.log").symlink_to("/dev/full")
        message = self.error("stderr=logs/run", status=6)
        self.assertIn("No space left on device", message)
        self.assertIn("run_Train.log", message)

    def test_full_disk_leaves_the_previous_file(self):
        self.train()
        before = (self.folder / "m.dnn").read_bytes()
        self.fill_disk_for("m.dnn")
        run = self.cntk("configFile=exp.cntk", "makeMode=false", status=6)
        last = run.stderr.rstrip("\n").splitlines()[-1]
        self.assertIn("No space left on device", last)
        self.assertIn("m.dnn", last)
        self.assertEqual((self.folder / "m.dnn").read_bytes(), before)

    def test_gpu_that_is_not_there(self):
        if os.path.exists("/dev/nvidia0"):
            self.skipTest("this machine has a GPU")
        message = self.error("deviceId=0", status=6)
        self.assertIn("GPU 0", message)

    # ---- what a good run looks like ---------------------------------------------------------------------------------------

    def test_check_trains_and_writes_nothing(self):
        run = self.cntk("configFile=exp.cntk", "--check")
        self.assertRegex(run.stderr, re.compile("^Read a minibatch of 4 samples", re.M))
        self.assertFalse((self.folder / "m.dnn").exists())
        self.assertFalse((self.folder / "m.dnn.0").exists())

    def test_check_of_a_network_with_statistics(self):
        self.edit("layerSizes=2:3:2;", "layerSizes=2:3:2; applyMeanVarNorm=true; needPrior=true;")
        self.assertIn("Read a minibatch of 4 samples", self.cntk("configFile=exp.cntk", "--check").stderr)

    def test_print_config_says_where_values_come_from(self):
        run = self.cntk("configFile=exp.cntk", "--print-config", "modelPath=other.dnn")
        self.assertRegex(run.stdout, "modelPath=other.dnn.*command line")
        self.assertRegex(run.stdout, "maxEpochs=1.*exp.cntk:7")

    # ---- memory -------------------------------------------------------------------------------------------------------

    def test_data_that_a_node_cannot_take(self):
        """The message has the node's place in the network description, the notes have node and minibatch."""
        self.write("net.ndl", "x = Input(2, tag=feature)\ny = Input(4, tag=label)\nW = Parameter(2, 5)\n"
                   "c = CBCEWithSM(y, x, W, Times(Parameter(2, 2), x), tag=criterion)\n")
        self.write("train.ctf", "1|x 1 2|y 1 0 0 2\n2|x 1 2|y 4 1 2 5\n2|x 2 1|y 9 1 2 5\n")
        self.write("exp.cntk", "command=Train\nTrain=[\n  action=train; modelPath=m.dnn\n"
                   "  NDLNetworkBuilder=[ networkDescription=net.ndl ]\n"
                   "  SGD=[ maxEpochs=1; minibatchSize=2; learningRatesPerSample=0.1 ]\n"
                   "  reader=[ readerType=CNTKTextFormatReader; file=train.ctf; randomize=none\n"
                   "           input=[ x=[ dim=2; format=dense ]; y=[ dim=4; format=dense ] ] ]\n]\n")
        run = self.cntk("configFile=exp.cntk", status=4)
        self.assertEqual(run.stderr.splitlines()[-1],
                         "net.ndl:4:5: error: the label of step 1 of sequence 0 has 9 as its word; expected a whole "
                         "number from 0 to 4, since 'W' has 5 columns, one a word")
        self.assertIn("note: while computing c = ClassBasedCrossEntropyWithSoftmax(y [4 x *], x [2 x *], ", run.stderr)
        self.assertIn("note: while training epoch 1, minibatch 2\n", run.stderr)

    def test_out_of_memory(self):
        self.edit("minibatchSize=4", "minibatchSize=2000")
        self.write("exp.cntk", (self.folder / "exp.cntk").read_text().replace("2:3:2", "2:200000:2"))
        self.write("train.txt", DATA * 400)
        run = self.cntk("configFile=exp.cntk", "numCPUThreads=1", status=6, address_space=2 << 30)
        lines = run.stderr.rstrip("\n").splitlines()
        self.assertRegex(lines[-1], r"^error: out of memory: 1600000000 bytes were asked for, \d+ are free$")
        self.assertRegex(run.stderr, r"note: the memory was for the (value|gradient) of '\S+'")
        self.assertRegex(run.stderr, r"for a minibatch of 2000 columns, and .* can be had; the largest: .*'H1'.* 1.6 GB")
        fits = int(re.search(r"note: minibatches of (\d+) columns .* maxSamplesInRAM=", run.stderr)[1])
        self.cntk("configFile=exp.cntk", "numCPUThreads=1", "Train=[SGD=[maxSamplesInRAM=%d]]" % fits,
                  address_space=2 << 30)

    def test_parameter_out_of_memory(self):
        self.write("exp.cntk", CONFIG.replace("2:3:2", "2:30000:30000:2"))
        run = self.cntk("configFile=exp.cntk", "numCPUThreads=1", status=6, address_space=2 << 30)
        self.assertRegex(run.stderr, r"note: for parameter 'W1' of 30000 x 30000\n(note: .*\n)*"
                                     r"error: out of memory: 3600000000 bytes were asked for, \d+ are free")

    def test_reader_out_of_memory(self):
        packed = gzip.compress(binascii.hexlify(os.urandom(10 << 20)), 1)
        (self.folder / "train.gz").write_bytes(packed)
        run = self.cntk("configFile=exp.cntk", "numCPUThreads=1", "Train=[reader=[file=train.gz]]", status=6, address_space=70 << 20)
        self.assertIn("note: while opening the UCIFastReader of exp.cntk:Train:reader\n", run.stderr)
        self.assertRegex(run.stderr, r"\nnote: for the text of file 'train.gz', which needs \d+ bytes unpacked\n")
        self.assertTrue(run.stderr.endswith("error: out of memory\n"), run.stderr[-200:])

    def test_help(self):
        for topic in ("", "SGD", "train", "Times", "UCIFastReader", "SimpleNetworkBuilder", "cvReader", "SetProperty",
                      "learningRatesPerMB", "randomize"):
            run = self.cntk("--help", *([topic] if topic else []))
            self.assertIn(topic, run.stdout)
        self.assertIn("did you mean 'Times'", self.last_line("--help", "Tims", status=2))
        for name in ("HTKMLFReader", "HTKMLFWriter", "ExperimentalHTKMLFReader"):
            text = self.cntk("--help", name).stdout
            self.assertTrue(text.startswith("readerType=HTKMLFReader   writerType=HTKMLFWriter\n"), text)
            self.assertIn("\nIn the writer block:\n  outputNodeNames ", text)

    def test_version(self):
        run = self.cntk("--version")
        for word in ("CNTK Classic", "CPU", "matrix products: own kernels", "OpenBLAS", "oneDNN", "CUDA", "MPI",
                     "readers: ", "UCIFastReader"):
            self.assertIn(word, run.stdout)

    def test_version_says_whether_workers_can_meet(self):
        library = CNTK.parent.parent / "lib" / "libcntkmpi.so"
        said = "built in ('%s')" % library if library.exists() else "not built in"
        self.assertIn("\nMPI: %s\n" % said, self.cntk("--version").stdout)
        program = self.folder / "bin" / "cntk"
        program.parent.mkdir()
        shutil.copy(CNTK, program)
        version = [str(program), "--version"]
        self.assertIn("\nMPI: not built in\n", subprocess.run(version, capture_output=True, text=True, check=True).stdout)
        self.write("lib/libcntkmpi.so", "no library")
        self.assertRegex(subprocess.run(version, capture_output=True, text=True, check=True).stdout,
                         "\nMPI: built in, but '%s/lib/libcntkmpi.so' cannot be opened: .*\n" % self.folder)

    def test_matrix_engine(self):
        version = self.cntk("--version").stdout
        for engine, name in (("own", "own kernels"), ("OpenBLAS", "OpenBLAS"), ("oneDNN", "oneDNN")):
            arguments = ("configFile=exp.cntk", "deviceId=-1", "makeMode=false", "traceLevel=2", "matrixEngine=" + engine)
            if name + " not found" in version:
                self.assertIn("matrixEngine is %s, but this library is not installed" % engine,
                              self.cntk(*arguments, status=3).stderr)
            else:
                self.assertRegex(self.cntk(*arguments).stderr, r"Product \d+ x \d+ .* float: " + name)

    # A plugin may need OpenBLAS, so the processor must be set before any plugin is loaded.
    def test_openblas_is_told_the_processor_unless_the_user_says_another(self):
        with mock.patch.dict(os.environ):
            os.environ.pop("OPENBLAS_CORETYPE", None)
            version = self.cntk("--version").stdout
        if "OpenBLAS not found" in version:
            self.skipTest("OpenBLAS is not installed")
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            flags = set(re.search(r"flags\s*:(.*)", file.read())[1].split())
        if {"avx512f", "avx512dq", "avx512bw"} <= flags:
            self.assertIn("OpenBLAS SkylakeX found", version)
        self.assertIn("OpenBLAS Nehalem found",
                      self.cntk("--version", environment={"OPENBLAS_CORETYPE": "Nehalem"}).stdout)


if __name__ == "__main__":
    main()
