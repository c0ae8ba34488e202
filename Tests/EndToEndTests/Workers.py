"""Shared parts of tests of parallelTrain=true: a network of two inputs, and processes that mpiexec starts."""
import os
import random
import re
import shutil
import subprocess

import EndToEnd
from EndToEnd import CNTK, EndToEndTest

CONFIG = """command=Train:Test
precision=double
traceLevel=1
deviceId=-1
numCPUThreads=1
parallelTrain=true
method=DataParallelSGD
distributed=false
order=none
epochs=3
start=1
modelPath=$folder$/m.dnn
Train=[
  action=train
  NDLNetworkBuilder=[ networkDescription=net.ndl ]
  SGD=[
    maxEpochs=$epochs$
    minibatchSize=16
    learningRatesPerSample=0.02
    momentumPerMB=0.9
    L2RegWeight=0.001
    numMBsToShowResult=10
    ParallelTrain=[
      parallelizationMethod=$method$
      parallelizationStartEpoch=$start$
      distributedMBReading=$distributed$
    ]
  ]
  reader=[ readerType=UCIFastReader; file=train.txt; randomize=$order$
    features=[ start=0; dim=2 ]
    labels=[ start=2; dim=1; labelDim=2; labelMappingFile=map.txt ]
  ]
  cvReader=[ readerType=UCIFastReader; file=valid.txt; randomize=none
    features=[ start=0; dim=2 ]
    labels=[ start=2; dim=1; labelDim=2; labelMappingFile=map.txt ]
  ]
]
Test=[ action=test; minibatchSize=64
  reader=[ readerType=UCIFastReader; file=valid.txt; randomize=none
    features=[ start=0; dim=2 ]
    labels=[ start=2; dim=1; labelDim=2; labelMappingFile=map.txt ]
  ]
]
"""
NETWORK = """features=Input(2, tag=feature)
labels=Input(2, tag=label)
W0=Parameter(12, 2)
B0=Parameter(12, 1, init=fixedValue, value=0.1)
W1=Parameter(2, 12)
B1=Parameter(2, 1, init=fixedValue, value=0)
H=Sigmoid(Plus(Times(W0, features), B0))
z=Plus(Times(W1, H), B1)
ce=CrossEntropyWithSoftmax(labels, z, tag=criterion)
err=ErrorPrediction(labels, z, tag=eval)
out=Plus(z, B1, tag=output)
"""
HAS_WORKERS = shutil.which("mpiexec") is not None and (CNTK.parent.parent / "lib" / "libcntkmpi.so").exists()


class WorkersTest(EndToEndTest):
    def setUp(self):
        super().setUp()
        draw = random.Random(1)
        for name, count in (("train.txt", 700), ("valid.txt", 300)):
            points = [(draw.uniform(-1, 1), draw.uniform(-1, 1)) for _ in range(count)]
            self.write(name, "".join("%g %g %d\n" % (x, y, y > x * x - 0.3) for x, y in points))
        self.write("map.txt", "0\n1\n")
        self.write("config.cntk", CONFIG)
        self.write("net.ndl", NETWORK)

    def start(self, count, *arguments, last=None, environment=None):
        """Starts the workers. last: arguments of the last worker alone."""
        one = [str(EndToEnd.CNTK), "configFile=config.cntk", *arguments]
        command = ["mpiexec", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", str(count), *one]
        if last is not None:
            command[-len(one) - 1:] = [str(count - 1), *one, ":", "-n", "1", *one, last]
        # If there are more processes than cores, they must not wait for each other in a loop.
        everything = dict(os.environ, OMPI_MCA_mpi_yield_when_idle="1", **(environment or {}))
        return subprocess.Popen(command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, env=everything)

    def workers(self, count, *arguments, status=0, last=None, environment=None):
        process = self.start(count, *arguments, last=last, environment=environment)
        out, err = process.communicate(timeout=300)
        if status is not None and process.returncode != status:
            self.fail("exit status %d, expected %d\n%s\n%s" % (process.returncode, status, out, err))
        return err

    def alone(self, *arguments):
        return self.cntk("configFile=config.cntk", "parallelTrain=false", *arguments).stderr

    def values(self, folder):
        """Returns the values of the model from a dump of all nodes."""
        name = folder + "/values.txt"
        self.cntk("command=Dump", "deviceId=-1", "precision=double",
                  "Dump=[action=dumpnode;modelPath=%s/m.dnn;outputFile=%s;printValues=true]" % (folder, name))
        return [float(number) for number in re.findall(r"(?<![\w.])-?\d+\.\d+(?:e[-+]\d+)?", self.read(name))]

    def assert_near(self, folder, other, digits=12):
        ours, theirs = self.values(folder), self.values(other)
        self.assertGreater(len(ours), 60)
        self.assertEqual(len(ours), len(theirs))
        for one, two in zip(ours, theirs):
            self.assertAlmostEqual(one, two, digits)

    @staticmethod
    def results(log):
        """Returns the counts of each epoch, without times, and of the test."""
        kept = re.findall(r"(Finished Epoch.*?); EpochTime|(Final Results.*)|(.*Validation Set.*)|(Minibatch\[.*?); TotalTime",
                          log)
        return ["".join(groups).strip() for groups in kept]
