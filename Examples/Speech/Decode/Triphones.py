"""Cross-word triphones for MakeGraph.py (book 6.2.2): reads a donor in HTK's form, and composes H, C and L."""
import math
import pathlib
import re
import sys

import GraphTools
from GraphTools import BEGIN, DELTA, END, EPSILON, Fst, Symbols, run_tool

TRIPHONE = re.compile(r"(.+?)-(.+)\+(.+)$")
INSIDE = "@inside"  # suffix of a phone that is a word of its own
LABEL = "@label"  # follows such a phone in L; models emit it on their last state, where the label of the word belongs
NO_MORE = "@end"  # what follows the last phone of a sentence
TOKEN = re.compile(r'"((?:[^"\\]|\\.)*)"|(\S+)')


class Model:
    """A hidden Markov model: names of its emitting states, and its matrix of transition probabilities with both ends."""

    def __init__(self, states, matrix):
        self.states, self.matrix = states, matrix

    def exits(self):
        """Returns self loop and way forward of each state, as logarithms."""
        for i in range(1, len(self.states) + 1):
            loop, away = self.matrix[i][i], sum(self.matrix[i]) - self.matrix[i][i]
            yield log(loop), log(away)

    def ways(self, i):
        """Returns the states that follow state i (0: the entry) with their costs. The way forward of the state is not part of
        the costs, and a way past the whole model is left out."""
        row = self.matrix[i]
        last = len(row) - 1
        chances = {j: row[j] for j in range(1, last + (i > 0)) if j != i and row[j] > 0}
        total = sum(chances.values())
        return {j: max(0.0, -math.log(chance / total)) for j, chance in chances.items()}


def log(probability):
    return math.log(probability) if probability > 0 else -99.0


class Donor:
    """Physical models by name, and the physical model of each logical one."""

    def __init__(self, models, logical):
        self.models, self.logical = models, logical
        self.free, self.contexts = set(), set()  # models without contexts; models that are contexts
        centres = set()
        for name in logical:
            match = TRIPHONE.match(name)
            if match:
                self.contexts.update((match.group(1), match.group(3)))
                centres.add(match.group(2))
            else:
                self.free.add(name)
        self.free -= centres
        self.centres = centres

    def phones(self):
        return self.centres | self.free

    def is_transparent(self, phone):
        """Returns whether phones see their neighbours through this model, such as HTK's short pause."""
        return phone in self.free and phone not in self.contexts


def tokens_of(path):
    """Yields line, kind and text of the words of an HTK file: 'name' in quotes, 'key' of the form <KEY> or ~x, 'word'."""
    for number, line in GraphTools.read_lines(path):
        for name, word in TOKEN.findall(line):
            if word.startswith("<") and word.endswith(">"):
                yield number, "key", word.upper()
            elif re.match(r"~[a-z]$", word):
                yield number, "key", word
            else:
                yield (number, "word", word) if word else (number, "name", name)


class DonorParser:
    """Reads models, tied states and tied transitions; means, variances and all other parts are read over."""

    def __init__(self, path):
        self.path, self.tokens = path, list(tokens_of(path))
        self.place, self.models, self.matrices = 0, {}, {}

    def fail(self, message):
        line = self.tokens[min(self.place, len(self.tokens) - 1)][0] if self.tokens else 1
        GraphTools.fail(self.path, line, message)

    def take(self, kinds):
        if self.place >= len(self.tokens) or self.tokens[self.place][1] not in kinds:
            self.fail("expected a %s" % " or ".join(kinds))
        self.place += 1
        return self.tokens[self.place - 1][2]

    def peek(self):
        return self.tokens[self.place][2] if self.place < len(self.tokens) else None

    def number(self, kind):
        text = self.take(("word",))
        try:
            return kind(text)
        except ValueError:
            return self.fail("'%s' is not a number" % text)

    def matrix(self):
        size = self.number(int)
        return [[self.number(float) for _ in range(size)] for _ in range(size)]

    def model(self, name):
        states, count, matrix, current = {}, 0, None, 0
        while self.place < len(self.tokens):
            key = self.peek()
            self.place += 1
            if key == "<NUMSTATES>":
                count = self.number(int)
            elif key == "<STATE>":
                current = self.number(int)
                if self.peek() != "~s":
                    self.fail("state %d of model '%s' is not tied; expected ~s \"name\", which names the state" % (
                        current, name))
            elif key == "~s":
                states[current] = self.take(("name", "word"))
            elif key == "~t":
                tied = self.take(("name", "word"))
                if tied not in self.matrices:
                    self.fail("model '%s' has the transitions ~t \"%s\", which do not stand above" % (name, tied))
                matrix = self.matrices[tied]
            elif key == "<TRANSP>":
                matrix = self.matrix()
            elif key == "<ENDHMM>":
                break
        if matrix is None or len(matrix) != count or sorted(states) != list(range(2, count)):
            self.fail("model '%s' lacks states or transitions: it has <NUMSTATES> %d, %d states and a matrix of %d" % (
                name, count, len(states), len(matrix or [])))
        self.models[name] = Model([states[i] for i in sorted(states)], matrix)

    def parse(self):
        while self.place < len(self.tokens):
            key = self.peek()
            self.place += 1
            if key == "~h":
                self.model(self.take(("name", "word")))
            elif key == "~t":
                name = self.take(("name", "word"))
                if self.take(("key",)) != "<TRANSP>":
                    self.fail("expected <TRANSP> behind ~t \"%s\"" % name)
                self.matrices[name] = self.matrix()
        if not self.models:
            self.fail("there is no model (~h)")
        return self.models


def read_donor(mmf, triphones):
    """Returns the models of an HTK file as text, and the list `logical physical` (one name: both are the same)."""
    models, logical = DonorParser(mmf).parse(), {}
    for line, columns in GraphTools.read_columns(triphones):
        if columns[-1] not in models:
            GraphTools.fail(triphones, line, "there is no model '%s' in %s" % (columns[-1], mmf))
        logical[columns[0]] = columns[-1]
    return Donor(models, logical)


def normalized(lexicon, silences):
    """Returns the lexicon without the silences at the ends of words, which HTK's lexicons have: they are optional anyway."""
    result = {}
    for word, pronunciations in lexicon.items():
        for phones, chance in pronunciations.items():
            while len(phones) > 1 and phones[-1] in silences:
                phones = phones[:-1]
            known = result.setdefault(word, {})
            known[phones] = max(chance, known.get(phones, 0.0))
    return result


def neighbours(donor, lexicon, silences):
    """Returns all triphones that occur in sentences: (left, phone, right)."""
    def context(phones):
        return [phone for phone in phones if not donor.is_transparent(phone)]

    inside, begins, ends, single = set(), set(), set(), set()
    units = [context(phones) for pronunciations in lexicon.values() for phones in pronunciations]
    units += [context([silence]) for silence in silences]
    for phones in units:
        inside.update(zip(phones, phones[1:], phones[2:]))
        if len(phones) == 1:
            single.add(phones[0])
        elif phones:
            begins.add(tuple(phones[:2]))
            ends.add(tuple(phones[-2:]))
    firsts = {pair[0] for pair in begins} | single
    lasts = {pair[1] for pair in ends} | single
    inside.update((left, *pair) for left in lasts for pair in begins)
    inside.update((*pair, right) for right in firsts for pair in ends)
    inside.update((left, phone, right) for phone in single for left in lasts for right in firsts)
    return {triple for triple in inside if triple[1] not in donor.free}


def save_distilled(folder, donor, lexicon, state_map, silences):
    """Writes what stage two needs: lexicon, triphones with their models, models with their states and costs, transitions,
    map of the states. A state of models with other transitions gets a name of its own."""
    folder = pathlib.Path(folder)
    rows = {GraphTools.bare(columns[0]): columns[1] for _, columns in GraphTools.read_columns(state_map)}
    transitions, names, model_lines, chains = {}, {}, [], {}
    wanted = [(name, donor.logical[name]) for name in sorted(donor.free)]
    missing = []
    for left, phone, right in sorted(neighbours(donor, lexicon, silences)):
        name = "%s-%s+%s" % (left, phone, right)
        if name in donor.logical:
            wanted.append((name, donor.logical[name]))
        else:
            missing.append(name)
    if missing:
        sys.exit("the list lacks %d triphones that the lexicon needs: %s" % (len(missing), " ".join(missing[:5])))
    for physical in sorted({physical for _, physical in wanted}):
        model, own = donor.models[physical], []
        for state, pair in zip(model.states, model.exits()):
            if state not in rows:
                sys.exit("%s: there is no row for state '%s' of model '%s'" % (state_map, state, physical))
            known = names.setdefault(state, [])
            if pair not in known:
                known.append(pair)
            own.append(state if pair == known[0] else "%s~%d" % (state, known.index(pair) + 1))
            transitions[own[-1]] = (rows[state], *pair)
        chains[physical] = own
        ways = [(i, j, cost) for i in range(len(own) + 1) for j, cost in sorted(model.ways(i).items())]
        model_lines.append("%s %s %s\n" % (physical, ",".join(own), " ".join("%d,%d,%.9g" % way for way in ways)))
    files = {"lexicon": "".join("%s %.9g %s\n" % (word, chance, " ".join(phones)) for word in lexicon
                                for phones, chance in lexicon[word].items()),
             "triphones": "".join("%s %s\n" % pair for pair in wanted),
             "models": "".join(model_lines),
             "contexts": "".join("%s\n" % phone for phone in sorted(donor.contexts)),
             "silences": "".join("%s\n" % silence for silence in silences),
             "state.cntkmap": "".join("[%s] %s\n" % (state, values[0]) for state, values in sorted(transitions.items())),
             "transitions": "".join("[%s] %.9g %.9g\n" % (state, *values[1:]) for state, values in sorted(transitions.items())),
             "model.map": model_map(wanted, chains)}
    for name, text in files.items():
        GraphTools.write_whole(folder / name, text.encode("utf-8"))
    print("%s: %d triphones, %d models, %d states" % (folder, len(wanted), len(chains), len(transitions)))


def model_map(wanted, chains):
    """Returns a model state map for the decoder: each chain of states once, named by its phone where that is unambiguous."""
    phones = {}  # chain: phone and model
    for name, physical in wanted:
        match = TRIPHONE.match(name)
        phones.setdefault(tuple(chains[physical]), (match.group(2) if match else name, physical))
    count = {}
    for phone, _ in phones.values():
        count[phone] = count.get(phone, 0) + 1
    return "".join("%s %s\n" % (phone if count[phone] == 1 else physical, " ".join(chain))
                   for chain, (phone, physical) in sorted(phones.items(), key=lambda item: item[1]))


class Distilled:
    """The folder of stage one."""

    def __init__(self, folder):
        folder = pathlib.Path(folder)
        read = GraphTools.read_columns
        self.lexicon = {}
        for _, (word, chance, *phones) in read(folder / "lexicon"):
            self.lexicon.setdefault(word, {})[tuple(phones)] = float(chance)
        self.physical = {name: physical for _, (name, physical) in read(folder / "triphones")}
        self.models = {}  # states and ways of each model
        for _, (name, states, *ways) in read(folder / "models"):
            parts = [way.split(",") for way in ways]
            self.models[name] = (states.split(","), [(int(i), int(j), float(cost)) for i, j, cost in parts])
        self.contexts = {phone for _, (phone,) in read(folder / "contexts")}
        self.silences = [silence for _, (silence,) in read(folder / "silences")]
        self.triphones = {}  # right contexts by left context and phone
        for name in self.physical:
            match = TRIPHONE.match(name)
            if match:
                self.triphones.setdefault(match.group(1, 2), []).append(match.group(3))
        self.free = {name for name in self.physical if not TRIPHONE.match(name)}
        self.inside = {phones[0] for known in self.lexicon.values() for phones in known if len(phones) == 1}

    def marks(self, phone):
        """Returns the suffixes of a phone that occur."""
        return ("", INSIDE) if phone in self.inside else ("",)


def lexicon_transducer(distilled, scores):
    """Returns L, from phones to words. A word is the output of its last phone; </s> follows all phones."""
    fst = Fst()
    hub, behind, end, last = (fst.new_state() for _ in range(4))
    for word, known in distilled.lexicon.items():
        for phones, chance in known.items():
            cost = -math.log(chance) - scores.get(word, 0.0)
            if word == END:
                fst.add_path(hub, end, [(phone, 0.0, EPSILON) for phone in phones])
                fst.add(end, last, NO_MORE, cost, END)
                continue
            if len(phones) == 1:
                arcs = [(phones[0] + INSIDE, 0.0, EPSILON), (LABEL, cost, word)]
            else:
                arcs = [(phone, 0.0, EPSILON) for phone in phones[:-1]] + [(phones[-1], cost, word)]
            fst.add_path(*((0, hub) if word == BEGIN else (hub, behind)), arcs)
    fst.add(behind, hub, EPSILON, 0.0, EPSILON)
    for silence in distilled.silences:
        fst.add(behind, hub, silence, 0.0, EPSILON)
    fst.finish(last)
    return fst


def context_transducer(distilled):
    """Returns C, from triphones to phones. Its states are pairs: the phone before, and the following phone, which C guesses."""
    fst, states, pending = Fst(), {}, []
    last = fst.new_state()
    fst.finish(last)

    def state(left, right):
        pair = (NO_MORE if right in distilled.free else left, right)
        if pair not in states:
            states[pair] = fst.new_state()
            pending.append(pair)
        return states[pair]

    transparent = [phone for phone in distilled.free if phone not in distilled.contexts]
    contexts = sorted(distilled.contexts | {match[1] for match in distilled.triphones}) + [NO_MORE]
    for phone in distilled.free:
        if phone in distilled.contexts:
            fst.add(0, state(NO_MORE, phone), EPSILON, 0.0, EPSILON)
    while pending:
        left, phone = pending.pop()
        source = states[left, phone]
        fst.add(source, source, LABEL, 0.0, LABEL)
        for name in transparent:
            for mark in distilled.marks(name):
                fst.add(source, source, name + mark, 0.0, name + mark)
        if phone == NO_MORE:
            fst.add(source, last, NO_MORE, 0.0, NO_MORE)
            continue
        is_free = phone in distilled.free
        for right in contexts if is_free else distilled.triphones.get((left, phone), []):
            name = phone if is_free else "%s-%s+%s" % (left, phone, right)
            for mark in distilled.marks(phone):
                fst.add(source, state(phone, right), name + mark, 0.0, phone + mark)
    return fst


def model_transducer(distilled):
    """Returns H, from states to triphones. A triphone is the output of its first state. Triphones of the same model share the
    states behind the first one."""
    fst, entries = Fst(), {}
    for name, (states, ways) in distilled.models.items():
        entries[name] = add_model(fst, states, ways), add_inside(fst, states, ways)
    fst.add(0, 0, EPSILON, 0.0, NO_MORE)
    fst.finish(0)
    for name, physical in distilled.physical.items():
        match = TRIPHONE.match(name)
        for mark, ways in zip(distilled.marks(match.group(2) if match else name), entries[physical]):
            for node, label, cost in ways:
                fst.add(0, node, label, cost, name + mark)
    return fst


def add_model(fst, states, ways):
    """Adds a model without its entry, from which triphones come. Returns the ways in: node, label, cost."""
    nodes = [0] + [fst.new_state() for _ in states] + [0]
    for i, j, cost in ways:
        if i > 0:
            fst.add(nodes[i], nodes[j], EPSILON if j > len(states) else "[%s]" % states[j - 1], cost, EPSILON)
    return [(nodes[j], "[%s]" % states[j - 1], cost) for i, j, cost in ways if i == 0]


def add_inside(fst, states, ways):
    """Adds a model as add_model does, with the output LABEL on the state from which the path leaves the model."""
    nodes = [0] + [fst.new_state() for _ in states]
    leaving = {i: fst.new_state() for i, j, _ in ways if j > len(states)}
    entries = []
    for i, j, cost in ways:
        if j > len(states):
            fst.add(leaving[i], 0, EPSILON, cost, EPSILON)
            continue
        label = "[%s]" % states[j - 1]
        if i == 0:
            entries.append((nodes[j], label, cost))
        else:
            fst.add(nodes[i], nodes[j], label, cost, EPSILON)
        if j in leaving and i > 0:
            fst.add(nodes[i], leaving[j], label, cost, LABEL)
        elif j in leaving:  # a model of one state: the label stands before it
            alone = fst.new_state()
            fst.add(alone, leaving[j], label, cost, LABEL)
            entries.append((alone, EPSILON, 0.0))
    return entries


def compose(distilled, scores):
    """Returns the acceptor of states and words: H, C and L composed, with each word on an arc of its own."""
    lexicon, context = lexicon_transducer(distilled, scores), context_transducer(distilled)
    models = model_transducer(distilled)
    names = {EPSILON: 0}
    for fst in (lexicon, context, models):
        for name in fst.names:
            names.setdefault(name, len(names))
    symbols = Symbols(names)
    folder = pathlib.Path(symbols.path).parent

    def compiled(fst):
        return run_tool(fst.text(), "fstcompile", "--isymbols=" + symbols.path, "--osymbols=" + symbols.path)

    def sorted_into(name, data, side):
        (folder / name).write_bytes(run_tool(data, "fstarcsort", "--sort_type=" + side))
        return str(folder / name)

    encoded = run_tool(run_tool(compiled(lexicon), "fstrmepsilon"), "fstencode", "--encode_labels", "-", str(folder / "codes"))
    small = run_tool(run_tool(encoded, "fstdeterminize", DELTA), "fstminimize", DELTA)
    small = run_tool(small, "fstencode", "--decode", "-", str(folder / "codes"))
    phones = run_tool(b"", "fstcompose", sorted_into("C", compiled(context), "olabel"), sorted_into("L", small, "ilabel"))
    whole = run_tool(b"", "fstcompose", sorted_into("H", compiled(models), "olabel"), sorted_into("CL", phones, "ilabel"))
    text = run_tool(whole, "fstprint", "--isymbols=" + symbols.path, "--osymbols=" + symbols.path).decode("utf-8")
    return with_own_arcs(text)


def with_own_arcs(text):
    """Returns an acceptor whose words, the outputs of a transducer, have arcs of their own before the states."""
    fst = Fst()
    lines = [line.split("\t") for line in text.splitlines()]
    fst.states = 1 + max(int(column) for line in lines for column in line[:2 if len(line) > 2 else 1])
    begin = lines[0][0]  # the start must be state 0
    number = {begin: 0, "0": int(begin)}
    for line in lines:
        source = number.get(line[0], int(line[0]))
        if len(line) <= 2:
            fst.finish(source)
            continue
        target, label, word = number.get(line[1], int(line[1])), line[2], line[3]
        cost = float(line[4]) if len(line) > 4 else 0.0
        if word == EPSILON:
            fst.add(source, target, label, cost)
        elif label == EPSILON:
            fst.add(source, target, word, cost)
        else:
            fst.add_path(source, target, [(word, cost), (label, 0.0)])
    return fst
