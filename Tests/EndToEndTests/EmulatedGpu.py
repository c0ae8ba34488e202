"""Shared parts of end-to-end tests with an emulated GPU."""
import os
import re
import shutil

import EndToEnd
from EndToEnd import CNTK, EndToEndTest

EMULATED = CNTK.parent.parent / "tests/emulated"


class EmulatedGpuTest(EndToEndTest):
    def emulate(self, **variables):
        """Returns the environment of a program whose plugin folder has the emulated GPU library.
        Tests/UnitTests/CudaEmulation/EmulatedMachine.h describes the variables."""
        if not (EMULATED / "libcntkmath_gpu.so").exists():
            self.skipTest("the emulated GPU was not built")
        (self.folder / "bin").mkdir()
        (self.folder / "lib").mkdir()
        shutil.copy2(CNTK, self.folder / "bin/cntk")
        for plugin in (CNTK.parent.parent / "lib").glob("*.so"):
            if plugin.name != "libcntkmath_gpu.so":
                os.symlink(plugin, self.folder / "lib" / plugin.name)
        os.symlink(EMULATED / "libcntkmath_gpu.so", self.folder / "lib/libcntkmath_gpu.so")
        program = EndToEnd.CNTK
        EndToEnd.CNTK = self.folder / "bin/cntk"
        self.addCleanup(setattr, EndToEnd, "CNTK", program)
        locks = "%d-%s" % (os.getpid(), self.id().split(".")[-1])
        return dict({"LD_LIBRARY_PATH": str(EMULATED), "CNTK_EMULATED_LOCKS": locks}, **variables)

    def criteria(self, run):
        found = re.findall(r"Finished Epoch.*|Final Results.*", run.stderr)
        self.assertTrue(found, run.stderr)
        return [[float(number) for number in re.findall(r"= ?(-?[0-9.]+(?:e-?[0-9]+)?)", line.split("EpochTime")[0])]
                for line in found]

    def assert_near(self, found, expected, tolerance=1e-6):
        self.assertEqual([len(line) for line in found], [len(line) for line in expected])
        for found_line, expected_line in zip(found, expected):
            for a, b in zip(found_line, expected_line):
                self.assertAlmostEqual(a, b, delta=tolerance * max(1, abs(b)))
