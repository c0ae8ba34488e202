#!/usr/bin/env python3
"""Lattices of a reader: the documentation's example is read, and errors name their places."""
import re
import struct

from EndToEnd import ROOT, EndToEndTest, main

CONFIG = """command=Train
deviceId=-1
Train=[
  action=train; modelPath=m.dnn
  NDLNetworkBuilder=[ networkDescription=net.ndl ]
  SGD=[ maxEpochs=2; minibatchSize=1; learningRatesPerSample=0.01 ]
  reader=[ readerType=HTKMLFReader; frameMode=false; nbruttsineachrecurrentiter=2
    features=[ dim=2; scpFile=train.scp ]
    labels=[ labelDim=4; mlfFile=train.mlf; labelMappingFile=state.list ]
    hmms=[ phoneFile=phones; transPFile=transitions ]
    lattices=[ denLatTocFile=den.toc; numLatTocFile=num.toc ]
  ]
]
"""

NDL = """features=Input(2, tag=feature)
labels=Input(4, tag=label)
W=Parameter(4, 2)
z=Times(W, features)
sequence=SequenceWithSoftmax(labels, z, z, tag=criterion)
"""


class LatticeTest(EndToEndTest):
    def setUp(self):
        super().setUp()
        page = (ROOT / "Documentation/SequenceTraining.md").read_text(encoding="utf-8")
        self.lattice = re.sub("^    ", "", re.search(r"\n    VERSION=1.0\n(?:    .*\n)+", page).group().lstrip("\n"),
                              flags=re.MULTILINE)
        self.write("state.list", "ax_s2\nax_s3\nb_s2\nsil_s2\n")
        for name in "uvw":
            (self.folder / (name + ".feat")).write_bytes(struct.pack(">iihh10f", 5, 100000, 8, 9, *range(10)))
        self.write("train.scp", "u.feat\nv.feat\nw.feat\n")
        self.write("train.mlf", "#!MLF!#\n" + "".join('"%s.lab"\n0 2 ax_s2\n2 5 sil_s2\n.\n' % name for name in "uvw"))
        self.write("den.slf", 2 * self.lattice)
        self.write("den.toc", "u=.../den.slf[0]\nv=den.slf[%d]\n" % len(self.lattice))
        self.write("net.ndl", NDL)
        self.write("exp.cntk", CONFIG)

    def test_example_of_the_documentation(self):
        run = self.cntk("configFile=exp.cntk")
        self.assertEqual(re.findall("WARNING: (.*)", run.stderr), [
            "exp.cntk:10:22: HTKMLFReader: phoneFile is not read, since the lattices contain the states and their "
            "times",
            "exp.cntk:11:53: HTKMLFReader: numLatTocFile is not read, since the labels are the reference"])
        self.assertIn("reading list of lattices den.toc ... total 2 entries\n", run.stderr)
        self.assertIn("skipping utterance 'w' (train.scp:3): it has no lattice in 'den.toc'\n", run.stderr)

    def test_what_is_wrong_with_a_lattice(self):
        self.write("den.slf", self.lattice + self.lattice.replace("d=:b_s2,", "d=:b_s1,"))
        lines = self.cntk("configFile=exp.cntk", status=4).stderr.splitlines()
        self.assertEqual(lines[-1], "error: den.slf:19: utterance 'v': state 'b_s1' of arc 2 is not in the state list "
                                    "'state.list', which has 4 states; did you mean 'b_s2'?")

    def test_files_of_lattices_are_not_overwritten(self):
        for model, what in ("den.slf", "lattices (den.toc:1)"), ("den.toc", None):
            before = self.read(model)
            message = self.cntk("configFile=exp.cntk", "Train=[ modelPath=%s; makeMode=false ]" % model, status=3).stderr
            self.assertIn("modelPath would overwrite '%s', which is %s" % (
                model, "read as " + what if what else "Train:reader:lattices:denLatTocFile"), message)
            self.assertEqual(self.read(model), before)
        before = self.read("den.toc")
        message = self.cntk("configFile=exp.cntk", "Train=[ modelPath=den.toc; makeMode=false; "
                            "reader=[ lattices=[ denLatTocFile=den.to? ] ] ]", status=3).stderr
        self.assertIn("modelPath would overwrite 'den.toc', which is read as a list of lattices (den.to?)", message)
        self.assertEqual(self.read("den.toc"), before)


if __name__ == "__main__":
    main()
