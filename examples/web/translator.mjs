// Translates English to French with the program of samples/translate: `encode`
// writes the state that `decode` reads and appends to, one token a call.

// U+2581 begins a word.
const MARK = "\u2581";

/** Text to ids and back, as samples/translate/translate_tokenizer.c does it. */
export class Tokenizer {
  constructor(vocabulary) {
    this.pieces = vocabulary.split("\n").slice(0, -1);
    this.end = 0;
    this.unknown = 1;
    this.padding = this.pieces.length - 1;
    // Neither the end mark, nor the unknown piece, nor padding matches text.
    this.ids = new Map();
    this.pieces.slice(2, -1).forEach((piece, i) => this.ids.set(piece, i + 2));
    this.longest = Math.max(...this.pieces.map((piece) => [...piece].length));
  }

  // The longest pieces from the left; a character without one is unknown.
  #encodeWord(word) {
    const characters = [...MARK + word];
    const ids = [];
    for (let at = 0; at < characters.length;) {
      let size = Math.min(this.longest, characters.length - at);
      while (size > 0 && !this.ids.has(characters.slice(at, at + size).join(""))) --size;
      ids.push(size > 0 ? this.ids.get(characters.slice(at, at + size).join("")) : this.unknown);
      at += Math.max(size, 1);
    }
    return ids;
  }

  encode(text) {
    const words = text.split(/[ \t-\r]+/).filter((word) => word !== "");
    return [...words.flatMap((word) => this.#encodeWord(word)), this.end];
  }

  decode(ids) {
    return ids.filter((id) => id !== this.end && id !== this.padding)
      .map((id) => this.pieces[id]).join("").replaceAll(MARK, " ").trimStart();
  }
}

function indexOfLargest(values) {
  let best = 0;
  for (let i = 1; i < values.length; ++i) if (values[i] > values[best]) best = i;
  return best;
}

/** Greedy translation on a session of a program of samples/translate/model/pt2. */
export class Translator {
  constructor(program, vocabulary) {
    this.tokenizer = new Tokenizer(vocabulary);
    this.session = program.session();
    const encode = program.methods.find((method) => method.name === "encode");
    this.positions = encode.inputs[0].sizes[1];
  }

  /** The ids of a translation; the last is the end mark. */
  translateToIds(text) {
    const source = this.tokenizer.encode(text);
    if (source.length === 1) return [this.tokenizer.end];
    if (source.length > this.positions) {
      throw new RangeError(`the sentence has ${source.length} tokens, ` +
        `the model takes ${this.positions}`);
    }
    this.session.run("encode", { ids: [source] });
    const ids = [];
    let token = this.tokenizer.padding;
    for (let position = 0; position < this.positions && token !== this.tokenizer.end; ++position) {
      const { output_0: logits } = this.session.run("decode", { token: [[token]], pos: [position] });
      token = indexOfLargest(logits.data);
      ids.push(token);
    }
    return ids;
  }

  translate(text) {
    return this.tokenizer.decode(this.translateToIds(text));
  }
}
