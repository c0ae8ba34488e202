#!/usr/bin/env python3
"""Writes a network in Python, exports it, trains it with the program, and takes the trained model back.

    TrainWithProgram.py --train FILE --test FILE --work FOLDER [--cntk PROGRAM] [more arguments for the program]

The files are in the text format of CNTKTextFormatReader: lines `|features 0.85 1.75 |labels 1 0 0`. More arguments of
the program change the exported config, for example parallelTrain=true.
"""
import argparse
import os
import subprocess
import sys

try:
    import cntk as C
except ImportError as error:
    sys.exit("%s; Documentation/Python.md says what is needed" % error)

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--train", required=True)
parser.add_argument("--test", required=True)
parser.add_argument("--work", required=True, help="folder for the config, the log and the model")
parser.add_argument("--cntk", help="the program; default: the one of the module")
parser.add_argument("--hidden", type=int, default=50)
parser.add_argument("--epochs", type=int, default=10)
args, more = parser.parse_known_args()

# %% The network.
C.set_seed(1)
x = C.input(2, name="features")
labels = C.input(3, name="labels")
W1, b1 = C.parameter((2, args.hidden), name="W1"), C.parameter(args.hidden, init=0, name="b1")
W2, b2 = C.parameter((args.hidden, 3), name="W2"), C.parameter(3, init=0, name="b2")
z = C.plus(C.sigmoid(x @ W1 + b1) @ W2, b2, name="z")
z.tag = "output"
loss = C.cross_entropy_with_softmax(z, labels, name="loss")
loss.tag = "criterion"
error = C.classification_error(z, labels, name="error")
error.tag = "eval"


# %% A delayed context notes what to do, and exports it as a config.
def reader(path):
    return C.reader.CNTKTextFormatReader(path, randomize=False).map(x).map(labels)


context = C.DelayedExecutionContext("experiment")
context.train([loss, error, z], C.SGDParams(minibatch_size=25, learning_rates_per_mb=0.5, max_epochs=args.epochs),
              reader(args.train))
context.test([loss, error], reader(args.test))
config = context.export(args.work)
print("exported", config)

# %% The program trains and tests.
command = [args.cntk] if args.cntk else [sys.executable, "-m", "cntk"]
run = subprocess.run(command + ["configFile=" + config] + more, stderr=subprocess.PIPE, text=True, check=False)
if run.returncode != 0:
    sys.exit("the program failed: " + run.stderr.strip().splitlines()[-1])
print("\n".join(line for line in run.stderr.splitlines() if line.startswith(("Finished Epoch", "Final Results"))))

# %% The trained model is a node again.
model = C.load_model(os.path.join(args.work, "model"))
model = getattr(model, "outputs", [model])[0].find_by_name("z")
criterion = C.classification_error(model, labels)
samples = wrong = 0
for minibatch in reader(args.test).minibatches(1000):
    data = {model.arguments[0]: minibatch[x].asarray(), labels: minibatch[labels].asarray()}
    samples += minibatch[x].num_samples
    wrong += float(criterion.eval(data))
print("wrong test samples, counted in Python: %.2f %%" % (100 * wrong / samples))
