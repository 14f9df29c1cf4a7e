// Makes the calls of recorded sets (tests/data/pt2) through etx.mjs and compares
// outputs and mutated inputs with what PyTorch answered.
//
//   node recorded_sets_test.mjs <etx.wasm> <folder of programs> <tests/data/pt2>
//
// The folder has SET.pte for each set that is to be tried.

import { readFileSync, readdirSync } from "node:fs";
import { EtxError, load } from "../../javascript/etx.mjs";

const [wasm, programs, sets] = process.argv.slice(2);
const module = await WebAssembly.compile(readFileSync(wasm));

const ARRAYS = {
  F32: Float32Array, F64: Float64Array, I64: BigInt64Array, I32: Int32Array, I16: Int16Array,
  I8: Int8Array, U8: Uint8Array, BOOL: Uint8Array, F16: Uint16Array, BF16: Uint16Array,
};

function readTensors(path) {
  const file = readFileSync(path);
  const header = Number(file.readBigUInt64LE(0));
  const tensors = new Map();
  for (const [name, info] of Object.entries(JSON.parse(file.toString("utf8", 8, 8 + header)))) {
    if (name === "__metadata__") continue;
    const [begin, end] = info.data_offsets;
    const bytes = new Uint8Array(file.subarray(8 + header + begin, 8 + header + end)).slice();
    tensors.set(name, {
      data: new ARRAYS[info.dtype](bytes.buffer), sizes: info.shape, type: info.dtype });
  }
  return tensors;
}

// The number that the bits of a half mean.
function halfOf(bits, type) {
  const view = new DataView(new ArrayBuffer(4));
  if (type === "BF16") {
    view.setUint32(0, bits << 16);
    return view.getFloat32(0);
  }
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (1024 + fraction) * 2 ** (exponent - 25);
}

function isNear(found, expected, cases, type) {
  if (typeof expected === "bigint") return found === expected;
  const isHalf = type === "F16" || type === "BF16";
  const a = isHalf ? halfOf(found, type) : found;
  const b = isHalf ? halfOf(expected, type) : expected;
  if (Number.isNaN(b)) return Number.isNaN(a);
  const rtol = isHalf ? Math.max(cases.rtol, type === "F16" ? 2e-3 : 2e-2) : cases.rtol;
  return a === b || Math.abs(a - b) <= cases.atol + rtol * Math.abs(b);
}

function compare(found, expected, cases, where) {
  if (`${found.sizes}` !== `${expected.sizes}`) {
    throw new Error(`${where}: sizes [${found.sizes}], expected [${expected.sizes}]`);
  }
  for (let i = 0; i < expected.data.length; ++i) {
    if (isNear(found.data[i], expected.data[i], cases, expected.type)) continue;
    throw new Error(`${where}[${i}]: ${found.data[i]}, expected ${expected.data[i]}`);
  }
  return expected.data.length;
}

function valueIn(entry, tensors) {
  if (entry.tensor !== undefined) {
    const { data, sizes } = tensors.get(entry.tensor);
    return { data: data.slice(), sizes };
  }
  return entry.none ? null : entry.int ?? entry.float ?? entry.bool;
}

function isRefused(session, call, inputs) {
  try {
    session.run(call.method, inputs);
    return false;
  } catch (error) {
    if (!(error instanceof EtxError)) throw error;
    return true;
  }
}

function checkCall(session, call, tensors, cases, where) {
  if (call.reset) session.reset();
  if (call.truncate !== undefined) session.truncate(call.truncate);
  if (call.method === undefined) return 0;
  const inputs = call.inputs.map((entry) => valueIn(entry, tensors));
  if (call.refused) {
    if (isRefused(session, call, inputs)) return 0;
    throw new Error(`${where}: expected to be refused`);
  }
  const outputs = Object.values(session.run(call.method, inputs));
  let elements = 0;
  const states = session.states();
  for (const [name, key] of Object.entries(call.state ?? {})) {
    elements += compare(states[name], tensors.get(key), cases, `${where}, state ${name}`);
  }
  call.outputs.forEach((entry, i) => {
    if (entry.none || entry.tensor === undefined) return;
    elements += compare(outputs[i], tensors.get(entry.tensor), cases, `${where}, output ${i}`);
  });
  (call.input_mutations ?? []).forEach(({ input, tensor }) => {
    elements += compare(inputs[input], tensors.get(tensor), cases, `${where}, input ${input}`);
  });
  return elements;
}

async function checkSet(name) {
  const cases = JSON.parse(readFileSync(`${sets}/${name}/cases.json`, "utf8"));
  const tensors = readTensors(`${sets}/${name}/expected.safetensors`);
  const program = await load(readFileSync(`${programs}/${name}.pte`), { wasm: module });
  const session = program.session();
  const before = program.memory.total;
  let elements = 0;
  cases.calls.forEach((call, i) => {
    elements += checkCall(session, call, tensors, cases, `${name}, call ${i}`);
  });
  if (program.memory.total !== before) throw new Error(`${name}: memory grew during runs`);
  program.close();
  return [cases.calls.length, elements];
}

let calls = 0;
let elements = 0;
let failed = 0;
const names = readdirSync(programs).filter((file) => file.endsWith(".pte"))
  .map((file) => file.slice(0, -4));
for (const name of names) {
  try {
    const [ofSet, compared] = await checkSet(name);
    calls += ofSet;
    elements += compared;
  } catch (error) {
    ++failed;
    console.error(error.message);
  }
}
console.log(`${names.length} sets, ${calls} calls, ${elements} elements, ${failed} sets failed`);
if (names.length === 0 || elements === 0 || failed > 0) process.exit(1);
