#!/usr/bin/env python3
"""Selects a small part of the operator test vectors for this repository.

    pick_vectors.py SOURCE TARGET [RESULTS ERRORS]

SOURCE is the whole corpus, or one of its folders, in the format of
tests/data/ops/README.md; TARGET is tests/data/ops, or the same folder there.
For each operator of op_schema.def it keeps at most RESULTS cases with results
and ERRORS cases with errors (elementwise folders use 6 and 3): first those with
a tag or a reason that no earlier case has, then others spread over the file.
The same source gives the same bytes.
"""
import json
import os
import re
import sys

KEPT_RESULTS, KEPT_ERRORS, LARGEST = 14, 8, 4096


def rows():
    here = os.path.dirname(os.path.abspath(__file__))
    text = open(os.path.join(here, '../../format/ops/op_schema.def')).read()
    found = re.findall(r'^OP\(\w+, "([^"]+)", "([^"]*)"', text, re.M)
    known = {name + ('.' + overload if overload else '')
             for name, overload in found}
    # Operators of etx run cases of the same name in other namespaces; functional
    # forms are run by equivalent operators (vector_forms.def).
    forms = open(os.path.join(here, 'vector_forms.def')).read()
    own = [name[5:] for name in known if name.startswith('etx::')]
    own += [name[:-4] for name in own if name.endswith('.out')]
    return (known | {'aten::' + name for name in own} |
            {'fused::' + name for name in own} |
            set(re.findall(r'^FORM\("([^"]+)"', forms, re.M)))


def read(base):
    raw = open(base + '.safetensors', 'rb').read()
    size = int.from_bytes(raw[:8], 'little')
    header, data = json.loads(raw[8:8 + size]), raw[8 + size:]
    cases = [json.loads(line) for line in open(base + '.jsonl')]
    return cases, header, data


def names(case):
    for entry in case['args'] + case.get('outs', []):
        if entry.get('t'):
            yield entry['t']
        for name in entry.get('tl') or []:
            if name:
                yield name


def spread(cases, count):
    """At most `count` cases, half of them with new tags or reasons."""
    if len(cases) <= count:
        return cases
    seen, kept = set(), []
    for at, case in enumerate(cases):
        marks = set(case.get('tags', [])) | {case.get('reason')}
        if not marks <= seen and len(kept) < count // 2 + 1:
            seen |= marks
            kept.append(at)
    rest = [i for i in range(len(cases)) if i not in kept]
    more = count - len(kept)
    kept += [rest[i * len(rest) // more] for i in range(more)]
    return [cases[i] for i in sorted(kept)]


def is_small(case, header):
    for name in names(case):
        entry = header[name]
        start, end = entry['data_offsets']
        if end - start > LARGEST:
            return False
    return True


def pick(cases, header, known, results, errors):
    kept = []
    for op in sorted({case['op'] for case in cases} & known):
        own = [c for c in cases if c['op'] == op and is_small(c, header)]
        kept += spread([c for c in own if c['expect'] == 'ok'], results)
        kept += spread([c for c in own if c['expect'] != 'ok'], errors)
    return kept


def write(base, cases, header, data):
    os.makedirs(os.path.dirname(base), exist_ok=True)
    used, parts, offset = {}, [], 0
    for name in sorted({n for c in cases for n in names(c)}):
        start, end = header[name]['data_offsets']
        used[name] = dict(header[name],
                          data_offsets=[offset, offset + end - start])
        parts.append(data[start:end])
        offset += end - start
    text = json.dumps(used, separators=(',', ':')).encode()
    text += b' ' * (-len(text) % 8)
    with open(base + '.safetensors', 'wb') as out:
        out.write(len(text).to_bytes(8, 'little') + text + b''.join(parts))
    with open(base + '.jsonl', 'w') as out:
        for case in cases:
            for key in ('stock', 'torch_message', 'note'):
                case.pop(key, None)
            out.write(json.dumps(case, separators=(',', ':')) + '\n')


def main(source, target, results=KEPT_RESULTS, errors=KEPT_ERRORS):
    known = rows()
    for folder, _, files in sorted(os.walk(source)):
        for name in sorted(files):
            if not name.endswith('.jsonl'):
                continue
            base = os.path.join(folder, name[:-6])
            cases, header, data = read(base)
            cases = pick(cases, header, known, int(results), int(errors))
            if cases:
                relative = os.path.relpath(base, source)
                write(os.path.join(target, relative), cases, header, data)


if __name__ == '__main__':
    main(*sys.argv[1:])
