"""The import of the module is quiet and light."""
import subprocess
import sys

SCRIPT = """
import os, sys
import numpy
threads, modules = len(os.listdir('/proc/self/task')), set(sys.modules)
import cntk
assert len(os.listdir('/proc/self/task')) == threads, 'a thread was started'
slow = {'urllib.request', 'http.client', 'ssl', 'scipy', 'asyncio', 'multiprocessing'} & (set(sys.modules) - modules)
assert not slow, slow
names = {}
exec('from cntk import *', names)
assert not set(names) & set(dir(__builtins__)) - {'__builtins__', '__doc__', '__name__'}
assert 'softmax' in names and 'input' not in names and cntk.input(2).shape == (2,)
with open('/proc/self/maps') as maps:
    text = maps.read()
assert not any(name in text for name in ('libcuda', 'libmpi', 'libopencv', 'cntkmath_gpu'))
"""


def test_import_is_quiet_and_light():
    run = subprocess.run([sys.executable, "-B", "-W", "error", "-c", SCRIPT], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")
