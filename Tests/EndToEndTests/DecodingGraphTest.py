#!/usr/bin/env python3
"""Examples/Speech/Decode/MakeGraph.py: its acceptors are those of the shared data, and a graph of triphones has exactly the
paths that enumeration finds. Needs OpenFst's programs."""
import gzip
import itertools
import math
import shutil
import subprocess
import sys

from EndToEnd import CNTK, ROOT, EndToEndTest, main

SCRIPT = ROOT / "Examples/Speech/Decode/MakeGraph.py"
CORPUS = "data/synthspeech"

# Phones a, b and c with context, the silence sil, which is a context, and the short pause sp, which is none.
LEXICON = {"ab": [("a", "b")], "bac": [("b", "a", "c")], "c": [("c",)], "cc": [("c", "c"), ("c", "b", "c")]}
ARPA = """\\data\\
ngram 1=7
ngram 2=2

\\1-grams:
-0.5 </s>
-99 <s> 0.25
-0.6 ab 0.1
-0.7 bac -0.2
-0.8 c
-0.9 cc
-1.5 zz

\\2-grams:
-0.3 <s> ab
-0.2 ab </s>

\\end\\
"""


def state_name(model, i):
    """The tied states: those of sp and of the middle of sil are one, other models share nothing."""
    return "sil_2" if model == "sp" else "%s_%d" % (model, i + 1)


class Donor:
    """An HTK model set with a model for each triphone."""

    def __init__(self):
        phones, contexts = "abc", ["a", "b", "c", "sil"]
        self.names = ["%s-%s+%s" % names for names in itertools.product(contexts, phones, contexts)] + ["sil", "sp"]

    def mmf(self):
        states = sorted({state_name(name, i) for name in self.names for i in range(3)})
        text = "~o <STREAMINFO> 1 1 <VECSIZE> 1\n"
        text += "".join('~s "%s"\n<MEAN> 1\n 0.5\n<VARIANCE> 1\n 1.0\n' % state for state in states)
        text += '~t "chain"\n<TRANSP> 5\n 0 1 0 0 0\n 0 0.6 0.4 0 0\n 0 0 0.7 0.3 0\n 0 0 0 0.8 0.2\n 0 0 0 0 0\n'
        for name in self.names:
            if name == "sp":
                text += ('~h "sp"\n<BEGINHMM> <NUMSTATES> 3 <STATE> 2 ~s "sil_2" <TRANSP> 3 0 0.7 0.3 0 0.9 0.1 0 0 0 '
                         '<ENDHMM>\n')
                continue
            text += '~h "%s"\n<BEGINHMM>\n<NUMSTATES> 5\n' % name
            text += "".join('<STATE> %d\n~s "%s"\n' % (i + 2, state_name(name, i)) for i in range(3))
            text += ('<TRANSP> 5\n 0 1 0 0 0\n 0 .6 .3 .1 0\n 0 0 .7 .3 0\n 0 .1 0 .7 .2\n 0 0 0 0 0\n' if name == "sil" else
                     '~t "chain"\n') + "<ENDHMM>\n"
        return text

    def state_map(self):
        states = sorted({state_name(name, i) for name in self.names for i in range(3)})
        return "".join("[%s] %d\n" % (state, row) for row, state in enumerate(states))


class Acceptor:
    def __init__(self, text):
        self.arcs, self.final, self.start = {}, {}, text.split()[0]
        for line in text.splitlines():
            columns = line.split()
            if len(columns) > 2:
                assert (columns[0], columns[2]) not in self.arcs, "not deterministic: " + line
                cost = float(columns[3]) if len(columns) > 3 else 0.0
                self.arcs[columns[0], columns[2]] = columns[1], cost
            else:
                self.final[columns[0]] = float(columns[1]) if len(columns) > 1 else 0.0

    def cost(self, labels):
        """Returns the cost of a path; None if there is none."""
        state, total = self.start, 0.0
        for label in labels:
            if (state, label) not in self.arcs:
                return None
            state, cost = self.arcs[state, label]
            total += cost
        return total + self.final[state] if state in self.final else None

    def sentences(self, words):
        """Yields the labels of all paths with so many words at most, without those that go from the end of sil to its begin."""
        following = {}
        for (source, label), (target, _) in self.arcs.items():
            following.setdefault(source, []).append((label, target))
        pending = [(self.start, (), 0)]
        while pending:
            state, path, count = pending.pop()
            if state in self.final:
                yield path
            for label, target in following.get(state, []):
                more = count + ("[" not in label)
                if more <= words + 2 and (path[-1:], label) != (("[sil_3]",), "[sil_1]"):
                    pending.append((target, path + (label,), more))


class DecodingGraphTest(EndToEndTest):
    def setUp(self):
        super().setUp()
        if shutil.which("fstcompile") is None:
            self.skipTest("OpenFst's programs are not installed (package libfst-tools)")

    def make(self, *arguments, status=0):
        run = subprocess.run([sys.executable, "-B", str(SCRIPT), *map(str, arguments)], cwd=self.folder, check=False,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8")
        self.assertEqual(run.returncode, status, run.stdout)
        return run.stdout

    def acceptor(self, name):
        return gzip.decompress((self.folder / (name + ".hcl.gz")).read_bytes()).decode("utf-8")

    def assert_isomorphic(self, one, other):
        names, files = {"<eps>": 0}, []
        for text in (one, other):
            for line in text.splitlines():
                if line.count("\t") > 1:
                    names.setdefault(line.split("\t")[2], len(names))
        symbols = self.write("symbols", "".join("%s\t%d\n" % item for item in names.items()))
        for i, text in enumerate((one, other)):
            files.append(str(self.folder / ("%d.fst" % i)))
            subprocess.run(["fstcompile", "--acceptor", "--isymbols=%s" % symbols, "-", files[-1]], input=text.encode("utf-8"),
                           check=True)
        run = subprocess.run(["fstisomorphic", "--delta=0.0001", *files], check=False)
        self.assertEqual(run.returncode, 0, "the acceptors differ by more than the numbers of their states")

    def test_phones(self):
        lang, graphs = self.shared(CORPUS + "/lang"), self.shared(CORPUS + "/decoding/graphs")
        said = self.make("phones", "--model-map", lang / "model.state.map", "--lm", lang / "phone.2gram.arpa", "--out", "p")
        self.assertIn("p.hcl.gz: 132 states, 172 arcs", said)
        self.assert_isomorphic(self.acceptor("p"), (graphs / "phone.lookahead.hcl.txt").read_text(encoding="utf-8"))
        self.assertEqual(self.read("p.lookahead").split(), (graphs / "phone.lookahead").read_text(encoding="utf-8").split())

    def test_words_and_triphones(self):
        """The triphones of the shared data are tied so that their graph is the graph of the phones."""
        lang, decoding = self.shared(CORPUS + "/lang"), self.shared(CORPUS + "/decoding")
        lexicon = ("--lexicon", lang / "lexicon.prob.txt", "--lm", lang / "word.2gram.arpa")
        expected = (decoding / "graphs/word.lookahead.hcl.txt").read_text(encoding="utf-8")
        scores = (decoding / "graphs/word.lookahead").read_text(encoding="utf-8").split()
        self.assertIn("w.hcl.gz: 2887 states, 3471 arcs", self.make(
            "words", *lexicon, "--model-map", lang / "model.state.map", "--out", "w"))
        self.assert_isomorphic(self.acceptor("w"), expected)
        self.assertEqual(self.read("w.lookahead").split(), scores)
        self.make("lookahead", "--lm", lang / "word.2gram.arpa", "--out", "scores")
        self.assertEqual(self.read("scores").split(), scores)
        self.make("donor", *lexicon, "--cntkmap", decoding / "graphs/state.cntkmap", "--mmf", decoding / "triphone/donor.mmf.gz",
                  "--list", decoding / "triphone/tied.list.gz", "--out", "distilled")
        self.make("triphones", "--donor", "distilled", "--out", "t")
        self.assert_isomorphic(self.acceptor("t"), expected)
        self.assertEqual(self.read("t.lookahead").split(), scores)
        transitions = dict(line.split(" ", 1) for line in (lang / "state.transitions").read_text(encoding="utf-8").splitlines())
        for line in self.read("distilled/transitions").splitlines():
            state, loop, away = line.split()
            for one, other in zip((loop, away), transitions[state.strip("[]")].split()):
                self.assertAlmostEqual(float(one), float(other), places=5)

    def test_graphs_of_the_makefile(self):
        """The decoder compiles the graphs and finds the best paths of the references with them."""
        corpus = self.shared(CORPUS)
        makefile = SCRIPT.with_name("DecodingGraph.mak")
        subprocess.run(["make", "-s", "-f", str(makefile), "CORPUS=%s" % corpus, "CNTK=%s" % CNTK, "i_lp.final.dg", "words.dg",
                        "triphones.dg"], cwd=self.folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for graph, lm, scores in (("i_lp.final.dg", "phone.2gram.arpa", "best.phones.scores"),
                                  ("words.dg", "word.2gram.arpa", "best.words.scores"),
                                  ("triphones.dg", "word.2gram.arpa", "best.words.scores")):
            self.cntk("argon", "-graph", graph, "-lm", corpus / "lang" / lm, "-cntkmap",
                      "distilled/state.cntkmap" if graph == "triphones.dg" else corpus / "decoding/graphs/state.cntkmap",
                      "-infiles", corpus / "golden/list.scp", "-prefixPathInSCP", corpus, "-acweight", 0.5, "-sil-cost", 0, "-beam", 30,
                      "-word_end_beam_frac", 1, "-outscores", "scores")
            found = {line.split("\t")[0]: float(line.split("\t")[2]) for line in self.read("scores").splitlines()[1:]}
            lines = (corpus / "golden" / scores).read_text(encoding="utf-8").splitlines()
            self.assertEqual(len(lines), len(found))
            for line in lines:
                self.assertAlmostEqual(found[line.split()[0]], float(line.split()[1]), delta=1e-3, msg=graph)

    def make_small(self):
        donor = Donor()
        self.write("mmf", donor.mmf())
        self.write("map", donor.state_map())
        self.write("list", "".join("%s\n" % name for name in donor.names))
        self.write("lm", ARPA)
        self.write("lexicon", "<s> sil\n</s> sil\n" + "".join(
            "%s %g %s sp\n" % (word, 1 / len(known), " ".join(phones)) for word, known in LEXICON.items() for phones in known))
        self.make("donor", "--lexicon", "lexicon", "--lm", "lm", "--cntkmap", "map", "--mmf", "mmf", "--list", "list", "--out",
                  "distilled")
        self.make("triphones", "--donor", "distilled", "--out", "t")
        return Acceptor(self.acceptor("t"))

    @staticmethod
    def silence_costs():
        """Returns the ways through sil that enter no state twice, with their costs: 1 3 skips the middle."""
        step = -math.log(0.3 / 0.4), -math.log(0.1 / 0.4), -math.log(0.2 / 0.3)
        return {("[sil_1]", "[sil_2]", "[sil_3]"): step[0] + step[2], ("[sil_1]", "[sil_3]"): step[1] + step[2]}

    def paths(self, words, scores):
        """Yields labels and cost of all paths of a sentence, with each pronunciation, each silence, each way through it."""
        pause = {("[sil_2~2]",): 0.0}
        between = [(None, {(): 0.0}), (None, pause), ("sil", self.silence_costs())]
        chosen = [[(word, phones) for phones in LEXICON[word]] for word in words]
        for sentence in itertools.product(*chosen):
            for gaps in itertools.product(between, repeat=len(words)):
                phones = ["sil"]
                for (_, own), (silence, _) in zip(sentence, gaps):
                    phones += list(own) + ([silence] if silence else [])
                phones.append("sil")
                parts, place = [{self.opened(path): cost for path, cost in self.silence_costs().items()}], 1
                for (word, own), (silence, ways) in zip(sentence, gaps):
                    labels = []
                    for i in range(len(own)):
                        states = ["[%s-%s+%s_%d]" % (*phones[place - 1:place + 2], j + 1) for j in range(3)]
                        if i + 1 == len(own):
                            states.insert(2 if len(own) == 1 else 0, word)
                        labels += states
                        place += 1
                    place += silence is not None
                    parts += [{tuple(labels): math.log(len(LEXICON[word])) - scores[word]}, ways]
                parts.append({path + ("</s>",): cost - scores["</s>"] for path, cost in self.silence_costs().items()})
                for way in itertools.product(*[part.items() for part in parts]):
                    yield sum((labels for labels, _ in way), ()), sum(cost for _, cost in way)

    @staticmethod
    def opened(path):
        return path[:-1] + ("<s>",) + path[-1:]

    def test_triphones_by_enumeration(self):
        graph = self.make_small()
        scores = {word: float(score) for word, score in (line.split() for line in self.read("t.lookahead").splitlines())}
        expected = {}
        for count in range(3):
            for words in itertools.product(LEXICON, repeat=count):
                for labels, cost in self.paths(words, scores):
                    expected[labels] = min(cost, expected.get(labels, cost))
        self.assertGreater(len(expected), 500)
        for labels, cost in expected.items():
            found = graph.cost(labels)
            self.assertIsNotNone(found, labels)
            self.assertAlmostEqual(found, cost, delta=1e-4, msg=labels)
        self.assertEqual(set(graph.sentences(2)), {path for path in expected if not self.goes_back(path)})

    @staticmethod
    def goes_back(path):
        return ("[sil_3]", "[sil_1]") in zip(path, path[1:])

    def test_lookahead_is_a_bound(self):
        """Back-off weights above 1 raise the scores: `c` after `ab` has more than its own unigram."""
        self.write("lm", ARPA)
        self.make("lookahead", "--lm", "lm", "--out", "scores")
        scores = dict(line.split() for line in self.read("scores").splitlines())
        self.assertNotIn("<s>", scores)
        for word, best in (("c", -0.8 + 0.25), ("ab", -0.3), ("</s>", -0.2)):
            self.assertAlmostEqual(float(scores[word]), best * math.log(10), places=6)

    def test_states_with_two_kinds_of_transitions(self):
        """sp shares the state of sil, but not its transitions."""
        self.make_small()
        self.assertIn("[sil_2] %s\n" % dict(
            line.split() for line in self.read("map").splitlines())["[sil_2]"], self.read("distilled/state.cntkmap"))
        rows = dict(line.split() for line in self.read("distilled/state.cntkmap").splitlines())
        self.assertEqual(rows["[sil_2]"], rows["[sil_2~2]"])
        transitions = {line.split()[0]: [float(one) for one in line.split()[1:]]
                       for line in self.read("distilled/transitions").splitlines()}
        for state, loop in (("[sil_2]", 0.7), ("[sil_2~2]", 0.9), ("[a-b+c_3]", 0.8)):
            self.assertAlmostEqual(transitions[state][0], math.log(loop), places=6)
            self.assertAlmostEqual(transitions[state][1], math.log(1 - loop), places=6)

    def test_errors(self):
        self.write("models", "sil s1 s2 s3\na a1 a2 a3\n")
        self.write("lm", ARPA)
        self.write("lexicon", "ab 1 a\nbac 1 a x\n")
        words = ("words", "--lexicon", "lexicon", "--model-map", "models", "--lm", "lm", "--out", "w")
        self.assertIn("lexicon:2: phone 'x' of word 'bac' is not a model", self.make(*words, status=1))
        self.write("lexicon", "ab 1 a\nother 1 a\n")
        self.assertIn("warning: the language model lacks 1 words, which are left out: other", self.make(*words))
        self.assertIn("the language model must be about the models of models; it has ab",
                      self.make("phones", "--model-map", "models", "--lm", "lm", "--out", "p", status=1))
        self.write("lm", "no model\n")
        self.assertIn("lm: there is no section \\1-grams:", self.make(*words, status=1))
        self.write("lexicon", "ab a\n")
        self.write("lm", ARPA)
        self.write("mmf", '~h "a"\n<BEGINHMM>\n<NUMSTATES> 3\n<STATE> 2\n<MEAN> 1\n 0\n<ENDHMM>\n')
        self.write("list", "a\n")
        donor = ("donor", "--lexicon", "lexicon", "--lm", "lm", "--cntkmap", "models", "--mmf", "mmf", "--list", "list",
                 "--out", "d")
        self.assertIn("mmf:5: state 2 of model 'a' is not tied", self.make(*donor, status=1))


if __name__ == "__main__":
    main()
