#!/usr/bin/env python3
"""Trainings that are killed or stopped at any instant resume and end with the same bits as undisturbed ones."""
import os
import random
import re
import shutil
import signal
import subprocess
import time

from EndToEnd import CNTK, EndToEndTest, Instants, heed_signals, main

CONFIG = """command=Train
precision=double
traceLevel=0
numCPUThreads=1
Train=[
  action=train
  modelPath=$folder$/m.dnn
  SimpleNetworkBuilder=[ layerSizes=2:8:2; layerTypes=Sigmoid; applyMeanVarNorm=false; addDropoutNodes=true
    trainingCriterion=CrossEntropyWithSoftmax; evalCriterion=ErrorPrediction ]
  SGD=[
    maxEpochs=$epochs$
    minibatchSize=8
    learningRatesPerSample=0.01
    momentumPerMB=0.9
    gradUpdateType=$rule$
    dropoutRate=0.2
    saveEveryMinutes=$minutes$
    AutoAdjust=[ autoAdjustLR=$control$; numMiniBatch4LRSearch=$search$; reduceLearnRateIfImproveLessThan=0.1 ]
  ]
  reader=[ readerType=UCIFastReader; file=train.txt; randomize=auto
    features=[ start=0; dim=2 ]
    labels=[ start=2; dim=1; labelDim=2; labelMappingFile=map.txt ]
  ]
]
"""
SPARSE = """command=Train
precision=float
traceLevel=0
numCPUThreads=1
Train=[
  action=train
  modelPath=$folder$/m.dnn
  NDLNetworkBuilder=[ run=N
    N=[ x=SparseInput(200); y=SparseInput(5); W=Parameter(12, 200); b=Parameter(12, 1); V=Parameter(5, 12)
        h=Sigmoid(Plus(Times(W, x), b)); z=Times(V, h); ce=CrossEntropyWithSoftmax(y, z)
        FeatureNodes=(x); LabelNodes=(y); CriterionNodes=(ce); OutputNodes=(z) ]
  ]
  SGD=[
    maxEpochs=6
    minibatchSize=4 # few columns are touched
    learningRatesPerSample=0.05
    momentumPerMB=0*2:0.9*2:0
    gradUpdateType=$rule$
    saveEveryMinutes=$minutes$
  ]
  reader=[ readerType=CNTKTextFormatReader; file=words.ctf; randomize=true
    input=[ x=[ alias=x; dim=200; format=sparse ]; y=[ alias=y; dim=5; format=sparse ] ]
  ]
]
"""
KILLS = int(os.environ.get("CNTK_TEST_KILLS", "200"))
STOPPED = 75


class InterruptionTest(EndToEndTest):
    def setUp(self):
        super().setUp()
        draw = random.Random(1)
        points = [(draw.uniform(-1, 1), draw.uniform(-1, 1)) for _ in range(12000)]
        self.write("train.txt", "".join("%g %g %d\n" % (x, y, y > x * x - 0.3) for x, y in points))
        self.write("map.txt", "0\n1\n")
        self.write("config.cntk", CONFIG)

    def arguments(self, folder, epochs=4, rule="none", control="none", minutes=0.00005, search=5):
        return ["configFile=config.cntk"] + ["%s=%s" % pair for pair in (
            ("folder", folder), ("epochs", epochs), ("rule", rule), ("control", control), ("minutes", minutes),
            ("search", search))]

    def start(self, arguments):
        return subprocess.Popen([str(CNTK), *arguments], cwd=self.folder, stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, preexec_fn=heed_signals)

    def files(self, folder):
        return sorted(path.name for path in (self.folder / folder).iterdir())

    def assert_same(self, folder, wanted="whole"):
        """The trainings left the same files with the same bits."""
        self.assertEqual(self.files(folder), self.files(wanted))
        for name in self.files(wanted):
            self.assertEqual((self.folder / folder / name).read_bytes(), (self.folder / wanted / name).read_bytes(),
                             "%s/%s" % (folder, name))

    def test_killed_at_any_instant_it_ends_with_the_same_bits(self):
        draw = random.Random(2)
        began = time.monotonic()
        self.cntk(*self.arguments("whole"))
        whole = time.monotonic() - began
        instants, kills, ends, left = Instants(draw, whole), 0, 0, set()
        while kills < KILLS:
            process = self.start(self.arguments("killed"))
            try:
                process.wait(instants.next())
            except subprocess.TimeoutExpired:
                process.kill()
            status = process.wait()
            process.stderr.close()
            instants.note(status == 0)
            if status == -signal.SIGKILL:
                kills += 1
                if (self.folder / "killed").exists():
                    left.update(re.sub(r"\d+", "N", name) for name in self.files("killed"))
                continue
            self.assertEqual(status, 0)
            self.assert_same("killed")
            shutil.rmtree(self.folder / "killed")
            ends += 1
        self.cntk(*self.arguments("killed"))
        self.assert_same("killed")
        self.assertGreater(ends, 3)
        self.assertIn("m.dnn.N.atN.ckp", left)  # it was killed within epochs
        print("%d kills, %d trainings ended, %.0f s; killed ones left %s" % (
            kills, ends + 1, time.monotonic() - began, ", ".join(sorted(left))))

    def test_with_sparse_input_too(self):
        """Momentum changes between 0 and other values; the state of untouched columns is saved, too."""
        draw = random.Random(4)
        lines = []
        for _ in range(3000):
            words = sorted(draw.sample(range(200), draw.randint(1, 4)))
            lines.append("|x %s |y %d:1\n" % (" ".join("%d:1" % word for word in words), sum(words) // 7 % 5))
        self.write("words.ctf", "".join(lines))
        self.write("sparse.cntk", SPARSE)
        for rule in ("none", "adagrad", "fsadagrad"):
            with self.subTest(rule=rule):
                whole, killed = "whole" + rule, "killed" + rule
                began = time.monotonic()
                self.cntk("configFile=sparse.cntk", *self.arguments(whole, rule=rule)[1:])
                instants, kills, status = Instants(draw, time.monotonic() - began), 0, None
                arguments = ["configFile=sparse.cntk"] + self.arguments(killed, rule=rule)[1:]
                while kills < 15 or status != 0:
                    if status == 0:
                        shutil.rmtree(self.folder / killed)
                    status, error = self.stop(arguments, signal.SIGKILL, instants.next(0.1))
                    instants.note(status == 0)
                    kills += status == -signal.SIGKILL
                    self.assertIn(status, (0, -signal.SIGKILL), error)
                    if status == 0:
                        self.assert_same(killed, whole)

    def test_killed_within_searches_too(self):
        draw, searches = random.Random(5), {"control": "searchBeforeEpoch", "search": 700}
        began = time.monotonic()
        self.cntk(*self.arguments("whole", **searches))
        seconds, kills, status = time.monotonic() - began, 0, None
        while kills < 25 or status != 0:
            if status == 0:
                self.assert_same("killed")
                shutil.rmtree(self.folder / "killed")
            arguments = self.arguments("killed", **searches)
            status, error = self.stop(arguments, signal.SIGKILL, draw.uniform(0.1, 0.8) * seconds)
            kills += status == -signal.SIGKILL
            self.assertIn(status, (0, -signal.SIGKILL), error)
        self.assert_same("killed")

    def test_bad_validation_data_lose_no_epoch(self):
        lines = (self.folder / "train.txt").read_text().splitlines(True)[:300]
        reader = ("Train=[ cvReader=[ readerType=UCIFastReader; file=cv.txt; features=[ start=0; dim=2 ]; "
                  "labels=[ start=2; dim=1; labelDim=2; labelMappingFile=map.txt ] ] ]")
        self.write("cv.txt", "".join(lines))
        self.cntk(*self.arguments("whole", minutes=0), reader)
        self.write("cv.txt", "".join(lines[:149] + ["0.1 x 1\n"] + lines[150:]))
        log = self.cntk(*self.arguments("parts", minutes=0), reader, status=4).stderr
        self.assertIn("cv.txt:150", log)
        self.assertIn("note: what epoch 1 has trained so far is kept; run the same command again to continue from "
                      "'parts/m.dnn.0.at1500'\n", log)
        self.write("cv.txt", "".join(lines))
        log = self.cntk(*self.arguments("parts", minutes=0), reader).stderr
        self.assertIn("Resuming after minibatch 1500 of the epoch.\n", log)
        self.assert_same("parts")

    def test_unreadable_data_lose_no_earlier_training(self):
        """The text is read in the order of its lines. Data in memory are not read again."""
        lines = (self.folder / "train.txt").read_text().splitlines(True)
        more = ["Train=[ reader=[ randomize=none; cacheMB=0 ] ]"]
        self.cntk(*self.arguments("whole", minutes=0), *more)
        self.write("train.txt", "".join(lines[:9000] + ["0.1 x 1\n"] + lines[9001:]))
        log = self.cntk(*self.arguments("parts", minutes=0), *more, status=4).stderr
        self.assertIn("train.txt:9001", log)
        kept = re.search(r"note: what epoch 1 has trained so far is kept; run the same command again to continue from "
                         r"'parts/m.dnn.0.at(\d+)'\n", log)
        self.assertTrue(kept, log)
        self.assertEqual(self.files("parts"), ["m.dnn.0", "m.dnn.0.at" + kept[1], "m.dnn.0.at" + kept[1] + ".ckp"])
        again = self.cntk(*self.arguments("parts", minutes=0), *more, status=4).stderr
        self.assertIn("Resuming after minibatch %s of the epoch.\n" % kept[1], again)
        self.write("train.txt", "".join(lines))
        log = self.cntk(*self.arguments("parts", minutes=0), *more).stderr
        self.assertIn("Resuming after minibatch %s of the epoch.\n" % kept[1], log)
        self.assert_same("parts")

    def test_unsuitable_data_lose_no_earlier_training(self):
        """The labels of sentence 1300 have an unknown word."""
        words = [i * 7 % 11 % 6 for i in range(2000)]
        lines = ["%d |x %d:1 |labels %d %s\n" % (1000 + i // 5, i * i % 6, word, "0 0 3" if word < 3 else "1 3 6")
                 for i, word in enumerate(words)]
        self.write("net.ndl", """x=SparseInput(6, tag=feature)
labels=Input(4, tag=label)
E=Parameter(3, 6)
R=Parameter(3, 3)
h=Sigmoid(Plus(Times(E, x), Times(R, PastValue(3, h))))
W=Parameter(3, 6)
C=Parameter(2, 3)
ce=ClassCrossEntropyWithSoftmax(labels, h, W, Times(C, h), tag=criterion)
""")
        self.write("exp.cntk", """command=Train
precision=double
numCPUThreads=1
Train=[ action=train; modelPath=$folder$/m.dnn; NDLNetworkBuilder=[ networkDescription=net.ndl ]
  SGD=[ maxEpochs=2; minibatchSize=20; learningRatesPerSample=0.1 ]
  reader=[ readerType=CNTKTextFormatReader; file=words.ctf; randomize=none
    input=[ x=[ dim=6; format=sparse ]; labels=[ dim=4; format=dense ] ] ] ]
""")
        self.write("words.ctf", "".join(lines))
        self.cntk("configFile=exp.cntk", "folder=whole")
        self.write("words.ctf", "".join(lines[:1502] + [re.sub("labels .", "labels 9", lines[1502])] + lines[1503:]))
        log = self.cntk("configFile=exp.cntk", "folder=parts", status=4).stderr
        self.assertIn("note: sequence 0 of the minibatch is '1300' in the data\n"
                      "note: what epoch 1 has trained so far is kept; run the same command again to continue from "
                      "'parts/m.dnn.0.at75'\n", log)
        self.assertIn("the label of step 2 of sequence 0 has 9 as its word", log)
        self.write("words.ctf", "".join(lines))
        log = self.cntk("configFile=exp.cntk", "folder=parts").stderr
        self.assertIn("Resuming after minibatch 75 of the epoch.\n", log)
        self.assert_same("parts")

    def stop(self, arguments, number, delay):
        process = self.start(arguments)
        time.sleep(delay)
        process.send_signal(number)
        error = process.communicate(timeout=60)[1].decode()
        return process.returncode, error

    def test_a_stopped_training_says_how_to_resume(self):
        draw = random.Random(3)
        for rule, control in (("none", "none"), ("fsadagrad", "adjustAfterEpoch"), ("adagrad", "searchBeforeEpoch")):
            with self.subTest(rule=rule, control=control):
                whole, stopped = "whole" + rule, "stopped" + rule
                began = time.monotonic()
                self.cntk(*self.arguments(whole, 12, rule, control, 0))
                instants = Instants(draw, time.monotonic() - began)
                arguments, stops = self.arguments(stopped, 12, rule, control, 0), 0
                for number in [signal.SIGTERM, signal.SIGINT] * 100:
                    status, error = self.stop(arguments, number, instants.next(0.3, 0.6))
                    instants.note(status == 0)
                    if status == 0 and stops == 0:
                        shutil.rmtree(self.folder / stopped)  # the run was faster than the first one
                        continue
                    if status == 0:
                        break
                    if status == -number:
                        continue  # the signal came before the training began, so nothing is lost
                    self.assertEqual(status, STOPPED, error)
                    self.assertRegex(error.rstrip().splitlines()[-1],
                                     r"stopped as asked in .*; run the same command again to continue from '%s/m\.dnn\." %
                                     stopped)
                    self.assertFalse([name for name in self.files(stopped) if name.endswith(".tmp")])
                    stops += 1
                self.assertEqual(status, 0)
                self.assert_same(stopped, whole)
                self.assertGreater(stops, 0)

    def test_a_model_is_trained_by_one_process_at_a_time(self):
        arguments = self.arguments("alone", 100000, minutes=0)
        process = self.start(arguments)
        while not (self.folder / "alone/m.dnn.1").exists():
            self.assertIsNone(process.poll())
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGSTOP)
        error = self.cntk(*arguments, status=6).stderr
        self.assertRegex(error.rstrip().splitlines()[-1],
                         r"^error: process %d on \S+ trains the model 'alone/m\.dnn' \(it holds 'alone/m\.dnn\.lock'\); "
                         r"wait until it ends, or give another modelPath$" % process.pid)
        self.cntk(*self.arguments("alone", 1), "Train=[modelPath=alone/other.dnn]")
        process.kill()
        process.communicate(timeout=60)
        self.assertTrue((self.folder / "alone/m.dnn.lock").exists())
        self.cntk(*self.arguments("alone", 2, minutes=0), "makeMode=false")  # no process holds the lock any more
        self.assertFalse((self.folder / "alone/m.dnn.lock").exists())

    def test_a_stop_between_commands_names_the_remaining_ones(self):
        begin, block = CONFIG.split("Train=[")
        blocks = ["%s=[%s" % (name, block.replace("m.dnn", name + ".dnn")) for name in ("First", "Second", "Third")]
        self.write("three.cntk", begin.replace("command=Train", "command=First:Second:Third") + "".join(blocks))
        for attempt in range(30):  # the signal must come while the first command's last model is written
            folder = "between%d" % attempt
            arguments = self.arguments(folder, 1, minutes=0)
            process = self.start(["configFile=three.cntk"] + arguments[1:])
            for line in process.stderr:
                if line.startswith(b"SGD: Saving checkpoint model '%s/First.dnn'" % folder.encode()):
                    process.send_signal(signal.SIGTERM)
                    break
            last = process.communicate(timeout=60)[1].decode().rstrip().splitlines()[-1]
            if "before command" in last:
                break  # not within the second command: this process may have been late
        self.assertEqual(process.returncode, STOPPED, last)
        self.assertRegex(last, r"^stopped as asked before command 'Second'; to resume, run it again with "
                               r"command=Second:Third$")
        self.cntk("configFile=three.cntk", *arguments[1:], "command=Second:Third")
        self.assertEqual(self.files(folder), sorted(name + suffix for name in ("First", "Second", "Third")
                                                    for suffix in (".dnn", ".dnn.0", ".dnn.ckp")))

    def test_a_closed_terminal_stops_the_training(self):
        process = self.start(self.arguments("closed", 100000, minutes=0))
        while not (self.folder / "closed/m.dnn.1").exists():
            self.assertIsNone(process.poll())
            time.sleep(0.01)
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGHUP)
        self.assertIn("stopped as asked in ", process.communicate(timeout=60)[1].decode().splitlines()[-1])
        self.assertEqual(process.returncode, STOPPED)
        self.assertFalse([name for name in self.files("closed") if name.endswith((".tmp", ".lock"))])

    def test_ctrl_c_that_also_ends_the_reader_of_the_log(self):
        """In `cntk ... 2>&1 | tee log` the last log lines are lost, but model, checkpoint and exit code are correct."""
        for sends in (True, False):  # False: only the reader of the log ends, as head does
            folder = "unread%d" % sends
            process = self.start(self.arguments(folder, 100000, minutes=0))
            while not (self.folder / folder / "m.dnn.1").exists():
                self.assertIsNone(process.poll())
                time.sleep(0.01)
            os.kill(process.pid, signal.SIGSTOP)
            process.stderr.close()
            if sends:
                process.send_signal(signal.SIGINT)
            os.kill(process.pid, signal.SIGCONT)
            self.assertEqual(process.wait(timeout=60), STOPPED)
            files = self.files(folder)
            self.assertRegex(" ".join(files), r"m\.dnn\.\d+(\.at\d+)?\.ckp")
            self.assertFalse([name for name in files if name.endswith((".tmp", ".lock"))])

    def test_a_second_signal_ends_it_at_once(self):
        process = self.start(self.arguments("twice", 100000, minutes=0))
        while not (self.folder / "twice/m.dnn.1").exists():
            self.assertIsNone(process.poll())
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGSTOP)
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGINT)
        os.kill(process.pid, signal.SIGCONT)
        process.communicate(timeout=60)
        self.assertIn(process.returncode, (-signal.SIGINT, -signal.SIGTERM))
        self.assertFalse([name for name in self.files("twice") if name.endswith((".tmp", ".lock"))])


if __name__ == "__main__":
    main()
