#!/usr/bin/env python3
"""Draws the result of the Simple demo as one SVG file: the test data, the decision boundary and the training curve.

Usage: MakePicture.py DATA_FOLDER GRID_OUTPUT LOG_FILE PICTURE.svg
GRID_OUTPUT is the output of the write action for DATA_FOLDER/Grid.txt: two numbers a line.
"""
import math
import re
import sys

SIZE, MARGIN = 420, 50


def read_columns(path):
    with open(path) as file:
        return [[float(word) for word in line.split()] for line in file if line.strip()]


def boundary_segments(grid, score):
    """Marching squares: the line on which score (the difference of the two outputs) is zero."""
    side = math.isqrt(len(grid))
    segments = []
    for row in range(side - 1):
        for column in range(side - 1):
            corners = [row * side + column, row * side + column + 1,
                       (row + 1) * side + column + 1, (row + 1) * side + column]
            crossings = []
            for a, b in zip(corners, corners[1:] + corners[:1]):
                if (score[a] > 0) != (score[b] > 0):
                    share = score[a] / (score[a] - score[b])
                    crossings.append([grid[a][k] + share * (grid[b][k] - grid[a][k]) for k in (0, 1)])
            segments += [crossings[i:i + 2] for i in range(0, len(crossings) - 1, 2)]
    return segments


def text(x, y, words, size=13, anchor="middle", extra=""):
    return (f'<text x="{x}" y="{y}" font-family="sans-serif" font-size="{size}" text-anchor="{anchor}" '
            f'fill="#333" {extra}>{words}</text>')


def scatter_panel(data, segments):
    def place(x, y):
        return MARGIN + (x + 1) / 2 * SIZE, MARGIN + (1 - y) / 2 * SIZE

    parts = [f'<rect x="{MARGIN}" y="{MARGIN}" width="{SIZE}" height="{SIZE}" fill="white" stroke="#999"/>',
             text(MARGIN + SIZE / 2, MARGIN - 14, "test data and the learned decision boundary", 15)]
    for x, y, label in data:
        px, py = place(x, y)
        parts.append(f'<circle cx="{px:.1f}" cy="{py:.1f}" r="2.6" fill="{"#d95f02" if label else "#1b6ca8"}" '
                     'fill-opacity="0.75"/>')
    path = " ".join(f"M{place(*a)[0]:.1f},{place(*a)[1]:.1f} L{place(*b)[0]:.1f},{place(*b)[1]:.1f}"
                    for a, b in segments)
    parts.append(f'<path d="{path}" stroke="black" stroke-width="2.5" fill="none"/>')
    for value in (-1, 0, 1):
        parts.append(text(place(value, 0)[0], MARGIN + SIZE + 20, value))
        parts.append(text(MARGIN - 10, place(0, value)[1] + 4, value, anchor="end"))
    return parts


def curve_panel(losses, errors):
    left = 2 * MARGIN + SIZE + 40
    highest = max(losses + errors) or 1
    epochs = len(losses)

    def place(epoch, value):
        # The axis of epochs is logarithmic, because the first epochs change most.
        share = math.log(epoch) / math.log(max(epochs, 2))
        return left + share * SIZE, MARGIN + (1 - value / highest) * SIZE

    parts = [f'<rect x="{left}" y="{MARGIN}" width="{SIZE}" height="{SIZE}" fill="white" stroke="#999"/>',
             text(left + SIZE / 2, MARGIN - 14, f"training, {epochs} epochs", 15)]
    for values, colour, name, row in ((losses, "#1b6ca8", "cross entropy per sample", 0),
                                      (errors, "#d95f02", "classification error", 1)):
        line = " ".join("%.1f,%.1f" % place(epoch + 1, value) for epoch, value in enumerate(values))
        parts.append(f'<polyline points="{line}" stroke="{colour}" stroke-width="2" fill="none"/>')
        y = MARGIN + 24 + 22 * row
        parts.append(f'<line x1="{left + SIZE - 210}" y1="{y - 4}" x2="{left + SIZE - 185}" y2="{y - 4}" '
                     f'stroke="{colour}" stroke-width="3"/>')
        parts.append(text(left + SIZE - 178, y, name, anchor="start"))
    for share in (0, 0.25, 0.5, 0.75, 1):
        parts.append(text(left - 8, place(1, share * highest)[1] + 4, f"{share * highest:.2f}", anchor="end"))
    tick = 1
    while tick <= epochs:
        parts.append(text(place(tick, 0)[0], MARGIN + SIZE + 20, tick))
        tick *= 10
    parts.append(text(left + SIZE / 2, MARGIN + SIZE + 40, "epoch"))
    return parts


def main():
    if len(sys.argv) != 5:
        sys.exit("usage: MakePicture.py DATA_FOLDER GRID_OUTPUT LOG PICTURE")
    data_folder, grid_output, log_file, picture = sys.argv[1:]
    grid = read_columns(f"{data_folder}/Grid.txt")
    score = [row[1] - row[0] for row in read_columns(grid_output)]
    if len(score) != len(grid):
        sys.exit(f"MakePicture.py: {grid_output} has {len(score)} lines, the grid has {len(grid)} points")
    with open(log_file) as file:
        epochs = re.findall(r"Finished Epoch\[ *\d+ of \d+\]: \[Training Set\] TrainLossPerSample = ([^;]+);"
                            r".*?EvalErrPerSample = ([^;]+);", file.read())
    if not epochs:
        sys.exit(f"MakePicture.py: no finished epoch in {log_file}")
    width, height = 3 * MARGIN + 2 * SIZE + 60, 2 * MARGIN + SIZE + 10
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
             f'viewBox="0 0 {width} {height}">', f'<rect width="{width}" height="{height}" fill="#fafafa"/>']
    parts += scatter_panel(read_columns(f"{data_folder}/SimpleDataTest.txt"), boundary_segments(grid, score))
    parts += curve_panel([float(loss) for loss, _ in epochs], [float(error) for _, error in epochs])
    with open(picture, "w") as file:
        file.write("\n".join(parts + ["</svg>", ""]))


if __name__ == "__main__":
    main()
