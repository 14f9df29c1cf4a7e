// What etx.mjs promises beside results: errors with etx's messages, sessions of
// their own, snapshots, memory that does not grow.
//
//   node wrapper_test.mjs <etx.wasm> <counter.pte> <kv.pte>

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { EtxError, load } from "../../javascript/etx.mjs";

const [wasm, counterFile, kvFile] = process.argv.slice(2);
const module = await WebAssembly.compile(readFileSync(wasm));
const counter = new Uint8Array(readFileSync(counterFile)); // slice() copies it
const kv = new Uint8Array(readFileSync(kvFile));
const open = (file, options) => load(file, { wasm: module, ...options });

// The bytes of all states.
const bytesOf = (session) => JSON.stringify(session.states(), (_, value) =>
  typeof value === "bigint" ? `${value}n`
    : ArrayBuffer.isView(value) ? Array.from(value, String) : value);

test("methods have names, inputs and outputs", async () => {
  const program = await open(kv);
  const names = program.methods.map((method) => method.name);
  assert.ok(names.length > 0 && new Set(names).size === names.length);
  for (const { inputs, outputs } of program.methods) {
    for (const port of [...inputs, ...outputs]) {
      assert.ok(port.name.length > 0);
      if (port.kind === "tensor") assert.ok(port.sizes.every((size) => size >= 0));
    }
  }
});

test("sessions have states of their own", async () => {
  const program = await open(counter, { sessions: 2 });
  const [first, second] = [program.session(), program.session()];
  const initial = bytesOf(second);
  first.run("tick");
  assert.notEqual(bytesOf(first), initial);
  assert.equal(bytesOf(second), initial);
  assert.throws(() => program.session(), /all sessions are in use/);
  first.close();
  assert.equal(bytesOf(program.session()), initial);
});

test("a snapshot brings the state back", async () => {
  const session = (await open(counter)).session();
  session.run("tick");
  const [snapshot, saved] = [session.save(), bytesOf(session)];
  session.run("tick");
  assert.notEqual(bytesOf(session), saved);
  session.restore(snapshot);
  assert.equal(bytesOf(session), saved);
  session.reset();
  assert.notEqual(bytesOf(session), saved);
  snapshot[snapshot.length - 1] ^= 1;
  const before = bytesOf(session);
  assert.throws(() => session.restore(snapshot), EtxError);
  assert.equal(bytesOf(session), before);
});

test("wrong inputs are refused with a message and change nothing", async () => {
  const program = await open(kv);
  const session = program.session();
  const method = program.methods.find(({ inputs }) => inputs.some((i) => i.kind === "tensor"));
  const port = method.inputs.find((input) => input.kind === "tensor");
  const before = bytesOf(session);
  assert.throws(() => session.run("nothing"), /there is no method 'nothing'; the program has '/);
  assert.throws(() => session.run(method.name), /needs input/);
  assert.throws(() => session.run(method.name, { nothing: 1 }), EtxError);
  const wrong = { data: new Int16Array(1), sizes: [1] };
  assert.throws(() => session.run(method.name, { [port.name]: wrong }),
    new RegExp(`input '${port.name}': Int16Array, expected`));
  const huge = { data: new Float32Array(1 << 20), sizes: [1 << 20] };
  assert.throws(() => session.run(method.name, { [port.name]: huge }), EtxError);
  assert.equal(bytesOf(session), before);
});

test("damaged files are refused, never a trap", async () => {
  await assert.rejects(open(new Uint8Array(0)), EtxError);
  await assert.rejects(open(new TextEncoder().encode("not a program at all")), EtxError);
  let state = 1;
  for (let i = 0; i < 200; ++i) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const damaged = i % 2 ? counter.slice(0, state % counter.length) : counter.slice();
    if (i % 2 === 0) damaged[state % damaged.length] ^= 1 << (state >>> 29);
    try {
      (await open(damaged)).close();
    } catch (error) {
      assert.ok(error instanceof EtxError, `${error.stack}`);
      assert.doesNotMatch(error.message, /WebAssembly stopped/);
    }
  }
});

test("too many sessions are refused", async () => {
  await assert.rejects(open(counter, { sessions: 0 }), EtxError);
  await assert.rejects(open(counter, { sessions: 65536 }), EtxError);
});

test("memory does not grow by runs, snapshots and sessions", async () => {
  const program = await open(counter);
  const before = program.memory.total;
  for (let i = 0; i < 1000; ++i) {
    const session = program.session();
    session.run("tick");
    session.restore(session.save());
    session.close();
  }
  assert.equal(program.memory.total, before);
});

test("closed sessions and programs say so", async () => {
  const program = await open(counter);
  const session = program.session();
  session.close();
  session.close();
  assert.throws(() => session.run("tick"), /the session is closed/);
  const other = program.session();
  program.close();
  assert.throws(() => other.run("tick"), /the program is closed/);
  assert.throws(() => program.session(), /the program is closed/);
});

test("a view into a larger buffer is a file", async () => {
  const larger = new Uint8Array(counter.length + 21);
  larger.set(counter, 13);
  const program = await open(larger.subarray(13, 13 + counter.length));
  program.session().run("tick");
});
