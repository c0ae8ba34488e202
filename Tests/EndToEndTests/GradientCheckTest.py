#!/usr/bin/env python3
"""action=gradientCheck: the minibatches and elements that it compares, and its messages about differences."""
import re

from EndToEnd import main
from TwoClasses import DATA, TwoClassesTest

CONFIG = """
precision=double
modelPath=model/m.dnn
Train=[
  action=train
  SimpleNetworkBuilder=[ layerSizes=2:3:2; evalCriterion=ErrorPrediction; needPrior=true ]
  SGD=[ maxEpochs=3; minibatchSize=4; learningRatesPerSample=0.1 ]
  reader=[ randomize=none; $streams$ ]
]
streams="file=train.txt; features=[ dim=2 ]; labels=[ dim=1; start=2; labelDim=2; labelMappingFile=map.txt ]"
Gradients=[
  action=gradientCheck
  numMinibatches=2
  minibatchSize=3
  SimpleNetworkBuilder=[ layerSizes=2:3:2; evalCriterion=ErrorPrediction; needPrior=true ]
  reader=[ randomize=none; $streams$ ]
]
"""


class GradientCheckTest(TwoClassesTest):
    config = CONFIG

    def test_gradient_check(self):
        worst = r"\n  %s: %d elements, at worst \[\d, \d\] with [-\d.e]+ by back-propagation and [-\d.e]+ by central "
        lines = r"\nMinibatch 1, 3 samples, criterion '\w+':" + "".join(
            worst % element + "differences" for element in (("B0", 3), ("B1", 2), ("W0", 6), ("W1", 6)))
        log = self.run_command("Gradients", "modelPath=none.dnn").stderr
        self.assertIn("Checking gradients of the network of SimpleNetworkBuilder\n", log)
        self.assertRegex(log, lines)
        self.assertIn("\nMinibatch 2, 2 samples, criterion", log)
        self.assertIn("\nGradient check: all elements agree to 6 digits.\n", log)
        # The check takes the model if it exists, and leaves other commands unaffected.
        self.run_command("Train")
        model = (self.folder / "model/m.dnn").read_bytes()
        log = self.run_command("Gradients").stderr
        self.assertIn("Checking gradients of model model/m.dnn\n", log)
        self.assertRegex(log, r"WARNING: \S+: '\S*model/m.dnn' exists, so it is checked, not the network of "
                              r"SimpleNetworkBuilder; to check that network, give another modelPath\n")
        self.assertRegex(log, lines)
        self.run_command("Gradients:Train", "makeMode=false", "Gradients=[modelPath=none.dnn]")
        self.assertEqual((self.folder / "model/m.dnn").read_bytes(), model)

    def test_gradient_check_of_given_numbers_of_minibatches_and_elements(self):
        log = self.run_command("Gradients", "modelPath=none.dnn", "Gradients=[numMinibatches=1]").stderr
        self.assertIn("\nMinibatch 1, 3 samples", log)
        self.assertNotIn("\nMinibatch 2", log)
        # Each minibatch checks other elements.
        log = self.run_command("Gradients", "modelPath=none.dnn",
                               "Gradients=[numMinibatches=5; minibatchSize=1; elementsPerParameter=1]").stderr
        places = re.findall(r"\n  W1: 1 elements, at worst (\[\d, \d\]) with ", log)
        self.assertEqual(len(places), 5)
        self.assertGreater(len(set(places)), 1)

    def test_gradient_check_with_the_mean_of_all_data(self):
        """The mean of 1 and 3 is 2, the deviation 1. So the inputs are -1 and 1, and the gradient 2 * 0.5 * 1 for each weight."""
        self.write("numbers.txt", "1 0\n3 0\n")
        self.write("numbers.cntk", "command=G\nprecision=double\nG=[ action=gradientCheck; minibatchSize=2\n"
                   "NDLNetworkBuilder=[ run=N\nN=[ features=Input(1, tag=feature); labels=Input(1, tag=label)\n"
                   "x=PerDimMeanVarNormalization(features, Mean(features), InvStdDev(features))\n"
                   "W=Parameter(1, 1, init=fixedValue, value=0.5)\nc=SquareError(labels, Times(W, x), tag=criterion) ] ]\n"
                   "reader=[ file=numbers.txt; randomize=none; features=[ dim=1 ]\n"
                   "labels=[ start=1; dim=1; labelType=regression ] ] ]\n")
        self.assertRegex(self.cntk("configFile=numbers.cntk").stderr,
                         r"\n  W: 1 elements, at worst \[0, 0\] with 2 by back-propagation and 2 by central differences\n")

    def test_gradient_check_messages(self):
        log = self.run_command("Gradients", "Gradients=[sigFigs=15]", status=3)
        # The worst of all elements is the worst of its parameter.
        place, parameter, numbers = re.search(r"by element (\[\d, \d\]) of parameter '(\w+)' is (\S+ by back-propagation and "
                                              r"\S+) by central differences", log.stderr).groups()
        self.assertRegex(log.stderr, r"\n  %s: \d+ elements, at worst %s with %s by central" % (
            parameter, re.escape(place), re.escape(numbers)))
        self.assertRegex(log.stderr, r"error: gradient check: the derivative of '\w+' by element \[\d, \d\] of parameter "
                                     r"'\w+' is \S+ by back-propagation and \S+ by central differences; expected "
                                     r"agreement to 15 digits, but here differences are exact to some \d+ digits only; "
                                     r"ask for no more \(sigFigs\)\n")
        self.assertIn("in minibatch 1", log.stderr)
        self.assertIn("command 'Gradients': gradientCheck needs precision=double, but precision is float",
                      self.run_command("Gradients", "precision=float", status=3).stderr)
        self.assertIn("expected", self.run_command("Gradients", "Gradients=[numMinibatches=0]", status=3).stderr)

    def test_gradient_check_of_nan(self):
        self.write("train.txt", DATA.replace("-1 0.25", "-1 1e999"))
        log = self.run_command("Gradients", "modelPath=none.dnn", "Gradients=[SimpleNetworkBuilder=[needPrior=false; "
                               "applyMeanVarNorm=false]]", status=5).stderr
        self.assertRegex(log, r"error: gradient check: .* expected agreement to 6 digits, but 'features' \(InputValue\) has a "
                              r"value that is no finite number\n")
        log = self.run_command("Train", "Train=[SimpleNetworkBuilder=[needPrior=false; applyMeanVarNorm=false; "
                               "layerTypes=RectifiedLinear]]", status=5).stderr
        self.assertIn("the first node that is not finite: value of 'features' (InputValue), read from 'train.txt', dim=2", log)

    def test_in_a_loop_the_first_node_in_time_is_named(self):
        """Delay nodes are first in the order of nodes, but their values come from another node in the previous step."""
        self.write("n.ctf", "0 |x 1 |y 0\n0 |x 900 |y 0\n0 |x 1 |y 0\n")
        self.write("loop.cntk", "command=Train\nprecision=double\nTrain=[ action=train; modelPath=m.dnn\n"
                   "NDLNetworkBuilder=[ run=N\nN=[ x=Input(1, tag=feature); y=Input(1, tag=label); W=Parameter(1, 1)\n"
                   "before=$delay$(1, h, defaultHiddenActivity=0); sum=Plus(x, before); h=Exp(sum)\n"
                   "ce=SquareError(y, Times(W, h), tag=criterion) ] ]\n"
                   "SGD=[ maxEpochs=1; learningRatesPerSample=0.1 ]\n"
                   "reader=[ readerType=CNTKTextFormatReader; file=n.ctf; randomize=none\n"
                   "input=[ x=[ dim=1; format=dense ]; y=[ dim=1; format=dense ] ] ] ]\n")
        for delay in ("PastValue", "FutureValue"):
            self.assertIn("the first node that is not finite: value of 'h' (Exp)\n",
                          self.cntk("configFile=loop.cntk", "delay=" + delay, status=5).stderr)

    def check_gradients(self, labels, nodes, dim=2):
        self.write("numbers.txt", "0.5 1 %s\n0 0 %s\n" % (labels, labels))
        self.write("numbers.cntk", "command=G\nprecision=double\nG=[ action=gradientCheck; minibatchSize=2\n"
                   "NDLNetworkBuilder=[ run=N\nN=[ features=Input(2, tag=feature); labels=Input(%d, tag=label)\n"
                   "W=Parameter(%d, 2); b=Parameter(%d, 1, init=fixedValue, value=0)\n%s ] ]\n"
                   "reader=[ file=numbers.txt; randomize=none; features=[ dim=2 ]\n"
                   "labels=[ start=2; dim=%d; labelType=regression ] ] ]\n" % (dim, dim, dim, nodes, dim))
        run = self.cntk("configFile=numbers.cntk", status=None)
        self.log = run.stderr
        return run.returncode, run.stderr.splitlines()[-1]

    def test_gradient_check_of_unsuitable_labels(self):
        begin = (r"error: gradient check: the derivative of 'ce' by element \[\d, \d\] of parameter '\w' is \S+ by "
                 r"back-propagation and \S+ by central differences; expected agreement to 6 digits, but ")
        softmax = "ce=CrossEntropyWithSoftmax(labels, Plus(Times(W, features), b), tag=criterion)"
        logistic = "ce=Logistic(labels, Sigmoid(Plus(Times(W, features), b)), tag=criterion)"
        self.assertEqual(self.check_gradients("0.25 0.75", softmax)[0], 0)
        self.assertEqual(self.check_gradients("0.25 1", logistic)[0], 0)
        for labels, total in (("4e38 0", r"4e\+38"), ("1 1", "2"), ("-1 0.5", "-0.5")):
            status, message = self.check_gradients(labels, softmax)
            self.assertEqual(status, 4)
            self.assertRegex(message, begin + r"'labels' sum to " + total + r" in sample 0 of the minibatch, and "
                             r"CrossEntropyWithSoftmax expects labels that sum to 1: by its formula, softmax minus labels, "
                             r"others have a gradient that is not that of its value$")
        # Weighted labels are computed.
        status, message = self.check_gradients("1 0", softmax.replace("labels", "Scale(Constant(2), labels)"))
        self.assertEqual(status, 4)
        self.assertRegex(message, " sum to 2 in sample 0 of the minibatch")
        status, message = self.check_gradients("4e38 0", logistic)
        self.assertEqual(status, 4)
        self.assertRegex(message, begin + r"'labels' is 4e\+38 in sample 0 of the minibatch, and Logistic expects labels "
                         r"from 0 to 1: others have logarithms of negative numbers$")

    def test_gradient_check_at_a_kink(self):
        """At 0 the gradient of RectifiedLinear is the slope of one side; the difference quotient is the mean of both."""
        status, message = self.check_gradients(
            "1", "ce=SquareError(labels, RectifiedLinear(Plus(Times(W, features), b)), tag=criterion)", 1)
        self.assertEqual(status, 5)
        self.assertIn("but here differences say nothing: the criterion has a kink or a jump", message)
        # The line of a parameter has its worst element, here the element at the kink.
        for bias, row in ("0 1", 0), ("1 0", 1):
            self.write("bias.txt", bias.replace(" ", "\n") + "\n")
            self.check_gradients("1 1", "V=Parameter(2, 1, init=fromFile, initFromFilePath=bias.txt)\n"
                                 "ce=SquareError(labels, RectifiedLinear(V), tag=criterion)", 2)
            self.assertIn("\n  V: 2 elements, at worst [%d, 0] with " % row, self.log)


if __name__ == "__main__":
    main()
