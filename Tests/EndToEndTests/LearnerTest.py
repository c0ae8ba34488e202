#!/usr/bin/env python3
"""Computes whole trainings a second time with plain numbers: every update rule, schedule and control of rate and minibatch size.
The program must log the same values."""
import math
import random
import re
import struct

from EndToEnd import EndToEndTest, main

CLASSES, FEATURES = 3, 3
INFINITY = math.inf

NETWORK = """features=Input(3, tag=feature)
labels=Input(3, tag=label)
W=Parameter(3, 3, init=fromFile, initFromFilePath="par/W.txt")
b=Parameter(3, 1, init=fromFile, initFromFilePath="par/b.txt", learningRateMultiplier=0.5)
t=Times(W, features)
z=Plus(t, b)
ce=CrossEntropyWithSoftmax(labels, z, tag=criteria)
err=ErrorPrediction(labels, z, tag=eval)
"""

CONFIG = """command=Train
precision=double
traceLevel=1
Train=[
  action=train
  modelPath=m.dnn
  NDLNetworkBuilder=[ networkDescription=net.ndl ]
  SGD=[
%s
  ]
  reader=[ %s ]
%s
]
"""

READER = """readerType=UCIFastReader
    file=%s
    randomize=none
    features=[ start=0; dim=3 ]
    labels=[ start=3; dim=1; labelDim=3; labelMappingFile=map.txt ]"""


def single(value):
    """Rounds to single precision, as the program does with rates and momenta."""
    return struct.unpack("f", struct.pack("f", value))[0]


def at(values, epoch):
    """Returns the value of a schedule; the last value holds for all further epochs."""
    return values[min(epoch, len(values) - 1)]


def samples_of(seed, count):
    rng = random.Random(seed)
    samples = []
    for _ in range(count):
        x = [round(rng.gauss(0, 1), 3) for _ in range(FEATURES)]
        noisy = [value + rng.gauss(0, 0.5) for value in x]
        samples.append((x, noisy.index(max(noisy))))
    return samples


class Scalar:
    """Trains NETWORK by the formulas alone. events: the expected events of the log."""

    def __init__(self, options, train, validation, start):
        self.o = options
        self.train, self.validation = train, validation
        self.parameters = {name: list(values) for name, values in start.items()}
        self.states = {}
        self.mean_columns = self.mean_weight = self.square_weight = 0.0
        self.events = []
        self.saved = {}

    # ---- parameters

    def number(self, name, default):
        return self.o.get(name, default)

    def schedule(self, name):
        """Returns the list of a schedule, or None."""
        if name not in self.o:
            return None
        values = []
        for part in str(self.o[name]).split(":"):
            value, _, count = part.partition("*")
            values += [float(value)] * int(count or 1)
        return values

    def size(self, epoch):
        return int(at(self.schedule("minibatchSize") or [256], epoch))

    def rates(self):
        return self.schedule("learningRatesPerMB") or self.schedule("learningRatesPerSample") or []

    def listed_rate(self, epoch):
        if "learningRatesPerMB" in self.o:
            return single(single(at(self.rates(), epoch)) / single(self.size(epoch)))
        return single(at(self.rates(), epoch))

    def momentum(self, epoch):
        """Returns the momentum per sample."""
        if "momentumPerSample" in self.o:
            return single(at(self.schedule("momentumPerSample"), epoch))
        if "momentumAsTimeConstant" in self.o:
            samples = single(at(self.schedule("momentumAsTimeConstant"), epoch))
            return single(math.exp(-1 / samples)) if samples else 0.0
        return single(at(self.schedule("momentumPerMB") or [0.9], epoch)) ** (1 / self.size(epoch))

    # ---- one minibatch

    def scores(self, x):
        w, b = self.parameters["W"], self.parameters["b"]
        return [b[i] + sum(w[j * CLASSES + i] * x[j] for j in range(FEATURES)) for i in range(CLASSES)]

    def evaluate(self, samples, gradient=None):
        """Returns sums of criterion and errors; adds to the gradient."""
        loss = errors = 0.0
        for x, label in samples:
            z = self.scores(x)
            top = max(z)
            logarithm = top + math.log(sum(math.exp(value - top) for value in z))
            loss += logarithm - z[label]
            errors += z.index(top) != label
            for i in range(CLASSES) if gradient else ():
                error = math.exp(z[i] - logarithm) - (i == label)
                gradient["b"][i] += error
                for j in range(FEATURES):
                    gradient["W"][j * CLASSES + i] += error * x[j]
        return loss, errors

    def update(self, name, gradient, rate, momentum, n):
        o, w = self.o, self.parameters[name]
        count = range(len(w))
        limit = self.number("clippingThresholdPerSample", INFINITY) * n
        if limit < INFINITY and self.number("gradientClippingWithTruncation", "true") == "true":
            gradient = [max(-limit, min(limit, g)) for g in gradient]
        elif limit < INFINITY:
            norm = math.sqrt(sum(g * g for g in gradient))
            gradient = [g * limit / norm if norm > limit else g for g in gradient]
        g = [gradient[i] + self.number("L2RegWeight", 0) * n * w[i] for i in count]

        kind = "adagrad" if o.get("useAdagrad") == "true" else o.get("gradUpdateType", "none").lower()
        normalizes = self.number("normWithAveMultiplier", "true") == "true"
        s = self.states.setdefault(name, {})
        zeros = [0.0] * len(w)
        if kind in ("none", "simple", "normal"):
            s["S"] = [momentum * before + (1 - momentum) * rate * g[i] for i, before in enumerate(s.get("S", zeros))]
            if o.get("useNAG") == "true":
                step = [momentum * s["S"][i] + (1 - momentum) * rate * g[i] for i in count]
            else:
                step = s["S"]
        elif kind == "adagrad":
            s["S"] = [before + g[i] ** 2 for i, before in enumerate(s.get("S", zeros))]
            q = [1 / math.sqrt(value + 1e-16) for value in s["S"]]
            mean = sum(q) / len(q) if normalizes else 1
            step = [rate / mean * q[i] * g[i] for i in count]
        elif kind == "rmsprop":
            gamma = self.number("rms_gamma", 0.99)
            sign = [(value > 0) - (value < 0) for value in g]
            v, z, p = s.get("V", [value ** 2 for value in g]), s.get("Z", zeros), s.get("P", [0.02] * len(w))
            s["V"] = [gamma * v[i] + (1 - gamma) * g[i] ** 2 for i in count]
            s["P"] = [min(p[i] * self.number("rms_wgt_inc", 1.2), self.number("rms_wgt_max", 10))
                      if z[i] * sign[i] > 0 else
                      max(p[i] * self.number("rms_wgt_dec", 0.75), self.number("rms_wgt_min", 0.1)) for i in count]
            s["Z"] = sign
            q = [s["P"][i] / math.sqrt(s["V"][i] + single(1e-6)) for i in count]
            mean = sum(q) / len(q) if normalizes else 1
            step = [rate / mean * q[i] * g[i] for i in count]
        elif kind == "fsadagrad":
            keep = math.exp(-n / 720000)
            self.mean_columns = keep * self.mean_columns + (1 - keep) * n  # for each parameter
            s["V"] = [keep * v + (1 - keep) * g[i] ** 2 for i, v in enumerate(s.get("V", zeros))]
            weight = [min(10, 0.0025 * math.sqrt(self.mean_columns) / math.sqrt(v)) if v > 0 else 0 for v in s["V"]]
            smoothed = [momentum * v + (1 - momentum) * weight[i] * g[i] for i, v in enumerate(s.get("S", zeros))]
            s["S"] = smoothed if momentum > 0 else s.get("S", zeros)
            step = [rate * value for value in smoothed]
        else:  # adam, of the mean gradient
            keep = self.number("adam_beta2", 0.999)
            s["S"] = [momentum * before + (1 - momentum) * g[i] / n for i, before in enumerate(s.get("S", zeros))]
            s["V"] = [keep * v + (1 - keep) * (g[i] / n) ** 2 for i, v in enumerate(s.get("V", zeros))]
            step = [rate * n * s["S"][i] / self.mean_weight /
                    (math.sqrt(s["V"][i] / self.square_weight) + self.number("adam_epsilon", 1e-8)) for i in count]
        shrinkage = rate * self.number("L1RegWeight", 0) * n
        for i in count:
            moved = w[i] - step[i]
            w[i] = math.copysign(max(0.0, abs(moved) - shrinkage), moved)

    def minibatch(self, samples, rate, momentum_per_sample):
        gradient = {"W": [0.0] * (CLASSES * FEATURES), "b": [0.0] * CLASSES}
        sums = self.evaluate(samples, gradient)
        n = len(samples)
        momentum = momentum_per_sample ** n
        if rate > 0.01 * single(1e-9):
            self.mean_weight = momentum * self.mean_weight + (1 - momentum)
            keep = self.number("adam_beta2", 0.999)
            self.square_weight = keep * self.square_weight + (1 - keep)
            for name, multiplier in (("W", 1), ("b", 0.5)):
                self.update(name, gradient[name], rate * multiplier, momentum, n)
        return sums

    # ---- epochs

    def epoch_samples(self):
        return int(self.number("epochSize", 0)) or len(self.train)

    def run(self, epoch, rate, size, samples=None):
        """Returns averages of criterion and errors over an epoch, or over an epoch of the given number of samples."""
        loss = errors = 0.0
        samples = samples or self.epoch_samples()
        position, end = epoch * samples, (epoch + 1) * samples
        while position < end:
            first = position % len(self.train)
            batch = self.train[first:first + min(size, end - position)]
            sums = self.minibatch(batch, rate, self.momentum(epoch))
            loss, errors, position = loss + sums[0], errors + sums[1], position + len(batch)
        return loss / samples, errors / samples

    def snapshot(self):
        states = {name: {key: list(value) for key, value in state.items()} for name, state in self.states.items()}
        return ({name: list(values) for name, values in self.parameters.items()}, states,
                self.mean_columns, self.mean_weight, self.square_weight)

    def restore(self, snapshot):
        parameters, states, self.mean_columns, self.mean_weight, self.square_weight = snapshot
        self.parameters = {name: list(values) for name, values in parameters.items()}
        self.states = {name: {key: list(value) for key, value in state.items()} for name, state in states.items()}

    def trial(self, epoch, rate, size):
        before = self.snapshot()
        most = min(int(at(self.schedule("numMiniBatch4LRSearch") or [500], epoch)) * self.size(epoch),
                   int(self.number("epochSize", 0)) or INFINITY)
        loss, errors = self.run(epoch, rate, size, most)  # the beginning of epochs of this length
        self.restore(before)
        self.events.append(("trial", loss, errors, rate))
        return loss

    def search_rate(self, epoch, previous, searched):
        size, epoch_size = self.size(epoch), int(self.number("epochSize", 0))
        n = min(int(at(self.schedule("numMiniBatch4LRSearch") or [500], epoch)) * size, epoch_size or INFINITY)
        ratio = math.sqrt(n / epoch_size) if epoch_size else 0.3
        largest = max(searched[max(0, len(searched) - int(self.number("numPrevLearnRates", 5))):], default=0)
        back = single(0.618)
        rate = largest / back / back if largest > 0 else single(0.125 / back) / math.sqrt(size)
        at_rest = self.trial(epoch, 0, size)
        if previous == INFINITY:
            previous = at_rest
        base = max(ratio * previous + (1 - ratio) * at_rest, at_rest)
        is_best = epoch < self.number("numBestSearchEpoch", 1)
        while True:
            rate *= 0.618
            loss = self.trial(epoch, rate, size)
            if loss <= base or rate <= 0.3 * single(1e-9):
                break
        if is_best:
            left, right = 0.01 / size, rate
            left_loss, right_loss = self.trial(epoch, left, size), loss
            while right > 1.2 * left:
                if right_loss > left_loss:
                    right *= 0.618
                    right_loss = self.trial(epoch, right, size)
                else:
                    left /= 0.618
                    left_loss = self.trial(epoch, left, size)
            rate = left if right_loss > left_loss else right
        self.events.append(("best", rate, base))
        return rate

    def search_size(self, epoch, chosen, rate, ratio):
        nominal, most = self.size(epoch), int(self.number("minibatchSizeTuningMax", 1048576))
        lower, upper = nominal, most
        if ratio < 1:
            lower = int(nominal / math.sqrt(ratio))
        if epoch >= 2 and chosen:
            frequency = int(self.number("minibatchSizeTuningFrequency", 1))
            if epoch + 1 > frequency and (epoch + 1) % frequency != 0:
                return chosen
            lower, upper = max(lower, chosen // 2), min(most, 2 * chosen)
        exact, good, base = float(lower), upper, None
        while exact <= upper * (1 + 1e-9):
            size = int(exact / 64 + 0.5) * 64
            loss = self.trial(epoch, rate, size)
            if base is None:
                base = loss
            elif loss > base * (1 + self.number("minibatchSearchCriterionErrorMargin", 1) / 100):
                break
            good, exact = size, exact * math.sqrt(2)
        return good

    def learn(self):
        control = self.o.get("autoAdjustLR", "none").lower()
        interval = int(self.number("learnRateAdjustInterval", 1))
        continues = self.number("continueReduce", "false") == "true"
        rate = previous = average = INFINITY
        first_rate = chosen = 0
        searched, reducing = [], False
        self.saved[0] = (self.snapshot(), None, INFINITY, 0)
        for i in range(int(self.o["maxEpochs"])):
            if control == "none" or i < len(self.rates()):
                rate = self.listed_rate(i)
            elif control == "searchbeforeepoch":
                rate = self.search_rate(i, previous, searched)
                searched.append(rate)
            elif i == 0:
                rate = 0.5 / self.size(0)
            if i == 0:
                first_rate = rate
            if rate < single(1e-9):
                self.events.append(("end", rate))
                return
            adapts = self.o.get("autoAdjustMinibatch") == "true" and i >= len(self.schedule("minibatchSize") or [256])
            # The ratio ignores changes of the rate by AdjustAfterEpoch.
            listed = control == "adjustafterepoch" and self.rates()
            ratio = self.listed_rate(i) / self.listed_rate(0) if listed else rate / first_rate
            chosen = self.search_size(i, chosen, rate, ratio) if adapts else 0  # none
            self.events.append(("start", rate, self.momentum(i) ** (chosen or self.size(i))))
            loss, errors = self.run(i, rate, chosen or self.size(i))
            self.events.append(("train", loss, errors, rate))
            if self.validation:
                sums = self.evaluate(self.validation)
                validation = [value / len(self.validation) for value in sums]
                self.events.append(("validation", *validation))
                if self.number("UseCVSetControlLRIfCVExists", "true") == "true":
                    loss, errors = validation
            by_errors = self.o.get("UseEvalCriterionControlLR") == "true" and control != "searchbeforeepoch"
            looked_at = errors if by_errors else loss
            before = i % interval
            average = looked_at if before == 0 else (average * before + looked_at) / (before + 1)
            rolled_back = False
            if control == "adjustafterepoch" and (i + 1) % interval == 0 and i >= len(self.rates()):
                if previous - average < 0 and previous < INFINITY and self.number("loadBestModel", "true") == "true":
                    snapshot, saved_rate, previous, chosen = self.saved[i + 1 - interval]
                    self.restore(snapshot)
                    rate = saved_rate
                    rolled_back = True
                insufficient = previous < INFINITY and (
                    previous - average <= self.number("reduceLearnRateIfImproveLessThan", 0) * previous)
                better = self.number("increaseLearnRateIfImproveMoreThan", INFINITY)
                if continues and insufficient and reducing:
                    self.events.append(("stopped",))
                    return
                reducing = reducing or (continues and insufficient)
                if insufficient or reducing:
                    rate *= self.number("learnRateDecreaseFactor", 0.618)
                    self.events.append(("reduced", rate))
                elif not continues and previous < INFINITY and previous - average > better * previous:
                    rate *= self.number("learnRateIncreaseFactor", 1.382)
                    self.events.append(("increased", rate))
            if not rolled_back and (i + 1) % interval == 0:
                previous = average
            self.saved[i + 1] = (self.snapshot(), rate, previous, chosen or self.size(i))


NUMBER = r"([-+.\deE]+|nan|inf)"
LINES = [("start", r"Starting Epoch \d+: learning rate per sample = %s  effective momentum = %s" % (NUMBER, NUMBER)),
         ("train", r"Finished Epoch\[.*\]: \[Training Set\] TrainLossPerSample = %s; .*EvalErrPerSample = %s; "
                   r"AvgLearningRatePerSample = %s;" % (NUMBER, NUMBER, NUMBER)),
         ("validation", r"Finished Epoch\[.*\]: \[Validation Set\] TrainLossPerSample = %s; EvalErrPerSample = %s"
          % (NUMBER, NUMBER)),
         ("trial", r"Finished Mini-Epoch .*TrainLossPerSample = %s;EvalErrPerSample = %s; AvgLearningRatePerSample = %s"
          % (NUMBER, NUMBER, NUMBER)),
         ("best", r"Best Learn Rate Per Sample for Epoch\[\d+\] = %s  baseCriterion=%s" % (NUMBER, NUMBER)),
         ("reduced", r"learnRatePerSample reduced to %s" % NUMBER),
         ("increased", r"learnRatePerSample increased to %s" % NUMBER),
         ("end", r"Learn Rate Per Sample for Epoch\[\d+\] = %s is less than minLearnRate" % NUMBER),
         ("stopped", r"Finished training and saved final model")]


def events_of(log):
    events = []
    for line in log.splitlines():
        for kind, pattern in LINES:
            match = re.search(pattern, line)
            if match:
                events.append((kind, *map(float, match.groups())))
    return events


DRAWN = """command=Train
precision=float
traceLevel=1
Train=[
  action=train
  modelPath=%(name)s/m.dnn
  numCPUThreads=%(threads)d
  SimpleNetworkBuilder=[ layerSizes=3:300:200:3; evalCriterion=ErrorPrediction; applyMeanVarNorm=false
                         randomSeedOffset=%(seed)d; addDropoutNodes=true ]
  SGD=[ maxEpochs=3; minibatchSize=64; learningRatesPerSample=0.01; keepCheckPointFiles=true
        dropoutRate=%(dropout)s; gaussianNoiseInjectStd=%(noise)s ]
  reader=[ readerType=UCIFastReader; file=train.txt; randomize=%(order)s
           features=[ start=0; dim=3 ]
           labels=[ start=3; dim=1; labelDim=3; labelMappingFile=map.txt ] ]
]
"""


class LearnerTest(EndToEndTest):
    def setUp(self):
        super().setUp()
        self.train, self.validation = samples_of(1, 41), samples_of(2, 13)
        rng = random.Random(3)
        self.start = {"W": [round(rng.uniform(-1, 1), 3) for _ in range(9)],
                      "b": [round(rng.uniform(-1, 1), 3) for _ in range(3)]}
        self.write("net.ndl", NETWORK)
        self.write("map.txt", "0\n1\n2\n")
        w = self.start["W"]
        self.write("par/W.txt", "".join("%s %s %s\n" % (w[i], w[i + 3], w[i + 6]) for i in range(3)))
        self.write("par/b.txt", "".join("%s\n" % value for value in self.start["b"]))
        for name, samples in (("train.txt", self.train), ("cv.txt", self.validation)):
            self.write(name, "".join("%s %s %s %d\n" % (*x, label) for x, label in samples))

    def check(self, validate=False, adjust=None, **options):
        """Compares the log of the program with the numbers of Scalar."""
        options = {"maxEpochs": 4, "minibatchSize": 6, **options}
        if (adjust or {}).get("autoAdjustLR") != "SearchBeforeEpoch" and "learningRatesPerMB" not in options:
            options.setdefault("learningRatesPerSample", 0.02)
        if options.get("learningRatesPerSample") == "":
            del options["learningRatesPerSample"]
        everything = {**options, **(adjust or {})}
        expected = Scalar(everything, self.train, self.validation if validate else None, self.start)
        expected.learn()
        lines = ["    %s=%s" % item for item in options.items()]
        if adjust:
            lines += ["    AutoAdjust=["] + ["      %s=%s" % item for item in adjust.items()] + ["    ]"]
        self.write("config.cntk", CONFIG % ("\n".join(lines), READER % "train.txt",
                                            "  cvReader=[ %s ]" % (READER % "cv.txt") if validate else ""))
        log = self.cntk("configFile=config.cntk", "makeMode=false").stderr
        found = events_of(log)
        self.assertEqual([event[0] for event in found], [event[0] for event in expected.events], str(everything) + log)
        for got, want in zip(found, expected.events):
            for a, b in zip(got[1:], want[1:]):
                tolerance = 6e-7 if got[0] == "start" else 1e-12 + 5.1e-8 * abs(b)  # digits of the log
                self.assertLessEqual(abs(a - b), tolerance, "%s, expected %s: %s\n%s" % (got, want, everything, log))
        return expected.events

    # ---- update rules

    def test_forms_of_momentum(self):
        self.check()  # 0.9 for a minibatch
        self.check(momentumPerMB="0:0.9:0.5")
        self.check(momentumPerSample="0.95*2:0.99")
        self.check(momentumAsTimeConstant="0:20:100.1")
        self.check(momentumPerMB=0.9, minibatchSize="6:13:41", useNAG="true")
        self.check(momentumPerSample=0, useNAG="true")

    def test_adaptive_rules(self):
        for rule in ("AdaGrad", "RmsProp", "FSAdaGrad", "Adam"):
            for normalizes in ("true", "false"):
                self.check(gradUpdateType=rule, normWithAveMultiplier=normalizes, momentumPerMB="0.9:0.5",
                           learningRatesPerSample=0.02 if rule != "FSAdaGrad" else 5)
        self.check(useAdagrad="true", gradUpdateType="none")
        self.check(gradUpdateType="simple")
        self.check(gradUpdateType="adam", adam_beta2=0.9, adam_epsilon=0.01, minibatchSize="5:17")
        self.check(gradUpdateType="rmsprop", rms_wgt_inc=1.5, rms_wgt_dec=0.5, rms_wgt_max=1.1, rms_wgt_min=0.3,
                   rms_gamma=0.8, maxEpochs=6)

    def test_sparse_gradients_are_left_to_adagrad(self):
        self.write("x.ctf", "".join("|x %d:%s |l %s\n" % (i * i % 5, i % 3 - 0.5, i % 4) for i in range(12)))
        models = set()
        for rule in ("AdaGrad", "RmsProp", "FSAdaGrad"):
            log = self.cntk("command=T", "precision=double", "T=[action=train; modelPath=%s.dnn; SGD=[ maxEpochs=3;"
                            "minibatchSize=4; learningRatesPerSample=0.1; gradUpdateType=%s ]; NDLNetworkBuilder=[run=N"
                            ";N=[ x=SparseInput(5,tag=feature); l=Input(1,tag=label); W=Parameter(1,5); z=Times(W,x);"
                            "c=SquareError(l,z,tag=criteria) ]]; reader=[ readerType=CNTKTextFormatReader; file=x.ctf;"
                            "randomize=none; input=[ x=[dim=5;format=sparse]; l=[dim=1;format=dense] ]]]" %
                            (rule, rule)).stderr
            models.add((self.folder / (rule + ".dnn")).read_bytes())
            self.assertEqual(log.count("Sparse gradients are updated by adagrad, not by"), rule != "AdaGrad", log)
        self.assertEqual(len(models), 1)

    def test_the_mean_minibatch_size_continues_across_trainings(self):
        options = {"maxEpochs": 2, "minibatchSize": 6, "learningRatesPerSample": 5, "gradUpdateType": "FSAdaGrad"}
        lines = "\n".join("    %s=%s" % item for item in options.items())
        first = Scalar(options, self.train, None, self.start)
        first.learn()
        second = Scalar(options, self.train, None, self.start)
        second.mean_columns = first.mean_columns
        second.learn()
        config = CONFIG % (lines, READER % "train.txt", "")
        both = config.replace("command=Train", "command=Train:Again", 1) + config[config.index("Train=["):].replace(
            "Train=[", "Again=[", 1).replace("m.dnn", "again.dnn")
        for name in ("first.cntk", "both.cntk"):
            self.write(name, config if name == "first.cntk" else both)
        want = [event for event in first.events + second.events if event[0] == "train"]
        # The second command may be any action that trains.
        adapt = "Again=[ action=adapt; origModelFileName=m.dnn.0 ]"
        for runs in ([["configFile=both.cntk"]], [["configFile=first.cntk"], ["configFile=both.cntk"]],
                     [["configFile=both.cntk", adapt]]):
            for path in self.folder.glob("*.dnn*"):
                path.unlink()
            found = [event for arguments in runs for event in events_of(self.cntk(*arguments).stderr)
                     if event[0] == "train"]
            self.assertEqual([len(found), len(want)], [4, 4])
            for got, wanted in zip(found, want):
                self.assertAlmostEqual(got[1], wanted[1], delta=5.1e-8 * wanted[1])

    def test_clipping_and_regularization_with_every_rule(self):
        for rule in ("none", "AdaGrad", "RmsProp", "FSAdaGrad", "Adam"):
            rate = 0.02 if rule != "FSAdaGrad" else 5
            self.check(gradUpdateType=rule, clippingThresholdPerSample=0.05, L2RegWeight=0.05,
                       learningRatesPerSample=rate)
            self.check(gradUpdateType=rule, clippingThresholdPerSample=0.1, gradientClippingWithTruncation="false",
                       L1RegWeight=0.02 if rule != "FSAdaGrad" else 0.0001, learningRatesPerSample=rate)
        self.check(useNAG="true", clippingThresholdPerSample=0.05, L2RegWeight=0.05, L1RegWeight=0.02)

    # ---- schedules

    def test_rates_and_sizes(self):
        self.check(learningRatesPerMB="0.4*2:0.1", minibatchSize="4:8:12", momentumPerMB=0.5)
        self.check(learningRatesPerSample="0.05:0.02:0.01", minibatchSize="8*2:4")
        self.check(learningRatesPerMB=0.3, minibatchSize="5*2:41", maxEpochs=3)

    def test_epochs_smaller_and_larger_than_the_data(self):
        self.check(epochSize=15, maxEpochs=7, validate=True)
        self.check(epochSize=100, maxEpochs=2, minibatchSize=16)

    # ---- control of the rate

    def test_no_control(self):
        self.check(validate=True, learningRatesPerSample="0.1*2:0")  # a lower rate ends the training

    def test_after_epoch_it_reduces(self):
        for validate in (False, True):
            events = self.check(maxEpochs=8, validate=validate, adjust={
                "autoAdjustLR": "AdjustAfterEpoch", "reduceLearnRateIfImproveLessThan": 0.1})
            self.assertIn("reduced", [event[0] for event in events])

    def test_after_epoch_it_increases(self):
        events = self.check(maxEpochs=6, validate=True, adjust={
            "autoAdjustLR": "AdjustAfterEpoch", "increaseLearnRateIfImproveMoreThan": 0.03,
            "learnRateIncreaseFactor": 1.5, "UseCVSetControlLRIfCVExists": "false"})
        self.assertIn("increased", [event[0] for event in events])

    def test_after_epoch_it_rolls_back(self):
        for best in ("true", "false"):
            for interval in (1, 2, 3):
                events = self.check(maxEpochs=10, learningRatesPerSample=2, momentumPerMB=0.5, adjust={
                    "autoAdjustLR": "AdjustAfterEpoch", "learnRateDecreaseFactor": 0.5, "loadBestModel": best,
                    "learnRateAdjustInterval": interval})
                self.assertIn("reduced", [event[0] for event in events])

    def test_after_epoch_it_looks_at_errors(self):
        for validate in (False, True):
            self.check(maxEpochs=8, learningRatesPerSample=0.3, validate=validate, adjust={
                "autoAdjustLR": "AdjustAfterEpoch", "UseEvalCriterionControlLR": "true",
                "reduceLearnRateIfImproveLessThan": 0.05, "increaseLearnRateIfImproveMoreThan": 0.2})

    def test_after_epoch_it_continues_to_reduce(self):
        ends = set()
        for threshold in (0.02, 0.05, 0.1):
            for interval in (1, 2):
                events = self.check(maxEpochs=12, learningRatesPerSample="0.1*2", adjust={
                    "autoAdjustLR": "AdjustAfterEpoch", "continueReduce": "true", "learnRateAdjustInterval": interval,
                    "reduceLearnRateIfImproveLessThan": threshold, "learnRateDecreaseFactor": 0.7})
                ends.add(events[-1][0])
        self.assertIn("stopped", ends)

    def test_epochs_of_the_list_are_left_alone(self):
        self.check(maxEpochs=6, learningRatesPerSample="3*2:0.5:1", adjust={
            "autoAdjustLR": "AdjustAfterEpoch", "reduceLearnRateIfImproveLessThan": 0.3})
        self.check(maxEpochs=4, learningRatesPerSample="0.1:0.05", adjust={
            "autoAdjustLR": "SearchBeforeEpoch", "numMiniBatch4LRSearch": 3})

    def test_before_epoch_it_searches(self):
        self.check(adjust={"autoAdjustLR": "SearchBeforeEpoch"})
        self.check(epochSize=41, maxEpochs=6, adjust={
            "autoAdjustLR": "SearchBeforeEpoch", "numMiniBatch4LRSearch": "3:2", "numBestSearchEpoch": 3})
        self.check(epochSize=20, maxEpochs=6, momentumPerMB=0.5, adjust={
            "autoAdjustLR": "SearchBeforeEpoch", "numMiniBatch4LRSearch": 2, "numPrevLearnRates": 1})
        for rule in ("AdaGrad", "RmsProp", "FSAdaGrad", "Adam"):
            self.check(epochSize=41, gradUpdateType=rule, adjust={
                "autoAdjustLR": "SearchBeforeEpoch", "numMiniBatch4LRSearch": 2, "numPrevLearnRates": 2})

    def test_the_rate_for_large_inputs_lies_below_the_interval_of_the_best(self):
        for scale in (30, 3000):
            self.train = [([scale * value for value in x], label) for x, label in samples_of(1, 41)]
            self.write("train.txt", "".join("%r %r %r %d\n" % (*x, label) for x, label in self.train))
            for best in (1, 2):
                self.check(epochSize=41, maxEpochs=4, momentumPerMB=0, adjust={
                    "autoAdjustLR": "SearchBeforeEpoch", "numMiniBatch4LRSearch": 4, "numBestSearchEpoch": best})

    def test_searches_compare_criteria_not_errors(self):
        for validate in (False, True):
            self.check(validate=validate, epochSize=41, maxEpochs=5, adjust={
                "autoAdjustLR": "SearchBeforeEpoch", "numMiniBatch4LRSearch": 3, "UseEvalCriterionControlLR": "true"})

    def test_without_list_and_search_the_rate_begins_by_the_minibatch_size(self):
        self.check(learningRatesPerSample="", adjust={
            "autoAdjustLR": "AdjustAfterEpoch", "reduceLearnRateIfImproveLessThan": 0.3})

    # ---- control of the minibatch size

    def test_size_search(self):
        self.train = samples_of(4, 700)
        self.write("train.txt", "".join("%s %s %s %d\n" % (*x, label) for x, label in self.train))
        for options in ({"minibatchSizeTuningMax": 300}, {"minibatchSizeTuningMax": 190},
                        {"minibatchSearchCriterionErrorMargin": 5},
                        {"minibatchSizeTuningFrequency": 2, "minibatchSearchCriterionErrorMargin": 3}):
            self.check(minibatchSize="64", learningRatesPerSample="0.002*3:0.0005", maxEpochs=6,
                       adjust={"autoAdjustMinibatch": "true", "numMiniBatch4LRSearch": 4, **options})
        self.check(minibatchSize="64:96", learningRatesPerSample=0.004, maxEpochs=5, adjust={
            "autoAdjustLR": "AdjustAfterEpoch", "reduceLearnRateIfImproveLessThan": 0.3, "autoAdjustMinibatch": "true",
            "numMiniBatch4LRSearch": 5, "minibatchSearchCriterionErrorMargin": 4})
        for rates in ("0.004", "0.004:0.001"):
            self.check(minibatchSize="64", learningRatesPerSample=rates, maxEpochs=5, adjust={
                "autoAdjustLR": "AdjustAfterEpoch", "reduceLearnRateIfImproveLessThan": 0.9,
                "learnRateDecreaseFactor": 0.2, "autoAdjustMinibatch": "true", "numMiniBatch4LRSearch": 5,
                "minibatchSearchCriterionErrorMargin": 0.1, "loadBestModel": "false"})
        # Going back to the previous model also restores its minibatch size.
        self.check(minibatchSize="64", gradUpdateType="FSAdaGrad", learningRatesPerSample="0.25:5", epochSize=1000,
                   maxEpochs=6, adjust={"autoAdjustLR": "AdjustAfterEpoch", "learnRateDecreaseFactor": 0.5,
                                        "autoAdjustMinibatch": "true", "numMiniBatch4LRSearch": 4})

    # ---- what is drawn at random

    def drawn(self, name, threads=1, seed=0, dropout=0.3, noise=0.001, order="auto"):
        """Returns the bytes of the models after 0, 1, ... epochs, and the reader's messages about its orders."""
        self.write("drawn.cntk", DRAWN % dict(locals(), self=None))
        log = self.cntk("configFile=drawn.cntk").stderr
        models = [(self.folder / name / ("m.dnn" + end)).read_bytes() for end in (".0", ".1", ".2", "")]
        return models, re.findall("RandomOrdering.*", log)

    def test_the_same_seed_gives_the_same_bits(self):
        self.write("train.txt", "".join("%s %s %s %d\n" % (*x, label) for x, label in samples_of(6, 1000)))
        for threads in (1, 3):
            first = self.drawn("a%d" % threads, threads)
            self.assertEqual(first, self.drawn("b%d" % threads, threads))
            self.assertTrue(first[1])
        other, _ = self.drawn("other", seed=7)
        self.assertNotEqual(other[0], first[0][0])

    def test_each_kind_of_random_numbers_has_its_own_stream(self):
        self.write("train.txt", "".join("%s %s %s %d\n" % (*x, label) for x, label in samples_of(6, 1000)))
        models, orders = self.drawn("all")
        for name, change in (("seed", {"seed": 7}), ("dropout", {"dropout": 0}), ("noise", {"noise": 0}),
                             ("order", {"order": "none"})):
            changed, others = self.drawn(name, **change)
            self.assertNotEqual(changed[1], models[1])
            # Initial values and orders do not depend on other random numbers.
            if name != "seed":
                self.assertEqual(changed[0], models[0])
            if name != "order":
                self.assertEqual(others, orders)

    # ---- everything together

    def test_random_combinations(self):
        rng = random.Random(5)

        def some(*choices):
            return rng.choice(choices)

        def chance(share, name, *choices):
            return {name: some(*choices)} if rng.random() < share else {}

        def listed(*choices):
            return ":".join("%s*%d" % (some(*choices), rng.randint(1, 2)) for _ in range(rng.randint(1, 3)))

        for _ in range(60):
            rule = some("none", "none", "AdaGrad", "RmsProp", "FSAdaGrad", "Adam")
            scale = {"none": 1, "AdaGrad": 1, "RmsProp": 0.5, "FSAdaGrad": 50, "Adam": 0.1}[rule]
            control = some("none", "AdjustAfterEpoch", "AdjustAfterEpoch", "SearchBeforeEpoch")
            options = {"maxEpochs": rng.randint(2, 9), "minibatchSize": listed(1, 5, 6, 13, 41, 64),
                       "gradUpdateType": rule, **chance(0.4, "epochSize", 64, 70, 82, 100)}
            options.update(chance(0.3, "useNAG", "true") if rule == "none" else {})
            options.update(some({}, {"momentumPerMB": listed(0, 0.5, 0.9)}, {"momentumPerSample": listed(0, 0.95)},
                                {"momentumAsTimeConstant": listed(0, 5, 20.5)}))
            options.update(chance(0.3, "normWithAveMultiplier", "false"))
            options.update(chance(0.2, "clippingThresholdPerSample", 0.01, 0.05, 0.2))
            options.update(chance(0.3, "gradientClippingWithTruncation", "false"))
            options.update(chance(0.2, "L2RegWeight", 0.001, 0.05))
            options.update(chance(0.2, "L1RegWeight", 0.02 / max(1, scale)))
            if control != "SearchBeforeEpoch" or rng.random() < 0.5:
                options.update(some({"learningRatesPerMB": listed(0.1 * scale, 0.5 * scale, 2 * scale)},
                                    {"learningRatesPerSample": listed(0.01 * scale, 0.1 * scale, scale)}))
            adjust = {"autoAdjustLR": control}
            if control == "AdjustAfterEpoch":
                adjust.update({**chance(0.5, "reduceLearnRateIfImproveLessThan", 0.02, 0.1, 0.3),
                               **chance(0.3, "increaseLearnRateIfImproveMoreThan", 0.02, 0.1, 0.3),
                               **chance(0.3, "learnRateDecreaseFactor", 0.5),
                               **chance(0.3, "learnRateIncreaseFactor", 1.1),
                               **chance(0.3, "loadBestModel", "false"),
                               **chance(0.3, "learnRateAdjustInterval", 2, 3),
                               **chance(0.3, "continueReduce", "true"),
                               **chance(0.3, "UseCVSetControlLRIfCVExists", "false"),
                               **chance(0.2, "UseEvalCriterionControlLR", "true")})
            elif control == "SearchBeforeEpoch":
                # A small number: over the default of 500 minibatches rounding exceeds the tolerance.
                adjust.update({"numMiniBatch4LRSearch": some(1, 3, "2:4", 20),
                               **chance(0.5, "numPrevLearnRates", 0, 1, 2),
                               **chance(0.5, "numBestSearchEpoch", 0, 2, 3),
                               **chance(0.3, "UseEvalCriterionControlLR", "true")})
            self.check(validate=rng.random() < 0.4, adjust=adjust, **options)


if __name__ == "__main__":
    main()
