#!/usr/bin/env python3
"""Makes a small corpus of speech features that looks like TIMIT's, with phones sampled from hidden Markov models.

    GenerateCorpus.py FOLDER [--train 240] [--dev 24] [--core 24] [--seed 1] [--name Synthetic] [--output exp]

Into FOLDER it writes feat/ (HTK files: 24 filterbanks or 13 cepstra with deltas and accelerations), scp/ (lists of
them, and of files below --output that the program is to write) and mlf/ (the states and the dialect region of each
frame, the state list). The same seed gives the same corpus. Standard library only.
"""
import argparse
import array
import math
import os
import random
import struct
import sys

PHONES = ("aa ae ah ao aw ax axh axr ay b bcl ch d dcl dh dx eh el em en eng epi er ey f g gcl h# hh hv ih ix iy jh k "
          "kcl l m n ng nx ow oy p pau pcl q r s sh t tcl th uh uw ux v w y z zh").split()
STATES = ("s2", "s3", "s4")
SILENCE = "h#"
REGIONS = 8
CHANNELS = 24
CEPSTRA = 12
FBANK_D_A = 7 + 0o400 + 0o1000
MFCC_D_A_0 = 6 + 0o400 + 0o1000 + 0o20000
FRAME = 100000  # 10 ms in units of 100 ns
COSINES = [[math.sqrt(2 / CHANNELS) * math.cos(math.pi * k * (i + 0.5) / CHANNELS) for i in range(CHANNELS)]
           for k in list(range(1, CEPSTRA + 1)) + [0]]


class State:
    """A state emits one Gaussian of independent channels and moves to the next state with probability leave."""

    def __init__(self, name, mean, leave):
        self.name, self.mean, self.leave = name, mean, leave


def make_models(rng):
    """Makes three states per phone: peaks that move a little from state to state, like formants."""
    models = {}
    for phone in PHONES:
        silent = phone == SILENCE
        level = 4.0 if silent else rng.uniform(8.0, 11.0)
        peaks = [(rng.uniform(0, CHANNELS), rng.uniform(0.5, 3.5) * (not silent), rng.uniform(1.5, 4.0))
                 for _ in range(4)]
        states = []
        for suffix in STATES:
            mean = [level + sum(h * math.exp(-0.5 * ((i - c) / w) ** 2) for c, h, w in peaks) for i in range(CHANNELS)]
            states.append(State(phone + "_" + suffix, mean, rng.uniform(0.2, 0.45)))
            level += rng.uniform(-0.8, 0.8)
            peaks = [(c + rng.uniform(-2, 2), max(0.0, h + rng.uniform(-0.8, 0.8) * (not silent)), w)
                     for c, h, w in peaks]
        models[phone] = states
    return models


def sample_utterance(rng, models, tilt):
    """Returns frames of filterbanks, and the segments (state, phone if one begins, first frame, frames)."""
    spoken = [phone for phone in PHONES if phone != SILENCE]
    phones = [SILENCE] + [rng.choice(spoken) for _ in range(rng.randint(8, 14))] + [SILENCE]
    level = rng.gauss(0, 0.3)
    frames, segments = [], []
    for phone in phones:
        for number, state in enumerate(models[phone]):
            begin = len(frames)
            while True:
                frames.append([m + level + t + rng.gauss(0, 0.8) for m, t in zip(state.mean, tilt)])
                if rng.random() < state.leave:
                    break
            segments.append((state.name, phone if number == 0 else None, begin, len(frames) - begin))
    return frames, segments


def deltas(frames):
    """Returns the regression over two frames on either side; the frames at the ends are repeated."""
    last = len(frames) - 1
    at = lambda t: frames[min(max(t, 0), last)]
    return [[0.1 * (b - a) + 0.2 * (d - c) for a, b, c, d in zip(at(t - 1), at(t + 1), at(t - 2), at(t + 2))]
            for t in range(last + 1)]


def create(path):
    return open(path, "w", encoding="utf-8", newline="\n")


def write_htk(path, frames, kind):
    first = deltas(frames)
    second = deltas(first)
    values = array.array("f")
    for rows in zip(frames, first, second):
        for row in rows:
            values.extend(row)
    if sys.byteorder == "little":
        values.byteswap()
    with open(path, "wb") as out:
        out.write(struct.pack(">iihH", len(frames), FRAME, 12 * len(frames[0]), kind))
        out.write(values.tobytes())


def write_part(options, rng, models, tilts, part, count):
    """Writes all files of one part of the corpus."""
    join = lambda *names: "/".join((options.folder.replace("\\", "/"),) + names)
    stem = lambda folder, kind: create(join(folder, "%s.%s.%s" % (options.name, part, kind)))
    fbank, mfcc = stem("scp", "scp.fbank.fullpath"), stem("scp", "scp.mfcc.fullpath")
    bottleneck, scaled = stem("scp", "scp.bottleneck.fullpath"), stem("scp", "scp.scaledloglike.fullpath")
    states, regions = stem("mlf", "align_cistate.mlf.cntk"), stem("mlf", "align_dr.mlf.cntk")
    with fbank, mfcc, bottleneck, scaled, states, regions:
        states.write("#!MLF!#\n")
        regions.write("#!MLF!#\n")
        for i in range(count):
            region = i % REGIONS
            name = "%s-dr%d-sp%03d-si%04d" % (part, region + 1, i // 4, i)
            frames, segments = sample_utterance(rng, models, tilts[region])
            write_htk(join("feat", name + ".fbank_zda"), frames, FBANK_D_A)
            write_htk(join("feat", name + ".mfcc_zda"),
                      [[sum(map(lambda c, x: c * x, row, frame)) for row in COSINES] for frame in frames], MFCC_D_A_0)
            fbank.write("%s.fbank_zda=%s\n" % (name, join("feat", name + ".fbank_zda")))
            mfcc.write("%s.mfcc_zda=%s\n" % (name, join("feat", name + ".mfcc_zda")))
            bottleneck.write("%s/bottleneck/%s.mfc\n" % (options.output, name))
            scaled.write("%s/scaledloglike/%s.mfc\n" % (options.output, name))
            states.write('"%s.rec"\n' % name)
            for state, phone, begin, length in segments:
                states.write("%d %d %s 0%s\n" % (FRAME * begin, FRAME * (begin + length), state,
                                                 " %s 0 %s" % (phone, phone) if phone else ""))
            states.write(".\n")
            regions.write('"*/%s.rec"\n0 %d dr%d %d\n.\n' % (name, len(frames), region + 1, region))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--train", type=int, default=240, help="utterances of about 120 frames")
    parser.add_argument("--dev", type=int, default=24)
    parser.add_argument("--core", type=int, default=24)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--name", default="Synthetic", help="beginning of the names of all lists")
    parser.add_argument("--output", default="exp", help="folder of the files that the program writes")
    options = parser.parse_args()
    for folder in ("feat", "scp", "mlf"):
        os.makedirs(os.path.join(options.folder, folder), exist_ok=True)
    rng = random.Random(options.seed)
    models = make_models(rng)
    tilts = [[rng.uniform(-0.6, 0.6) + rng.uniform(-0.4, 0.4) for _ in range(CHANNELS)] for _ in range(REGIONS)]
    with create(os.path.join(options.folder, "mlf", options.name + ".statelist")) as out:
        for phone in PHONES:
            for state in models[phone]:
                out.write(state.name + "\n")
    for part, count in (("train", options.train), ("dev", options.dev), ("core", options.core)):
        write_part(options, rng, models, tilts, part, count)


if __name__ == "__main__":
    main()
