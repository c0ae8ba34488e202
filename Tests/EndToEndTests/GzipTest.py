#!/usr/bin/env python3
"""Gzipped texts are read like plain ones: configs, label maps, data and network descriptions."""
import gzip

from EndToEnd import EndToEndTest, main

CONFIG = """
command=Train:Write
modelPath=m.dnn
deviceId=-1
reader=[ readerType=UCIFastReader; file=data.txt; randomize=none
    features=[ dim=2; start=0 ]; labels=[ dim=1; start=2; labelDim=2; labelMappingFile=map.txt ] ]
Train=[ action=train; NDLNetworkBuilder=[ networkDescription=net.ndl ]
    SGD=[ minibatchSize=10; maxEpochs=2; learningRatesPerMB=0.5 ] ]
Write=[ action=write; outputPath=out ]
"""
NETWORK = """
features=Input(2, tag=feature)
labels=Input(2, tag=label)
W=Parameter(2, 2)
z=Times(W, features)
ce=CrossEntropyWithSoftmax(labels, z, tag=criterion)
OutputNodes=(z)
"""


class GzipTest(EndToEndTest):
    def run_with(self, write):
        samples = [(i * 37 % 41 / 20 - 1, i * 29 % 31 / 15 - 1) for i in range(200)]
        for name, text in (("exp.cntk", CONFIG), ("net.ndl", NETWORK), ("map.txt", "a\nb\n"),
                           ("data.txt", "".join("%f %f %s\n" % (x, y, "ab"[x * y > 0]) for x, y in samples))):
            write(name, text)
        self.cntk("configFile=exp.cntk", "makeMode=false")
        return (self.folder / "m.dnn").read_bytes(), self.read("out.z")

    def test_all_texts(self):
        plain = self.run_with(self.write)
        packed = self.run_with(lambda name, text: (self.folder / name).write_bytes(gzip.compress(text.encode())))
        self.assertEqual(plain, packed)

    def test_damaged_file(self):
        (self.folder / "exp.cntk").write_bytes(gzip.compress(CONFIG.encode())[:100])
        run = self.cntk("configFile=exp.cntk", status=3)
        self.assertIn("file 'exp.cntk' is compressed by gzip, but incomplete: it ends at byte 100", run.stderr)


if __name__ == "__main__":
    main()
