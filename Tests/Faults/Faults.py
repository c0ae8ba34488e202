#!/usr/bin/env python3
"""Makes every system call of small runs fail, one call a run, and checks what remains.

    Faults.py [--every N] [--jobs N] [--library FILE] [--kinds KIND,...] [SCENARIO ...]

For each scenario (Scenarios.py, DataScenarios.py) and each kind of call, the first, second, ... call fails until a run ends before the
call comes. Each run must end with a documented exit code and a message, leave each file as it was or as the undisturbed
run writes it, and leave no lock and no temporary file. The same command must then reach the bits of the undisturbed run.
--every N tests every Nth call, which is enough for a quick look. The exit status is 77 if the kernel has no filters.
"""
import argparse
import concurrent.futures
import errno
import os
import pathlib
import re
import shutil
import struct
import sys
import tempfile
import time

from DataScenarios import WORKER_SCENARIOS, all_scenarios
from Scenarios import CNTK, contents, differences, finish, run_cntk

# Kind of the calls, value of errno (0: half of the bytes), whether all later calls fail, least bytes of an allocation.
FAULTS = {
    "open": ("open", errno.EMFILE, 0), "open-denied": ("open", errno.EACCES, 1),
    "read": ("read", errno.EIO, 0), "read-lasts": ("read", errno.EIO, 1), "read-short": ("read", 0, 0),
    "read-interrupted": ("read", errno.EINTR, 0),
    "write": ("write", errno.EIO, 0), "write-full": ("write", errno.ENOSPC, 1), "write-short": ("write", 0, 0),
    "sync": ("sync", errno.EIO, 0), "sync-full": ("sync", errno.ENOSPC, 1),
    "rename": ("rename", errno.EIO, 0), "rename-denied": ("rename", errno.EACCES, 1),
    "remove": ("remove", errno.EIO, 0), "truncate": ("truncate", errno.EIO, 0), "folder": ("folder", errno.ENOSPC, 0),
    "lock": ("lock", errno.ENOLCK, 0), "map": ("map", errno.ENOMEM, 0),
    "memory": ("memory", errno.ENOMEM, 0), "memory-small": ("memory", errno.ENOMEM, 0),
    "thread": ("thread", errno.EAGAIN, 0), "thread-lasts": ("thread", errno.EAGAIN, 1), "plugin": ("plugin", errno.ENOENT, 0),
}
# The decoder leaves out utterances that it cannot read, and ends with the code of data errors.
PARTIAL = dict.fromkeys(("decode", "decode2", "network", "network2"), (["data/go.sll"], ["data/no.sll"], ["data/go.sll", "data/no.sll"]))
# Faults within libraries of the system: GDAL, which OpenCV opens for the first image, ends the program if it finds no memory;
# libzip does not repeat an interrupted call, which files on disks never have; MPI ends or waits by itself.
LEFT_OUT = {("images", "memory-small"), ("images", "read-interrupted")} | {
    (name, kind) for name in WORKER_SCENARIOS for kind in ("memory-small", "thread", "thread-lasts", "plugin")}
SMALL = 16384  # bytes of an allocation that memory-small counts
EXIT_CODES = (0, 2, 3, 4, 5, 6, 75)
DATA_ERROR = 4
NO_FILTER = 77
LEFT_OVERS = (".tmp", ".lock")  # remain if their removal fails, locks also if MPI ends the worker; the next run removes them
MOST_CALLS = 100000


class Fixture:
    """The folder with which a scenario begins, and the folder after its undisturbed run."""

    def __init__(self, name, folder):
        self.name = name
        prepare, arguments = all_scenarios()[name]
        self.start, self.end = folder / name / "start", folder / name / "end"
        self.start.mkdir(parents=True)
        self.arguments = prepare(self.start) or arguments
        shutil.copytree(self.start, self.end)
        status, log = run_cntk(self.end, self.arguments)
        if status != 0:
            sys.exit("the scenario '%s' ends with %s\n%s" % (name, status, log[-1500:]))
        self.before, self.after = contents(self.start), contents(self.end)
        self.partial = [self.without(names) for names in PARTIAL.get(name, ())]

    def without(self, names):
        """Returns the files of a run that ends with 4 because some of its data are missing."""
        with tempfile.TemporaryDirectory(prefix="cntk-fault-") as scratch:
            folder = pathlib.Path(scratch) / "run"
            shutil.copytree(self.start, folder)
            for missing in names:
                (folder / missing).unlink()
            status, log = run_cntk(folder, self.arguments)
            if status != DATA_ERROR:
                sys.exit("the scenario '%s' without %s ends with %s\n%s" % (self.name, names, status, log[-1500:]))
            return contents(folder)

    def accepts(self, name, data, status):
        """True for the old file, the new one, and one that lacks utterances that cannot be read, after a data error."""
        return data in (self.before.get(name), self.after.get(name)) or (
            status == DATA_ERROR and any(data == files.get(name) for files in self.partial))


def is_intermediate(name):
    """Files within a training have no undisturbed counterpart; the next run tests them."""
    return re.search(r"\.ckp$|m\.dnn\.best$|\.at\d+$|\.jsonl$|m\.dnn(\.\d)?\.\d+$|^out/printed$", name) is not None


def problems_after_fault(fixture, kind, error, status, log, found):
    """Returns what is wrong after the disturbed run."""
    if kind == "remove":
        found = {name: data for name, data in found.items() if not name.endswith(LEFT_OVERS)}
    if status == 0:
        return ["exit code 0, but " + text for text in differences(found, fixture.after)]
    problems = []
    if status not in EXIT_CODES and not (fixture.name == "evaluate" and status == 1):
        problems.append("exit code %s" % status)
    lines = log.rstrip().splitlines()
    if fixture.name in WORKER_SCENARIOS:  # mpiexec reports the exit code below
        lines = [line for line in lines if "error: " in line]
    last = lines[-1:] or [""]
    if "error: " not in last[0] and status != 75:
        problems.append("the last line is no error: '%s'" % last[0][:200])
    elif kind not in ("memory", "plugin", "thread", "lock") and error != 0 and os.strerror(error) not in log:
        problems.append("no reason '%s': '%s'" % (os.strerror(error), last[0][:200]))
    elif kind == "memory" and "memory" not in last[0]:
        problems.append("no word about memory: '%s'" % last[0][:200])
    if error == 0 or error == errno.EINTR:
        problems.append("an incomplete or interrupted call is no failure: '%s'" % last[0][:200])
    for name, data in found.items():
        if name.endswith(".lock") and fixture.name in WORKER_SCENARIOS:
            continue
        if name.endswith(LEFT_OVERS):
            problems.append("%s remains" % name)
        elif not is_intermediate(name) and not fixture.accepts(name, data, status):
            problems.append("%s is neither the old nor the new file" % name)
    return problems + ["%s is lost" % name for name in fixture.before if name not in found and not is_intermediate(name)]


def disturb(fixture, library, fault, number):
    """Runs with one fault, then without. Returns whether there was a fault, its call, the exit code, and the problems."""
    kind, error, lasts = FAULTS[fault]
    with tempfile.TemporaryDirectory(prefix="cntk-fault-") as scratch:
        folder, report = pathlib.Path(scratch) / "run", pathlib.Path(scratch) / "report"
        shutil.copytree(fixture.start, folder)
        status, log = run_cntk(folder, fixture.arguments, {
            "LD_PRELOAD": str(library), "FAULT_FOLDER": str(folder), "FAULT_KIND": kind, "FAULT_AT": str(number),
            "FAULT_ERROR": str(error), "FAULT_LASTS": str(lasts), "FAULT_REPORT": str(report),
            "FAULT_BYTES": str(SMALL if fault == "memory-small" else 1 << 20)})
        if status == NO_FILTER:
            sys.exit(NO_FILTER)
        _, faults, what = struct.unpack("<QQ240s", report.read_bytes())
        what = what.rstrip(b"\0").decode("utf-8", "replace").replace(str(folder) + "/", "")
        if faults == 0:
            return False, "", status, []
        problems = problems_after_fault(fixture, kind, error, status, log, contents(folder))
        again, log = run_cntk(folder, fixture.arguments)
        if again != 0:
            problems.append("the next run ends with %s: '%s'" % (again, log.rstrip()[-300:]))
        else:
            problems += ["after the next run " + text for text in differences(contents(folder), fixture.after)]
        return True, what, status, problems


def disturb_all(fixture, library, fault, every):
    """Counts upwards until no call is left. Returns the number of faults, the exit codes and the problems."""
    codes, found = {}, []
    number = 1 if every == 1 else every // 2 + 1
    while number < MOST_CALLS:
        hit, what, status, problems = disturb(fixture, library, fault, number)
        if not hit:
            break
        codes[status] = codes.get(status, 0) + 1
        found += ["%s, %s %d (%s), exit code %s: %s" % (fixture.name, fault, number, what, status, problem)
                  for problem in problems]
        number += every
    return fixture.name, fault, codes, found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--library", type=pathlib.Path,
                        default=os.environ.get("CNTK_FAULTS", CNTK.parent.parent / "tests/libInjectFaults.so"))
    parser.add_argument("--kinds", default=",".join(FAULTS))
    parser.add_argument("scenarios", nargs="*", default=list(all_scenarios()))
    options = parser.parse_args()
    began, total, findings = time.monotonic(), 0, []
    with tempfile.TemporaryDirectory(prefix="cntk-faults-") as scratch:
        fixtures = [Fixture(name, pathlib.Path(scratch)) for name in options.scenarios]
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            jobs = [pool.submit(disturb_all, fixture, options.library, kind, options.every)
                    for fixture in fixtures for kind in options.kinds.split(",") if (fixture.name, kind) not in LEFT_OUT]
            print("%-12s %-18s %7s  %s" % ("scenario", "fault", "faults", "exit codes (times)"), flush=True)
            for job in jobs:
                name, fault, codes, found = job.result()
                total += sum(codes.values())
                findings += found
                if codes:
                    print("%-12s %-18s %7d  %s" % (name, fault, sum(codes.values()), ", ".join(
                        "%s (%d)" % pair for pair in sorted(codes.items(), key=str))), flush=True)
    finish(total, "faults", findings, began)


if __name__ == "__main__":
    main()
