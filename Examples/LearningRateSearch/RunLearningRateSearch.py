#!/usr/bin/env python3
"""Compares a learning rate that is searched before each epoch with fixed rates and with two other searches.

    RunLearningRateSearch.py [--corpus FOLDER | --digits [FOLDER]] [--cntk PROGRAM] [--work FOLDER] [--epochs 20]
                             [--seeds 1,2] [--rates 0.01,0.02] [--jobs 2] [--picture FILE.svg] [--table FILE.md]
                             [settings, as Momentum=0.9]

Trains one network for each way and seed, prints two tables, and draws the training cross-entropy and the learning rate
over the epochs. Exits with status 1 if the search (goal 'sufficient') ends before the last epoch, or at a worse mean
cross-entropy than the best fixed rate. Runs a finished training again only with other settings. Standard library only.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import statistics
import struct
import subprocess
import sys

from Curves import draw_curves

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / ".."))
from RunCntk import program, require, run_script  # noqa: E402
GRID = [0.003125 * 2 ** i for i in range(8)]  # rates per sample
GOALS = ("sufficient", "improvement", "best")
TITLES = {"sufficient": "search: sufficient", "improvement": "search: better than rate 0",
          "best": "search: best on the sample"}
COLOURS = {"sufficient": "#1b6ca8", "improvement": "#d95f02", "best": "#7570b3", "fixed": "#2e8b57"}
SAMPLE_SHARE = 0.05
MINIBATCH = 32

EPOCH = re.compile(r"Finished Epoch\[ *\d+ of \d+\]: \[Training Set\] TrainLossPerSample = ([^;]+);.*?"
                   r"AvgLearningRatePerSample = ([^;]+); EpochTime=(\S+)")
SEARCH = re.compile(r"The search before epoch \d+: (\d+) trials in (\S+) s")
FINAL = re.compile(r"CrossEntropyWithSoftmax/Sample = (\S+)")


def synthetic_corpus(folder):
    """Makes the corpus of the speech example if it is missing; returns its number of frames and its settings."""
    if not (folder / "mlf").exists():
        run_script(HERE / "../Speech/GenerateCorpus.py", folder)
    scp, = folder.glob("scp/*.train.scp.fbank*")
    mlf, = folder.glob("mlf/*.train.align_cistate.mlf*")
    states, = folder.glob("mlf/*.statelist")
    return frames_of(scp, folder), ["TrainScp=%s" % scp, "TrainMlf=%s" % mlf, "StateList=%s" % states, "LabelDim=183",
                                    "ScpPrefix=/"]  # the lists have absolute paths


def frames_of(scp, prefix):
    """Returns the number of frames in a script file: name=file[first,last], or whole files, by their headers."""
    frames = 0
    for line in scp.read_text(encoding="utf-8").split():
        part = re.search(r"\[(\d+),(\d+)\]$", line)
        if part:
            frames += int(part.group(2)) - int(part.group(1)) + 1
        else:
            with open(prefix / line.split("=")[-1], "rb") as file:
                frames += struct.unpack(">i", file.read(4))[0]
    return frames


class Result:
    """The values in the log of one training."""

    def __init__(self, text):
        epochs = EPOCH.findall(text)
        self.losses = [float(loss) for loss, _, _ in epochs]
        self.rates = [float(rate) for _, rate, _ in epochs]
        self.seconds = sum(float(seconds) for _, _, seconds in epochs)
        searches = SEARCH.findall(text)
        self.trials = sum(int(trials) for trials, _ in searches)
        self.search_seconds = sum(float(seconds) for _, seconds in searches)
        final = FINAL.findall(text)
        self.final = float(final[-1]) if final else None
        self.ended = "Training complete." in text  # no rate was good enough any more

    def is_whole(self, epochs):
        return (len(self.losses) == epochs or self.ended) and self.final is not None

    def time_share(self):
        return 100 * self.search_seconds / self.seconds

    def sample_share(self):
        return 100 * SAMPLE_SHARE * self.trials / len(self.losses)


def settings_of(args):
    """Returns the settings of the data."""
    if args.digits is not None:
        folder = args.digits.absolute() if args.digits.name else args.work / "digits"
        if not (folder / "train.txt").exists():
            run_script(HERE / "../Image/Digits/ConvertDigits.py", folder)
        return ["configFile=LearningRateSearch.cntk+Digits.cntk", "Data=%s" % folder]
    if args.corpus:
        corpus = args.corpus.absolute()
        frames, settings = frames_of(corpus / "scp/train.fbank.scp", corpus), ["Corpus=%s" % corpus]
    else:
        frames, settings = synthetic_corpus(args.work / "data")
    return ["configFile=LearningRateSearch.cntk+Speech.cntk", *settings, "EpochSize=%d" % frames,
            "SearchSize=%d" % round(SAMPLE_SHARE * frames / MINIBATCH)]


def train(args, more, way, seed):
    name = "%s.%d" % (way, seed)
    own = ["command=Search:Score", "Goal=" + way]
    if way not in GOALS:
        own = ["command=Fixed:Score", "Rate=" + way]
    command = [args.cntk, *more, "Name=" + name, "Seed=%d" % seed, "Epochs=%d" % args.epochs, "ExpDir=%s" % args.work,
               "makeMode=false", *own]
    first_line = " ".join(map(str, command)) + "\n"
    log = args.work / (name + ".log")
    if log.exists():
        text = log.read_text(encoding="utf-8", errors="replace")
        result = Result(text)
        if text.startswith(first_line) and result.is_whole(args.epochs):
            return result
    print("%-14s seed %d: trains, log %s" % (way, seed, log), flush=True)
    with open(log, "wb") as output:
        output.write(first_line.encode())
        output.flush()
        done = subprocess.run(command, cwd=HERE, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=output,
                              check=False)
    text = log.read_text(encoding="utf-8", errors="replace")
    result = Result(text)
    if done.returncode != 0 or not result.is_whole(args.epochs):
        sys.exit("%s failed:\n%s" % (first_line.strip(), text[-3000:]))
    print("%-14s seed %d: last epoch %.4g, final model %.4g, %.1f s, %d trials in %.1f s" % (
        way, seed, result.losses[-1], result.final, result.seconds, result.trials, result.search_seconds), flush=True)
    return result


def spread(values, form):
    if len(values) == 1:
        return form % values[0]
    return (form + " (" + form + " to " + form + ")") % (statistics.mean(values), min(values), max(values))


def epochs_of(runs):
    """Returns after how many epochs each search ended because it found no rate."""
    counts = [str(len(run.losses)) for run in runs]
    return " (ended after %s epochs)" % ", ".join(counts) if any(run.ended for run in runs) else ""


def table_of(results, seeds, fixed):
    lines = ["| learning rate | cross-entropy, last epoch | cross-entropy of the final model | trials an epoch | "
             "samples of the trials, % of the training | time of the search, % of the training |",
             "|---|---|---|---|---|---|"]
    for way in GOALS + tuple(fixed):
        runs = [results[way, seed] for seed in seeds]
        cells = [TITLES.get(way, "fixed: " + way) + epochs_of(runs), spread([run.losses[-1] for run in runs], "%.4g"),
                 spread([run.final for run in runs], "%.4g")]
        cells += [spread([run.trials / len(run.losses) for run in runs], "%.1f"),
                  spread([run.sample_share() for run in runs], "%.1f"),
                  spread([run.time_share() for run in runs], "%.1f")] if way in GOALS else ["", "", ""]
        lines.append("| %s |" % " | ".join(cells))
    return "\n".join(lines) + "\n"


def seeds_table_of(results, seeds, best):
    """Returns a table of the last epoch of each seed: the searches and the best fixed rate."""
    lines = ["| seed | %s | fixed: %s, the best | the rate of '%s' fell before epoch |" % (
        " | ".join(TITLES[goal] for goal in GOALS), best, GOALS[0]), "|" + "---|" * (len(GOALS) + 3)]
    for seed in seeds:
        rates = results[GOALS[0], seed].rates
        falls = [str(i + 1) for i in range(1, len(rates)) if rates[i] < rates[i - 1]]
        losses = ["%.4g" % results[way, seed].losses[-1] for way in GOALS + (best,)]
        lines.append("| %d | %s | %s |" % (seed, " | ".join(losses), ", ".join(falls) or "-"))
    return "\n".join(lines) + "\n"


def picture_of(results, seed, fixed, best):
    losses, rates = [], []
    for way in fixed:
        if way != best:
            losses.append({"values": results[way, seed].losses, "colour": "#ccc", "width": 1})
    losses[-1]["name"] = "other fixed rates"
    for way in GOALS + (best,):
        name = TITLES.get(way, "best fixed rate, " + way)
        style = {"name": name, "colour": COLOURS.get(way, COLOURS["fixed"]), "width": 2.5 if way == GOALS[0] else 1.8}
        losses.append({"values": results[way, seed].losses, **style})
        rates.append({"values": results[way, seed].rates, **style})
    return draw_curves([{"title": "(a) training set", "label": "cross-entropy per frame", "curves": losses,
                         "top": results[GOALS[0], seed].losses[0] * 1.15},
                        {"title": "(b) learning rate per sample", "curves": rates, "logarithmic": True}])


def broken_claims(results, seeds, best, epochs):
    """Returns claims of the paper about the search that these trainings contradict."""
    runs = [results[GOALS[0], seed] for seed in seeds]
    broken = ["with seed %d the search ended after %d of %d epochs" % (seed, len(run.losses), epochs)
              for seed, run in zip(seeds, runs) if len(run.losses) < epochs]
    mean = statistics.mean(run.losses[-1] for run in runs)
    limit = statistics.mean(results[best, seed].losses[-1] for seed in seeds)
    if mean > limit:
        broken.append("the search ended at a cross-entropy of %.4g, the best fixed rate at %.4g" % (mean, limit))
    return broken


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cntk", default=os.environ.get("CNTK", str(HERE / "../../build/bin/cntk")))
    data = parser.add_mutually_exclusive_group()
    data.add_argument("--corpus", type=pathlib.Path, help="folder of synthspeech; by default the script makes a small corpus")
    data.add_argument("--digits", type=pathlib.Path, nargs="?", const=pathlib.Path(), metavar="FOLDER",
                      help="images instead of speech; by default those of Debian's python3-sklearn")
    parser.add_argument("--work", type=pathlib.Path, default=HERE / "../../build/learningratesearch")
    parser.add_argument("--epochs", type=int, default=20, help="epochs of each training")
    parser.add_argument("--seeds", default="1", help="seeds of initial values: 1,2,3 trains each network three times")
    parser.add_argument("--rates", default=",".join("%g" % rate for rate in GRID), help="fixed rates per sample")
    parser.add_argument("--jobs", type=int, default=2, help="number of trainings at the same time")
    parser.add_argument("--picture", type=pathlib.Path, help="file for the curves (SVG)")
    parser.add_argument("--table", type=pathlib.Path, help="file for the tables (Markdown)")
    args, more = parser.parse_known_args()
    args.cntk, args.work = program(args.cntk), args.work.absolute()
    require(args.corpus)
    args.work.mkdir(parents=True, exist_ok=True)
    more = settings_of(args) + more

    seeds = [int(seed) for seed in args.seeds.split(",")]
    fixed = args.rates.split(",")
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        futures = {(way, seed): pool.submit(train, args, more, way, seed) for seed in seeds
                   for way in GOALS + tuple(fixed)}
        results = {key: future.result() for key, future in futures.items()}

    best = min(fixed, key=lambda way: statistics.mean(results[way, seed].losses[-1] for seed in seeds))
    table = table_of(results, seeds, fixed) + "\n" + seeds_table_of(results, seeds, best)
    print(table + "\nbest fixed rate per sample: " + best)
    if args.table:
        args.table.write_text(table, encoding="utf-8")
    picture = args.picture or args.work / "LearningRateSearch.svg"
    picture.write_text(picture_of(results, seeds[0], fixed, best), encoding="utf-8")
    print("picture: %s" % picture)
    if broken := broken_claims(results, seeds, best, args.epochs):
        sys.exit("The search contradicts its paper: %s." % "; ".join(broken))


if __name__ == "__main__":
    main()
