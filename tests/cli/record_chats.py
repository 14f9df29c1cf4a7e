#!/usr/bin/env python3
"""Writes tests/data/chats/chats.bin: chats as apply_chat_template of transformers has them.

    python3 tests/cli/record_chats.py

Each case is a list of texts, and each text its bytes (32 bits, little endian) and then
these: the family, the template, the token that ends an answer, the system's message (empty:
there is none), the number of messages, the messages, and the whole chat.
"""

import pathlib
import struct
import sys

import tokenizers
import transformers

TESTS = pathlib.Path(__file__).parent.parent
sys.path.insert(0, str(TESTS / "python"))
from chat_templates import ENDS, FAMILIES, WITHOUT_SYSTEM

NAMES = {"qwen2.5": "chatml"}  # of templates that are no family of their own
MESSAGES = ["Who are you?", " \u2003An answer,\nof two lines. \v\x85", "\u3000Größe? 12 😀 \n", "", "And then?"]


def cases():
    model = tokenizers.Tokenizer(tokenizers.models.WordLevel({"<s>": 0, "</s>": 1}))
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=model, bos_token="<s>", eos_token="</s>")
    for family, template in FAMILIES.items():
        for system in ("", " You speak like a fox.\t"):
            if system and family in WITHOUT_SYSTEM:
                continue
            for count in (1, 3, 5):
                chat = [{"role": "system", "content": system}] if system else []
                chat += [{"role": ("user", "assistant")[i % 2], "content": text}
                         for i, text in enumerate(MESSAGES[:count])]
                whole = tokenizer.apply_chat_template(
                    chat, chat_template=template, tokenize=False, add_generation_prompt=True)
                yield [NAMES.get(family, family), template, ENDS.get(family, "</s>"), system,
                       str(count), *MESSAGES[:count], whole]


def main():
    data = b""
    for case in cases():
        for text in case:
            data += struct.pack("<I", len(text.encode())) + text.encode()
    folder = TESTS / "data" / "chats"
    folder.mkdir(exist_ok=True)
    (folder / "chats.bin").write_bytes(data)


if __name__ == "__main__":
    main()
