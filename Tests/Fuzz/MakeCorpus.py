#!/usr/bin/env python3
"""Makes the seed inputs of the fuzz targets from small valid files: FOLDER/<target>/<name>.

Usage: MakeCorpus.py [--cntk PROGRAM] [--golden] FOLDER
Models, checkpoints and binary data files are made by the program. --golden adds models, checkpoints, scripts and configs of
the shared golden cases (CNTK_TEST_SHARED) up to 16 KiB.
"""
import argparse
import io
import os
import pathlib
import shutil
import struct
import subprocess
import tempfile
import zlib
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SPLIT = b"\n====\n"

NDL = """
load=ndlMacros
run=ndlNetwork
ndlMacros=[
  RBFF(x,rowCount,colCount) = [
    W=Parameter(rowCount,colCount,init=uniform,initValueScale=1); b=Parameter(rowCount,1,init=fixedValue,value=0)
    T=Times(W,x); Z=Plus(T,b); F=Sigmoid(Z)
  ]
]
ndlNetwork=[
  sdim=4; hdim=3
  features=Input(sdim, tag=feature)
  labels=Input(2, tag=label)
  featNorm=PerDimMeanVarNormalization(features, Mean(features), InvStdDev(features))
  L1=RBFF(featNorm, hdim, sdim)
  past=PastValue(hdim, 1, L1.F, timeStep=1, defaultHiddenActivation=0.1)
  both=RowStack(L1.F, past)
  pool=RowSlice(1, 3, both)
  W=Parameter(2, hdim, init=fixedValue, value=0.5)
  b=Parameter(2, 1, init=gaussian, initValueScale=0.5, needGradient=false)
  out=Plus(Times(W, Dropout(pool)), b, tag=output)
  ce=CrossEntropyWithSoftmax(labels, out, tag=criterion)
  err=ErrorPrediction(labels, out, tag=eval)
]
"""
IMAGE_NDL = """
features=ImageInput(4,4,1,1,tag=feature)
labels=Input(2,tag=label)
K=Parameter(2,9,init=fixedValue,value=0.1)
c=Convolution(K,features,3,3,2,1,1,zeroPadding=true)
p=MaxPooling(c,2,2,2,2)
W=Parameter(2,8,init=fixedValue,value=0.1)
z=Times(W,p,tag=output)
ce=CrossEntropyWithSoftmax(labels,z,tag=criterion)
"""
MEL = """model=LoadModel("m.dnn", format=cntk)
SetDefaultModel(m)
CopyNode(L1.*, C1.*)
SetInput(C1.t, 1, L1.s)
SetProperty(L1.W, computeGradient, false)
SetPropertyForSubTree(ce, computeGradient, true)
NewW=Parameter(2,4,init=fixedValue,value=1)
RenameNode(L2.W, L2.V)
ReviseParameter(L1.b, "b.txt")
DeleteNode(L1.s)
m=[ x=Plus(L1.z, L1.b) ]
DumpModel(m, "out.txt", includeData=true)
"""
CONFIG = """# two commands
command=Train:Test
ModelDir = "models"; precision=float
modelPath=$ModelDir$/m.dnn
Train=[
  action=train   # trains
  SGD=[ learningRatesPerMB=0.5:0.2*20:0.1; momentumPerMB=0.9
    minibatchSize=256:512*2
    list=(a:b:c) ]
  reader=[ readerType=UCIFastReader
    features=[ dim=2; start=0 ] labels=[dim=1:labelDim=2] ]
  NDL=[ F=Plus(a,b) ]
]
Test=[action=test; SGD=[maxEpochs=1]]
"""
ARPA = ("\\data\\\nngram 1=5\nngram 2=3\nngram 3=1\n\n\\1-grams:\n-1.0\t</s>\n-99\t<s>\t-0.5\n-0.4\ta\t-0.2\n-0.6\tb\t-0.3\n"
        "-0.9\tc\n\n\\2-grams:\n-0.3\t<s> a\t-0.1\n-0.2\ta b\n-0.7\tb </s>\n\n\\3-grams:\n-0.1\t<s> a b\n\n\\end\\\n")
ACCEPTOR = ("0 1 <s>\n1 2 [sil]\n2 3 [a]\n3 4 go\n4 2 [b]\n2 5 [c] 0.2231436\n5 6 no\n6 2 [b]\n2 7 a\n7 2 [a]\n2 8 [sil]\n"
            "8 9 </s>\n9\n")
TRANSITIONS = ("[sil] -0.3566749 -1.2039728\n[a] -0.6931472 -0.6931472\n[b] -0.5108256 -0.9162907\n"
               "[c] -0.2231436 -1.6094379\n")
SLF = ("VERSION=1.0\nUTTERANCE=u\nlmscale=1.0\n# nodes, arcs\nN=4  L=4\nI=0 t=0.00 W=!NULL\nI=1 t=0.03 W=hello v=1\n"
       "I=2 t=0.06 W=!NULL\nI=3 t=0.06 W=!NULL\nJ=0 S=0 E=1 a=-123.4 l=-1.5 d=:sil,0.01:ah,0.02,-12.5:\n"
       "J=1 S=1 E=2 a=-3 l=0 d=:b,0.03:\nJ=2 S=0 E=2 l=-2.5 W=bye d=:ah,0.04:b,0.02:\nJ=3 S=2 E=3\n")
MLF = ('#!MLF!#\n"*/u1.lab"\n0 200000 sil\n200000 400000 ah[2] -12.5 word\n400000 600000 b\n.\n"b/u2.lab"\n0 300000 sil\n'
       "300000 600000 b\n.\n")
MEAN = ('<?xml version="1.0"?>\n<opencv_storage>\n<Channel>3</Channel>\n<Row>4</Row>\n<Col>4</Col>\n'
        '<MeanImg type_id="opencv-matrix">\n<rows>1</rows>\n<cols>48</cols>\n<dt>f</dt>\n<data>\n' + "1.5 2. " * 24 +
        "</data></MeanImg>\n</opencv_storage>\n")
TEXT_MLF = '#!MLF!#\n"*/u1.rec"\n<s>\nhello\nsil\nworld\n</s>\n.\n"x/u2.lab"\n0 100000 hello -1.5\n.\n'


class Corpus:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        shutil.rmtree(self.folder, ignore_errors=True)

    def add(self, target, name, *parts):
        """Writes a seed; several parts are the files of one input (PartsOf in FuzzTarget.h)."""
        path = self.folder / target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(SPLIT.join(part if isinstance(part, bytes) else part.encode() for part in parts))


def htk(frames, order=">", kind=9):
    data = b"".join(struct.pack(order + "f", value) for frame in frames for value in frame)
    return struct.pack(order + "iihh", len(frames), 100000, 4 * len(frames[0]), kind) + data


def add_texts(corpus):
    corpus.add("Config", "layers", CONFIG, "Train=[SGD=[maxEpochs=3]]\nModelDir=other", "Test=[minibatchSize=8]")
    corpus.add("Config", "arrays", "a=1:2*3:4\nb={x;y;z}\nc=\"q;r\"\nd=$a$:5\ne=[f=[g=[h=$d$]]]\ni", "", "e=[f=[g=[h=7]]]")
    corpus.add("Config", "separators", "a=(1;2;3)\nb={,1,2}\nc=[x=\"a b\" y='c' z]\nd=$missing$ e=default", "b=1", "")
    corpus.add("Ndl", "sections", NDL)
    corpus.add("Ndl", "image", IMAGE_NDL)
    corpus.add("Ndl", "forward", "a=Plus(b, c)\nb=Input(2,tag=feature)\nc=Sigmoid(d)\nd=Parameter(2,1)\n"
               "FeatureNodes=(b)\nOutputNodes=(a)")
    corpus.add("Mel", "commands", MEL)
    corpus.add("Mel", "inline", "SetDefaultModel(m)\nW9=Parameter(4,4)\nt9=Times(W9,L1.s)\nSetNodeInput(L2.z,1,t9)\n"
               "CopySubTree(L2.z, m, P., copy=all)\nRemoveNode(labels)")
    corpus.add("Uci", "simple", "cat\ndog\n", "1 2 cat\n3.5e-1 -4 dog\n0,1,cat\r\n")
    corpus.add("Ctf", "sequences", "0 |A 1 2 |B 3:1\n0 |A 3 4\n1 |A 5 6 |B 1:0.5 9:2 |# comment\n2\t|B 0:1\n")
    corpus.add("Lm", "classes", "0 9 </s> 0\n1 8 a 0\n2 7\tb 1\n3 6\t<unk>\t1\n4 5 c 1\n", "</s> a b </s>\nc x a\n</s> a </s>\n")
    corpus.add("Lu", "tagged", "BOS\nEOS\nshow\nflights\n<unk>\n", "O\nB-x\nI-x\n",
               "BOS O\nshow O\nflights B-x\nEOS O\n\nBOS O\nnothing I-x\nEOS O\n")
    corpus.add("WordLists", "words", "one\ntwo # comment\n\"three four\"\nx*3\n")
    corpus.add("WordLists", "classes", "0 9 </s> 0\n1 8 a 0\n2 7 b 1\n")
    corpus.add("WordLists", "pairs", "a 0\nb 0\nc 1\n")
    corpus.add("Mlf", "states", "sil\nah\nb\n", MLF)
    corpus.add("Mlf", "numbers", "", '#!MLF!#\n"a/u1.lab"\n0 100000 x 3\n100000 500000 y 7\n.\n')
    corpus.add("Slf", "paths", "a/u1=.../den.1[17]\nb/u2=den.2\n", SLF)
    corpus.add("Arpa", "trigram", ARPA)
    corpus.add("Arpa", "gzip", zlib.compress(ARPA.encode(), wbits=31))
    corpus.add("Acceptor", "words", ACCEPTOR, TRANSITIONS, "go -1\nno -2\na -0.5\n", "sil sil\na a\nb b\nc c\n")
    corpus.add("Acceptor", "plain", ACCEPTOR, TRANSITIONS)
    corpus.add("Transcripts", "columns", TEXT_MLF)
    corpus.add("TextMatrix", "rows", "1 -2.5 3e4\n\n0x1p3\tinf -1.#INF\r\n")
    corpus.add("TextMatrix", "gzip", zlib.compress(b"1 2\n3 4\n", wbits=31))


def add_speech(corpus):
    frames = [[i, -i / 2] for i in range(6)]
    corpus.add("Htk", "big", htk(frames))
    corpus.add("Htk", "little", htk(frames, "<"))
    compressed = struct.pack(">iihh", 4 + 4, 100000, 4, 6 | 0o2000)
    compressed += struct.pack(">4f", 100, 200, 1, 2) + struct.pack(">8h", *range(8))
    corpus.add("Htk", "compressed", compressed)
    corpus.add("Htk", "ubyte", struct.pack(">4i", 0x803, 2, 2, 2) + bytes(range(8)))
    corpus.add("Scp", "archive", "a/u1.mfc=archive[0,5]\nb/u2.mfc=archive[0,5]\n", MLF, htk(frames))
    corpus.add("Scp", "folders", ".../archive\nu2=archive[1,4]\n", MLF.replace("u1", "archive"), htk(frames))


def add_records(corpus):
    name = lambda text, dim: struct.pack("<i", len(text)) + text + struct.pack("<i", dim)
    row = lambda pairs: struct.pack("<i", len(pairs)) + b"".join(struct.pack("<f", v) for _, v in pairs) + \
        b"".join(struct.pack("<i", i) for i, _ in pairs)
    batch = struct.pack("<i", 2) + row([(2, 1), (0, 2)]) + struct.pack("<3i", 0, 2, 2) + struct.pack("<4f", 1, 0, 0, 1)
    header = struct.pack("<qqii", 2, 1, 1, 1) + name(b"words", 3) + name(b"label", 2)
    corpus.add("LibSvm", "batch", header + struct.pack("<q", 0) + struct.pack("<i", 2) + batch)
    corpus.add("LibSvm", "offsets", header + struct.pack("<q", len(header) + 8) + batch)
    record = lambda a, b, label: row(b) + row(a) + struct.pack("<f", label)
    corpus.add("SparsePc", "records", record([(0, 1), (3, 2)], [(1, 5)], 0.5) + record([], [(2, 6), (0, 7)], -1))
    rows = [row(r) for r in ([(1, 0.5), (0, 2)], [], [(3, 3)])]
    offsets = [sum(map(len, rows[:i])) for i in range(3)]
    corpus.add("Dssm", "rows", struct.pack("<qiq", 3, 4, 3) + struct.pack("<3q", *offsets) + b"".join(rows))


def matrix(name, rows, columns, value=0.5):
    return b"BMAT" + name + b"\0" + struct.pack("<ii", rows, columns) + struct.pack("<f", value) * (rows * columns) + b"EMAT"


def add_dbn(corpus):
    layers = b"rbmbernoullibernoulli\0" + matrix(b"W", 2, 3) + matrix(b"a", 3, 1) + matrix(b"b", 2, 1)
    layers += b"perceptron\0" + matrix(b"W", 3, 2) + matrix(b"a", 2, 1) + matrix(b"b", 3, 1)
    content = b"BDBN" + struct.pack("<ii", 0, 2) + matrix(b"gmean", 2, 1) + matrix(b"gstddev", 2, 1)
    content += b"BNET" + layers + b"ENET" + matrix(b"Pu", 2, 1) + b"EDBN"
    corpus.add("Dbn", "comment", b"DBN\nmade for tests\0" + content)
    corpus.add("Dbn", "exported", b"DBN\0" + content)


def npy(descr, shape, data):
    text = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (descr, shape)
    text += " " * (63 - (10 + len(text)) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + data


def add_npz(corpus, scratch):
    arrays = {"W.npy": npy("<f4", (2, 3), struct.pack("<6f", *range(6))), "b.npy": npy("<f8", (2, 1), struct.pack("<2d", 1, 2)),
              "special:cntk.json": b'{"format": 1, "nodes": {"W": {"type": "LearnableParameter", "dims": [2, 3]}}}'}
    for name, compression in (("stored", zipfile.ZIP_STORED), ("deflated", zipfile.ZIP_DEFLATED)):
        path = scratch / name
        with zipfile.ZipFile(path, "w", compression) as archive:
            for entry, data in arrays.items():
                archive.writestr(zipfile.ZipInfo(entry), data, compression)
        corpus.add("Npz", name, path.read_bytes())


def png(width, height):
    chunk = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + bytes(range(3 * width)) for _ in range(height))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def zip_of(name, data):
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as entries:
        entries.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    return archive.getvalue()


ARCHIVED = ".../a.zip@/a.png\t1\n"  # "...": the folder of the list


def add_images(corpus):
    corpus.add("ImageList", "list", "a.png\t1\nb c.png\t2\nx.zip@/y.png\t0\n")
    corpus.add("ImageList", "archive", ARCHIVED, zip_of("a.png", png(5, 6)))
    corpus.add("ImageList", "mean", ARCHIVED, zip_of("a.png", png(5, 6)), MEAN)
    corpus.add("Image", "png", png(5, 6))
    corpus.add("Image", "ppm", b"P6\n3 2\n255\n" + bytes(range(18)))
    corpus.add("Image", "pgm", b"P5 4 4 255\n" + bytes(range(16)))
    bmp = bytes(range(48))
    corpus.add("Image", "bmp", b"BM" + struct.pack("<IHHIIiiHHIIiiII", 54 + 48, 0, 0, 54, 40, 4, 4, 1, 24, 0, 48, 0, 0, 0, 0) + bmp)


def reader(dimension):
    return ("reader=[ readerType=UCIFastReader; file=data.txt; randomize=none; features=[dim=%d; start=0]\n"
            "  labels=[dim=1; start=16; labelDim=2; labelMappingFile=map.txt] ]\n" % dimension)


MODELS_CONFIG = """command=Simple:Net:Image:Write
deviceId=-1
makeMode=false
minibatchSize=4; learningRatesPerMB=0.1; maxEpochs=2; keepCheckPointFiles=true
Simple=[ action=train; modelPath=simple.dnn
  """ + reader(3) + """
  SimpleNetworkBuilder=[ layerSizes=3:4:2; layerTypes=Sigmoid; needPrior=true; applyMeanVarNorm=true
    trainingCriterion=CrossEntropyWithSoftmax; evalCriterion=ErrorPrediction ]
  SGD=[ momentumPerMB=0.9 ] ]
Net=[ action=train; modelPath=net.dnn; precision=double
  """ + reader(4) + """
  NDLNetworkBuilder=[ networkDescription=net.ndl ]
  SGD=[ gradUpdateType=adagrad ] ]
Image=[ action=train; modelPath=image.dnn
  """ + reader(16) + """
  NDLNetworkBuilder=[ networkDescription=image.ndl ]
  SGD=[ maxEpochs=1 ] ]
Write=[ action=write; modelPath=simple.dnn; outputNodeNames=ScaledLogLikelihood
  """ + reader(3) + """
  writer=[ writerType=BinaryWriter; wfile=out.bin; wrecords=8
    ScaledLogLikelihood=[ sectionType=data; dim=2 ] ] ]
"""


def add_made(corpus, scratch, cntk):
    """Adds files that the program writes."""
    lines = [" ".join(str((i * j) % 7) for j in range(16)) + " " + "ab"[i % 2] for i in range(8)]
    (scratch / "data.txt").write_text("\n".join(lines) + "\n")
    (scratch / "map.txt").write_text("a\nb\n")
    (scratch / "net.ndl").write_text(NDL)
    (scratch / "image.ndl").write_text(IMAGE_NDL)
    (scratch / "config.cntk").write_text(MODELS_CONFIG)
    for name, text in (("acceptor", ACCEPTOR), ("transitions", TRANSITIONS)):
        (scratch / name).write_text(text)
    for arguments in (["configFile=config.cntk"],
                      ["argon", "-precompile", "-infsm", "acceptor", "-transition-file", "transitions", "-graph", "graph.dg"]):
        run = subprocess.run([cntk, *arguments], cwd=scratch, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                             errors="replace", check=False)
        if run.returncode != 0:
            raise SystemExit("cntk %s failed:\n%s%s" % (" ".join(arguments), run.stdout, run.stderr))
    for path in sorted(scratch.glob("*.dnn")):
        corpus.add("Model", path.name, path.read_bytes())
    for version in range(1, 15):
        content = promise((scratch / "simple.dnn").read_bytes(), "BVersion", 0, version)
        corpus.add("Model", "version%d" % version, content)
    for path in sorted(scratch.glob("*.ckp")):
        corpus.add("Checkpoint", path.name, path.read_bytes())
    for path in sorted(scratch.glob("out.bin*")):
        corpus.add("Binary", path.name, path.read_bytes())
    corpus.add("Graph", "graph.dg", (scratch / "graph.dg").read_bytes())


def promise(content, mark, offset, *numbers):
    """Replaces 64-bit numbers after the first mark in UTF-16."""
    wide = (mark + "\0").encode("utf-16-le")
    at = content.index(wide) + len(wide) + offset
    data = struct.pack("<%dQ" % len(numbers), *numbers)
    return content[:at] + data + content[at + len(data):]


def add_promises(corpus, scratch):
    """Adds small files whose headers promise gigabytes: the memory limits of the targets refuse a parser that believes it."""
    huge = 4000000000
    corpus.add("Config", "promise", "a=1*%d\nb=0:(1:2)*%d" % (huge, huge), "", "")
    corpus.add("Config", "promise-list", "\n".join("a%d=7*9000000" % i for i in range(3)), "", "")
    corpus.add("Ndl", "promise", "a=Parameter(%d,%d)\nb=Input(%d)" % (huge, huge, huge))
    corpus.add("Mel", "promise", "a=Parameter(60000,60000)\n")
    corpus.add("Uci", "promise", "cat*%d\n" % huge, "1 2 cat\n")
    corpus.add("Ctf", "promise", "0 |A 1 2 |B %d:1\n18446744073709551615 |A 3 4\n" % huge)
    corpus.add("WordLists", "promise", "x*%d\n" % huge)
    corpus.add("WordLists", "promise-classes", "0 9 a %d\n1 8 b 4294967295\n" % huge)
    corpus.add("Lm", "promise", "0 9 </s> 2000000000\n1 8 a 2147483647\n", "</s> a </s>\n")
    corpus.add("Mlf", "promise", "sil\nah\nb\n", '#!MLF!#\n"*/u1.lab"\n0 400000000000000 sil\n.\n')
    corpus.add("Scp", "promise", "a/u1.mfc=archive[0,4294967294]\n", MLF, htk([[0, 0]]))
    corpus.add("Slf", "promise", "a/u1=x[%d]\n" % huge, "VERSION=1.0\nN=%d L=%d\nI=0 t=0\nJ=0 S=0 E=1\n" % (huge, huge))
    corpus.add("Arpa", "promise", ARPA.replace("ngram 1=5", "ngram 1=%d" % huge).replace("2=3", "2=%d" % huge))
    corpus.add("Arpa", "promise-gzip", zlib.compress(b"\\data\\\n" + b"\n" * 2000000, wbits=31))
    packed = lambda text: zlib.compress(text + b"\n" * 200000, wbits=31)
    corpus.add("Transcripts", "promise-gzip", packed(b"#!MLF!#\n"))
    corpus.add("TextMatrix", "promise-gzip", packed(b"1\n"))
    corpus.add("Lu", "promise-gzip", packed(b"BOS\n"), packed(b"O\n"), packed(b"BOS O\n"))
    corpus.add("ImageList", "promise-gzip", packed(b"a.png\t1\n"))
    corpus.add("Acceptor", "promise", "0 4294967295 a\n4294967294 1 [a]\n1\n", TRANSITIONS)
    corpus.add("Htk", "promise", struct.pack(">iihh", 2**31 - 1, 100000, 32764, 9))
    corpus.add("Htk", "promise-ubyte", struct.pack(">4i", 0x803, 2**31 - 1, 30000, 30000))
    corpus.add("Htk", "promise-compressed", struct.pack(">iihh", 2**31 - 1, 100000, 32766, 6 | 0o2000))
    corpus.add("LibSvm", "promise", struct.pack("<qqii", 2**60, 2**60, 2**30, 2**30))
    corpus.add("LibSvm", "promise-rows", struct.pack("<qqii", 2, 1, 1, 1) + struct.pack("<i", 5) + b"words" +
               struct.pack("<ii", 2**31 - 1, 5) + b"label" + struct.pack("<iqi", 2**31 - 1, 0, 2) + struct.pack("<i", 2**31 - 1))
    corpus.add("SparsePc", "promise", struct.pack("<i", 2**31 - 1) + bytes(8))
    corpus.add("Dssm", "promise", struct.pack("<qiq", 2**60, 4, 2**60))
    corpus.add("Dbn", "promise", b"DBN\nx\0BDBN" + struct.pack("<ii", 0, 2**31 - 1) + b"BMATgmean\0" +
               struct.pack("<ii", 2**31 - 1, 1))
    corpus.add("Npz", "promise", (corpus.folder / "Npz/stored").read_bytes().replace(b"(2, 3)", b"(9,9e").replace(
        b"'shape': (9,9e", b"'shape': (90000000000,)")[:600])
    path = scratch / "bomb.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("W.npy", npy("<f4", (500000, 1), bytes(2000000)))
    corpus.add("Npz", "promise-bomb", path.read_bytes())
    corpus.add("Image", "promise-png", png(5, 6)[:16] + struct.pack(">II", 60000, 60000) + png(5, 6)[24:])
    corpus.add("Image", "promise-ppm", b"P6\n60000 60000\n255\n" + bytes(18))
    bomb = zlib.compress(bytes((3 * 3000 + 1) * 3000))
    chunk = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    corpus.add("Image", "promise-bomb", b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(
        ">IIBBBBB", 3000, 3000, 8, 2, 0, 0, 0)) + chunk(b"IDAT", bomb) + chunk(b"IEND", b""))
    archive = zip_of("a.png", png(5, 6))
    for mark, offset in ((b"PK\3\4", 22), (b"PK\1\2", 24)):  # the size of the image, twice
        at = archive.index(mark) + offset
        archive = archive[:at] + struct.pack("<I", 2**30) + archive[at + 4:]
    corpus.add("ImageList", "promise", ARCHIVED, archive)
    model = (scratch / "simple.dnn").read_bytes()
    corpus.add("Model", "promise-nodes", promise(model, "EVersion", 0, 2**60))
    at = ("unnamed\0").encode("utf-16-le")
    sizes = model.index(at) + len(at) + 4
    corpus.add("Model", "promise-matrix", model[:sizes] + struct.pack("<QQ", 2**31, 2**31) + model[sizes + 16:])
    # A sparse matrix of 1 GiB without elements.
    dense = model.index(b"d" + "BMAT\0".encode("utf-16-le"))
    end = model.index("EMAT\0".encode("utf-16-le"), dense)
    sparse = b"s" + "BMAT\0".encode("utf-16-le") + struct.pack("<Q", 4) + at + struct.pack("<iQQQ", 0, 0, 8192, 16384)
    corpus.add("Model", "promise-sparse", model[:dense] + sparse + model[end:])
    checkpoint = (scratch / "simple.dnn.ckp").read_bytes()
    dense = checkpoint.index(b"d" + "BMAT\0".encode("utf-16-le"))
    end = checkpoint.index("EMAT\0".encode("utf-16-le"), dense)
    corpus.add("Checkpoint", "promise-sparse", checkpoint[:dense] + sparse + checkpoint[end:])
    several = (sparse.replace(struct.pack("<QQ", 8192, 16384), struct.pack("<QQ", 1024, 4096)) +
               "EMAT\0".encode("utf-16-le")) * 40
    corpus.add("Checkpoint", "promise-several", checkpoint[:dense] + several + checkpoint[dense:])
    sizes = checkpoint.index(at) + len(at) + 4
    corpus.add("Checkpoint", "promise-matrix", checkpoint[:sizes] + struct.pack("<QQ", 2**31, 2**31) + checkpoint[sizes + 16:])
    # The count of records and of elements in the headers of the file and its sections.
    binary = (scratch / "out.bin").read_bytes()
    corpus.add("Binary", "promise", binary[:32] + struct.pack("<Q", 2**60) + binary[40:])
    graph = (scratch / "graph.dg").read_bytes()
    for at in range(8, min(len(graph), 128), 8):
        corpus.add("Graph", "promise%d" % at, graph[:at] + struct.pack("<Q", 2**33) + graph[at + 8:])


def add_golden(corpus, shared):
    targets = {".dnn": "Model", ".ckp": "Checkpoint", ".ndl": "Ndl", ".mel": "Mel", ".cntk": "Config", ".arpa": "Arpa"}
    for path in sorted(shared.rglob("*")):
        parent = path.parent.relative_to(shared)
        ending = ".dnn" if ".dnn." in path.name and path.suffix[1:].isdigit() else path.suffix
        if ending in targets and path.is_file() and path.stat().st_size <= 16384:
            name = "-".join((*parent.parts, path.name))
            corpus.add(targets[ending], name, path.read_bytes())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cntk", default=os.environ.get("CNTK", ROOT / "build/bin/cntk"))
    parser.add_argument("--golden", action="store_true")
    parser.add_argument("folder")
    arguments = parser.parse_args()
    corpus = Corpus(arguments.folder)
    with tempfile.TemporaryDirectory(prefix="cntk-corpus-") as scratch:
        scratch = pathlib.Path(scratch)
        add_texts(corpus)
        add_speech(corpus)
        add_records(corpus)
        add_dbn(corpus)
        add_npz(corpus, scratch)
        add_images(corpus)
        add_made(corpus, scratch, pathlib.Path(arguments.cntk).absolute())
        add_promises(corpus, scratch)
    if arguments.golden:
        add_golden(corpus, pathlib.Path(os.environ.get("CNTK_TEST_SHARED", ROOT.parent / "shared")))


if __name__ == "__main__":
    main()
