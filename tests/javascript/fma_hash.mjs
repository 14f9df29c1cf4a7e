// Prints the hash of fma_hash.c in WebAssembly: node fma_hash.mjs FILE.wasm

import { readFileSync } from "node:fs";

const { instance } = await WebAssembly.instantiate(readFileSync(process.argv[2]));
console.log(BigInt.asUintN(64, instance.exports.hash(1000000)).toString());
