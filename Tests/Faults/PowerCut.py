#!/usr/bin/env python3
"""Cuts the power at every change of a file, and lets the same command run again.

    PowerCut.py [--every N] [--jobs N] [SCENARIO ...]

InjectFaults.cpp records all changes of files in a run. After each change the folder is rebuilt as a disk may hold it then:
  strict    what was not flushed (fsync of the file; for names, of the folder) is lost
  names     all names are kept, but what was not flushed of the files is lost
  torn      the same with one half of the lost bytes
  kept      nothing is lost, as after a kill
  part      the same as strict with the first of the renamings, new names and removals that were not flushed
The same command must then end and leave the files of the undisturbed run. The disk keeps the order of names, as journals do.
"""
import argparse
import concurrent.futures
import hashlib
import os
import pathlib
import shutil
import struct
import sys
import tempfile
import time

from DataScenarios import all_scenarios
from Scenarios import CNTK, config, contents, differences, finish, prepare_train, run_cntk

HEAD = struct.Struct("<IIQqqIIQ")
OPEN, CREAT, WRITE, PWRITE, FSYNC, FDATASYNC, FTRUNCATE, RENAME, MKDIR, UNLINK = 2, 85, 1, 18, 74, 75, 77, 82, 83, 87
OPENAT, MKDIRAT, UNLINKAT, RENAMEAT, RENAMEAT2 = 257, 258, 263, 264, 316
NO_FILTER = 77
SCENARIOS = all_scenarios()
SCENARIOS["often"] = (prepare_train, config("Train", "minutes=0.000001"))  # saves its place within the epochs
# The first of two workers is recorded, because it alone changes files.
ALL = [name for name in ("often", "train", "resume", "search", "adjust", "pair", "adapt", "speech", "sequences", "images", "words",
                         "write", "htkwrite", "binary", "classes", "edit", "svd", "import", "text", "convertdbn", "npz", "decode",
                         "first") if name in SCENARIOS]


def read_records(path):
    """Yields (call, flags, inode, offset, time, path, second path, bytes)."""
    data, position = path.read_bytes(), 0
    while position < len(data):
        call, flags, inode, offset, moment, length, second, size = HEAD.unpack_from(data, position)
        position += HEAD.size
        parts = []
        for count in (length, second, size):
            parts.append(data[position:position + count])
            position += count
        yield call, flags, inode, offset, moment, parts[0].decode(), parts[1].decode(), parts[2]


class File:
    def __init__(self, data=b"", moment=0):
        self.data = self.flushed = data
        self.time = self.flushed_time = moment


class Disk:
    """The folder as the program sees it, and what the disk holds of it."""

    def __init__(self, folder):
        self.root = str(folder)
        self.names, self.inodes = {}, {}
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                status = path.stat()
                self.names[str(path)] = self.inodes[status.st_ino] = File(path.read_bytes(), status.st_mtime_ns)
        self.flushed = dict(self.names)
        self.pending = []  # changes of names that were not flushed: functions of a dictionary of names, with their folders

    def change(self, folder, apply):
        apply(self.names)
        self.pending.append((folder, apply))

    def flush_folder(self, path):
        last = max((i for i, (folder, _) in enumerate(self.pending) if folder == path), default=-1)
        for _, apply in self.pending[:last + 1]:
            apply(self.flushed)
        del self.pending[:last + 1]

    def perform(self, record):
        call, flags, inode, offset, moment, path, second, data = record
        folder = os.path.dirname(path)
        if call in (OPEN, OPENAT, CREAT):
            if path not in self.names:
                file = self.inodes[inode] = File(b"", moment)
                self.change(folder, lambda names: names.__setitem__(path, file))
            elif flags & os.O_TRUNC or call == CREAT:
                self.names[path].data, self.names[path].time = b"", moment
        elif call in (RENAME, RENAMEAT, RENAMEAT2):
            def rename(names):
                if path in names:
                    names[second] = names.pop(path)
            self.change(os.path.dirname(second), rename)
        elif call in (UNLINK, UNLINKAT):
            self.change(folder, lambda names: names.pop(path, None))
        elif call in (FSYNC, FDATASYNC):
            if os.path.isdir(path):
                self.flush_folder(path)
            elif inode in self.inodes:
                file = self.inodes[inode]
                file.flushed, file.flushed_time = file.data, file.time
        elif call in (WRITE, PWRITE, FTRUNCATE):
            file = self.inodes[inode]
            file.time = moment
            if call == FTRUNCATE:
                file.data = file.data[:offset].ljust(offset, b"\0")
            else:
                file.data = file.data[:offset].ljust(offset, b"\0") + data + file.data[offset + len(data):]

    def states(self):
        """Yields (name of the state, {path: (bytes, time)})."""
        flushed = {name: (file.flushed, file.flushed_time) for name, file in self.flushed.items()}
        yield "strict", flushed
        yield "names", {name: (file.flushed, file.time) for name, file in self.names.items()}
        yield "kept", {name: (file.data, file.time) for name, file in self.names.items()}
        yield "torn", {name: (file.data if file.data == file.flushed else file.data[:(len(file.data) + 1) // 2], file.time)
                       for name, file in self.names.items()}
        names = dict(self.flushed)
        for _, apply in self.pending[:-1]:
            apply(names)
            yield "part", {name: (file.flushed, file.time) for name, file in names.items()}


def try_state(label, state, root, start, arguments, wanted):
    with tempfile.TemporaryDirectory(prefix="cntk-cut-") as scratch:
        folder = pathlib.Path(scratch) / "run"
        for path in sorted(start.rglob("*")):
            if path.is_dir():
                (folder / path.relative_to(start)).mkdir(parents=True, exist_ok=True)
        for name, (data, moment) in state.items():
            path = folder / os.path.relpath(name, root)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            os.utime(path, ns=(moment, moment))
        status, log = run_cntk(folder, arguments)
        if status != 0:
            return ["%s: the next run ends with %s: '%s'" % (label, status, log.rstrip()[-300:])]
        return ["%s: after the next run %s" % (label, text) for text in differences(contents(folder), wanted)]


def cut(name, library, every, scratch, pool):
    """Returns the number of changes, the number of different states, and the problems."""
    prepare, arguments = SCENARIOS[name]
    start, end, record = scratch / name / "start", scratch / name / "run", scratch / name / "record"
    start.mkdir(parents=True)
    prepare(start)
    shutil.copytree(start, end)
    disk = Disk(end)
    status, log = run_cntk(end, arguments, {"LD_PRELOAD": str(library), "FAULT_FOLDER": str(end), "FAULT_RECORD": str(record)})
    if status == NO_FILTER:
        sys.exit(NO_FILTER)
    if status != 0:
        sys.exit("the scenario '%s' ends with %s\n%s" % (name, status, log[-1500:]))
    wanted, seen, jobs, changes = contents(end), set(), [], 0
    for changes, item in enumerate(read_records(record), 1):
        disk.perform(item)
        for label, state in disk.states():
            key = hashlib.sha256(repr(sorted((path, data) for path, (data, _) in state.items())).encode()).digest()
            if key not in seen:
                seen.add(key)
                if len(seen) % every == 0:
                    jobs.append(pool.submit(try_state, "%s, change %d, %s" % (name, changes, label), state, disk.root, start,
                                            arguments, wanted))
    held = {os.path.relpath(path, disk.root): file.data for path, file in disk.names.items()}
    if held != wanted:
        sys.exit("the record of '%s' lacks changes: %s" % (name, differences(held, wanted)))
    return changes, len(jobs), [text for job in jobs for text in job.result()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--library", type=pathlib.Path,
                        default=os.environ.get("CNTK_FAULTS", CNTK.parent.parent / "tests/libInjectFaults.so"))
    parser.add_argument("scenarios", nargs="*", default=ALL)
    options = parser.parse_args()
    began, total, findings = time.monotonic(), 0, []
    print("%-12s %8s %8s  %s" % ("scenario", "changes", "states", "result"), flush=True)
    with tempfile.TemporaryDirectory(prefix="cntk-cuts-") as scratch, \
            concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for name in options.scenarios:
            changes, states, found = cut(name, options.library, options.every, pathlib.Path(scratch).resolve(), pool)
            total += states
            findings += found
            print("%-12s %8d %8d  %s" % (name, changes, states, "same files" if not found else "%d findings" % len(found)),
                  flush=True)
    finish(total, "states", findings, began)


if __name__ == "__main__":
    main()
