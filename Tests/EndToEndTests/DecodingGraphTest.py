#!/usr/bin/env python3
"""Examples/Speech/Decode/MakeGraph.py: its acceptors are those of the shared data, and a graph of triphones has exactly the
paths that enumeration finds. Needs OpenFst's programs."""
import gzip
import itertools
import math
import random
import shutil
import struct
import subprocess
import sys

from EndToEnd import CNTK, ROOT, EndToEndTest, main

SCRIPT = ROOT / "Examples/Speech/Decode/MakeGraph.py"
CORPUS = "data/synthspeech"

# Phones a, b and c with context, the silence sil, which is a context, and the short pause sp, which is none.
LEXICON = {"ab": [("a", "b")], "bac": [("b", "a", "c")], "c": [("c",)], "cc": [("c", "c"), ("c", "b", "c")]}
BEGIN, END = "<s>", "</s>"
FRAMES, ACWEIGHT, SILENCE_COST = 15, 0.5, 0.8  # of the utterances that are decoded
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


class Alternatives:
    """The ways through the silence sil with their costs, the state of the short pause, and the names of the other states."""

    def __init__(self, silences, pause, state):
        self.silences, self.pause, self.state = silences, pause, state

    def optional_silences(self, labels):
        """Counts how often a path leaves a silence between words for another model."""
        kinds = [(label == self.pause) + 2 * label.startswith("[sil_") * (label != self.pause) for label in labels]
        return sum(kinds[i] > 0 and "[" in labels[i + 1] and kinds[i] != kinds[i + 1] and labels[i - 1] != BEGIN
                   for i in range(len(labels) - 1))


def language_score(words):
    """Returns the natural logarithm of the probability of a sentence."""
    table = {" ".join(columns[1:-1] if is_number(columns[-1]) else columns[1:]): columns for columns in
             (line.split() for line in ARPA.splitlines()) if columns and is_number(columns[0])}
    total, before = 0.0, BEGIN
    for word in (*words, END):
        if before + " " + word in table:
            total += float(table[before + " " + word][0])
        else:
            backoff = table[before][-1]
            total += (float(backoff) if is_number(backoff) else 0) + float(table[word][0])
        before = word
    return total * math.log(10)


def is_number(text):
    return text.lstrip("-").replace(".", "").isdigit()


def frames_score(moves, rows, frames):
    """Returns the best score of the states over the frames: acoustic scores and transitions."""
    best = [-math.inf] * len(moves)
    for t, frame in enumerate(frames):
        for i in range(len(moves) - 1, -1, -1):
            enters = best[i - 1] + moves[i - 1][1] if i > 0 else 0.0 if t == 0 else -math.inf
            best[i] = max(enters, best[i] + moves[i][0]) + ACWEIGHT * frame[rows[i]]
    return best[-1] + moves[-1][1]


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
    def silence_costs(longest=3):
        """Returns the ways through sil with their costs: from state 1 to 3 with or without 2, and back from 3 to 1."""
        steps = {(1, 2): 0.3 / 0.4, (1, 3): 0.1 / 0.4, (2, 3): 1.0, (3, 1): 0.1 / 0.3}
        ways, pending = {}, [((1,), 0.0)]
        while pending:
            path, cost = pending.pop()
            if path[-1] == 3:
                ways[tuple("[sil_%d]" % state for state in path)] = cost - math.log(0.2 / 0.3)
            if len(path) < longest:
                pending += [(path + (after,), cost - math.log(share)) for (state, after), share in steps.items()
                            if state == path[-1]]
        return ways

    def paths(self, words, scores, alternatives=None, longest=math.inf):
        """Yields labels and cost of all paths of a sentence, with each pronunciation, each silence, each way through it, up to
        so many labels."""
        alternatives = alternatives or Alternatives(self.silence_costs(), "[sil_2~2]", "[{l}-{m}+{r}_{number}]")
        silences = alternatives.silences
        between = [(None, {(): 0.0}), (None, {(alternatives.pause,): 0.0}), ("sil", silences)]
        chosen = [[(word, phones) for phones in LEXICON[word]] for word in words]
        for sentence in itertools.product(*chosen):
            for gaps in itertools.product(between, repeat=len(words)):
                phones = ["sil"]
                for (_, own), (silence, _) in zip(sentence, gaps):
                    phones += list(own) + ([silence] if silence else [])
                phones.append("sil")
                parts, place = [{self.opened(path): cost for path, cost in silences.items()}], 1
                for (word, own), (silence, ways) in zip(sentence, gaps):
                    labels = []
                    for i in range(len(own)):
                        context = dict(zip("lmr", phones[place - 1:place + 2]))
                        states = [alternatives.state.format(number=j + 1, **context) for j in range(3)]
                        if i + 1 == len(own):
                            states.insert(2 if len(own) == 1 else 0, word)
                        labels += states
                        place += 1
                    place += silence is not None
                    parts += [{tuple(labels): math.log(len(LEXICON[word])) - scores[word]}, ways]
                parts.append({path + ("</s>",): cost - scores["</s>"] for path, cost in silences.items()})
                begins = [((), 0.0)]
                for part in parts:
                    begins = [(begin + labels, total + cost) for begin, total in begins for labels, cost in part.items()
                              if len(begin) + len(labels) <= longest]
                yield from begins

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

    def test_sentences_of_triphones(self):
        self.make_small()
        self.check_sentences(Alternatives(self.silence_costs(FRAMES - 2), "[sil_2~2]", "[{l}-{m}+{r}_{number}]"),
                             "distilled/transitions", "distilled/state.cntkmap", "distilled/model.map")

    def test_sentences_of_phones(self):
        models = {"sp": ["sp_1"], **{model: ["%s_%d" % (model, i + 1) for i in range(3)] for model in ("sil", "a", "b", "c")}}
        states = sum(models.values(), [])
        self.write("models", "".join("%s %s\n" % (model, " ".join(own)) for model, own in models.items()))
        self.write("map", "".join("[%s] %d\n" % (name, row) for row, name in enumerate(states)))
        self.write("transitions", "".join("[%s] %g %g\n" % (name, -0.3 - 0.1 * row, -1.2 + 0.05 * row)
                                          for row, name in enumerate(states)))
        self.write("lm", ARPA)
        self.write("lexicon", "".join("%s %g %s\n" % (word, 1 / len(known), " ".join(phones))
                                      for word, known in LEXICON.items() for phones in known))
        self.make("words", "--lexicon", "lexicon", "--model-map", "models", "--lm", "lm", "--out", "t")
        silences = {("[sil_1]", "[sil_2]", "[sil_3]"): 0.0}
        self.check_sentences(Alternatives(silences, "[sp_1]", "[{m}_{number}]"), "transitions", "map", "models")

    def check_sentences(self, alternatives, transitions, state_map, models):
        """Decodes random scores: the sentences and their best scores are those that the enumeration of all paths finds."""
        ahead = {word: float(score) for word, score in (line.split() for line in self.read("t.lookahead").splitlines())}
        rows = {state: int(row) for state, row in (line.split() for line in self.read(state_map).splitlines())}
        moves = {state: (float(loop), float(away)) for state, loop, away in
                 (line.split() for line in self.read(transitions).splitlines())}
        best = {}  # by labels: the score of the path apart from its frames
        for words in itertools.chain(*(itertools.product(LEXICON, repeat=count) for count in range(4))):
            if 4 + sum(3 * min(map(len, LEXICON[word])) for word in words) > FRAMES:
                continue
            fixed = language_score(words) - sum(ahead[word] for word in (*words, END))
            for labels, cost in self.paths(words, ahead, alternatives, FRAMES + len(words) + 2):
                score = fixed - cost - SILENCE_COST * alternatives.optional_silences(labels)
                best[labels] = max(score, best.get(labels, score))
        self.assertGreater(len(best), 20)
        generator, utterances = random.Random(5), {}
        for i in range(4):
            spoken = [label for label in generator.choice(list(best)) if "[" in label]
            while len(spoken) < FRAMES:
                place = generator.randrange(len(spoken))
                spoken.insert(place, spoken[place])
            utterances["u%d" % i] = [[generator.gauss(2 if row == rows[state] else 0, 2) for row in range(max(rows.values()) + 1)]
                                     for state in spoken]
        for name, scores in utterances.items():
            (self.folder / (name + ".sll")).write_bytes(
                struct.pack(">iihh", FRAMES, 100000, 4 * len(scores[0]), 9) +
                b"".join(struct.pack(">%df" % len(frame), *frame) for frame in scores))
        self.write("list.scp", "".join("%s.sll\n" % name for name in utterances))
        self.cntk("argon", "-precompile", "true", "-infsm", "t.hcl.gz", "-lookahead-file", "t.lookahead", "-transition-file",
                  transitions, "-model-map", models, "-graph", "t.dg")
        self.cntk("argon", "-graph", "t.dg", "-lm", "lm", "-cntkmap", state_map, "-infiles", "list.scp", "-acweight", ACWEIGHT,
                  "-sil-cost", SILENCE_COST, "-beam", 1000, "-word_end_beam_frac", 1, "-lattice-beam", 12, "-nbest", 1000,
                  "-outnbest", "nbest")
        found = {name: {} for name in utterances}
        for line in self.read("nbest").splitlines()[1:]:
            name, _, score, words = line.split("\t")
            self.assertNotIn(words, found[name], "twice")
            found[name][words] = float(score)
        for name, scores in utterances.items():
            expected = {}
            for labels, fixed in best.items():
                states = [label for label in labels if "[" in label]
                score = fixed + frames_score([moves[state] for state in states], [rows[state] for state in states], scores)
                words = " ".join(label for label in labels if "[" not in label and label not in (BEGIN, END))
                expected[words] = max(score, expected.get(words, score))
            least = max(expected.values()) - 12
            for words, score in expected.items():
                if score > least + 0.01:
                    self.assertIn(words, found[name])
            self.assertGreaterEqual(len(found[name]), 1)
            for words, score in found[name].items():
                self.assertAlmostEqual(score, expected[words], delta=1e-3, msg=words)

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
