"""report=: a page about the run, with the numbers of the log, also of resumed, failing and stopped runs."""
import html.parser
import re
import shutil
import signal
import subprocess
import time
import xml.etree.ElementTree as ElementTree

import Browser
from EndToEnd import CNTK, heed_signals, main
from ThreeClasses import ThreeClassesTest

VOID = {"meta", "br"}


class Page(html.parser.HTMLParser):
    """Checks that elements are closed; collects texts, tables and the names of elements."""

    def __init__(self, text):
        super().__init__()
        self.open, self.names, self.tables, self.text = [], [], [], []
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attributes):
        self.names.append(tag)
        for name, value in attributes:
            assert name not in ("href", "src") and not name.startswith("on"), (tag, name, value)
            assert "url(" not in (value or "")
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_startendtag(self, tag, attributes):
        self.names.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)
        if self.open and self.open[-1] in ("td", "th"):
            self.tables[-1][-1][-1] += data

    def table(self, *headings):
        """Returns the lines of the first table whose headings begin so."""
        return next(table[1:] for table in self.tables if table[0][:len(headings)] == list(headings))


class ReportTest(ThreeClassesTest):
    root = "report=out/run.html"
    sgd = "maxEpochs=8; learningRatesPerSample=0.05*4:0.0005"

    def page(self):
        text = self.read("out/run.html")
        self.assertLess(len(text.encode()), 2_000_000)
        self.assertTrue(text.startswith("<!DOCTYPE html>"))
        for picture in re.findall(r"<svg.*?</svg>", text, re.S):
            root = ElementTree.fromstring(picture)
            self.assertTrue(root[0].tag.endswith("title") and root[0].text)
        page = Page(text)
        self.assertNotIn("script", page.names)
        return page

    def numbers(self, page):
        """Returns epoch, criterion and error of training and validation."""
        return [(row[0], row[2], row[3], row[4], row[5]) for row in page.table("epoch", "samples seen")]

    def numbers_in(self, log):
        train = re.findall(r"Finished Epoch\[ *(\d+) of \d+\]: \[Training Set\] TrainLossPerSample = (\S+); .*?EvalErrPerSample "
                           r"= (\S+);", log)
        validation = re.findall(r"\[Validation Set\] TrainLossPerSample = (\S+); EvalErrPerSample = (\S+)", log)
        return [(*one, *other) for one, other in zip(train, validation)]

    def test_numbers_are_those_of_the_log(self):
        run = self.run_all("Test=[confusion=out/c.csv]")
        page = self.page()
        self.assertEqual(self.numbers(page), self.numbers_in(run.stderr))
        self.assertEqual(len(self.numbers(page)), 8)
        results = page.table("command", "model", "samples")
        for name, value in re.findall(r"(\w+): \w+/Sample = (\S+) ", run.stderr.split("Action \"test\"")[1]):
            self.assertIn(value, [row[5] for row in results if row[3] == name])
        text = " ".join(page.text)
        for part in ("exp.cntk", "finished", "Curves", "Confusion", "Predicted class over the two features of features",
                     "Network", "Effective config", "Environment", "Warnings", "learning rate per sample", "label",
                     "predicted class", "maxEpochs=8"):
            self.assertIn(part, text)
        nodes = page.table("node", "type", "inputs")
        self.assertIn(["W0", "LearnableParameter", "", "[8 x 2]", "16"], [row for row in nodes if row[0] == "W0"])
        files = page.table("named by", "file")
        self.assertIn(("train.txt", str((self.folder / "train.txt").stat().st_size)), [(row[1], row[2]) for row in files])
        written = page.table("command", "file", "bytes")
        self.assertIn("model/net.dnn", [row[1] for row in written])
        self.assertIn("out/c.csv", [row[1] for row in written])
        classes = page.table("class", "samples", "predicted")
        self.assertEqual([row[0] for row in classes], ["a", "b", "c"])
        self.assertEqual(sum(int(row[1]) for row in classes), 50)

    def test_the_log_is_not_changed(self):
        with_report = self.run_all().stderr
        shutil.rmtree(self.folder / "model")
        without = self.run_all("report=\"\"").stderr

        def without_times(log):
            return re.sub(r"(EpochTime=|TotalTime = |took ).*", "", log.split("Commands:")[1])

        self.assertEqual(without_times(with_report), without_times(without))

    def test_resumed_trainings_are_whole(self):
        whole = self.numbers_in(self.run_all().stderr)
        for metrics in ("", "metrics=out/run.jsonl"):
            shutil.rmtree(self.folder / "model")
            self.run_all("Train=[SGD=[keepCheckPointFiles=true]]", *filter(None, [metrics]))
            for path in (self.folder / "model").iterdir():
                if path.name not in ("net.dnn.0", "net.dnn.1", "net.dnn.2", "net.dnn.3", "net.dnn.3.ckp",
                                     "net.dnn.history.jsonl"):
                    path.unlink()
            (self.folder / "out/run.html").unlink()
            run = self.run_all("Train=[SGD=[keepCheckPointFiles=true]]", *filter(None, [metrics]))
            self.assertEqual(len(self.numbers_in(run.stderr)), 5)
            self.assertEqual(self.numbers(self.page()), whole)
            self.assertEqual((self.folder / "model/net.dnn.history.jsonl").exists(), not metrics)
        # A finished training still has its curves.
        shutil.rmtree(self.folder / "model")
        self.run_all()
        self.run_all()
        self.assertEqual(len(self.page().table("epoch", "samples seen")), 8)

    def test_failing_and_stopped_runs(self):
        data = self.read("test.txt").splitlines()
        self.write("test.txt", "\n".join(data[:20] + ["1 <x> a"] + data[20:]) + "\n")
        run = self.run_all("Train=[cvReader=[file=train.txt]]", status=None)
        self.assertNotEqual(run.returncode, 0)
        page = self.page()
        text = "".join(page.text)
        self.assertIn("ended with exit code %d" % run.returncode, text)
        self.assertIn(run.stderr.splitlines()[-1], text)
        self.assertIn("<x>", run.stderr.splitlines()[-1])
        self.assertEqual(len(self.numbers(page)), 8)
        shutil.rmtree(self.folder / "out")
        process = subprocess.Popen([str(CNTK), "configFile=exp.cntk", "modelPath=model/long.dnn",
                                    "Train=[cvReader=[file=train.txt];SGD=[maxEpochs=100000]]"], cwd=self.folder,
                                   stderr=subprocess.DEVNULL, preexec_fn=heed_signals)
        deadline = time.time() + 60
        while time.time() < deadline and not (self.folder / "out/run.html").exists():
            time.sleep(0.01)
        time.sleep(1)
        self.assertIn("running", self.page().text)  # whole at any time
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(), 75)
        self.assertIn("ended with exit code 75", "".join(self.page().text))

    def test_in_a_browser(self):
        if Browser.CHROMIUM is None:
            self.skipTest("there is no chromium")
        self.run_all("Test=[confusion=out/c.csv]")
        shown = Browser.dom(self.folder / "out/run.html")
        for part in ("<h1>exp.cntk</h1>", "<h2>Curves</h2>", "<polyline", ">share of samples that are wrong</text>",
                     ">predicted class</text>"):
            self.assertIn(part, shown)
        # Curves in both colours, darker than the paper by enough to be seen in grey.
        screen = Browser.pixels(self.folder / "out/run.html", 800, 2400)
        colours = {}
        for line in screen:
            for colour in line:
                colours[colour] = colours.get(colour, 0) + 1
        self.assertEqual(max(colours, key=colours.get), (255, 255, 255))
        for colour in ((0x1A, 0x5F, 0xB4), (0xC6, 0x46, 0x00)):
            self.assertGreater(colours.get(colour, 0), 300, colour)
        picture = Browser.pixels(self.folder / "out/c.svg", 600, 400)
        self.assertGreater(sum(line.count((255, 255, 255)) < len(line) for line in picture), 100)


if __name__ == "__main__":
    main()
