#!/bin/bash
# Runs the whole Simple demo: makes the data, trains, tests, writes the outputs and draws a picture.
# CNTK names the program (default: build/bin/cntk of this checkout), WORK the folder for the results.
set -euo pipefail

here="$(cd "$(dirname "$0")" && pwd)"
cntk="$(realpath -m "${CNTK:-$here/../../build/bin/cntk}")"
[ -x "$cntk" ] || { echo "the program '$cntk' does not exist; build it with 'make', or name it in CNTK" >&2; exit 1; }
command -v python3 >/dev/null || { echo "python3 is missing; install it with 'apt-get install python3'" >&2; exit 1; }
work="${WORK:-$here/../../build/demo}"

mkdir -p "$work"
work="$(cd "$work" && pwd)"
cd "$work"
rm -rf models output log Simple2d.svg
cp "$here/Simple.cntk" .

echo "Making 2-D data with a curved boundary between two classes ..."
python3 "$here/GenerateData.py" data

echo "Training, testing and writing: cntk configFile=Simple.cntk"
started=$(date +%s.%N)
"$cntk" configFile=Simple.cntk "$@"
"$cntk" configFile=Simple.cntk command=Simple_Demo_Grid stderr=log/Grid
finished=$(date +%s.%N)

log=log/Demo_Simple_Demo_Simple_Demo_Test_Simple_Demo_Output.log
python3 "$here/MakePicture.py" data output/Grid.ScaledLogLikelihood "$log" Simple2d.svg

grep -E "Finished Epoch\[ *(1|10|100|500) of" "$log" | sed -E 's/; AvgLearning.*//'
grep "Final Results" "$log"
awk -v s="$started" -v f="$finished" 'BEGIN { printf "Took %.1f seconds.\n", f - s }'
echo "Model:   $work/models/simple.dnn"
echo "Outputs: $work/output/SimpleOutput.ScaledLogLikelihood"
echo "Log:     $work/$log"
echo "Picture: $work/Simple2d.svg"
