#!/usr/bin/env python3
"""Tests action=export and action=import with npz and text: arrays equal the model's values, every kind of array that
import accepts, and the message for each damaged file."""
import io
import json
import struct
import subprocess
import zipfile

import Interop
from Interop import SYSTEM_PYTHON, has_module

# A model of all shapes; Mean and InvStdDev are set by an import.
SCRIPT = """model=CreateModel()
SetDefaultModel(model)
x=InputValue(3)
W=LearnableParameter(2,3,init=uniform)
T=LearnableParameter(dims={2,3,4},init=uniform)
b=LearnableParameter(2,1,init=uniform)
M=Mean(x)
z=Plus(Times(W,x),b)
SetProperty(z,output,true)
SaveModel(model,m.dnn)
"""
CONFIG = """command=Make
precision=float
deviceId=cpu
Make=[ action=edit; editPath=m.mel ]
Export=[ action=export; modelPath=m.dnn; outputPath=out/m.npz ]
Text=[ action=export; modelPath=m.dnn; outputPath=text; format=text ]
Import=[ action=import; modelPath=m.dnn; inputPath=in.npz; outputModelPath=new.dnn ]
Again=[ action=export; modelPath=new.dnn; outputPath=new.npz ]
"""


def npy(descr, shape, data, order="False", version=1, length=None):
    """The bytes of an array, with a header that may lie."""
    header = "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }" % (descr, order, shape)
    header = header.ljust(117) + "\n"
    size = len(header) if length is None else length
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", size) + header.encode() + data


def archive(entries, method=zipfile.ZIP_STORED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as file:
        for name, data in entries.items():
            file.writestr(name, data)
    return bytearray(buffer.getvalue())


def doubles(*values):
    return struct.pack("<%dd" % len(values), *values)


class NumpyTest(Interop.EndToEndTest):
    def setUp(self):
        super().setUp()
        self.write("m.mel", SCRIPT)
        self.write("c.cntk", CONFIG)
        self.run_commands("Make")

    def run_commands(self, commands, *arguments, status=0):
        return self.cntk("configFile=c.cntk", "command=" + commands, *arguments, status=status)

    def numpy(self, script):
        """Runs a script with numpy as np in the folder; returns what it prints."""
        if not has_module("numpy"):
            self.skipTest("numpy is not installed")
        run = subprocess.run([SYSTEM_PYTHON, "-c", "import numpy as np\n" + script], cwd=self.folder, capture_output=True,
                             text=True)
        self.assertEqual("", run.stderr)
        return run.stdout

    def import_file(self, data, status=0, *arguments):
        (self.folder / "in.npz").write_bytes(data)
        return self.run_commands("Import", *arguments, status=status)

    # ---- out ----

    def test_arrays_have_the_models_values(self):
        run = self.run_commands("Export:Text")
        self.assertIn("Exported 3 parameters with 32 values (float) to 'out/m.npz'.", run.stderr)
        self.assertIn("'M' (Mean) is not computed yet and is left out", run.stderr)
        printed = self.numpy("""
a = np.load('out/m.npz')
assert a.files == ['b', 'T', 'W', 'special:cntk.json'], a.files
for name, shape in (('b', (2, 1)), ('T', (2, 3, 4)), ('W', (2, 3))):
    assert a[name].shape == shape and a[name].dtype == np.float32 and a[name].flags.c_contiguous
    text = np.loadtxt('text/%s.txt' % name, dtype=np.float32).reshape(shape, order='F')
    assert (text == a[name]).all(), name
print(bytes(a['special:cntk.json']).decode())
model = open('m.dnn', 'rb').read()
for name in ('b', 'T', 'W'):
    assert a[name].tobytes('F') in model, name
""")
        manifest = json.loads(printed)
        self.assertEqual((1, "float"), (manifest["format"], manifest["precision"]))
        self.assertEqual({"type": "LearnableParameter", "dims": [2, 3, 4]}, manifest["nodes"]["T"])
        self.assertEqual("name\ttype\tdims\tfile\nb\tLearnableParameter\t2 x 1\tb.txt\n"
                         "T\tLearnableParameter\t2 x 3 x 4\tT.txt\nW\tLearnableParameter\t2 x 3\tW.txt\n",
                         self.read("text/parameters.tsv"))

    def test_archive_is_stored_and_always_the_same(self):
        self.run_commands("Export")
        first = (self.folder / "out/m.npz").read_bytes()
        with zipfile.ZipFile(io.BytesIO(first)) as file:
            self.assertIsNone(file.testzip())
            for entry in file.infolist():
                self.assertEqual((zipfile.ZIP_STORED, (1980, 1, 1, 0, 0, 0)), (entry.compress_type, entry.date_time))
                header = file.read(entry)[:10]
                self.assertEqual((b"\x93NUMPY\x01\x00", 0), (header[:8], (10 + struct.unpack("<H", header[8:])[0]) % 64))
        self.run_commands("Export")
        self.assertEqual(first, (self.folder / "out/m.npz").read_bytes())

    def test_double_model_keeps_its_digits(self):
        self.run_commands("Make:Export", "precision=double", "stderr=log")
        self.cntk("configFile=c.cntk", "command=Export")
        config = CONFIG.replace("precision=float\n", "")
        self.write("c.cntk", config)
        self.run_commands("Export")
        self.assertIn(b"<f8", (self.folder / "out/m.npz").read_bytes())
        self.run_commands("Export", "precision=float")
        self.assertIn(b"<f4", (self.folder / "out/m.npz").read_bytes())

    def test_patterns_choose_parameters(self):
        run = self.run_commands("Export", "Export=[nodeNames=W*:B]")
        self.assertIn("Exported 2 parameters with 8 values", run.stderr)
        run = self.run_commands("Export", "Export=[nodeNames=V*]", status=3)
        self.assertIn("nodeNames: no parameter of the model has a name like 'V*'", run.stderr.splitlines()[-1])

    def test_format_follows_the_ending(self):
        run = self.run_commands("Export", "Export=[outputPath=weights]", status=3)
        self.assertIn("the ending of outputPath 'weights' names no format", run.stderr.splitlines()[-1])
        run = self.run_commands("Export", "Export=[outputPath=weights]", "format=[precisionFormat=.3]", status=3)
        self.assertIn("belongs to the write action", run.stderr.splitlines()[-1])
        run = self.run_commands("Export", "format=[precisionFormat=.3]")
        self.assertIn("belongs to the write action and is no value of this key; the ending of outputPath gives the format npz",
                      run.stderr)
        self.run_commands("Text", "format=[precisionFormat=.3]")
        run = self.run_commands("Export", "Export=[format=[precisionFormat=.3]]", status=3)
        self.assertIn("expected npz, text or onnx", run.stderr.splitlines()[-1])
        run = self.run_commands("Export", "Export=[format=nmz]", status=3)
        self.assertIn("npz", run.stderr.splitlines()[-1])

    def test_check_writes_nothing(self):
        run = self.run_commands("Export:Text", "--check")
        self.assertIn("Would export 3 parameters with 32 values (float) to 'out/m.npz'.", run.stderr)
        self.assertFalse((self.folder / "out").exists() or (self.folder / "text").exists())

    def test_text_is_read_by_init_from_file(self):
        self.run_commands("Text")
        self.write("m.mel", SCRIPT.replace("b=LearnableParameter(2,1,init=uniform)",
                                           'b=LearnableParameter(2,1,init=fromFile,initFromFilePath="text/b.txt")'))
        text = self.read("text/b.txt")
        self.run_commands("Make:Text")
        self.assertEqual(text, self.read("text/b.txt"))

    # ---- in ----

    def test_every_kind_of_array_comes_in(self):
        self.numpy("""
W = np.array([[1, 2, 3], [4, 5, 6.5]])
T = np.arange(24).reshape(2, 3, 4) / 8
np.savez('plain.npz', W=W, T=T, b=np.array([[0.5], [-2]]), M=np.array([1, 2, 3.0]))
np.savez_compressed('packed.npz', W=np.asfortranarray(W, dtype='>f8'), T=T.astype('f4'), b=np.float16([0.5, -2]),
                    M=np.array([1, 2, 3], dtype='>f4').reshape(3, 1))
""")
        for name in ("plain", "packed"):
            run = self.import_file((self.folder / (name + ".npz")).read_bytes())
            self.assertIn("Imported 4 parameters with 35 values (float) from 'in.npz'.", run.stderr)
            self.run_commands("Again")
            self.numpy("""
a, b = np.load('plain.npz'), np.load('new.npz')
for name in a.files:
    assert (a[name].reshape(b[name].shape) == b[name]).all(), name
""")

    def test_versions_two_and_three(self):
        for version in (2, 3):
            self.import_file(archive({"b.npy": npy("<f8", "(2, 1)", doubles(7, 8), version=version)}))

    def test_file_may_have_a_part_of_the_parameters(self):
        data = archive({"special:other": b"", "b.npy": npy("<f8", "(2,)", doubles(1, 2))})
        run = self.import_file(data)
        self.assertIn("Imported 1 parameter with 2 values", run.stderr)
        self.assertIn("Unchanged, because the file does not have them: M, T, W\n", run.stderr)
        run = self.import_file(data, 4, "Import=[requireAll=true]")
        self.assertIn("'in.npz' lacks M, T, W", run.stderr.splitlines()[-1])

    def test_a_builder_of_the_command_is_nearer_than_a_model_at_the_root(self):
        (self.folder / "in.npz").write_bytes(archive({"V.npy": npy("<f8", "(2, 3)", doubles(1, 2, 3, 4, 5, 6))}))
        self.write("net.ndl", "f=Input(3)\nV=Parameter(2,3)\nz=Times(V,f)\nFeatureNodes=(f)\nOutputNodes=(z)\n")
        self.write("builder.cntk", "modelPath=m.dnn\ncommand=Import\nImport=[ action=import; inputPath=in.npz; "
                                   "outputModelPath=new.dnn\nNDLNetworkBuilder=[ networkDescription=net.ndl ] ]\n")
        run = self.cntk("configFile=builder.cntk")
        self.assertIn("Imported 1 parameter with 6 values", run.stderr)
        run = self.cntk("configFile=builder.cntk", "Import=[modelPath=m.dnn]", status=4)
        self.assertIn("the network has no parameter 'V'", run.stderr.splitlines()[-1])

    def test_model_may_be_replaced(self):
        (self.folder / "in.npz").write_bytes(archive({"b.npy": npy("<f8", "(2, 1)", doubles(1, 2))}))
        self.run_commands("Import:Text", "Import=[outputModelPath=m.dnn]")
        self.assertEqual("1\n2\n", self.read("text/b.txt"))

    def test_values_that_are_not_finite(self):
        data = archive({"b.npy": npy("<f8", "(2, 1)", doubles(1, 1e300))})
        run = self.import_file(data, 4)
        self.assertIn("entry 'b.npy' of 'in.npz' holds 1e+300 (as a float), value 2 of 2", run.stderr.splitlines()[-1])
        self.import_file(data, 0, "Import=[allowNonFinite=true]")

    def test_damaged_files_name_the_damage(self):
        good = npy("<f8", "(2, 1)", doubles(1, 2))
        broken = archive({"b.npy": good})
        broken[broken.index(doubles(1, 2))] ^= 1
        cut = archive({"b.npy": good})
        cases = {
            "'in.npz' is no zip archive": b"nonsense" * 100,
            "is a damaged zip archive": broken,
            "'in.npz' is no zip archive; expected": cut[:60],
            "the network has no parameter 'bb'": archive({"bb.npy": good}),
            "'x' of the network is a InputValue, which stores no values": archive({"x.npy": good}),
            "is no array; expected names of parameters with the ending .npy": archive({"b.txt": good}),
            "is no npy array": archive({"b.npy": b"plain text, no array"}),
            "has npy version 4; expected 1 to 3": archive({"b.npy": npy("<f8", "(2, 1)", doubles(1, 2), version=4)}),
            "promises an npy header of 60000 bytes, but has": archive(
                {"b.npy": npy("<f8", "(2, 1)", doubles(1, 2), length=60000)}),
            "holds pickled Python objects ('|O'), which are never read": archive({"b.npy": npy("|O", "(2, 1)", b"x" * 16)}),
            "has elements of type '<i8'; expected <f4, <f8, >f4, >f8 or <f2": archive(
                {"b.npy": npy("<i8", "(2, 1)", doubles(1, 2))}),
            "has shape (3, 1), but 'b' is [2 x 1] in the network": archive(
                {"b.npy": npy("<f8", "(3, 1)", doubles(1, 2, 3))}),
            "has shape (1, 2), but 'b' is [2 x 1] in the network": archive({"b.npy": npy("<f8", "(1, 2)", doubles(1, 2))}),
            "has shape (4611686018427387904,) of 8-byte elements, which does not agree with its 16 bytes": archive(
                {"b.npy": npy("<f8", "(4611686018427387904,)", doubles(1, 2))}),
            "has a damaged npy header: expected": archive({"b.npy": npy("<f8", "(2, x)", doubles(1, 2))}),
            "has format 2; expected 1: the file was written by a later program": archive(
                {"special:cntk.json.npy": npy("|u1", "(12,)", b'{"format":2}')}),
            "'b' comes twice in the file": archive({"b.npy": good, "B.npy": good}),
        }
        for message, data in cases.items():
            with self.subTest(message):
                run = self.import_file(data, 4)
                self.assertIn(message, run.stderr.splitlines()[-1])
                self.assertFalse((self.folder / "new.dnn").exists())

    def test_large_promises_cost_nothing(self):
        # A deflated entry of a few bytes that promises 4 GB: the network's own size is the limit.
        data = archive({"b.npy": npy("<f8", "(2, 1)", doubles(1, 2))}, zipfile.ZIP_DEFLATED)
        for at in (22, data.index(b"PK\x01\x02") + 24):  # in the entry's own header and in the directory
            struct.pack_into("<I", data, at, 0xF0000000)
        (self.folder / "in.npz").write_bytes(data)
        run = self.cntk("configFile=c.cntk", "command=Import", status=4, address_space=2 << 30)
        self.assertIn("ends before its 4026531840 bytes", run.stderr.splitlines()[-1])

    def test_missing_input(self):
        run = self.run_commands("Import", status=4)
        self.assertIn("cannot open file 'in.npz'", run.stderr.splitlines()[-1])


if __name__ == "__main__":
    Interop.main()
