#!/usr/bin/env python3
"""Tests readers and writers of words with the real program: word classes, data of language models, slot filling."""
import os

from EndToEnd import EndToEndTest, main

CLASSES = """
command=wc
wc=[
  action=writeWordAndClass
  inputFile=text.txt
  outputVocabFile=out/vocab.txt
  outputMappingFile=out/words.txt
  outputWord2Cls=out/word2cls.txt
  outputCls2Index=out/cls2idx.txt
  vocabSize=5
  nbrClass=2
  cutoff=0
]
"""
SLOTS = """
command=Train:Write
precision=double
modelPath=out/m.dnn
outputNodeNames=y:labels
Train=[
  action=train
  NDLNetworkBuilder=[ networkDescription=net.ndl ]
  SGD=[ maxEpochs=40; minibatchSize=10; learningRatesPerSample=0.5; momentumPerMB=0 ]
  reader=[ $slots$ ]
]
Write=[
  action=write
  minibatchSize=10
  reader=[ $slots$ ]
  writer=[
    writerType=LUSequenceWriter
    outputNodeNames=y:labels
    y=[ file=out/y.txt; token=tags.txt ]
    labels=[ file=out/labels.txt; token=tags.txt ]
  ]
]
slots="readerType=LUSequenceReader; file=train.txt; wordContext=0:1; nbruttineachrecurrentiter=2; features=[ dim=0 ]; \
labelIn=[ token=words.txt ]; labels=[ token=tags.txt ]"
"""
NETWORK = """
features=SparseInput(10)
labels=Input(2)
W=Parameter(2, 10)
y=Times(W, features)
c=CrossEntropyWithSoftmax(labels, y)
FeatureNodes=(features)
LabelNodes=(labels)
CriteriaNodes=(c)
OutputNodes=(y)
"""


class LanguageTest(EndToEndTest):
    def write_slots(self, more=""):
        self.write("exp.cntk", SLOTS + more)
        self.write("net.ndl", NETWORK)
        self.write("words.txt", "BOS\nto\nrome\nfly\nEOS\n")
        self.write("tags.txt", "O\nCITY\n")

    def test_word_classes(self):
        self.write("exp.cntk", CLASSES)
        self.write("text.txt", "a b a\n</s> b a c </s>\nd a\n")
        run = self.cntk("configFile=exp.cntk")
        # </s> counts once a line; c and d occur once, and one of them exceeds the size.
        self.assertEqual(self.read("out/vocab.txt"), "     0\t     4\ta\t0\n     1\t     3\t</s>\t1\n"
                                                     "     2\t     2\tb\t1\n     3\t     1\t<unk>\t1\n"
                                                     "     4\t     1\tc\t1\n")
        self.assertEqual(self.read("out/words.txt"), "a\n</s>\nb\n<unk>\nc\n")
        self.assertEqual(self.read("out/word2cls.txt"), "0\n1\n1\n1\n1\n")
        self.assertEqual(self.read("out/cls2idx.txt"), "0\n1\n")
        self.assertEqual(run.stderr.split("complete")[0].split("#\n")[-1].strip("#\n").splitlines()[:-1], [
            "Mapping file       --> out/words.txt", "Vocabulary file    --> out/vocab.txt",
            "Word-to-class map  --> out/word2cls.txt", "Class-to-index map --> out/cls2idx.txt",
            "Reading input file inputFile: text.txt", "Vocabulary size 5.",
            "Created label-mapping file with 5 entries.", "Created vocabulary file with 5 entries.",
            "Created word-to-class map with 5 entries.", "Created class-to-index map with 2 entries.", ""])

    def test_splitting_into_words(self):
        self.write("exp.cntk", CLASSES)
        # A byte order mark is no part of the first word; tabs are blanks; a line may have the end marker only.
        self.write("text.txt", "\ufeffb\ta </s>\na  b b\n")
        self.cntk("configFile=exp.cntk", "wc=[nbrClass=0]")
        self.assertEqual(self.read("out/vocab.txt"), "     0\t     2\t</s>\t0\n     1\t     2\ta\t0\n     2\t     3\tb\t0\n")

    def test_words_beyond_the_size_and_the_cutoff_are_unknown(self):
        self.write("exp.cntk", CLASSES)
        self.write("text.txt", "a a a b b c d\na c d d\n")
        # Counts: a 4, d 3, b, c and </s> 2. Two words are above the cutoff, and one of them replaces all others.
        log = self.cntk("configFile=exp.cntk", "wc=[cutoff=2]").stderr
        self.assertIn("vocabSize=5, but only 2 words occur more often than cutoff=2; 2 words are written", log)
        self.assertEqual(self.read("out/vocab.txt").split(), ["0", "9", "<unk>", "1", "1", "4", "a", "1"])
        # Two words with equal shares; each fills a class.
        self.write("text.txt", "a a b\n")
        self.cntk("configFile=exp.cntk", "makeMode=false", "wc=[vocabSize=2]")
        self.assertEqual(self.read("out/vocab.txt").split(), ["0", "2", "<unk>", "0", "1", "2", "a", "1"])
        self.assertEqual(self.read("out/cls2idx.txt"), "0\n1\n")

    def test_a_word_that_is_more_than_a_class_leaves_one_empty(self):
        self.write("exp.cntk", CLASSES)
        self.write("text.txt", "a b c\n")
        log = self.cntk("configFile=exp.cntk", "wc=[vocabSize=4; nbrClass=50]").stderr
        # Each of the four words has more than a fiftieth, so the first one already exceeds class 0.
        self.assertEqual(self.read("out/word2cls.txt"), "1\n2\n3\n4\n")
        self.assertEqual(self.read("out/cls2idx.txt"), "0\n1\n2\n3\n")
        self.assertIn("Created class-to-index map with 4 entries.", log)
        self.assertIn("WARNING: writeWordAndClass: '</s>', the most frequent word, is larger than the share of one of 50 "
                      "classes: class 0 has no word, and the class-to-index map begins with class 1; expected at most "
                      "nbrClass=4\n", log)
        self.assertNotIn("WARNING", self.cntk("configFile=exp.cntk", "wc=[vocabSize=4; nbrClass=4]",
                                              "makeMode=false").stderr)

    def test_word_classes_are_made_once(self):
        self.write("exp.cntk", CLASSES)
        text = self.write("text.txt", "a b a\n")
        os.utime(text, (1000000000, 1000000000))
        self.cntk("configFile=exp.cntk")
        log = self.cntk("configFile=exp.cntk").stderr
        self.assertIn("All output files up to date.", log)
        self.assertNotIn("WARNING", log)
        # A vocabulary that contradicts the parameters gives a warning.
        for argument, sign in (("vocabSize=2", "3 words, but vocabSize is 2"), ("nbrClass=1", "2 classes, but nbrClass is 1"),
                               ("nbrClass=0", "2 classes, but nbrClass is 0")):
            self.assertIn("WARNING: 'out/vocab.txt' has %s: it was written with other parameters; makeMode=false writes it "
                          "again\n" % sign, self.cntk("configFile=exp.cntk", "wc=[%s]" % argument).stderr)
        self.assertNotIn("All output files up to date.", self.cntk("configFile=exp.cntk", "makeMode=false").stderr)
        os.remove(self.folder / "out/words.txt")
        self.assertNotIn("All output files up to date.", self.cntk("configFile=exp.cntk").stderr)
        self.assertEqual(self.read("out/words.txt").splitlines()[0], "a")

    def test_words_without_classes_are_sorted(self):
        self.write("exp.cntk", CLASSES)
        self.write("text.txt", "c b a\n")
        self.cntk("configFile=exp.cntk", "wc=[nbrClass=0]")
        self.assertEqual(self.read("out/words.txt"), "</s>\na\nb\nc\n")
        self.assertFalse((self.folder / "out/word2cls.txt").exists())

    def test_word_classes_messages(self):
        self.write("exp.cntk", CLASSES)
        self.assertIn("text file 'text.txt' does not exist", self.cntk("configFile=exp.cntk", status=4).stderr)
        self.assertIn("'.' is a folder, expected a text file",
                      self.cntk("configFile=exp.cntk", "wc=[inputFile=.]", status=4).stderr)
        self.write("text.txt", "")
        for check in [], ["--check"]:
            self.assertIn("error: text file 'text.txt' is empty, expected a sentence a line",
                          self.cntk("configFile=exp.cntk", *check, status=4).stderr)
        (self.folder / "text.txt").write_bytes("a b\nc\n".encode("utf-16-le"))
        self.assertIn("error: text.txt:1: a zero byte, expected UTF-8 or ASCII text; is it UTF-16, or a binary file?",
                      self.cntk("configFile=exp.cntk", status=4).stderr)
        (self.folder / "text.txt").write_bytes(b"a b\rc\r")
        self.assertIn("error: text file 'text.txt' has carriage returns without newlines, the first as byte 4",
                      self.cntk("configFile=exp.cntk", status=4).stderr)
        self.write("text.txt", "a\n")
        self.assertIn("no word of 'text.txt' occurs more often than cutoff=9",
                      self.cntk("configFile=exp.cntk", "wc=[cutoff=9]", status=4).stderr)
        self.assertIn("needs outputWord2Cls=", self.cntk("configFile=exp.cntk", "wc=[outputWord2Cls=\"\"]",
                                                         status=3).stderr)

    def test_slot_filling(self):
        self.write_slots()
        self.write("train.txt", "BOS O\nfly O\nto O\nrome CITY\nEOS O\n\nBOS O\nto O\nrome CITY\nEOS O\n\n")
        # The book's spelling of nbruttsineachrecurrentiter is accepted: no name of this config is unknown.
        self.assertNotIn("nbrutt", self.cntk("configFile=exp.cntk", "strictConfig=true").stderr.split("Precision")[1])
        self.assertIn("also nbruttineachrecurrentiter", self.cntk("--help", "nbruttineachrecurrentiter").stdout)
        self.assertEqual(self.read("out/labels.txt"), "O O O CITY O \nO O CITY O \n")
        self.assertEqual(self.read("out/y.txt"), self.read("out/labels.txt"))
        # The second file finds the disk full, so the first one stays unchanged, too.
        for name in "y", "labels":
            self.write("out/%s.txt" % name, "old\n")
        self.fill_disk_for("out/labels.txt")
        self.assertIn("cannot write file 'out/labels.txt': No space left on device",
                      self.cntk("configFile=exp.cntk", "command=Write", status=6).stderr)
        self.assertEqual([self.read("out/%s.txt" % name) for name in ("y", "labels")], ["old\n", "old\n"])

    def test_messages_of_writers(self):
        self.write_slots()
        self.write("train.txt", "fly O\nrome CITY\n")
        self.write("classes.txt", "0\t2\tO\t0\n1\t1\tCITY\t1\n")
        self.cntk("configFile=exp.cntk", "command=Train")
        for argument, status, message in (
                ("labels=[file=./out/y.txt]", 3, "error: file would overwrite './out/y.txt', which is "
                 "y:file as well; expected another file"),
                ("y=[token=classes.txt]", 4, "error: classes.txt:1: expected one label a line, found "
                 "'0\t2\tO\t0'; a file with id, count, word and class is for LMSequenceWriter")):
            for check in [], ["--check"]:
                run = self.cntk("configFile=exp.cntk", "command=Write", "Write=[writer=[%s]]" % argument, *check,
                                status=status)
                self.assertIn(message, run.stderr)
                self.assertFalse((self.folder / "out/y.txt").exists())
        self.write("long.txt", "no city\nname of a city\n")
        self.cntk("configFile=exp.cntk", "command=Write", "Write=[writer=[labels=[token=long.txt]]]")
        self.assertEqual(self.read("out/labels.txt"), "no city name of a city \n")

    def test_a_writer_is_tested_with_the_inputs(self):
        self.write_slots()
        # Two lengths, so there is a second minibatch. Only the criterion, which reads sparse labels, needs them.
        self.write("train.txt", "BOS O\nrome CITY\nEOS O\n\nfly O\nrome CITY\n\n")
        self.cntk("configFile=exp.cntk", "command=Train")
        run = self.cntk("configFile=exp.cntk", "command=Write", "outputNodeNames=c",
                        "Write=[writer=[unittest=true; outputNodeNames=labels]]")
        self.assertEqual(self.read("out/labels.txt"), "O CITY O \nO CITY \n")
        self.assertNotIn("unknown key 'unittest'", run.stderr)
        run = self.cntk("configFile=exp.cntk", "command=Write", "outputNodeNames=c",
                        "Write=[writer=[unittest=true]]", status=3)
        self.assertIn("the LUSequenceWriter needs node 'y', which the command does not write; it writes labels, "
                      "features;", run.stderr)

    def test_sparse_inputs_are_written_as_dense_ones(self):
        self.write_slots("Words=[ action=write; outputPath=out/values; outputNodeNames=features\n"
                         "  reader=[ $slots$ ] ]\n")
        self.write("both.txt", "BOS\nto\nrome\nfly\nEOS\n>BOS\n>to\n>rome\n>fly\n>EOS\n")
        self.write("train.txt", "BOS O\nrome CITY\nEOS O\n\nfly O\nEOS O\n\n")
        self.cntk("configFile=exp.cntk", "command=Train:Words")
        rows = [[i for i, value in enumerate(line.split()) if float(value) == 1]
                for line in self.read("out/values.features").splitlines()]
        # The word, and five rows below it the next word; the last word is its own next word.
        self.assertEqual(rows, [[0, 7], [2, 9], [4, 9], [3, 9], [4, 9]])
        self.cntk("configFile=exp.cntk", "command=Write", "Write=[writer=[outputNodeNames=features; "
                  "features=[file=out/words.txt; token=both.txt; nbest=2]]]", "outputNodeNames=features")
        self.assertEqual(self.read("out/words.txt").splitlines(), ["BOS >rome rome >EOS EOS >EOS ", "fly >EOS EOS >EOS "])

    def test_data_next_to_a_shuffled_text_need_its_order(self):
        self.write("words.txt", "0 9 a 0\n1 9 b 0\n")
        texts = ["a b a", "b a a", "b b a", "a a a", "b a b", "a b b"] * 4
        self.write("text.txt", "\n".join(texts))
        self.write("same.ctf", "".join("%d |same %s\n" % (i, "1 0" if word == "a" else "0 1")
                                       for i, text in enumerate(texts) for word in text.split()[:-1]))
        self.write("exp.cntk", """command=Write
NDLNetworkBuilder=[ run=N; N=[ features=SparseInput(2, tag=feature); same=Input(2, tag=feature)
  OutputNodes=(features, same) ] ]
Write=[ action=write; outputPath=out; minibatchSize=2; reader=[ readers=text:other; randomize=none
  text=[ readerType=LMSequenceReader; file=text.txt; wordclass=words.txt; unk=a; cacheBlockSize=$block$
    features=[ dim=0 ]; labelIn=[ labelDim=2 ]; labels=[ labelType=none ] ]
  other=[ readerType=CNTKTextFormatReader; file=same.ctf; input=[ same=[ dim=2; format=dense ] ] ] ] ]
""")
        warning = ("readers: 'text', a LMSequenceReader, ignores randomize and shuffles its data, and 'other' has "
                   "another order; the samples of a minibatch then do not belong together; "
                   "expected cacheBlockSize=1 in 'text' and randomize=none in 'other'\n")
        self.assertIn(warning, self.cntk("configFile=exp.cntk", "block=100").stderr)
        self.assertNotEqual(self.read("out.features"), self.read("out.same"))
        self.assertNotIn("WARNING", self.cntk("configFile=exp.cntk", "block=1").stderr)
        self.assertEqual(self.read("out.features"), self.read("out.same"))

    def test_reader_messages_have_their_place(self):
        self.write_slots()
        self.write("train.txt", "BOS O\nfly CITI\n")
        run = self.cntk("configFile=exp.cntk", status=4)
        self.assertIn("train.txt:2:5: 'CITI' is not in the tokens 'tags.txt' of 'labels', and neither is unk '<unk>'; "
                      "did you mean 'CITY'?", run.stderr)


if __name__ == "__main__":
    main()
