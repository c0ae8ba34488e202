#!/usr/bin/env python3
"""Mistakes of users in the command line and the config: each message names the place, the value found and the remedy.

Every test compares the whole last line on standard error (or the whole warning).
"""
import os
import re

from EndToEnd import main
from Messages import CONFIG, MessagesTestCase


class ConfigMessagesTest(MessagesTestCase):
    def test_no_arguments(self):
        self.assertIn("  cntk --help [WORD]", self.last_line(status=2))

    def test_unknown_option(self):
        self.assertEqual(self.last_line("--chek", status=2).split(";")[0], "error: unknown option '--chek'")

    def test_space_after_config_file(self):
        self.assertEqual(
            self.last_line("configFile=", "exp.cntk", status=2),
            "command line:1:1: error: argument 1 'configFile=' names no file; expected configFile=<file>[+<file>...], "
            "without blanks around '='; a blank before 'exp.cntk' makes it an argument of its own")

    def test_misspelt_config_file_argument(self):
        self.assertEqual(self.last_line("confgFile=exp.cntk", status=2),
                         "command line:1:1: error: unknown argument 'confgFile'; did you mean configFile=exp.cntk?")

    def test_missing_config_file(self):
        folder = os.path.realpath(self.folder)
        self.assertEqual(
            self.last_line("configFile=exq.cntk", status=3),
            "command line:1:1: error: config file 'exq.cntk' does not exist; looked for '%s/exq.cntk', working "
            "directory is '%s'; did you mean 'exp.cntk' in folder '.'?" % (folder, folder))

    def test_not_a_boolean(self):
        self.edit("maxEpochs=1", "maxEpochs=1; keepCheckPointFiles=maybe")
        self.assertEqual(
            self.error(),
            "exp.cntk:7:38: error: 'Train:SGD:keepCheckPointFiles' is 'maybe', expected a boolean: true, t or 1, "
            "false, f or 0, in any case")

    def test_not_a_number(self):
        self.edit("maxEpochs=1", "maxEpochs=many")
        self.assertEqual(
            self.error(),
            "exp.cntk:7:15: error: 'Train:SGD:maxEpochs' is 'many', expected a whole number that is not negative")

    def test_train_does_not_adapt(self):  # reported before the training
        error = self.error("Train=[SGD=[adaptationRegType=KL; adaptationRegWeight=0.5]]")
        self.assertTrue(error.startswith("command line:1:51: error: adaptationRegType=KL needs an original model"), error)

    def test_default_is_no_block(self):
        self.edit("maxEpochs=1", "maxEpochs=1; AutoAdjust=[autoAdjustLR=adjustAfterEpoch]")
        self.cntk("configFile=exp.cntk", "Train=[SGD=[AutoAdjust=default]]")
        self.assertEqual(self.warnings("Train=[SGD=[AutoAdjust=default]]"), [])
        self.assertEqual(self.warnings("Train=[cvReader=[readerType=x]]", "Train=[cvReader=default]"), [])
        self.write("n.ndl", "x=Input(2, tag=feature)\nz=Scale(2, x, tag=output)\n")
        self.assertEqual(self.warnings("command=W", "W=[action=write; outputPath=out; format=[type=real]]",
                                       "W=[modelPath=default; format=default; NDLNetworkBuilder=[networkDescription=n.ndl]]",
                                       "W=[reader=[readerType=UCIFastReader; file=train.txt; x=[dim=2]]]"), [])

    def test_values_that_are_more_than_a_number(self):
        for old, new, place, found, expected in (
                ("maxEpochs=1", "maxEpochs", "7:5", "maxEpochs' is 'true",
                 "a whole number that is not negative; a name without a value stands for true"),
                ("minibatchSize=4", "minibatchSize=4#old", "8:19", "minibatchSize' is '4#old",
                 "a whole number that is not negative; a comment begins after a blank"),
                ("minibatchSize=4", "L2RegWeight=-1#INF", "8:17", "L2RegWeight' is '-1#INF", "a number >= 0"),
                ("minibatchSize=4", "minibatchSize=4 8", "8:19", "minibatchSize' is '4 8",
                 "a whole number that is not negative; elements of a list are separated by ':'"),
                ("minibatchSize=4", "traceLevel=1 2", "8:16", "traceLevel' is '1 2",
                 "a whole number between -2147483648 and 2147483647; elements of a list are separated by ':'")):
            self.edit(old, new)
            self.assertEqual(self.error(), "exp.cntk:%s: error: 'Train:SGD:%s', expected %s" % (place, found, expected))

    def test_comment_of_another_language(self):
        self.edit("    minibatchSize=4", "    // minibatchSize\n    minibatchSize=4")
        self.assertEqual(self.warnings(), ["WARNING: exp.cntk:8:5: unknown key '// minibatchSize' in block 'Train:SGD'; "
                                           "did you mean 'minibatchSize'?; a comment begins with '#'"])

    def test_misspelt_key(self):
        self.edit("minibatchSize=4", "minbatchSize=4")
        self.assertEqual(self.warnings(), ["WARNING: exp.cntk:8:5: unknown key 'minbatchSize' in block 'Train:SGD'; "
                                           "did you mean 'minibatchSize'?"])

    def test_misspelt_key_of_a_reader(self):
        self.edit("readerType=UCIFastReader\n    file=train.txt\n    randomize",
                  "readrType=UCIFastReader\n    file=train.txt\n    randomize")
        self.assertEqual(self.warnings(), ["WARNING: exp.cntk:12:5: unknown key 'readrType' in block 'Train:reader'; "
                                           "did you mean 'readerType'?"])

    def test_misspelt_alias(self):
        self.edit("evalCriterion=", "nodeTyp=Tanh; evalCriterion=")
        self.assertEqual(self.warnings(), ["WARNING: exp.cntk:5:44: unknown key 'nodeTyp' in block "
                                           "'Train:SimpleNetworkBuilder'; did you mean 'nodeType'?"])

    def test_misspelt_name_that_leaves_something_missing(self):
        """The note before the error names the possible cause."""
        for old, new, place, slip, error in (
                ("learningRatesPerSample", "learnRatesPerSample", "9:5", "unknown key 'learnRatesPerSample' in block "
                 "'Train:SGD'; did you mean 'learningRatesPerSample'?", "no learning rate is given"),
                ("SGD=[", "SDG=[", "6:3", "unused block 'SDG' in block 'Train'; did you mean 'SGD'?",
                 "command 'Train' has no SGD block"),
                ("reader=[", "readr=[", "11:3", "unused block 'readr' in block 'Train'; did you mean 'reader'?",
                 "command 'Train' has no reader block"),
                ("SimpleNetworkBuilder=[", "SimpleNetworkBuilders=[", "5:3", "unused block 'SimpleNetworkBuilders' in "
                 "block 'Train'; did you mean 'SimpleNetworkBuilder'?", "command 'Train' has no network to train"),
                ("layerSizes=", "layerSize=", "5:26", "unknown key 'layerSize' in block 'Train:SimpleNetworkBuilder'; "
                 "did you mean 'layerSizes'?", "required parameter missing: exp.cntk:Train:SimpleNetworkBuilder:"
                 "layerSizes; did you mean 'layerSize'?")):
            with self.subTest(new):
                self.write("exp.cntk", CONFIG.replace(old, new, 1))
                lines = self.cntk("configFile=exp.cntk", status=3).stderr.splitlines()
                self.assertIn(error, lines[-1])
                self.assertIn("note: exp.cntk:%s: %s" % (place, slip), lines)

    def test_misspelt_key_of_a_stream(self):
        self.edit("    features=[ dim=2; start=0 ]\n    labels=[ dim=1; start=2; labelDim=2; labelMappingFile=map.txt ]\n"
                  "  ]\n]\nTest=", "    features=[ dim=2; strat=0 ]\n    labels=[ dim=1; start=2; labelDim=2; "
                  "labelMapingFile=x; labelMappingFile=map.txt ]\n  ]\n]\nTest=")
        self.assertEqual(self.warnings(),
                         ["WARNING: exp.cntk:15:23: unknown key 'strat' in block 'Train:reader:features'; did you mean "
                          "'start'?",
                          "WARNING: exp.cntk:16:42: unknown key 'labelMapingFile' in block 'Train:reader:labels'; did "
                          "you mean 'labelMappingFile'?"])

    def test_stream_with_the_name_of_a_command(self):
        self.edit("Train", "Features")
        self.assertEqual(self.warnings(), [])

    def test_misspelt_key_of_a_stream_inside_of_input(self):
        self.edit("    features=[ dim=2; start=0 ]\n    labels=[ dim=1; start=2; labelDim=2; labelMappingFile=map.txt ]\n"
                  "  ]\n]\nTest=", "    input=[ features=[ alais=x; alias=x; dim=2; format=dense ]\n"
                  "            labels=[ dim=2; format=dense ] ]\n  ]\n]\nTest=")
        self.write("exp.cntk", self.read("exp.cntk").replace("UCIFastReader", "CNTKTextFormatReader", 1))
        self.write("train.txt", "|x 1 0 |labels 1 0\n|x 0 1 |labels 0 1\n")
        self.assertEqual(self.warnings(), ["WARNING: exp.cntk:15:24: unknown key 'alais' in block "
                                           "'Train:reader:input:features'; did you mean 'alias'?"])

    def test_keys_of_streams_may_stand_in_the_reader_block(self):
        self.edit("    features=[ dim=2; start=0 ]\n    labels=[ dim=1; start=2; labelDim=2; labelMappingFile=map.txt ]\n"
                  "  ]\n]\nTest=", "    format=dense; dim=2; fromat=sparse\n"
                  "    input=[ features=[ alias=x ]; labels=[ ] ]\n  ]\n]\nTest=")
        self.write("exp.cntk", self.read("exp.cntk").replace("UCIFastReader", "CNTKTextFormatReader", 1))
        self.write("train.txt", "|x 1 0 |labels 1 0\n|x 0 1 |labels 0 1\n")
        self.assertEqual(self.warnings(), ["WARNING: exp.cntk:15:26: unknown key 'fromat' in block 'Train:reader'; did you "
                                           "mean 'format'?"])
        self.cntk("configFile=exp.cntk")

    def test_old_configs_describe_a_binary_cache(self):
        self.edit("labels=[ dim=1; start=2; labelDim=2; labelMappingFile=map.txt ]\n  ]\n]\nTest=",
                  "writerType=BinaryWriter; wfile=c.bin; wsize=256; wrecords=5; windowSize=10\n"
                  "    labels=[ dim=1; start=2; labelDim=2; labelMappingFile=map.txt; elementSize=4; sectionType=labels\n"
                  "      mapping=[ wrecords=2; elementSize=10; sectionType=labelMapping ]\n"
                  "      category=[ dim=2; sectionType=categoryLabels; elementSze=4 ] ]\n  ]\n]\nTest=")
        self.assertEqual(self.warnings(),
                         ["WARNING: exp.cntk:19:53: unknown key 'elementSze' in block 'Train:reader:labels:category'; "
                          "did you mean 'elementSize'?",
                          "WARNING: UCIFastReader: writerType, wfile and other keys of the binary cache are not needed "
                          "and not used; parsed data are kept in memory"])

    def test_parts_of_a_reader_share_keys(self):
        self.edit("    features=[ dim=2; start=0 ]\n    labels=[ dim=1; start=2; labelDim=2; labelMappingFile=map.txt ]\n"
                  "  ]\n]\nTest=", "    minibatchMode=partial; traceLevel=0; readers=a:b; zebra=1\n"
                  "    a=[ features=[ dim=2; start=0 ] ]\n"
                  "    b=[ labels=[ dim=1; start=2; labelDim=2; labelMappingFile=map.txt ] ]\n  ]\n]\nTest=")
        self.assertEqual(self.warnings(), ["WARNING: exp.cntk:15:55: unknown key 'zebra' in block 'Train:reader'"])

    def test_streams_of_ioNodeNames_are_readers(self):
        self.edit("    features=[ dim=2; start=0 ]\n    labels=[ dim=1; start=2; labelDim=2; labelMappingFile=map.txt ]\n"
                  "  ]\n]\nTest=", "    ioNodeNames=one; equalLength=false\n"
                  "    one=[ file=words.txt; features=[ dim=0 ]; wordContxt=0\n"
                  "          k=[ token=map.txt; labelType=category ]; labels=[ tokn=x; token=map.txt ] ]\n  ]\n]\nTest=")
        self.write("exp.cntk", self.read("exp.cntk").replace("UCIFastReader", "LUSequenceReader", 1))
        self.write("words.txt", "yes no\nno no\n\n")
        self.assertEqual(self.warnings(), ["WARNING: exp.cntk:16:47: unknown key 'wordContxt' in block 'Train:reader:one'; "
                                           "did you mean 'wordContext'?",
                                           "WARNING: exp.cntk:17:61: unknown key 'tokn' in block 'Train:reader:one:labels'; "
                                           "did you mean 'token'?"])
        self.cntk("configFile=exp.cntk")

    def test_variables_of_a_shared_file(self):
        self.write("shared.cntk", "FeatDim=2\nOtherCorpus=x\nmodelPth=y\n")
        self.write("exp.cntk", "include=shared.cntk\n" + CONFIG.replace("features=[ dim=2", "features=[ dim=$FeatDim$"))
        self.assertEqual(self.warnings(), ["WARNING: shared.cntk:3:1: unknown key 'modelPth' at the root of the config; "
                                           "did you mean 'modelPath'?"])
        self.assertEqual(self.warnings("OtherCorpus=y", "include=shared.cntk")[-1][:60],
                         "WARNING: shared.cntk:3:1: unknown key 'modelPth' at the root")

    def test_value_where_a_block_belongs(self):
        self.edit("maxEpochs=1", "maxEpochs=1; AutoAdjust=adjustAfterEpoch")
        self.assertEqual(self.warnings(), ["WARNING: exp.cntk:7:18: 'AutoAdjust=adjustAfterEpoch' has no effect in block "
                                           "'Train:SGD'; expected a block, AutoAdjust=[ name=value ... ]"])

    def test_bracket_on_the_line_below(self):
        for block in "SGD", "SimpleNetworkBuilder", "reader":
            self.edit("  %s=[" % block, "  %s\n  [" % block)
            place = {"SimpleNetworkBuilder": 5, "SGD": 6, "reader": 11}[block]
            self.assertEqual(self.error(), "exp.cntk:%d:3: error: 'Train:%s' is 'true', expected a block: [ name=value ... ]; "
                                           "a name without a value stands for true, and the bracket belongs on its line: "
                                           "%s=[" % (place, block, block))
        for block, old in (("SGD", "SGD=["), ("SimpleNetworkBuilder", "SimpleNetworkBuilder=[")):
            self.edit(old, "%s=net\n  other=[" % block)
            self.assertIn("error: 'Train:%s' is 'net', expected a block: [ name=value ... ]" % block, self.error())

    def test_parameters_of_a_mode_that_is_off(self):
        self.edit("maxEpochs=1", "maxEpochs=1; AutoAdjust=[ autoAdjustLR=none; loadBestModel=true; numPrevLearnRate=3 ]")
        place = "WARNING: exp.cntk:7:"
        self.assertEqual(self.warnings(), [
            place + "64: loadBestModel has no effect: only autoAdjustLR=adjustAfterEpoch reads it",
            place + "87: numPrevLearnRate has no effect: only autoAdjustLR=searchBeforeEpoch reads it"])
        self.edit("maxEpochs=1", "maxEpochs=1; loadBestModel=true")
        self.assertEqual(self.warnings(), [])
        self.edit("maxEpochs=1", "maxEpochs=1; AutoAdjust=[ autoAdjustLR=after; loadBestModel=true ]")
        self.assertEqual(self.warnings(), [])

    def test_numbers_of_another_update_rule(self):
        self.edit("maxEpochs=1", "maxEpochs=1; gradUpdateType=adagrad; rms_gamma=0.9; momentumPerMB=0.5")
        self.assertEqual(self.warnings(), [
            "WARNING: exp.cntk:7:52: rms_gamma has no effect: only gradUpdateType=rmsProp reads it",
            "WARNING: exp.cntk:7:71: momentumPerMB has no effect: gradUpdateType=adagrad has no momentum"])
        self.cntk("configFile=exp.cntk", "strictConfig=true")
        self.edit("maxEpochs=1", "maxEpochs=1; gradUpdateType=adagrad; rms_gamma=0.99; momentumPerMB=0.9")
        self.assertEqual(self.warnings(), [])

    def test_infinite_numbers(self):
        self.assertIn("block 'exp.cntk:Train:SGD': L1RegWeight is inf; expected a finite number",
                      self.error("Train=[SGD=[L1RegWeight=1#INF]]"))
        self.assertEqual(self.warnings("Train=[SGD=[clippingThresholdPerSample=1#INF]]"), [])

    def test_an_empty_value_where_a_block_belongs_says_that_there_is_none(self):
        self.edit("maxEpochs=1", 'maxEpochs=1; AutoAdjust=""')
        self.assertEqual(self.warnings(), [])

    def test_include_line_with_blanks(self):
        self.write("exp.cntk", "include = all.cntk\n" + CONFIG.replace("SGD=[\n", "SGD=[\n  include=all.cntk\n"))
        self.assertEqual(self.warnings(), [
            "WARNING: exp.cntk:%s: '%s' includes nothing %s; an include line begins with include= in its first column: "
            "include=all.cntk" % where for where in (
                ("1:1", "include = all.cntk", "at the root of the config"),
                ("8:3", "include=all.cntk", "in block 'Train:SGD'"))])

    def test_characters_that_look_like_others(self):
        self.edit("    minibatchSize=4", "    \u00a0minibatchSize=4")
        self.assertEqual(self.warnings(), [
            "WARNING: exp.cntk:8:5: unknown key '\u00a0minibatchSize' in block 'Train:SGD'; did you mean "
            "'minibatchSize'?; it holds '\u00a0' (U+00A0)"])
        self.edit("file=train.txt", "file=\u201ctrain.txt\u201d")
        self.assertEqual(self.error(status=4), "exp.cntk:13:10: error: data file '\u201ctrain.txt\u201d' does not exist; "
                         "it holds '\u201c' (U+201C)")

    def test_variable_with_one_dollar_sign(self):
        self.edit("file=train.txt", "file=$Dir/train.txt")
        self.assertEqual(self.error(status=4), "exp.cntk:13:10: error: data file '$Dir/train.txt' does not exist; "
                         "write a variable between two dollar signs, $name$")

    def test_nodes_to_trace(self):
        self.edit("maxEpochs=1", "maxEpochs=1; traceNodeNamesReal=HLst")
        message = ("exp.cntk:7:37: error: traceNodeNamesReal lists 'HLst', but there is no such node in the network; did "
                   "you mean 'HLast'?")
        self.assertIn(message, self.error())
        self.assertIn(message, self.error("--check"))

    def test_done_file_that_cannot_be_written(self):
        (self.folder / "done").mkdir()
        self.assertIn("error: ", self.error("doneFile=done", status=6))
        self.assertFalse((self.folder / "m.dnn").exists(), "the training should not have begun")

    def test_nan(self):
        self.edit("maxEpochs=1", "maxEpochs=1; AutoAdjust=[ reduceLearnRateIfImproveLessThan=nan ]")
        self.assertEqual(self.error(), "exp.cntk:7:64: error: 'Train:SGD:AutoAdjust:reduceLearnRateIfImproveLessThan' is "
                                       "'nan', expected a number, which nan is not")

    def test_criterion_that_is_no_number(self):
        self.edit("SimpleNetworkBuilder=[ layerSizes=2:3:2; evalCriterion=ErrorPrediction ]",
                  "NDLNetworkBuilder=[ networkDescription=net.ndl ]")
        self.write("net.ndl", "features=Input(2, tag=feature)\nlabels=Input(2, tag=label)\n"
                              "ce=Sigmoid(features, tag=criterion)\n")
        self.assertEqual(self.error(), "net.ndl:3:4: error: training criterion 'ce' (Sigmoid) has dimension 2 x *; "
                                       "criterion nodes to evaluate must have dimension 1x1")

    def test_nodes_that_others_complain_about(self):
        self.edit("SimpleNetworkBuilder=[ layerSizes=2:3:2; evalCriterion=ErrorPrediction ]",
                  "NDLNetworkBuilder=[ networkDescription=net.ndl ]")
        before = "features=Input(2, tag=feature)\nlabels=Input(2, tag=label)\n"
        criterion = "ce=SquareError(labels, features, tag=criterion)\n"
        for arguments in [], ["--check"]:
            # in the macros around the node
            self.write("net.ndl", "F(a)=Tanh(a)\nG(a) { y=F(a, tag=eval) }\n" + before + criterion + "e=G(features)\n")
            log = self.cntk("configFile=exp.cntk", "command=Train", *arguments, status=3).stderr
            self.assertIn("note: in macro 'F', called at net.ndl:2:10\nnote: in macro 'G', called at net.ndl:6:3\n", log)
            self.assertIn("net.ndl:1:6: error: evaluation node 'e.y.unnamed1' (Tanh) has dimension 2 x *; criterion nodes "
                          "to evaluate must have dimension 1x1\n", log)
            # an array, not a tag
            self.write("net.ndl", before + criterion + "y=Tanh(features)\nEvalNodes=(y)\n")
            self.assertIn("net.ndl:4:3: error: evaluation node 'y' (Tanh)", self.error(*arguments))
            self.write("net.ndl", before + "ce=SquareError(labels, features)\n")
            self.assertIn("net.ndl:3:4: error: the network has no criterion node to train; candidates: 'ce' (SquareError)",
                          self.error(*arguments))
            self.write("net.ndl", (before + criterion).replace("Input(2", "Input(3"))
            self.assertIn("net.ndl:2:8: error: input node 'labels' of the network has dimension 3, but stream 'labels'",
                          self.error(*arguments))
            self.assertFalse((self.folder / "m.dnn.0").exists(), "the next run would continue from this network")
            self.write("net.ndl", (before + criterion).replace("features", "feature"))
            self.assertIn("net.ndl:1:9: error: no stream of the reader feeds input node 'feature' of the network",
                          self.error(*arguments))
            self.write("net.ndl", before + "y=Tanh(features)\n")
            self.assertIn("exp.cntk:5:42: error: the network has no criterion node to train; it holds no node of a "
                          "criterion type", self.error(*arguments))

    def test_description_that_is_none(self):
        self.edit("SimpleNetworkBuilder=[ layerSizes=2:3:2; evalCriterion=ErrorPrediction ]",
                  "NDLNetworkBuilder=[ networkDescription=net.ndl ]")
        self.write("net.ndl", "# nothing yet\n")
        self.assertEqual(self.error(), "exp.cntk:5:42: error: the network has no feature node and no input at all; define "
                                       "one, such as features=Input(dimension, tag=feature)")
        (self.folder / "net.ndl").unlink()
        (self.folder / "net.ndl").mkdir()
        self.assertEqual(self.error(), "exp.cntk:5:42: error: NDL file 'net.ndl' is a folder, expected a file")

    def test_unknown_criterion_nodes(self):
        unknown = "names 'cee', but there is no such node in the network"
        for key in "trainCriterionNodeName", "evalCriterionNodeName":
            self.edit("maxEpochs=1", "maxEpochs=1; %s=cee" % key)
            place = 18 + len(key) + 1
            self.assertIn("exp.cntk:7:%d: error: %s %s" % (place, key, unknown), self.error())
        self.write("exp.cntk", CONFIG)
        self.train()
        self.assertIn("error: evalNodeNames " + unknown, self.error("command=Test", "Test=[evalNodeNames=cee]"))
        self.assertIn("command line:1:", self.error("command=Test", "Test=[evalNodeNames=cee]"))

    def test_label_map_of_a_section_that_is_not_there(self):
        self.assertEqual(self.error("command=Map", "Map=[action=createLabelMap; section=Trian]"),
                         "command line:1:69: error: section names 'Trian', but the config has no block of that name; "
                         "expected one with a reader, such as the block of a train command; did you mean 'Train'?")

    def test_label_map_of_outputs_that_is_not_there(self):
        self.train()
        self.edit("  outputPath=out/values", "  outputPath=out/values\n  format=[ type=category; labelMappingFile=mapp.txt ]")
        self.assertEqual(self.error("command=Write", status=4),
                         "exp.cntk:36:44: error: label map 'mapp.txt' does not exist; did you mean 'map.txt' in folder "
                         "'.'?")

    def test_blocks_that_messages_ask_for_can_be_written_so(self):
        self.write("words.txt", "0 1 yes 0\n")
        for reader in ("UCIFastReader", "CNTKTextFormatReader", "HTKMLFReader", "LMSequenceReader"):
            block = "  reader=[\n    readerType=%s; file=train.txt; wordclass=words.txt\n    %s\n  ]\n]\nTest="
            labels = "a=[labelDim=1]; b=[labelDim=1]; c=[labelDim=1]" if reader == "LMSequenceReader" else ""
            self.write("exp.cntk", CONFIG.replace(CONFIG[CONFIG.index("  reader=["):CONFIG.index("Test=")] + "Test=",
                                                  block % (reader, labels), 1))
            asked = re.search(r"such as (\w+=\[.*\])", self.error())
            self.assertIsNotNone(asked, reader)
            self.assertIn("; ", asked[1])
            self.write("exp.cntk", self.read("exp.cntk").replace("words.txt\n    " + labels, "words.txt\n    " + asked[1], 1))
            run = self.cntk("configFile=exp.cntk", status=None)
            self.assertNotIn(asked[0], run.stderr)
            self.assertNotIn("share a line", run.stderr)
        self.write("exp.cntk", CONFIG[:CONFIG.index("  reader=[")] + CONFIG[CONFIG.index("]\nTest="):])
        self.assertIn("reader=[readerType=...; file=...; features=[...] labels=[...]]", self.error())

    def test_writer_without_the_block_of_a_node(self):
        self.train()
        self.edit("  outputPath=out/values", "  outputNodeNames=HLast\n"
                  "  writer=[ writerType=LUSequenceWriter; outputNodeNames=HLst; HLast=[ file=o.txt; token=map.txt ] ]")
        self.assertEqual(self.error("command=Write"),
                         "exp.cntk:36:57: error: outputNodeNames lists 'HLst', but the writer has no block HLst=[...] "
                         "that names the file for its values; did you mean 'HLast'?")

    def test_a_listed_node_that_the_writer_does_not_write(self):
        self.train()
        self.edit("  outputPath=out/values", "  outputNodeNames=HLast:posteriorprob\n"
                  "  writer=[ writerType=BinaryWriter; wfile=o.bin; HLast=[ sectionType=data ] ]")
        warning = ("WARNING: exp.cntk:35:19: outputNodeNames lists 'PosteriorProb', but the BinaryWriter writes only "
                   "HLast; expected a block PosteriorProb=[...] in the writer, too")
        self.assertEqual(self.warnings("command=Write"), [warning])
        self.assertIn(warning, self.cntk("configFile=exp.cntk", "command=Write").stderr)
        self.assertEqual(self.warnings("command=Write", "Write=[outputNodeNames=hlast]"), [])

    def test_sections_of_a_binary_writer_have_keys_that_the_nodes_decide(self):
        self.train()
        self.edit("  outputPath=out/values", "  outputNodeNames=HLast\n  writer=[ writerType=BinaryWriter; wfile=o.bin\n"
                  "    HLast=[ sectionType=data; dim=2; elementSize=4; labelDim=0; wrecords=5; elementSze=4\n"
                  "      stats=[ sectionType=stats; elementSize=8; wrecords=9; dim=1; compute=mean ] ] ]")
        self.assertEqual(self.warnings("command=Write"),
                         ["WARNING: exp.cntk:37:77: unknown key 'elementSze' in block 'Write:writer:HLast'; did you mean "
                          "'elementSize'?"])

    def test_readers_in_file_order_know_randomize(self):
        for reader in ("BinaryReader", "SparsePCReader", "LibSVMBinaryReader"):
            self.write("exp.cntk", CONFIG.replace("UCIFastReader\n    file=train.txt\n    randomize=none",
                                                  reader + "\n    file=none.bin\n    randomize=auto; randomise=auto", 1))
            run = self.cntk("configFile=exp.cntk", "--check", status=None)
            self.assertEqual([line for line in run.stderr.splitlines() if "'random" in line],
                             ["WARNING: exp.cntk:14:21: unknown key 'randomise' in block 'Train:reader'; did you mean "
                              "'randomize'?"], reader)

    def test_misspelt_key_of_a_writer(self):
        self.train()
        self.edit("  outputPath=out/values", "  writer=[ writerType=LUSequenceWriter; outputNodeNames=HLast; labels=x\n"
                  "    HLast=[ file=o.txt; token=map.txt; nbst=2 ] ]")
        self.assertEqual(self.warnings("command=Write"),
                         ["WARNING: exp.cntk:35:64: unknown key 'labels' in block 'Write:writer'",
                          "WARNING: exp.cntk:36:40: unknown key 'nbst' in block 'Write:writer:HLast'; did you mean "
                          "'nbest'?"])

    def test_column_far_beyond_the_line(self):
        self.edit("labels=[ dim=1; start=2; labelDim=2; labelMappingFile=map.txt ]\n  ]\n]\nTest=",
                  "labels=[ dim=1; start=2000000000; labelDim=2; labelMappingFile=map.txt ]\n  ]\n]\nTest=")
        self.assertEqual(self.error(status=4), "error: train.txt:1:10: the line has 3 columns, but 'labels' is column "
                                               "2000000000 (counted from 0)")

    def test_streams_of_different_length(self):
        self.write("exp.cntk", CONFIG.replace("UCIFastReader", "CNTKTextFormatReader", 1)
                   .replace("features=[ dim=2; start=0 ]", "input=[ features=[ dim=2; format=dense ]", 1)
                   .replace("labels=[ dim=1; start=2; labelDim=2; labelMappingFile=map.txt ]",
                            "labels=[ dim=2; format=dense ] ]", 1))
        self.write("train.txt", "7 |features 1 0 |labels 1 0\n7 |features 0 1\n")
        self.assertEqual(self.error(status=4),
                         "error: sequence '7' has 1 sample of stream 'labels' (from 'train.txt', dim=2 at exp.cntk:16:18), "
                         "but 2 of 'features'; expected as many of each, since their inputs share an axis")

    def test_schedule_without_a_value(self):
        self.edit("maxEpochs=1", "maxEpochs=1; dropoutRate=()")
        self.assertEqual(self.error(), "exp.cntk:7:30: error: 'Train:SGD:dropoutRate' is '()', expected at least one value")

    def test_label_maps_from_the_reader_of_a_training(self):
        self.edit("modelPath=m.dnn\nTrain=[", "Train=[\n  modelPath=m.dnn")
        self.assertEqual(self.warnings("command=Map", "Map=[action=createLabelMap; section=Train]"), [])

    def test_strict_config_makes_it_an_error(self):
        self.edit("minibatchSize=4", "minbatchSize=4")
        self.assertEqual(self.error("strictConfig=true"),
                         "exp.cntk:8:5: error: unknown key 'minbatchSize' in block 'Train:SGD'; did you mean "
                         "'minibatchSize'?")

    def test_override_that_has_no_effect(self):
        self.assertEqual(self.warnings("maxEpochs=9"),
                         ["WARNING: command line:1:21: 'maxEpochs=9' has no effect: 'Train:SGD:maxEpochs' at "
                          "exp.cntk:7:15 has precedence; to override it write Train=[SGD=[maxEpochs=...]]"])
        for block, path in (("SGD=[maxEpochs=9]", "Train=[SGD=[...]]"), ("reader=[file=x]", "Train=[reader=[...]]"),
                            ("labels=[dim=9]", "Train=[reader=[labels=[...]]]")):
            (warning,) = self.warnings(block)
            self.assertRegex(warning, r"^WARNING: command line:1:21: '%s=\[\.\.\.\]' has no effect: 'Train:[^']*' at "
                                      r"exp\.cntk:\d+:\d+ has precedence; to override it write %s$"
                             % (block.split("=")[0], re.escape(path)))
        self.assertEqual(self.warnings("Train=[SGD=[maxEpochs=1]]"), [])

    def test_two_names_of_a_parameter(self):
        self.assertEqual(self.warnings("Train=[SGD=[learningRatePerSample=0.5]]"),
                         ["WARNING: command line:1:33: 'learningRatePerSample=0.5' has no effect in block 'Train:SGD': "
                          "'learningRatesPerSample=0.1' at exp.cntk:9:28 is the same parameter"])
        self.assertEqual(self.warnings("Train=[SGD=[learningRatePerSample=0.1]]"), [])
        self.assertEqual(self.warnings("Train=[SimpleNetworkBuilder=[nodeType=Tanh; layerTypes=ReLU]]"),
                         ["WARNING: command line:1:50: 'nodeType=Tanh' has no effect in block "
                          "'Train:SimpleNetworkBuilder': 'layerTypes=ReLU' at command line:1:76 is the same parameter"])
        self.assertEqual(self.warnings("precision=double", "type=float"),
                         ["WARNING: command line:1:38: 'type=float' has no effect at the root of the config: 'precision=double' at "
                          "command line:1:31 is the same parameter"])

    def test_parameters_of_the_original_without_effect(self):
        keys = ("excludedDevices=1", "traceGPUMemoryAllocations=1", "hyperCompressMemory=true", "perfTraceLevel=1",
                "randomSeed=2", "randomSeedOffset=3", "lockGPU=false", "Train=[SimpleNetworkBuilder=[deviceId=-1]]")
        self.assertEqual(self.warnings(*keys), [])
        keys = ("maxSamplesInRAM=10", "numSubminibatches=2")
        self.train()
        self.assertEqual(self.warnings("command=Test", *["Test=[%s]" % key for key in keys]), [])
        self.assertEqual(self.warnings("command=Write", "Write=[nodeUnitTest=true]"), [])

    def test_parallel_training(self):
        method = "Train=[SGD=[ParallelTrain=[parallelizationMethod=DataParallelSGD;DataParallelSGD=[gradientBits=%s]]]]"
        self.assertEqual(self.warnings(method % 1),
                         ["WARNING: command line:1:33: ParallelTrain has no effect without parallelTrain=true and several "
                          "processes (mpiexec -n 4 cntk parallelTrain=true ...)"])
        self.assertIn("block 'exp.cntk:Train:SGD': gradientBits is 40; expected 1 to 32, the bits of a float",
                      self.error(method % 40))
        run = self.cntk("configFile=exp.cntk", "parallelTrain=true", "stderr=log/x")
        self.assertIn("Redirecting stderr to file log/x_Train.logrank0\n", run.stderr)
        self.assertIn("__COMPLETED__", self.read("log/x_Train.logrank0"))
        self.assertIn("WARNING: parallelTrain=true, but this is the only process (start several as in: mpiexec -n 4 cntk "
                      "...); it trains alone\n", self.read("log/x_Train.logrank0"))

    def test_recurrent_layer_that_is_not_there(self):
        self.edit("layerSizes=2:3:2;", "layerSizes=2:3:2; recurrentLayer=2; rnnType=SIMPLERNN;")
        run = self.cntk("configFile=exp.cntk", "--check", status=None)
        self.assertIn("WARNING: exp.cntk:5:59: recurrentLayer: 2 names no layer; layerSizes has 1 hidden layer, numbered "
                      "from 1\n", run.stderr)

    def test_recurrent_layers_behind_one_that_no_layer_takes(self):
        """The numbers are used in order: a number without a layer keeps all later layers from being recurrent."""
        self.edit("layerSizes=2:3:2;", "layerSizes=2:3:4:5:2; lookupTableOrder=1; rnnType=$kind$; recurrentLayer=$layers$;")

        def warnings(kind, layers):
            log = self.cntk("configFile=exp.cntk", "kind=" + kind, "layers=" + layers, "--check", status=None).stderr
            return re.findall(r"recurrentLayer: (.*)\n", log)
        behind = " has no effect behind %s: the numbers are used in order, and no layer uses this one; remove it"
        lookup = "1 has no effect: layer 1 is the lookup table"
        self.assertEqual(warnings("LSTM", "2"), [])
        self.assertEqual(warnings("LSTM", "2:3"), [])
        self.assertEqual(warnings("LSTM", "1"), [])  # the first one always is
        self.assertEqual(warnings("LSTM", "1:2"), ["2" + behind % 1])
        self.assertEqual(warnings("CRF", "2:3"), [])
        self.assertEqual(warnings("CRF", "1:2:3"), [lookup, "2" + behind % 1, "3" + behind % 1])
        self.assertEqual(warnings("LBLM", "1"), [lookup])
        self.assertEqual(warnings("SIMPLERNN", "1:1:3"), ["1 behind 1 has no effect; expected rising numbers",
                                                           "3" + behind % 1])

    def test_network_that_cannot_be_built(self):
        self.edit("layerSizes=2:3:2;", "layerSizes=2:3:2; rnnType=CLASSLM;")
        self.assertEqual(self.error(), "exp.cntk:5:3: error: vocabSize is not given, but the last of the layerSizes is 2; "
                                       "expected the same: the vocabulary size should be the same as the output layer size")

    def test_auto_adjust_around_sgd(self):
        self.write("more.cntk", "AutoAdjust=[ autoAdjustLR=none; loadBestModel=true ]\n")
        self.assertEqual(self.warnings("configFile=more.cntk"),
                         ["WARNING: more.cntk:1:47: loadBestModel has no effect: only autoAdjustLR=adjustAfterEpoch "
                          "reads it"])
        self.edit("  SGD=[", "  AutoAdjust=[ autoAdjustLR=adjustAfterEpoch ]\n  SGD=[")  # the inner value counts
        self.assertEqual(self.warnings("configFile=more.cntk"), [])

    def test_builder_left_in_a_write_block(self):
        self.train()
        self.edit("  outputPath=out/values", "  outputPath=out/values\n  SimpleNetworkBuilder=[ layerSizes=2:2 ]")
        self.assertEqual(self.warnings("command=Write"),
                         ["WARNING: exp.cntk:36:3: 'SimpleNetworkBuilder' is not read in block 'Write'; it belongs "
                          "in the block of a train command or the block of a trainSequence command or the block of a "
                          "gradientCheck command"])

    def test_list_with_the_wrong_separator(self):
        self.edit("learningRatesPerSample=0.1", "learningRatesPerSample=0.5;0.2;0.1")
        self.assertEqual(
            self.error(),
            "exp.cntk:9:32: error: 'learningRatesPerSample=0.5;0.2;0.1' in block 'Train:SGD' falls into "
            "'learningRatesPerSample=0.5', '0.2', '0.1': the elements of a list are separated by ':', write "
            "learningRatesPerSample=0.5:0.2:0.1")

    def test_list_with_the_wrong_separator_that_is_an_error(self):
        self.edit("layerSizes=2:3:2;", "layerSizes=2;3;2;")
        run = self.cntk("configFile=exp.cntk", status=3)
        self.assertIn("write layerSizes=2:3:2", run.stderr)
        self.assertIn("layerSizes needs at least two entries", run.stderr.rstrip().splitlines()[-1])

    def test_command_not_defined(self):
        self.edit("command=Train", "command=Trian")
        self.assertEqual(self.error(),
                         "exp.cntk:1:9: error: command 'Trian' is listed but not defined; it needs a block "
                         "Trian=[action=...]; did you mean 'Train'?")

    def test_commands_with_blanks_between(self):
        self.edit("command=Train", "command=Train Test")
        self.assertEqual(self.error(), "exp.cntk:1:9: error: there is no command 'Train Test'; the commands of a list are "
                                       "separated by ':', write Train:Test")

    def test_decimal_comma(self):
        self.edit("learningRatesPerSample=0.1", "learningRatesPerSample=0,1")
        self.assertEqual(self.error(), "exp.cntk:9:30: error: 'learningRatesPerSample=0,1' in block 'Train:SGD' falls "
                                       "into 'learningRatesPerSample=0', '1': the elements of a list are separated by "
                                       "':', write learningRatesPerSample=0:1, or for a fraction "
                                       "learningRatesPerSample=0.1")
        self.assertEqual(list(self.folder.glob("m.dnn*")), [])

    def test_number_beyond_all_bounds(self):
        self.assertEqual(self.error("Train=[SGD=[minibatchSize=99999999999999999999]]"),
                         "command line:1:47: error: 'Train:SGD:minibatchSize' is '99999999999999999999', expected a whole "
                         "number of at most 18446744073709551615")

    def test_a_network_that_does_not_fit_leaves_no_model(self):
        self.edit("layerSizes=2:3:2", "layerSizes=2:3:5")
        self.assertIn("input node 'labels' of the network has dimension 5", self.error())
        self.assertEqual(list(self.folder.glob("m.dnn*")), [])
        self.write("exp.cntk", CONFIG)
        self.train()  # would resume with the previous network if it existed

    def test_unknown_action(self):
        self.edit("action=train", "action=tarin")
        self.assertRegex(self.error(),
                         "^exp.cntk:4:10: error: unknown action 'tarin' in command 'Train'; actions: train, test, .*; "
                         "did you mean 'train'\\?$")

    def test_actions_that_are_not_there(self):
        for name, words in (("beamsearch", "testEncoderDecoder searches"), ("testUnroll", "action=test evaluates"),
                            ("devtest", "action=gradientCheck")):
            self.write("exp.cntk", CONFIG.replace("action=train", "action=" + name, 1))
            self.assertRegex(self.error(), "^exp.cntk:4:10: error: action '%s' of command 'Train' is not supported: .*%s"
                             % (name, words))
            self.assertIn("no help: action '%s' is not supported: " % name, self.cntk("--help", name, status=2).stderr)

    def test_what_needs_log_likelihoods(self):
        for key in "trainingCriterion", "evalCriterion":
            message = self.error("Train=[SimpleNetworkBuilder=[%s=SequenceWithSoftmax]]" % key)
            self.assertIn("error: %s 'SequenceWithSoftmax' takes log likelihoods, which SimpleNetworkBuilder does not "
                          "make; train with CrossEntropyWithSoftmax, then add the node with MEL" % key, message)

    def test_unknown_kind_of_network(self):
        self.assertRegex(self.error("Train=[SimpleNetworkBuilder=[rnnType=JOINTCONDITIONALLSTMSTREAMS]]"),
                         "error: unknown rnnType 'JOINTCONDITIONALLSTMSTREAMS'; accepted: SIMPLENET, .*, "
                         "JOINTCONDITIONALBILSTMSTREAMS; did you mean 'JOINTCONDITIONALBILSTMSTREAMS'\\?$")

    def test_no_network(self):
        self.edit("SimpleNetworkBuilder=[ layerSizes=2:3:2; evalCriterion=ErrorPrediction ]", "")
        self.assertIn("command 'Train' has no network to train: give a block SimpleNetworkBuilder=", self.error())

    def test_a_network_in_brainscript(self):
        simple = "SimpleNetworkBuilder=[ layerSizes=2:3:2; evalCriterion=ErrorPrediction ]"
        for name, value in (("BrainScriptNetworkBuilder", "[ H(x) = Sigmoid (W * x); z = H(features) ]"),
                            ("ExperimentalNetworkBuilder", "(new ComputationNetwork [ z = 1 ])"),
                            ("createNetwork", "{ Sequential (x) }")):
            self.edit(simple, "%s=%s" % (name, value))
            self.assertIn("error: the network of command 'Train' is given by %s, in BrainScript, which is not supported; write "
                          "it in NDL, NDLNetworkBuilder=[networkDescription=...], or use SimpleNetworkBuilder=" % name,
                          self.error())

    def test_later_command_is_read_before_the_first_runs(self):
        self.edit("  outputPath=out/values", "")
        self.assertIn("command 'Write' has nowhere to write", self.error("command=Train:Write"))
        self.assertFalse((self.folder / "m.dnn").exists())

    def test_blocks_that_no_command_reads_may_be_broken(self):
        for block in ("Other=[\naction=write\noutputPath=\n]\n", "Other=[\naction=\n]\n", "Other=[\nH = 3; f (x) = y; w =\n]\n"):
            self.write("exp.cntk", CONFIG + block)
            self.cntk("configFile=exp.cntk", "makeMode=false")

    def test_nothing_to_run(self):
        missing = "error: %s has no command=<block>[:<block>...] that says what to run, and no block 'train', which would " \
                  "be run without it; blocks in the config: Block"
        self.assertEqual(self.last_line("Block=[a=1]", status=3), missing % "the command line")
        self.write("some.cntk", "Block=[a=1]\n")
        self.write("more.cntk", "b=2\n")
        self.assertEqual(self.last_line("configFile=./some.cntk+more.cntk", status=3),
                         missing % "the config ./some.cntk+more.cntk")
        self.assertIn("lists nothing to run; blocks in the config: Train, Test, Write", self.error("command=()"))
        self.assertIn("the value of 'Train:action' is empty", self.error("Train=[action=\"\"]"))
        self.assertIn("action= of command 'Train' names no action", self.error("Train=[action=()]"))

    def test_a_value_where_a_block_belongs(self):
        self.assertIn("format", self.error("command=Write", "Write=[format=5]"))
        self.assertIn("reader", self.error("command=Test", "Test=[reader=5]"))

    def test_format_that_printf_would_choke_on(self):
        self.train()
        for text in ("n%", "s", "*", ".600"):
            message = self.error("command=Write", "Write=[format=[precisionFormat=%s]]" % text)
            self.assertIn("precisionFormat is '%s', expected flags, width and precision" % text, message)

    def test_devices(self):
        self.train()
        self.assertIn("command line:1:", self.error("command=Test", "deviceId=foo"))

    def test_a_model_needs_a_name_of_its_own(self):
        for arguments in [], ["--check"]:
            self.assertIn("command line:1:31: error: modelPath 'out/' is a folder; expected the name of a file in it, such as "
                          "'out/model.dnn'", self.error("modelPath=out/", *arguments))
            self.assertIn("modelPath is empty", self.error("modelPath=\"\"", *arguments))
            for path, place in (("modelPath=default", 31), ("Train=[modelPath=default]", 38),
                                ("Train=[SGD=[modelPath=default]]", 43)):
                block = "Train:SGD" if "SGD" in path else "Train"
                self.assertIn("command line:1:%d: error: required parameter missing: exp.cntk:%s:modelPath: the value of '"
                              % (place, block), self.error(path, *arguments))
        self.assertFalse((self.folder / "out").exists())
        self.assertFalse((self.folder / "default").exists())

    def test_a_shared_reader_keeps_its_shuffle_beside_a_write_command(self):
        shared = CONFIG.replace("Train=[", "reader=[ readerType=UCIFastReader; file=train.txt; features=[ dim=2 ]\n"
                                "labels=[ dim=1; start=2; labelDim=2; labelMappingFile=map.txt ] ]\nTrain=[", 1)
        shared = shared[:shared.index("  reader=[\n")] + "]\nWrite=[ action=write; outputPath=out/v ]\n"
        self.write("exp.cntk", shared)
        for command in ("Train", "Train:Write"):
            run = self.cntk("configFile=exp.cntk", "command=" + command, "makeMode=false")
            self.assertIn("RandomOrdering", run.stderr)

    def test_label_map_of_another_block_s_reader(self):
        (self.folder / "map.txt").unlink()
        self.cntk("configFile=exp.cntk", "command=L", "L=[action=createLabelMap;section=Train]", "strictConfig=true")
        self.assertEqual(self.read("map.txt").split(), ["yes", "no"])

    def test_zero_bytes_in_a_config(self):
        (self.folder / "bad.cntk").write_bytes(b"command=A\0B\n")
        message = "error: a zero byte, expected UTF-8 or ASCII text; is it UTF-16, or a binary file?"
        self.assertEqual(self.last_line("configFile=bad.cntk", status=3), "bad.cntk:1:10: " + message)
        (self.folder / "bad.ndl").write_bytes(b"x=Input(2)\ny\0=Exp(x)\n")
        self.edit("SimpleNetworkBuilder=[ layerSizes=2:3:2; evalCriterion=ErrorPrediction ]",
                  "NDLNetworkBuilder=[ networkDescription=bad.ndl ]")
        self.assertEqual(self.error(), "bad.ndl:2:2: " + message)
        self.write("exp.cntk", "command=E\nE=[ action=edit; editPath=bad.ndl ]\n")
        self.assertEqual(self.error(), "bad.ndl:2:2: " + message)

    def test_help_of_two_topics(self):
        self.assertEqual(self.last_line("--help", "SGD", "train", status=2),
                         "error: --help takes one topic; 'train' is left over")


if __name__ == "__main__":
    main()
