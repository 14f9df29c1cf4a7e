// Runs programs of etx in WebAssembly, in browsers and in Node.js.
//
//   import { load } from "./etx.mjs";
//   const program = await load(bytes);              // a .pte file
//   const session = program.session();              // state of its own
//   const { logits } = session.run("decode", { token: [5n], position: [0n] });
//   session.close();
//   program.close();
//
// Each program has a WebAssembly instance of its own, so its memory is freed
// with it. All memory is allocated by load(); run() allocates none but the
// typed arrays that it returns. docs/webassembly.md describes everything.

// By the codes of format/tensor/dtype.def.
const DTYPES = new Map([
  [0, ["uint8", Uint8Array]],
  [1, ["int8", Int8Array]],
  [2, ["int16", Int16Array]],
  [3, ["int32", Int32Array]],
  [4, ["int64", BigInt64Array]],
  [5, ["float16", Uint16Array]],
  [6, ["float32", Float32Array]],
  [7, ["float64", Float64Array]],
  [11, ["bool", Uint8Array]],
  [15, ["bfloat16", Uint16Array]],
  [27, ["uint16", Uint16Array]],
  [28, ["uint32", Uint32Array]],
  [29, ["uint64", BigUint64Array]],
]);

// By the codes of etx_pte_kind (format/pte/pte_types.h).
const KINDS = new Map([
  [1, "none"],
  [2, "int"],
  [3, "bool"],
  [4, "double"],
  [5, "tensor"],
]);

// Offsets in etx_web_view (web_program.h), in bytes.
const VIEW = {
  integer: 0, real: 8, kind: 16, dtype: 20, rank: 24, elementBytes: 28,
  data: 32, name: 36, nameBytes: 40, isMutable: 44, varies: 48, sizes: 52,
  strides: 116, isDynamic: 180,
};

/** What etx refused, with its message. */
export class EtxError extends Error {
  constructor(message) {
    super(message);
    this.name = "EtxError";
  }
}

async function readUrl(url) {
  if (url.protocol !== "file:") {
    const response = await fetch(url);
    if (!response.ok) {
      throw new EtxError(`cannot load '${url}': status ${response.status}`);
    }
    return response.arrayBuffer();
  }
  const { readFile } = await import("node:fs/promises");
  return readFile(url);
}

const modules = new Map(); // compiled ones, by URL

async function compile(wasm) {
  if (wasm instanceof WebAssembly.Module) return wasm;
  if (typeof wasm !== "string" && !(wasm instanceof URL)) {
    return WebAssembly.compile(wasm);
  }
  const url = new URL(wasm, import.meta.url);
  if (!modules.has(url.href)) {
    modules.set(url.href, readUrl(url).then((bytes) => WebAssembly.compile(bytes)));
    modules.get(url.href).catch(() => modules.delete(url.href));
  }
  return modules.get(url.href);
}

function bytesOf(buffer) {
  return ArrayBuffer.isView(buffer)
    ? new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength)
    : new Uint8Array(buffer);
}

// The exports of one instance, and its memory.
class Instance {
  constructor(exports) {
    this.exports = exports;
    this.isStopped = false;
  }

  // Calls an export. An instance that trapped is never used again, because
  // what it was writing is half written.
  call(name, ...values) {
    if (this.isStopped) throw new EtxError("the program was stopped by an earlier error");
    try {
      return this.exports[name](...values);
    } catch (error) {
      if (!(error instanceof WebAssembly.RuntimeError) && !(error instanceof RangeError)) {
        throw error;
      }
      this.isStopped = true;
      throw new EtxError(`WebAssembly stopped in '${name}': ${error.message}; ` +
        "if it is the stack, link etx.wasm with a larger one (-z stack-size)");
    }
  }

  get buffer() {
    return this.exports.memory.buffer;
  }

  text(address, size) {
    return new TextDecoder().decode(new Uint8Array(this.buffer, address, size));
  }

  failure(subject) {
    const message = this.text(this.call("message"), this.call("message_bytes"));
    return new EtxError(message === "" ? `${subject} failed` : message);
  }

  // Calls an export that returns a status.
  check(name, ...values) {
    if (this.call(name, ...values) !== 0) throw this.failure(name);
  }

  // Copies bytes into memory of their own and returns the address.
  copyIn(bytes) {
    const address = this.call("allocate", bytes.length);
    if (address === 0) {
      throw new EtxError(`WebAssembly has no memory of ${bytes.length} bytes`);
    }
    new Uint8Array(this.buffer, address, bytes.length).set(bytes);
    return address;
  }

  // Reads an etx_web_view.
  read(address) {
    const data = new DataView(this.buffer, address);
    const u32 = (at) => data.getUint32(at, true);
    const rank = u32(VIEW.rank);
    const list = (at) => Array.from({ length: rank }, (_, i) => data.getInt32(at + 4 * i, true));
    const [dtype, array] = DTYPES.get(u32(VIEW.dtype)) ?? [`type ${u32(VIEW.dtype)}`, undefined];
    return {
      kind: KINDS.get(u32(VIEW.kind)) ?? "list",
      kindCode: u32(VIEW.kind),
      integer: data.getBigInt64(VIEW.integer, true),
      real: data.getFloat64(VIEW.real, true),
      name: this.text(u32(VIEW.name), u32(VIEW.nameBytes)),
      dtype, array, dtypeCode: u32(VIEW.dtype),
      elementBytes: u32(VIEW.elementBytes),
      data: u32(VIEW.data),
      isMutable: u32(VIEW.isMutable) !== 0,
      varies: u32(VIEW.varies) !== 0,
      isDynamic: u32(VIEW.isDynamic) !== 0,
      sizes: list(VIEW.sizes),
      strides: list(VIEW.strides),
    };
  }
}

const product = (sizes) => sizes.reduce((a, b) => a * b, 1);

// The sizes of nested arrays: [[1, 2], [3, 4]] has [2, 2].
function sizesOfArray(value) {
  const sizes = [];
  for (let part = value; Array.isArray(part); part = part[0]) sizes.push(part.length);
  return sizes;
}

// Elements and sizes of what a caller passes for a tensor.
function tensorOf(value, port, where) {
  if (Array.isArray(value)) {
    const sizes = sizesOfArray(value);
    const flat = value.flat(Infinity);
    if (flat.length !== product(sizes)) {
      throw new EtxError(`${where}: an array whose rows have different lengths`);
    }
    const isBig = port.array === BigInt64Array || port.array === BigUint64Array;
    return { sizes, data: port.array.from(flat, isBig ? BigInt : Number) };
  }
  if (ArrayBuffer.isView(value)) {
    if (value.length === product(port.sizes)) return { sizes: port.sizes, data: value };
    if (port.sizes.length === 1) return { sizes: [value.length], data: value };
    throw new EtxError(`${where}: ${value.length} elements, expected ${product(port.sizes)} ` +
      "([" + port.sizes + "]); pass { data, sizes } for other sizes");
  }
  if (value !== null && typeof value === "object" && ArrayBuffer.isView(value.data) &&
      Array.isArray(value.sizes)) {
    return value;
  }
  throw new EtxError(`${where}: expected a typed array, an array, or { data, sizes }`);
}

function isValidSize(size) {
  return Number.isInteger(size) && size >= 0 && size < 2 ** 31;
}

// Copies a tensor's elements in order of its dimensions.
function gather(instance, view) {
  if (view.array === undefined) {
    throw new EtxError(`no typed array has elements of ${view.dtype}`);
  }
  const count = product(view.sizes);
  const out = new view.array(count);
  if (count === 0) return out;
  let dense = 1;
  let isDense = true;
  for (let i = view.sizes.length; i-- > 0;) {
    if (view.sizes[i] !== 1 && view.strides[i] !== dense) isDense = false;
    dense *= view.sizes[i];
  }
  if (isDense) {
    out.set(new view.array(instance.buffer, view.data, count));
    return out;
  }
  const last = view.sizes.reduce((at, size, i) => at + (size - 1) * view.strides[i], 0);
  const elements = new view.array(instance.buffer, view.data, last + 1);
  const index = view.sizes.map(() => 0);
  for (let i = 0, at = 0; i < count; ++i) {
    out[i] = elements[at];
    for (let d = index.length; d-- > 0;) {
      at += view.strides[d];
      if (++index[d] < view.sizes[d]) break;
      at -= view.strides[d] * view.sizes[d];
      index[d] = 0;
    }
  }
  return out;
}

// What a caller gets for a value.
function valueOf(instance, view) {
  switch (view.kind) {
    case "tensor": {
      const tensor = gather(instance, view);
      return { data: tensor, sizes: view.sizes, dtype: view.dtype };
    }
    case "int": return view.integer;
    case "bool": return view.integer !== 0n;
    case "double": return view.real;
    case "none": return null;
    default: throw new EtxError("the value is a list, which the wrapper does not read");
  }
}

/** Runs methods on a state of its own; Program.session() makes it. */
export class Session {
  #program;
  #index;

  constructor(program, index) {
    this.#program = program;
    this.#index = index;
  }

  #instance() {
    if (this.#index < 0) throw new EtxError("the session is closed");
    return this.#program.instanceOfSessions();
  }

  // Calls an export with the program and this session.
  #check(name, ...values) {
    this.#instance().check(name, this.#program.address, this.#index, ...values);
  }

  #setTensor(instance, method, position, port, value) {
    const where = `method '${method.name}', input '${port.name}'`;
    if (port.array === undefined) {
      throw new EtxError(`${where}: no typed array has elements of ${port.dtype}`);
    }
    const { data, sizes } = tensorOf(value, port, where);
    if (!(data instanceof port.array)) {
      throw new EtxError(`${where}: ${data.constructor.name}, expected ` +
        `${port.array.name} (${port.dtype})`);
    }
    if (!sizes.every(isValidSize) || product(sizes) !== data.length) {
      throw new EtxError(`${where}: ${data.length} elements for sizes [${sizes}]`);
    }
    if (sizes.length > 16 || data.length > product(port.sizes)) {
      throw new EtxError(`${where}: sizes [${sizes}], at most [${port.sizes}] were planned`);
    }
    new port.array(instance.buffer, port.data, data.length).set(data);
    new Int32Array(instance.buffer, instance.call("sizes"), 16).set(sizes);
    instance.check("set_tensor", this.#program.address, position, port.dtypeCode, sizes.length);
    return { data, port };
  }

  #setNumber(instance, method, position, port, value) {
    const where = `method '${method.name}', input '${port.name}'`;
    const kinds = { int: ["number", "bigint"], bool: ["boolean"], double: ["number"] };
    if (port.kind !== "none" && !(kinds[port.kind] ?? []).includes(typeof value)) {
      throw new EtxError(`${where}: ${typeof value}, expected ${port.kind}`);
    }
    if (port.kind === "int" && typeof value === "number" && !Number.isSafeInteger(value)) {
      throw new EtxError(`${where}: ${value}, expected a whole number`);
    }
    const integer = port.kind === "int" || port.kind === "bool" ? BigInt(value) : 0n;
    instance.check("set_number", this.#program.address, position, port.kindCode,
      BigInt.asIntN(64, integer), port.kind === "double" ? value : 0);
  }

  /**
   * Runs a method. Inputs are an array in order, or an object by name. A
   * number that the file fixes may be left out.
   */
  run(name, inputs = {}) {
    const instance = this.#instance();
    const method = this.#program.find(name);
    if (method.isConstant) return this.#program.constants(name);
    const values = Array.isArray(inputs)
      ? new Map(inputs.map((value, i) => [method.inputs[i]?.name ?? `${i}`, value]))
      : new Map(Object.entries(inputs));
    instance.check("choose", this.#program.address, this.#index, method.index);
    const written = [];
    method.inputs.forEach((port, i) => {
      const value = values.get(port.name);
      if (!values.delete(port.name)) {
        if (port.kind !== "tensor" && !port.varies) {
          const fixed = { int: port.integer, bool: port.integer !== 0n, double: port.real };
          return this.#setNumber(instance, method, i, port, fixed[port.kind]);
        }
        throw new EtxError(`method '${name}' needs input '${port.name}'`);
      }
      if (port.kind !== "tensor") return this.#setNumber(instance, method, i, port, value);
      const tensor = this.#setTensor(instance, method, i, port, value);
      if (port.isMutable) written.push(tensor);
    });
    for (const unknown of values.keys()) {
      throw new EtxError(`method '${name}' has no input '${unknown}'; its inputs are ` +
        method.inputs.map((port) => `'${port.name}'`).join(", "));
    }
    instance.check("run", this.#program.address);
    for (const { data, port } of written) {
      data.set(new port.array(instance.buffer, port.data, data.length));
    }
    const outputs = {};
    method.outputs.forEach((port, i) => {
      const view = instance.read(instance.call("output", this.#program.address, i));
      outputs[port.name] = valueOf(instance, view);
    });
    return outputs;
  }

  /** Gives all states their initial values. */
  reset() {
    this.#check("reset");
  }

  /** Keeps the first `length` rows of all caches. */
  truncate(length) {
    this.#check("truncate", BigInt.asUintN(64, BigInt(length)));
  }

  /** The states: a copy of each, by name. */
  states() {
    const instance = this.#instance();
    const states = {};
    for (let i = 0; ; ++i) {
      const found = instance.call("state", this.#program.address, this.#index, i);
      if (found === 0) return states;
      const view = instance.read(found);
      states[view.name] = valueOf(instance, view);
    }
  }

  /** Restarts the random numbers of all methods. */
  seed(seed) {
    this.#instance().call("seed", this.#program.address, this.#index,
      BigInt.asUintN(64, BigInt(seed)));
  }

  /** All states, as bytes for restore(). */
  save() {
    const instance = this.#instance();
    const size = instance.call("save_bytes", this.#program.address, this.#index);
    const address = instance.copyIn(new Uint8Array(size));
    try {
      instance.check("save", this.#program.address, this.#index, address, size);
      return new Uint8Array(instance.buffer, address, size).slice();
    } finally {
      instance.call("release", address);
    }
  }

  restore(snapshot) {
    const instance = this.#instance();
    const bytes = bytesOf(snapshot);
    const address = instance.copyIn(bytes);
    try {
      instance.check("restore", this.#program.address, this.#index, address, bytes.length);
    } finally {
      instance.call("release", address);
    }
  }

  /** Gives the session back, so that the program can start another one. */
  close() {
    if (this.#index < 0) return;
    const index = this.#index;
    const instance = this.#instance();
    this.#index = -1;
    instance.check("session_close", this.#program.address, index);
  }
}

/** A program file in memory; load() makes it. */
export class Program {
  #instance;
  #methods = new Map();

  constructor(instance, address) {
    this.#instance = instance;
    this.address = address;
    for (let index = 0; ; ++index) {
      const found = instance.call("method", address, index);
      if (found === 0) break;
      const view = instance.read(found);
      const inputs = this.#ports(index, false, Number(view.integer));
      const outputs = this.#ports(index, true, view.kindCode);
      this.#methods.set(view.name, {
        name: view.name, index, isConstant: view.varies, inputs, outputs });
    }
  }

  #ports(method, isOutput, count) {
    const ports = [];
    for (let i = 0; i < count; ++i) {
      const found = this.#instance.call("port", this.address, method, isOutput ? 1 : 0, i);
      if (found === 0) throw this.#instance.failure("port");
      const port = this.#instance.read(found);
      if (port.name === "") port.name = `${isOutput ? "output" : "input"}_${i}`;
      ports.push(port);
    }
    return ports;
  }

  /** The methods: names, inputs and outputs. Those that etx adds are left out. */
  get methods() {
    const describe = ({ name, kind, dtype, sizes, isDynamic, isMutable }) =>
      kind === "tensor" ? { name, kind, dtype, sizes: [...sizes], isDynamic, isMutable }
        : { name, kind };
    const own = [...this.#methods.values()].filter(({ name }) => !name.startsWith("et_"));
    return own.map(({ name, isConstant, inputs, outputs }) => ({
      name, isConstant, inputs: inputs.map(describe), outputs: outputs.map(describe) }));
  }

  /** Bytes of WebAssembly memory: all of it, and of sessions and inputs. */
  get memory() {
    const instance = this.instanceOfSessions();
    return { total: instance.buffer.byteLength,
      sessions: instance.call("memory_bytes", this.address) };
  }

  /** The outputs of a constant method, such as a vocabulary size. */
  constants(name) {
    const instance = this.instanceOfSessions();
    const method = this.find(name);
    const outputs = {};
    method.outputs.forEach((port, i) => {
      const found = instance.call("constant", this.address, method.index, i);
      if (found === 0) throw instance.failure(name);
      outputs[port.name] = valueOf(instance, instance.read(found));
    });
    return outputs;
  }

  /** Starts a session, whose states have their initial values. */
  session() {
    const index = this.instanceOfSessions().call("session_open", this.address);
    if (index < 0) {
      throw new EtxError("all sessions are in use; close one, or pass a larger " +
        "`sessions` to load()");
    }
    return new Session(this, index);
  }

  /** Frees the program's memory; its sessions end. */
  close() {
    this.#instance = undefined;
    this.#methods.clear();
  }

  // For Session.
  instanceOfSessions() {
    if (this.#instance === undefined) throw new EtxError("the program is closed");
    return this.#instance;
  }

  // For Session.
  find(name) {
    const method = this.#methods.get(name);
    if (method !== undefined) return method;
    throw new EtxError(`there is no method '${name}'; the program has ` +
      [...this.#methods.keys()].map((known) => `'${known}'`).join(", "));
  }
}

/**
 * Opens a program file (.pte) for `sessions` sessions at a time. `wasm` is
 * etx.wasm: a URL, its bytes or a module; by default the one beside this file.
 */
export async function load(file, { wasm = "etx.wasm", sessions = 1 } = {}) {
  const instantiated = await WebAssembly.instantiate(await compile(wasm), {});
  const instance = new Instance(instantiated.exports);
  instance.call("_initialize");
  const bytes = bytesOf(file);
  const address = instance.call("open", instance.copyIn(bytes), bytes.length, sessions);
  if (address === 0) throw instance.failure("open");
  return new Program(instance, address);
}
