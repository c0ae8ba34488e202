"""A small config with its data, into which tests put mistakes of users."""
from EndToEnd import EndToEndTest

CONFIG = """command=Train
modelPath=m.dnn
Train=[
  action=train
  SimpleNetworkBuilder=[ layerSizes=2:3:2; evalCriterion=ErrorPrediction ]
  SGD=[
    maxEpochs=1
    minibatchSize=4
    learningRatesPerSample=0.1
  ]
  reader=[
    readerType=UCIFastReader
    file=train.txt
    randomize=none
    features=[ dim=2; start=0 ]
    labels=[ dim=1; start=2; labelDim=2; labelMappingFile=map.txt ]
  ]
]
Test=[
  action=test
  reader=[
    readerType=UCIFastReader
    file=train.txt
    features=[ dim=2; start=0 ]
    labels=[ dim=1; start=2; labelDim=2; labelMappingFile=map.txt ]
  ]
]
Write=[
  action=write
  reader=[
    readerType=UCIFastReader
    file=train.txt
    features=[ dim=2; start=0 ]
  ]
  outputPath=out/values
]
"""
DATA = "0.5 1 yes\n-1 0.25 no\n0 0 yes\n1 1 no\n0.5 -1 yes\n"


class MessagesTestCase(EndToEndTest):
    def setUp(self):
        super().setUp()
        self.write("exp.cntk", CONFIG)
        self.write("train.txt", DATA)
        self.write("map.txt", "yes\nno\n")

    def last_line(self, *arguments, status):
        run = self.cntk(*arguments, status=status)
        return run.stderr.rstrip("\n").splitlines()[-1]

    def error(self, *arguments, status=3):
        return self.last_line("configFile=exp.cntk", *arguments, status=status)

    def warnings(self, *arguments):
        run = self.cntk("configFile=exp.cntk", "--check", *arguments)
        return [line for line in run.stderr.splitlines() if line.startswith("WARNING: ")]

    def edit(self, old, new):
        self.assertIn(old, CONFIG)
        self.write("exp.cntk", CONFIG.replace(old, new))

    def train(self):
        self.cntk("configFile=exp.cntk")
