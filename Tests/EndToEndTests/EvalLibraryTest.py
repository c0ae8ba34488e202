#!/usr/bin/env python3
"""Installs the library into a fresh folder, builds programs with pkg-config and with CMake, and compares their outputs with
those of action=write."""
import os
import re
import shutil
import subprocess
import unittest

from EndToEnd import CNTK, ROOT, EndToEndTest, main
from PagesTest import BLOCK

BUILD = CNTK.parents[1]
LIBRARY = BUILD / "lib/libcntk.so.1"
TRAIN = """
command=Train:Write
modelPath=simple.dnn
deviceId=-1
reader=[ readerType=UCIFastReader; file=data.txt; randomize=none
    features=[ dim=2; start=0 ]; labels=[ dim=1; start=2; labelDim=2; labelMappingFile=map.txt ] ]
Train=[ action=train
    SimpleNetworkBuilder=[ layerSizes=2:5:2; layerTypes=Sigmoid; trainingCriterion=CrossEntropyWithSoftmax
        evalCriterion=ErrorPrediction; applyMeanVarNorm=true ]
    SGD=[ minibatchSize=10; maxEpochs=2; learningRatesPerMB=0.5 ] ]
Write=[ action=write; outputPath=out ]
"""


# A program that uses cntk/Eval.h wrongly, then rightly.
MISTAKES = """
#include "Eval.h"
#include <cstdio>
using namespace Microsoft::MSR::CNTK;
int main()
{
    IEvaluateModel<float>* model;
    GetEvalF(&model);
    std::vector<float> samples{0, 0, 1, 1, 0, 1}, scores;
    std::map<std::wstring, std::vector<float>*> in, out{{L"scores", nullptr}};
    const auto evaluate = [&]
    {
        try { model->Evaluate(in, out); }
        catch (const std::runtime_error& error) { std::printf("%s\\n", error.what()); }
    };
    model->Init("numCPUThreads=1");
    out[L"scores"] = &scores;
    evaluate();
    model->CreateNetwork("modelPath=simple.dnn; deviceId=-1");
    out[L"scores"] = nullptr;
    evaluate();
    out[L"scores"] = &scores;
    evaluate();
    std::map<std::wstring, std::size_t> sizes;
    model->GetNodeDimensions(sizes, nodeOutput);
    out = {{sizes.begin()->first, &scores}};
    evaluate();
    in[L"features"] = &samples;
    evaluate();
    std::printf("%zu scores\\n", scores.size());
    model->Destroy();
}
"""


def rows(text):
    return [[float(number) for number in line.split()] for line in text.splitlines() if re.match(r"^[-0-9. ]+$", line)]


@unittest.skipUnless(LIBRARY.exists() and (BUILD / "cmake_install.cmake").exists(), "the library was not built")
class EvalLibraryTest(EndToEndTest):
    def setUp(self):
        super().setUp()
        self.prefix = self.folder / "prefix"
        for component in ("library", "dev"):
            self.call(["cmake", "--install", BUILD, "--prefix", self.prefix, "--component", component])
        library = next(self.prefix.rglob("libcntk.so.1")).parent
        self.environment = dict(os.environ, PKG_CONFIG_PATH=str(library / "pkgconfig"), LD_LIBRARY_PATH=str(library),
                                CMAKE_PREFIX_PATH=str(self.prefix))

    def call(self, command, status=0):
        done = subprocess.run(command, cwd=self.folder, shell=isinstance(command, str), stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, encoding="utf-8", timeout=300, check=False,
                              env=getattr(self, "environment", None))
        self.assertEqual(done.returncode, status, "%s\n%s" % (command, done.stdout))
        return done.stdout

    def train(self):
        samples = [(i * 37 % 41 / 20 - 1, i * 29 % 31 / 15 - 1) for i in range(60)]
        self.write("data.txt", "".join("%f %f %d\n" % (x, y, x * y > 0) for x, y in samples))
        self.write("samples.txt", "".join("%f %f\n" % sample for sample in samples))
        self.write("map.txt", "0\n1\n")
        self.write("exp.cntk", TRAIN)
        self.cntk("configFile=exp.cntk")
        return rows(next(self.folder.glob("out.*")).read_text(encoding="utf-8"))

    def need(self, *programs):
        for program in programs:
            if shutil.which(program) is None:
                self.skipTest("%s is not installed" % program)

    def test_examples_give_the_outputs_of_the_write_action(self):
        self.need("cc", "c++", "pkg-config")
        expected = self.train()
        examples = ROOT / "Examples/Evaluation"
        for source, compiler in (("Evaluate.c", "cc -std=c11"), ("Evaluate.cpp", "c++ -std=c++17 -pthread"),
                                 ("EvaluateModel.cpp", "c++ -std=c++17")):
            self.call("%s -Wall -Wextra -Werror %s $(pkg-config --cflags --libs cntk) -o evaluate" %
                      (compiler, examples / source))
            found = rows(self.call("./evaluate simple.dnn samples.txt"))
            self.assertEqual(len(found), len(expected), source)
            for line, wanted in zip(found, expected):
                for a, b in zip(line, wanted):
                    self.assertAlmostEqual(a, b, delta=2e-5, msg=source)

    def test_the_interface_of_2016_reports_mistakes(self):
        self.need("c++", "pkg-config")
        self.train()
        self.write("mistakes.cpp", MISTAKES)
        self.call("c++ -std=c++17 mistakes.cpp $(pkg-config --cflags --libs cntk) -o mistakes")
        self.assertEqual(self.call("./mistakes").splitlines(), [
            "there is no network; call CreateNetwork first", "output 'scores' has no vector for its values",
            "the model has no node 'scores'", "the outputs need input 'features', which was not given", "6 scores"])

    def test_the_page_builds_and_prints_what_it_shows(self):
        self.need("cc", "c++", "pkg-config", "cmake")
        self.train()
        page = (ROOT / "Documentation/Embedding.md").read_text(encoding="utf-8")
        commands = []
        for path, language, text in BLOCK.findall(page):
            if language == "console":
                commands += re.findall(r'^\$ (.*)\n((?:(?!\$ ).*\n)*)', text, re.MULTILINE)
            elif path:
                self.write(path, text)
        self.assertEqual(len(commands), 5)
        for command, output in commands:
            self.assertEqual(self.call(command, status=1 if "missing" in command else 0), output, command)
        # The blocks without a path are lines of a program.
        lines = [text for path, language, text in BLOCK.findall(page) if language == "c" and not path]
        self.write("lines.c", "#include <cntk/cntk.h>\nvoid f(cntk_model* model, cntk_evaluator* evaluator, float* samples)"
                              "\n{\n%s}\n" % "".join(lines))
        self.call("cc -std=c11 -Wall -c lines.c $(pkg-config --cflags cntk) -o lines.o")
        self.call("cmake -S . -B foreign >log && cmake --build foreign >log")
        self.assertIn("4 scores", self.call("foreign/scores"))

    def test_only_the_interface_is_visible(self):
        self.need("nm", "readelf")
        names = [line.split() for line in self.call(["nm", "-D", "--defined-only", LIBRARY]).splitlines()]
        functions = {name.split("@")[0] for _, kind, name in names if kind == "T"}
        header = (ROOT / "Source/EvalLibrary/Include/cntk/cntk.h").read_text(encoding="utf-8")
        declared = set(re.findall(r"CNTK_EXPORT [^;(]*?\b(cntk_\w+)\(", header))
        self.assertEqual(functions, declared)
        self.assertTrue(all(name.endswith("@@CNTK_1") for _, kind, name in names if kind == "T"))
        needed = re.findall(r"NEEDED.*\[(.*?)\]", self.call(["readelf", "-d", LIBRARY]))
        if not any("asan" in name or "tsan" in name for name in needed):
            self.assertLessEqual(set(needed), {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0",
                                               "ld-linux-x86-64.so.2"})

    def test_the_library_may_be_opened_and_closed(self):
        self.train()
        program = self.write("open.py", """
import ctypes, _ctypes, pathlib, sys
def use():
    library = ctypes.CDLL(sys.argv[1])
    model, evaluator = ctypes.c_void_p(), ctypes.c_void_p()
    assert library.cntk_model_load(b"simple.dnn", 0, ctypes.byref(model)) == 0
    assert library.cntk_evaluator_create(model, None, 0, ctypes.byref(evaluator)) == 0
    values, samples = (ctypes.c_float * 2)(0.5, 0.5), ctypes.c_size_t()
    assert library.cntk_set_dense(evaluator, ctypes.c_size_t(0), 1, values, ctypes.c_size_t(1)) == 0
    assert library.cntk_evaluate(evaluator) == 0
    assert library.cntk_get(evaluator, ctypes.c_size_t(0), 1, values, ctypes.c_size_t(2), ctypes.byref(samples)) == 0
    assert library.cntk_model_load(b"nothing", 0, ctypes.byref(ctypes.c_void_p())) == 5
    library.cntk_evaluator_release(evaluator)
    library.cntk_model_release(model)
    _ctypes.dlclose(library._handle)
def resident():
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * 4096
for _ in range(20):
    use()
before = resident()
for _ in range(100):
    use()
assert resident() - before < 2 << 20, resident() - before
assert "libcntk" not in pathlib.Path("/proc/self/maps").read_text()
""")
        self.call(["python3", program, LIBRARY])

    def test_evaluators_need_the_memory_of_the_parameters_once(self):
        self.write("big.mel", "model=CreateModel()\nSetDefaultModel(model)\nx=InputValue(4000)\n"
                              "W=LearnableParameter(4000,4000)\nz=Times(W,x)\nSetProperty(z,output,true)\n"
                              "SaveModel(model,big.dnn)\n")
        self.write("big.cntk", "command=Make\nprecision=float\nMake=[ action=edit; editPath=big.mel ]\n")
        self.cntk("configFile=big.cntk")
        program = self.write("memory.py", """
import ctypes, pathlib, re, sys
def most():
    return int(re.search(r"VmHWM:\\s*(\\d+)", pathlib.Path("/proc/self/status").read_text())[1]) * 1024
library = ctypes.CDLL(sys.argv[1])
values, before = (ctypes.c_float * 4000)(), most()
model = ctypes.c_void_p()
assert library.cntk_model_load(b"big.dnn", 0, ctypes.byref(model)) == 0
for _ in range(8):
    evaluator = ctypes.c_void_p()
    assert library.cntk_evaluator_create(model, None, 0, ctypes.byref(evaluator)) == 0
    assert library.cntk_set_dense(evaluator, ctypes.c_size_t(0), 1, values, ctypes.c_size_t(1)) == 0
    assert library.cntk_evaluate(evaluator) == 0
print((most() - before) >> 20)
""")
        self.assertLess(int(self.call(["python3", program, LIBRARY])), 61 * 1.25)  # MB; the parameter has 61 MB


if __name__ == "__main__":
    main()
