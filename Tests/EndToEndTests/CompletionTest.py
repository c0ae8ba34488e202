#!/usr/bin/env python3
"""Completion of command lines and the manual page."""
import re
import shutil
import subprocess

from EndToEnd import CNTK, ROOT, EndToEndTest, main

CONFIG = """
command=Train
Train=[ action=train; SGD=[ minibatchSize=10 ] ]
Test=[ action=test ]
Parts=[ x=1 ]
"""


class CompletionTest(EndToEndTest):
    def complete(self, *words):
        done = subprocess.run([str(CNTK), "--complete", *words], cwd=self.folder, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, encoding="utf-8", timeout=60, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout.splitlines()

    def test_options_and_topics(self):
        self.assertEqual(self.complete("--pri"), ["--print-config"])
        self.assertIn("--version", self.complete("--"))
        self.assertIn("configFile=", self.complete(""))
        self.assertIn("--help", self.complete(""))
        self.assertEqual(self.complete("--help", "Mini"), [])
        self.assertIn("SGD", self.complete("--help", "sg"))
        self.assertIn("train", self.complete("--help", "tra"))
        self.assertIn("UCIFastReader", self.complete("--help", "uci"))

    def test_files(self):
        self.write("exp.cntk", CONFIG)
        self.write("extra/more.cntk", "")
        self.assertEqual(self.complete("configFile=ex"), ["configFile=exp.cntk", "configFile=extra/"])
        self.assertEqual(self.complete("configFile=exp.cntk+extra/"), ["configFile=exp.cntk+extra/more.cntk"])
        self.assertEqual(self.complete("configFile=none/"), [])
        self.assertEqual(self.complete("ex")[-2:], ["exp.cntk", "extra/"])

    def test_commands_and_blocks_of_the_config(self):
        self.write("exp.cntk", CONFIG)
        self.assertEqual(self.complete("configFile=exp.cntk", "command="), ["command=Train", "command=Test"])
        self.assertEqual(self.complete("exp.cntk", "command=Train:"), ["command=Train:Test"])
        self.assertIn("Train=[", self.complete("configFile=exp.cntk", "Tra"))
        self.assertIn("Train=[SGD=[", self.complete("configFile=exp.cntk", "Train=[SG"))
        self.assertIn("Train=[SGD=[maxEpochs=", self.complete("configFile=exp.cntk", "Train=[SGD=[maxE"))
        self.assertIn("Test=[minibatchSize=", self.complete("configFile=exp.cntk", "Test=[mini"))
        self.assertIn("Train=[action=test", self.complete("configFile=exp.cntk", "Train=[action=te"))

    def test_values(self):
        self.assertEqual(self.complete("precision="), ["precision=float", "precision=double"])
        self.assertEqual(self.complete("makeMode=t"), ["makeMode=true"])
        self.assertEqual(self.complete("numCPU"), ["numCPUThreads="])

    def test_never_fails(self):
        self.write("broken.cntk", "command=[[[")
        self.assertEqual(self.complete("configFile=broken.cntk", "command="), [])
        self.assertEqual(self.complete("configFile=missing.cntk", "command="), [])
        self.assertEqual(self.complete("]]][[="), [])
        self.complete()
        self.complete("\xe4\xff", "[")

    def test_bash(self):
        if shutil.which("bash") is None:
            self.skipTest("bash is not installed")
        self.write("exp.cntk", CONFIG)
        script = ROOT / "Source/Packages/Completions/cntk.bash"
        line = "%s configFile=exp.cntk command=Train:" % CNTK
        run = subprocess.run(["bash", "-c", 'source "$1"; COMP_LINE=$2; COMP_POINT=${#2}; compopt() { :; }; _cntk; '
                              'printf "%s\\n" "${COMPREPLY[@]}"', "bash", str(script), line],
                             cwd=self.folder, stdout=subprocess.PIPE, encoding="utf-8", timeout=60, check=True)
        self.assertEqual(run.stdout, "Test\n")

    def test_the_page_shows_what_is_printed(self):
        page = (ROOT / "Documentation/Installing.md").read_text(encoding="utf-8")
        block = re.search(r"^```console\n(.*?)^```$", page, re.MULTILINE | re.DOTALL).group(1)
        for command, output in re.findall(r"^\$ cntk (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE):
            self.assertEqual(self.cntk(*command.split()).stdout, output)

    def test_manual_page(self):
        self.cntk("--write-man", "man")
        page = self.read("man/cntk.1")
        for section in ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "ACTIONS", "ROOT KEYS", "EXIT STATUS", "FILES",
                        "ENVIRONMENT", "EXAMPLES", "SEE ALSO"):
            self.assertIn("\n.SH %s\n" % section, page)
        if shutil.which("groff") is None:
            self.skipTest("groff is not installed")
        run = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z", "man/cntk.1"], cwd=self.folder, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, encoding="utf-8", timeout=60, check=True)
        self.assertEqual(run.stdout, "")


if __name__ == "__main__":
    main()
