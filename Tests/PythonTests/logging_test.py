"""Progress of trainings."""
import io
import re
import time

import cntk as C


class Terminal(io.StringIO):
    def isatty(self):
        return True


def epochs(printer, counts):
    for number, count in enumerate(counts):
        for index in range(1, 4):
            printer.on_minibatch(index, 0.5, 0.25, index * count // 4)
            time.sleep(0.001)
        printer.on_epoch(number + 1, 0.5, 0.25, count, 0.01)


def test_lines_of_epochs(capsys):
    epochs(C.logging.ProgressPrinter(), [400, 400])
    out, err = capsys.readouterr()
    assert err == "" and len(out.splitlines()) == 2
    assert out.splitlines()[1].startswith("Finished Epoch[ 2]: [Training] loss = 0.50000000 * 400; metric = 0.25000000 * 400")


def test_lines_of_minibatches(tmp_path):
    path = tmp_path / "log.txt"
    epochs(C.logging.ProgressPrinter(freq=2, log_to_file=path), [400])
    lines = path.read_text().splitlines()
    assert [line.split(":")[0] for line in lines] == [" Minibatch[   2]", "Finished Epoch[ 1]"]


def test_line_on_a_terminal(monkeypatch, capsys):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    epochs(C.logging.ProgressPrinter(), [400, 400])
    drawn = [part for part in terminal.getvalue().split("\r") if part.strip()]
    assert [re.match(r"(\d) minibatches, (\d+) samples, loss 0.50000, \d+ samples/s", part).groups() for part in drawn] \
        == 2 * [("1", "100"), ("2", "200"), ("3", "300")]
    assert ["s left" in part for part in drawn] == 3 * [False] + 3 * [True]
    assert terminal.getvalue().endswith("\r")  # the line is cleared
    assert capsys.readouterr().out.count("Finished Epoch") == 2
