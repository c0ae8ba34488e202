#!/usr/bin/env python3
"""parallelTrain=true: several processes that mpiexec has started train one network (book: ParallelTrain)."""
import os
import re
import signal
import time
import unittest

from EndToEnd import main
from Workers import HAS_WORKERS, NETWORK, WorkersTest

STOPPED = 75


@unittest.skipUnless(HAS_WORKERS, "no MPI: neither mpiexec nor a build with it")
class ParallelTest(WorkersTest):
    def test_two_and_three_workers_train_as_one_process_does(self):
        alone = self.alone("folder=one", "numCPUThreads=1")
        for count, distributed in ((2, "false"), (3, "false"), (2, "true"), (3, "true")):
            folder = "w%d%s" % (count, distributed)
            log = self.workers(count, "folder=" + folder, "distributed=" + distributed)
            self.assertIn("Starting minibatch loop, DataParallelSGD training (MyRank = 0, NumNodes = %d, "
                          "NumGradientBits = 64)%s.\n"
                          % (count, ", distributed reading is ENABLED" if distributed == "true" else ""), log)
            self.assertEqual(len(self.results(log)), len(self.results(alone)))
            self.assert_near(folder, "one")
            self.assertEqual(log.count("[Training Set]"), 3)  # only the first worker writes

    def test_time_of_the_exchange_is_logged(self):
        log = self.workers(2, "folder=two", "epochs=1", "Train=[SGD=[ParallelTrain=[syncPerfStats=20]]]")
        self.assertEqual(re.findall(r"Exchange with other workers: .* s in minibatches (\d+-\d+) \(.* s each\)", log),
                         ["1-20", "21-40"])
        self.assertRegex(log, r"Exchange with other workers took .* s \(.*%\) of the epoch\.")

    def test_more_workers_than_samples_of_a_minibatch(self):
        options = "Train=[SGD=[minibatchSize=2]]"
        self.alone("folder=one", options, "epochs=1")
        self.workers(3, "folder=three", options, "epochs=1")
        self.assert_near("three", "one")

    def test_nan_criterion_while_others_have_no_data(self):
        self.write("train.txt", "1 1 0\n" * 20 + "nan 1 0\n")
        log = self.workers(3, "folder=three", "Train=[SGD=[minibatchSize=1]]", status=5)
        self.assertIn("epoch 1, minibatch 21 (learning rate per sample 0.02); the first node that is not finite: value of "
                      "'features' (InputValue), read from 'train.txt'", log)

    def test_each_worker_draws_its_own_masks(self):
        """With the same sample and the same mask, two workers would equal one with twice the rate."""
        lines = self.read("train.txt").splitlines(keepends=True)[:200]
        self.write("train.txt", "".join(lines))
        self.write("twice.txt", "".join(line * 2 for line in lines))
        self.write("net.ndl", NETWORK.replace("Times(W1, H)", "Times(W1, Dropout(H))"))
        rate = "Train=[SGD=[dropoutRate=%g;minibatchSize=%d;learningRatesPerSample=%g;momentumPerMB=0;L2RegWeight=0];" + \
            "reader=[file=%s.txt]]"
        for dropout, same in ((0, True), (0.5, False)):
            self.alone("folder=one%g" % dropout, "epochs=1", rate % (dropout, 1, 0.04, "train"))
            self.workers(2, "folder=two%g" % dropout, "epochs=1", rate % (dropout, 2, 0.02, "twice"))
            one, two = self.values("one%g" % dropout), self.values("two%g" % dropout)
            self.assertEqual(max(abs(a - b) for a, b in zip(one, two)) < 1e-12, same)

    def test_unreadable_data_of_one_worker_end_all(self):
        """No worker waits for the failed one; the trained state is saved."""
        lines = self.read("valid.txt").splitlines(keepends=True)
        self.write("bad.txt", "".join(lines[:100] + ["abc 1 0\n"] + lines[101:]))
        bad = "Train=[cvReader=[file=bad.txt]]"
        log = self.workers(2, "folder=two", status=4, last=bad)
        self.assertRegex(log, "bad.txt:101:1: .*expected a number in column 0")
        self.assertIn("note: what epoch 1 has trained so far is kept", log)
        self.assertIn("Resuming after minibatch 44 of the epoch.", self.workers(2, "folder=two"))
        self.workers(2, "folder=whole")
        self.assertEqual((self.folder / "two/m.dnn").read_bytes(), (self.folder / "whole/m.dnn").read_bytes())
        self.workers(2, "folder=none", "method=none", status=4, last="Train=[reader=[file=bad.txt]]")

    def test_workers_with_different_configs(self):
        log = self.workers(2, "folder=two", status=3, last="epochs=4")
        self.assertIn("error: worker 0 is to run command=Train:Test with 3 epochs, worker 1 command=Train:Test with 4 "
                      "epochs; all workers need the same config", log)
        self.write("other.ndl", NETWORK.replace("12", "13"))
        for other, told in (("precision=float", "precision=double, worker 1 precision=float"),
                            ("start=2", "parallelizationStartEpoch=1, worker 1 parallelizationStartEpoch=2"),
                            ("Train=[SGD=[minibatchSize=8]]", "minibatchSize=16, worker 1 minibatchSize=8"),
                            ("Train=[SGD=[AutoAdjust=[autoAdjustLR=before]]]",
                             "autoAdjustLR=none, worker 1 autoAdjustLR=searchBeforeEpoch"),
                            ("Train=[NDLNetworkBuilder=[networkDescription=other.ndl]]",
                             "the parameter 'B0' of 12 x 1, worker 1 the parameter 'B0' of 13 x 1")):
            self.assertIn("error: worker 0 has %s; all workers need the same config" % told,
                          self.workers(2, "folder=two", status=3, last=other))

    def test_workers_with_different_amounts_of_data(self):
        """A worker at the end of its data waits for no other, and no other waits for it."""
        for name, short in (("train.txt", "short.txt"), ("valid.txt", "brief.txt")):
            self.write(short, "".join(self.read(name).splitlines(keepends=True)[:200]))
        self.write("mean.ndl", NETWORK.replace("Times(W0, features)", "Times(W0, Minus(features, Mean(features)))"))
        short = "Train=[reader=[file=short.txt]]"
        for folder, options, last in (("shared", ("command=Train",), short),
                                      ("alone", ("command=Train", "start=3"), short),
                                      ("computed", ("Train=[NDLNetworkBuilder=[networkDescription=mean.ndl]]",), short),
                                      ("validated", (), "Train=[cvReader=[file=brief.txt]]")):
            log = self.workers(2, "folder=" + folder, *options, status=4, last=last)
            self.assertIn("error: worker 1 has come to the end of its data, worker 0 has not; all workers need the same "
                          "data", log)
            kept = list((self.folder / folder).glob("m.dnn.0.at*"))
            self.assertEqual(bool(kept), folder in ("shared", "validated"))

    def test_independent_processes(self):
        log = self.workers(2, "--check", "folder=two")
        self.assertEqual(log.count("__CHECKED__"), 1)
        log = self.workers(2, "folder=two", "parallelTrain=false", "epochs=1", status=None)
        self.assertEqual(log.count("WARNING: mpiexec has started 2 processes, but without parallelTrain=true each of them "
                                   "does all of the work, and those with one config write the same files"), 1)
        # Independent processes: each has its own config.
        check = self.cntk("configFile=config.cntk", "--check", "folder=two", "parallelTrain=false",
                          environment={"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2"})
        self.assertIn("__CHECKED__", check.stderr)

    def test_gradients_in_few_bits(self):
        self.alone("folder=one")
        bits = "Train=[SGD=[ParallelTrain=[DataParallelSGD=[gradientBits=%d]]]]"
        log = self.workers(2, "folder=many", bits % 32)
        self.assertIn("(MyRank = 0, NumNodes = 2, NumGradientBits = 32)", log)
        self.assert_near("many", "one", digits=6)
        self.assertNotEqual(self.values("many"), self.values("one"))
        criteria = []
        for folder in ("few", "again"):
            log = self.workers(3, "folder=" + folder, "epochs=6", bits % 1)
            criteria = [float(loss) for loss in re.findall(r"Training Set.*TrainLossPerSample = ([0-9.]+)", log)]
        self.assertEqual(len(criteria), 6)
        self.assertLess(criteria[-1], 0.6 * criteria[0])
        self.assertEqual((self.folder / "few/m.dnn").read_bytes(), (self.folder / "again/m.dnn").read_bytes())
        self.assertIn("gradientBits is 3; expected a power of two, 1 to 64",
                      self.workers(2, "folder=odd", bits % 3, status=None))

    def test_models_averaged_after_each_minibatch(self):
        """Without momentum the mean of models is a mean of gradients instead of their sum, so the rate is doubled."""
        plain = "Train=[SGD=[momentumPerMB=0;L2RegWeight=0;learningRatesPerSample=%g;" + \
            "ParallelTrain=[ModelAveragingSGD=[syncFrequencyInFrames=1]]]]"
        alone = self.alone("folder=one", plain % 0.01)
        for distributed in ("false", "true"):
            folder = "two" + distributed
            log = self.workers(2, "folder=" + folder, plain % 0.02, "method=ModelAveragingSGD",
                               "distributed=" + distributed)
            self.assertIn("Starting minibatch loop, ModelAveragingSGD training (MyRank = 0, NumNodes = 2)", log)
            self.assert_near(folder, "one")
            losses = [re.findall(r"Training Set.*?TrainLossPerSample = ([0-9.]+); TotalSamplesSeen = (\d+)", text)
                      for text in (log, alone)]
            self.assertEqual(len(losses[0]), 3)
            self.assertEqual(losses[0], losses[1])

    def test_models_averaged_at_the_end_of_an_epoch(self):
        """Each worker trains like one process that has only its share of the data."""
        lines = self.read("train.txt").splitlines(keepends=True)
        minibatches = [lines[i:i + 16] for i in range(0, len(lines), 16)]
        for rank in (0, 1):
            self.write("share%d.txt" % rank, "".join("".join(part[rank * len(part) // 2:(rank + 1) * len(part) // 2])
                                                     for part in minibatches))
            self.alone("folder=share%d" % rank, "epochs=1", "Train=[SGD=[momentumPerMB=0.5;minibatchSize=8];"
                       "reader=[file=share%d.txt]]" % rank)
        # The default rate 0.5 for the nominal size is smaller for half of the size.
        self.workers(2, "folder=two", "epochs=1", "method=ModelAveragingSGD", "Train=[SGD=[momentumPerMB=0.25]]")
        first, second, mean = (self.values(folder) for folder in ("share0", "share1", "two"))
        self.assertNotEqual(first, second)
        for one, two, both in zip(first, second, mean):
            self.assertAlmostEqual((one + two) / 2, both, 12)

    def test_models_averaged_with_a_worker_without_data(self):
        """With minibatches of one sample the first worker gets none, and the second one equals one process."""
        for rule in ("RmsProp", "FSAdaGrad", "Adam"):
            options = "Train=[SGD=[minibatchSize=1;gradUpdateType=%s;learningRatesPerSample=0.001]]" % rule
            self.alone("folder=one" + rule, options)
            self.workers(2, "folder=two" + rule, options, "method=ModelAveragingSGD")
            self.assert_near("two" + rule, "one" + rule)

    def test_blocks_without_block_momentum(self):
        """Adding the steps of all workers after each minibatch equals one process."""
        plain = "Train=[SGD=[momentumPerMB=0;L2RegWeight=0;ParallelTrain=[BlockMomentumSGD=[%s]]]]"
        sums = plain % "syncPeriod=1;blockMomentumAsTimeConstant=0"
        alone = self.alone("folder=one", sums)
        for count, distributed in ((2, "false"), (3, "true")):
            folder = "w%d" % count
            log = self.workers(count, "folder=" + folder, sums, "method=BlockMomentumSGD", "distributed=" + distributed)
            self.assertIn("BlockMomentumSGD: %d workers, blocks of 1 samples per worker, block momentum 0 " % count, log)
            self.assertIn("Starting minibatch loop, BlockMomentumSGD training (MyRank = 0, NumNodes = %d)" % count, log)
            self.assert_near(folder, "one")
            losses = [re.findall(r"Training Set.*?TrainLossPerSample = ([0-9.]+); TotalSamplesSeen = (\d+)", text)
                      for text in (log, alone)]
            self.assertEqual(losses[0], losses[1])

    def test_block_momentum_resumes_from_checkpoints(self):
        """Three workers train with the learning rate of one process."""
        options = ("method=BlockMomentumSGD", "epochs=8", "command=Train",
                   "Train=[SGD=[keepCheckPointFiles=true;learningRatesPerSample=0.05;"
                   "ParallelTrain=[BlockMomentumSGD=[syncPeriod=400%s]]]]")
        for more in ("", ";resetSGDMomentum=false;useNesterovMomentum=false"):
            folder = "three%d" % len(more)
            arguments = ("folder=" + folder, *options[:-1], options[-1] % more)
            log = self.workers(3, *arguments)
            losses = [float(loss) for loss in re.findall(r"Training Set.*?TrainLossPerSample = ([0-9.]+)", log)]
            self.assertLess(losses[-1] if more == "" else 0, 0.6 * losses[0])
            files = self.folder / folder
            self.assertIn("BMACKP".encode("utf-16-le"), (files / "m.dnn.3.ckp").read_bytes())
            whole = [(files / name).read_bytes() for name in ("m.dnn", "m.dnn.ckp")]
            for epoch in (".4", ".5", ".6", ".7", ""):
                (files / ("m.dnn" + epoch)).unlink()
            self.assertIn("Starting Epoch 4:", self.workers(3, *arguments))
            self.assertEqual([(files / name).read_bytes() for name in ("m.dnn", "m.dnn.ckp")], whole)

    def test_progress_lines_of_buffered_gradients(self):
        """Progress lines are one minibatch late, except at the end of the epoch."""
        self.write("train.txt", self.read("train.txt") * 8)
        options = ("epochs=2", "command=Train", "Train=[SGD=[minibatchSize=256;learningRatesPerSample=0.002;"
                   "numMBsToShowResult=%d;ParallelTrain=[DataParallelSGD=[useBufferedAsyncGradientAggregation=true]]]]")
        shown = {}
        for minibatches in (10, 1):
            log = self.workers(2, "folder=by%d" % minibatches, *options[:2], options[2] % minibatches)
            first, second = log.split("Starting Epoch 2")
            shown[minibatches] = [(int(samples), float(loss)) for samples, loss in
                                  re.findall(r"SamplesSeen = (\d+); TrainLossPerSample = +([0-9.]+)", first)]
            self.assertIn("TotalSamplesSeen = 5600;", first)
            self.assertIn("TotalSamplesSeen = 11200;", second)
        self.assertEqual([samples for samples, _ in shown[10]], [2304, 2560])
        self.assertEqual([samples for samples, _ in shown[1]], [0] + 21 * [256])
        losses = [loss for _, loss in shown[1]]
        self.assertAlmostEqual(shown[10][0][1], sum(losses[1:10]) / 9, 6)
        self.assertAlmostEqual(shown[10][1][1], sum(losses[10:20]) / 10, 6)

    def test_gradients_sent_during_the_next_minibatch(self):
        """Gradients come one minibatch late, so both gradients of an epoch of two minibatches are those of its beginning."""
        plain = "Train=[SGD=[momentumPerMB=0;L2RegWeight=0;minibatchSize=%d;learningRatesPerSample=0.002;" + \
            "ParallelTrain=[DataParallelSGD=[useBufferedAsyncGradientAggregation=true%s]]]]"
        self.alone("folder=one", "epochs=1", plain % (700, ""))
        log = self.workers(2, "folder=two", "epochs=1", plain % (350, ""))
        self.assertIn("(MyRank = 0, NumNodes = 2, NumGradientBits = 64), BufferedAsyncGradientAggregation is ENABLED.",
                      log)
        self.assert_near("two", "one")
        for bits in ("", ";gradientBits=1"):
            for folder in ("some", "again"):
                log = self.workers(3, "folder=" + folder + bits[-1:], "epochs=4", plain % (16, bits))
                losses = [float(loss) for loss in re.findall(r"Training Set.*?LossPerSample = ([0-9.]+)", log)]
                self.assertEqual(len(losses), 4)
                self.assertLess(losses[-1], losses[0])
            self.assertEqual((self.folder / ("some" + bits[-1:]) / "m.dnn").read_bytes(),
                             (self.folder / ("again" + bits[-1:]) / "m.dnn").read_bytes())

    def stop_one_worker(self, folder, *arguments):
        """Starts two workers, and stops one of them by SIGTERM while they train. Returns the log."""
        process = self.start(2, "folder=" + folder, *arguments)
        try:
            said = ""
            for line in process.stderr:
                said += line
                if "Finished Epoch[ 2" in line:
                    break
            time.sleep(0.05)
            worker = max(int(pid) for pid in os.listdir("/proc") if pid.isdigit() and self.is_worker(pid, folder))
            os.kill(worker, signal.SIGTERM)
            said += process.communicate(timeout=100)[1]
        finally:
            process.kill()
        self.assertEqual(process.returncode, STOPPED, said)
        return said

    @staticmethod
    def is_worker(pid, folder):
        try:
            with open("/proc/%s/cmdline" % pid, "rb") as command:
                words = command.read().split(b"\0")
        except OSError:
            return False
        return words[0].endswith(b"cntk") and b"folder=" + folder.encode() in words

    def test_unreadable_data_while_gradients_are_sent(self):
        """The reader checks 1024 lines at a time."""
        self.write("train.txt", self.read("train.txt") * 2 + "abc 1 0\n")
        options = "Train=[SGD=[minibatchSize=1024;learningRatesPerSample=0.002;" + \
            "ParallelTrain=[DataParallelSGD=[useBufferedAsyncGradientAggregation=true]]]]"
        log = self.workers(2, "folder=two", options, status=4)
        self.assertIn("continue from 'two/m.dnn.0.at1'", log)
        self.cntk("configFile=config.cntk", "parallelTrain=false", "folder=one", options, status=4)
        for folder in ("one", "two"):
            (self.folder / folder / "m.dnn.0.at1").rename(self.folder / folder / "m.dnn")
        self.assert_near("two", "one")

    def test_statistics_come_from_a_worker_with_data(self):
        """With minibatches of one sample the first worker has none."""
        self.write("net.ndl", NETWORK.replace("H=Sigmoid(Plus(Times(W0, features), B0))", """
S=Parameter(12, 1, init=fixedValue, value=1)
M=Parameter(12, 1, init=fixedValue, value=0, needGradient=false)
V=Parameter(12, 1, init=fixedValue, value=0, needGradient=false)
H=Sigmoid(BatchNormalization(Times(W0, features), S, B0, M, V, normalizationTimeConstant=100))"""))
        for method in ("DataParallelSGD", "ModelAveragingSGD"):
            options = ("command=Train", "epochs=2", "method=" + method)
            for size, folder in ((1, "one"), (16, "many")):
                log = self.workers(2, "folder=" + folder + method, *options, "Train=[SGD=[minibatchSize=%d]]" % size)
                self.assertEqual(log.count("WARNING: 1 worker of 2 had no data in epoch 1: minibatches have fewer parallel "
                                           "sequences than there are workers"), int(size == 1))
            self.alone("folder=alone" + method, *options, "Train=[SGD=[minibatchSize=1]]")
            self.assert_near("one" + method, "alone" + method)

    def test_one_worker_that_is_stopped_stops_all(self):
        for method in ("DataParallelSGD", "ModelAveragingSGD", "BlockMomentumSGD"):
            many = ("method=" + method, "epochs=100", "command=Train",
                    "Train=[SGD=[ParallelTrain=[ModelAveragingSGD=[syncFrequencyInFrames=100];"
                    "BlockMomentumSGD=[syncPeriod=200]]]]")
            folder = method[:4]
            log = self.stop_one_worker(folder, *many)
            self.assertEqual(len(re.findall("the training was stopped as asked in .*; run the same command again to "
                                            "continue from '%s/m.dnn" % folder, log)), 1, log)
            log = self.workers(2, "folder=" + folder, *many)
            self.assertNotIn("Finished Epoch[ 1 of", log)
            self.workers(2, "folder=whole" + folder, *many)
            self.assertEqual((self.folder / folder / "m.dnn").read_bytes(),
                             (self.folder / ("whole" + folder) / "m.dnn").read_bytes())

    def test_averaged_models_without_training_are_not_saved(self):
        self.write("bad.txt", "abc 1 0\n" + self.read("train.txt"))
        log = self.workers(2, "folder=two", "method=ModelAveragingSGD", "Train=[reader=[file=bad.txt]]", status=4)
        self.assertNotIn("is kept", log)
        self.assertEqual(list((self.folder / "two").glob("m.dnn.0.at*")), [])

    def test_nan_models_are_not_saved_when_others_cannot_read(self):
        """Both workers come to the same exchange, which makes no mean."""
        lines = self.read("train.txt").splitlines(keepends=True)
        self.write("bad.txt", "".join(lines[:500] + ["abc 1 0\n"] + lines[501:]))
        self.write("train.txt", "".join(lines[:320] + ["nan 1 0\n"] + lines[321:]))
        log = self.workers(2, "folder=two", "method=ModelAveragingSGD", status=5, last="Train=[reader=[file=bad.txt]]")
        self.assertIn("is not a finite number in epoch 1, minibatch 21", log)
        self.assertNotIn("is kept", log)
        self.assertEqual(list((self.folder / "two").glob("m.dnn.0.at*")), [])

    def test_stopped_before_the_first_shared_epoch(self):
        options = ("command=Train", "method=ModelAveragingSGD", "start=41", "epochs=42",
                   "Train=[SGD=[minibatchSize=1;AutoAdjust=[autoAdjustLR=AdjustAfterEpoch]]]")
        self.stop_one_worker("two", *options)
        self.workers(2, "folder=two", "stderr=log", *options)
        first, second = (re.findall("(Finished Epoch.*?); EpochTime", self.read("log_Train.logrank%d" % rank))
                         for rank in (0, 1))
        self.assertGreater(len(first), 4)
        self.assertEqual(first, second)

    def test_resumed_workers_continue_their_masks_and_noise(self):
        """With minibatches of one sample the first worker gets none, and draws neither masks nor noise."""
        self.write("net.ndl", NETWORK.replace("Times(W1, H)", "Times(W1, Dropout(H))"))
        for method, drawn in (("DataParallelSGD", "dropoutRate=0.5"),
                              ("ModelAveragingSGD", "gaussianNoiseInjectStd=0.001")):
            options = ("command=Train", "epochs=40", "method=" + method,
                       "Train=[SGD=[%s;minibatchSize=1;epochSize=100]]" % drawn)
            self.stop_one_worker("stopped" + method, *options)
            for folder in ("stopped", "whole"):
                self.workers(2, "folder=" + folder + method, *options)
            self.assertEqual((self.folder / ("stopped" + method) / "m.dnn").read_bytes(),
                             (self.folder / ("whole" + method) / "m.dnn").read_bytes())


if __name__ == "__main__":
    main()
