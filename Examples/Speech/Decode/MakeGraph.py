#!/usr/bin/env python3
"""Makes the decoding graphs of the decoder `cntk argon` (book 6.2), with OpenFst's programs (package libfst-tools).

    MakeGraph.py lookahead --lm word.arpa --out word.lookahead
    MakeGraph.py phones --model-map model.state.map --lm phone.arpa --out i_lp.final
    MakeGraph.py words --lexicon lexicon.txt --model-map model.state.map --lm word.arpa --out words
    MakeGraph.py donor --lexicon lexicon.txt --lm word.arpa --cntkmap state.map --mmf donor.mmf --list tied.list --out distilled
    MakeGraph.py triphones --donor distilled --out triphones

The graphs are acceptors as text, OUT.hcl.gz (option -infsm), with the look-ahead scores OUT.lookahead (option
-lookahead-file). With --cntk PROGRAM and --transitions FILE the decoder compiles them into OUT.dg. Python's standard library
alone.
"""
import argparse
import gzip
import math
import pathlib
import subprocess
import sys

import GraphTools
import Triphones
from GraphTools import BEGIN, END, EPSILON, Fst


def format_scores(scores):
    return "".join("%s\t%.7f\n" % item for item in sorted(scores.items())).encode("utf-8")


def unlabelled(phones, models):
    return [("[%s]" % state,) for phone in phones for state in models[phone]]


def labelled(phones, word, cost, models):
    """Returns the arcs of a pronunciation: its states, and the word before its last phone, or before the last state of a single
    phone."""
    states = unlabelled(phones, models)
    behind = 1 if len(phones) == 1 else len(models[phones[-1]])
    return states[:-behind] + [(word, cost)] + states[-behind:]


def known_words(words, scores, keeps_unknown):
    """Returns the words of the graph: those of the language model, and all others if that has a word for them."""
    others = sorted(word for word in words if word not in scores and word not in (BEGIN, END))
    if others and not keeps_unknown:
        print("warning: the language model lacks %d words, which are left out: %s" % (len(others), " ".join(others[:5])),
              file=sys.stderr)
    return [word for word in words if word not in (BEGIN, END) and (keeps_unknown or word in scores)]


def word_acceptor(lexicon, models, words, scores, silences):
    """Returns states and words of all sentences: the start, words with optional silences behind them, the end."""
    graph = Fst()
    hub, behind, end, last = (graph.new_state() for _ in range(4))
    for phones, probability in lexicon[BEGIN].items():
        graph.add_path(0, hub, labelled(phones, BEGIN, -math.log(probability), models))
    for word in words:
        for phones, probability in lexicon[word].items():
            graph.add_path(hub, behind, labelled(phones, word, -math.log(probability) - scores.get(word, 0.0), models))
    graph.add(behind, hub, EPSILON)
    for silence in silences:
        graph.add_path(behind, hub, unlabelled((silence,), models))
    for phones, probability in lexicon[END].items():
        graph.add_path(hub, end, unlabelled(phones, models))
        graph.add(end, last, END, -math.log(probability) - scores.get(END, 0.0))
    graph.finish(last)
    return graph


def save_graph(args, text, scores, model_map, silences):
    """Writes the acceptor and the look-ahead scores, and compiles the graph if the program is given."""
    GraphTools.write_whole(args.out + ".hcl.gz", gzip.compress(text.encode("utf-8"), mtime=0))
    GraphTools.write_whole(args.out + ".lookahead", format_scores(scores))
    arcs = [line for line in text.splitlines() if line.count("\t") > 1]
    states = {column for line in text.splitlines() for column in line.split("\t")[:2 if line.count("\t") > 1 else 1]}
    print("%s.hcl.gz: %d states, %d arcs" % (args.out, len(states), len(arcs)))
    if args.cntk is None:
        return
    if args.transitions is None:
        sys.exit("--cntk needs --transitions FILE, the transition scores of the states")
    command = [args.cntk, "argon", "-precompile", "true", "-infsm", args.out + ".hcl.gz", "-transition-file",
               args.transitions, "-lookahead-file", args.out + ".lookahead", "-model-map", model_map,
               "-silence-models", ":".join(sorted(set(silences))), "-graph", args.out + ".dg"]
    sys.exit(subprocess.run(command, check=False).returncode)


def sentence_phones(lexicon):
    return [phone for word in (BEGIN, END) for phones in lexicon[word] for phone in phones]


def add_sentence_models(lexicon, args, models):
    """Adds <s> and </s> to a lexicon that lacks them: the model --sentence, else h# or sil."""
    known = [model for model in ([args.sentence] if args.sentence else ["h#", "sil"]) if model in models]
    for word in (BEGIN, END):
        if word not in lexicon and not known:
            sys.exit("there is no model for %s; expected --sentence MODEL with a known model, or %s in the lexicon" % (word, word))
        lexicon.setdefault(word, {(model,): 1.0 for model in known[:1]})


def make_lookahead(args):
    GraphTools.write_whole(args.out, format_scores(GraphTools.best_scores(args.lm)[0]))


def make_phones(args):
    """Any sequence of the models that the language model knows (book 6.2.1)."""
    models, (scores, _) = GraphTools.read_model_map(args.model_map), GraphTools.best_scores(args.lm)
    lexicon = {model: {(model,): 1.0} for model in models if model in scores}
    unknown = sorted(set(scores) - set(models) - {END})
    if unknown or not lexicon:
        sys.exit("%s: the language model must be about the models of %s; it has %s" % (
            args.lm, args.model_map, " ".join(unknown[:5]) or "none of them"))
    add_sentence_models(lexicon, args, models)
    words = known_words(lexicon, scores, False)
    text = GraphTools.optimize(word_acceptor(lexicon, models, words, scores, []))
    save_graph(args, text, scores, args.model_map, sentence_phones(lexicon))


def make_words(args):
    """Words of phones without context."""
    models, (scores, has_unknown) = GraphTools.read_model_map(args.model_map), GraphTools.best_scores(args.lm)
    lexicon = GraphTools.read_lexicon(args.lexicon, models)
    add_sentence_models(lexicon, args, models)
    words = known_words(lexicon, scores, has_unknown)
    silences = [silence for silence in args.silences if silence in models]
    text = GraphTools.optimize(word_acceptor(lexicon, models, words, scores, silences))
    save_graph(args, text, {word: scores[word] for word in [*words, END] if word in scores}, args.model_map,
               silences + sentence_phones(lexicon))


def make_donor(args):
    """Stage one of triphones (book 6.2.2.1)."""
    donor, (scores, has_unknown) = Triphones.read_donor(args.mmf, args.list), GraphTools.best_scores(args.lm)
    lexicon = Triphones.normalized(GraphTools.read_lexicon(args.lexicon, donor.phones()), args.silences)
    add_sentence_models(lexicon, args, donor.phones())
    words = known_words(lexicon, scores, has_unknown)
    silences = [silence for silence in args.silences if silence in donor.free]
    Triphones.save_distilled(args.out, donor, {word: lexicon[word] for word in [BEGIN, END, *words]}, args.cntkmap, silences)
    GraphTools.write_whole(args.out + "/lookahead",
                           format_scores({word: scores[word] for word in [*words, END] if word in scores}))


def make_triphones(args):
    """Stage two of triphones (book 6.2.2.2)."""
    folder = pathlib.Path(args.donor)
    distilled = Triphones.Distilled(folder)
    scores = {columns[0]: float(columns[1]) for _, columns in GraphTools.read_columns(folder / "lookahead")}
    args.transitions = args.transitions or str(folder / "transitions")
    text = GraphTools.optimize(Triphones.compose(distilled, scores))
    save_graph(args, text, scores, str(folder / "model.map"), distilled.silences + sentence_phones(distilled.lexicon))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    files = {"lm": "language model (ARPA)", "model-map": "states of each model, from left to right",
             "lexicon": "word, perhaps probability, phones", "mmf": "HTK models as text", "list": "triphones and their models",
             "cntkmap": "state and row of the network's output", "donor": "folder that the command donor wrote"}
    for name, make, wanted in (("lookahead", make_lookahead, ["lm"]),
                               ("phones", make_phones, ["model-map", "lm"]),
                               ("words", make_words, ["lexicon", "model-map", "lm"]),
                               ("donor", make_donor, ["lexicon", "lm", "cntkmap", "mmf", "list"]),
                               ("triphones", make_triphones, ["donor"])):
        command = commands.add_parser(name, help=(make.__doc__ or "Look-ahead scores of an ARPA language model."))
        command.set_defaults(make=make)
        for file in wanted:
            command.add_argument("--" + file, required=True, help=files[file])
        command.add_argument("--out", required=True, help="written file, folder or begin of file names")
        command.add_argument("--sentence", help="model of <s> and </s>, unless the lexicon has them; default: h# or sil")
        command.add_argument("--silences", default="sil:sp:pau", type=lambda text: [one for one in text.split(":") if one],
                             help="models that are optional between words, if they exist")
        command.add_argument("--cntk", help="program that compiles the graph")
        command.add_argument("--transitions", help="logarithms of self loop and way forward of each state, for --cntk")
    args = parser.parse_args()
    args.make(args)


if __name__ == "__main__":
    main()
