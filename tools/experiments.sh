#!/usr/bin/env bash
# The experiments of docs/results that need a GPU: each is one command, which may be cut and run again.
#
#   tools/experiments.sh syn2nat SEED                overlaps of the 40 candidates of Syn2Nat; H200: 6 minutes a seed
#   tools/experiments.sh calibrate                   severities of the candidates of NOC for a plain ResNet-18; 1 minute
#   tools/experiments.sh noc SEED [ARCHITECTURE]     overlaps of calibrated NOC and CIFAR-10-C, and models of all of one;
#                                                    6 minutes a seed. With an architecture (resnet50_32,
#                                                    densenet121_32): of NOC alone. Then tools/noc_tables.py
#   tools/experiments.sh powerset PART               errors of 32 of 128 subsets of AugMix, PART 0 to 3, or distances of
#                                                    all 128 in the features of a network, PART wide or vgg; then
#                                                    tools/powerset_tables.py
#   tools/experiments.sh single | mixing | subsets | precision
#                                                    figures 1, 2b, 8 and 10 of the paper on augmentations; then
#                                                    tools/augmentation_figures.py
#   tools/experiments.sh readings                    AutoAugment as its authors may have run it, three seeds
#   tools/experiments.sh dissimilar REPETITIONS      how dissimilar C-bar's candidates are, by two networks each;
#                                                    then tools/dissimilar_tables.py
#   tools/experiments.sh augmentation SCHEME SEED    CIFAR-10-C and -C-bar with none, autoaugment, patch-gaussian,
#                                                    augmix-jsd or ant: WideResNet-40-2, 100 epochs; then
#                                                    tools/held_out_tables.py
#   tools/experiments.sh mscr RUNS                   WideResNet-28-10 at the eight training radii
#   tools/experiments.sh walk [IMAGES]               how hard pairs of corruptions are for a network: the matrix of CCC
#   tools/experiments.sh adaptation [PARTS]          WideResNet-40-2 with all methods of test-time adaptation on CIFAR-10-C
#                                                    at severity 5 (continual, and for CoTTA cotta), on a walk of CCC of a
#                                                    million images (ccc), with correlated labels (correlated) and on a
#                                                    gradual stream (long); then tools/adaptation_tables.py
#   tools/experiments.sh plane NOISE RUNS            effect of the number of copies at 0.001 or 1x (epsilon_min), or, with
#                                                    the noise L2, the paper's radii in that norm; on CPU cores
#   tools/experiments.sh lite MODEL                  lite0, lite1 or lite2 over five benchmarks of ImageNet; then
#                                                    tools/lite_tables.py
#   tools/experiments.sh together 'noc 3' 'noc 4'    several at once on one GPU, which they share by MPS: three trainings
#                                                    of WideResNet-40-2 take 9.0 ms for a step of each, in turns 15.1.
#                                                    Each counts its part of the time; logs are in $SMALL. Suspend
#                                                    none (SIGSTOP): the GPU may hang
#
# Everything goes to $RUNS. What is small, and all that tables need, is packed into $SMALL as NAME.tgz every minute and
# in the end, also if the time is up: LIMIT=560 stops after so many seconds. On the same machine the same command then
# goes on where it was. Elsewhere, unpack $SMALL/*.tgz into $RUNS first: mscr then goes on with the next training,
# augmentation and lite with the tests; overlap, powerset and dissimilar, whose many networks are not packed, begin again.
# All is seeded: whatever is cut, the numbers are the same. TRY=1 makes everything tiny, for a look on a CPU.
set -euo pipefail
cd "$(dirname "$0")/.."
DATA=${DATA:-cifar10:data} RUNS=${RUNS:-runs} SMALL=${SMALL:-small} LIMIT=${LIMIT:-100000} TRY=${TRY:-}
PICTURES=${PICTURES:-folder:imagenet-sample} POINTS=${POINTS:-B_sep.npz} PYTHON=${PYTHON:-python3} SHARED=${SHARED:-1}
NOC=${NOC:-$RUNS/calibration/cifar10-noc.yaml}  # what calibrate has found
export PYTHONPATH="$PWD/src:$PWD${PYTHONPATH:+:$PYTHONPATH}" PYTHONUNBUFFERED=1
mkdir -p "$RUNS" "$SMALL"
ends=$((SECONDS + LIMIT))
name="" packer="" unpacked=("*/models/*.safetensors" "*/evaluation/*")
pack() {  # what is small; files may change while they are packed, which the next time mends
  [ -d "$RUNS/$name" ] || return 0
  tar czf "$SMALL/$name.part" -C "$RUNS" "${unpacked[@]/#/--exclude=}" "$name" || [ $? = 1 ] || return 0
  mv "$SMALL/$name.part" "$SMALL/$name.tgz"
}
begin() {  # NAME AND WHAT ELSE IS NOT PACKED
  name=$1 unpacked+=("${@:2}")
  mkdir -p "$RUNS/$name"
  (while sleep 60; do pack; done) > /dev/null 2>&1 &
  packer=$!
}
finish() {  # what took how long
  [ -n "$name" ] || return 0
  kill "$packer" && wait "$packer" || true
  echo $((SECONDS / SHARED)) >> "$RUNS/$name/seconds.txt"
  pack
}
trap finish EXIT

scuff() { timeout -s INT $((ends > SECONDS ? ends - SECONDS : 1)) "$PYTHON" -m scuff "$@"; }

recipe=(--recipe cifar-fast) wide=(--architecture wide_resnet40_2) long=(--recipe cifar-augmentation) few=() draws=()
vgg=(--architecture vgg19_bn_32) seeds=3 repeats=20 length=,length=1000000
if [ -n "$TRY" ]; then
  recipe=(--recipe fashion --epochs 1) wide=() long=(--recipe fashion --epochs 1) few=(--limit 40)
  vgg=() seeds=1 repeats=2 length=,length=3000,speed=100
  draws=(--images 10 --samples 3 --augmentations 20 --severity 3 --only fog,contrast)
fi

overlap() {  # NAME SEED SUITES AND OPTIONS
  begin "$1-$2"
  scuff overlap "${@:3}" --data "$DATA" "${recipe[@]}" "${few[@]}" --seeds "$2," --out "$RUNS/$name"
}

network() {  # ARCHITECTURE EPOCHS
  net=$RUNS/$name/net.safetensors
  local size=(--architecture "$1" --epochs "$2")
  [ -z "$TRY" ] || size=()
  scuff train --data "$DATA" "${long[@]}" "${size[@]}" --out "$net"
}

adapt() {  # NAME STREAM METHODS
  scuff adapt "$net" --stream "$2${TRY:+,limit=200}" --data "$DATA" --methods "$3" --out "$RUNS/$name/$1"
}

case ${1:-} in
  syn2nat)
    overlap syn2nat "$2" syn2nat-candidates ${TRY:+--only flip,blur,gauss_noise,posterize}
    ;;
  calibrate)
    begin calibration
    scuff train --data "$DATA" "${recipe[@]}" ${TRY:+--epochs 20} --out "$RUNS/$name/models/seed-0.safetensors"
    scuff design calibrate "$RUNS/$name/models/seed-0.safetensors" --suite noc-candidates --data "$DATA" \
      ${TRY:+--only hue,rain,border} --out "$RUNS/$name/cifar10-noc.yaml"
    ;;
  noc)
    if [ -n "${3:-}" ]; then
      recipe+=(--architecture "$3")
      overlap "noc-$3" "$2" "$NOC"
    else
      eight=$RUNS/cifar10-noc8.yaml  # the members of ImageNet-NOC as calibrated
      "$PYTHON" - "$NOC" "$eight" <<'P'
import sys
from scuff.suites import combine_suites, load_suite

ours, theirs = load_suite(sys.argv[1]), load_suite("imagenet-noc").benchmark()
members = [f"{ours.name}/{entry}" for entry in ours.benchmark() if entry in theirs]
combine_suites("cifar10-noc8", members, [ours]).save(sys.argv[2])
P
      overlap noc "$2" "$NOC" cifar10-c --together "$eight,cifar10-c" \
        ${TRY:+--only cifar10-noc/border,cifar10-noc/rain,cifar10-c/fog}
    fi
    ;;
  powerset)
    begin "powerset-$2" "*.safetensors"
    part=${2/[a-z]*/:}  # of a network: all parts
    subsets=$("$PYTHON" -c "
import numpy as np
chosen = np.sort(np.random.default_rng(0).choice(512, 128, replace=False)).reshape(4, 32)${TRY:+[:, :2]}[$part].ravel()
print(','.join(f'powerset:{number}' for number in chosen))")
    if [ "$part" = : ]; then
      extractor=$RUNS/$name/extractor.safetensors
      [ "$2" = vgg ] && network=("${vgg[@]}") || network=("${wide[@]}")
      scuff train --data "$DATA" "${recipe[@]}" "${network[@]}" --seed 1000 --out "$extractor"
      scuff distance schemes cifar10-c --schemes "$subsets" --data "$DATA" "${draws[@]}" --extractor "$extractor" \
        --out "$RUNS/$name"
    else  # whose distances do not count: hardly any images and draws
      scuff distance correlation cifar10-c --schemes "$subsets" --data "$DATA" "${recipe[@]}" "${wide[@]}" "${few[@]}" \
        "${draws[@]}" --images 10 --samples 2 --augmentations 10 --out "$RUNS/$name"
    fi
    ;;
  single)  # no operation, and each of the nine alone, by its bit
    begin single
    scuff distance correlation cifar10-c --schemes "powerset:0$(printf ',powerset:%s' 1 2 4 8 16 32 64 128 256)" \
      --data "$DATA" "${recipe[@]}" "${wide[@]}" "${few[@]}" "${draws[@]}" --only motion_blur --seeds "$seeds" \
      --out "$RUNS/$name"
    ;;
  mixing)
    begin mixing
    scuff distance mixing cifar10-c/impulse_noise cifar10-c/motion_blur --data "$DATA" "${recipe[@]}" "${wide[@]}" \
      "${few[@]}" ${TRY:+--images 10 --samples 3 --augmentations 20 --shares 0,1} --seeds "$seeds" --out "$RUNS/$name"
    ;;
  subsets)
    begin subsets
    scuff distance subsets cifar10-c --data "$DATA" "${recipe[@]}" "${wide[@]}" "${few[@]}" --seeds "$seeds" \
      ${TRY:+--images 10 --samples 3 --draws 50 --sizes 1,3 --severity 3 --only fog} --out "$RUNS/$name"
    ;;
  precision)
    begin precision
    timeout -s INT "$LIMIT" "$PYTHON" tools/precision.py "$DATA" "$RUNS/$name" "${recipe[@]}" "${wide[@]}" \
      --resamplings $repeats ${TRY:+--augmentations 3 --images 5 --samples 3 --severities 3}
    ;;
  readings)
    begin readings
    scuff distance correlation cifar10-c-bar --data "$DATA" "${recipe[@]}" "${few[@]}" --seeds "$seeds" \
      --images 10 --samples 2 --augmentations 10 ${TRY:+--severity 3 --only lines} --out "$RUNS/$name" --schemes \
      none,autoaugment,autoaugment:slips=True,autoaugment:convention=original,autoaugment:convention=torchvision,autoaugment:cutout=16
    ;;
  dissimilar)  # two networks for each repetition, trained four at a time
    begin dissimilar "*.safetensors" "*/centres/*" "*/evaluation-*"
    pairs=() trainings=()
    for number in $(seq 0 $((2 * $2 - 1))); do
      net=$RUNS/$name/$number.safetensors
      scuff train --data "$DATA" "${recipe[@]}" "${wide[@]}" --seed $((1000 + number)) --out "$net" &
      trainings+=($!)
      [ $((number % 4)) != 3 ] || wait "${trainings[@]}"
      [ $((number % 2)) = 0 ] && pairs+=(--model "$net") || pairs+=(--extractor "$net")
    done
    wait "${trainings[@]}"
    scuff design dissimilar cifar10-c c-bar-candidates-32 --data "$DATA" "${few[@]}" "${pairs[@]}" \
      ${TRY:+--images 10 --samples 3 --benchmarks 100 --size 2 --tolerance 0.9 --only lines,ripple,sparkles,plasma_noise} --out "$RUNS/$name/suite"
    ;;
  augmentation)
    begin "augmentation-$2-$3" "*/rows/*"
    augment=() && [ "$2" = none ] || augment=(--augment "$2")
    scuff train --data "$DATA" "${long[@]}" "${augment[@]}" --seed "$3" --out "$RUNS/$name/$2-$3.safetensors"
    for suite in cifar10-c cifar10-c-bar; do
      scuff evaluate "$RUNS/$name/$2-$3.safetensors" --suite $suite --data "$DATA" "${few[@]}" ${TRY:+--severity 3} \
        --out "$RUNS/$name/$suite" --csv "$RUNS/$name/$suite.csv"
    done
    ;;
  mscr)
    begin mscr-wide
    timeout -s INT "$LIMIT" "$PYTHON" tools/mscr_wide.py "$DATA" "$RUNS/$name" --runs "$2" \
      ${TRY:+--epochs 1 --architecture small_cnn}
    ;;
  walk)
    begin walk "*/cells/*"
    scuff train --data "$DATA" "${recipe[@]}" --out "$RUNS/$name/net.safetensors"
    scuff stream calibrate "$RUNS/$name/net.safetensors" --data "$DATA" --images "${2:-1000}" ${TRY:+--step 1} \
      --out "$RUNS/$name"
    ;;
  adaptation)
    begin adaptation "*/partial/*" "*/long/rows/*" "*/ccc/rows/*"
    network wide_resnet40_2 20
    for part in ${2:-continual ccc correlated cotta long}; do
      case $part in
        continual) adapt continual continual:order=file bn,bn-prior,bn-ema,tent,eta,eata ;;
        ccc) adapt ccc "ccc-easy:batch=200$length" bn,tent,rdumb ;;
        correlated) adapt correlated continual:order=chunks bn,bn-prior,tent,rdumb ;;
        cotta) adapt continual continual:order=file cotta${TRY:+:copies=2} ;;
        long) adapt long gradual_cotta:corruptions=cotta-0 bn,tent,rdumb ;;
      esac
    done
    ;;
  plane)
    begin "plane-$2"
    if [ "$2" = L2 ]; then
      scuff mscr --protocol paper-2d --norm 2 --runs "$3" --data "$POINTS" --out "$RUNS/$name"
    else
      scuff mscr --protocol paper-copies --train-noise "$2" --test-noise "$2" --runs "$3" --data "$POINTS" \
        --out "$RUNS/$name"
    fi
    ;;
  lite)
    begin "$2"
    for suite in imagenet-noc imagenet-syn2nat imagenet-c-bar imagenet-c imagenet-p; do
      scuff evaluate "examples.efficientnet_lite:$2" --suite $suite --data "$PICTURES" ${TRY:+--limit 2} \
        --out "$RUNS/$name/$suite" --json "$RUNS/$name/$suite.json"
    done
    ;;
  together)
    SHARED=$(($# - 1)) running=() failed=0
    command -v nvidia-cuda-mps-control > /dev/null && nvidia-cuda-mps-control -d
    for experiment in "${@:2}"; do
      read -ra its <<< "$experiment"
      SHARED=$SHARED "$0" "${its[@]}" > "$SMALL/${experiment// /-}.log" 2>&1 &
      running+=($!)
    done
    for one in "${!running[@]}"; do
      wait "${running[$one]}" && echo "${*:one+2:1}: done" || { echo "${*:one+2:1}: status $?"; failed=1; }
    done
    exit $failed
    ;;
  *)
    echo "there is no experiment '${1:-}'; see the head of $0" >&2
    exit 1
    ;;
esac
