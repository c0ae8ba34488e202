#!/usr/bin/env python3
"""Blocks at the root that several commands share take missing values from each command."""
from EndToEnd import EndToEndTest, main

READER = """reader=[
  readerType=UCIFastReader
  randomize=none
  %sfeatures=[ dim=2; start=0 ]
  labels=[ dim=1; start=2; labelDim=2; labelMappingFile=map.txt ]
]
"""
SGD = """SGD=[
  %sminibatchSize=4
  learningRatesPerSample=0.1
  AutoAdjust=[ autoAdjustLR=adjustAfterEpoch; reduceLearnRateIfImproveLessThan=0 ]
]
"""
BUILDER = "SimpleNetworkBuilder=[ %sinitValueScale=2; evalCriterion=ErrorPrediction ]\n"
COMMANDS = """command=First:Second:Test
deviceId=cpu
strictConfig=true
First=[
  action=train
  modelPath=first.dnn
  %s
]
Second=[
  action=train
  modelPath=second.dnn
  %s
]
Test=[
  action=test
  modelPath=second.dnn
  %s
]
"""
FIRST = "file=a.txt; maxEpochs=1; layerSizes=2:3:2"
SECOND = "file=b.txt; maxEpochs=3; layerSizes=2:5:2; learnRateDecreaseFactor=0.5"
SHARED = READER % "" + SGD % "" + BUILDER % "" + COMMANDS % (FIRST, SECOND, "file=b.txt; minibatchSize=2")


def written_out(file, epochs, layers, adjust=""):
    return (READER % ("file=%s; " % file) + BUILDER % ("layerSizes=%s; " % layers) +
            (SGD % ("maxEpochs=%d; " % epochs)).replace("AutoAdjust=[", "AutoAdjust=[" + adjust))


class SharedBlocksTest(EndToEndTest):
    def setUp(self):
        super().setUp()
        self.write("a.txt", "0.5 1 yes\n-1 0.25 no\n0 0 yes\n1 1 no\n0.5 -1 yes\n")
        self.write("b.txt", "1 1 yes\n-1 -0.5 no\n0.25 1 yes\n-1 -1 no\n-2 1 yes\n0.5 0.5 yes\n")
        self.write("map.txt", "yes\nno\n")

    def results(self, config, *arguments):
        """Returns both models and the line of the test."""
        self.write("exp.cntk", config)
        run = self.cntk("configFile=exp.cntk", "makeMode=false", *arguments)
        self.assertNotIn("WARNING", run.stderr)
        lines = [line for line in run.stderr.splitlines() if line.startswith("Final Results")]
        self.assertEqual(len(lines), 1)
        return [(self.folder / name).read_bytes() for name in ("first.dnn", "second.dnn")] + lines

    def test_each_command_completes_the_shared_blocks(self):
        apart = COMMANDS % (written_out("a.txt", 1, "2:3:2"),
                            written_out("b.txt", 3, "2:5:2", "learnRateDecreaseFactor=0.5; "),
                            READER % "file=b.txt; " + "minibatchSize=2")
        expected = self.results(apart)
        self.assertTrue(self.results(SHARED) == expected)
        # Values of a command come before values outside of the commands.
        self.assertTrue(self.results("file=gone.txt\nmaxEpochs=9\nlayerSizes=2:7:2\n" + SHARED) == expected)
        self.cntk("configFile=exp.cntk", "--check")
        # The shared block's own value comes first; the command's value is then never read.
        run = self.cntk("configFile=exp.cntk", "makeMode=false", "strictConfig=false", "SGD=[maxEpochs=2]")
        self.assertIn("Finished Epoch[ 2 of 2]", run.stderr)
        self.assertIn("'maxEpochs' is not read in block 'First'; it belongs in the block SGD", run.stderr)

    def test_files_of_another_command_are_not_there_yet(self):
        self.write("exp.cntk", SHARED.replace("command=First:Second:Test", "command=First:Write:Test") +
                   "Write=[ action=write; modelPath=first.dnn; file=a.txt; outputPath=out ]\n")
        run = self.cntk("configFile=exp.cntk", "--check", "Test=[modelPath=first.dnn; file=out.HLast]",
                        "strictConfig=false")
        self.assertIn("'out.HLast' does not exist before command 'Write' has run", run.stderr)

    def test_messages_name_the_command_and_the_place(self):
        self.write("exp.cntk", SHARED.replace("maxEpochs=3; ", ""))
        run = self.cntk("configFile=exp.cntk", status=3)
        self.assertIn("exp.cntk:7:1: error: required parameter missing: exp.cntk:Second:SGD:maxEpochs", run.stderr)
        self.write("exp.cntk", SHARED.replace("file=b.txt; maxEpochs", "file=gone.txt; maxEpochs"))
        run = self.cntk("configFile=exp.cntk", status=4)
        self.assertIn("exp.cntk:24:8: error: data file 'gone.txt' does not exist", run.stderr)
        self.write("exp.cntk", SHARED.replace("randomize=none", "randomize=none; traceLvel=1"))
        run = self.cntk("configFile=exp.cntk", "strictConfig=false", "--check")
        self.assertEqual(run.stderr.count("unknown key 'traceLvel'"), 1)

    def test_of_two_network_builders_the_simple_one_is_used(self):
        expected = self.results(SHARED)[0]
        self.write("exp.cntk", SHARED.replace("file=a.txt;", "file=a.txt; NDLNetworkBuilder=[ run=net ];"))
        run = self.cntk("configFile=exp.cntk", "command=First", "makeMode=false", "strictConfig=false")
        self.assertIn("WARNING: command 'First' sees both NDLNetworkBuilder (exp.cntk:19:15) and SimpleNetworkBuilder "
                      "(exp.cntk:12:1); SimpleNetworkBuilder is used\n", run.stderr)
        self.assertTrue((self.folder / "first.dnn").read_bytes() == expected)

    def test_sections_and_writers(self):
        network = "net=[ features=Input(2, tag=feature); labels=Input(2, tag=label); W=Parameter(%d, 2); " \
                  "V=Parameter(2, %d); z=Times(V, Sigmoid(Times(W, features)), tag=output); " \
                  "ce=CrossEntropyWithSoftmax(labels, z, tag=criterion); er=ErrorPrediction(labels, z, tag=eval) ]\n"
        config = SHARED.replace(BUILDER % "", "NDLNetworkBuilder=[ run=net ]\n"
                                "writer=[ writerType=BinaryWriter; z=[ sectionType=data ] ]\n")
        config = config.replace("layerSizes=2:3:2", network % (3, 3)).replace("layerSizes=2:5:2; ", network % (5, 5))
        config = config.replace("command=First:Second:Test", "command=First:Second:Test:W1:W2") + \
            "W1=[ action=write; modelPath=first.dnn; file=a.txt; wfile=first.bin ]\n" \
            "W2=[ action=write; modelPath=second.dnn; file=b.txt; wfile=second.bin ]\n"
        first, second, _ = self.results(config)
        self.assertLess(len(first), len(second))
        self.assertFalse((self.folder / "first.bin").read_bytes() == (self.folder / "second.bin").read_bytes())


if __name__ == "__main__":
    main()
