#!/usr/bin/env python3
"""Translates the recorded sentences in the stock ExecuTorch runtime.

    run_translator.py ETX MODEL_DIRECTORY

Plans MODEL_DIRECTORY/pt2 with `ETX plan --target executorch` and decodes every
line of MODEL_DIRECTORY/test.tsv greedily: encode once, decode a token a call.
The ids have to be those that PyTorch gave. Texts become ids by tokens.tsv, so
no tokeniser is needed.

Ends with 0 if every line agreed, 1 if one did not, 77 (skipped) if the package
is not there.
"""

import os
import subprocess
import sys
import tempfile

try:
    import torch
    from executorch.runtime import Runtime, Verification
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

PADDING, END, MOST_TOKENS = 595, 0, 63


def rows_of(path):
    with open(path, encoding="utf-8") as file:
        return [line.rstrip("\n").split("\t") for line in file]


def translate(encode, decode, ids):
    encode.execute([torch.tensor([ids])])
    token, answer = PADDING, []
    while len(answer) < MOST_TOKENS and token != END:
        inputs = [torch.tensor([[token]]), torch.tensor([len(answer)])]
        token = int(decode.execute(inputs)[0].argmax())
        answer.append(token)
    return answer


def main():
    if len(sys.argv) != 3:
        print(__doc__)
        return 2
    etx, model = sys.argv[1:]
    ids_of = {
        text: [int(i) for i in ids.split()]
        for text, ids, *_ in rows_of(os.path.join(model, "tokens.tsv"))
    }
    wrong = lines = 0
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "translate.pte")
        subprocess.run(
            [etx, "plan", os.path.join(model, "pt2"), "-q", "-o", path,
             "--target", "executorch"], check=True)
        program = Runtime.get().load_program(
            path, verification=Verification.InternalConsistency)
        program.load_method("et_module_init").execute([])
        encode = program.load_method("encode")
        decode = program.load_method("decode")
        for english, *_, expected in rows_of(os.path.join(model, "test.tsv")):
            found = translate(encode, decode, ids_of[english])
            lines += 1
            if found != [int(i) for i in expected.split()]:
                print(f"'{english}': {found}, expected {expected}")
                wrong += 1
    print(f"translate: {lines} lines, {wrong} differ")
    return 0 if lines > 0 and wrong == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
