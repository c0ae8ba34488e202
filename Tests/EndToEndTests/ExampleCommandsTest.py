#!/usr/bin/env python3
"""Checks every command of a README: scripts parse their arguments with their own parser, and the program finds the config
and knows its keys. Also checks commands in comments of configs, and scripts that documents call."""
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

from EndToEnd import CNTK, ROOT, EndToEndTest, main

# Runs a script until its arguments are parsed. The remaining arguments go to the program, which takes no options.
PARSE = """
import argparse, runpy, sys
parse = argparse.ArgumentParser.parse_known_args
def parse_and_stop(self, args=None, namespace=None):
    found, more = parse(self, args, namespace)
    options = [word for word in more if word.startswith("-")]
    sys.exit("no such options: %s" % options if options else 0)
argparse.ArgumentParser.parse_known_args = parse_and_stop
sys.argv = sys.argv[1:]
sys.path.insert(0, __import__("os").path.dirname(sys.argv[0]))
runpy.run_path(sys.argv[0], run_name="__main__")
"""
COMMAND = re.compile(r"^(cntk|build/bin/cntk|make|cd|python3|apt-get)$|\.(py|sh)$")
# Messages that --check may end with for a correct config whose data, models or folders are missing.
MISSING = r"does not exist|cannot (be )?open|No such file|not found"


def commands_of(path):
    """Yields the commands in the indented blocks of a document, or in the comments of a config."""
    text = path.read_text(encoding="utf-8").replace("\\\n", " ")
    prefix = "    " if path.suffix == ".md" else "#   "
    for line in text.splitlines():
        if not line.startswith(prefix) or line.startswith(prefix + " "):
            continue
        try:
            words = shlex.split(line[len(prefix):], comments=True)
        except ValueError:  # text with an apostrophe
            continue
        if words and COMMAND.search(words[0]) and "=" not in words[0]:
            yield words


class ExampleCommandsTest(EndToEndTest):
    def setUp(self):
        super().setUp()
        self.made = set()  # configs that --new writes
        shutil.copytree(ROOT / "Examples", self.folder / "Examples")

    def script(self, name, place):
        """Returns the path of a script that a command names from the top folder or from the README's folder."""
        found = [folder / name for folder in (self.folder, place) if (folder / name).is_file()]
        if not found and (ROOT / name).is_file():
            found = [ROOT / name]
        self.assertTrue(found, "there is no script '%s'" % name)
        return found[0]

    def run_script(self, words, place):
        if words[0] == "python3":
            words = words[1:]
        else:
            self.assertTrue(os.access(self.script(words[0], place), os.X_OK), "'%s' is not executable" % words[0])
        path = self.script(words[0], place)
        if path.suffix == ".sh":  # its arguments go to the program
            return
        source = path.read_text(encoding="utf-8")
        command = [sys.executable, "-B", *(["-c", PARSE] if "argparse" in source else []), path, *words[1:]]
        run = subprocess.run(command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, encoding="utf-8", timeout=100, check=False)
        if " needs numpy (" in run.stdout:
            return
        self.assertEqual(run.returncode, 0, run.stdout)

    def check_config(self, words, place):
        if words[1] == "--new":  # NewConfigTest runs it
            self.made.add(pathlib.Path(words[2]).stem + ".cntk")
            return
        config = next((word.split("=", 1)[1] for word in words if word.startswith("configFile=")), words[1])
        if config in self.made:
            return
        folder = next((f for f in (self.folder, place) if (f / config.split("+")[0]).is_file()), None)
        self.assertIsNotNone(folder, "there is no config '%s'" % config)
        text = "".join(path.read_text(encoding="utf-8") for path in (folder / config.split("+")[0]).parent.glob("*.cntk"))
        for name in re.findall(r"(?m)^(?!configFile)(\w+)=", "\n".join(words)):  # --check does not warn of unused names
            self.assertRegex(text, r"(?m)^%s=|\$%s\$" % (name, name))
        run = subprocess.run([CNTK, *words[1:], "--check"], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, encoding="utf-8", timeout=100, check=False)
        if run.returncode != 0:
            self.assertRegex(run.stdout.strip().splitlines()[-1], MISSING, run.stdout)
        self.assertEqual(re.findall(r"WARNING: (?!\S*Globals)\S* unknown key.*", run.stdout), [])

    def run_commands_of(self, document):
        place = self.folder / document.parent.relative_to(ROOT)
        count = 0
        for words in commands_of(document):
            count += 1
            with self.subTest(document=str(document.relative_to(ROOT)), command=" ".join(words)):
                if words[0] in ("cntk", "build/bin/cntk"):
                    self.check_config(words, place)
                elif words[0] == "cd":
                    self.assertTrue((self.folder / words[1]).is_dir())
                elif words[0] == "make":
                    self.assertRegex((ROOT / "Makefile").read_text(encoding="utf-8"), r"(?m)^%s:" % words[1])
                elif words[0] != "apt-get":
                    self.run_script(words, place)
        return count

    def test_commands_of_the_examples(self):
        documents = sorted((ROOT / "Examples").rglob("README.md")) + sorted((ROOT / "Examples").rglob("*.cntk"))
        count = sum(self.run_commands_of(document) for document in documents)
        self.assertGreater(count, 35)

    def test_scripts_that_documents_call(self):
        for document in [ROOT / "README.md", *sorted((ROOT / "Documentation").glob("*.md"))]:
            text = document.read_text(encoding="utf-8").replace("\\\n", " ")
            for line in re.findall(r"(?m)^(?:    )?((?:Examples|Tests)/\S+(?: .*)?)$", text):
                words = shlex.split(line, comments=True)
                if pathlib.Path(words[0]).suffix in (".py", ".sh"):
                    with self.subTest(document=document.name, command=line):
                        self.run_script(words, self.folder)

    def test_a_first_network_of_the_readme(self):
        text = (ROOT / "README.md").read_text(encoding="utf-8")
        blocks = re.findall(r"\n\n((?:    .*\n)+)", text.split("## A first network of your own")[1].split("\n## ")[0])
        new, data, config, runs = [re.sub(r"(?m)^    ", "", block) for block in blocks]
        self.write("iris.csv", "length,width,kind\n" + "".join("%d.5,%d,%s\n" % (i, i % 7, "ab"[i % 2]) for i in range(40)))
        self.write("first.cntk", config)
        environment = dict(os.environ, PATH="%s:%s" % (CNTK.parent, os.environ["PATH"]))
        for commands in (new, data, runs):
            run = subprocess.run(["sh", "-e", "-c", commands], cwd=self.folder, env=environment, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", timeout=100, check=False)
            self.assertEqual(run.returncode, 0, run.stdout)
        self.assertIn("Final Results", run.stdout)
        self.assertIn("Finished Epoch[50 of 50]", self.read("log/longer_Train_Test.log"))


if __name__ == "__main__":
    main()
