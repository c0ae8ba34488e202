#!/bin/bash
# Runs the kernel benchmarks, then the benchmark drivers that train whole networks. Results: BUILD/bench/<Name>.json.
# Usage: RunBenchmarks.sh BUILD_FOLDER [BENCHMARK ARGUMENTS...]
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$1
shift
shopt -s nullglob

for program in "$build"/bench/*Benchmark; do
    "$program" --benchmark_out="$program.json" --benchmark_out_format=json "$@"
done
for driver in "$root"/Tests/Performance/*Benchmark.py; do
    CNTK="$build/bin/cntk" python3 "$driver" --json "$build/bench/$(basename "$driver" .py).json"
done
