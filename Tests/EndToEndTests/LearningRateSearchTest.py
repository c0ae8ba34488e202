#!/usr/bin/env python3
"""The example LearningRateSearch: its claim holds on images, and its exit status says when the claim does not hold."""
import re
import subprocess
import sys

from EndToEnd import CNTK, ROOT, EndToEndTest, main

EXAMPLE = ROOT / "Examples/LearningRateSearch/RunLearningRateSearch.py"


class LearningRateSearchTest(EndToEndTest):
    def compare(self, status, *more):
        """Runs the example on the digits; returns its output and the number of epochs of its search."""
        data = self.shared("data/digits")
        run = subprocess.run([sys.executable, "-B", EXAMPLE, "--digits", data, "--cntk", CNTK, "--work", self.folder / "work",
                              *more], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, encoding="utf-8", timeout=500, check=False)
        self.assertEqual(run.returncode, status, run.stdout)
        log = (self.folder / "work/sufficient.1.log").read_text(encoding="utf-8")
        return run.stdout, len(re.findall("^Finished Epoch", log, re.M))

    def test_the_search_trains_all_epochs_and_ends_below_the_best_fixed_rate(self):
        text, epochs = self.compare(0, "--epochs", "10")
        self.assertEqual(epochs, 10, text)
        # Three epochs are too few to find a large rate. Other settings in the same folder train again.
        text, epochs = self.compare(1, "--epochs", "3")
        self.assertEqual(epochs, 3, text)
        self.assertIn("The search contradicts its paper: the search ended at a cross-entropy of ", text)


if __name__ == "__main__":
    main()
