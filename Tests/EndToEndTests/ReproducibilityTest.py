#!/usr/bin/env python3
"""trainingSeed: one seed changes all random numbers, and the same seed gives the same bits."""
import random
import re
import signal
import subprocess

from EndToEnd import CNTK, EndToEndTest, main

CONFIG = """command=Train
precision=float
traceLevel=1
numCPUThreads=1
dropoutRate=0
noise=0
order=none
Train=[
  action=train
  modelPath=$folder$/m.dnn
  NDLNetworkBuilder=[ networkDescription=net.ndl ]
  SGD=[
    maxEpochs=3
    epochSize=400
    minibatchSize=16
    numMBsToShowResult=5
    learningRatesPerSample=0.02
    momentumPerMB=0.9
    dropoutRate=$dropoutRate$
    gaussianNoiseInjectStd=$noise$
    keepCheckPointFiles=true
  ]
  reader=[ readerType=UCIFastReader; file=train.txt; randomize=$order$
    features=[ start=0; dim=2 ]
    labels=[ start=2; dim=1; labelDim=2; labelMappingFile=map.txt ]
  ]
  cvReader=[ readerType=UCIFastReader; file=valid.txt; randomize=$order$
    features=[ start=0; dim=2 ]
    labels=[ start=2; dim=1; labelDim=2; labelMappingFile=map.txt ]
  ]
]
Edit=[ action=edit; editPath=add.mel ]
"""
STOPPED = 75


class ReproducibilityTest(EndToEndTest):
    def setUp(self):
        super().setUp()
        draw = random.Random(1)
        for name, count in (("train.txt", 700), ("valid.txt", 300)):
            points = [(draw.uniform(-1, 1), draw.uniform(-1, 1)) for _ in range(count)]
            self.write(name, "".join("%g %g %d\n" % (x, y, y > x * x - 0.3) for x, y in points))
        self.write("map.txt", "0\n1\n")
        self.write("config.cntk", CONFIG)
        self.network("uniform")

    def network(self, init):
        """Returns a network; with init=fixedValue it has no random numbers."""
        self.write("net.ndl", """features=Input(2, tag=feature)
labels=Input(2, tag=label)
W0=Parameter(12, 2, init=%s, value=0.3)
B0=Parameter(12, 1, init=fixedValue, value=0.1)
W1=Parameter(2, 12, init=%s, value=-0.2)
B1=Parameter(2, 1, init=fixedValue, value=0)
H=Dropout(Sigmoid(Plus(Times(W0, features), B0)))
z=Plus(Times(W1, H), B1)
ce=CrossEntropyWithSoftmax(labels, z, tag=criterion)
err=ErrorPrediction(labels, z, tag=eval)
out=Plus(z, B1, tag=output)
""" % (init, init))

    def train(self, folder, *arguments, status=0):
        return self.cntk("configFile=config.cntk", "folder=" + folder, *arguments, status=status).stderr

    def bits(self, folder):
        return {path.name: path.read_bytes() for path in sorted((self.folder / folder).iterdir())}

    @staticmethod
    def lines(log):
        """Returns the part of the log that is equal in every run: no times, paths or folders."""
        kept = [line for line in log.splitlines()
                if re.search(r"Epoch\[|Setting dropout|RandomOrdering|Training seed", line)]
        return [re.sub(r"(TotalTime|SamplesPerSecond|EpochTime|ComputeTime|ReadTime|TotalTimePerSample|"
                       r"SamplesPerSec)\s*=\s*[\d.e+-]+s?", "", line) for line in kept]

    def model(self, folder, *arguments):
        """Returns the final model of a separate training."""
        self.train(folder, *arguments)
        return self.bits(folder)["m.dnn"]

    def test_the_same_seed_gives_the_same_bits(self):
        for threads in (1, 4):
            for precision in ("float", "double"):
                with self.subTest(threads=threads, precision=precision):
                    arguments = ["trainingSeed=7", "dropoutRate=0.5", "noise=0.001", "order=auto",
                                 "numCPUThreads=%d" % threads, "precision=" + precision]
                    names = ["%s%d%d" % (precision, threads, i) for i in range(2)]
                    logs = [self.train(name, *arguments) for name in names]
                    self.assertEqual(self.lines(logs[0]), self.lines(logs[1]))
                    self.assertGreater(len(self.lines(logs[0])), 20)
                    self.assertIn("Training seed: 7", self.lines(logs[0]))
                    self.assertEqual(self.bits(names[0]), self.bits(names[1]))

    def test_each_stream_follows_the_seed_independently(self):
        self.network("fixedValue")
        nothing = self.model("nothing")
        for seed in (1, 2):
            self.assertEqual(self.model("nothing%d" % seed, "trainingSeed=%d" % seed), nothing)
        for init, argument in (("uniform", "noise=0"), ("gaussian", "noise=0"), ("fixedValue", "dropoutRate=0.5"),
                               ("fixedValue", "noise=0.01"), ("fixedValue", "order=auto"),
                               ("fixedValue", "order=50")):
            with self.subTest(init=init, argument=argument):
                self.network(init)
                name = init + re.sub(r"\W", "", argument)
                models = [self.model(name, argument)]
                models += [self.model("%s-%d" % (name, seed), argument, "trainingSeed=%d" % seed)
                           for seed in (1, 2, 18446744073709)]
                self.assertEqual(len(set(models)), 4)
                self.assertEqual(self.model(name + "again", argument, "trainingSeed=2"), models[2])
                # 0 means no seed.
                self.assertEqual(self.model(name + "zero", argument, "trainingSeed=0"), models[0])

    def orders(self, folder, *arguments):
        """Returns the samples of two epochs, as delivered by the training reader and by the cross-validation reader."""
        log = self.train(folder, "Train=[SGD=[maxEpochs=2; epochSize=0; traceNodeNamesReal=features]]", *arguments)
        read = {"training": [], "validation": []}
        for of_validation, values in re.findall(r"^Trace of (validation )?[^\n]*: features = .*\n((?:  sample .*\n)+)", log,
                                                re.MULTILINE):
            read["validation" if of_validation else "training"] += re.findall(r"sample \d+: (.*)", values)
        return read["training"], read["validation"]

    def test_the_order_of_validation_data_follows_the_seed_and_no_other_reader(self):
        cv_auto, cv_none = "Train=[cvReader=[randomize=auto]]", "Train=[cvReader=[randomize=none]]"
        plain_training, plain = self.orders("plain", "trainingSeed=3", cv_none)
        self.assertEqual((len(plain_training), len(plain)), (2 * 700, 2 * 300))
        trainings, validations = {tuple(plain_training)}, {tuple(plain)}
        for seed in (0, 3, 4):
            training, validation = self.orders("seed%d" % seed, "trainingSeed=%d" % seed, "order=auto", cv_auto)
            self.assertTrue(sorted(training) == sorted(plain_training))
            self.assertTrue(sorted(validation) == sorted(plain))
            self.assertTrue(validation[:300] == validation[300:], "after each epoch the same")
            trainings.add(tuple(training))
            validations.add(tuple(validation))
            # Neither reader changes the other's order.
            self.assertTrue(self.orders("own%d" % seed, "trainingSeed=%d" % seed, "order=none", cv_auto) ==
                            (plain_training, validation))
            self.assertTrue(self.orders("train%d" % seed, "trainingSeed=%d" % seed, "order=auto", cv_none) ==
                            (training, plain))
        self.assertEqual((len(trainings), len(validations)), (4, 4))

    def test_the_command_has_priority_over_the_root(self):
        wanted = self.model("wanted", "trainingSeed=3")
        self.assertEqual(self.model("block", "trainingSeed=4", "Train=[trainingSeed=3]"), wanted)
        log = self.train("block2", "Train=[trainingSeed=3]")
        self.assertEqual(self.bits("block2")["m.dnn"], wanted)
        self.assertNotRegex(log, "WARNING: .*[sS]eed")

    def test_builders_offset_and_seed_of_a_parameter_choose_within_the_stream(self):
        first = self.model("first", "trainingSeed=3")
        moved = self.model("moved", "trainingSeed=3", "Train=[NDLNetworkBuilder=[randomSeedOffset=5]]")
        self.assertNotEqual(first, moved)
        self.assertEqual(self.model("moved2", "trainingSeed=3", "Train=[NDLNetworkBuilder=[randomSeedOffset=5]]"),
                         moved)

    def test_a_layer_added_by_an_edit_follows_the_seed(self):
        self.write("add.mel", "m=LoadModel(start/m.dnn, format=cntk)\nSetDefaultModel(m)\nN=Parameter(3, 2)\n"
                              "T=Times(N, out, tag=output)\nSaveModel(m, $to$.dnn, format=cntk)\n")
        self.train("start", "trainingSeed=1")
        models = []
        for name, seed in (("a", 0), ("b", 1), ("c", 2), ("d", 1)):
            self.cntk("configFile=config.cntk", "folder=start", "command=Edit", "to=" + name,
                      "trainingSeed=%d" % seed)
            models.append((self.folder / (name + ".dnn")).read_bytes())
        self.assertEqual(models[1], models[3])
        self.assertEqual(len(set(models)), 3)

    def test_stopped_and_killed_trainings_end_with_the_same_bits(self):
        arguments = ["trainingSeed=7", "dropoutRate=0.5", "noise=0.001", "order=auto",
                     "Train=[SGD=[maxEpochs=40; saveEveryMinutes=0.00005; keepCheckPointFiles=false]]"]
        self.train("whole", *arguments)
        draw, ends = random.Random(5), []
        for number in [signal.SIGTERM, signal.SIGKILL] * 100:
            process = subprocess.Popen([str(CNTK), "configFile=config.cntk", "folder=parts", *arguments],
                                       cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.PIPE, text=True)
            error, left = "", draw.randint(10, 30)  # lines of progress, of more than 200
            for line in process.stderr:
                error += line
                left -= "Epoch[" in line
                if left == 0:
                    process.send_signal(number)
                    left = -1
            process.stderr.close()
            process.wait(timeout=60)
            self.assertIn(process.returncode, (0, STOPPED, -number), error)
            self.assertNotIn("continues with trainingSeed", error)
            ends.append(process.returncode)
            if process.returncode == 0:
                break
        self.assertEqual(ends[-1], 0)
        self.assertGreater(len(ends), 2)
        self.assertEqual(self.bits("parts"), self.bits("whole"))

    def test_a_seed_that_differs_from_the_checkpoint_warns(self):
        self.train("m", "trainingSeed=7")
        for name in ("m.dnn", "m.dnn.ckp"):
            (self.folder / "m" / name).unlink()
        log = self.train("m", "trainingSeed=8", "dropoutRate=0.5")
        self.assertIn("WARNING: 'm/m.dnn.2.ckp' is of a training with trainingSeed=7, which continues with "
                      "trainingSeed=8: from here on other random numbers are drawn; the models are those of neither "
                      "seed\n", log)

    def test_the_seed_is_in_the_config_that_is_printed(self):
        run = self.cntk("configFile=config.cntk", "folder=x", "trainingSeed=7", "--print-config")
        self.assertRegex(run.stdout, r"trainingSeed *= *7")

    def test_the_originals_randomSeed_still_changes_nothing(self):
        plain = self.model("plain", "order=auto", "dropoutRate=0.5")
        log = self.train("old", "order=auto", "dropoutRate=0.5", "randomSeed=7")
        self.assertEqual(self.bits("old")["m.dnn"], plain)
        self.assertIn(": randomSeed has no effect here, as in the original; trainingSeed=7 moves all that is drawn at "
                      "random\n", log)
        self.assertNotIn("randomSeed has", self.train("new", "randomSeed=7", "trainingSeed=7"))

    def test_bad_seeds(self):
        for value in ("-1", "1.5", "x", "", "1e30", "18446744073709551616"):
            with self.subTest(value=value):
                for place in ("trainingSeed=" + value, "Train=[trainingSeed=%s]" % value):
                    run = self.cntk("configFile=config.cntk", "folder=x", place, status=None)
                    self.assertEqual(run.returncode, 3, run.stderr)
                    problem = (r"error: '(Train.)?trainingSeed' is '%s', expected a whole number (that is not negative|"
                               r"of at most \d+)" % re.escape(value) if value else "no value given for 'trainingSeed'")
                    self.assertRegex(run.stderr, problem)


if __name__ == "__main__":
    main()
