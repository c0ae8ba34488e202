#!/usr/bin/env python3
"""Trains an encoder that reads a sentence and a decoder that writes it backwards as one network."""
import math
import random
import re
import signal
import subprocess
import time

from EndToEnd import CNTK, EndToEndTest, heed_signals, main

WORDS = 4
CONFIG = """command=Train
precision=double
traceLevel=0
numCPUThreads=1
modelPath=$folder$/m.dnn
folder=model
encoder=train
epochs=30
mode=true
rule=adam
rate=0.0002
Train=[
  action=trainEncoderDecoder
  makeMode=$mode$
  EncoderNetworkBuilder=[ rnnType=LSTMENCODER; layerSizes=4:8:24; lookupTableOrder=1; sparseinput=true
    initValueScale=6 ]
  DecoderNetworkBuilder=[ rnnType=ALIGNMENTSIMILARITYGENERATOR; layerSizes=5:8:24:24:5; lookupTableOrder=1
    initValueScale=6; trainingCriterion=CrossEntropyWithSoftmax; evalCriterion=ErrorPrediction ]
  SGD=[ maxEpochs=$epochs$; minibatchSize=32; learningRatesPerSample=$rate$; momentumPerMB=0; gradUpdateType=$rule$ ]
  encoderReader=[ readerType=CNTKTextFormatReader; file=$encoder$.enc.ctf; randomize=auto
    input=[ features=[ alias=words; dim=4; format=sparse ] ] ]
  decoderReader=[ readerType=CNTKTextFormatReader; file=train.dec.ctf; randomize=auto
    input=[ features=[ alias=prev; dim=5; format=sparse ]; labels=[ dim=5; format=sparse ] ] ]
]
Test=[
  action=testEncoderDecoder
  encoderModelPath=$modelPath$.0
  decoderModelPath=$modelPath$.1
  beamWidth=$beam$
  endWord=4
  maxLength=12
  outputPath=said.txt
  encoderReader=[ readerType=CNTKTextFormatReader; file=test.enc.ctf; randomize=none
    input=[ features=[ alias=words; dim=4; format=sparse ] ] ]
  decoderReader=[ readerType=CNTKTextFormatReader; file=test.dec.ctf; randomize=none
    input=[ features=[ alias=prev; dim=5; format=sparse ]; labels=[ dim=5; format=sparse ] ] ]
]
beam=1
"""
CV = """Train=[
  encoderCVReader=[ readerType=CNTKTextFormatReader; file=test.enc.ctf; randomize=none
    input=[ features=[ alias=words; dim=4; format=sparse ] ] ]
  decoderCVReader=[ readerType=CNTKTextFormatReader; file=test.dec.ctf; randomize=none
    input=[ features=[ alias=prev; dim=5; format=sparse ]; labels=[ dim=5; format=sparse ] ] ]
]
"""

THREE = """Train=[ action=bidirectionEncoderDecoder
  DecoderNetworkBuilder=[ rnnType=ALIGNMENTSIMILARITYGFORWARDDECODER ]
  BackwardDecoderNetworkBuilder=[ rnnType=ALIGNMENTSIMILARITYGENERATOR; layerSizes=5:8:24:24:5; lookupTableOrder=1
    initValueScale=6; trainingCriterion=CrossEntropyWithSoftmax; evalCriterion=ErrorPrediction ]
  backwardDecoderReader=[ readerType=CNTKTextFormatReader; file=train.dec.ctf; randomize=auto
    input=[ features=[ alias=prev; dim=5; format=sparse ]; labels=[ dim=5; format=sparse ] ] ]
]
"""
DECODER = """run=Decoder
Decoder=[
  features=SparseInput(5, tag=feature)
  labels=Input(5, tag=label)
  encoded=InputValue(24, dynamicAxis=encoder)
  memory=PairNetwork(encoded)
  K=Parameter(24, 24)
  keys=Times(K, memory)
  state=PastValue(24, 1, h)
  context=Attention(memory, keys, state)
  U=Parameter(24, 5)
  W=Parameter(24, 24)
  h=Tanh(Plus(Times(U, features), Times(W, context)))
  O=Parameter(5, 24)
  z=Times(O, h)
  ce=CrossEntropyWithSoftmax(labels, z, tag=criterion)
  OutputNodes=(z)
]
"""


class EncoderDecoderTest(EndToEndTest):
    def setUp(self):
        super().setUp()
        self.sentences = {}
        self.make("train", 1500, 1)
        self.make("test", 100, 2)
        self.write("config.cntk", CONFIG)

    def make(self, name, count, seed, first=0):
        """Makes sentences for the encoder, and the decoder's sentences in another order."""
        draw = random.Random(seed)
        sentences = [[draw.randrange(WORDS) for _ in range(draw.randint(1, 4))] for _ in range(count)]
        encoder, decoder = [], []
        for number, words in enumerate(sentences):
            said = words[::-1] + [WORDS]
            encoder.append("".join("%d |words %d:1\n" % (number + first, word) for word in words))
            decoder.append("".join("%d |prev %d:1 |labels %d:1\n" % (number + first, before, word)
                                   for before, word in zip([WORDS] + said, said)))
        draw.shuffle(encoder)
        self.write(name + ".enc.ctf", "".join(encoder))
        self.write(name + ".dec.ctf", "".join(decoder))
        self.sentences[name] = sentences

    def train(self, *arguments, status=0):
        return self.cntk("configFile=config.cntk", *arguments, status=status)

    @staticmethod
    def losses(log):
        return [float(x) for x in re.findall(r"\[Training Set\] Decoder Train Loss Per Sample = (\S+)", log)]

    def test_a_decoder_learns_to_reverse_the_encoders_sentence(self):
        log = self.train().stderr
        losses = self.losses(log)
        self.assertEqual(len(losses), 30)
        self.assertLess(losses[-1], 0.05)
        test = self.train("command=Test").stderr
        decoded, same = map(int, re.search(r"Decoded (\d+) sentences .*; (\d+) of them", test).groups())
        self.assertEqual(decoded, 100)
        self.assertGreaterEqual(same, 97)
        said = [[int(word) for word in line.split()] for line in self.read("said.txt").splitlines()]
        right = sum(line == words[::-1] + [WORDS] for line, words in zip(said, self.sentences["test"]))
        self.assertEqual(right, same)
        # More hypotheses find sentences that are at least as probable.
        wide = self.train("command=Test", "beam=4").stderr
        self.assertGreaterEqual(int(re.search(r"; (\d+) of them", wide).group(1)), 97)
        self.assertIn("EvalErrorPrediction: ErrorPrediction/Sample", wide)

    def test_the_decoders_order_follows_the_seed_and_the_encoders_follows_the_decoders(self):
        def model(name, *arguments):
            self.train("folder=" + name, "epochs=1", *arguments)
            return b"".join((self.folder / name / ("m.dnn.%d" % i)).read_bytes() for i in range(2))

        encoder_none = "Train=[encoderReader=[randomize=none]]"
        seeds = []
        for seed in (0, 1, 2):
            one = "trainingSeed=%d" % seed
            seeds.append(model("auto%d" % seed, one))
            self.assertEqual(model("follows%d" % seed, one, encoder_none), seeds[-1])
            seeds.append(model("none%d" % seed, one, "Train=[decoderReader=[randomize=none]]"))
        self.assertEqual(len(set(seeds)), 6)
        # The readers of the validation do not change the training.
        self.write("cv.cntk", CONFIG + CV)
        for order in ("none", "auto"):
            self.cntk("configFile=cv.cntk", "folder=cv" + order, "epochs=1", "trainingSeed=1",
                      "Train=[encoderCVReader=[randomize=%s]; decoderCVReader=[randomize=%s]]" % (order, order))
            for i in range(2):
                name = "m.dnn.%d" % i
                self.assertEqual((self.folder / ("cv" + order) / name).read_bytes(),
                                 (self.folder / "auto1" / name).read_bytes())

    def test_the_decoder_needs_the_encoder(self):
        """The encoder has unrelated sentences, so only the end can be learned."""
        self.make("other", 1500, 3)
        losses = self.losses(self.train("encoder=other", "epochs=15").stderr)
        self.assertGreater(losses[-1], 0.8)

    def test_gradients_agree_with_differences_through_both_networks(self):
        log = self.train("epochs=1", "Train=[SGD=[gradientCheck=true;sigFigs=4]]").stderr
        self.assertRegex(log, "all gradients agree to 4 digits")

    def test_stopped_and_resumed_ends_with_the_same_bits(self):
        self.train("epochs=4", "folder=whole", "rule=none", "rate=0.001", "Train=[SGD=[momentumPerMB=0.9]]")
        arguments = ["epochs=4", "folder=cut", "rule=none", "rate=0.001",
                     "Train=[SGD=[momentumPerMB=0.9;saveEveryMinutes=0.00001]]"]
        process = subprocess.Popen([str(CNTK), "configFile=config.cntk", *arguments], cwd=self.folder,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   preexec_fn=heed_signals)
        while process.poll() is None and not (self.folder / "cut/m.dnn.1.1").exists():
            time.sleep(0.002)
        process.send_signal(signal.SIGINT)
        process.wait(60)
        log = self.train(*arguments).stderr
        if process.returncode == 75:
            self.assertIn("Starting from checkpoint. Loading network from '", log)
        self.assertEqual(sorted(path.name for path in (self.folder / "cut").iterdir()),
                         sorted(["m.dnn.ckp"] + ["m.dnn.%d%s" % (network, epoch) for network in (0, 1)
                                                 for epoch in ("", ".0", ".1", ".2", ".3")]))
        for name in ("m.dnn.0", "m.dnn.1", "m.dnn.ckp"):
            self.assertEqual((self.folder / "cut" / name).read_bytes(), (self.folder / "whole" / name).read_bytes(),
                             name)
        again = self.train(*arguments).stderr
        self.assertIn("No further training is necessary.", again)

    def test_a_finished_training_continues_with_more_epochs(self):
        self.train("epochs=4", "folder=whole")
        self.train("epochs=2")
        run = self.train("epochs=4")
        self.assertIn("was trained for 2 epochs, and maxEpochs is 4 now: the training continues from it", run.stderr)
        for name in ("m.dnn.0", "m.dnn.1"):
            self.assertEqual((self.folder / "model" / name).read_bytes(), (self.folder / "whole" / name).read_bytes())

    # If the second of two final models cannot be written, the first one is not used with an older second one.
    def test_the_best_models_of_both_networks_belong_together(self):
        arguments = ["epochs=4", "rule=none", "rate=0.5", "Train=[SGD=[earlyStopPatience=4]]"]
        self.write("cv.cntk", CONFIG + CV)
        refused = self.folder / "model/m.dnn.1.tmp"
        refused.mkdir(parents=True)
        self.cntk("configFile=cv.cntk", *arguments, status=None)
        self.assertTrue((self.folder / "model/m.dnn.0").exists())
        self.assertFalse((self.folder / "model/m.dnn.1").exists())
        refused.rmdir()
        log = self.cntk("configFile=cv.cntk", *arguments).stderr
        best = int(re.search(r"the best of 4 epochs was epoch (\d) ", log).group(1))
        self.assertLess(best, 4)
        for network in "01":
            self.assertEqual((self.folder / ("model/m.dnn." + network)).read_bytes(),
                             (self.folder / ("model/m.dnn.%s.%d" % (network, best))).read_bytes())

    def test_parallel_training_is_refused(self):
        method = "Train=[SGD=[ParallelTrain=[parallelizationMethod=DataParallelSGD]]]"
        self.assertIn("ParallelTrain has no effect without parallelTrain=true",
                      self.train(method, "--check").stderr)

    def test_a_decoder_described_in_ndl(self):
        self.write("decoder.ndl", DECODER)
        log = self.train("command=Train:Test", "epochs=15",
                         "Train=[DecoderNetworkBuilder=[networkDescription=decoder.ndl]]").stderr
        self.assertRegex(log, r"paired \S+ <-> memory")
        self.assertGreaterEqual(int(re.search(r"; (\d+) of them", log).group(1)), 97)

    def test_three_networks(self):
        self.write("three.cntk", CONFIG + THREE)
        self.make("train", 100, 1)
        log = self.cntk("configFile=three.cntk", "epochs=1", "Train=[SGD=[gradientCheck=true;sigFigs=4]]").stderr
        self.assertEqual(len(re.findall(r"paired \S+ <-> pairNetwork", log)), 2)
        self.assertRegex(log, "all gradients agree to 4 digits")
        for network in range(3):
            self.assertTrue((self.folder / ("model/m.dnn.%d" % network)).exists())

    def test_validation(self):
        self.write("cv.cntk", CONFIG + CV)
        log = self.cntk("configFile=config.cntk+cv.cntk", "epochs=2").stderr
        losses = re.findall(r"Finished Epoch\[\d\]: \[Validation Set\] Loss Per Sample = ([\d.]+)\n", log)
        self.assertEqual(len(losses), 2)
        # The value equals that of a test, which pairs the same sentences.
        test = self.train("command=Test").stderr
        tested = re.search(r"Final Results: .*CrossEntropyWithSoftmax/Sample = ([\d.]+) ", test).group(1)
        self.assertAlmostEqual(float(losses[-1]), float(tested), places=5)

    def test_progress_lines_add_up_to_the_epoch(self):
        log = self.train("epochs=1", "Train=[traceLevel=1; SGD=[numMBsToShowResult=15]]").stderr
        lines = re.findall(r"^Epoch\[1\]-Minibatch\[(\d+)-(\d+)\]: Samples Seen = (\d+)   Decoder Train Loss Per Sample = "
                           r"(\S+) PPL = (\S+) EvalErr\[0\] Per Sample = (\S+) ", log, re.M)
        self.assertGreater(len(lines), 2, log)
        loss = error = samples = 0
        for i, (first, last, count, average, perplexity, wrong) in enumerate(lines):
            self.assertEqual((int(first), int(last)), (15 * i + 1, 15 * i + 15))
            self.assertAlmostEqual(float(perplexity) / math.exp(float(average)), 1, places=3)
            samples += int(count)
            loss += int(count) * float(average)
            error += int(count) * float(wrong)
        # The last line lacks a few minibatches, so the epoch's averages are nearly equal.
        whole = re.search(r"\[Training Set\] Decoder Train Loss Per Sample = (\S+)    EvalErr Per Sample = (\S+) ", log)
        self.assertAlmostEqual(loss / samples, float(whole.group(1)), delta=0.1)
        self.assertAlmostEqual(error / samples, float(whole.group(2)), delta=0.1)

    def test_sentences_are_as_long_as_those_of_the_data_unless_a_word_ends_them(self):
        self.train("epochs=1")
        log = self.train("command=Test", "Test=[maxLength=0; endWord=-1]").stderr
        said = [[int(word) for word in line.split()] for line in self.read("said.txt").splitlines()]
        wanted = [words[::-1] + [WORDS] for words in self.sentences["test"]]
        self.assertEqual([len(line) for line in said], [len(words) for words in wanted])
        same = sum(line == words for line, words in zip(said, wanted))
        self.assertIn("; %d of them (%.2f%%) are those of decoderReader" % (same, same), log)
        # Sentences that are only a beginning of the expected ones count as wrong.
        log = self.train("command=Test", "Test=[maxLength=1; endWord=-1]").stderr
        self.assertIn("; 0 of them (0.00%) are those of decoderReader", log)

    def test_check(self):
        log = self.train("--check").stderr
        self.assertIn("Read a minibatch of", log)
        self.assertFalse((self.folder / "model").exists())

    def test_check_reads_the_cross_validation_set(self):
        self.write("cv.cntk", CONFIG + CV)
        check = lambda **expected: self.cntk("configFile=config.cntk+cv.cntk", "--check", **expected).stderr
        self.assertEqual(check().count("Read a minibatch of"), 2)
        self.write("test.enc.ctf", "".join("%d |words 1:1\n" % number for number in range(50, 100)))
        self.assertIn("of decoderCVReader ('test.dec.ctf') is missing in encoderCVReader ('test.enc.ctf'), "
                      "which has 50 sequences", check(status=None))
        (self.folder / "test.enc.ctf").unlink()
        self.assertIn("data file 'test.enc.ctf' does not exist", check(status=None))

    def test_a_sentence_that_only_the_decoder_has(self):
        lines = self.read("train.enc.ctf").splitlines(True)
        self.write("less.enc.ctf", "".join(line for line in lines if not line.startswith("17 ")))
        log = self.train("encoder=less", status=None).stderr
        self.assertIn("sequence '17' of decoderReader ('train.dec.ctf') is missing in encoderReader "
                      "('less.enc.ctf'), which has 1499 sequences", log)

    def test_a_sentence_that_only_the_encoder_has(self):
        self.assertNotIn("is missing", self.train("epochs=1").stderr)
        with open(self.folder / "train.enc.ctf", "a", encoding="ascii") as file:
            file.write("9999 |words 1:1\n")
        self.assertIn("sequence '9999' of encoderReader ('train.enc.ctf') is missing in decoderReader ('train.dec.ctf'); "
                      "what only the encoder has is not used", self.train("epochs=1", "mode=false").stderr)

    def test_sentences_of_texts_match_in_any_order(self):
        """The two texts have different shuffled orders and different sentences of equal length. The decoder writes the one word
        of the encoder's sentence, so a wrong word shows a wrong sentence."""
        draw = random.Random(3)
        pairs = [[[word] * draw.randint(2, 5) for _ in range(2)] for word in draw.choices("abcd", k=300)]
        for side, name in enumerate(("encoder", "decoder")):
            self.write(name + ".lu", "".join("".join("%s %s\n" % (w, w) for w in pair[side]) + "\n" for pair in pairs))
            self.write(name + ".lm", "".join(" ".join(pair[side] + pair[side][:1]) + "\n" for pair in pairs))
        self.write("classes.txt", "0 9 a 0\n1 9 b 0\n2 9 c 0\n3 9 d 0\n")
        self.write("words.txt", "a\nb\nc\nd\n")
        self.write("one.txt", "1 0 0 0\n0 1 0 0\n0 0 1 0\n0 0 0 1\n")
        words = ("features=SparseInput(4, tag=feature)\nI=Parameter(4, 4, init=fromFile, initFromFilePath=one.txt)\n"
                 "word=Times(I, features)\n")
        self.write("encoder.ndl", words + "OutputNodes=(word)\n")
        self.write("decoder.ndl", words + "encoded=InputValue(4, dynamicAxis=encoder)\nmemory=PairNetwork(encoded)\n"
                   "z=Attention(memory, memory, PastValue(4, word))\nce=CrossEntropyWithSoftmax(word, z, tag=criterion)\n"
                   "wrong=ErrorPrediction(word, z, tag=eval)\nOutputNodes=(z)\n")
        self.write("text.cntk", "command=Train:Test\nprecision=double\nrandomize=none\nnbruttsineachrecurrentiter=3\n"
                   "labelMappingFile=words.txt\nwordclass=classes.txt\ncacheBlockSize=200\n"
                   "Train=[ action=trainEncoderDecoder; modelPath=t.dnn; SGD=[ maxEpochs=2; learningRatesPerSample=1e-7 ]\n"
                   "EncoderNetworkBuilder=[ networkDescription=encoder.ndl ]\n"
                   "DecoderNetworkBuilder=[ networkDescription=decoder.ndl ] ]\n"
                   "Test=[ action=testEncoderDecoder; encoderModelPath=t.dnn.0; decoderModelPath=t.dnn.1\n"
                   "outputPath=said.txt; maxLength=1 ]\n" + "".join(
                       "%sReader=[ readerType=$kind$SequenceReader; file=%s.$kind$; features=[ dim=0 ]\n"
                       "labelIn=[ labelDim=4 ]; labels=[ labelDim=4 ] ]\n" % (side, side) for side in ("encoder", "decoder")))
        for kind, order in (("lu", "none"), ("lu", "auto"), ("lm", "none")):
            log = self.cntk("configFile=text.cntk", "kind=" + kind, "randomize=" + order, "makeMode=false").stderr
            self.assertEqual(re.findall(r"EvalErr Per Sample = (\S+)", log), ["0", "0"], (kind, order))
            self.assertIn("ErrorPrediction/Sample = 0 ", log)
            if kind == "lu":  # in the order of the text for each randomize
                self.assertIn("the output is not in the order of 'decoder.lu'; equalLength=false keeps", log)
                self.cntk("configFile=text.cntk", "kind=lu", "randomize=" + order, "command=Test", "equalLength=false")
                self.assertEqual(self.read("said.txt").split(), [pair[0][0] for pair in pairs])
        self.assertIn("cuts sequences into pieces; expected whole ones (truncated=false; "
                      "LMSequenceReader cuts those longer than minibatchSize)",
                      self.cntk("configFile=text.cntk", "kind=lm", "makeMode=false", "Train=[SGD=[minibatchSize=2]]",
                                status=3).stderr)
        self.write("encoder.lm", self.read("encoder.lm").replace("\n", "\na a\n", 1))  # too short for a sentence
        log = self.cntk("configFile=text.cntk", "kind=lm", "makeMode=false", status=4).stderr
        self.assertIn("sequence '2' of decoderReader ('decoder.lm'", log)

    def test_decoding_a_part_of_the_data(self):
        self.train("epochs=1")
        whole = self.train("command=Test", "Test=[minibatchSize=32]").stderr
        said = self.read("said.txt").splitlines()
        log = self.train("command=Test", "Test=[minibatchSize=32; epochSize=64; numMBsToShowResult=1]", "metrics=run.csv").stderr
        result = self.read("run.csv").splitlines()[-1].split(",")
        self.assertEqual(result[:2], ["result", "Test"])
        self.assertIn("CrossEntropyWithSoftmax/Sample = %.8g " % float(result[6]), log)
        part = int(re.search(r"Decoded (\d+) sentences", log).group(1))
        self.assertTrue(0 < part < 100, part)
        self.assertEqual(self.read("said.txt").splitlines(), said[:part])
        self.assertNotIn("is missing", log)  # the rest of the encoder's data is not used
        self.assertNotIn("\nMinibatch[", whole + log)
        log = self.train("command=Test", "Test=[minibatchSize=32; numMBsToShowResult=2; traceLevel=1]").stderr
        self.assertIn("\nMinibatch[1-2]: SamplesSeen = ", log)
        self.assertEqual(re.findall("Final Results:.*", log), re.findall("Final Results:.*", whole))

    def test_sentences_are_written_in_the_order_of_the_data(self):
        self.train("epochs=1")
        self.train("command=Test")
        said = self.read("said.txt")
        self.train("command=Test", "Test=[decoderReader=[randomize=auto]]")
        self.assertEqual(self.read("said.txt"), said)

    def test_text_and_writer_are_both_new_or_both_old(self):
        self.train("epochs=1")
        writer = "Test=[writer=[writerType=BinaryWriter; wfile=said.bin; outputs=[sectionType=data]]]"
        for full, other in ("said.bin", "said.txt"), ("said.txt", "said.bin"):
            self.write(other, "old\n")
            self.fill_disk_for(full)
            self.assertIn("cannot write file '%s': No space left on device" % full,
                          self.train("command=Test", writer, status=6).stderr)
            self.assertEqual(self.read(other), "old\n")
        self.train("command=Test", writer)
        self.assertEqual(len(self.read("said.txt").splitlines()), 100)
        self.assertGreater((self.folder / "said.bin").stat().st_size, 1000)

    def test_a_writer_gets_the_words_of_the_text(self):
        """Parallel sentences of different lengths are written in the order of the data."""
        self.train("epochs=6")
        self.write("words.txt", "".join("%d\n" % word for word in range(WORDS + 1)))
        writer = ("Test=[minibatchSize=32; writer=[writerType=LUSequenceWriter; outputNodeNames=outputs; "
                  "outputs=[file=written.txt; token=words.txt]]]")
        self.train("command=Test", writer)
        said = [line.split() for line in self.read("said.txt").splitlines()]
        self.assertGreater(len({len(line) for line in said}), 2)
        self.assertEqual([line.split() for line in self.read("written.txt").splitlines()], said)

    def test_messages_of_decoding(self):
        self.train("epochs=1")
        for argument, status, message in (
                ("outputNodeNames=output", 3, "the decoder has no node 'output'; did you mean 'outputs'?"),
                ("outputNodeNames=labels", 5, "'labels' (InputValue), are computed from input 'labels'"),
                ("outputNodeNames=features", 5, "node 'features' (SparseInputValue) has no value for each word"),
                ("endWord=5", 3, "endWord is 5, but there are only 5 words"),
                ("encoderReader=[frameMode=true]", 3, "frameMode=true makes each word a sequence of its own"),
                ("endWord=-2", 3, "expected a whole number >= -1"),
                ("writer=[writerType=LUSequenceWriter; outputNodeNames=outputs; outputs=[file=./said.txt; token=w.txt]]", 3,
                 "outputPath would overwrite 'said.txt', which is Test:writer:outputs:file as well; expected another file"),
                ("encoderReader=[file=train.enc.ctf]", 0,
                 "of encoderReader ('train.enc.ctf') is missing in decoderReader ('test.dec.ctf'); the encoder's "
                 "additional data are not used")):
            for check in [[]] + [["--check"]] * (status != 0):  # a check tells it as well
                log = self.train("command=Test", "Test=[%s]" % argument, *check, status=status).stderr
                self.assertIn(message, log, (argument, check))

    def test_messages_of_configs(self):
        for arguments, message in (
                ("Train=[SGD=[epochSize=100]]", "several networks are trained with epochSize=100; expected 0"),
                ("Train=[SGD=[numSubminibatches=2]]", "several networks are trained with numSubminibatches=2"),
                ("Train=[SGD=[encoderNodes=a]]", "encoderNodes names 1 nodes and decoderNodes 0"),
                ("Train=[SGD=[encoderNodes=nobody;decoderNodes=pairNetwork]]", "command line:1:49: error: "
                 "there is no node 'nobody'"),
                ("Train=[DecoderNetworkBuilder=[rnnType=LSTM]]", "the decoder has no PairNetwork node"),
                ("Train=[DecoderNetworkBuilder=[layerSizes=5:8:5]]", "needs a lookup table and a hidden layer"),
                ("Train=[encoderReader=[truncated=true]]", "encoderReader ('train.enc.ctf') cuts sequences into pieces"),
                ("Train=[encoderReader=[frameMode=true]]", "encoderReader': frameMode=true makes each word a sequence"),
                ("Train=[encoderReader=[readerType=HTKMLFReader]]",
                 "Train:encoderReader': frameMode of HTKMLFReader is true by default, which makes each frame a sequence "
                 "of its own"),
                ("Train=[decoderReader=[readers=a; a=[readerType=HTKMLFReader]]]",
                 "Train:decoderReader:a': frameMode of HTKMLFReader is true by default"),
                ("Train=[encoderReader=[readerType=HTKMLFReader; frameMode=false]]", "scpFile"),
                ("Train=[decoderReader=[skipSequenceIds=true]]", "skipSequenceIds=true makes each word a sequence"),
                ("Train=[decoderCVReader=[readerType=CNTKTextFormatReader]]",
                 "has decoderCVReader, but no encoderCVReader")):
            log = self.train(arguments, status=None).stderr
            self.assertIn(message, log, arguments)
            self.assertFalse((self.folder / "model/m.dnn.1").exists(), arguments)


if __name__ == "__main__":
    main()
