"""action=test with confusion= and predictions=: the files agree with the outputs of the model and with the log."""
import csv
import math
import random
import re
import xml.etree.ElementTree as ElementTree

from EndToEnd import main
from ThreeClasses import ThreeClassesTest

CLASSES = ["setosa", 'versi"color', "virginica"]

def rows_of(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


class ConfusionTest(ThreeClassesTest):
    classes = CLASSES
    root = """precision=double
Write=[ action=write; outputPath=out/scores; outputNodeNames=HLast; reader=[ file=test.txt; $streams$ ] ]"""
    sgd = "maxEpochs=10; learningRatesPerSample=0.05"

    def test_files_agree_with_the_outputs(self):
        plain = self.run_all()
        asked = self.run_all("command=Test:Write", "Test=[confusion=out/confusion.csv; predictions=out/predictions.csv]")
        scores = [[float(value) for value in line.split()] for line in self.read("out/scores.HLast").splitlines()]
        predictions = rows_of(self.folder / "out/predictions.csv")
        self.assertEqual(predictions[0], ["record", "label", "predicted", "probability"])
        self.assertEqual([int(row[0]) for row in predictions[1:]], list(range(1, 51)))
        self.assertEqual([row[1] for row in predictions[1:]], self.labels)
        counts = [[0] * 3 for _ in CLASSES]
        for row, values, label in zip(predictions[1:], scores, self.labels):
            best = max(range(3), key=values.__getitem__)
            self.assertEqual(row[2], CLASSES[best])
            self.assertAlmostEqual(float(row[3]), 1 / sum(math.exp(value - values[best]) for value in values), 4)
            counts[CLASSES.index(label)][best] += 1
        table = rows_of(self.folder / "out/confusion.csv")
        self.assertEqual(table[0], ["label", *CLASSES, "samples", "precision", "recall", "F1"])
        for k, row in enumerate(table[1:]):
            self.assertEqual(row[:5], [CLASSES[k], *map(str, counts[k]), str(sum(counts[k]))])
            recall = counts[k][k] / sum(counts[k])
            precision = counts[k][k] / sum(line[k] for line in counts)
            self.assertAlmostEqual(float(row[5]), precision)
            self.assertAlmostEqual(float(row[6]), recall)
            self.assertAlmostEqual(float(row[7]), 2 * precision * recall / (precision + recall))
        picture = ElementTree.parse(self.folder / "out/confusion.svg").getroot()
        texts = [element.text for element in picture.iter("{http://www.w3.org/2000/svg}text")]
        for text in ("predicted class", "label", *CLASSES, *(str(n) for line in counts for n in line if n)):
            self.assertIn(text, texts)
        # The log has the same numbers, with and without the files.
        final = [re.findall(r"Final Results.*", run.stderr)[-1] for run in (plain, asked)]
        self.assertEqual(final[0], final[1])
        errors = sum(counts[i][j] for i in range(3) for j in range(3) if i != j) / 50
        self.assertIn("ErrorPrediction/Sample = %.8g " % errors, final[0])

    def test_sequences_have_their_keys(self):
        draw = random.Random(3)
        text, labels = "", []
        for sequence in range(12):
            for _ in range(draw.randint(1, 5)):
                k = draw.randrange(3)
                labels.append(("seq%d" % sequence, k))
                text += "seq%d |features %.2f %.2f |labels %d:1\n" % (sequence, draw.gauss(k, 1), draw.gauss(0, 1), k)
        # CNTKTextFormatReader has numbers as ids.
        self.write("data.ctf", text.replace("seq", ""))
        self.run_all("command=Train")
        run = self.cntk("configFile=exp.cntk", "command=Test", "Test=[predictions=p.csv; minibatchSize=7; reader=[ "
                        "readerType=CNTKTextFormatReader; file=data.ctf; input=[ features=[ dim=2; format=dense ]; "
                        "labels=[ dim=3; format=sparse ] ] ] ]")
        self.assertIn("SamplesSeen = %d " % len(labels), run.stderr)
        rows = rows_of(self.folder / "p.csv")
        self.assertEqual(rows[0], ["record", "label", "predicted", "probability", "sequence"])
        self.assertEqual([(row[4], row[1]) for row in rows[1:]], [(key[3:], str(k)) for key, k in labels])

    def test_probabilities_of_a_softmax_stay(self):
        self.write("net.ndl", """
            features=Input(2, tag="feature"); labels=Input(3, tag="label"); W=Parameter(3, 2); P=Softmax(Times(W, features))
            ce=CrossEntropy(labels, P, tag="criterion"); err=ErrorPrediction(labels, P, tag="eval")
            OutputNodes=(P)""")
        network = "NDLNetworkBuilder=[ networkDescription=net.ndl ]"
        self.write("exp.cntk", re.sub(r"SimpleNetworkBuilder=\[.*?\]", network, self.read("exp.cntk")))
        self.run_all("command=Train:Test:Write", "Test=[predictions=p.csv]", "Write=[outputNodeNames=P]")
        written = [max(float(value) for value in line.split()) for line in self.read("out/scores.P").splitlines()]
        for row, probability in zip(rows_of(self.folder / "p.csv")[1:], written):
            self.assertAlmostEqual(float(row[3]), probability, 5)

    def test_mistakes(self):
        self.run_all("command=Train")
        run = self.run_all("command=Test", "Test=[confusion=out.txt]", status=3)
        self.assertIn("expected a name that ends in .csv", run.stderr)
        run = self.run_all("command=Test", "Test=[predictions=test.txt]", status=3)
        self.assertIn("test.txt", run.stderr)
        run = self.run_all("command=Test", "--check", "Test=[predictions=p.csv; evalNodeNames=CrossEntropyWithSoftmax]",
                            status=3)
        self.assertIn("need an evaluated ErrorPrediction node", run.stderr)
        run = self.run_all("command=Test", "Test=[predictions=p.csv; confusion=p]", status=3)
        self.assertIn("predictions would overwrite 'p.csv', which is confusion as well", run.stderr)
        self.write("file", "")
        run = self.run_all("Test=[predictions=file/p.csv]", status=None)
        self.assertNotEqual(run.returncode, 0)
        self.assertNotIn("Starting Epoch", run.stderr)


if __name__ == "__main__":
    main()
