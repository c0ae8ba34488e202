#!/usr/bin/env python3
"""The decoder as users call it: cntk argon, a program named argon, and action=decode; files, messages and exit codes."""
import gzip
import os
import re

from EndToEnd import CNTK, EndToEndTest, main
from SmallDecoding import write_scores, write_task

DECODE = ("-graph", "g.dg", "-lm", "lm", "-cntkmap", "map", "-infiles", "list.scp", "-acweight", "1")


class ArgonTest(EndToEndTest):
    def setUp(self):
        super().setUp()
        write_task(self.folder)

    def scores(self, name, states):
        write_scores(self.folder / name, states)

    def argon(self, *arguments, **keywords):
        return self.cntk("argon", *arguments, **keywords)

    def compile(self, *more):
        return self.argon("-precompile", "true", "-infsm", "graph.txt", "-transition-file", "transitions", "-model-map",
                          "models", "-graph", "g.dg", *more)

    def test_words_from_scores(self):
        run = self.compile()
        self.assertRegex(run.stderr, r"Graph g\.dg: States = \d+; Arcs = \d+; HMM states = 4; Words = 4; LookAhead = unknown; "
                                     r"Silences = known; Bytes = \d+\n")
        run = self.argon(*DECODE, "-outmlf", "out.mlf", "-outscores", "scores.tsv", "-lattice-prefix", "lat/l", "-outctm", "ctm")
        expected = '#!MLF!#\n"*/go.rec"\n100000 400000 go 9.000000\n.\n"*/no.rec"\n100000 400000 no 9.000000\n.\n'
        self.assertEqual(self.read("out.mlf"), expected)
        self.assertRegex(run.stderr, r"Utterance\[2 of 2\] no: Frames = 5; Score = -?[\d.]+; Score/Frame = -?[\d.]+; Words = 1; "
                                     r"TokensPerFrame = [\d.]+; Search = [\d.]+ s\n")
        self.assertIn("Partial = 0; Failed = 0;", run.stderr)
        table = [line.split("\t") for line in self.read("scores.tsv").splitlines()]
        self.assertEqual(table[0], "utterance frames score acoustic graph lm words".split())
        for row in table[1:]:
            self.assertAlmostEqual(float(row[2]), float(row[3]) + float(row[4]) + float(row[5]), delta=1e-5)
        self.assertEqual(self.read("lat/ltoc"), "go=lat/l0\nno=lat/l1\n")
        self.assertEqual(self.read("ctm").splitlines()[1].split("\t")[:5], ["go", "1", "0.010", "0.030", "go"])

    def test_all_forms_of_the_command_do_the_same(self):
        self.compile()
        (self.folder / "argon").symlink_to(os.path.abspath(CNTK))
        self.argon(*DECODE, "-outscores", "one.tsv", "-max-tokens", "50", "-word_end_beam_frac", "1")
        self.argon("--graph=g.dg", "--lm=lm", "-CntkMap", "map", "-infiles=list.scp", "-acWeight", "1", "-max_tokens=50",
                   "-outscores", "two.tsv", "-word-end-beam-frac", "1", "-allow-partial")
        self.write("d.cntk", "command=D\nD=[ action=decode; graph=g.dg; lm=lm; cntkmap=map; infiles=list.scp\nacweight=1; "
                             "outscores=three.tsv; maxTokens=50; word_end_beam_frac=1 ]\n")
        self.cntk("configFile=d.cntk")
        self.assertEqual(self.read("one.tsv"), self.read("two.tsv"))
        self.assertEqual(self.read("one.tsv"), self.read("three.tsv"))
        self.write("e.cntk", "command=D\nD=[ action=decode; graph=g.dg; lm=lm; cntk_map=map; In_Files=list.scp\nAC_Weight=1; "
                             "out-scores=four.tsv; Max_Tokens=50; wordEndBeamFrac=1 ]\n")
        self.cntk("configFile=e.cntk")
        self.assertEqual(self.read("one.tsv"), self.read("four.tsv"))
        checked = self.cntk("--check", "configFile=d.cntk", "D=[latice-beam=3]")
        self.assertIn("unknown key 'latice-beam' in block 'D'; did you mean 'lattice-beam'?", checked.stderr)
        self.assertIn("word_end_beam_frac", self.cntk("--help", "argon").stdout)
        self.assertEqual(self.argon("--help").stdout, self.cntk("--help", "decode").stdout)

    def test_gzipped_files(self):
        for name in ("graph.txt", "lm"):
            (self.folder / (name + ".gz")).write_bytes(gzip.compress(self.read(name).encode()))
        self.compile("-infsm", "graph.txt.gz")
        self.argon(*DECODE, "-lm", "lm.gz", "-outmlf", "out.mlf")
        self.assertIn(" go ", self.read("out.mlf"))
        packed = (self.folder / "lm.gz").read_bytes()
        (self.folder / "cut.gz").write_bytes(packed[:len(packed) // 2])
        run = self.argon(*DECODE, "-lm", "cut.gz", "-outmlf", "out.mlf", status=4)
        self.assertIn("language model 'cut.gz' is compressed by gzip, but incomplete", run.stderr)

    def test_mistakes_of_the_command_line(self):
        self.compile()
        for arguments, status, message in (
                (("-bean", "3"), 2, "unknown option '-bean' of argon; did you mean '-beam'"),
                (("-beam",), 2, "option '-beam' of argon needs a value"),
                (("surplus",), 2, "argument 'surplus' of argon belongs to no option"),
                (("-beam", "0"), 3, "'Argon:beam' is '0', expected a number > 0"),
                (("-lm-collection", "x"), 3, "-lm 'lm' and -lm-collection 'x' are both given"),
                (("-dnn_window_size", "4"), 3, "-dnn_window_size is 4, expected an odd number"),
                (("-graph", "graph.txt"), 4, "graph 'graph.txt' is no binary graph, but looks like the text of an acceptor; "
                                             "compile it with -precompile true"),
                (("-outmlf", "lm"), 3, "outmlf would overwrite 'lm', which is lm as well")):
            run = self.argon(*DECODE, "-outscores", "s.tsv", *arguments, status=status)
            self.assertIn(message, run.stderr)
            self.assertFalse((self.folder / "s.tsv").exists())
        run = self.argon(*DECODE, status=3)
        self.assertIn("no result is asked for", run.stderr)
        run = self.argon("-graph", "g.dg", "-cntkmap", "map", "-infiles", "list.scp", "-outmlf", "o", status=3)
        self.assertIn("neither -lm nor -lm-collection is given", run.stderr)

    def test_an_acceptor_without_states(self):
        self.write("none.txt", "0 1 a\n1\n")
        run = self.argon("-precompile", "true", "-infsm", "none.txt", "-transition-file", "transitions", "-graph", "n.dg",
                         status=4)
        self.assertIn("none.txt: no arc has an HMM state", run.stderr)
        self.assertFalse((self.folder / "n.dg").exists())

    def test_silence_cost_needs_known_silences(self):
        self.argon("-precompile", "true", "-infsm", "graph.txt", "-transition-file", "transitions", "-graph", "g.dg")
        run = self.argon(*DECODE, "-outscores", "s.tsv", "-sil-cost", "1", status=3)
        self.assertIn("knows no silence; compile it with -model-map", run.stderr)
        run = self.argon(*DECODE, "-outscores", "s.tsv")
        self.assertIn("no silence cost is charged", run.stderr)

    def test_utterances_that_fail_leave_the_others_alone(self):
        self.compile()
        self.write("list.scp", "a=data/missing.sll\ngo=data/go.sll\nb=data/no.sll[0,9]\nno=data/no.sll\nc=data/short.sll\n")
        self.scores("data/short.sll", [0])
        run = self.argon(*DECODE, "-outmlf", "out.mlf", "-threads", "2", status=4)
        self.assertIn("2 of 5 utterances failed, the results of the others are written; utterance 'a'", run.stderr)
        self.assertIn("Utterance[3 of 5] b failed: ", run.stderr)
        self.assertIn("Utterance[5 of 5] c: it has 1 frame, the shortest sentence needs 2; the result is empty", run.stderr)
        self.assertEqual(re.findall(r'"\*/(\w+)\.rec"', self.read("out.mlf")), ["go", "no", "c"])

    def test_the_network_must_have_the_rows_of_the_map(self):
        self.compile()
        self.write("map", "[sil] 0\n[a] 1\n[b] 2\n[c] 7\n")
        run = self.argon(*DECODE, "-outmlf", "out.mlf", status=5)
        self.assertIn("the state map 'map' names row 7, but the scores have 4 rows, 0 to 3", run.stderr)
        self.assertFalse((self.folder / "out.mlf").exists())


if __name__ == "__main__":
    main()
