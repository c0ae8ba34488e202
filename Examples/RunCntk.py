"""Shared parts of the scripts of the examples: finds the program, shows its log while it runs, and ends with one line where
something is missing. Standard library only."""
import os
import pathlib
import subprocess
import sys


def program(path):
    """Returns the absolute path of the program; ends the script with one line if it is missing."""
    found = os.path.abspath(path)
    if not os.access(found, os.X_OK):
        sys.exit("the program '%s' does not exist; build it with 'make', or name another one with --cntk" % path)
    return found


def require(*paths):
    """Ends the script with one line if one of the files or folders is missing. None stands for a file that is not used."""
    for path in paths:
        if path and not os.path.exists(path):
            sys.exit("'%s' does not exist" % path)


def run_script(*command, **options):
    """Runs another script, which prints the reason if it fails; then this script ends, too."""
    done = subprocess.run([sys.executable, "-B", *map(str, command)], check=False, **options)
    if done.returncode != 0:
        sys.exit(done.returncode)
    return done


def run_cntk(command, folder, log=None, shows=lambda line: True):
    """Runs the program in the folder. Prints each line of its log for which `shows` is true, while it runs; writes the whole
    log into the file `log`. Returns the log; ends the script if the program fails, after the program's own message."""
    lines = []
    with subprocess.Popen([str(word) for word in command], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True, errors="replace") as process:
        for line in process.stderr:
            lines.append(line)
            if shows(line):
                print(line, end="", flush=True)
    if log:
        pathlib.Path(log).write_text("".join(lines), encoding="utf-8")
    if process.returncode != 0:
        sys.exit("the program failed (%d)%s: %s" % (
            process.returncode, ", its log is %s" % log if log else "", (lines or ["it printed nothing"])[-1].strip()))
    return "".join(lines)


def is_result(line):
    """True for the lines of a log that tell how well a network does."""
    return line.startswith(("Finished Epoch", "Final Results", "WARNING"))
