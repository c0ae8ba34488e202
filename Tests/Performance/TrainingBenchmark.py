#!/usr/bin/env python3
"""Times whole trainings and evaluations of cntk, and of PyTorch if --peer is given.

    TrainingBenchmark.py [--cntk PATH] [--json OUT] [--only NAME...] [--peer peer_torch.py] [--rounds N]

Each case runs --rounds times, the program and the peer in turn, so that both see the same neighbours; figures are
medians, ratios are medians of the ratios of each round. The script makes the data. UCIFastReader reads them; for recurrent
networks LMSequenceReader or CNTKTextFormatReader do (RecurrentCases.py). The peer is a program that prints one
JSON line with samples_per_second and knows `WORKLOAD --mb N --threads N --seconds S --epochs N --epoch-samples N`, for
recurrent networks `--parallel N --output class|full`, and `infer --model WORKLOAD`. With --peer-as-shipped the peer also runs
with the settings of an unprepared installation. Standard library only.
"""
import argparse
import collections
import json
import math
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time

import RecurrentCases

# parallel: number of parallel sequences; 0: no recurrent network
Case = collections.namedtuple('Case', 'name workload layers kind minibatch samples threads rate inference parallel')


def case(name, workload, layers, kind, minibatch, samples, threads, rate, inference=False):
    return Case(name, workload, layers, kind, minibatch, samples, threads, rate, inference, 0)


def recurrent(name, workload, kind, parallel, samples, rate):
    steps = RecurrentCases.SIZES[kind][1]
    return Case(name, workload, [], kind, steps * parallel, samples, (1, 4), rate, False, parallel)


TIMIT, BIG = [792, 512, 512, 512, 183], [784, 2048, 2048, 2048, 2048, 10]
PATIENCE = 12  # limit of a run of the peer, in seconds
# samples: in an epoch, small enough for a text file; rate: expected samples a second on one thread, which determines the
# number of epochs.
CASES = [
    case('simple2d', 'simple2d', [2, 50, 50, 2], 'Sigmoid', 25, 10000, (1, 4), 800e3),
    case('mnist-mlp mb32', 'mnist-mlp', [784, 256, 10], 'RectifiedLinear', 32, 16384, (1, 4), 60e3),
    case('timit-dnn mb256', 'timit-dnn', TIMIT, 'Sigmoid', 256, 8192, (1, 4), 12e3),
    case('timit-dnn mb1024', 'timit-dnn', TIMIT, 'Sigmoid', 1024, 8192, (1, 4), 12e3),
    case('mnist-mlp-big mb1024', 'mnist-mlp-big', BIG, 'RectifiedLinear', 1024, 2048, (1, 4), 1e3),
    case('mnist-cnn mb32', 'mnist-cnn', [784, 10], 'convolution', 32, 2048, (1, 4), 4e3),
    case('mnist-cnn mb256', 'mnist-cnn', [784, 10], 'convolution', 256, 2048, (1, 4), 4e3),
    case('infer timit-dnn mb1024', 'timit-dnn', TIMIT, 'Sigmoid', 1024, 8192, (1, 4), 35e3, True),
    case('infer mnist-mlp-big mb1024', 'mnist-mlp-big', BIG, 'RectifiedLinear', 1024, 2048, (1, 4), 3e3, True),
    case('infer mnist-cnn mb1024', 'mnist-cnn', [784, 10], 'convolution', 1024, 2048, (1, 4), 12e3, True),
    recurrent('lstm-lm class x10', 'lstm-lm', 'class', 10, 20000, 20e3),
    recurrent('lstm-lm class x64', 'lstm-lm', 'class', 64, 64000, 27e3),
    recurrent('lstm-lm full x10', 'lstm-lm', 'full', 10, 5000, 5e3),
    recurrent('atis-lstm x10', 'atis-lstm', 'tagger', 10, 11000, 15e3),
    recurrent('speech-lstm x32', 'speech-lstm', 'speech', 32, 6400, 2e3),
]

CONFIG = """
command={command}
precision=float
deviceId=-1
traceLevel=1
numCPUThreads={threads}
modelPath={folder}/model/net.dnn
Train=[
  action=train
  {network}
  SGD=[
    epochSize=0
    minibatchSize={minibatch}
    learningRatesPerMB={learning_rate}
    momentumPerMB={momentum}
    maxEpochs={epochs}
    numMBsToShowResult={show}
  ]
  {reader}
]
Test=[
  action=test
  minibatchSize={minibatch}
  epochSize={test_samples}
  numMBsToShowResult={show}
  {reader}
]
"""

LAYERS = """SimpleNetworkBuilder=[
    layerSizes={layers}
    layerTypes={kind}
    trainingCriterion=CrossEntropyWithSoftmax
    evalCriterion=ErrorPrediction
    applyMeanVarNorm=false
    needPrior=false
    initValueScale=1.0
    uniformInit=true
  ]"""

# Two convolutions with pooling and two fully connected layers.
CONVOLUTION = """NDLNetworkBuilder=[
    run=network
    network=[
      features=ImageInput(28, 28, 1, tag=feature)
      labels=Input(10, tag=label)
      W1=Parameter(16, 0)
      B1=Parameter(16)
      h1=RectifiedLinear(Plus(Convolution(W1, features, 5, 5, 16, 1, 1, zeroPadding=true), B1))
      p1=MaxPooling(h1, 2, 2, 2, 2)
      W2=Parameter(32, 0)
      B2=Parameter(32)
      h2=RectifiedLinear(Plus(Convolution(W2, p1, 5, 5, 32, 1, 1, zeroPadding=true), B2))
      p2=MaxPooling(h2, 2, 2, 2, 2)
      W3=Parameter(128, 0)
      B3=Parameter(128)
      h3=RectifiedLinear(Plus(Times(W3, p2), B3))
      W4=Parameter(10, 128)
      B4=Parameter(10)
      z=Plus(Times(W4, h3), B4)
      ce=CrossEntropyWithSoftmax(labels, z, tag=criterion)
      errors=ErrorPrediction(labels, z, tag=eval)
      OutputNodes=(z)
    ]
  ]"""

READER = """reader=[
    readerType=UCIFastReader
    file={folder}/data.txt
    {extra}
    features=[
      start=1
      dim={inputs}
    ]
    labels=[
      start=0
      dim=1
      labelDim={outputs}
      labelMappingFile={folder}/labels.txt
    ]
  ]"""


def write_data(folder, layers, samples):
    """Writes text of a size that any disk accepts quickly: few digits a number, and lines built from pieces."""
    rng = random.Random(1)
    inputs, outputs = layers[0], layers[-1]
    with open(os.path.join(folder, 'labels.txt'), 'w') as f:
        f.writelines('%d\n' % i for i in range(outputs))
    with open(os.path.join(folder, 'data.txt'), 'w') as f:
        if inputs == 2:
            for _ in range(samples):
                x, y = rng.uniform(-1, 1), rng.uniform(-1, 1)
                f.write('%d %.4f %.4f\n' % (0.25 * math.sin(math.pi * x) > y, x, y))
            return
        length = max(d for d in range(1, 100) if inputs % d == 0)
        pieces = [' '.join('%.2g' % rng.gauss(0, 1) for _ in range(length)) for _ in range(512)]
        for _ in range(samples):
            f.write('%d %s\n' % (rng.randrange(outputs), ' '.join(rng.choices(pieces, k=inputs // length))))


def write_config(folder, c, threads, **changes):
    network, minibatch = CONVOLUTION, c.minibatch
    if c.parallel:
        network, minibatch = RecurrentCases.network(c), RecurrentCases.minibatch_size(c)
    elif c.kind != 'convolution':
        network = LAYERS.format(layers=':'.join(map(str, c.layers)), kind=c.kind)
    values = dict(command='Train', threads=threads, folder=folder, network=network, minibatch=minibatch,
                  learning_rate=0.01, epochs=2, show=0, test_samples=0,
                  momentum=0 if c.workload == 'lstm-lm' else 0.9)
    extra = changes.pop('extra', '')
    values.update(changes)
    reader = (RecurrentCases.reader(folder, c) if c.parallel else
              READER.format(folder=folder, inputs=c.layers[0], outputs=c.layers[-1], extra=extra))
    path = os.path.join(folder, 'bench.cntk')
    with open(path, 'w') as f:
        f.write(CONFIG.format(reader=reader, **values))
    return path


def fresh_model(folder):
    subprocess.run(['rm', '-rf', os.path.join(folder, 'model')], check=True)


def peak_of(pid):
    """Returns the peak memory of a running process so far, in bytes. The value of wait4 includes the memory of this program,
    because a child begins as its copy."""
    try:
        with open('/proc/%d/status' % pid) as f:
            return int(re.search(r'VmHWM:\s*(\d+)', f.read()).group(1)) * 1024
    except (OSError, AttributeError):
        return 0  # has ended


def run_cntk(cntk, config, watch=None):
    """Returns the lines of the log, each with its time of arrival, and the resources of the child. watch: called with the
    child's id at each line."""
    began = time.perf_counter()
    child = subprocess.Popen([cntk, 'configFile=' + config], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL,
                             text=True, bufsize=1)
    lines = []
    for line in child.stderr:
        lines.append((time.perf_counter() - began, line))
        if watch:
            watch(child.pid)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit('%s failed:\n%s' % (cntk, ''.join(line for _, line in lines[-20:])))
    return lines, usage


def train(cntk, folder, c, threads, seconds):
    """Returns samples a second over all epochs except the first, and the share of the time spent waiting for data."""
    faster = 1 if threads == 1 or c.samples / c.minibatch > 100 else 2.5
    epochs = 1 + max(2, round(seconds * c.rate * faster / c.samples))
    config = write_config(folder, c, threads, epochs=epochs)
    fresh_model(folder)
    lines, usage = run_cntk(cntk, config)
    text = ''.join(line for _, line in lines)
    times = [float(t) for t in re.findall(r'\[Training Set\].*EpochTime=([0-9.e+-]+)', text)][1:]
    waits = [float(t) for t in re.findall(r'Waiting for data took ([0-9.e+-]+) s', text)][1:]
    return {'samples_per_second': c.samples / statistics.median(times),
            'waiting_share': sum(waits) / sum(times) if waits else None,
            'cpu_seconds': usage.ru_utime + usage.ru_stime}


def infer(cntk, folder, c, threads, seconds):
    """Returns samples a second of action=test, from the times of its intermediate lines."""
    if not os.path.exists(os.path.join(folder, 'model', 'net.dnn')):
        run_cntk(cntk, write_config(folder, c, 4, epochs=1))
    per_line = max(1, c.samples // c.minibatch)
    wanted = seconds * c.rate * (1 if threads == 1 else 2.5)
    samples = max(4, round(wanted / c.samples)) * c.samples
    config = write_config(folder, c, threads, command='Test', show=per_line, test_samples=samples)
    lines, _ = run_cntk(cntk, config)
    seen = [(t, int(m.group(1))) for t, line in lines
            for m in [re.match(r'Minibatch\[.*SamplesSeen = (\d+)', line)] if m]
    gaps = [(b[0] - a[0]) / b[1] for a, b in zip(seen, seen[1:])]
    return {'samples_per_second': 1 / statistics.median(gaps)}


def run_peer(peer, c, threads, seconds, shipped):
    command = ['/usr/bin/python3', peer] + (['infer', '--model', c.workload] if c.inference else [c.workload])
    command += RecurrentCases.peer_arguments(c) if c.parallel else ['--mb', str(c.minibatch)]
    command += ['--threads', str(threads), '--seconds', str(seconds), '--epochs', '2']
    command += ['--epoch-samples', str(max(2 * c.minibatch, int(c.rate / 50))), '--warmup', '4']
    with open('/proc/cpuinfo') as f:
        has_avx512 = 'avx512f' in f.read()
    if shipped:
        command += ['--blas', 'system', '--openblas-core', 'none', '--isa', 'default', '--malloc', 'glibc']
    elif not has_avx512:
        command += ['--isa', 'avx2']
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return None  # its threads spin against busy neighbours: no figure
    if done.returncode != 0:
        sys.stderr.write('peer failed (%s): %s\n' % (' '.join(command), done.stderr[-300:]))
        return None
    return json.loads(done.stdout.strip().splitlines()[-1])['samples_per_second']


def median(values):
    values = [v for v in values if v is not None]
    return statistics.median(values) if values else None


def measure(args, c, threads, folder):
    run = infer if c.inference else train
    ours, tuned, ratios = [], [], []
    for _ in range(args.rounds):
        ours.append(run(args.cntk, folder, c, threads, args.seconds))
        if args.peer and None not in tuned:
            tuned.append(run_peer(args.peer, c, threads, args.seconds, False))
            ratios.append(ours[-1]['samples_per_second'] / tuned[-1] if tuned[-1] else None)
    row = {'case': c.name, 'threads': threads, 'samples_per_second': median([o['samples_per_second'] for o in ours]),
           'waiting_share': median([o.get('waiting_share') for o in ours])}
    if args.peer:
        row['peer_samples_per_second'] = median(tuned)
        row['ratio'] = median(ratios)
        if args.peer_as_shipped:
            shipped = run_peer(args.peer, c, threads, args.seconds, True)
            row['shipped_samples_per_second'] = shipped
            row['shipped_ratio'] = row['samples_per_second'] / shipped if shipped else None
    return row


def start_time(args):
    """Returns milliseconds from the start of the process to the line of the first minibatch of the Simple demo."""
    c = CASES[0]
    with tempfile.TemporaryDirectory() as folder:
        write_data(folder, c.layers, c.samples)
        config = write_config(folder, c, 1, epochs=1, show=1)
        times = []
        for _ in range(9):
            fresh_model(folder)
            lines, _ = run_cntk(args.cntk, config)
            times.append(next(t for t, line in lines if 'Minibatch[' in line))
        return 1e3 * statistics.median(times)


def peak_memory(args):
    """Returns the peak memory of timit-dnn at minibatch 1024 and its lower bound, in MB."""
    c = next(c for c in CASES if c.name == 'timit-dnn mb1024')
    parameters = sum((a + 1) * b for a, b in zip(c.layers, c.layers[1:]))
    # Values of each layer, and the gradients of two layers at a time; all others can share memory.
    values = c.minibatch * (sum(c.layers) + 2 * max(c.layers[1:]))
    with tempfile.TemporaryDirectory() as folder:
        write_data(folder, c.layers, 2 * c.minibatch)
        fresh_model(folder)
        peaks = []
        run_cntk(args.cntk, write_config(folder, c, 1, epochs=3, extra='cacheMB=0'),
                 lambda pid: peaks.append(peak_of(pid)))
        fresh_model(folder)
        small = Case(*c)._replace(layers=[792, 1, 183], minibatch=1)
        bases = []
        run_cntk(args.cntk, write_config(folder, small, 1, epochs=1, extra='cacheMB=0'),
                 lambda pid: bases.append(peak_of(pid)))
    least = 4 * (3 * parameters + values) / 1e6
    peak, empty = max(peaks) / 1e6, max(bases) / 1e6
    return {'peak_mb': peak, 'of_program_mb': empty, 'least_mb': least, 'ratio': peak / least,
            'ratio_without_program': (peak - empty) / least}


def show(row):
    def text(key, form, none='-'):
        value = row.get(key)
        return none if value is None else form % value
    print('%-28s %2dt %10s %10s %7s %10s %7s %6s' % (
        row['case'], row['threads'], text('samples_per_second', '%.0f'), text('peer_samples_per_second', '%.0f'),
        text('ratio', '%.2fx'), text('shipped_samples_per_second', '%.0f'), text('shipped_ratio', '%.2fx'),
        text('waiting_share', '%.3f')), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--cntk', default=os.environ.get('CNTK', 'cntk'))
    parser.add_argument('--json', help='file for the results')
    parser.add_argument('--only', nargs='+', help='only cases whose names begin with one of these')
    parser.add_argument('--threads', nargs='+', type=int, help='only with these numbers of threads')
    parser.add_argument('--rounds', type=int, default=3)
    parser.add_argument('--seconds', type=float, default=1.0, help='approximate time of each run')
    parser.add_argument('--peer', default=os.environ.get('CNTK_PEER'), help='path of peer_torch.py')
    parser.add_argument('--peer-as-shipped', action='store_true')
    args = parser.parse_args()
    args.cntk = os.path.abspath(args.cntk) if os.path.exists(args.cntk) else args.cntk

    result = {'load_at_start': os.getloadavg()[0], 'cases': []}
    print('%-28s %3s %10s %10s %7s %10s %7s %6s' % (
        'samples/s', '', 'cntk', 'peer', 'ratio', 'shipped', 'ratio', 'wait'))
    for c in CASES:
        if args.only and not any(c.name.startswith(name) for name in args.only):
            continue
        with tempfile.TemporaryDirectory() as folder:
            if c.parallel:
                RecurrentCases.write_data(folder, c)
            else:
                write_data(folder, c.layers, c.samples)
            for threads in c.threads:
                if not args.threads or threads in args.threads:
                    result['cases'].append(measure(args, c, threads, folder))
                    show(result['cases'][-1])
    if not args.only:
        result['start_ms'] = start_time(args)
        result['memory'] = peak_memory(args)
        print('start to first minibatch: %.1f ms' % result['start_ms'])
        print('peak memory, timit-dnn mb1024: %(peak_mb).1f MB, of it the program itself %(of_program_mb).1f MB; '
              'parameters x 3 and one minibatch: %(least_mb).1f MB' % result['memory'])
    result['load_at_end'] = os.getloadavg()[0]
    if args.json:
        with open(args.json, 'w') as f:
            json.dump(result, f, indent=1)


if __name__ == '__main__':
    main()
