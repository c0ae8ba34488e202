#!/usr/bin/env python3
"""Draws word errors against the real-time factor of the search (CPU seconds for a second of speech), for beams and token limits,
and against the acoustic weight.

    BeamPicture.py --corpus FOLDER --picture Decoding.svg [--cntk PROGRAM] [--table Decoding.md] [--part test]

Decodes a part of synthspeech with the reference network of the corpus and a bigram model, with many settings. Standard library
only.
"""
import argparse
import math
import os
import pathlib
import statistics
import tempfile

from TestScores import TestScores

HERE = pathlib.Path(__file__).resolve().parent
BASE = ["-acweight", "0.5", "-word_end_beam_frac", "1"]
BEAMS = (6, 8, 10, 12, 15, 20, 25, 30)
LIMITS = (25, 50, 100, 200, 400, 800, 1600)
WEIGHTS = (0.0667, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1, 1.5)
# Curves of the first panel: title, colour, settings with their labels.
CURVES = (
    ("-beam, with -min-tokens 0", "#c33", [("%d" % beam, ["-min-tokens", "0", "-beam", "%d" % beam]) for beam in BEAMS]),
    ("-beam, with -min-tokens 200 (default)", "#36c", [("%d" % beam, ["-beam", "%d" % beam]) for beam in BEAMS]),
    ("-max-tokens, with -beam 30", "#393", [
        ("%d" % limit, ["-beam", "30", "-min-tokens", "0", "-max-tokens", "%d" % limit]) for limit in LIMITS]),
)


def text(x, y, words, anchor="middle", size=13, colour="#333", more=""):
    return '<text x="%.1f" y="%.1f" font-family="sans-serif" font-size="%d" text-anchor="%s" fill="%s"%s>%s</text>' % (
        x, y, size, anchor, colour, more, words)


class Panel:
    """A diagram with a logarithmic horizontal axis and a linear vertical one."""

    def __init__(self, left, title, label, values, top, bottom):
        self.left, self.low, self.high = left, min(values) / 1.2, max(values) * 1.2
        self.top, self.bottom = top, bottom
        self.parts = ['<rect x="%d" y="44" width="440" height="340" fill="white" stroke="#999"/>' % left,
                      text(left + 220, 28, title, size=15), text(left + 220, 424, label)]
        step = 5 if top - bottom > 12 else 1
        for value in range(math.ceil(bottom / step) * step, math.floor(top) + 1, step):
            y = self.place(self.low, value)[1]
            self.parts += ['<line x1="%d" y1="%.1f" x2="%d" y2="%.1f" stroke="#eee"/>' % (left, y, left + 440, y),
                           text(left - 8, y + 4, "%d" % value, "end")]
        ticks = [number * 10.0 ** power for power in range(-6, 3) for number in (1, 2, 5)]
        for tick in ticks:
            if self.low <= tick <= self.high:
                self.parts.append(text(self.place(tick, 0)[0], 404, "%g" % tick))

    def place(self, x, y):
        share = math.log(x / self.low) / math.log(self.high / self.low)
        return self.left + 440 * share, 384 - 340 * (min(y, self.top) - self.bottom) / (self.top - self.bottom)

    def curve(self, points, colour, labels):
        """Points above the diagram lie on its upper edge."""
        places = [self.place(*point) for point in points]
        self.parts.append('<polyline points="%s" fill="none" stroke="%s" stroke-width="1.8"/>' % (
            " ".join("%.1f,%.1f" % place for place in places), colour))
        for (x, y), label in zip(places, labels):
            self.parts += ['<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>' % (x, y, colour),
                           text(x + 4, y - 6, label, "start", 11, colour)]

    def legend(self, names):
        for i, (name, colour) in enumerate(names):
            y = 64 + 18 * i
            self.parts += ['<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="%s" stroke-width="3"/>' % (
                self.left + 150, y, self.left + 174, y, colour), text(self.left + 182, y + 4, name, "start")]


def draw(curves, weights):
    points = [point for _, _, _, points in curves for point in points]
    lowest = min(errors for _, errors in points + weights)
    left = Panel(70, "(a) speed", "real-time factor of the search", [factor for factor, _ in points], 30, lowest - 2)
    for _, colour, labels, own in curves:
        left.curve(own, colour, labels)
    left.legend([(name, colour) for name, colour, _, _ in curves])
    right = Panel(610, "(b) acoustic weight, with -beam 15", "-acweight", [weight for weight, _ in weights],
                  max(errors for _, errors in weights) * 1.05, lowest - 2)
    right.curve(weights, "#36c", ["%.1f" % errors for _, errors in weights])
    label = text(18, 214, "wrong words, per cent", more=' transform="rotate(-90 18 214)"')
    return "\n".join(['<svg xmlns="http://www.w3.org/2000/svg" width="1080" height="444" viewBox="0 0 1080 444">',
                      '<rect width="1080" height="444" fill="#fafafa"/>', *left.parts, *right.parts, label, "</svg>\n"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cntk", default=os.environ.get("CNTK", str(HERE / "../../../build/bin/cntk")))
    parser.add_argument("--corpus", required=True, type=pathlib.Path)
    parser.add_argument("--picture", required=True, type=pathlib.Path)
    parser.add_argument("--table", type=pathlib.Path, help="file for the figures of the picture, as tables in Markdown")
    parser.add_argument("--part", default="test")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each setting, whose median is drawn")
    args = parser.parse_args()
    args.cntk, args.corpus = os.path.abspath(args.cntk), args.corpus.absolute()
    with tempfile.TemporaryDirectory() as folder:
        scores = TestScores(args.cntk, args.corpus, folder, args.part)
        scores.compile("words.dg", "graphs/word.lookahead.hcl.gz", "graphs/word.lookahead")

        def decode(settings):
            """Returns the median real-time factor of some runs, and the word errors in per cent."""
            runs = [scores.measure("words.dg", "lang/word.2gram.arpa", BASE + settings) for _ in range(args.rounds)]
            return statistics.median(factor for factor, _ in runs), 100 * runs[0][1] / scores.words

        curves = [(name, colour, [label for label, _ in settings], [decode(own) for _, own in settings])
                  for name, colour, settings in CURVES]
        weights = [(weight, decode(["-beam", "15", "-acweight", "%g" % weight])[1]) for weight in WEIGHTS]
    args.picture.write_text(draw(curves, weights), encoding="utf-8")
    if args.table:
        lines = ["| setting | real-time factor | wrong words, % |", "|---|---|---|"]
        lines += ["| %s: %s | %.5f | %.2f |" % (name, label, *point) for name, _, labels, points in curves
                  for label, point in zip(labels, points)]
        lines += ["", "| -acweight | wrong words, % |", "|---|---|"] + ["| %g | %.2f |" % pair for pair in weights]
        args.table.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
