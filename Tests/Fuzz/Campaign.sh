#!/bin/bash
# Runs the fuzz targets of `make fuzz` in turn and prints a table: seconds of processor time, executions, coverage, findings.
# Campaigns in the same folder continue with its corpus. The file sum.md adds up the rows of all of them.
# Usage: Campaign.sh HOURS [TARGET...]
# Model, Checkpoint, Config and Ndl get three times the time of another target. A target that finds something continues until
# its time is over. Settings: BUILD (build-fuzz), FOLDER (fuzz-campaign: the corpus grows there, findings, logs),
# CNTK (the program that makes the first corpus).
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if [ $# -lt 1 ]; then
    sed -n 2,7p "${BASH_SOURCE[0]}" >&2
    exit 2
fi
hours=$1
shift
build=$(realpath "${BUILD:-$here/../../build-fuzz}")
folder=${FOLDER:-fuzz-campaign}
mkdir -p "$folder"
folder=$(realpath "$folder")
targets=("$@")
if [ ${#targets[@]} = 0 ]; then
    for program in "$build"/fuzz/*Fuzz; do
        targets+=("$(basename "$program" Fuzz)")
    done
fi
python3 "$here/MakeCorpus.py" --golden "$folder/seeds"

weightOf() {
    case $1 in
    Model | Checkpoint | Config | Ndl) echo 3 ;;
    *) echo 1 ;;
    esac
}
weights=0
for target in "${targets[@]}"; do
    weights=$((weights + $(weightOf "$target")))
done

# Last value of "name value" or "stat::name: value" in the log of one run.
lastOf() {
    grep -oE "$1:? +[0-9]+" "$2" | tail -1 | grep -oE '[0-9]+$' || echo 0
}

runTarget() {
    local target=$1 seconds=$2 end executions=0 runs=0 options=() processor=0 TIMEFORMAT='%U %S'
    local work=$folder/$target
    mkdir -p "$work/corpus" "$work/findings"
    [ ! -f "$here/Dictionaries/$target.dict" ] || options+=(-dict="$here/Dictionaries/$target.dict")
    end=$((SECONDS + seconds))
    while [ $SECONDS -lt $end ]; do
        runs=$((runs + 1))
        { time (cd "$work" && ASAN_OPTIONS=intercept_tls_get_addr=0 UBSAN_OPTIONS=print_stacktrace=1 nice -n 10 \
            "$build/fuzz/${target}Fuzz" -max_total_time=$((end - SECONDS)) -timeout=20 -rss_limit_mb=3000 \
            -malloc_limit_mb=1024 -print_final_stats=1 -artifact_prefix=findings/ "${options[@]}" corpus \
            "$folder/seeds/$target" >"run$runs.log" 2>&1) || true; } 2>"$work/time"
        processor=$(awk -v sum="$processor" '{ sum += $1 + $2 } END { printf "%.0f", sum }' "$work/time")
        executions=$((executions + $(lastOf 'stat::number_of_executed_units' "$work/run$runs.log")))
        [ $runs -lt 500 ] || break
    done
    printf '| %s | %d | %d | %d | %d | %d |\n' "$target" "$processor" "$executions" "$(lastOf cov "$work/run$runs.log")" \
        "$(lastOf ft "$work/run$runs.log")" "$(find "$work/findings" -type f -not -name "slow-unit*" | wc -l)" | tee -a "$folder/table.md"
}

printf '| target | processor seconds | executions | edges covered | features | findings |\n|---|---|---|---|---|---|\n' |
    tee -a "$folder/table.md"
for target in "${targets[@]}"; do
    runTarget "$target" "$(awk "BEGIN { print int($hours * 3600 * $(weightOf "$target") / $weights) }")"
done
# Time and executions of all campaigns; coverage of the last one, whose corpus includes the others; findings stay in the folder.
awk -F'|' '
    $2 ~ /target|---/ { if (NR <= 2) print; next }
    {
        if (!($2 in seconds)) names[++count] = $2
        seconds[$2] += $3; executions[$2] += $4; edges[$2] = $5; features[$2] = $6; findings[$2] = $7
    }
    END {
        for (i = 1; i <= count; i++) {
            n = names[i]
            printf "|%s| %d | %d |%s|%s|%s|\n", n, seconds[n], executions[n], edges[n], features[n], findings[n]
        }
    }' "$folder/table.md" >"$folder/sum.md"
