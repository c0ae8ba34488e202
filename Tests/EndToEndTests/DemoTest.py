#!/usr/bin/env python3
"""Runs the README's demo, shortened: data, training, test, outputs and the picture."""
import os
import subprocess

from EndToEnd import CNTK, ROOT, EndToEndTest, main


class DemoTest(EndToEndTest):
    def test_demo(self):
        run = subprocess.run([str(ROOT / "Examples/Simple2d/RunDemo.sh"), "Simple_Demo=[SGD=[maxEpochs=20]]"],
                             env=dict(os.environ, CNTK=str(CNTK), WORK=str(self.folder)), stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", timeout=300, check=False)
        self.assertEqual(run.returncode, 0, run.stdout)
        self.assertIn("Picture: ", run.stdout)
        picture = self.read("Simple2d.svg")
        self.assertTrue(picture.startswith("<svg ") and picture.endswith("</svg>\n"))
        self.assertGreater(picture.count("<circle"), 500)
        self.assertGreater(picture.count(" L"), 50, "the decision boundary is missing")
        self.assertEqual(len(self.read("output/SimpleOutput.ScaledLogLikelihood").splitlines()), 600)


if __name__ == "__main__":
    main()
