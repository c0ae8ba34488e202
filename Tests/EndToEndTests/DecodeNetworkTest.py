#!/usr/bin/env python3
"""The decoder with a network: features of synthspeech to words, against the results of exact search."""
import re
import sys

from EndToEnd import ROOT, EndToEndTest, main

sys.path.insert(0, str(ROOT / "Examples/Speech/Decode"))
import WordErrors  # noqa: E402

WIDE = ["-beam", "30", "-word_end_beam_frac", "1", "-min-tokens", "0"]


class DecodeNetworkTest(EndToEndTest):
    def setUp(self):
        super().setUp()
        self.corpus = self.shared("data/synthspeech")
        self.shared("data/synthspeech/decoding/model/synthspeech.dnn")
        self.decoding = self.corpus / "decoding"
        self.cntk("argon", "-precompile", "true", "-infsm", self.decoding / "graphs/word.lookahead.hcl.gz", "-lookahead-file",
                  self.decoding / "graphs/word.lookahead", "-transition-file", self.corpus / "lang/state.transitions",
                  "-model-map", self.corpus / "lang/model.state.map", "-graph", "words.dg")

    def argon(self, *options, part="test", status=0, lm=("-lm", "lang/word.2gram.arpa"), **files):
        """Decodes with files of the test data; a file given by name (am, cntkmap, infiles) replaces one of them."""
        own = {"graph": "words.dg", "am": self.decoding / "model/synthspeech.dnn",
               "cntkmap": self.decoding / "graphs/state.cntkmap", "infiles": self.corpus / ("scp/%s.fbank.scp" % part), **files}
        arguments = [word for name, path in own.items() for word in ("-" + name, path)]
        return self.cntk("argon", *arguments, lm[0], self.corpus / lm[1], "-prefixPathInSCP", self.corpus, "-outmlf", "out.mlf",
                         "-outscores", "out.scores", *options, status=status)

    def outcome(self, part):
        """Returns the word errors and the sum of the scores."""
        reference = WordErrors.read_words(self.corpus / ("mlf/%s.wordonly.mlf" % part))
        errors = sum(WordErrors.count_errors(reference, WordErrors.read_words(self.folder / "out.mlf"))[:3])
        lines = [line.split("\t") for line in self.read("out.scores").splitlines()]
        return errors, sum(float(line[lines[0].index("score")]) for line in lines[1:])

    def check(self, part, weight, silence, lm, errors, score):
        """The scores of the references are those of the normalized node; both nodes find the same words."""
        self.argon("-acweight", weight, "-sil-cost", silence, "-output-node", "NormalizedLogLikelihood", *WIDE, part=part, lm=lm)
        found, total = self.outcome(part)
        self.assertEqual(found, errors)
        if score is not None:
            self.assertAlmostEqual(total, score, delta=0.05)

    def test_exact_results(self):
        bigram, trigram = ("-lm", "lang/word.2gram.arpa"), ("-lm", "lang/word.3gram.arpa")
        both = ("-lm-collection", "decoding/graphs/lm.collection")
        for case in (("dev", 0.5, 0, bigram, 28, 13531.25), ("test", 0.5, 0, bigram, 35, 14372.00),
                     ("dev", 0.3, 0, bigram, 32, 4502.96), ("test", 0.5, 1, bigram, 35, 14358.37),
                     ("dev", 0.5, 0, trigram, 28, 13531.88), ("test", 0.5, 0, trigram, 33, 14391.05),
                     ("test", 0.5, 0, both, 34, None)):
            with self.subTest(case=case):
                self.check(*case)

    def test_a_large_vocabulary(self):
        self.cntk("argon", "-precompile", "true", "-infsm", self.decoding / "large/word.lookahead.hcl.gz", "-lookahead-file",
                  self.decoding / "large/word.lookahead.gz", "-transition-file", self.corpus / "lang/state.transitions",
                  "-model-map", self.corpus / "lang/model.state.map", "-graph", "large.dg")
        self.argon("-acweight", 0.3, "-sil-cost", 0, "-beam", 18, "-word_end_beam_frac", 1, "-output-node",
                   "NormalizedLogLikelihood", graph="large.dg",
                   lm=("-lm", "decoding/large/word.2gram.arpa.gz"))
        errors, score = self.outcome("test")
        self.assertEqual(errors, 38)
        self.assertAlmostEqual(score, 4716.5, delta=0.1)

    def test_threads_change_nothing(self):
        results = []
        for threads in (1, 2, 3):
            log = self.argon("-acweight", 0.5, "-beam", 15, "-threads", threads, "-lattice-prefix", "lattice.").stderr
            results.append([(self.folder / name).read_bytes() for name in ("out.mlf", "out.scores", "lattice.0", "lattice.55")])
            self.assertRegex(log, r"NetworkRealTimeFactor = 0\.\d+; SearchRealTimeFactor = 0\.\d+")
        self.assertEqual(results[0], results[1])
        self.assertEqual(results[0], results[2])

    def test_a_window_that_does_not_fit(self):
        run = self.argon("-dnn_window_size", 9, status=4)
        self.assertRegex(run.stderr, r"input 'features' of model '\S+synthspeech.dnn' has 792 rows, but the frames of "
                                     r"'\S+test.fbank.scp' have 72 values, which is 648 in a window of 9; expected "
                                     r"-dnn_window_size 11")
        self.assertFalse((self.folder / "out.mlf").exists())

    def test_a_map_beyond_the_outputs(self):
        states = (self.decoding / "graphs/state.cntkmap").read_text(encoding="utf-8")
        self.write("state.map", re.sub(r"\[zh_s4\] \d+", "[zh_s4] 126", states))
        run = self.argon(cntkmap="state.map", status=5)
        self.assertRegex(run.stderr, r"126\b")
        self.assertNotIn("Utterance[", run.stderr)
        self.assertFalse((self.folder / "out.mlf").exists())

    def test_an_unreadable_file_fails_its_utterance_alone(self):
        lines = (self.corpus / "scp/test.fbank.scp").read_text(encoding="utf-8").splitlines()[:3]
        self.write("three.scp", "\n".join([lines[0], "gone=fbank/gone.fbank[0,9]", lines[1]]) + "\n")
        run = self.argon("-acweight", 0.5, infiles="three.scp", status=4)
        self.assertRegex(run.stderr, r"gone\.fbank")
        names = [line.split("=")[0].split(".")[0] for line in (lines[0], lines[1])]
        self.assertEqual(list(WordErrors.read_words(self.folder / "out.mlf")), names)

    def train(self, commands, *arguments):
        """Runs commands of the example's config on the first ten utterances of the training set."""
        return self.cntk("configFile=%s" % (ROOT / "Examples/Speech/Synthspeech/Synthspeech.cntk"), "Corpus=%s" % self.corpus,
                         "ExpDir=%s" % self.folder, "OwnDir=%s" % (ROOT / "Examples/Speech/Synthspeech"),
                         "NdlDir=%s" % (ROOT / "Examples/Speech/Ndl"), "command=" + commands,
                         "reader=[features=[scpFile=%s]]" % (self.folder / "ten.scp"),
                         "Sequence=[SGD=[maxEpochs=2]; reader=[features=[scpFile=%s]]]" % (self.folder / "ten.scp"),
                         "SGD=[maxEpochs=2; learningRatesPerMB=0.8]", "Lattices=%s" % (self.folder / "lat.toc"), *arguments).stderr

    def test_trainings_read_lattices_and_alignments(self):
        lines = (self.corpus / "scp/train.fbank.scp").read_text(encoding="utf-8").splitlines()[:10]
        self.write("ten.scp", "\n".join(lines) + "\n")
        self.train("Simple")
        model = {"am": self.folder / "Simple.1/net.dnn", "infiles": self.folder / "ten.scp"}
        self.argon("-acweight", 0.3, "-max-tokens", 500, "-lattice-prefix", self.folder / "lat.", **model)
        self.assertEqual(len(self.read("lat.toc").splitlines()), 10)
        log = self.train("AddSequence:Sequence")
        self.assertIn("total 10 entries", log)
        self.assertNotIn("skipping utterance", log)
        values = [float(value) for value in re.findall(r"TrainLossPerSample = ([-0-9.e]+); Total", log)]
        self.assertEqual(len(values), 2)
        self.assertGreater(values[1], values[0])  # training raises the criterion
        self.argon("-acweight", 0.3, "-beam", 40, "-word_end_beam_frac", 1, "-alignmlf", self.corpus / "mlf/train.wordonly.mlf",
                   "-detailed-alignment", "true", **model)
        log = self.train("Simple", "Name=Realigned", "Alignment=%s" % (self.folder / "out.mlf"))
        self.assertRegex(log, "Finished Epoch.*2 of 2")
        self.assertNotIn("skipping utterance", log)

    def test_nodes_that_do_not_exist(self):
        run = self.argon("-feature-node", "input", status=5)
        self.assertIn("has no input node 'input'; the inputs of 'ScaledLogLikelihood': 'features'; give -feature-node", run.stderr)
        self.argon("-acweight", 0.5, "-beam", 15, "-word_end_beam_frac", 1)
        self.assertEqual(self.outcome("test")[0], 35)


if __name__ == "__main__":
    main()
