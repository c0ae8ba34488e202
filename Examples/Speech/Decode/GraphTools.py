"""Parts of MakeGraph.py: text files of a recogniser, look-ahead scores, and OpenFst's programs."""
import gzip
import math
import pathlib
import shutil
import subprocess
import sys
import tempfile

BEGIN, END, UNKNOWN = "<s>", "</s>", ("<UNK>", "<unk>")
EPSILON = "<eps>"
DELTA = "--delta=1e-6"  # OpenFst rounds costs to 1/1024 without it
LN10 = math.log(10)


def read_lines(path):
    """Yields number and text of the lines of a file, plain or gzipped."""
    with open(path, "rb") as stream:
        packed = stream.read(2) == b"\x1f\x8b"
    with (gzip.open if packed else open)(path, "rt", encoding="utf-8") as stream:
        for number, line in enumerate(stream, 1):
            yield number, line.rstrip("\r\n")


def read_columns(path):
    """Yields number and columns of the lines that are not empty."""
    for number, line in read_lines(path):
        if line.strip():
            yield number, line.split()


def fail(path, line, message):
    sys.exit("%s:%d: %s" % (path, line, message))


def write_whole(path, data):
    """Writes bytes into a temporary file and renames it, so that no half-written file remains."""
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".tmp")
    temporary.write_bytes(data)
    temporary.replace(path)


def bare(state):
    """Returns a state's name without brackets."""
    return state[1:-1] if state.startswith("[") and state.endswith("]") else state


def read_model_map(path):
    """Returns the states of each model, from left to right."""
    models = {}
    for line, columns in read_columns(path):
        if len(columns) < 2:
            fail(path, line, "model '%s' has no states; expected: model state state ..." % columns[0])
        models[columns[0]] = [bare(state) for state in columns[1:]]
    return models


def read_lexicon(path, models):
    """Returns the pronunciations of each word: tuples of phones with their probability. The second column is a probability
    unless it is a phone."""
    lexicon = {}
    for line, columns in read_columns(path):
        word, phones, probability = columns[0], columns[1:], 1.0
        if phones and phones[0] not in models:
            try:
                probability = float(phones[0])
            except ValueError:
                fail(path, line, "phone '%s' of word '%s' is not a model" % (phones[0], word))
            phones = phones[1:]
        for phone in phones:
            if phone not in models:
                fail(path, line, "phone '%s' of word '%s' is not a model" % (phone, word))
        if not phones:
            fail(path, line, "word '%s' has no phones" % word)
        if not 0 < probability <= 1:
            fail(path, line, "the probability of word '%s' is %g; expected a number > 0 and <= 1" % (word, probability))
        known = lexicon.setdefault(word, {})
        known[tuple(phones)] = max(probability, known.get(tuple(phones), 0))
    return lexicon


def best_scores(path):
    """Returns the look-ahead score of each word of an ARPA model, and whether the model has a word for unknown words. The score
    is the natural logarithm of the largest probability after any words. A back-off weight above 1 raises the bound for
    n-grams that the model does not list."""
    best, weights, order = {}, {}, 0
    for line, columns in read_columns(path):
        name = columns[0]
        if name.startswith("\\"):
            order = int(name[1:-len("-grams:")]) if name.endswith("-grams:") else 0
            continue
        if order == 0:
            continue
        try:
            score, weight = float(name), float(columns[order + 1]) if len(columns) > order + 1 else 0.0
            word = columns[order]
        except (IndexError, ValueError):
            fail(path, line, "expected a logarithm, %d words and perhaps a back-off weight" % order)
        scores = best.setdefault(order, {})
        scores[word] = max(score, scores.get(word, score))
        weights[order] = max(weight, weights.get(order, 0.0))
    if 1 not in best:
        sys.exit("%s: there is no section \\1-grams: of an ARPA language model" % path)
    bounds = {}
    for order, scores in sorted(best.items()):
        bounds = {word: bound + weights.get(order - 1, 0.0) for word, bound in bounds.items()}
        for word, score in scores.items():
            bounds[word] = max(score, bounds.get(word, score))
    special = {BEGIN, *UNKNOWN}
    return ({word: min(0.0, bound * LN10) for word, bound in bounds.items() if word not in special},
            any(word in bounds for word in UNKNOWN))


class Fst:
    """Weighted arcs with names as labels, and OpenFst's programs that work on them in a folder of temporary files."""

    def __init__(self):
        self.arcs, self.names, self.states = [], {EPSILON: 0}, 1

    def new_state(self):
        self.states += 1
        return self.states - 1

    def add(self, source, target, label, cost=0.0, output=None):
        """Appends an arc; with `output` the arcs are those of a transducer."""
        for name in (label, output):
            if name is not None:
                self.names.setdefault(name, len(self.names))
        labels = label if output is None else "%s\t%s" % (label, output)
        self.arcs.append("%d\t%d\t%s%s" % (source, target, labels, "\t%.9g" % cost if cost else ""))

    def add_path(self, source, target, arcs):
        """Appends a chain of arcs through new states; an arc is (label, cost), or (label, cost, output)."""
        for i, arc in enumerate(arcs):
            following = target if i + 1 == len(arcs) else self.new_state()
            self.add(source, following, *arc)
            source = following

    def finish(self, state):
        self.arcs.append("%d" % state)

    def text(self):
        """Returns the arcs in AT&T form; the start is state 0, so its arcs come first."""
        arcs = sorted(self.arcs, key=lambda arc: not arc.startswith("0\t"))
        return ("\n".join(arcs) + "\n").encode("utf-8")


def run_tool(data, *command):
    """Runs a program of OpenFst with `data` as its input and returns its output."""
    if shutil.which(command[0]) is None:
        sys.exit("there is no program '%s'; install the package libfst-tools" % command[0])
    done = subprocess.run(command, input=data, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode != 0:
        sys.exit("%s failed:\n%s" % (" ".join(command), done.stderr.decode("utf-8", "replace")))
    return done.stdout


class Symbols:
    """A symbol table in a temporary file."""

    def __init__(self, names):
        self.folder = tempfile.TemporaryDirectory(prefix="graph-")
        self.path = self.folder.name + "/symbols"
        write_whole(self.path, "".join("%s\t%d\n" % (name, i) for i, name in enumerate(names)).encode("utf-8"))


def optimize(acceptor):
    """Returns the text of the smallest deterministic acceptor without epsilons, with costs as early as possible."""
    symbols = Symbols(acceptor.names)
    data = run_tool(acceptor.text(), "fstcompile", "--acceptor", "--isymbols=" + symbols.path)
    data = run_tool(data, "fstrmepsilon")
    data = run_tool(data, "fstdeterminize", DELTA)
    data = run_tool(data, "fstpush", "--push_weights", DELTA)
    data = run_tool(data, "fstminimize", DELTA)
    return run_tool(data, "fstprint", "--acceptor", "--isymbols=" + symbols.path).decode("utf-8")
