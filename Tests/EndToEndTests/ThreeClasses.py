"""Points of three classes, and a base class of tests whose config trains a network on them and tests it."""
import random

from EndToEnd import EndToEndTest

CONFIG = """
command=Train:Test
modelPath=model/net.dnn
%s
streams="readerType=UCIFastReader; features=[ dim=2 ]; labels=[ start=2; dim=1; labelDim=3; labelMappingFile=map.txt ]"
Train=[ action=train
  SimpleNetworkBuilder=[ layerSizes=2:8:3; trainingCriterion=CrossEntropyWithSoftmax; evalCriterion=ErrorPrediction ]
  SGD=[ minibatchSize=10; %s ]
  reader=[ file=train.txt; $streams$ ]
  cvReader=[ file=test.txt; $streams$ ] ]
Test=[ action=test; minibatchSize=16; reader=[ file=test.txt; $streams$ ] ]
"""


class ThreeClassesTest(EndToEndTest):
    """Base of tests whose folder has exp.cntk, train.txt, test.txt (with these labels) and map.txt."""
    classes = ["a", "b", "c"]
    root = ""  # parameters at the root, and further commands
    sgd = ""

    def setUp(self):
        super().setUp()
        draw = random.Random(7)
        lines = ["%.3f %.3f %s" % (draw.gauss(k, 0.7), draw.gauss(-k, 0.7), self.classes[k]) for k in [0, 1, 2] * 100]
        draw.shuffle(lines)
        self.write("train.txt", "\n".join(lines[:250]) + "\n")
        self.write("test.txt", "\n".join(lines[250:]) + "\n")
        self.labels = [line.split(" ")[2] for line in lines[250:]]
        self.write("map.txt", "\n".join(self.classes) + "\n")
        self.write("exp.cntk", CONFIG % (self.root, self.sgd))

    def run_all(self, *arguments, **keywords):
        return self.cntk("configFile=exp.cntk", *arguments, **keywords)
