#!/bin/sh
# Makes the synthetic corpus and runs every config of this folder on it, in build/speech (or $WORK).
# The program gets the arguments: RunSpeech.sh numCPUThreads=4
set -e
here=$(cd "$(dirname "$0")" && pwd)
cntk=${CNTK:-$here/../../build/bin/cntk}
cntk=$(realpath -m "$cntk")
[ -x "$cntk" ] || { echo "the program '$cntk' does not exist; build it with 'make', or name it in CNTK" >&2; exit 1; }
command -v python3 >/dev/null || { echo "python3 is missing; install it with 'apt-get install python3'" >&2; exit 1; }
work=${WORK:-$here/../../build/speech}
mkdir -p "$work/log"
cp -r "$here"/*.cntk "$here"/Ndl "$here"/Mel "$work"
cd "$work"
[ -d data ] || python3 -B "$here/GenerateCorpus.py" data
for config in TrainSimple Evaluate CrossValidate WriteScaledLogLikelihood AdaptLearnRate TrainNdl \
    TrainAutoEncoder WriteBottleneck DumpNodes TrainWithPreTrain TrainMultiTask TrainMultiInput \
    TrainLstm TrainBidirectionalLstm; do
    echo "$config ..."
    "$cntk" "configFile=$config.cntk" "$@" 2> "log/$config.log" || { tail -n 20 "log/$config.log"; exit 1; }
    grep -e 'Finished Epoch' -e 'Final Results' -e 'Best model' "log/$config.log" | tail -n 1 | cut -c 1-200
done
