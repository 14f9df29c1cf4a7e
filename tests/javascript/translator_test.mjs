// Translates recorded sentences under Node.js and compares ids and text with
// what PyTorch answered.
//
//   node translator_test.mjs <etx.wasm> <program.pte> <samples/translate/model> [lines]

import { readFileSync } from "node:fs";
import { load } from "../../javascript/etx.mjs";
import { Translator } from "../../examples/web/translator.mjs";

const [wasm, pte, model, wanted = "500"] = process.argv.slice(2);
const program = await load(readFileSync(pte), { wasm: readFileSync(wasm) });
const translator = new Translator(program, readFileSync(`${model}/vocab.txt`, "utf8"));
const lines = readFileSync(`${model}/test.tsv`, "utf8").trimEnd().split("\n")
  .slice(0, Number(wanted));
const before = program.memory;
const start = performance.now();
let tokens = 0;
let wrong = 0;
for (const line of lines) {
  const [english, , french, recorded] = line.split("\t");
  const ids = translator.translateToIds(english);
  const text = translator.tokenizer.decode(ids);
  tokens += ids.length;
  if (ids.join(" ") === recorded && text === french) continue;
  if (++wrong <= 5) console.error(`'${english}': '${text}' (${ids}), expected '${french}' (${recorded})`);
}
const seconds = (performance.now() - start) / 1000;
const grown = program.memory.total - before.total;
console.log(`${lines.length} lines, ${wrong} wrong, ${tokens} tokens, ${seconds.toFixed(2)} s; ` +
  `memory ${before.total} bytes, grown by ${grown}`);
if (lines.length === 0 || wrong > 0 || grown !== 0) process.exit(1);
