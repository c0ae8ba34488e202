"""Draws curves over epochs as one SVG picture with several panels. Standard library only."""
import math

WIDTH, HEIGHT, LEFT, TOP, GAP = 440, 340, 70, 44, 90


def text(x, y, words, anchor="middle", size=13, extra=""):
    return ('<text x="%.1f" y="%.1f" font-family="sans-serif" font-size="%d" text-anchor="%s" fill="#333"%s>%s</text>'
            % (x, y, size, anchor, extra, words))


def linear_ticks(low, high):
    step = 10 ** math.floor(math.log10(high - low))
    for divisor in (5, 2, 1):
        if (high - low) / (step / divisor) <= 8:
            step /= divisor
            break
    first = math.ceil(low / step - 1e-9)
    return [i * step for i in range(first, math.floor(high / step + 1e-9) + 1)]


def logarithmic_ticks(low, high):
    return [digit * 10.0 ** power for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
            for digit in (1, 2, 5) if low <= digit * 10.0 ** power <= high]


def panel(left, description):
    """title, label, logarithmic, top (values above are cut off); curves: values, colour, width, name (may be missing)."""
    curves, logarithmic = description["curves"], description.get("logarithmic", False)
    values = [value for curve in curves for value in curve["values"] if math.isfinite(value)]
    low, high = min(values), min(max(values), description.get("top", math.inf))
    if logarithmic:
        low, high = low / 1.5, high * 1.5
    else:
        low, high = low - 0.04 * (high - low), high + 0.04 * (high - low)
    scale = math.log if logarithmic else float
    epochs = max(len(curve["values"]) for curve in curves)

    def place(epoch, value):
        share = (scale(min(value, high)) - scale(low)) / (scale(high) - scale(low))
        return left + (epoch - 1) / max(epochs - 1, 1) * WIDTH, TOP + (1 - share) * HEIGHT

    parts = ['<rect x="%d" y="%d" width="%d" height="%d" fill="white" stroke="#999"/>' % (left, TOP, WIDTH, HEIGHT),
             text(left + WIDTH / 2, TOP - 16, description["title"], size=15),
             text(left + WIDTH / 2, TOP + HEIGHT + 40, "epoch")]
    for value in (logarithmic_ticks if logarithmic else linear_ticks)(low, high):
        y = place(1, value)[1]
        parts.append('<line x1="%d" y1="%.1f" x2="%d" y2="%.1f" stroke="#eee"/>' % (left, y, left + WIDTH, y))
        parts.append(text(left - 8, y + 4, "%g" % round(value, 10), anchor="end"))
    step = max(1, round(epochs / 10))
    for epoch in sorted({1, *range(step, epochs + 1, step)}):
        parts.append(text(place(epoch, high)[0], TOP + HEIGHT + 20, epoch))
    if "label" in description:
        x, y = left - 52, TOP + HEIGHT / 2
        parts.append(text(x, y, description["label"], extra=' transform="rotate(-90 %d %d)"' % (x, y)))
    row = 0
    for curve in curves:
        points = " ".join("%.1f,%.1f" % place(i + 1, value) for i, value in enumerate(curve["values"])
                          if math.isfinite(value))
        parts.append('<polyline points="%s" stroke="%s" stroke-width="%s" fill="none"/>' % (
            points, curve["colour"], curve["width"]))
        if "name" in curve:
            y = TOP + 22 + 20 * row
            parts.append('<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="%s" stroke-width="3"/>' % (
                left + WIDTH - 220, y - 4, left + WIDTH - 196, y - 4, curve["colour"]))
            parts.append(text(left + WIDTH - 188, y, curve["name"], anchor="start"))
            row += 1
    return parts


def draw_curves(panels):
    width = LEFT + len(panels) * (WIDTH + GAP)
    height = TOP + HEIGHT + 60
    parts = ['<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d">' % (
        width, height, width, height), '<rect width="%d" height="%d" fill="#fafafa"/>' % (width, height)]
    for i, description in enumerate(panels):
        parts += panel(LEFT + i * (WIDTH + GAP), description)
    return "\n".join(parts + ["</svg>", ""])
