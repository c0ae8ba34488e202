#!/usr/bin/env python3
"""Runs each check on a small project with one fault, which it must find."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

TOOLS = pathlib.Path(__file__).resolve().parent


class ToolsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.write("Source/Common/Error.h", "#pragma once\nnamespace cntk\n{\nvoid Fail();\n}\n")
        self.write("Source/Math/Matrix.h", '#pragma once\n#include "Common/Error.h"\n')
        self.write("Source/Readers/ReaderLib/Packer.h", '#pragma once\n#include "Common/Error.h"\n')
        self.write("README.md", "[license](LICENSE) and [there](#below)\n\n# Below\n")
        self.write("LICENSE", "free\n")
        shutil.copy(TOOLS / "../../.clang-format", self.root)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def run_tool(self, tool, *arguments):
        run = subprocess.run([sys.executable, TOOLS / tool, "--root", self.root, *arguments], stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True, check=False)
        return run.returncode, run.stdout

    def assert_caught(self, tool, *texts):
        code, output = self.run_tool(tool)
        self.assertEqual(code, 1, output)
        for text in texts:
            self.assertIn(text, output)

    def test_clean_project_passes(self):
        for tool in ("CheckLayers", "CheckHeaders", "CheckSizes", "CheckNames", "CheckDocs", "CheckFormat", "CheckProse"):
            code, output = self.run_tool(tool)
            self.assertEqual(code, 0, output)

    def test_layers_upward_include(self):
        self.write("Source/Common/Log.h", '#pragma once\n#include "Math/Matrix.h"\n')
        self.assert_caught("CheckLayers", 'Source/Common/Log.h:2: Common/Log.h may not include "Math/Matrix.h"')

    def test_layers_reader_includes_math(self):
        self.write("Source/Readers/UCIFastReader/Reader.cpp", '#include "Math/Matrix.h"\n')
        self.assert_caught("CheckLayers", "Source/Readers/UCIFastReader/Reader.cpp:1:")

    def test_layers_reader_includes_another_reader(self):
        self.write("Source/Readers/AReader/Parser.h", "#pragma once\n")
        self.write("Source/Readers/BReader/Reader.cpp",
                   '#include "Readers/AReader/Parser.h"\n#include "Readers/ReaderLib/Packer.h"\n')
        self.assert_caught("CheckLayers", "Source/Readers/BReader/Reader.cpp:1:", "1 wrong includes")

    def test_layers_path_not_from_source(self):
        self.write("Source/Math/Tensor.cpp", '#include "Matrix.h"\n#include "../Common/Error.h"\n')
        self.assert_caught("CheckLayers", "Tensor.cpp:1:", "Tensor.cpp:2:", "write the path from Source")

    def test_layers_openmp_outside_kernels(self):
        self.write("Source/Math/Cpu/Gemm.cpp", "#pragma omp parallel\n")
        self.assertEqual(self.run_tool("CheckLayers")[0], 0)
        self.write("Source/Math/Matrix.cpp", "#pragma omp parallel\n")
        self.assert_caught("CheckLayers", "Source/Math/Matrix.cpp:1: OpenMP belongs in")

    def test_layers_unknown_folder(self):
        self.write("Source/Utils/Things.h", "#pragma once\n")
        self.assert_caught("CheckLayers", "Source/Utils is in no layer")

    def test_headers_missing_include(self):
        self.write("Source/Common/Text.h", "#pragma once\nstd::string Trim();\n")
        self.assert_caught("CheckHeaders", "does not compile alone: Source/Common/Text.h")

    def test_headers_that_the_build_compiles(self):
        self.write("Source/Common/Text.h", "#pragma once\nstd::string Trim();\n")
        self.write("Source/Common/Text.cpp", '// Texts.\n#include <string>\n#include "Common/Text.h"\n')
        self.assert_caught("CheckHeaders", "does not compile alone: Source/Common/Text.h")
        self.write("Source/Common/Text.cpp", '// Texts.\n#include "Common/Text.h"\n#include <string>\n')
        code, output = self.run_tool("CheckHeaders") # the build reports its fault
        self.assertEqual(code, 0, output)
        self.assertIn("4 headers, 3 of them compiled here", output)

    def test_headers_missing_guard(self):
        self.write("Source/Common/Text.h", "struct Text\n{\n};\n")
        self.write("Source/Common/Text.cpp", '#include "Common/Text.h"\n')
        self.assert_caught("CheckHeaders", "does not compile alone: Source/Common/Text.h")

    def check_baseline(self, source):
        build = self.root / "build"
        folder = build / "KernelsAvx2.dir"
        self.write("build/KernelsAvx2.dir/Kernels.cpp", source)
        subprocess.run([os.environ.get("CXX", "c++"), "-c", "-o", folder / "Kernels.cpp.o", folder / "Kernels.cpp"],
                       check=True)
        run = subprocess.run([sys.executable, TOOLS / "CheckBaseline", build], stdout=subprocess.PIPE, text=True,
                             check=False)
        return run.returncode, run.stdout

    def test_baseline_weak_function(self):
        code, output = self.check_baseline("inline int Twice(int x) { return 2 * x; }\nint (*s_twice)(int) = Twice;\n")
        self.assertEqual(code, 1, output)
        self.assertIn("Kernels.cpp: weak function Twice(int)", output)
        code, output = self.check_baseline("static int Twice(int x) { return 2 * x; }\nint (*s_twice)(int) = Twice;\n")
        self.assertEqual(code, 0, output)

    def test_baseline_without_objects(self):
        run = subprocess.run([sys.executable, TOOLS / "CheckBaseline", self.root], stdout=subprocess.PIPE, check=False)
        self.assertEqual(run.returncode, 1)

    def check_hardening(self, *flags, kind="Release"):
        build = self.root / "hardened"
        self.write("hardened/CMakeCache.txt", "CMAKE_BUILD_TYPE:STRING=%s\n" % kind)
        self.write("hardened/bin/main.c", "#include <string.h>\n"
                   "int main(int n, char** words) { char text[64]; strcpy(text, words[0]); return text[n]; }\n")
        subprocess.run(["cc", "-w", "-O2", "-U_FORTIFY_SOURCE", *flags, "-o", build / "bin/cntk", build / "bin/main.c"], check=True)
        run = subprocess.run([sys.executable, TOOLS / "CheckHardening", build], stdout=subprocess.PIPE, text=True,
                             check=False)
        return run.returncode, run.stdout

    def test_hardening(self):
        hardened = ["-fPIE", "-pie", "-fstack-protector-strong", "-D_FORTIFY_SOURCE=2", "-Wl,-z,relro,-z,now,-z,noexecstack"]
        self.assertEqual(self.check_hardening(*hardened)[0], 0)
        self.assertIn("no index of the standard library is checked", self.check_hardening(*hardened, kind="Debug")[1])
        soft = ["-fno-pie", "-no-pie", "-fno-stack-protector", "-Wl,-z,norelro,-z,lazy,-z,execstack"]
        code, output = self.check_hardening(*soft)
        self.assertEqual(code, 1, output)
        for fault in ["no full RELRO", "an executable stack", "no stack protector", "not position-independent",
                      "no function is called in its checked form"]:
            self.assertIn(fault, output)

    def test_sizes(self):
        self.write("Source/Common/Long.h", "\n" * 401)
        self.write("Source/Common/Long.cpp", "\n" * 701)
        self.assert_caught("CheckSizes", "Long.h: 401 lines, the limit is 400", "Long.cpp: 701 lines")

    def test_names(self):
        for name in "A", "B":
            self.write("Tests/UnitTests/MathTests/%s.cpp" % name, "constexpr int c_size = 1;\nstruct Bench\n{\n};\n"
                       "int Twice(int %s)\n{\n    return 2;\n}\nint %s(int x)\n{\n    return x;\n}\n" % (name.lower(), name))
        self.write("Tests/UnitTests/SGDTests/C.cpp", "constexpr int c_size = 1;\n")
        self.write("Source/Common/A.cpp", "using Parts = int;\nint Whole::Other()\n{\n}\n")
        self.write("Source/Common/B.cpp", "int Parts(int x)\n{\n    return x;\n}\nusing Other = int;\n")
        for name in "SGD/A", "SGD/B", "Math/Cpu/A", "Math/Cpu/B":
            self.write("Source/%s.cpp" % name, "constexpr int c_most = 1;\nusing Own = %s;\nusing Same = int;\n" %
                       name.replace("/", ""))
        self.assert_caught("CheckNames", *("A.cpp: the %s is in Tests/UnitTests/MathTests/B.cpp, too" % name for name in
                                           ("constant c_size", "type Bench", "function int Twice(int)")),
                           "Source/SGD/A.cpp: the constant c_most is in Source/SGD/B.cpp, too",
                           "Source/SGD/A.cpp: Own is SGDA; Source/SGD/B.cpp: Own is SGDB; rename one",
                           "Source/Common/A.cpp: Parts is an alias; Source/Common/B.cpp: Parts is a function; rename one",
                           "13 names, 6 in several files")

    def test_format(self):
        self.write("Source/Common/Text.h", "#pragma once\nint *x ;\n")
        self.assert_caught("CheckFormat", "Text.h:2")
        self.assertEqual(self.run_tool("CheckFormat", "--fix")[0], 0)
        self.assertEqual(self.run_tool("CheckFormat")[0], 0)

    def test_prose_comments(self):
        self.write("Source/Common/Text.h", "// Returns the text.\n// What it returns.\n\nint x; // of the text\n"
                   "int y; // Whether y counts.\nauto z = \"// What\";\n")
        self.write("Tests/EndToEndTests/A.py", '"""As users do."""\n# So that it runs.\nTEXT = """\nWhat users say\n"""\n')
        self.write("Tests/Tools/CheckThings", "#!/bin/sh\n# Which things?\n")
        self.write("Makefile", "# Of all targets.\n")
        self.assert_caught("CheckProse", "Source/Common/Text.h:5: the comment begins with a fragment: 'Whether y counts.'",
                           "Tests/EndToEndTests/A.py:1:", "Tests/EndToEndTests/A.py:2:", "Tests/Tools/CheckThings:2:",
                           "Makefile:1:", "5 places to rewrite")

    def test_prose_sentences(self):
        words = "word " * 33
        self.write("Documentation/Guide.md", "# Guide\n\nIt has %sof `some code here`. As e.g. %shere.\n\n```\n%s%s\n```\n"
                   % (words, words, words, words))
        self.write("Examples/README.md", "| a table | %s%s|\n" % (words, words))
        self.assert_caught("CheckProse", "Documentation/Guide.md:3: a sentence of 36 words (at most 35)",
                           "Examples/README.md:1: a sentence of 66 words", "3 places to rewrite")

    def test_docs_links(self):
        self.write("Documentation/Guide.md", "[a](../README.md) [b](Gone.md)\n[c](../README.md#below)\n"
                   "[d](../README.md#nothing)\n`[e](f.md)`\n```\n[g](h.md)\n```\n[i](https://example.org/x)\n")
        self.assert_caught("CheckDocs", "Guide.md:1: the link to 'Gone.md'", "Guide.md:3: 'README.md' has no heading",
                           "2 faults")

    def test_docs_names_of_the_architecture(self):
        self.write("Source/Math/BigMatrix.h", "#pragma once\nclass PlainMatrix;\n")
        self.write("Documentation/Architecture.md", "`BigMatrix`, `Fail`, `Math/PlainMatrix`,\n`SmallMatrix::View()`\n")
        self.write("Documentation/Guide.md", "`YourReader`\n")
        self.write("Documentation/Architecture/Math.md", "`LargeMatrix`\n")
        self.assert_caught("CheckDocs", "Architecture.md:2: the sources have no 'SmallMatrix'",
                           "Architecture/Math.md:1: the sources have no 'LargeMatrix'", "2 faults")

    def test_docs_machine_paths(self):
        self.write("notes.txt", "data in " + "/wo" + "rk/data\n../wo" + "rk/data is fine, net/wo" + "rk too\n")
        self.assert_caught("CheckDocs", "notes.txt:1: an absolute path of one machine", "1 faults")

    def test_scripts_are_executable(self):
        self.write("Examples/Run.py", "#!/usr/bin/env python3\n")
        self.write("Examples/Part.py", "x = 1\n")
        self.assert_caught("CheckDocs", "Examples/Run.py:1: the script names its interpreter, but is not executable",
                           "1 faults")


if __name__ == "__main__":
    unittest.main()
