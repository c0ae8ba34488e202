"""Metrics files and event files: their rows agree with the log, and a resumed training has the rows of a whole one."""
import csv
import json
import pathlib
import random
import re
import shutil
import signal
import struct
import subprocess
import time

from EndToEnd import CNTK, heed_signals, main
from ThreeClasses import CONFIG, ThreeClassesTest

ROOT = """
metrics=out/run.jsonl:out/run.csv
tensorBoard=out/events
Cv=[ action=cv; crossValidationInterval=1:1:4; reader=[ file=test.txt; $streams$ ] ]
"""
TIMES = ("seconds", "samplesPerSecond", "secondsWaited", "time", "host")


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records_of(path):
    """Yields the messages of an event file and checks its frames."""
    data, at = path.read_bytes(), 0
    while at < len(data):
        length, check = struct.unpack_from("<QI", data, at)
        assert check == masked(data[at:at + 8])
        message = data[at + 12:at + 12 + length]
        assert len(message) == length
        assert struct.unpack_from("<I", data, at + 12 + length)[0] == masked(message)
        yield message
        at += 16 + length


def varint(data, at):
    number = shift = 0
    while True:
        number |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if not data[at - 1] & 0x80:
            return number, at


def fields_of(message):
    """Returns (number, value) of each field of a protobuf message."""
    fields, at = [], 0
    while at < len(message):
        key, at = varint(message, at)
        if key & 7 == 0:
            value, at = varint(message, at)
        elif key & 7 == 1:
            value, at = struct.unpack_from("<d", message, at)[0], at + 8
        elif key & 7 == 2:
            length, at = varint(message, at)
            value, at = message[at:at + length], at + length
        else:
            assert key & 7 == 5
            value, at = struct.unpack_from("<f", message, at)[0], at + 4
        fields.append((key >> 3, value))
    return fields


class MetricsTest(ThreeClassesTest):
    root = ROOT
    sgd = "maxEpochs=4; learningRatesPerSample=0.05*2:0.025; momentumPerMB=0.5; numMBsToShowResult=6"

    def rows(self, name="out/run.jsonl"):
        text = self.read(name)
        self.assertTrue(text.endswith("\n"))
        return [json.loads(line) for line in text.splitlines()]

    def rows_so_far(self):
        """Returns the whole rows of a killed run."""
        return [json.loads(line) for line in self.read("out/run.jsonl").splitlines(True) if line.endswith("\n")]

    def table(self, name="out/run.csv"):
        data = (self.folder / name).read_bytes().decode()
        self.assertEqual(data.count("\n"), data.count("\r\n"))
        return list(csv.DictReader(data.splitlines()))

    def test_rows_agree_with_the_log(self):
        run = self.run_all("command=Train:Test:Cv", "traceLevel=1", "Train=[SGD=[traceLevel=1]]")
        rows = self.rows()
        self.assertEqual(rows[0]["kind"], "start")
        self.assertEqual(rows[-1]["kind"], "end")
        self.assertEqual((rows[-1]["exit"], rows[-1]["message"]), (0, ""))
        for row in rows:
            self.assertEqual(list(row)[:2], ["kind", "command"])
        start = rows[0]
        for field in ("time", "version", "compiler", "host", "commandLine", "precision", "device", "threads",
                      "trainingSeed", "config", "commands"):
            self.assertIn(field, start)
        self.assertRegex(start["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d$")
        self.assertEqual(start["commands"], ["Train", "Test", "Cv"])
        self.assertEqual(start["config"], self.run_all("command=Train:Test:Cv", "traceLevel=1",
                                                       "Train=[SGD=[traceLevel=1]]", "--print-config").stdout)
        # Minibatches, epochs and validations, number by number.
        lines = re.findall(r"Epoch\[ (\d) of 4\]-Minibatch\[ *\d+- *(\d+).*?\]: SamplesSeen = (\d+); TrainLossPerSample = *"
                           r"(\S+); EvalErr\[0\]PerSample = (\S+);", run.stderr)
        minibatches = [row for row in rows if row["kind"] == "minibatch"]
        self.assertEqual(len(lines), 16)
        self.assertEqual([(row["epoch"], row["minibatch"], row["samples"]) for row in minibatches],
                         [tuple(map(int, line[:3])) for line in lines])
        for row, line in zip(minibatches, lines):
            self.assertAlmostEqual(row["criterion"], float(line[3]), 7)
            self.assertAlmostEqual(row["evaluations"]["EvalErrorPrediction"], float(line[4]), 7)
        lines = re.findall(r"Finished Epoch\[ (\d) of 4\]: \[Training Set\] TrainLossPerSample = (\S+); TotalSamplesSeen = "
                           r"(\d+); EvalErrPerSample = (\S+); AvgLearningRatePerSample = (\S+);", run.stderr)
        epochs = [row for row in rows if row["kind"] == "epoch"]
        self.assertEqual(len(epochs), 4)
        for row, line in zip(epochs, lines):
            self.assertEqual((row["epoch"], row["samples"], row["samplesSeen"], row["minibatchSize"]),
                             (int(line[0]), 250, int(line[2]), 10))
            self.assertEqual("%.8g" % row["criterion"], line[1])
            self.assertEqual("%.8g" % row["evaluations"]["EvalErrorPrediction"], line[3])
            self.assertEqual("%.8g" % row["learningRatePerSample"], line[4])
            self.assertAlmostEqual(row["momentumAsTimeConstant"], 14.4269504, 5)
            self.assertLessEqual(row["secondsWaited"], row["seconds"])
        lines = re.findall(r"\[Validation Set\] TrainLossPerSample = (\S+); EvalErrPerSample = (\S+)", run.stderr)
        validations = [row for row in rows if row["kind"] == "validation"]
        self.assertEqual([("%.8g" % row["criterion"], "%.8g" % row["evaluations"]["EvalErrorPrediction"], row["samples"])
                          for row in validations], [(*line, 50) for line in lines])
        # Results and confusion.
        result = [row for row in rows if row["kind"] == "result" and row["command"] == "Test"]
        self.assertEqual(len(result), 1)
        self.assertEqual(result[0]["samples"], 50)
        self.assertEqual(result[0]["nodes"]["EvalErrorPrediction"]["type"], "ErrorPrediction")
        confusion = [row for row in rows if row["kind"] == "confusion"]
        self.assertEqual(len(confusion), 1)
        self.assertEqual(confusion[0]["labels"], ["a", "b", "c"])
        counts = confusion[0]["counts"]
        wrong = sum(counts[i][j] for i in range(3) for j in range(3) if i != j)
        self.assertAlmostEqual(result[0]["nodes"]["EvalErrorPrediction"]["average"], wrong / 50)
        cv = [row for row in rows if row["kind"] == "result" and row["command"] == "Cv"]
        self.assertEqual([row["epoch"] for row in cv], [1, 2, 3, None])
        self.assertEqual(sum(row["best"] for row in cv), 1)
        models = [row for row in rows if row["kind"] == "model"]
        self.assertEqual([pathlib.Path(row["path"]).name for row in models],
                         ["net.dnn.0", "net.dnn.1", "net.dnn.2", "net.dnn.3", "net.dnn"])
        for row in models:
            self.assertEqual(row["bytes"], (self.folder / row["path"]).stat().st_size)
            self.assertEqual(row["parameters"], 2 * 8 + 8 + 8 * 3 + 3)
        # The table has the same numbers.
        table = self.table()
        self.assertEqual(list(table[0]), ["kind", "command", "epoch", "minibatch", "samples", "samplesSeen", "criterion",
                                          "EvalErrorPrediction", "learningRatePerSample", "minibatchSize", "seconds"])
        shown = [row for row in rows if row["kind"] in ("minibatch", "epoch", "validation", "result")]
        self.assertEqual([row["kind"] for row in table], [row["kind"] for row in shown])
        for line, row in zip(table, shown):
            if row["kind"] != "result":
                self.assertEqual(float(line["criterion"]), row["criterion"])
                self.assertEqual(float(line["EvalErrorPrediction"]), row["evaluations"]["EvalErrorPrediction"])
            else:
                self.assertEqual(float(line["criterion"]), row["nodes"]["CrossEntropyWithSoftmax"]["average"])

    def test_rows_come_whatever_the_trace_level_and_leave_the_log_alone(self):
        plain = self.run_all('metrics=""', 'tensorBoard=""', "modelPath=model/other.dnn")
        self.assertFalse((self.folder / "out").exists())
        run = self.run_all()
        numbers = r"(?:TrainLossPerSample|EvalErrPerSample|/Sample) = \S+"
        self.assertEqual(re.findall(numbers, run.stderr), re.findall(numbers, plain.stderr))
        self.assertEqual(len([row for row in self.rows() if row["kind"] == "minibatch"]), 16)
        lines = [log.split("Commands:")[1].count("\n") for log in (run.stderr, plain.stderr)]
        self.assertEqual(*lines)

    def undisturbed(self):
        self.run_all()
        rows = [{key: value for key, value in row.items() if key not in TIMES} for row in self.rows()]
        table = [{key: value for key, value in row.items() if key not in TIMES} for row in self.table()]
        shutil.rmtree(self.folder / "out")
        shutil.rmtree(self.folder / "model")
        return rows, table

    def compare(self, whole):
        rows = [{key: value for key, value in row.items() if key not in TIMES} for row in self.rows()]
        table = [{key: value for key, value in row.items() if key not in TIMES} for row in self.table()]
        self.assertEqual(rows, whole[0])
        self.assertEqual(table, whole[1])

    def test_killed_and_resumed(self):
        whole = self.undisturbed()
        kills = 0
        draw = random.Random(11)
        for _ in range(10):
            process = subprocess.Popen([str(CNTK), "configFile=exp.cntk"], cwd=self.folder, stderr=subprocess.DEVNULL)
            wanted, deadline = draw.randint(1, 40), time.time() + 60
            path = self.folder / "out/run.jsonl"
            while process.poll() is None and time.time() < deadline:
                if path.exists() and path.read_text().count("\n") >= wanted:
                    break
            process.kill()
            if process.wait() != 0 and self.rows_so_far()[-1]["kind"] != "end":
                kills += 1
                self.run_all()
                self.compare(whole)
            shutil.rmtree(self.folder / "out")
            shutil.rmtree(self.folder / "model")
        self.assertGreater(kills, 0)

    def test_stopped_within_an_epoch_and_resumed(self):
        self.write("exp.cntk", CONFIG % (ROOT, self.sgd.replace("maxEpochs=4", "maxEpochs=3; epochSize=1000000").replace(
            "numMBsToShowResult=6", "numMBsToShowResult=7777")))
        whole = self.undisturbed()
        stops = 0
        for _ in range(6):
            process = subprocess.Popen([str(CNTK), "configFile=exp.cntk"], cwd=self.folder, stderr=subprocess.DEVNULL,
                                       preexec_fn=heed_signals)
            time.sleep(0.25)
            process.send_signal(signal.SIGTERM)
            if process.wait() == 75:
                stops += 1
                self.assertEqual(self.rows()[-1]["exit"], 75)
            elif process.returncode == 0:
                break
        if stops == 0:
            self.skipTest("the training ended before the first signal")
        self.run_all()
        # Results of a second test replace those of the first.
        if [row["kind"] for row in self.rows()].count("start") == 1:
            self.compare(whole)
        else:
            rows = [row for row in self.rows() if row["kind"] not in ("start", "end")]
            rows = [{key: value for key, value in row.items() if key not in TIMES} for row in rows]
            self.assertEqual(rows, [row for row in whole[0] if row["kind"] not in ("start", "end")])

    def test_finished_and_repeated_trainings(self):
        self.run_all()
        before = [row for row in self.rows() if row["command"] == "Train"]
        self.run_all()  # nothing to train
        rows = self.rows()
        self.assertEqual([row for row in rows if row["command"] == "Train"], before)
        self.assertEqual([row["kind"] for row in rows if row["command"] == "Test"], ["confusion", "result"])
        self.run_all("makeMode=false")
        again = [row for row in self.rows() if row["command"] == "Train"]
        self.assertEqual([row["kind"] for row in again], [row["kind"] for row in before])
        self.assertNotEqual([row.get("seconds") for row in again], [row.get("seconds") for row in before])

    def test_other_evaluation_nodes_add_columns(self):
        self.run_all()
        self.write("net.mel", "m=LoadModel(\"model/net.dnn\")\nSetDefaultModel(m)\n"
                   "CopyNode(EvalErrorPrediction, other, copy=all)\nSetInputs(other, labels, HLast)\nSetProperty(other, Eval, true)\nSaveModel(\"model/net.dnn\")\n")
        self.run_all("command=Edit:Test", "Edit=[action=edit;editPath=net.mel]")
        table = self.table()
        self.assertEqual(list(table[0])[6:10], ["criterion", "EvalErrorPrediction", "other", "learningRatePerSample"])
        self.assertEqual(table[0]["other"], "")
        self.assertEqual(table[-1]["other"], table[-1]["EvalErrorPrediction"])

    def test_damaged_files(self):
        self.run_all()
        path = self.folder / "out/run.jsonl"
        whole = path.read_text()
        path.write_text(whole + '{"kind":"epoch","comm')
        run = self.run_all()
        self.assertIn("the line is dropped", run.stderr)
        self.assertNotIn("comm\n", path.read_text())
        path.write_text(whole.replace('{"kind":"validation"', 'x{"kind":"validation"', 1))
        run = self.run_all(status=None)
        line = 1 + next(i for i, text in enumerate(path.read_text().splitlines()) if text.startswith("x"))
        self.assertNotEqual(run.returncode, 0)
        self.assertIn("run.jsonl:%d: the line is no JSON object" % line, run.stderr)
        path.unlink()
        self.write("out/run.csv", "epoch,loss\n1,2\n")
        self.assertIn("expected the header of a metrics file", self.run_all(status=None).stderr)

    def test_mistakes_are_found_before_the_first_command(self):
        for argument, text in (("metrics=out/run.xml", ".jsonl (JSON lines) or .csv"), ("metrics=train.txt.csv:map.csv", None),
                               ("metrics=out/run.csv:out/run.csv", "run.csv"), ("report=train.txt", "train.txt"),
                               ("report=model/net.dnn", "net.dnn"), ("metrics=train.txt/x.csv", "train.txt"),
                               ("tensorBoard=train.txt", "train.txt")):
            shutil.rmtree(self.folder / "out", ignore_errors=True)
            if text is not None and text not in ("train.txt",):
                self.assertIn(text, self.run_all("--check", argument, status=None).stderr, argument)
                self.assertFalse((self.folder / "out").exists())
            run = self.run_all(argument, status=None)
            if text is None:
                self.assertEqual(run.returncode, 0)
                shutil.rmtree(self.folder / "model")
                continue
            self.assertNotEqual(run.returncode, 0, argument)
            self.assertIn(text, run.stderr.splitlines()[-1], argument)
            self.assertNotIn("Starting Epoch", run.stderr)

    def test_a_failing_run(self):
        data = self.read("train.txt").splitlines()
        data[200] = "1 x a"
        self.write("train.txt", "\n".join(data) + "\n")
        run = self.run_all(status=None)
        end = self.rows()[-1]
        self.assertEqual(end["kind"], "end")
        self.assertEqual(end["exit"], run.returncode)
        self.assertIn(end["message"], run.stderr)
        self.assertIn("train.txt", end["message"])

    def events(self, command="Train"):
        files = sorted((self.folder / "out/events" / command).iterdir(), key=lambda path: path.stat().st_mtime_ns)
        return [[dict(fields_of(message)) for message in records_of(path)] for path in files]

    def test_event_files(self):
        self.run_all("Train=[SGD=[keepCheckPointFiles=true]]")
        names = [path.name for path in (self.folder / "out/events").iterdir()]
        self.assertEqual(names, ["Train"])
        name = next((self.folder / "out/events/Train").iterdir()).name
        self.assertRegex(name, r"^events\.out\.tfevents\.\d{10}\..+\.\d+\.0$")
        events = self.events()[0]
        self.assertEqual(events[0][3], b"brain.Event:2")
        self.assertLess(abs(events[0][1] - time.time()), 600)
        scalars = {}
        for event in events[1:]:
            for number, value in fields_of(event[5]):
                self.assertEqual(number, 1)
                scalar = dict(fields_of(value))
                scalars.setdefault(scalar[1].decode(), []).append((event[2], scalar[2]))
        rows = self.rows()
        seen = {row["epoch"]: row["samplesSeen"] for row in rows if row["kind"] == "epoch"}
        for tag, kind, value in (
                ("train/criterion", "epoch", lambda row: row["criterion"]),
                ("train/EvalErrorPrediction", "epoch", lambda row: row["evaluations"]["EvalErrorPrediction"]),
                ("validation/criterion", "validation", lambda row: row["criterion"]),
                ("validation/EvalErrorPrediction", "validation", lambda row: row["evaluations"]["EvalErrorPrediction"]),
                ("learningRate", "epoch", lambda row: row["learningRatePerSample"])):
            expected = [(seen[row["epoch"]], struct.unpack("f", struct.pack("f", value(row)))[0]) for row in rows
                        if row["kind"] == kind]
            self.assertEqual(scalars[tag], expected, tag)
        self.assertEqual(len(scalars["samplesPerSecond"]), 4)
        # A resumed training begins a session at its step.
        for path in (self.folder / "model").iterdir():
            if path.name not in ("net.dnn.0", "net.dnn.1", "net.dnn.2", "net.dnn.2.ckp"):
                path.unlink()
        time.sleep(1)
        self.run_all()
        session = self.events()[1][1]
        self.assertEqual(dict(fields_of(session[7])), {1: 1})
        self.assertEqual(session[2], 500)
        # Also one that begins again: the viewer drops all steps of the earlier runs.
        time.sleep(1)
        self.run_all("makeMode=false")
        session = self.events()[2][1]
        self.assertEqual(dict(fields_of(session[7])), {1: 1})
        self.assertEqual(session.get(2, 0), 0)


if __name__ == "__main__":
    main()
