#!/usr/bin/env python3
"""Tests the functions of the book's section 4.1.4, one table row per listing. A small network calls the function as in the
book. It is trained, with its gradients compared with differences, and evaluated; its values are compared with the book's
formula in Python. Comments name the corrected misprints of the book."""
import math
import random
import struct

from EndToEnd import EndToEndTest, main

CONFIG = """command=Train:Write
modelPath=m.dnn
deviceId=cpu
precision=double
reader=[
  readerType=CNTKTextFormatReader
  file=data.txt
  randomize=false
  input=[
    features=[ dim=4; format=dense ]
    second=[ dim=4; format=dense ]
    picture=[ dim=24; format=dense ]
    labels=[ dim=3; format=dense ]
    words=[ dim=4; format=dense ]
  ]
]
Train=[
  action=train
  NDLNetworkBuilder=[ networkDescription=net.ndl ]
  SGD=[ maxEpochs=1; minibatchSize=1000; learningRatesPerSample=0.01; gradientcheck=true; keepCheckPointFiles=true ]
]
Write=[
  action=write
  modelPath=m.dnn.0
  outputPath=out
  format=[ precisionFormat=.13 ]
]
"""

# The listings of 4.1.4.1; m and m2 have known values, and gradients pass through them.
HEAD = """features=Input(4, 1, tag=feature)
second=InputValue(4, cols=1, tag=feature)
labels=InputValue(3, tag=label)
shift=Parameter(4, 1, init=fixedValue, value=0.25)
m=Plus(features, shift)
m2=Minus(second, shift)
m3=RowSlice(0, 3, m)
"""
TENTH = struct.unpack("f", struct.pack("f", 0.1))[0]  # a delay keeps its initial value in single precision
LENGTHS = (3, 2, 4)  # of the sequences
# Word, class, first word of the class, one past its last word; the classes are 0..2 and 2..5.
WORDS = ([0, 0, 0, 2], [1, 0, 0, 2], [2, 1, 2, 5], [3, 1, 2, 5], [4, 1, 2, 5])
# Files for init=fromFile: the matrix of each, row by row.
MATRICES = {
    "a.txt": [[0.5, -1, 2, 0.25], [1.5, 0.75, -0.5, 1]],  # 2 x 4
    "b.txt": [[1, -2], [0.5, 3], [-1, 0.25], [2, 1]],  # 4 x 2
    "w.txt": [[0.1 * (((i * 7 + j * 5) % 9) - 4) for j in range(8)] for i in range(3)],  # 3 x (2 * 2 * 2)
    "v.txt": [[0.3 * (((i * 5 + j * 3) % 7) - 3) for j in range(5)] for i in range(4)],  # 4 x 5
    "c.txt": [[0.2 * (((i * 3 + j * 2) % 5) - 2) for j in range(4)] for i in range(2)],  # 2 x 4
    "means.txt": [[0.1], [0.9], [-0.4], [1.2]],
    "deviations.txt": [[2], [0.5], [1.25], [4]],
    "centres.txt": [[0.2], [0.4], [0.6], [0.8], [1.0], [0.5], [0.3], [0.1]],  # two of four dimensions
}
A, B, W, V, C = (MATRICES[name + ".txt"] for name in "abwvc")


def softmax(x):
    top = max(x)
    powers = [math.exp(value - top) for value in x]
    return [power / sum(powers) for power in powers]


def dot(x, y):
    return sum(a * b for a, b in zip(x, y))


def cosine(x, y):
    return dot(x, y) / math.sqrt(dot(x, x) * dot(y, y))


def whole_norm(s):
    """Returns the norm of the values of all samples; the other samples add 0."""
    return math.sqrt(sum(dot(t.m, t.m) for t in s.all)) if s.index == 0 else 0


def column(matrix):
    return [row[0] for row in matrix]


def windows(across, down, step_across, step_down, width, height):
    """Yields the pixels (column, row) of each window, in the order of the results: rows first."""
    return [[(x + i, y + j) for i in range(across) for j in range(down)]
            for x in range(0, width - across + 1, step_across) for y in range(0, height - down + 1, step_down)]


def pixel(picture, channel, x, y):
    """Returns a pixel of a picture of 2 channels, 4 wide and 3 high: channels first, then rows."""
    return picture[channel + 2 * (y + 3 * x)]


def convolution(s):
    return [sum(W[o][c * 4 + (y - y0) + 2 * (x - x0)] * pixel(s.picture, c, x, y)
                for c in range(2) for x, y in window)
            for window in windows(2, 2, 1, 1, 4, 3) for x0, y0 in window[:1] for o in range(3)]


def pooling(s, of_window):
    return [of_window([pixel(s.picture, c, x, y) for x, y in window])
            for window in windows(2, 2, 2, 1, 4, 3) for c in range(2)]


def mixture(s):
    prior, (deviation, other) = softmax([0.3, -0.2]), (math.exp(0.1), math.exp(-0.3))
    total = 0
    for k, sigma in enumerate((deviation, other)):
        centre = column(MATRICES["centres.txt"])[4 * k:4 * k + 4]
        square = sum((x - c) ** 2 for x, c in zip(s.m, centre))
        total += prior[k] * math.exp(-square / (2 * sigma ** 2)) / (2 * math.pi * sigma ** 2) ** 2
    return [math.log(total)]


def class_based(s):
    word, kind, first, last = s.words
    inner = softmax([dot([V[i][j] for i in range(4)], s.m) for j in range(first, last)])
    return -math.log(inner[word - first]) - math.log(softmax([dot(row, s.m) for row in C])[kind])


def logistic(s):
    probabilities = [1 / (1 + math.exp(-x)) for x in s.m[:3]]
    return -sum(math.log(p if i == s.label else 1 - p) for i, p in enumerate(probabilities))


def plane(s, channel, x, y):
    """Returns a pixel of the same picture as planes, x fastest; 0 outside."""
    return s.picture[x + 4 * (y + 3 * channel)] if 0 <= x < 4 and 0 <= y < 3 else 0


def windows_of_planes(s, of_window):
    return [of_window([plane(s, c, x + i, y + j) for i in range(2) for j in range(2) if x + i < 4 and y + j < 3])
            for c in range(2) for y in (0, 2) for x in range(4)]


def past(s, steps, start):
    return s.all[s.index - steps].m if s.step - steps >= 0 else [start] * 4


def future(s, steps, start):
    return s.all[s.index + steps].m if s.step + steps < s.length else [start] * 4


def negatives(s, shift, count):
    """The minibatch holds the first step of all sequences, then their second, ..."""
    samples = sorted(s.all, key=lambda sample: sample.step)
    at = samples.index(s) + shift
    return [cosine(s.m, s.m2)] + [cosine(s.m, samples[(at + k) % len(samples)].m2) for k in range(count)]


def moments(s):
    rows = list(zip(*(t.features for t in s.all)))
    means = [sum(row) / len(row) for row in rows]
    return means, [1 / math.sqrt(sum((x - mean) ** 2 for x in row) / len(row)) for row, mean in zip(rows, means)]


# Section, lines, and the values of the named nodes for a sample: a list, or a number if the node is a sum over all samples.
# The first sum is trained. Further entries, if any, are trained instead.
CASES = [
    ("4.1.4.3", "p=LearnableParameter(2, 4, needGradient=false, init=fromFile, initFromFilePath=a.txt)\n"
     "q=Parameter(4, init=fixedValue, value=0.5)\nr=Parameter(4, 1)\n"
     "y=Times(p, ElementTimes(m, q))\n", {"y": lambda s: [dot(row, s.m) / 2 for row in A]}),
    ("4.1.4.4", "c=Constant(3)\nd=Const(-2, 4, 1)\ne=Constant(0.5, rows=4, cols=1)\nf=Const(7, 4)\n"
     "y=Plus(ElementTimes(c, m), d)\nz=Plus(ElementTimes(e, m), f)\n",
     {"y": lambda s: [3 * x - 2 for x in s.m], "z": lambda s: [x / 2 + 7 for x in s.m]}),
    ("4.1.4.5", "n=Minus(m, Constant(0.9, 4, 1))\na=RectifiedLinear(n)\nb=ReLU(n)\nc=Sigmoid(m)\nd=Tanh(m)\ne=Log(m)\n",
     {"a": lambda s: [max(x - 0.9, 0) for x in s.m], "b": lambda s: [max(x - 0.9, 0) for x in s.m],
      "c": lambda s: [1 / (1 + math.exp(-x)) for x in s.m], "d": lambda s: [math.tanh(x) for x in s.m],
      "e": lambda s: [math.log(x) for x in s.m]}),
    ("4.1.4.6", "y=Softmax(m)\n", {"y": lambda s: softmax(s.m)}),
    ("4.1.4.7", "y=LogSoftmax(m)\n", {"y": lambda s: [math.log(p) for p in softmax(s.m)]}),
    ("4.1.4.8", "y=SumElements(m)\n", {"y": lambda s: sum(s.m)}),
    ("4.1.4.9", "y=SumColumnElements(m)\n", {"y": lambda s: [sum(s.m)]}),
    ("4.1.4.10", "y=Negate(m)\n", {"y": lambda s: [-x for x in s.m]}),
    # The listing lacks its closing parenthesis.
    ("4.1.4.11", "i=Reshape(m, 4, imageWidth=2, imageHeight=1, imageChannels=2)\ny=MaxPooling(i, 2, 1, 1, 1)\n"
     "z=Reshape(i, 4)\n", {"y": lambda s: [max(s.m[0], s.m[2]), max(s.m[1], s.m[3])], "z": lambda s: s.m}),
    # "RowSlicete"
    ("4.1.4.12", "y=RowSlice(1, 2, m)\n", {"y": lambda s: s.m[1:3]}),
    ("4.1.4.13", "y=RowStack(m, m2)\nz=RowStack(m, m3, m2, m)\n",
     {"y": lambda s: s.m + s.m2, "z": lambda s: s.m + s.m[:3] + s.m2 + s.m}),
    ("4.1.4.14", "k=0.75\ny=Scale(2.5, m)\nz=Scale(k, m)\nf=Parameter(1, 1, init=fixedValue, value=3)\nu=Scale(f, m)\n",
     {"y": lambda s: [2.5 * x for x in s.m], "z": lambda s: [0.75 * x for x in s.m],
      "u": lambda s: [3 * x for x in s.m]}),
    ("4.1.4.15", "a=Parameter(2, 4, init=fromFile, initFromFilePath=a.txt)\ny=Times(a, m)\n",
     {"y": lambda s: [dot(row, s.m) for row in A]}),
    # The listing prints Times.
    ("4.1.4.16", "b=Parameter(4, 2, init=fromFile, initFromFilePath=b.txt)\ny=TransposeTimes(b, m)\n",
     {"y": lambda s: [dot(row, s.m) for row in zip(*B)]}),
    ("4.1.4.17", "d=Parameter(4, 1, init=fromFile, initFromFilePath=means.txt)\ny=DiagTimes(d, m)\n",
     {"y": lambda s: [d * x for d, x in zip(column(MATRICES["means.txt"]), s.m)]}),
    ("4.1.4.18", "d=Parameter(4, 1, init=fromFile, initFromFilePath=means.txt)\n"
     "one=Parameter(1, init=fixedValue, value=2)\n"
     "y=Plus(m, m2)\nz=Minus(m, m2)\nu=Plus(d, m)\nv=Minus(m, d)\nw=Minus(one, m)\n",
     {"y": lambda s: [a + b for a, b in zip(s.m, s.m2)], "z": lambda s: [a - b for a, b in zip(s.m, s.m2)],
      "u": lambda s: [a + b for a, b in zip(s.m, column(MATRICES["means.txt"]))],
      "v": lambda s: [a - b for a, b in zip(s.m, column(MATRICES["means.txt"]))], "w": lambda s: [2 - a for a in s.m]}),
    ("4.1.4.19", "r=SumColumnElements(m2)\nc=Parameter(4, 1, init=fromFile, initFromFilePath=means.txt)\n"
     "y=ElementTimes(m, m2)\nz=RowElementTimes(m, r)\nu=ColumnElementTimes(m, c)\n",
     {"y": lambda s: [a * b for a, b in zip(s.m, s.m2)], "z": lambda s: [a * sum(s.m2) for a in s.m],
      "u": lambda s: [a * c for a, c in zip(s.m, column(MATRICES["means.txt"]))]}),
    # The book has two formulas; here the first operand's index runs fastest.
    ("4.1.4.20", "y=KhatriRaoProduct(m3, m2)\nz=ColumnwiseCrossProduct(m3, m2)\n",
     {"y": lambda s: [a * b for b in s.m2 for a in s.m[:3]], "z": lambda s: [a * b for b in s.m2 for a in s.m[:3]]}),
    ("4.1.4.21", "p=Parameter(2, 1, init=fromFile, initFromFilePath=priors.txt)\n"
     "c=Parameter(8, 1, init=fromFile, initFromFilePath=centres.txt)\n"
     "d=Parameter(2, 1, init=fromFile, initFromFilePath=logs.txt)\n"
     "y=GMMLogLikelihood(p, c, d, m)\nz=GMMLL(p, c, d, m)\n", {"y": mixture, "z": mixture}),
    # Without the factor 1/2 of equation 2.112, as in the text of this section.
    ("4.1.4.22", "y=SquareError(m, m2)\nz=SE(m2, m)\n",
     {"y": lambda s: sum((a - b) ** 2 for a, b in zip(s.m, s.m2)),
      "z": lambda s: sum((a - b) ** 2 for a, b in zip(s.m, s.m2))}),
    ("4.1.4.23", "y=CrossEntropyWithSoftmax(labels, m3)\nz=CEWithSM(labels, m3)\n",
     {"y": lambda s: -math.log(softmax(s.m[:3])[s.label]), "z": lambda s: -math.log(softmax(s.m[:3])[s.label])}),
    # All four arguments, as in the list below the listing.
    ("4.1.4.24", "words=Input(4, tag=label)\nv=Parameter(4, 5, init=fromFile, initFromFilePath=v.txt)\n"
     "c=Parameter(2, 4, init=fromFile, initFromFilePath=c.txt)\nscores=Times(c, m)\n"
     "y=ClassBasedCrossEntropyWithSoftmax(words, m, v, scores)\nz=CBCEWithSM(words, m, v, scores)\n",
     {"y": class_based, "z": class_based}),
    ("4.1.4.25", "y=CrossEntropyWithSoftmax(labels, m3)\nz=ErrorPrediction(labels, m3)\n"
     "u=ClassificationError(labels, m3)\n",
     {"y": lambda s: -math.log(softmax(s.m[:3])[s.label]), "z": lambda s: int(s.m.index(max(s.m[:3])) != s.label),
      "u": lambda s: int(s.m.index(max(s.m[:3])) != s.label)}),
    ("4.1.4.26", "y=CosDistance(m, m2)\nz=CosDist(m, m2)\n",
     {"y": lambda s: [cosine(s.m, s.m2)], "z": lambda s: [cosine(s.m, s.m2)]}),
    ("4.1.4.27", "shifts=Constant(1)\nsamples=Constant(2, 1, 1)\n"
     "y=CosDistanceWithNegativeSamples(m, m2, shifts, samples)\nz=CosWithNegSamples(m, m2, 2, 1)\n",
     {"y": lambda s: negatives(s, 1, 2), "z": lambda s: negatives(s, 2, 1)}),
    ("4.1.4.28", "y=MatrixL1Reg(m)\nz=L1Reg(m)\n",
     {"y": lambda s: sum(map(abs, s.m)), "z": lambda s: sum(map(abs, s.m))}),
    ("4.1.4.28", "y=MatrixL2Reg(m)\nz=L2Reg(m)\n", {"y": whole_norm, "z": whole_norm}),
    ("4.1.4.29", "average=Mean(features)\ny=Minus(m, average)\n",
     {"y": lambda s: [x - mean for x, mean in zip(s.m, moments(s)[0])]}),
    ("4.1.4.30", "s=InvStdDev(features)\ny=ElementTimes(m, s)\n",
     {"y": lambda s: [x * d for x, d in zip(s.m, moments(s)[1])]}),
    ("4.1.4.31", "average=Mean(features)\nd=InvStdDev(features)\ny=PerDimMeanVarNormalization(features, average, d)\n"
     "z=PerDimMVNorm(features, average, d)\n",
     {name: lambda s: [(x - mean) * d for x, mean, d in zip(s.features, *moments(s))] for name in "yz"}),
    ("4.1.4.32", "average=Parameter(4, 1, init=fromFile, initFromFilePath=means.txt)\n"
     "d=Parameter(4, 1, init=fromFile, initFromFilePath=deviations.txt)\n"
     "y=PerDimMeanVarDeNormalization(features, average, d)\nz=PerDimMVDeNorm(features, average, d)\n",
     {name: lambda s: [x / d + mean for x, mean, d in zip(
         s.features, column(MATRICES["means.txt"]), column(MATRICES["deviations.txt"]))] for name in "yz"}),
    ("4.1.4.33", "y=Dropout(m)\n", {"y": lambda s: s.m}),
    # The listing of ImageInput is not printed; the list below it names the parameters.
    ("4.1.4.2, 4.1.4.34", "picture=ImageInput(4, 3, 2, 1, tag=feature)\n"
     "w=Parameter(3, 8, init=fromFile, initFromFilePath=w.txt)\nnone=Parameter(0, 0)\n"
     "y=Convolution(w, picture, 2, 2, 3, 1, 1, zeroPadding=false, maxTempMemSizeInSamples=0)\n"
     "z=Convolve(w, picture, 2, 2, 3, 1, 1, maxTempMemSizeInSamples=2)\n"
     "u=Convolution(none, picture, 3, 3, 1, 1, 1, zeroPadding=true)\n",
     {"y": convolution, "z": convolution}),
    ("4.1.4.35", "picture=Image(4, 3, 2, tag=feature)\n"
     "f=Parameter(1, init=fixedValue, value=1)\np=ElementTimes(f, picture)\n"
     "y=MaxPooling(p, 2, 2, 2, 1)\nz=AveragePooling(p, 2, 2, 2, 1)\n",
     {"y": lambda s: pooling(s, max), "z": lambda s: pooling(s, lambda window: sum(window) / 4)}),
    ("4.1.4.36", "a=PastValue(4, m)\nb=PastValue(4, 1, m, timeStep=2, defaultHiddenActivity=0.5)\nc=Delay(4, 1, m)\n"
     "d=Delay(4, m, delayTime=2, defaultPastValue=0.5)\ne=FutureValue(4, m)\n"
     "f=FutureValue(4, 1, m, timeStep=2, defaultHiddenActivity=-0.5)\n",
     {"a": lambda s: past(s, 1, TENTH), "b": lambda s: past(s, 2, 0.5), "c": lambda s: past(s, 1, TENTH),
      "d": lambda s: past(s, 2, 0.5), "e": lambda s: future(s, 1, TENTH), "f": lambda s: future(s, 2, -0.5)}),
]

# Functions that the book does not list.
MORE = [
    ("element by element", "n=Minus(m, Constant(0.9, 4, 1))\na=Exp(n)\nb=Cosine(m)\nc=Cos(m)\n"
     "d=Sin(m)\ne=Abs(n)\nf=Sqrt(m)\ng=Reciprocal(m)\nh=Hardmax(m)\ni=Pass(m)\n",
     {"a": lambda s: [math.exp(x - 0.9) for x in s.m], "b": lambda s: [math.cos(x) for x in s.m],
      "c": lambda s: [math.cos(x) for x in s.m], "d": lambda s: [math.sin(x) for x in s.m],
      "e": lambda s: [abs(x - 0.9) for x in s.m], "f": lambda s: [math.sqrt(x) for x in s.m],
      "g": lambda s: [1 / x for x in s.m], "h": lambda s: [int(i == s.m.index(max(s.m))) for i in range(4)],
      "i": lambda s: s.m}),
    # Below 1e-37 a logarithm is -85.1 as a float, of negative numbers, too; the reciprocal of 0 is 0, and so is the root of a
    # negative number.
    ("floors", "zero=Minus(m, m)\na=Log(zero)\nb=Log(Negate(m))\nc=Reciprocal(zero)\nd=Sqrt(Negate(m))\n"
     "e=Log(Plus(zero, Constant(1e-38)))\nf=Log(Plus(zero, Constant(2e-37)))\n"
     "far=Softmax(Plus(Scale(1e4, m), Constant(1e4)))\n",
     {"a": lambda s: [FLOOR_OF_LOG] * 4, "b": lambda s: [FLOOR_OF_LOG] * 4, "c": lambda s: [0] * 4, "d": lambda s: [0] * 4,
      "e": lambda s: [FLOOR_OF_LOG] * 4, "f": lambda s: [math.log(2e-37)] * 4,
      "far": lambda s: softmax([1e4 * x + 1e4 for x in s.m])}, "SumElements(m)"),
    ("cross entropies", "p=Softmax(m3)\nq=Sigmoid(m3)\nweight=Abs(RowSlice(0, 1, second))\ny=CrossEntropy(labels, p)\n"
     "z=Logistic(labels, q)\nw=Logistic(labels, q, weight)\n",
     {"y": lambda s: -math.log(softmax(s.m[:3])[s.label]), "z": logistic,
      "w": lambda s: logistic(s) * abs(s.second[0])}),
    ("errors", "y=SquareError(m, m2)\na=ErrorPrediction(labels, m3, 1)\nb=ErrorPrediction(labels, m3, 2)\n"
     "c=ClassificationError(labels, m3, 3)\n",
     dict({"y": lambda s: sum((a - b) ** 2 for a, b in zip(s.m, s.m2))},
          **{name: lambda s, k=k: int(sorted(s.m[:3], reverse=True).index(s.m[s.label]) >= k)
             for k, name in ((1, "a"), (2, "b"), (3, "c"))})),
    ("shapes", "square=Parameter(4, 4, init=fixedValue, value=2)\na=RowRepeat(m, 3)\n"
     "b=Transpose(Reshape(m, 4, imageChannels=1, imageWidth=4, imageHeight=1))\nc=Times(Diagonal(square), m)\n"
     "d=ReduceElements(m)\ne=ReduceElements(m, axis=1)\nf=TimeReverse(m)\n"
     "g=TransposeDimensions(Reshape(m, 4, imageChannels=2, imageWidth=2, imageHeight=1), axis1=1, axis2=2)\n",
     {"a": lambda s: s.m * 3, "b": lambda s: s.m, "c": lambda s: [2 * sum(s.m)], "d": lambda s: [sum(s.m)],
      "e": lambda s: [sum(s.m)], "f": lambda s: s.all[s.index + s.length - 1 - 2 * s.step].m,
      "g": lambda s: [s.m[0], s.m[2], s.m[1], s.m[3]]}),
    # Model files have the same shape for such an image and for none.
    ("images of one row", "a=Reshape(m, 4, imageWidth=4, imageHeight=1)\ny=MaxPooling(Tanh(a), 2, 1, 1, 1)\n"
     "b=Reshape(m, 4, imageWidth=1, imageHeight=4, imageLayout=CHW)\nw=Parameter(1, 2, init=fixedValue, value=0.5)\n"
     "z=Convolution(w, b, 1, 2, 1, 1, 1, imageLayout=CHW)\nu=Pooling(b, average, {1, 2, 1}, autoPadding=false)\n"
     "v=Plus(Reshape(m, 4, imageWidth=4, imageHeight=1), m2)\n"
     "c=Reshape(m, 4, imageWidth=4, imageHeight=1)\nt=Pooling(c, \"max\", 2, autoPadding=false)\n",
     {"y": lambda s: [math.tanh(max(s.m[i:i + 2])) for i in range(3)],
      "t": lambda s: [max(s.m[i:i + 2]) for i in range(3)],
      "z": lambda s: [sum(s.m[i:i + 2]) / 2 for i in range(3)], "u": lambda s: [sum(s.m[i:i + 2]) / 2 for i in range(3)],
      "v": lambda s: [a + b for a, b in zip(s.m, s.m2)]}),
    ("tables and streams", "table=Parameter(2, 3, init=fixedValue, value=0.5)\na=LookupTable(table, labels)\n"
     "streams=Parameter(4, 8, init=fixedValue, value=0.25)\nb=StrideTimes(streams, m, 2)\n"
     "y=SumElements(m)\nc=DummyCriterion(y, features, m)\n",
     {"y": lambda s: sum(s.m), "c": lambda s: sum(s.m), "a": lambda s: [0.5] * 2, "b": lambda s: [sum(s.m) / 4] * 4}),
    # Windows over the padding: an average counts only cells within the image.
    ("windows of any dimensions", "picture=ImageInput(4, 3, 2, imageLayout=CHW, tag=feature)\n"
     "f=Parameter(1, init=fixedValue, value=1)\np=ElementTimes(f, picture)\n"
     "w=Parameter(3, 8, init=fixedValue, value=0.5)\n"
     "y=Pooling(p, \"max\", {2, 2, 1}, stride={1, 2, 1}, autoPadding={true, false, false}, upperPad={0, 1, 0})\n"
     "z=Pooling(p, average, {2, 2, 1}, stride={1, 2, 1}, autoPadding={true, false, false}, upperPad={0, 1, 0})\n"
     "c=Convolution(w, p, {2, 2, 2}, mapCount=3, autoPadding=false, lowerPad={1, 0, 0})\n"
     "d=Convolution(w, p, 2, 2, 3, 1, 1, imageLayout=CHW)\n",
     {"y": lambda s: windows_of_planes(s, max), "z": lambda s: windows_of_planes(s, lambda w: sum(w) / len(w)),
      "c": lambda s: [0.5 * sum(plane(s, c, x + i, y + j) for c in range(2) for i in range(2) for j in range(2))
                      for o in range(3) for y in range(2) for x in range(-1, 3)],
      "d": lambda s: [0.5 * sum(plane(s, c, x + i, y + j) for c in range(2) for i in range(2) for j in range(2))
                      for o in range(3) for y in range(2) for x in range(3)]}),
]


FLOOR_OF_LOG = -85.0999984741211  # -85.1 in single precision, in double networks too


class Sample:
    """One sample of the reader, and the values of the nodes of HEAD for it."""

    def __init__(self, numbers, index, step, length, samples):
        self.index, self.step, self.length, self.all = index, step, length, samples
        self.features = [round(numbers.uniform(0.1, 1.4), 3) for _ in range(4)]
        self.second = [round(numbers.uniform(-1, 1), 3) for _ in range(4)]
        self.picture = [round(numbers.uniform(-1, 1), 3) for _ in range(24)]
        self.label = numbers.randrange(3)
        self.words = numbers.choice(WORDS)
        self.m = [x + 0.25 for x in self.features]
        self.m2 = [x - 0.25 for x in self.second]

    def line(self, sequence):
        labels = [int(i == self.label) for i in range(3)]
        return "%d %s\n" % (sequence, " ".join(
            "|%s %s" % (name, " ".join(map(str, values)))
            for name, values in (("features", self.features), ("second", self.second), ("picture", self.picture),
                                 ("labels", labels), ("words", self.words))))


class NdlFunctionsTest(EndToEndTest):
    def prepare(self):
        numbers = random.Random(5)
        samples, lines = [], []
        for sequence, length in enumerate(LENGTHS):
            for step in range(length):
                samples.append(Sample(numbers, len(samples), step, length, samples))
                lines.append(samples[-1].line(sequence))
        self.write("data.txt", "".join(lines))
        for name, matrix in MATRICES.items():
            self.write(name, "".join(" ".join(map(str, row)) + "\n" for row in matrix))
        self.write("priors.txt", "0.3\n-0.2\n")
        self.write("logs.txt", "0.1\n-0.3\n")
        self.write("exp.cntk", CONFIG)
        return samples

    def expect(self, samples, name, formula):
        """Compares the values of a node over the data; a sum is written once a minibatch."""
        values = [formula(sample) for sample in samples]
        expected = values if isinstance(values[0], list) else [[sum(values)]]
        found = [list(map(float, line.split())) for line in self.read("out." + name).splitlines() if line.strip()]
        self.assertEqual([len(row) for row in found], [len(row) for row in expected], name)
        for at, (row, wanted) in enumerate(zip(found, expected)):
            for value, number in zip(row, wanted):
                self.assertAlmostEqual(value, number, msg="%s, sample %d" % (name, at),
                                       delta=1e-11 * max(1, abs(number)))

    def test_the_listings(self):
        self.run_cases(CASES)

    def test_other_functions(self):
        self.run_cases(MORE)

    def run_cases(self, cases):
        samples = self.prepare()
        for section, script, nodes, *trained in cases:
            with self.subTest(section):
                sums = [name for name, formula in nodes.items() if not isinstance(formula(samples[0]), list)]
                parts = trained or ["SumElements(ElementTimes(%s, %s))" % (name, name) for name in nodes]
                criterion = parts[0]
                for part in parts[1:]:
                    criterion = "Plus(%s, %s)" % (criterion, part)
                script = HEAD + script + ("CriteriaNodes=(%s)\n" % ", ".join(sums) if sums else
                                          "ce=Plus(%s, Scale(0, MatrixL2Reg(shift)), tag=criteria)\n" % criterion)
                self.write("net.ndl", script)
                log = self.cntk("configFile=exp.cntk", "makeMode=false",
                                "Write=[outputNodeNames=%s]" % ":".join(nodes)).stderr
                self.assertRegex(log, r"Gradient check of epoch 1: all gradients agree")
                self.assertRegex(log, r"Finished Epoch\[ *1 of 1\]")
                for name, formula in nodes.items():
                    self.expect(samples, name, formula)


if __name__ == "__main__":
    main()
