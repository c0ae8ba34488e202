"""Shared parts of end-to-end tests: the program under test, a scratch folder for each test, the shared test data.

    from EndToEnd import EndToEndTest, main

    class TrainTest(EndToEndTest):
        def test_unknown_key(self):
            self.write("config.cntk", "command=train ...")
            run = self.cntk("configFile=config.cntk", status=2)
            self.assertIn("...", run.stderr)

    if __name__ == "__main__":
        main()

The program is $CNTK (default: build/bin/cntk), the shared data are in $CNTK_TEST_SHARED (default: ../shared next to the
repository). A test that calls self.shared(...) is skipped if the data are absent.
"""
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CNTK = pathlib.Path(os.environ.get("CNTK", ROOT / "build/bin/cntk")).absolute()
SHARED = pathlib.Path(os.environ.get("CNTK_TEST_SHARED", ROOT.parent / "shared")).absolute()
SKIPPED = 77  # "skipped" for ctest


def heed_signals():
    """Restores the signals, as preexec_fn of Popen. Background jobs of a script ignore SIGINT, jobs of nohup ignore SIGHUP,
    and the program would inherit that."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


class Instants:
    """Yields random instants at which to cut a run. The duration of a run was measured once, but depends on other programs.
    So the results of the cuts move the range, to about eight cuts for each run that ends."""

    def __init__(self, draw, seconds):
        self.draw, self.seconds = draw, seconds

    def next(self, first=0, last=1):
        return self.draw.uniform(first, last) * self.seconds

    def note(self, has_ended):
        self.seconds *= 0.8 if has_ended else 1.03


class EndToEndTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="cntk-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)  # the program's working directory

    def write(self, name, text):
        """Writes a file into the scratch folder and returns its path."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def read(self, name):
        return (self.folder / name).read_text(encoding="utf-8")

    def shared(self, name):
        """Returns the path of shared data; skips the test if there are none."""
        path = SHARED / name
        if not path.exists():
            self.skipTest("the shared data '%s' do not exist" % name)
        return path

    def copy_shared(self, name, to="."):
        """Copies a file or folder of the shared data into the scratch folder."""
        source, target = self.shared(name), self.folder / to / pathlib.Path(name).name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, dirs_exist_ok=True)
        else:
            shutil.copyfile(source, target)
        return target

    def fill_disk_for(self, name):
        """Lets the next run find the disk full when it writes that file; skips the test if the system does not support it."""
        if not os.path.exists("/dev/full"):
            self.skipTest("there is no /dev/full here")
        (self.folder / (name + ".tmp")).symlink_to("/dev/full")

    def cntk(self, *arguments, status=0, timeout=300, environment=None, address_space=None, file_size=None, text=None):
        """Runs the program in the scratch folder; fails the test if its exit status is not `status` (None: any).
        address_space: limit of mapped bytes; file_size: limit of bytes in a file; text: its standard input."""
        limits = [(kind, size) for kind, size in ((resource.RLIMIT_AS, address_space), (resource.RLIMIT_FSIZE, file_size))
                  if size is not None]
        limit = limits and (lambda: [resource.setrlimit(kind, (size, size)) for kind, size in limits])
        source = {"stdin": subprocess.DEVNULL} if text is None else {"input": text}
        run = subprocess.run([str(CNTK), *map(str, arguments)], cwd=self.folder, **source,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout, check=False,
                             env=dict(os.environ, **(environment or {})), encoding="utf-8", errors="replace",
                             preexec_fn=limit or None)
        if status is not None and run.returncode != status:
            self.fail("cntk %s\nexit status %d, expected %d\nstdout:\n%s\nstderr:\n%s" % (
                " ".join(map(str, arguments)), run.returncode, status, run.stdout, run.stderr))
        return run


def main():
    """Runs the tests of the calling script; a special exit status reports that all were skipped."""
    result = unittest.main(module="__main__", exit=False, verbosity=2).result
    if not result.wasSuccessful():
        sys.exit(1)
    sys.exit(SKIPPED if result.testsRun and len(result.skipped) == result.testsRun else 0)
