# A thin wrapper around CMake. `make` builds everything, `make product` only the program, its plugins and its GPU library.
# `make demo` installs packages, builds the program and trains the first example. `make test` builds and tests everything.
# Settings: BUILD (folder), PREFIX (make install), JOBS, CMAKE_FLAGS, CNTK_TEST_SHARED (folder of shared test data).

BUILD ?= build
PREFIX ?= /usr/local
JOBS ?= $(shell nproc)
CMAKE_FLAGS ?=
CNTK_TEST_SHARED ?= ../shared
SANITIZERS ?= address,undefined

shared := $(abspath $(CNTK_TEST_SHARED))
configure = cmake -S . -G Ninja -DCNTK_TEST_SHARED="$(shared)"
ctest = ctest -j $(JOBS) --output-on-failure

.PHONY: all product configured packages packages-product packages-demo demo test debug asan tsan fuzz bench faults docs format tidy install package packages-deb tarball dist clean

all: configured
	cmake --build $(BUILD) -j $(JOBS)

product: packages-product
	$(configure) -B $(BUILD) -DCMAKE_BUILD_TYPE=Release -DCNTK_BUILD_TESTS=OFF $(CMAKE_FLAGS)
	cmake --build $(BUILD) -j $(JOBS) --target product

configured: packages
	$(configure) -B $(BUILD) -DCMAKE_BUILD_TYPE=Release -DCNTK_BUILD_TESTS=ON $(CMAKE_FLAGS)

packages:
	@Tests/Tools/InstallPackages.sh test

packages-product:
	@Tests/Tools/InstallPackages.sh product

packages-demo:
	@Tests/Tools/InstallPackages.sh demo

demo: packages-demo
	$(configure) -B $(BUILD) -DCMAKE_BUILD_TYPE=Release -DCNTK_BUILD_TESTS=OFF $(CMAKE_FLAGS)
	cmake --build $(BUILD) -j $(JOBS) --target product
	CNTK="$(abspath $(BUILD))/bin/cntk" Examples/Simple2d/RunDemo.sh

test: all
	$(ctest) --test-dir $(BUILD) -LE check

debug: packages
	$(configure) -B $(BUILD)-debug -DCMAKE_BUILD_TYPE=Debug $(CMAKE_FLAGS)
	cmake --build $(BUILD)-debug -j $(JOBS)

asan: packages
	$(configure) -B $(BUILD)-asan -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG="-O0 -g1" \
	    -DCNTK_SANITIZE=$(SANITIZERS) -DCNTK_CUDA=OFF $(CMAKE_FLAGS)
	cmake --build $(BUILD)-asan -j $(JOBS)
	$(ctest) --test-dir $(BUILD)-asan -L unit
	Tests/Tools/CheckHardening $(BUILD)-asan

# ThreadSanitizer: the unit tests with devices of 2 and of 4 threads, then runs of the program in which other threads meet.
tsan: packages
	$(configure) -B $(BUILD)-tsan -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG="-O1 -g1" \
	    -DCNTK_SANITIZE=thread -DCNTK_CUDA=OFF $(CMAKE_FLAGS)
	cmake --build $(BUILD)-tsan -j $(JOBS)
	CNTK_TSAN_THREADS=2 $(ctest) --test-dir $(BUILD)-tsan -L unit
	CNTK_TSAN_THREADS=4 $(ctest) --test-dir $(BUILD)-tsan -L unit
	CNTK_TSAN_THREADS=1 $(ctest) --test-dir $(BUILD)-tsan -R '^EndToEnd\.(Argon|Gzip|SparseReaders)$$'

# Fuzz targets for clang's libFuzzer in $(BUILD)-fuzz/fuzz; Tests/Fuzz/Campaign.sh runs them.
fuzz: packages
	$(configure) -B $(BUILD)-fuzz -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG="-O1 -g1" \
	    -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ -DCNTK_SANITIZE=fuzzer-no-link,address,undefined \
	    -DCNTK_CUDA=OFF -DCNTK_MPI=OFF -DCNTK_BUILD_TESTS=OFF -DCNTK_BUILD_FUZZ=ON $(CMAKE_FLAGS)
	cmake --build $(BUILD)-fuzz -j $(JOBS) --target fuzz

bench: packages
	$(configure) -B $(BUILD) -DCMAKE_BUILD_TYPE=Release -DCNTK_BUILD_BENCHMARKS=ON $(CMAKE_FLAGS)
	cmake --build $(BUILD) -j $(JOBS)
	Tests/Tools/RunBenchmarks.sh "$(abspath $(BUILD))"

# The long form of the tests of Tests/Faults: 15 minutes. Tables and plots of the long runs go to BUILD/faults.
faults: all
	CNTK="$(abspath $(BUILD))/bin/cntk" Tests/Faults/Faults.py
	CNTK="$(abspath $(BUILD))/bin/cntk" Tests/Faults/PowerCut.py
	CNTK="$(abspath $(BUILD))/bin/cntk" Tests/Faults/Kills.py 1000
	CNTK="$(abspath $(BUILD))/bin/cntk" Tests/Faults/LongRuns.py --out "$(abspath $(BUILD))/faults"

docs: product
	$(BUILD)/bin/cntk --write-docs Documentation

format:
	Tests/Tools/CheckFormat --fix

tidy: all
	Tests/Tools/RunTidy.sh "$(abspath $(BUILD))"

install: product
	cmake --install $(BUILD) --prefix "$(PREFIX)"

# Debian packages, with the same bytes for the same sources, compiler and SOURCE_DATE_EPOCH.
package packages-deb: packages-product
	$(configure) -B $(BUILD)-deb -DCMAKE_BUILD_TYPE=Release -DCNTK_BUILD_TESTS=OFF -DCNTK_DEBIAN=ON $(CMAKE_FLAGS)
	cmake --build $(BUILD)-deb -j $(JOBS) --target product
	Source/Packages/MakePackages.sh $(BUILD)-deb dist

# One archive that runs on all systems with glibc 2.34 and later.
tarball: packages-product
	$(configure) -B $(BUILD)-tarball -DCMAKE_BUILD_TYPE=Release -DCNTK_BUILD_TESTS=OFF -DCNTK_BUNDLE_STDLIB=ON $(CMAKE_FLAGS)
	cmake --build $(BUILD)-tarball -j $(JOBS) --target product
	Source/Packages/MakePackages.sh $(BUILD)-tarball dist

dist: package tarball

clean:
	rm -rf $(BUILD) $(BUILD)-debug $(BUILD)-asan $(BUILD)-tsan $(BUILD)-fuzz
