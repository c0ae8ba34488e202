// Evaluates ONNX models with onnxruntime: node RunOnnx.js JOBS RESULTS. Both files are JSON. A tensor is
// {type, dims, data}, its bytes in base64. A job is {model, feeds}; with "states" it is evaluated step by step, and each
// output "<name>.next" becomes the input "<name>" of the next step. A result is {inputs, outputs} or {error}.
'use strict';
const fs = require('fs');
const path = require('path');
const ort = require(path.join(process.env.CNTK_INTEROP_MODULES, 'onnxruntime-node'));

const ARRAYS = {float32: Float32Array, float64: Float64Array, int64: BigInt64Array};

function tensorOf(value) {
  const bytes = Buffer.from(value.data, 'base64');
  const copy = new Uint8Array(bytes).buffer; // aligned
  return new ort.Tensor(value.type, new ARRAYS[value.type](copy), value.dims);
}

function textOf(tensor) {
  const data = tensor.data;
  return {
    type: tensor.type,
    dims: tensor.dims,
    data: Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64'),
  };
}

function stepOf(tensor, step) {
  const dims = [1, ...tensor.dims.slice(1)];
  const size = dims.reduce((a, b) => a * b, 1);
  return new ort.Tensor(tensor.type, tensor.data.slice(step * size, (step + 1) * size), dims);
}

async function evaluateBySteps(session, feeds, states) {
  const steps = Object.values(feeds)[0].dims[0];
  const parts = [];
  for (let step = 0; step < steps; step++) {
    const stepFeeds = {...states};
    for (const [name, tensor] of Object.entries(feeds)) {
      stepFeeds[name] = stepOf(tensor, step);
    }
    const outputs = await session.run(stepFeeds);
    for (const name of Object.keys(states)) {
      states[name] = outputs[name + '.next'];
    }
    parts.push(outputs);
  }
  const joined = {};
  for (const name of session.outputNames.filter((output) => !output.endsWith('.next'))) {
    const first = parts[0][name];
    const data = new first.data.constructor(first.data.length * steps);
    parts.forEach((part, step) => data.set(part[name].data, step * first.data.length));
    joined[name] = new ort.Tensor(first.type, data, [steps, ...first.dims.slice(1)]);
  }
  return joined;
}

async function run(job) {
  const session = await ort.InferenceSession.create(job.model, {intraOpNumThreads: 1, logSeverityLevel: 3});
  const tensors = (values) => Object.fromEntries(
      Object.entries(values).filter(([name]) => session.inputNames.includes(name))
          .map(([name, value]) => [name, tensorOf(value)]));
  const feeds = tensors(job.feeds);
  const outputs = job.states ? await evaluateBySteps(session, feeds, tensors(job.states)) : await session.run(feeds);
  const texts = Object.fromEntries(Object.entries(outputs).map(([name, tensor]) => [name, textOf(tensor)]));
  return {inputs: session.inputNames, outputs: texts};
}

async function main() {
  const results = [];
  for (const job of JSON.parse(fs.readFileSync(process.argv[2], 'utf8'))) {
    try {
      results.push(await run(job));
    } catch (error) {
      results.push({error: String(error.message)});
    }
  }
  fs.writeFileSync(process.argv[3], JSON.stringify(results));
}

main();
