#!/usr/bin/env python3
"""Runs the blocks of Documentation/Decoding.md in order."""
import os
import re
import subprocess
import sys

from EndToEnd import CNTK, ROOT, EndToEndTest, main

sys.path.insert(0, str(ROOT / "Examples/Speech/Decode"))
import WordErrors  # noqa: E402

# A fenced block. If the line before it is a name in back-quotes and a colon, the block is that file.
FENCED = re.compile(r"(?:^`([\w.]+)`:\n\n)?^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class DecodingPageTest(EndToEndTest):
    def test_page(self):
        corpus = self.shared("data/synthspeech")
        self.shared("data/synthspeech/decoding/model/synthspeech.dnn")
        (self.folder / "Examples").symlink_to(ROOT / "Examples")
        environment = dict(os.environ, CORPUS=str(corpus), PATH="%s:%s" % (CNTK.parent, os.environ["PATH"]))
        page, output = (ROOT / "Documentation/Decoding.md").read_text(encoding="utf-8"), ""
        for name, language, text in FENCED.findall(page):
            if name:
                self.write(name, text)
                continue
            self.assertEqual(language, "sh", text)
            run = subprocess.run(["bash", "-euo", "pipefail", "-c", text], cwd=self.folder, env=environment, check=False,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
            self.assertEqual(run.returncode, 0, text + run.stdout)
            self.assertNotRegex(run.stdout, "(?i)warning.*", text)
            output += run.stdout
        self.assertRegex(page, r"It prints 35 errors in 404 words \(8.66 %\)")
        self.assertRegex(output, r"words.mlf: 35 errors in 404 words \(8.66 %\)")
        reference = WordErrors.read_words(corpus / "mlf/test.wordonly.mlf")
        self.assertEqual(sum(WordErrors.count_errors(reference, WordErrors.read_words(self.folder / "interpolated.mlf"))[:3]), 34)
        self.assertEqual(len(list((self.folder / "lattices").glob("test.[0-9]*"))), 56)
        self.assertGreater(len(self.read("words.ctm").splitlines()), 380)
        states = set((corpus / "lists/state.list").read_text(encoding="utf-8").split())
        aligned = [line.split()[2] for line in self.read("aligned.mlf").splitlines() if line[:1].isdigit()]
        self.assertEqual(set(aligned) - states, set())


if __name__ == "__main__":
    main()
