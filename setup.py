"""Builds the Python module with CMake (scikit-build) and packs it as a wheel."""
import re

from skbuild import setup

with open("CMakeLists.txt", encoding="utf-8") as text:
    VERSION = re.search(r"project\(CntkClassic VERSION ([\d.]+)", text.read()).group(1)

setup(
    name="cntk",
    version=VERSION,
    description="Computational network toolkit",
    packages=["cntk"],
    package_dir={"": "Source/Python"},
    package_data={"cntk": ["*.pyi", "py.typed"]},
    install_requires=["numpy"],
    python_requires=">=3.9",
    cmake_args=["-DCNTK_PYTHON=ON", "-DCNTK_BUILD_TESTS=OFF", "-DCNTK_PYTHON_PACKAGE=ON", "-DCMAKE_BUILD_TYPE=Release"],
    cmake_install_target="install-python",
)
