"""logStyle=: what a terminal shows, and that files and pipes get the classic log."""
import fcntl
import os
import pty
import re
import struct
import subprocess
import termios

from EndToEnd import CNTK, EndToEndTest, main

CONFIG = """
command=Train:Test
modelPath=model/net.dnn
streams="readerType=UCIFastReader; features=[ dim=2 ]; labels=[ start=2; dim=1; labelDim=2; labelMappingFile=map.txt ]"
Train=[ action=train
  SimpleNetworkBuilder=[ layerSizes=2:4:2; trainingCriterion=CrossEntropyWithSoftmax; evalCriterion=ErrorPrediction ]
  SGD=[ maxEpochs=3; minibatchSize=10; learningRatesPerSample=0.1; numMBsToShowResult=1 ]
  reader=[ file=train.txt; $streams$ ]
  cvReader=[ file=train.txt; $streams$ ] ]
Test=[ action=test; reader=[ file=train.txt; $streams$ ] ]
Dump=[ action=dumpnode; outputFile=dump.txt ]
Write=[ action=write; outputPath=out; reader=[ file=train.txt; $streams$ ] ]
Map=[ action=createLabelMap; section=Train; traceLevel=1 ]
"""


class ShortLogTest(EndToEndTest):
    def setUp(self):
        super().setUp()
        self.write("train.txt", "".join("%d %d %s\n" % (i % 7, i % 3, "yes" if i % 7 > 3 else "no") for i in range(100)))
        self.write("map.txt", "yes\nno\n")
        self.write("exp.cntk", CONFIG)

    def on_terminal(self, *arguments, columns=80, status=0):
        """Returns what the program writes to a terminal."""
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        process = subprocess.Popen([str(CNTK), "configFile=exp.cntk", *arguments], cwd=self.folder, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=slave, env=dict(os.environ, TERM="xterm"))
        os.close(slave)
        text = b""
        while True:
            try:
                part = os.read(master, 65536)
            except OSError:  # the program has ended
                break
            if not part:
                break
            text += part
        os.close(master)
        self.assertEqual(process.wait(), status)
        return text.decode().replace("\r\n", "\n")

    def shown(self, text):
        """Returns the lines without status lines and colours."""
        lines = []
        for line in text.split("\n"):
            line = line.split("\x1b[K")[-1].split("\r")[-1]
            lines.append(re.sub(r"\x1b\[\d*m", "", line))
        return [line for line in lines if line]

    def test_one_line_an_epoch(self):
        lines = self.shown(self.on_terminal(columns=200))
        epochs = [line for line in lines if line.startswith("Epoch ")]
        self.assertEqual(len(epochs), 3)
        for number, line in enumerate(epochs, 1):
            self.assertRegex(line, r"^Epoch %d of 3: loss \S+ error \S+%%  Validation loss \S+ error \S+%%  rate 0.1  \S+ "
                                   r"samples/s  \d+:\d\d left$" % number)
        self.assertLess(len(lines), 15)
        self.assertRegex("\n".join(lines), r"Test: 100 samples: EvalErrorPrediction \S+, .* \(accuracy [\d.]+%\)")
        self.assertNotIn("Starting Epoch", "\n".join(lines))
        summary = "\n".join(lines[lines.index(next(line for line in lines if line.startswith("Finished in"))):])
        for part in ("Train: 3 epochs in", "samples/s, waiting for data", "best: epoch", "last: epoch 3", "accuracy",
                     "files: model/net.dnn"):
            self.assertIn(part, summary)

    def test_numbers_are_those_of_the_classic_log(self):
        lines = self.shown(self.on_terminal("stderr=log/run", columns=200))
        log = self.read("log/run_Train_Test.log")
        self.assertIn("Starting Epoch 1", log)
        found = re.findall(r"\[Training Set\] TrainLossPerSample = (\S+);.*?EvalErrPerSample = (\S+);.*\n(?:.*\n)*?"
                           r".*\[Validation Set\] TrainLossPerSample = (\S+); EvalErrPerSample = (\S+)", log)
        self.assertEqual(len(found), 3)
        for line, numbers in zip([line for line in lines if line.startswith("Epoch ")], found):
            loss, error, validation_loss, validation_error = map(float, numbers)
            self.assertIn("loss %.3g error %.3g%%  Validation loss %.3g error %.3g%%" % (
                loss, 100 * error, validation_loss, 100 * validation_error), line)

    def test_eighty_columns(self):
        lines = self.shown(self.on_terminal())
        epochs = [line for line in lines if re.search(r"Validation loss \S+ error \S+% rate \S+ \S+/s \d+:\d\d$", line)]
        self.assertEqual(len(epochs), 3, lines)
        self.assertLessEqual(max(map(len, lines)), 80)

    def test_early_stopping(self):
        """Still one line an epoch; the end has its reason, and only models that remain are counted."""
        lines = self.shown(self.on_terminal("Train=[SGD=[maxEpochs=40; earlyStopPatience=1; earlyStopMinImprovement=1; "
                                            "keepModels=last]]"))
        numbers = [line for line in lines if re.match(r"\d+/40: ", line)]
        self.assertEqual(len(numbers), 2)
        self.assertEqual(len([line for line in lines if "Early stopping" in line]), 1)
        self.assertIn("Early stopping: the best of 2 epochs", "\n".join(lines))
        kept = [path for path in (self.folder / "model").iterdir() if re.fullmatch(r"net\.dnn\.(\d+|best)", path.name)]
        self.assertIn("%d models of epochs" % len(kept), " ".join(" ".join(lines).split()))

    def test_the_check_is_short(self):
        lines = self.shown(self.on_terminal("--check"))
        self.assertEqual(lines, ["In a run, command 'Train': trains 3 epochs",
                                 "__CHECKED__: 2 commands, nothing was trained or written"])
        wrong = "\n".join(self.shown(self.on_terminal("--check", "Train=[SGD=[maxEpochs=x]]", "Test=[action=tset]", status=3)))
        self.assertIn("'Train:SGD:maxEpochs' is 'x'", wrong)
        self.assertIn("unknown action 'tset'", wrong)

    def test_warnings_come_twice(self):
        text = self.on_terminal("Train=[unknownKey=1]")
        self.assertIn("\x1b[33mwarning: ", text)
        self.assertEqual(text.count("unknownKey"), 2)
        self.assertIn("1 warning:", text)

    def test_resumed_and_finished_trainings(self):
        self.on_terminal("command=Train")
        (self.folder / "model/net.dnn").unlink()
        self.assertIn("Train: resumes after epoch 2", self.on_terminal("command=Train"))
        self.assertIn("nothing to train", self.on_terminal("command=Train"))

    def test_other_actions_show_their_lines(self):
        text = self.on_terminal("command=Train:Map:Dump")
        self.assertIn("CreateLabelMap: the label mapping file 'map.txt' already exists", text)
        self.assertRegex(text, r"Dump: dumpnode done in \S+ s, wrote dump.txt")
        text = self.on_terminal("command=Write")
        self.assertRegex(text, r"Write: write done in \S+ s, wrote out.HLast")

    def test_errors_are_shown(self):
        text = self.on_terminal("Test=[evalNodeNames=Nobody]", status=3)
        self.assertIn("error: evalNodeNames names 'Nobody'", text)
        self.assertNotIn("Finished in", text)

    def test_pipes_and_classic(self):
        piped = self.cntk("configFile=exp.cntk").stderr
        self.assertIn("Starting Epoch 1", piped)
        self.assertNotIn("Finished in", piped)
        self.assertIn("Starting Epoch 1", self.on_terminal("logStyle=classic", "makeMode=false"))
        self.assertIn("Starting Epoch 1", self.on_terminal("traceLevel=2", "makeMode=false"))
        short = self.cntk("configFile=exp.cntk", "logStyle=short", "makeMode=false").stderr
        self.assertIn("Epoch 3 of 3: ", short)
        self.assertIn("Validation loss ", short)
        self.assertNotIn("\x1b", short)
        self.assertNotIn("Starting Epoch", short)


if __name__ == "__main__":
    main()
