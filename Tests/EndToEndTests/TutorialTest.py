#!/usr/bin/env python3
"""Runs the blocks of Documentation/Tutorial.md in order."""
import os
import re
import subprocess

from EndToEnd import CNTK, ROOT, EndToEndTest, main

# A fenced block. If the line before it is a name in back-quotes and a colon, the block is that file.
FENCED = re.compile(r'(?:^`([\w.]+)`:\n\n)?^```(\w*)\n(.*?)^```$', re.MULTILINE | re.DOTALL)


class TutorialTest(EndToEndTest):
    def run_page(self, page):
        environment = dict(os.environ, PATH="%s:%s" % (CNTK.parent, os.environ["PATH"]))
        for name, language, text in FENCED.findall((ROOT / page).read_text(encoding="utf-8")):
            if name:
                self.write(name, text)
            elif language == "sh":
                run = subprocess.run(["bash", "-euo", "pipefail", "-c", text], cwd=self.folder, env=environment, check=False,
                                     stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
                self.assertEqual(run.returncode, 0, text + run.stdout)
                self.assertNotIn("warning", run.stdout.lower(), text)
            else:
                self.fail("%s: a block that is neither a named file nor a command:\n%s" % (page, text))

    def test_tutorial(self):
        self.run_page("Documentation/Tutorial.md")
        curve = [[float(n) for n in line.split()] for line in self.read("curve.txt").splitlines()]
        self.assertEqual([row[0] for row in curve], list(range(1, 21)))
        self.assertGreater(curve[0][1], 0.9)
        self.assertLess(curve[-1][1], 0.5)
        self.assertLess(curve[-1][2], 0.25)
        predictions = self.read("predictions.PosteriorProb").splitlines()
        truth = [line.split()[4] for line in self.read("test.txt").splitlines()]
        self.assertEqual(len(predictions), len(truth))
        rows = [[float(n) for n in line.split()] for line in predictions]
        right = sum("abc"[row.index(max(row))] == label for row, label in zip(rows, truth))
        self.assertGreater(right / len(truth), 0.75)
        weights = self.read("weights.txt")
        self.assertIn("out.W=LearnableParameter [3,16]", weights)


if __name__ == "__main__":
    main()
