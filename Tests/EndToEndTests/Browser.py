"""Pages and pictures in a real browser (Debian's chromium, without a window): the text that it shows, and its pixels."""
import pathlib
import shutil
import struct
import subprocess
import tempfile
import zlib

CHROMIUM = shutil.which("chromium")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
         "--disable-sync", "--hide-scrollbars"]


def run(*arguments):
    with tempfile.TemporaryDirectory(prefix="cntk-browser-") as profile:
        return subprocess.run([CHROMIUM, *FLAGS, "--user-data-dir=" + profile, *arguments], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=120, check=True).stdout


def dom(page):
    """Returns the document as the browser has understood it."""
    return run("--dump-dom", pathlib.Path(page).absolute().as_uri()).decode("utf-8")


def pixels(page, width, height, dark=False):
    """Returns a screenshot as lines of (red, green, blue)."""
    with tempfile.TemporaryDirectory(prefix="cntk-browser-") as folder:
        picture = pathlib.Path(folder) / "screen.png"
        run("--screenshot=%s" % picture, "--window-size=%d,%d" % (width, height), "--force-device-scale-factor=1",
            *(["--blink-settings=preferredColorScheme=0"] if dark else []), pathlib.Path(page).absolute().as_uri())
        return decode(picture.read_bytes())


def decode(data):
    """Returns the lines of a PNG picture with 8 bits a channel."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, packed = 8, b""
    while at < len(data):
        length, kind = struct.unpack_from(">I4s", data, at)
        chunk = data[at + 8:at + 8 + length]
        at += 12 + length
        if kind == b"IHDR":
            width, height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", chunk)
            assert depth == 8 and colour in (2, 6) and interlaced == 0
        elif kind == b"IDAT":
            packed += chunk
    channels = 3 if colour == 2 else 4
    raw, lines, before = zlib.decompress(packed), [], bytearray(width * channels)
    for number in range(height):
        start = number * (1 + width * channels)
        line = bytearray(raw[start + 1:start + 1 + width * channels])
        unfilter(raw[start], line, before, channels)
        lines.append([tuple(line[i:i + 3]) for i in range(0, len(line), channels)])
        before = line
    return lines


def unfilter(kind, line, before, step):
    """Undoes the filter of a line of a PNG picture."""
    for i, value in enumerate(line):
        left = line[i - step] if i >= step else 0
        up = before[i]
        corner = before[i - step] if i >= step else 0
        if kind == 0:
            return
        if kind == 1:
            guess = left
        elif kind == 2:
            guess = up
        elif kind == 3:
            guess = (left + up) // 2
        else:
            guess = min((left, up, corner), key=lambda one: abs(left + up - corner - one))
        line[i] = (value + guess) & 0xFF
