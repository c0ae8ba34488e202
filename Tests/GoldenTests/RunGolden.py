#!/usr/bin/env python3
"""Runs the golden cases whose features the program supports, and names the others.

    RunGolden.py --cntk build/bin/cntk --shared FOLDER [--jobs N] [--list] [TEXT...]

MissingFeatures.txt lists unsupported features; a case that needs one of them does not run. KnownGaps.txt lists single cases
that do not pass yet ("name: reason"). Every other case must pass. Both lists only shrink: a feature that no case needs, an
unknown case and a gap that passes are errors. TEXT selects the cases whose name contains it.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SKIPPED = 77


def lines(path):
    texts = (re.sub(r'\s*#.*', "", line).strip() for line in path.read_text(encoding="utf-8").splitlines())
    return [text for text in texts if text]


def run(arguments, names):
    """Returns the names of the cases that pass, and the report of the comparison."""
    if not names:
        return set(), ""
    golden = arguments.shared / "golden"
    with tempfile.TemporaryDirectory() as scratch:
        result = pathlib.Path(scratch) / "result.json"
        # -B: the shared data may be read-only.
        process = subprocess.run([sys.executable, "-B", golden / "run_case.py", "--cntk", arguments.cntk, "--data",
                                  arguments.shared / "data", "--jobs", str(arguments.jobs), "--json", result,
                                  *(golden / name for name in names)],
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if not result.exists():
            sys.exit(process.stdout)
        outcome = json.loads(result.read_text())
    return {name for name, (good, total) in outcome.items() if good == total}, process.stdout


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--cntk", type=pathlib.Path, required=True)
    parser.add_argument("--shared", type=pathlib.Path, required=True)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--list", action="store_true", help="print the names of the cases that would run")
    parser.add_argument("text", nargs="*")
    arguments = parser.parse_args()
    if not (arguments.shared / "golden/run_case.py").exists():
        print("The golden cases do not exist: %s" % (arguments.shared / "golden"))
        return SKIPPED

    missing = set(lines(HERE / "MissingFeatures.txt"))
    gaps = dict(re.split(r'\s*:\s*', line, maxsplit=1) for line in lines(HERE / "KnownGaps.txt"))
    # Parts of the program that are not built if their libraries are missing.
    absent = {feature for feature in ("ImageReader",)
              if not (arguments.cntk.resolve().parents[1] / "lib" / (feature + ".so")).exists()}
    cases = {path.parent.name: set(json.loads(path.read_text(encoding="utf-8")).get("features", []))
             for path in sorted((arguments.shared / "golden").glob("*/case.json"))}

    faults = ["MissingFeatures.txt: no case needs '%s'; take it out" % name
              for name in sorted(missing - set().union(*cases.values()))]
    faults += ["KnownGaps.txt: there is no case '%s'" % name for name in gaps if name not in cases]
    faults += ["KnownGaps.txt: '%s' needs a missing feature anyway; take it out" % name
               for name in gaps if missing & cases.get(name, set())]

    missing |= absent
    chosen = {n: f for n, f in cases.items() if not arguments.text or any(t in n for t in arguments.text)}
    wanted = [name for name, features in chosen.items() if not features & missing and name not in gaps]
    if arguments.list:
        print("\n".join(wanted))
        return 0
    passed, report = run(arguments, wanted)
    print(report, end="")
    closed, _ = run(arguments, [name for name in gaps if name in chosen and not cases[name] & missing])
    faults += ["KnownGaps.txt: '%s' passes now; take it out" % name for name in sorted(closed)]

    print("\nNot run, because a feature is missing:")
    for name, features in chosen.items():
        if features & missing:
            print("  %-24s %s" % (name, " ".join(sorted(features & missing))))
    print("Known gaps:")
    for name, reason in gaps.items():
        print("  %-24s %s" % (name, reason))
    failed = [name for name in wanted if name not in passed]
    if failed:
        print("Failed: %s" % " ".join(failed))
    for fault in faults:
        print(fault)
    print("Golden: %d cases, %d passed, %d failed, %d gaps, %d not run" % (
        len(chosen), len(passed), len(failed), len(gaps), len(chosen) - len(wanted) - len(set(gaps) & set(chosen))))
    return 1 if failed or faults else 0


if __name__ == "__main__":
    sys.exit(main())
