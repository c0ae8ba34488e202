"""Tests the pages that show code: their blocks compile in the page's order, and their commands print the shown output.

A block stands under a line with the path of its file, **`path`**; blocks of one path follow each other. A block of
differences changes a copy of a file of the checkout. The lines `$ command` of console blocks are run, and their output is
compared. All files are written into the scratch folder; the checkout and its build stay as they are.
"""
import concurrent.futures
import json
import pathlib
import re
import shlex
import subprocess
import unittest

from EndToEnd import CNTK, ROOT, EndToEndTest, main

BUILD = CNTK.parents[1]
BLOCK = re.compile(r'^(?:\*\*`(\S+)`\*\*\n\n)?```(\w*)\n(.*?)^```$', re.MULTILINE | re.DOTALL)


def change(text, differences):
    """Returns the text with the added lines of a block of differences; the text must have the other lines of the block."""
    lines = differences.splitlines(keepends=True)
    old = "".join(line[1:] for line in lines if not line.startswith("+"))
    new = "".join(line[1:] for line in lines if not line.startswith("-"))
    if text.count(old) != 1:
        raise AssertionError("the page changes lines that stand %d times in the file:\n%s" % (text.count(old), old))
    return text.replace(old, new)


def run(command):
    """Runs a command in the build folder."""
    done = subprocess.run(command, shell=isinstance(command, str), cwd=BUILD, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError("%s\n%s" % (command, done.stdout))
    return done.stdout


@unittest.skipUnless((BUILD / "build.ninja").exists(), "the program does not lie in a build folder of this checkout")
class PagesTest(EndToEndTest):
    def take_page(self, name):
        """Writes the files of the page; returns its commands with their output."""
        commands, files = [], {}
        page = (ROOT / "Documentation" / name).read_text(encoding="utf-8")
        for path, language, text in BLOCK.findall(page):
            if language == "console":
                commands += re.findall(r'^\$ (.*)\n((?:(?!\$ ).*\n)*)', text, re.MULTILINE)
            elif path and language == "diff":
                files[path] = change(files.get(path) or (ROOT / path).read_text(encoding="utf-8"), text)
            elif path:
                files[path] = files.get(path, "") + text
        for path, text in files.items():
            self.write(path, text)
        self.assertTrue(files and commands)
        return commands

    def compile(self, models):
        """Compiles files of the page with the flags of other files; returns the objects."""
        recorded = {}
        for entry in json.loads((BUILD / "compile_commands.json").read_text()):
            recorded[entry["file"]] = entry["command"]
            # Files that are compiled together share the flags of their library.
            if "/Unity/" in entry["file"]:
                for file in re.findall(r'#include "(.*)"', pathlib.Path(entry["file"]).read_text(encoding="utf-8")):
                    recorded[file] = entry["command"]

        def compile_one(source, model):
            command = shlex.split(recorded[str(ROOT / model)])
            target = self.folder / (source + ".o")
            command[command.index("-o") + 1] = str(target)
            command[command.index("-c") + 1] = str(self.folder / source)
            command.append("-I%s" % (self.folder / "Source"))
            run(command)
            return str(target)

        with concurrent.futures.ThreadPoolExecutor() as pool:
            return list(pool.map(compile_one, models.keys(), models.values()))

    def link(self, target, output, objects, instead=False):
        """Links a target of the build with additional objects, or with other objects instead of its own."""
        ninja = re.search(r'^CMAKE_MAKE_PROGRAM:\w+=(.*)$', (BUILD / "CMakeCache.txt").read_text(), re.MULTILINE)
        command = run([ninja.group(1), "-t", "commands", "-s", target])
        if instead:
            command = re.sub(r' \S+\.o(?= )', "", command)
        (self.folder / output).parent.mkdir(exist_ok=True)
        self.assertIn(" -o %s " % target, command)
        run(command.replace(" -o %s " % target, " %s -o %s " % (" ".join(objects), self.folder / output)))

    def run_commands(self, commands, program, libraries):
        for command, output in commands:
            with self.subTest(command=command):
                done = subprocess.run(command, shell=True, cwd=self.folder, stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, text=True, timeout=60, check=False,
                                      env={"PATH": "%s:/usr/bin:/bin" % program.parent, "LD_LIBRARY_PATH": str(libraries)})
                self.assertEqual(done.stdout, output)

    def test_reader_plugins(self):
        commands = self.take_page("ReaderPlugins.md")
        folder, model = "Source/Readers/ColumnsReader/", "Source/Readers/SparsePCReader/SparsePc"
        objects = self.compile({folder + "ColumnsReader.cpp": model + "Reader.cpp",
                                folder + "ColumnsPlugin.cpp": model + "Plugin.cpp"})
        self.link("lib/SparsePCReader.so", "lib/ColumnsReader.so", objects, instead=True)
        self.run_commands(commands, CNTK, self.folder / "lib")

    def test_adding_a_node(self):
        commands = self.take_page("AddingANode.md")
        folder, tests = "Source/ComputationNetwork/", "Tests/UnitTests/ComputationNetworkTests/Nodes/"
        *objects, test = self.compile({
            folder + "NodeRegistry.cpp": folder + "NodeRegistry.cpp",
            folder + "Nodes/GaussianBumpNode.cpp": folder + "NodeRegistry.cpp",
            tests + "GaussianBumpNodeTests.cpp": tests + "LstmNodeTests.cpp"})
        self.link("bin/cntk", "bin/cntk", objects)
        (self.folder / "lib").symlink_to(BUILD / "lib")
        self.run_commands(commands, self.folder / "bin/cntk", "")
        if not (BUILD / "tests/ComputationNetworkTests").exists():
            self.skipTest("the unit tests are not built")
        self.link("tests/ComputationNetworkTests", "tests/ComputationNetworkTests", [*objects, test])
        output = run([str(self.folder / "tests/ComputationNetworkTests"), "--gtest_filter=*GaussianBump*"])
        for name in ("Types/RegistryTest.", "GaussianBumpNodeTests.SaysWhichWidthIsWrong"):
            self.assertIn(name, output)


if __name__ == "__main__":
    main()
