"""Small runs with other readers, writers, actions and several workers. ALL_SCENARIOS joins them and the runs of Scenarios.py."""
import random
import shutil
import struct
import zipfile

from Scenarios import (CNTK, HEAD, SCENARIOS, Workers, config, must_run, prepare_decode_with_graph, prepare_train,
                       prepare_with_model, write_common)
from SparseFiles import dssm, lib_svm, sparse_pc  # beside SmallDecoding.py, whose folder Scenarios.py adds

STATES = ["ax_s2", "ax_s3", "b_s2", "sil_s2"]
FRAMES = 5  # of each utterance, as long as LATTICE
LATTICE = """VERSION=1.0
N=4 L=4
I=0 t=0.00
I=1 t=0.03 W=hello
I=2 t=0.05 W=!NULL
I=3 t=0.05 W=!NULL
J=0 S=0 E=1 a=-123.4 l=-1.5 d=:ax_s2,0.01:ax_s3,0.02,-12.5:
J=1 S=1 E=2 a=-80.1 l=0 d=:sil_s2,0.02:
J=2 S=0 E=2 a=-210.7 l=-2.5 W=bye d=:b_s2,0.04:sil_s2,0.01:
J=3 S=2 E=3
"""
SPEECH_NETWORK = """features=Input(6, tag=feature)
labels=Input(4, tag=label)
average=Mean(features)
deviation=InvStdDev(features)
W=Parameter(4, 6)
B=Parameter(4, 1, init=fixedValue, value=0)
z=Plus(Times(W, PerDimMeanVarNormalization(features, average, deviation)), B)
prior=Mean(labels)
likelihood=Minus(z, Log(prior), tag=output)
"""
SPEECH = """Speech=[ action=train
  NDLNetworkBuilder=[ networkDescription=frames.ndl ]
  SGD=[ maxEpochs=$epochs$; minibatchSize=16; learningRatesPerSample=0.01; momentumPerMB=0.9; saveEveryMinutes=$minutes$
    keepModels=$keep$ ]
  reader=[ readerType=HTKMLFReader; randomize=auto; features=[ dim=6; scpFile=train.scp ]
    labels=[ labelDim=4; mlfFile=train.mlf; labelMappingFile=states ] ] ]
Sequences=[ action=trainSequence; origModelFileName=old.dnn
  NDLNetworkBuilder=[ networkDescription=sequences.ndl ]
  SGD=[ maxEpochs=$epochs$; minibatchSize=16; learningRatesPerSample=0.001; momentumPerMB=0.9 ]
  reader=[ readerType=HTKMLFReader; frameMode=false; nbruttsineachrecurrentiter=2; features=[ dim=6; scpFile=train.scp ]
    labels=[ labelDim=4; mlfFile=train.mlf; labelMappingFile=states ]; lattices=[ denLatTocFile=train.toc ] ] ]
Scores=[ action=write; modelPath=old.dnn; outputNodeNames=likelihood
  reader=[ readerType=HTKMLFReader; features=[ dim=6; scpFile=train.scp ] ]
  writer=[ writerType=HTKMLFWriter; likelihood=[ dim=4; scpFile=write.scp ] ] ]
"""
IMAGES = """Images=[ action=train
  NDLNetworkBuilder=[ run=ndl; ndl=[
    features=ImageInput(4, 4, 3, imageLayout=CHW, tag=feature)
    labels=Input(2, tag=label)
    c=Convolution(Parameter(2, 0), features, 3, 3, 2, 1, 1, zeroPadding=true, imageLayout=CHW)
    z=Times(Parameter(2, 0), c, tag=output)
    ce=CrossEntropyWithSoftmax(labels, z, tag=criterion)
  ] ]
  SGD=[ maxEpochs=$epochs$; minibatchSize=4; learningRatesPerSample=0.001 ]
  reader=[ readerType=ImageReader; file=list.txt; features=[ width=4; height=4; channels=3; cropType=random; cropRatio=0.8 ]
    labels=[ labelDim=2 ] ] ]
"""
WORDS = """Words=[ action=train
  SimpleNetworkBuilder=[ rnnType=CLASSLM; recurrentLayer=1; layerSizes=6:5:6; layerTypes=Sigmoid; vocabSize=6; nbrClass=2
    trainingCriterion=ClassCrossEntropyWithSoftmax; evalCriterion=ClassCrossEntropyWithSoftmax ]
  SGD=[ maxEpochs=$epochs$; minibatchSize=4; learningRatesPerSample=0.05; momentumPerMB=0 ]
  reader=[ readerType=LMSequenceReader; file=text.txt; wordclass=classes.txt; randomize=auto; nbruttsineachrecurrentiter=2
    features=[ mode=class ]; labelIn=[ labelType=category; beginSequence="</s>"; endSequence="</s>" ]
    labels=[ labelType=nextWord; endSequence="</s>" ] ] ]
Classes=[ action=writeWordAndClass; inputFile=text.txt; outputVocabFile=out/classes.txt; outputWord2Cls=out/word2cls.txt
  outputCls2Index=out/cls2idx.txt; vocabSize=6; nbrClass=2; cutoff=0; beginSequence="</s>"; endSequence="</s>"; unk="<unk>" ]
"""
RECORDS = """
SGD=[ maxEpochs=$epochs$; minibatchSize=8; learningRatesPerSample=0.01; momentumPerMB=0.9 ]
Sums=[ action=train; NDLNetworkBuilder=[ networkDescription=sums.ndl ]; reader=[ $kind$; a=[ dim=5 ]; b=[ dim=5 ]
  y=[ labelDim=1; labelType=regression ] ] ]
pc="readerType=SparsePCReader; file=records.pc; randomize=auto"
svm="readerType=LibSVMBinaryReader; file=records.svm"
Pairs=[ action=train; NDLNetworkBuilder=[ networkDescription=pairs.ndl ]; reader=[ readerType=DSSMReader; randomize=auto
  a=[ dim=5; file=a.bin ]; b=[ dim=5; file=b.bin ]; DSSMLabel=[ labelDim=3; labelType=Category ] ] ]
Slots=[ action=train; NDLNetworkBuilder=[ networkDescription=slots.ndl ]; reader=[ readerType=LUSequenceReader; file=slots.txt
  randomize=auto; nbruttsineachrecurrentiter=2; wordmap=same.txt; features=[ dim=0 ]; labelIn=[ token=words.txt; useWordMap=true ]
  labels=[ token=tags.txt ] ] ]
"""
SUMS_NETWORK = """a=SparseInput(5, tag=feature)
b=SparseInput(5, tag=feature)
y=Input(1, tag=label)
z=Plus(Times(Parameter(1, 5), a), Times(Parameter(1, 5), b), tag=output)
loss=SquareError(y, z, tag=criterion)
"""
PAIRS_NETWORK = """a=SparseInput(5, tag=feature)
b=SparseInput(5, tag=feature)
DSSMLabel=Input(3, tag=label)
near=CosDistanceWithNegativeSamples(Times(Parameter(4, 5), a), Times(Parameter(4, 5), b), 1, 2)
loss=CrossEntropyWithSoftmax(DSSMLabel, near, tag=criterion)
"""
SLOTS_NETWORK = """features=SparseInput(5, tag=feature)
labels=Input(3, tag=label)
h=Tanh(Plus(Times(Parameter(4, 5), features), Times(Parameter(4, 4), PastValue(4, 1, h))))
z=Times(Parameter(3, 4), h, tag=output)
ce=CrossEntropyWithSoftmax(labels, z, tag=criterion)
"""
EXCHANGE = """Svd=[ action=SVD; modelPath=old.dnn; outputModelPath=out/m.dnn; nodeNameRegex="W.*"; keepRatio=0.5; alignedSize=1 ]
Import=[ action=import; modelPath=old.dnn; inputPath=in.npz; outputModelPath=out/m.dnn ]
Text=[ action=export; modelPath=old.dnn; outputPath=out/weights; format=text ]
Binary=[ action=write; modelPath=old.dnn; outputNodeNames=PosteriorProb
  reader=[ readerType=UCIFastReader; file=train.txt; features=[ start=0; dim=2 ] ]
  writer=[ writerType=BinaryWriter; wfile=out/scores.bin; wrecords=200; PosteriorProb=[ sectionType=data; dim=2 ] ] ]
"""
NETWORK_DECODE = """Make=[ action=edit; editPath=make.mel ]
Decode=[ action=decode; graph=g.dg; lm=lm; am=am.dnn; cntkmap=map; infiles=list.scp; acweight=1; dnnWindowSize=1; threads=$threads$
  outmlf=out/words.mlf; outscores=out/scores.tsv; latticePrefix=out/l; outctm=out/ctm ]
"""
MAKE_NETWORK = """m=CreateModel()
SetDefaultModel(m)
features=Input(4, tag=feature)
W=Parameter(4, 4, init=fromFile, initFromFilePath=W.txt)
scores=Times(W, features, tag=output)
SaveModel(m, am.dnn)
"""


def feature_file(frames):
    return struct.pack(">iihh", len(frames), 100000, 4 * len(frames[0]), 9) + b"".join(
        struct.pack(">%df" % len(frame), *frame) for frame in frames)


def write_speech(folder, utterances=12):
    """Writes utterances of two features a frame; windows of three frames make the network's six. Half of the utterances
    share an archive."""
    write_common(folder)
    draw, archive, names = random.Random(3), [], []
    (folder / "data").mkdir()
    script, labels, lattices = [], ["#!MLF!#\n"], []
    for number in range(utterances):
        name = "u%d" % number
        frames = [(draw.gauss(i, 1), draw.gauss(-i, 1)) for i in range(FRAMES)]
        if number % 2 == 0:
            (folder / "data" / (name + ".feat")).write_bytes(feature_file(frames))
            script.append("data/%s.feat\n" % name)
        else:
            script.append("%s.feat=data/archive.feat[%d,%d]\n" % (name, len(archive), len(archive) + FRAMES - 1))
            archive += frames
        labels.append('"%s.lab"\n0 100000 ax_s2\n100000 300000 ax_s3\n300000 500000 sil_s2\n.\n' % name)
        lattices.append("%s=.../train.slf[%d]\n" % (name, number * len(LATTICE)))
        names.append(name)
    (folder / "data/archive.feat").write_bytes(feature_file(archive))
    for name, lines in (("train.scp", script), ("train.mlf", labels), ("train.toc", lattices), ("train.slf", [LATTICE] * utterances),
                        ("states", [state + "\n" for state in STATES]), ("write.scp", ["out/%s.htk\n" % name for name in names])):
        (folder / name).write_text("".join(lines))
    (folder / "frames.ndl").write_text(SPEECH_NETWORK + "ce=CrossEntropyWithSoftmax(labels, z, tag=criterion)\n"
                                       "errors=ErrorPrediction(labels, z, tag=eval)\n")
    (folder / "sequences.ndl").write_text(SPEECH_NETWORK + "mmi=SequenceWithSoftmax(labels, z, likelihood, tag=criterion)\n")
    (folder / "c.cntk").write_text(HEAD + SPEECH)


def prepare_speech(folder):
    write_speech(folder)


def prepare_speech_with_model(folder):
    write_speech(folder)
    must_run(folder, *config("Speech", "epochs=1", "folder=first"))
    (folder / "first/m.dnn").rename(folder / "old.dnn")
    shutil.rmtree(folder / "first")


def prepare_images(folder):
    """Four image files and four images of an archive."""
    write_common(folder)
    draw, lines = random.Random(4), []
    with zipfile.ZipFile(folder / "images.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(8):
            name, data = "i%d.ppm" % number, b"P6\n6 6\n255\n" + draw.randbytes(108)
            if number % 2 == 0:
                (folder / name).write_bytes(data)
            else:
                archive.writestr(zipfile.ZipInfo(name), data)
            lines.append("%s\t%d\n" % (name if number % 2 == 0 else "images.zip@/" + name, number // 4))
    (folder / "list.txt").write_text("".join(lines))
    (folder / "c.cntk").write_text(HEAD + IMAGES)


def prepare_words(folder):
    write_common(folder)
    draw = random.Random(5)
    (folder / "text.txt").write_text("".join("</s> %s </s>\n" % " ".join(draw.choices("abcd", k=4)) for _ in range(20)))
    (folder / "classes.txt").write_text("".join("%d %d %s %d\n" % (i, 9 - i, word, i // 3)
                                                for i, word in enumerate(["</s>", "a", "b", "c", "d", "<unk>"])))
    (folder / "c.cntk").write_text(HEAD + WORDS)


def prepare_records(folder, count=24):
    """Writes the same records in the formats of the binary readers: each has a value at one place of a and of b, and their sum.
    The values have 8 bytes, but 4 for DSSMReader. Writes sentences of words with tags, too."""
    write_common(folder)
    draw = random.Random(6)
    records = [([(draw.randrange(5), x)], [(draw.randrange(5), y)], x + y)
               for x, y in ((draw.random(), draw.random()) for _ in range(count))]
    (folder / "records.pc").write_bytes(sparse_pc(records, "d"))
    (folder / "records.svm").write_bytes(lib_svm(records, "d", (("a", 5), ("b", 5), ("y", 1)), 8))
    for part, name in enumerate(("a.bin", "b.bin")):
        (folder / name).write_bytes(dssm([record[part] for record in records], 5))
    words = ["BOS", "EOS", "to", "oslo", "rome"]
    (folder / "words.txt").write_text("\n".join(words) + "\n")
    (folder / "same.txt").write_text("paris rome\n" + "".join("%s %s\n" % (word, word) for word in words))
    (folder / "tags.txt").write_text("O\nB\nI\n")
    (folder / "slots.txt").write_text("".join(
        "BOS O\n%sEOS O\n\n" % "".join(draw.choices(["to O\n", "oslo B\n", "rome I\n", "paris B\n"], k=1 + number % 3))
        for number in range(12)))
    for name, network in (("sums", SUMS_NETWORK), ("pairs", PAIRS_NETWORK), ("slots", SLOTS_NETWORK)):
        (folder / (name + ".ndl")).write_text(network)
    (folder / "c.cntk").write_text(HEAD + RECORDS)


def prepare_exchange(folder):
    prepare_with_model(folder)
    must_run(folder, *config("Export", "file=in.npz", "Export=[nodeNames=W0]"))  # each entry takes a hundred calls
    (folder / "c.cntk").write_text(HEAD + EXCHANGE)


def prepare_network_decode(folder):
    """The decoder reads the scores as features; the network, an identity, computes the scores."""
    prepare_decode_with_graph(folder)
    (folder / "W.txt").write_text("1 0 0 0\n0 1 0 0\n0 0 1 0\n0 0 0 1\n")
    (folder / "make.mel").write_text(MAKE_NETWORK)
    (folder / "c.cntk").write_text(HEAD + NETWORK_DECODE)
    must_run(folder, *config("Make"))


DATA_SCENARIOS = {
    "speech": (prepare_speech, config("Speech", "keep=last:best")),
    "sequences": (prepare_speech_with_model, config("Sequences")),
    "htkwrite": (prepare_speech_with_model, config("Scores")),
    "images": (prepare_images, config("Images")),
    "words": (prepare_words, config("Words")),
    "classes": (prepare_words, config("Classes")),
    "sparsepc": (prepare_records, config("Sums", "kind=$pc$")),
    "libsvm": (prepare_records, config("Sums", "kind=$svm$")),
    "dssm": (prepare_records, config("Pairs")),
    "slots": (prepare_records, config("Slots")),
    "svd": (prepare_exchange, config("Svd")),
    "import": (prepare_exchange, config("Import")),
    "text": (prepare_exchange, config("Text")),
    "binary": (prepare_exchange, config("Binary")),
    "network": (prepare_network_decode, config("Decode")),
    "network2": (prepare_network_decode, config("Decode", "threads=2")),
}
# One of two workers is disturbed, the first or the second.
WORKER_SCENARIOS = {
    "first": (prepare_train, Workers(config("Train", "parallelTrain=true"), 0)),
    "second": (prepare_train, Workers(config("Train", "parallelTrain=true"), 1)),
}
LIBRARIES = CNTK.parent.parent / "lib"


def all_scenarios():
    """Returns the runs that this program can do: readers and MPI are optional."""
    found = {**SCENARIOS, **DATA_SCENARIOS}
    if not (LIBRARIES / "ImageReader.so").exists():
        del found["images"]
    if Workers.available():
        found.update(WORKER_SCENARIOS)
    return found
