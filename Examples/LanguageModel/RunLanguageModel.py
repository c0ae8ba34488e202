#!/usr/bin/env python3
"""Trains a language model and prints its perplexity on the test text, next to that of trigram models.

    RunLanguageModel.py [--bible [FILE] | --train FILE --test FILE] [--kind Lstm|Rnn] [--vocabulary N] [--classes N]
                        [--cntk PROGRAM] [--work FOLDER] [more arguments for the program]

MakeText.py makes the text (default: --bible); the program makes the word classes. Standard library only.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / ".."))
from RunCntk import is_result, program, require, run_cntk, run_script  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bible", nargs="?", const="", metavar="FILE",
                        help="plain text of the King James Bible; without FILE the program bible prints it (default)")
    parser.add_argument("--train", metavar="FILE", help="another text, one sentence a line")
    parser.add_argument("--test", metavar="FILE", help="its test sentences")
    parser.add_argument("--kind", choices=("Lstm", "Rnn"), default="Lstm", help="the network")
    parser.add_argument("--vocabulary", type=int, default=8000, help="number of words, with <unk>")
    parser.add_argument("--classes", type=int, default=100, help="number of word classes")
    parser.add_argument("--cntk", default=os.environ.get("CNTK", str(HERE / "../../build/bin/cntk")),
                        help="the program")
    parser.add_argument("--work", default=os.environ.get("WORK", str(HERE / "../../build/languagemodel")),
                        help="folder for data, models and the log")
    args, more = parser.parse_known_args()
    work = pathlib.Path(args.work).absolute()
    cntk = program(args.cntk)
    require(args.bible, args.train, args.test)
    if bool(args.train) != bool(args.test):
        sys.exit("--train and --test belong together")
    source = ["--bible"] + ([os.path.abspath(args.bible)] if args.bible else [])
    if args.train:
        source = ["--train", os.path.abspath(args.train), "--test", os.path.abspath(args.test)]
    # The folder comes first, because --bible without a file would take it for its file.
    run_script(HERE / "MakeText.py", work / "data", *source)

    started = time.monotonic()
    log = run_cntk([cntk, "configFile=" + str(HERE / "LanguageModel.cntk"), "makeMode=false",
                    "command=Classes:%s_Train:%s_Test" % (args.kind, args.kind), "VocabSize=%d" % args.vocabulary,
                    "NbrClass=%d" % args.classes] + more, work, work / (args.kind + ".log"), is_result)
    found = re.findall(r"^Final Results:.*SamplesSeen = ([0-9]+).*Perplexity = ([0-9.]+)", log, re.M)
    seconds = time.monotonic() - started
    trigrams = run_script(HERE / "TrigramModel.py", work / "data", work / "data/vocab.txt", stdout=subprocess.PIPE,
                          text=True)
    print(trigrams.stdout.strip())
    print("%s: perplexity %s of %s words of the test, %.0f s" % (args.kind, found[-1][1], found[-1][0], seconds))


if __name__ == "__main__":
    main()
