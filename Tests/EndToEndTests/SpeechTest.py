#!/usr/bin/env python3
"""Speech: every config of Examples/Speech, killed pre-training, real label files, known outputs."""
import array
import math
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import pathlib
import time

from EndToEnd import CNTK, ROOT, EndToEndTest, Instants, main

EXAMPLE = ROOT / "Examples/Speech"
USER = 9
QUICK = "epochSize=0 minibatchSize=64 learningRatesPerMB=1.28 momentumPerMB=0.5 maxEpochs=3".split()

# Compares the class of each frame in a file with the reader's label: 0 if all are equal.
LABELS_MEL = """m=CreateModel()
SetDefaultModel(m)
features=Input(1, tag=feature)
labels=Input(%d, tag=label)
ids=Parameter(1, %d, init=fromFile, initFromFilePath=ids.txt)
difference=SquareError(features, Times(ids, labels), tag=eval)
SaveModel(m, labels.dnn)
"""

LABELS_CONFIG = """
command=make:test
deviceId=-1
precision=double
make=[
  action=edit
  editPath=labels.mel
]
test=[
  action=test
  modelPath=labels.dnn
  minibatchSize=4096
  reader=[
    readerType=HTKMLFReader
    readMethod=%s
    randomize=auto
    features=[
      dim=1
      scpFile=list.scp
      prefixPathInSCP=feat
    ]
    labels=[
      mlfFile=%s
      labelDim=%d
      labelMappingFile=%s
    ]
  ]
]
"""

LIKELIHOODS_MEL = """m=CreateModel()
SetDefaultModel(m)
features=Input(792, tag=feature)
mu=Parameter(792, 1, init=fromFile, initFromFilePath=mean.txt)
is=Parameter(792, 1, init=fromFile, initFromFilePath=inv.txt)
norm=PerDimMeanVarNormalization(features, mu, is)
w0=Parameter(512, 792, init=fromFile, initFromFilePath=w0.txt)
b0=Parameter(512, 1, init=fromFile, initFromFilePath=b0.txt)
w1=Parameter(512, 512, init=fromFile, initFromFilePath=w1.txt)
b1=Parameter(512, 1, init=fromFile, initFromFilePath=b1.txt)
w2=Parameter(126, 512, init=fromFile, initFromFilePath=w2.txt)
b2=Parameter(126, 1, init=fromFile, initFromFilePath=b2.txt)
prior=Parameter(126, 1, init=fromFile, initFromFilePath=prior.txt)
h0=Sigmoid(Plus(Times(w0, norm), b0))
h1=Sigmoid(Plus(Times(w1, h0), b1))
ScaledLogLikelihood=Minus(LogSoftmax(Plus(Times(w2, h1), b2)), Log(prior), tag=output)
SaveModel(m, net.dnn)
"""

LIKELIHOODS_CONFIG = """
command=make:write
deviceId=-1
precision=float
make=[
  action=edit
  editPath=net.mel
]
write=[
  action=write
  modelPath=net.dnn
  outputNodeNames=ScaledLogLikelihood
  reader=[
    readerType=HTKMLFReader
    features=[
      dim=792
      scpFile=in.scp
      prefixPathInSCP=%s
    ]
  ]
  writer=[
    writerType=HTKMLFWriter
    ScaledLogLikelihood=[
      dim=126
      scpFile=out.scp
    ]
  ]
]
"""


def read_htk(path):
    """Returns the header fields and the frames of an HTK file."""
    data = path.read_bytes()
    count, period, size, kind = struct.unpack(">iihH", data[:12])
    values = array.array("f")
    values.frombytes(data[12:])
    if sys.byteorder == "little":
        values.byteswap()
    dim = size // 4
    return (count, period, dim, kind), [values[t * dim:(t + 1) * dim] for t in range(count)]


def read_labels(path, ids):
    """Returns the class of each frame of all utterances of an MLF, read without the program."""
    labels = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith('"'):
            frames = labels[line.strip('"').removeprefix("*/").rsplit(".", 1)[0]] = []
        elif line[:1].isdigit():
            begin, end, state = line.split()[:3]
            scale = 100000 if int(end) > 50000 else 1
            frames += [ids[state]] * (round(int(end) / scale) - round(int(begin) / scale))
    return labels


class SpeechTest(EndToEndTest):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="cntk-test-")
        cls.addClassCleanup(folder.cleanup)
        cls.corpus = pathlib.Path(folder.name)
        subprocess.run([sys.executable, "-B", str(EXAMPLE / "GenerateCorpus.py"), "data", "--train", "40", "--dev", "8",
                        "--core", "8"], cwd=cls.corpus, check=True, timeout=100)

    def example(self):
        """Copies the example and its corpus into the scratch folder."""
        shutil.copytree(EXAMPLE, self.folder, dirs_exist_ok=True)
        shutil.copytree(self.corpus / "data", self.folder / "data")

    def train(self, config, command, *more):
        sgd = "SGD=[%s]" % "; ".join(QUICK)
        run = self.cntk("configFile=" + config, "%s=[%s]" % (command, sgd), "numCPUThreads=2", *more)
        self.assertIn("Finished Epoch[ 3 of 3]", run.stderr)
        return run.stderr

    def losses(self, log, kind="Training"):
        return [float(x) for x in re.findall(r"Finished Epoch.*\[%s Set\].*?LossPerSample = ([0-9.e-]+)" % kind, log)]

    def errors(self, log):
        return [float(x) for x in re.findall(r"Finished Epoch.*EvalErrPerSample = ([0-9.e-]+)", log)]

    # ---- the configs of the book, 7.1.1 to 7.1.9

    def test_simple_then_evaluate_cross_validate_write(self):
        self.example()
        log = self.train("TrainSimple.cntk", "TIMIT_TrainSimple",
                         "TIMIT_TrainSimple=[SimpleNetworkBuilder=[layerSizes=792:512:183]]")
        self.assertLess(self.errors(log)[-1], 0.6, log)
        run = self.cntk("configFile=Evaluate.cntk")
        final = float(re.search(r"ErrorPrediction/Sample = ([0-9.e-]+)", run.stderr.split("Final Results")[1]).group(1))
        # Over initial values 0.58 in the mean, 0.63 at worst; an untrained network has 0.95 and more.
        self.assertLess(final, 0.7, "what was learned must hold for utterances that were not seen")
        run = self.cntk("configFile=CrossValidate.cntk", "TIMIT_CrossValidate=[crossValidationInterval=0:1:3]")
        self.assertEqual(len(re.findall(r"Final Results", run.stderr)), 4, run.stderr)
        best = re.search(r"Based on Err\[0\]: Best model = (\S+) with min err ([0-9.e-]+)", run.stderr)
        self.assertEqual(best.group(1), "exp/Synthetic/TrainSimpleNetwork/model/cntkSpeech.dnn")
        self.assertLess(float(best.group(2)), 0.7)
        self.cntk("configFile=WriteScaledLogLikelihood.cntk")
        self.check_written("scaledloglike", 183)
        # The command for another corpus does not use the finished training.
        run = self.cntk("configFile=TrainSimple.cntk", "Corpus=TIMIT", "ScpDir=nowhere", "MlfDir=nowhere", status=None)
        self.assertNotEqual(run.returncode, 0, run.stderr)
        self.assertRegex(run.stderr.strip().splitlines()[-1], "nowhere/TIMIT")

    def check_written(self, kind, dim):
        names = self.read("data/scp/Synthetic.core.scp.%s.fullpath" % kind).split()
        inputs = [line.split("=")[1] for line in self.read("data/scp/Synthetic.core.scp.fbank.fullpath").split()]
        self.assertEqual((len(names), len(inputs)), (8, 8))
        for written, source in zip(names, inputs):
            header, frames = read_htk(self.folder / written)
            count = read_htk(self.folder / source)[0][0]
            self.assertEqual(header, (count, 100000, dim, USER), written)
            self.assertTrue(all(math.isfinite(x) for frame in frames for x in frame), written)
            self.assertGreater(max(frames[0]) - min(frames[0]), 0.01, written)

    def test_learning_rate_adapts_to_development_data(self):
        self.example()
        options = QUICK + ["AutoAdjust=[autoAdjustLR=AdjustAfterEpoch; reduceLearnRateIfImproveLessThan=1000; "
                           "loadBestModel=true; learnRateDecreaseFactor=0.5]"]
        run = self.cntk("configFile=AdaptLearnRate.cntk", "TIMIT_TrainAdaptLR=[SGD=[%s]]" % "; ".join(options),
                        "TIMIT_TrainAdaptLR=[SimpleNetworkBuilder=[layerSizes=792:128:183]]")
        self.assertEqual(len(self.losses(run.stderr, "Validation")), 3, run.stderr)
        rates = [float(x) for x in re.findall(r"Finished Epoch.*LearningRatePerSample = ([0-9.e-]+)", run.stderr)]
        self.assertEqual(len(rates), 3)
        self.assertAlmostEqual(rates[2], rates[1] / 2, places=6, msg=run.stderr)

    def test_network_description(self):
        self.example()
        log = self.train("TrainNdl.cntk", "TIMIT_TrainNDL")
        losses = self.losses(log)
        self.assertLess(losses[2], losses[0], log)

    def test_autoencoder_bottleneck_and_list_of_nodes(self):
        self.example()
        log = self.train("TrainAutoEncoder.cntk", "TIMIT_TrainAutoEncoder",
                         "TIMIT_TrainAutoEncoder=[SGD=[learningRatesPerMB=0.0128]]")
        losses = self.losses(log)
        self.assertLess(losses[2], 0.98 * losses[0], log)
        self.cntk("configFile=WriteBottleneck.cntk")
        self.check_written("bottleneck", 64)
        self.cntk("configFile=DumpNodes.cntk")
        dumps = list((self.folder / "exp/Synthetic/TrainAutoEncoder/model").glob("*.txt"))
        self.assertEqual(len(dumps), 1)
        text = dumps[0].read_text(encoding="utf-8")
        for node in ("L2.BFF.FF.P", "featNormIn.xNorm", "MeanSqErr.MSE"):
            self.assertIn(node, text)

    def test_two_tasks(self):
        self.example()
        log = self.train("TrainMultiTask.cntk", "TIMIT_TrainMultiTask")
        losses = self.losses(log)
        self.assertLess(losses[2], losses[0], log)
        values = re.search(r"Finished Epoch\[ 3.*", log).group(0)
        self.assertRegex(values, r"\[3\]=", "all four evaluation nodes are to be reported")

    def test_two_inputs(self):
        self.example()
        log = self.train("TrainMultiInput.cntk", "TIMIT_TrainMultiInput")
        losses = self.losses(log)
        self.assertLess(losses[2], losses[0], log)

    # ---- recurrent networks: where the layers see no other frame than their own, 93 % of the frames are wrong

    def check_recurrent(self, kind, rate, limit):
        self.example()
        sgd = "SGD=[maxEpochs=10; learningRatesPerSample=%s]" % rate
        log = self.cntk("configFile=Train%s.cntk" % kind, "TIMIT_Train%s=[%s]" % (kind, sgd), "numCPUThreads=2").stderr
        self.assertLess(self.errors(log)[-1], limit, log)
        run = self.cntk("configFile=Evaluate.cntk", "FeatDim=72", "TIMIT_Eval=[modelPath=exp/Synthetic/Train%sNetwork/"
                        "model/cntkSpeech.dnn; reader=[readMethod=blockRandomize; frameMode=false]]" % kind)
        final = float(re.search(r"ErrorPrediction/Sample = ([0-9.e-]+)", run.stderr.split("Final Results")[1]).group(1))
        self.assertLess(final, limit + 0.05, "what was learned must hold for utterances that were not seen")

    def test_lstm_as_a_node_over_every_second_frame(self):
        self.example()
        # A layer that sees every second frame; its outputs return to their places and are copied to the other frames.
        self.write("Ndl/Lstm.ndl", """
before=PastValue(1, flip, defaultHiddenActivity=0)
flip=Minus(1, Plus(before, Times(Constant(0, rows=1, cols=$FeatDim$), norm)))
features=Input($FeatDim$, tag=feature)
labels=Input($LabelDim$, tag=label)
norm=MeanVarNorm(features)
index=PackedIndex(norm, Where(flip))
Layer(x, cells)
{
    i=Parameter(cells, 0)
    f=Parameter(cells, 0)
    o=Parameter(cells, 0)
    c=Parameter(cells, 0)
    h=LSTM(x, i, f, o, c)
}
L1=Layer(GatherPacked(index, norm), 64)
L2=Layer(RowStack(ScatterPacked(norm, index, L1.h), norm), 128)
CE=SMBFF(L2.h, $LabelDim$, 128, labels, tag=criteria)
Err=ErrorPrediction(labels, CE.BFF.FF.P, tag=eval)
""")
        sgd = "SGD=[maxEpochs=10; learningRatesPerSample=0.005]; reader=[truncated=false]"
        log = self.cntk("configFile=TrainLstm.cntk", "TIMIT_TrainLstm=[%s]" % sgd, "numCPUThreads=2").stderr
        self.assertLess(self.errors(log)[-1], 0.8, log)
        run = self.cntk("configFile=TrainLstm.cntk", "TIMIT_TrainLstm=[%s]" % sgd.replace("=false", "=true"),
                        "makeMode=false", status=4)
        self.assertRegex(run.stderr.strip().splitlines()[-1],
                         r"^Ndl/Lstm.ndl:7:\d+: error: Where '\w+' needs whole sequences, but sequence \d+ goes beyond the "
                         r"minibatch; train and read without truncation$")

    def test_three_layers_of_lstm_cells(self):
        self.check_recurrent("Lstm", 0.01, 0.86)

    def test_lstm_layers_in_both_directions(self):
        self.check_recurrent("BidirectionalLstm", 0.003, 0.78)

    def test_three_variables_choose_another_corpus(self):
        self.example()
        shutil.rmtree(self.folder / "data")
        subprocess.run([sys.executable, "-B", str(EXAMPLE / "GenerateCorpus.py"), "timit", "--name", "TIMIT", "--train",
                        "4", "--dev", "2", "--core", "2", "--seed", "2"], cwd=self.folder, check=True, timeout=100)
        (self.folder / "timit/mlf").rename(self.folder / "labels")
        configs = sorted(path.name for path in EXAMPLE.glob("*.cntk") if path.name != "Globals.cntk")
        self.assertGreaterEqual(len(configs), 14)
        uses_models = []  # models of other configs, which are not trained here
        for config in configs:
            run = self.cntk("configFile=" + config, "Corpus=TIMIT", "ScpDir=timit/scp", "MlfDir=labels", "--check",
                            status=None)
            if run.returncode == 0:
                self.assertIn("__CHECKED__", run.stderr)
            else:
                uses_models.append(config)
                self.assertRegex(run.stderr, r"error: (model file 'exp/\S*' does not exist|no model is evaluated: found "
                                             r"neither exp/\S+ nor exp/\S+); folder 'exp/\S*' does not exist\n$")
            # A config need not use all shared variables; all other names must be known.
            self.assertEqual(re.findall(r"WARNING: (?!Globals)\S* unknown key.*", run.stderr), [])
        self.assertEqual(uses_models, ["CrossValidate.cntk", "DumpNodes.cntk", "Evaluate.cntk", "WriteBottleneck.cntk",
                                       "WriteScaledLogLikelihood.cntk"])

    # ---- pre-training

    def pretrain(self, folder):
        return [str(CNTK), "configFile=TrainWithPreTrain.cntk", "ExpDir=" + folder, "numCPUThreads=1",
                "SGD=[%s; maxEpochs=2]" % "; ".join(QUICK)]

    def test_pretraining_killed_at_any_point_ends_with_the_same_model(self):
        self.example()
        begin = time.monotonic()
        subprocess.run(self.pretrain("whole"), cwd=self.folder, check=True, stdin=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, timeout=200)
        length = time.monotonic() - begin
        final = "TrainWithPreTrain/dptmodel3/cntkSpeech.dnn"
        expected = (self.folder / "whole" / final).read_bytes()
        rng = random.Random(7)
        for round_ in range(2):
            folder = "killed%d" % round_
            kills, instants = 0, Instants(rng, length)
            for _ in range(100):
                run = subprocess.Popen(self.pretrain(folder), cwd=self.folder, stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                try:
                    status = run.wait(timeout=instants.next(0.1, 0.35))
                    self.assertEqual(status, 0)
                    if kills > 2:
                        break
                    instants.note(True)
                    kills = 0
                    shutil.rmtree(self.folder / folder)
                except subprocess.TimeoutExpired:
                    rng.choice((run.kill, run.terminate))()
                    run.wait(timeout=100)
                    instants.note(False)
                    kills += 1
            self.assertGreater(kills, 2)
            same = (self.folder / folder / final).read_bytes() == expected
            self.assertTrue(same, "round %d, %d kills" % (round_, kills))

    def test_pretraining_one_command_more_with_each_start(self):
        self.example()
        run = self.cntk(*self.pretrain("whole")[1:])
        self.assertEqual(len(self.losses(run.stderr)), 6)
        final = "TrainWithPreTrain/dptmodel3/cntkSpeech.dnn"
        expected = (self.folder / "whole" / final).read_bytes()
        names = ["TIMIT_" + n for n in "DiscrimPreTrain1 AddLayer2 DiscrimPreTrain2 AddLayer3 Train3".split()]
        for done in range(len(names)):
            self.cntk(*self.pretrain("steps")[1:], "command=" + ":".join(names[:done + 1]))
        self.assertTrue((self.folder / "steps" / final).read_bytes() == expected)

    # ---- the networks of Synthspeech.cntk, small and on few frames

    def synthspeech(self, commands, *more):
        corpus = self.shared("data/synthspeech")
        shutil.copytree(EXAMPLE, self.folder, dirs_exist_ok=True)
        run = subprocess.run(
            [str(CNTK), "configFile=Synthspeech.cntk", "Corpus=%s" % corpus, "command=" + commands, "CellDim=16",
             "Hidden=64*2", "PreTrainEpochs=1", *more], cwd=self.folder / "Synthspeech", stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=300, check=False, encoding="utf-8")
        self.assertEqual(run.returncode, 0, run.stderr[-3000:])
        errors = [float(e) for e in re.findall(r"Final Results:.*ErrorPrediction/Sample = ([0-9.e-]+)", run.stderr)]
        self.assertEqual(len(errors), len(re.findall("Dev|Test|After", commands)), run.stderr[-3000:])
        return errors, run.stderr

    def test_synthspeech_every_network_runs(self):
        few = "epochSize=3000; maxEpochs=1; minibatchSize=20"
        for name, commands in (("Simple", "Simple:Dev:Test"), ("Ndl", "Ndl:Dev"),
                               ("PreTrained", "PreTrain1:AddLayer2:PreTrain2:AddLayer3:Train3:Dev")):
            self.synthspeech(commands, "Name=" + name, "SGD=[%s]" % few, "PreTrain1=[SGD=[%s]]" % few,
                             "PreTrain2=[SGD=[%s]]" % few)
        for name in ("LstmTruncated", "LstmWhole"):
            self.synthspeech(name + ":DevLstm", "Name=" + name, "FeatDim=72", "%s=[SGD=[%s]]" % (name, few))

    def test_synthspeech_a_compressed_network_learns_from_the_original(self):
        errors, log = self.synthspeech("Simple:Dev:Compress:Retrain:After",
                                       "SGD=[epochSize=0; maxEpochs=4]", "numCPUThreads=2",
                                       "After=[action=test; minibatchSize=4096; modelPath=exp/Simple.1/narrow.dnn; "
                                       "reader=[readerType=HTKMLFReader; features=[dim=792; scpFile=$Corpus$/scp/"
                                       "dev.fbank.scp; prefixPathInSCP=$Corpus$]; labels=[mlfFile=$Corpus$/mlf/"
                                       "dev.state.mlf; labelDim=126; labelMappingFile=$Corpus$/lists/state.list]]]")
        self.assertEqual(re.findall(r"node name: (\w+).*keep +(\d+) svd values", log), [("W0", "32"), ("W1", "32")])
        self.assertIn("Load reference Network From the original model file exp/Simple.1/net.dnn.", log)
        self.assertIn("Finished Epoch[ 8 of 8]", log)
        # One epoch of retraining is not worse than the four before.
        before, after = errors
        self.assertLess(before, 0.75, log)
        self.assertLess(after, before, log)

    def test_synthspeech_sequence_training_reduces_phone_errors(self):
        corpus = self.shared("data/synthspeech")
        shutil.copytree(EXAMPLE, self.folder, dirs_exist_ok=True)
        environment = dict(os.environ, PYTHONPATH=str(EXAMPLE.parent))
        run = subprocess.run(
            [sys.executable, "-B", "RunSequence.py", "--corpus", corpus, "--cntk", CNTK, "--work", self.folder / "work",
             "--seeds", "1", "--others", "4", "Hidden=64*2", "numCPUThreads=2", "SGD=[epochSize=0; maxEpochs=5]",
             "Sequence=[SGD=[maxEpochs=2]]"], cwd=self.folder / "Synthspeech", env=environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300, check=False, encoding="utf-8")
        self.assertEqual(run.returncode, 0, run.stdout)
        wrong = {(name, part): float(mean) for name, part, mean in
                 re.findall(r"^(\w+) +(dev|test): mean ([0-9.]+) %", run.stdout, re.MULTILINE)}
        self.assertEqual(len(wrong), 6, run.stdout)
        for name in "mmi", "mbr":
            for part in "dev", "test":
                self.assertLess(wrong[name, part], 0.9 * wrong["frames", part], run.stdout)

    # ---- data whose contents are known

    def check_labels(self, scp, mlf, statelist, method="blockRandomize", archive=False):
        """Writes the label of each frame as its feature; the program must find them equal."""
        states = statelist.read_text(encoding="utf-8").split()
        labels = read_labels(mlf, {state: i for i, state in enumerate(states)})
        entries = [line.strip() for line in scp.read_text(encoding="utf-8").splitlines()]
        total, chunk, path = 0, [], None
        for entry in entries:
            name, file = entry.split("=")
            frames = labels[name.rsplit(".", 1)[0]]
            total += len(frames)
            path = self.folder / "feat" / file.split("[")[0]
            path.parent.mkdir(parents=True, exist_ok=True)
            chunk += frames
            if archive:
                first, last = map(int, file.split("[")[1].rstrip("]").split(","))
                self.assertEqual((last + 1, last + 1 - first), (len(chunk), len(frames)), entry)
                continue
            path.write_bytes(struct.pack(">iihH%df" % len(frames), len(frames), 100000, 4, USER, *frames))
        if archive:
            path.write_bytes(struct.pack(">iihH%df" % len(chunk), len(chunk), 100000, 4, USER, *chunk))
        shutil.copyfile(scp, self.folder / "list.scp")
        self.write("ids.txt", " ".join(map(str, range(len(states)))) + "\n")
        self.write("labels.mel", LABELS_MEL % (len(states), len(states)))
        self.write("config.cntk", LABELS_CONFIG % (method, mlf, len(states), statelist))
        run = self.cntk("configFile=config.cntk")
        final = run.stderr.split("Final Results")[1]
        self.assertIn("SamplesSeen = %d" % total, final)
        self.assertEqual(float(re.search(r"SquareError/Sample = ([0-9.e-]+)", final).group(1)), 0.0, final)
        return len(entries), total, run.stderr

    def test_labels_of_timit(self):
        data = self.shared("data/timit")
        for scp, mlf, method, entries, frames in (
                ("TIMIT.core.scp.fbank.fullpath", "TIMIT.core.align_cistate.mlf.cntk", "rollingWindow", 192, 57919),
                ("TIMIT.dev.scp.fbank.fullpath.rnn", "TIMIT.dev.align_cistate.mlf.cntk", "blockRandomize", 400,
                 122487)):
            count, total, _ = self.check_labels(data / "scp" / scp, data / "mlf" / mlf, data / "mlf/TIMIT.statelist",
                                                method)
            self.assertEqual((count, total), (entries, frames))

    def test_labels_of_an4(self):
        data = self.shared("data/an4")
        count, total, log = self.check_labels(data / "glob_0000.scp", data / "glob_0000.mlf", data / "state.list",
                                              archive=True)
        self.assertEqual((count, total), (948, 252734))
        self.assertIn("252734 frames in 948 out of 948 utterances", log)

    def test_scaled_log_likelihoods_of_known_weights(self):
        data = self.shared("data/synthspeech")

        def matrix(name, rows, columns, repeat=1):
            values = array.array("f")
            values.frombytes((data / "golden/dnn" / name).read_bytes())
            if sys.byteorder == "big":
                values.byteswap()
            self.assertEqual(len(values), rows * columns)
            lines = (values[r * columns:(r + 1) * columns] for r in range(rows))
            return "".join(" ".join(map(repr, line)) + "\n" for line in lines) * repeat

        for name, file, rows, columns, repeat in (
                ("w0", "w0.512x792.f32", 512, 792, 1), ("w1", "w1.512x512.f32", 512, 512, 1),
                ("w2", "w2.126x512.f32", 126, 512, 1), ("b0", "b0.512.f32", 512, 1, 1), ("b1", "b1.512.f32", 512, 1, 1),
                ("b2", "b2.126.f32", 126, 1, 1), ("mean", "mean.72.f32", 72, 1, 11), ("inv", "inv.72.f32", 72, 1, 11)):
            self.write(name + ".txt", matrix(file, rows, columns, repeat))
        self.write("prior.txt", "\n".join((data / "stats/prior.126").read_text(encoding="utf-8").split()) + "\n")
        listed = (data / "golden/list.scp").read_text(encoding="utf-8").split()
        golden = [line.split("=")[1].split("[")[0] for line in listed]
        names = [pathlib.Path(path).stem for path in golden]
        listed = (data / "scp/test.fbank.scp").read_text(encoding="utf-8").split()
        inputs = {line.split(".")[0]: line for line in listed}
        self.write("in.scp", "".join(inputs[name] + "\n" for name in names))
        self.write("out.scp", "".join("out/%s.sll\n" % name for name in names))
        self.write("net.mel", LIKELIHOODS_MEL)
        self.write("config.cntk", LIKELIHOODS_CONFIG % data)
        self.cntk("configFile=config.cntk")
        self.assertEqual(len(names), 12)
        for path, name in zip(golden, names):
            header, expected = read_htk(data / path)
            written, found = read_htk(self.folder / ("out/%s.sll" % name))
            self.assertEqual(written, header)
            worst = max(abs(a - b) for e, f in zip(expected, found) for a, b in zip(e, f))
            self.assertLess(worst, 2e-4, name)


if __name__ == "__main__":
    main()
