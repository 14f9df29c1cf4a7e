// The page: loads etx.wasm, the program and the vocabulary, and translates what
// is in the text field. examples/web/README.md says which files lie beside it.

import { load } from "./etx.mjs";
import { Translator } from "./translator.mjs";

const element = (id) => document.getElementById(id);

async function read(url) {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`cannot load '${url}': status ${response.status}`);
  return response;
}

async function start() {
  const [program, vocabulary] = await Promise.all([
    read("translate.pte").then((response) => response.arrayBuffer()).then((file) => load(file)),
    read("vocab.txt").then((response) => response.text()),
  ]);
  return new Translator(program, vocabulary);
}

function translate(translator) {
  const begin = performance.now();
  try {
    element("translation").textContent = translator.translate(element("source").value);
    element("status").textContent = `${(performance.now() - begin).toFixed(0)} ms`;
  } catch (error) {
    element("translation").textContent = "";
    element("status").textContent = error.message;
  }
}

try {
  const translator = await start();
  element("form").addEventListener("submit", (event) => {
    event.preventDefault();
    translate(translator);
  });
  element("button").disabled = false;
  element("status").textContent = "Ready.";
} catch (error) {
  element("status").textContent = error.message;
}
