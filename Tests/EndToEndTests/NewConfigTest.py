#!/usr/bin/env python3
"""cntk --new: the config for a table, a text or a folder of images trains, tests and predicts without a change, and reaches
the results that Examples/README.md reports. No record is in two parts of the data, and no file is overwritten."""
import gzip
import random
import re
import shlex
import shutil
import struct
import subprocess
import sys
import zlib

from EndToEnd import ROOT, EndToEndTest, main

IRIS = {"setosa": ((5.0, 3.4, 1.5, .25), (.35, .38, .17, .1)), "versicolor": ((5.9, 2.8, 4.3, 1.3), (.51, .31, .47, .2)),
        "virginica": ((6.6, 3.0, 5.5, 2.0), (.63, .32, .55, .27))}
IRIS_HEADER = "sepal_length,sepal_width,petal_length,petal_width,species"


def iris_rows():
    """150 rows with the means and deviations of the three kinds of iris."""
    draw = random.Random(7)
    return [",".join("%.1f" % draw.gauss(mean, deviation) for mean, deviation in zip(*numbers)) + "," + kind
            for kind, numbers in IRIS.items() for _ in range(50)]


def gray_png(width, pixels):
    """The bytes of a gray PNG file."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = [b"\0" + bytes(pixels[i:i + width]) for i in range(0, len(pixels), width)]
    header = struct.pack(">IIBBBBB", width, len(rows), 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"".join(rows))) + chunk(b"IEND", b"")


class NewConfigTest(EndToEndTest):
    def final(self, log, name):
        """The value of the node `name` in the last line of results."""
        line = [line for line in log.splitlines() if line.startswith("Final Results")][-1]
        return float(re.search(r"\b%s: \w+/Sample = ([0-9.e+-]+)" % name, line).group(1))

    def lines(self, name):
        return self.read(name).splitlines()

    def run_new(self, *arguments):
        """Makes a config, checks it, and runs it unchanged; returns what --new printed and the log."""
        told = self.cntk("--new", *arguments).stdout
        self.assertTrue(all(len(line) <= 80 for line in told.splitlines()), told)
        commands = re.findall(r"^  cntk (.*)$", told, re.MULTILINE)
        self.assertEqual(len(commands), 2, told)
        check = self.cntk(*commands[0].split())
        self.assertIn("__CHECKED__", check.stderr)
        self.assertNotIn("WARNING", check.stderr)
        run = self.cntk(*commands[1].split())
        self.assertNotIn("WARNING", run.stderr)
        self.assertIn("No further training is necessary", self.cntk(*commands[1].split(), "command=Train").stderr)
        return " ".join(told.split()), run.stderr

    def require_split(self, folder, rows, ending):
        """The parts together have all rows, and no row is in two parts."""
        parts = [self.lines("%s/%s%s" % (folder, part, ending)) for part in ("train", "valid", "test")]
        header = parts[0][0]
        if header not in rows:
            parts = [part[1:] for part in parts]
        self.assertEqual(sorted(sum(parts, [])), sorted(rows))
        for i, part in enumerate(parts):
            self.assertTrue(part)
            for other in parts[:i]:
                self.assertFalse(set(part) & set(other))
        return parts

    def test_table_with_a_header(self):
        rows = iris_rows()
        self.write("iris.csv", "\n".join([IRIS_HEADER] + rows) + "\n")
        told, log = self.run_new("iris.csv")
        self.assertIn("to predict: species, one of 3 classes (setosa, versicolor, virginica)", told)
        parts = self.require_split("iris_files", rows, ".csv")
        self.assertEqual([len(part) for part in parts], [90, 30, 30])
        self.assertEqual(self.lines("iris_files/labels.txt"), ["setosa", "versicolor", "virginica"])
        self.assertLessEqual(self.final(log, "error"), 0.1)
        predictions = [[float(word) for word in line.split()] for line in self.lines("iris_files/predictions.posteriors")]
        self.assertEqual(len(predictions), 30)
        right = sum(list(IRIS)[p.index(max(p))] == row.split(",")[4] for p, row in zip(predictions, parts[2]))
        self.assertAlmostEqual(1 - right / 30, self.final(log, "error"), places=6)
        told = [line.split(",") for line in self.lines("iris_files/predictions.csv")[1:]]
        self.assertEqual(sum(label == predicted for _, label, predicted, _ in told), right)
        self.assertEqual([label for _, label, _, _ in told], [row.split(",")[4] for row in parts[2]])
        self.assertTrue(self.read("iris_files/report.html").startswith("<!DOCTYPE html>"))
        self.assertTrue((self.folder / "iris_files/confusion.svg").exists())
        self.assertIn("Inputs=sepal_length:sepal_width:petal_length:petal_width", self.read("iris.cntk"))
        # New data have no column to predict.
        self.write("new.csv", "\n".join(row.rsplit(",", 1)[0] for row in [IRIS_HEADER] + parts[2]) + "\n")
        report = self.read("iris_files/report.html")
        self.cntk(*shlex.split(re.search(r"(?m)^#   cntk (.*command=Predict.*)$", self.read("iris.cntk")).group(1)))
        self.assertEqual(self.read("iris_files/report.html"), report)
        self.assertEqual(self.read("new.posteriors"), self.read("iris_files/predictions.posteriors"))

    def test_nothing_is_overwritten(self):
        self.write("iris.csv", "\n".join(iris_rows()) + "\n")
        self.cntk("--new", "iris.csv")
        before = self.read("iris.cntk")
        again = self.cntk("--new", "iris.csv", status=2)
        self.assertIn("overwrites nothing", again.stderr)
        self.assertEqual(self.read("iris.cntk"), before)
        self.cntk("--new", "iris.csv", "other.cntk")
        self.assertEqual(self.read("iris_files/train.csv"), self.read("other_files/train.csv"), "one seed")

    def test_spreadsheet_forms(self):
        """Decimal commas, quoted texts, an index, a constant and a text column, empty cells, repeated rows, a chosen label."""
        draw = random.Random(3)
        rows = []
        for i in range(200):
            kind = draw.choice(["yes; sure", "no"])
            x = "%.2f" % (draw.gauss(2 if kind == "no" else -2, 1))
            rows.append('%d;%s;%s;"town %d";7;"%s";%d' % (i, x.replace(".", ","), "" if i % 50 == 9 else draw.randint(1, 9),
                                                     i % 7, kind, draw.randint(0, 1)))
        rows += [rows[0], rows[1]]
        self.write("sheet.csv", "\r\n".join(["id;x;count;town;seven;answer;flag"] + rows) + "\r\n")
        told, log = self.run_new("sheet.csv", "label=answer")
        for words in ("with decimal commas", "town (text)", "seven (constant)", "one of 2 classes (no, yes; sure)",
                      "empty cells of inputs (also NA and ?) count as the mean", "2 records are equal to others"):
            self.assertIn(words, told)
        self.require_split("sheet_files", rows, ".csv")
        self.assertLessEqual(self.final(log, "error"), 0.1)
        wrong = self.cntk("--new", "sheet.csv", "b.cntk", "label=anser", status=2).stderr
        self.assertIn("did you mean 'answer'", wrong)

    def test_missing_values_count_as_the_mean(self):
        """A year that is missing must not be the year 0; statistics programs write NA."""
        draw = random.Random(4)
        rows = []
        for i in range(200):
            year, kind = draw.randint(1990, 2020), draw.choice("ab")
            rows.append("%s,%.2f,%s" % ("" if i % 20 == 3 else "NA" if i % 20 == 7 else year, draw.gauss(kind == "a", .1), kind))
        (self.folder / "cars.csv.gz").write_bytes(gzip.compress(("year,size,kind\n" + "\n".join(rows) + "\n").encode()))
        told, log = self.run_new("cars.csv.gz")
        self.assertIn("inputs: 2 columns", told)
        parts = self.require_split("cars_files", rows, ".csv")
        years = [int(row.split(",")[0]) for row in parts[0] if row[0].isdigit()]
        missing = float(re.search(r"(?m)^Missing=([\d.]+):", self.read("cars.cntk")).group(1))
        self.assertAlmostEqual(missing, sum(years) / len(years), 1)
        self.assertEqual(self.final(log, "error"), 0)

    def test_choice_of_the_label(self):
        draw = random.Random(6)
        rows = ["2024-%02d-%02d,%d,%.1f,%d" % (i % 12 + 1, i % 28 + 1, draw.randint(1, 4), draw.uniform(20, 90), draw.randint(0, 9999))
                for i in range(150)]
        self.write("rent.csv", "day,rooms,area,rent\n" + "\n".join(rows) + "\n")
        told = self.cntk("--new", "rent.csv").stdout
        self.assertIn("to predict: rent, a number", told)
        self.assertIn("left out: day (text)", told)

    def test_regression(self):
        draw = random.Random(5)
        rows = []
        for _ in range(1000):
            a, b = draw.uniform(-3, 3), draw.uniform(0, 10)
            rows.append("%.3f\t%.3f\t%.3f" % (a, b, 1e5 + 2000 * a * a - 300 * b + draw.gauss(0, 100)))
        self.write("price.tsv", "\n".join(rows) + "\n")
        told, log = self.run_new("price.tsv")
        self.assertIn("column 2, a number", told)
        self.assertLess(self.final(log, "valueError"), 400 ** 2)
        targets = [float(row.split("\t")[2]) for row in self.lines("price_files/test.tsv")]
        values = [float(line) for line in self.lines("price_files/predictions.prediction")]
        error = sum((a - b) ** 2 for a, b in zip(targets, values)) / len(values)
        self.assertAlmostEqual(error / self.final(log, "valueError"), 1, places=2)

    def test_digits_as_a_table(self):
        rows = self.shared("data/digits/train.txt").read_text().splitlines()
        told, log = self.run_new(self.shared("data/digits/train.txt"), "digits.cntk")
        self.assertIn("column 0, one of 10 classes", told)
        self.require_split("digits_files", rows, ".txt")
        self.assertLessEqual(self.final(log, "error"), 0.07)

    def test_digits_as_images(self):
        for i, row in enumerate(self.shared("data/digits/train.txt").read_text().splitlines()):
            numbers = [int(word) for word in row.split()]
            path = self.folder / "digits" / str(numbers[0]) / ("%04d.png" % i)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(gray_png(8, [min(255, value * 16) for value in numbers[1:]]))
        told, log = self.run_new("digits/")
        self.assertIn("8 x 8 pixels, gray", told)
        self.assertLessEqual(self.final(log, "error"), 0.05)
        self.assertEqual(len(self.lines("digits_files/predictions.posteriors")), len(self.lines("digits_files/test.txt")))

    def test_photos(self):
        script = ROOT / "Examples/Image/Photos/MakePhotos.py"
        subprocess.run([sys.executable, script, self.folder / "photos", "--count", "60"], check=True,
                       stdout=subprocess.DEVNULL)
        told, log = self.run_new("photos")
        self.assertIn("180 images of 3 classes, named as their folders: forest, sea, town", told)
        self.assertLessEqual(self.final(log, "error"), 0.1)
        # Images of one folder have no class, which predictions do not need.
        (self.folder / "new").mkdir()
        for name in ("sea003.png", "sea001.png"):
            shutil.copy(self.folder / "photos/sea" / name, self.folder / "new")
        self.cntk(*shlex.split(re.search(r"(?m)^#   cntk (.*command=Predict.*)$", self.read("photos.cntk")).group(1)))
        self.assertEqual(len(self.lines("new.posteriors")), 2)
        self.assertIn("'new/sea001.png' has no class", self.cntk("photos.cntk", "command=Test", "Test=[reader=[file=new]]",
                                                                 status=4).stderr)
        # The reader takes the folder as it is, too.
        direct = self.cntk("photos.cntk", "command=Test", "Test=[reader=[file=photos]]").stderr
        self.assertIn("SamplesSeen = 180", direct)

    def test_simple2d(self):
        _, log = self.run_new(self.shared("data/simple2d/SimpleDataTrain.txt"))
        self.assertLessEqual(self.final(log, "error"), 0.03)

    def test_text(self):
        lines = self.shared("data/ptb/ptb.small.train.txt").read_text().splitlines()
        told, log = self.run_new(self.shared("data/ptb/ptb.small.train.txt"), "text.cntk")
        self.assertIn("a text of 256 sentences", told)
        self.require_split("text_files", [" ".join(line.split()) for line in lines], ".txt")
        words = len(self.lines("text_files/words.txt"))
        self.assertLess(float(re.findall(r"Perplexity = ([0-9.]+)", log)[-1]), words / 3)
        self.assertEqual(len(self.lines("text_files/predictions.txt")), len(self.lines("text_files/test.txt")))

    def test_messages(self):
        self.assertIn("--new needs data", self.cntk("--new", status=2).stderr)
        self.assertIn("does not exist", self.cntk("--new", "none.csv", status=2).stderr)
        self.write("few.csv", "1,a\n2,b\n")
        self.assertIn("expected 10 or more", self.cntk("--new", "few.csv", status=4).stderr)
        self.write("bad.csv", "1,2,a\n" * 20 + "1,a\n")
        self.assertIn("bad.csv:21: the line has 2 columns", self.cntk("--new", "bad.csv", status=4).stderr)
        self.write("open.csv", 'x,kind\n' + '1,"a\nb"\n' * 20)
        self.assertIn("open.csv:2: the quotes of a cell are not closed", self.cntk("--new", "open.csv", status=4).stderr)
        (self.folder / "empty").mkdir()
        self.assertIn("0 sub-folders of images", self.cntk("--new", "empty", status=4).stderr)
        alone = self.cntk(status=2).stderr
        self.assertIn("cntk --new DATA", alone)


if __name__ == "__main__":
    main()
