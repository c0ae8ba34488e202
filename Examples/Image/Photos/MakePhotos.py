#!/usr/bin/env python3
"""Makes small pictures that look like photos, in one folder for each class: forest, sea, town.

    MakePhotos.py FOLDER [--count 120] [--seed 1] [--size 48]

Each picture is a PNG file. Colours, light, horizon and noise vary, so that no single pixel tells the class. The same
seed makes the same pictures on every machine. Standard library only.
"""
import argparse
import math
import pathlib
import random
import struct
import zlib


def png(width, height, rows):
    """The bytes of a PNG file. rows: bytes of red, green, blue for each pixel of a row."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    pixels = zlib.compress(b"".join(b"\0" + row for row in rows), 6)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def mixed(a, b, share):
    return [x + (y - x) * share for x, y in zip(a, b)]


def sky(draw):
    """Colours of the sky at the top and at the horizon: day, dusk or clouds."""
    return draw.choice([([90, 140, 220], [190, 215, 245]), ([40, 40, 90], [230, 140, 90]), ([150, 155, 160], [205, 205, 205])])


def forest(draw, size, horizon):
    trunks = [(draw.uniform(0, size), draw.uniform(0.02, 0.06) * size) for _ in range(draw.randint(5, 9))]
    green = [draw.uniform(20, 60), draw.uniform(70, 120), draw.uniform(20, 60)]
    def colour(x, y):
        if any(abs(x - centre) < half for centre, half in trunks) and y > horizon * 0.6:
            return [70, 50, 35]
        return mixed(green, [20, 40, 20], draw.random() * 0.8)
    return colour


def sea(draw, size, horizon):
    blue = draw.choice([[30, 80, 140], [60, 110, 120], [50, 60, 90]])
    length, height = draw.uniform(4, 9), draw.uniform(0.2, 0.5)
    phase = draw.uniform(0, 6)
    def colour(x, y):
        depth = (y - horizon) / max(size - horizon, 1)
        wave = math.sin(phase + y * 6.3 / (1 + depth * length) + math.sin(x * 0.4)) * height
        return mixed(blue, [220, 230, 240], max(0.0, wave) * 0.6)
    return colour


def town(draw, size, horizon):
    edges = sorted(draw.uniform(0, size) for _ in range(draw.randint(3, 6)))
    walls = [[draw.uniform(90, 200)] * 2 + [draw.uniform(80, 170)] for _ in range(len(edges) + 1)]
    window = draw.uniform(5, 8)
    lit = draw.random() < 0.5
    def colour(x, y):
        wall = walls[sum(edge < x for edge in edges)]
        is_window = x % window < window / 2 and y % window < window / 2
        return ([250, 220, 130] if lit else [50, 60, 80]) if is_window else wall
    return colour


def picture(draw, kind, size):
    horizon = draw.uniform(0.25, 0.55) * size
    top, bottom = sky(draw)
    ground = kind(draw, size, horizon)
    light = draw.uniform(0.6, 1.15)
    rows = []
    for y in range(size):
        row = bytearray()
        for x in range(size):
            colour = ground(x, y) if y > horizon else mixed(top, bottom, y / horizon)
            row += bytes(min(255, max(0, int(value * light + draw.gauss(0, 12)))) for value in colour)
        rows.append(bytes(row))
    return png(size, size, rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=120, help="pictures of each class")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--size", type=int, default=48)
    arguments = parser.parse_args()
    for kind in forest, sea, town:
        folder = arguments.folder / kind.__name__
        folder.mkdir(parents=True, exist_ok=True)
        draw = random.Random("%s %d" % (kind.__name__, arguments.seed))
        for number in range(arguments.count):
            (folder / ("%s%03d.png" % (kind.__name__, number))).write_bytes(picture(draw, kind, arguments.size))
    print("%d pictures in %s" % (3 * arguments.count, arguments.folder))


if __name__ == "__main__":
    main()
