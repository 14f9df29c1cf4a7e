#!/usr/bin/env python3
"""Writes the hand-made part of the corpora of texts, archives and data files.

    make_corpus.py DIRECTORY

Each file is small and wrong in the way that its name says; `good_*` are what
mutations start from.
"""

import io
import json
import pathlib
import struct
import sys
import zipfile


def safetensors(header, data=b"", size=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if size is None else size) + text + data


def tensor(begin, end, shape=(2,), dtype="F32"):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": [begin, end]}


SAFETENSORS = {
    "good_two_tensors": safetensors(
        {"a": tensor(0, 8), "b": tensor(8, 16, (1,), "I64")}, bytes(16)),
    "header_longer_than_file": safetensors({"a": tensor(0, 8)}, bytes(8), 10**6),
    "header_length_overflows": safetensors({"a": tensor(0, 8)}, bytes(8), 2**64 - 1),
    "tensor_past_the_end": safetensors({"a": tensor(0, 80, (20,))}, bytes(8)),
    "offsets_reversed": safetensors({"a": tensor(8, 0)}, bytes(8)),
    "offsets_negative": safetensors({"a": tensor(-8, 0)}, bytes(8)),
    "offset_of_65_bits": safetensors({"a": tensor(0, 2**64)}, bytes(8)),
    "shape_overflows": safetensors({"a": tensor(0, 8, (2**32, 2**32, 2**32))}, bytes(8)),
    "shape_negative": safetensors({"a": tensor(0, 8, (-2,))}, bytes(8)),
    "shape_of_wrong_size": safetensors({"a": tensor(0, 8, (3,))}, bytes(8)),
    "rank_17": safetensors({"a": tensor(0, 4, (1,) * 17)}, bytes(4)),
    "unknown_type": safetensors({"a": tensor(0, 8, (2,), "F33")}, bytes(8)),
    "not_an_object": safetensors([1, 2]),
    "no_offsets": safetensors({"a": {"dtype": "F32", "shape": [2]}}, bytes(8)),
    "name_twice": safetensors(
        b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},'
        b'"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}', bytes(1)),
    "empty": b"",
    "seven_bytes": bytes(7),
}

def gguf(tensors, pairs=b"", count=0, data=b""):
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), count) + pairs + b"".join(tensors)
    return head + bytes(-len(head) % 32) + data


def gguf_text(text):
    return struct.pack("<Q", len(text)) + text


def gguf_tensor(name, sizes, kind, offset):
    return (gguf_text(name) + struct.pack(f"<I{len(sizes)}Q", len(sizes), *sizes)
            + struct.pack("<IQ", kind, offset))


def gguf_pair(key, kind, value):
    return gguf_text(key) + struct.pack("<I", kind) + value


GGUF = {
    "good_two_tensors": gguf(
        [gguf_tensor(b"a", (32, 2), 8, 0), gguf_tensor(b"b", (4,), 1, 96)],
        gguf_pair(b"n.count", 4, struct.pack("<I", 2))
        + gguf_pair(b"words", 9, struct.pack("<IQ", 8, 2) + gguf_text(b"x") + gguf_text(b"")),
        2, bytes(range(104))),
    "good_k_blocks": gguf(
        [gguf_tensor(b"q4", (256, 1), 12, 0), gguf_tensor(b"q6", (256, 1), 14, 160)],
        data=bytes(range(256)) + bytes(114)),
    "more_tensors_than_bytes": b"GGUF" + struct.pack("<IQQ", 3, 2**63, 0),
    "arrays_nested_1000_deep": gguf(
        [], gguf_pair(b"k", 9, struct.pack("<IQ", 9, 1) * 1000), 1),
    "array_of_2_to_64_bytes": gguf([], gguf_pair(b"k", 9, struct.pack("<IQ", 10, 2**61)), 1),
    "array_of_empty_arrays_without_end": gguf(
        [], gguf_pair(b"k", 9, struct.pack("<IQ", 9, 2**60) + struct.pack("<IQ", 9, 0) * 9), 1),
    "sizes_overflow": gguf([gguf_tensor(b"a", (2**32, 2**32), 0, 0)]),
    "no_element_in_huge_rows": gguf([gguf_tensor(b"a", (2**62, 0), 0, 0)]),
    "offset_overflows": gguf([gguf_tensor(b"a", (8,), 0, 2**64 - 32)], data=bytes(32)),
    "tensors_overlap": gguf(
        [gguf_tensor(b"a", (16,), 0, 0), gguf_tensor(b"b", (8,), 0, 32)], data=bytes(64)),
    "name_twice": gguf(
        [gguf_tensor(b"a", (8,), 0, 0), gguf_tensor(b"a", (8,), 0, 32)], data=bytes(64)),
    "alignment_of_0": gguf(
        [gguf_tensor(b"a", (8,), 0, 0)],
        gguf_pair(b"general.alignment", 4, struct.pack("<I", 0)), 1, bytes(32)),
    "alignment_of_2_to_31": gguf(
        [gguf_tensor(b"a", (8,), 0, 0)],
        gguf_pair(b"general.alignment", 4, struct.pack("<I", 2**31)), 1, bytes(32)),
    "big_endian": b"GGUF" + struct.pack(">IQQ", 3, 0, 0),
    "rank_5": gguf([gguf_tensor(b"a", (1,) * 5, 0, 0)], data=bytes(32)),
    "empty": b"",
}

JSON = {
    "good_everything": b'{"a": [1, -2.5e3, true, null, "\\u00e9\\n"], "b": {"c": {}}}',
    "nested_10000_deep": b"[" * 10000,
    "nested_objects_1000_deep": b'{"a":' * 1000 + b"1" + b"}" * 1000,
    "key_twice": b'{"a": 1, "a": 2}',
    "integer_of_65_bits": b"[18446744073709551616]",
    "number_past_double": b"[1e400]",
    "not_a_number": b"[NaN]",
    "half_a_surrogate": b'["\\ud800"]',
    "bad_utf_8": b'["\xff\xfe"]',
    "zero_in_a_string": b'["a\\u0000b"]',
    "two_values": b"1 2",
    "cut_in_a_string": b'{"abc',
    "only_spaces": b"   \n\n",
}

GOOD_METHOD = """etx: 1
method: step
dims: {b: {min: 1, max: 4}}
inputs:
  - {name: x, type: "float32[b, 2]"}
buffers:
  - {name: n, type: "int64[]", init: 3}
  - {name: s, type: "float32[2]", init: 0.5}
nodes:
  - {out: y, op: aten.add.Tensor, args: [x, s]}
  - {out: z, op: aten.mul.Tensor, args: [y, 2.0]}
  - {out: m, op: aten.add.Tensor, args: [n, 1]}
  - {out: t, op: aten.select.int, args: [z, 0, 0]}
outputs:
  - {name: out, value: z}
mutates: {n: m, s: t}
"""

YAML = {
    "good_method": GOOD_METHOD.encode(),
    "anchors_that_multiply": b"a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n",
    "nested_1000_deep": b"[" * 1000,
    "key_twice": b"etx: 1\netx: 1\n",
    "tab_as_indent": b"etx: 1\n\tmethod: x\n",
    "bad_utf_8": b"method: \xff\xfe\n",
    "two_documents": b"etx: 1\n---\netx: 1\n",
    "tag": b"etx: !!python/object/apply:os.system ['true']\n",
    "number_for_a_tensor": GOOD_METHOD.replace("[z, 0, 0]", "[4, 0, 0]").encode(),
    "huge_number_for_a_tensor": GOOD_METHOD.replace(
        "[z, 0, 0]", "[2147483647, 0, 0]").encode(),
    "reads_what_is_not_defined": GOOD_METHOD.replace("args: [x, s]", "args: [z, s]").encode(),
    "defines_twice": GOOD_METHOD.replace("out: z,", "out: y,").encode(),
    "new_content_of_another_type": GOOD_METHOD.replace("s: t", "s: z").encode(),
    "bounds_reversed": GOOD_METHOD.replace("min: 1, max: 4", "min: 5, max: 4").encode(),
    "bounds_of_64_bits": GOOD_METHOD.replace("max: 4", "max: 9223372036854775807").encode(),
    "size_negative": GOOD_METHOD.replace("float32[2]", "float32[-2]").encode(),
    "size_overflows": GOOD_METHOD.replace(
        "float32[b, 2]", "float32[b, 4611686018427387904]").encode(),
    "index_outside": GOOD_METHOD.replace("[z, 0, 0]", "[z, 0, 9]").encode(),
    "unknown_operator": GOOD_METHOD.replace("aten.mul.Tensor", "aten.mull.Tensor").encode(),
    "reserved_name": GOOD_METHOD.replace("method: step", "method: et_module_init").encode(),
    "empty": b"",
}


def npy(header, data=b"", version=b"\x01\x00", size=None):
    text = header.encode()
    return (b"\x93NUMPY" + version
            + struct.pack("<H", len(text) if size is None else size) + text + data)


NPY_HEADER = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n"
NPY = {
    "good_floats": npy(NPY_HEADER, bytes(24)),
    "good_number": npy(NPY_HEADER.replace("(2, 3)", "()"), bytes(4)),
    "data_too_short": npy(NPY_HEADER, bytes(23)),
    "header_longer_than_file": npy(NPY_HEADER, bytes(24), size=60000),
    "shape_overflows": npy(NPY_HEADER.replace("(2, 3)", "(4294967296, 4294967296, 2)"), bytes(24)),
    "shape_negative": npy(NPY_HEADER.replace("(2, 3)", "(-2, 3)"), bytes(24)),
    "shape_not_closed": npy(NPY_HEADER.replace("(2, 3), }", "(2, 3"), bytes(24)),
    "rank_33": npy(NPY_HEADER.replace("(2, 3)", "(" + "1," * 33 + ")"), bytes(4)),
    "fortran_order": npy(NPY_HEADER.replace("False", "True"), bytes(24)),
    "big_endian": npy(NPY_HEADER.replace("<f4", ">f4"), bytes(24)),
    "objects": npy(NPY_HEADER.replace("<f4", "|O"), bytes(24)),
    "version_9": npy(NPY_HEADER, bytes(24), b"\x09\x00"),
    "magic_only": b"\x93NUMPY",
}


def archive(entries, method=zipfile.ZIP_STORED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as file:
        for name, content in entries:
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.compress_type = method
            file.writestr(info, content)
    return out.getvalue()


def without_directory(content):
    return content[:content.rindex(b"PK\x01\x02")]


def pt2():
    here = pathlib.Path(__file__).resolve().parents[1]
    good = (here / "data/pt2/counter/reset.pt2").read_bytes()
    with zipfile.ZipFile(io.BytesIO(good)) as file:
        entries = [(name, file.read(name)) for name in file.namelist()]
    model = next(name for name, _ in entries if name.endswith("models/model.json"))

    def changed(old, new):
        return archive([(name, content.replace(old, new) if name == model else content)
                        for name, content in entries])

    return {
        "good_reset": good,
        "good_stored": archive(entries),
        "no_entries": archive([]),
        "no_model": archive([e for e in entries if e[0] != model]),
        "entry_twice": archive(entries + entries[-1:]),
        "entry_outside": archive(entries + [("../../outside", b"x")]),
        "no_directory": without_directory(archive(entries)),
        "model_is_no_json": archive([(n, b"not json" if n == model else c) for n, c in entries]),
        "model_is_a_list": archive([(n, b"[]" if n == model else c) for n, c in entries]),
        "zeros_of_64_mib": archive(entries + [("data/zeros", bytes(1 << 26))],
                                   zipfile.ZIP_DEFLATED),
        "unknown_operator": changed(b"torch.ops.aten.", b"torch.ops.nope."),
        "graph_renamed": changed(b'"graph"', b'"grape"'),
        "type_unknown": changed(b'"dtype": ', b'"dtype": 9'),
    }


# Archives whose parts are small and of many kinds.
PARTS = ("counter/increment", "swap/rotate", "varying/stretch", "varying/gather",
         "scaled_sizes/found", "distinct/running", "guards/summed", "integers/wide",
         "statistics/totals", "branches/pick", "cond/step", "loops/remember", "tiny/step")


def without_traces(value):
    """JSON without what only people read."""
    if isinstance(value, list):
        return [without_traces(item) for item in value]
    if isinstance(value, dict):
        return {key: without_traces(item) for key, item in value.items()
                if key not in ("metadata", "module_call_graph")}
    return value


def parts(members):
    return b"\n".join(b"== " + name.encode() + b"\n" + content for name, content in members)


def good_parts(path):
    members = []
    with zipfile.ZipFile(path) as file:
        for name in file.namelist():
            content = file.read(name)
            name = name.split("/", 1)[1]
            if name.endswith(".json"):
                content = json.dumps(without_traces(json.loads(content)),
                                     separators=(",", ":")).encode()
            if not name.startswith((".data/", "data/sample_inputs/")):
                members.append((name, content))
    return parts(members)


def pt2_parts():
    here = pathlib.Path(__file__).resolve().parents[1]
    good = {name: good_parts(here / "data/pt2" / f"{name}.pt2") for name in PARTS}
    counter = good["counter/increment"]
    return {
        **{"good_" + name.replace("/", "_"): content for name, content in good.items()},
        "no_parts": b"",
        "no_weights": counter.replace(b"data/weights/weight_0", b"data/weights/weight_9"),
        "sizes_negative": counter.replace(b'"sizes":[]', b'"sizes":[{"as_int":-1}]'),
        "weight_of_many_bytes": counter.replace(
            b'"sizes":[]', b'"sizes":[{"as_int":4611686018427387904}]'),
        "symbol_without_range": good["varying/stretch"].replace(b"range_constraints", b"range"),
    }


CSV = {
    "good_fixed": b"id,lower,upper,size,alignment,offset\na,0,4,1024,64,\nb,2,5,8,8,4096\n"
                  b"c,4,6,100,1,\n",
    "good_ends": b"buffer,start,end,size\na,0,3,1024\nb,3,3,1\n",
    "good_other_columns": b"size,id,name,upper,lower\n7,a,x,4,0\n9,b,\"\",9,2\n",
    "good_32_columns": b"id,lower,upper,size" + b",x" * 28 + b"\na,0,4,8" + b"," * 28 + b"\n",
    "33_columns": b"id,lower,upper,size" + b",x" * 29 + b"\na,0,4,8" + b"," * 29 + b"\n",
    "empty": b"",
    "header_only": b"id,lower,upper,size\n",
    "column_twice": b"id,lower,upper,size,size\na,0,1,2,3\n",
    "end_before_start": b"id,lower,upper,size\na,4,0,8\n",
    "end_overflows": b"id,lower,end,size\na,0,4294967295,8\n",
    "size_of_64_bits": b"id,lower,upper,size\na,0,4,18446744073709551615\n"
                       b"b,0,4,18446744073709551615\n",
    "alignment_is_no_power": b"id,lower,upper,size,alignment\na,0,4,8,3\n",
    "alignment_of_63_bits": b"id,lower,upper,size,alignment\na,0,4,8,9223372036854775808\n"
                            b"b,0,4,8,9223372036854775808\n",
    "offset_overflows": b"id,lower,upper,size,offset\na,0,4,8,18446744073709551612\n",
    "fixed_overlap": b"id,lower,upper,size,offset\na,0,4,8,0\nb,0,4,8,4\n",
    "name_twice": b"id,lower,upper,size\na,0,4,8\na,4,5,8\n",
    "cell_missing": b"id,lower,upper,size\na,0,4\n",
    "zero_in_a_cell": b"id,lower,upper,size\na\0,0,4,8\n",
    "nothing_but_commas": b",,,,\n,,,,\n",
}

PROGRAM = {
    "good_cache": b"""etx: 1
align: 64
caches:
  "k*": {dim: -2, length: position, overflow: error}
""",
    "good_everything": b"""etx: 1
shared_buffers: [position]
dims: {"step.x[1]": {max: 3}}
outputs: {step.sum: stable}
constant_methods: {most: 10, rate: 0.5, on: true}
memories: [sram=64K, dram=1M]
quantize: [int8]
concurrent: []  # an even number of bytes: for the runtime of etx.
""",
    "good_slides": b"etx: 1\ncaches: {keys: {dim: 1, length: position, overflow: slide}} \n",
    "empty": b"",
    "not_a_map": b"[1, 2]\n",
    "version_9": b"etx: 9\n",
    "align_of_64_bits": b"etx: 1\nalign: 9223372036854775807\n",
    "align_negative": b"etx: 1\nalign: -8\n",
    "no_such_method": b"etx: 1\nconcurrent: [[nobody, step]]\n",
    "no_such_buffer": b"etx: 1\nshared_buffers: [nothing]\ninitial: {nothing: w}\n",
    "dim_outside": b"etx: 1\ncaches: {keys: {dim: 99, length: position}}\n",
    "constant_named_as_the_method": b"etx: 1\nconstant_methods: {step: 1}\n",
    "state_larger_than_its_memory": b"etx: 1\nmemories: [sram=64K, dram=1]\n",
    "memory_of_no_bytes": b"etx: 1\nmemories: [sram=0, =5, sram=99999999999999999999]\n",
}


def patched(content, *changes):
    """The bytes with others at some places."""
    out = bytearray(content)
    for place, new in changes:
        out[place:place + len(new)] = new
    return bytes(out)


def u64(number):
    return struct.pack("<Q", number)


def exported(name):
    here = pathlib.Path(__file__).resolve().parents[1]
    return (here / "data/exported" / name).read_bytes()


def ptd():
    good = exported("external.ptd")
    flat = struct.unpack_from("<Q", good, 24)[0]
    return {
        "good_two_weights": good,
        "no_header": patched(good, (8, b"XXXX")),
        "header_of_39_bytes": patched(good, (12, b"\x27")),
        "flatbuffer_sizes_overflow": patched(good, (16, u64(2**64 - 1))),
        "flatbuffer_past_the_end": patched(good, (24, u64(flat + 2**20))),
        "flatbuffer_of_8_bytes": patched(good, (16, u64(0)), (24, u64(8))),
        "segments_overflow": patched(good, (32, u64(2**64 - 1))),
        "segments_in_the_flatbuffer": patched(good, (32, u64(0))),
        "segments_shorter": patched(good, (40, u64(1))),
        "root_outside": patched(good, (0, b"\xff\xff\xff\x7f")),
        "head_only": good[:48],
        "empty": b"",
    }


def bundle():
    good = exported("bundle.bpte")
    at = good.index(b"ET12") - 4
    length = struct.unpack_from("<I", good, at - 4)[0]
    return {
        "good_four_cases": good,
        "program_longer_than_file": patched(good, (at - 4, b"\xff\xff\xff\x7f")),
        "program_of_no_bytes": patched(good, (at - 4, bytes(4))),
        "program_cut_by_one": patched(good, (at - 4, struct.pack("<I", length - 1))),
        "program_is_a_bundle": patched(good, (at + 4, b"BP08")),
        "root_outside": patched(good, (0, b"\xff\xff\xff\x7f")),
        "eight_bytes": good[:8],
        "empty": b"",
    }


def small_tokenizer(name):
    """A recorded tokenizer with its added tokens and 40 others, numbered anew."""
    here = pathlib.Path(__file__).resolve().parents[1]
    content = json.loads((here / f"data/tokenizers/{name}.json").read_text())
    model = content["model"]
    is_list = isinstance(model["vocab"], list)
    rows = model["vocab"] if is_list else sorted(model["vocab"].items(), key=lambda row: row[1])
    added = {token["content"]: token["id"] for token in content["added_tokens"]}
    text = json.dumps(content["post_processor"], ensure_ascii=False)
    wanted = set(added) | {model.get("unk_token")}
    kept = [row for i, row in enumerate(rows)
            if row[0] in wanted or i < 40 or json.dumps(row[0], ensure_ascii=False) in text]
    ids = {row[0]: i for i, row in enumerate(kept)}
    for token in content["added_tokens"]:
        token["id"] = ids.setdefault(token["content"], len(ids))
    old_ids = {row[0]: i if is_list else row[1] for i, row in enumerate(rows)}
    new_ids = {{**old_ids, **added}[token]: ids[token] for token in ids}
    model["vocab"] = kept if is_list else {row[0]: ids[row[0]] for row in kept}
    if "merges" in model:
        pairs = [row if isinstance(row, list) else row.split(" ") for row in model["merges"]]
        model["merges"] = [f"{a} {b}" for a, b in pairs
                           if {a, b, a + b} <= set(model["vocab"])]

    def renumber(part):  # the ids in post-processors
        if isinstance(part, list):
            if len(part) == 2 and isinstance(part[1], int):
                return [part[0], ids.get(part[0], part[1])]
            return [renumber(item) for item in part]
        if isinstance(part, dict):
            return {key: [new_ids.get(i, i) for i in item] if key == "ids" else renumber(item)
                    for key, item in part.items()}
        return part

    content["post_processor"] = renumber(content["post_processor"])
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()


def tokenizer():
    here = pathlib.Path(__file__).resolve().parents[1]
    names = ("bert", "bloom", "ctc", "deepseek3", "gemma", "llama3", "next", "qwen2", "roberta",
             "suffix", "t5", "unigram_bytes", "words", "xlmr")
    files = {f"good_{name}": small_tokenizer(name) for name in names}
    files["good_pieces"] = (here / "data/tokenizers/pieces_unigram.model").read_bytes()
    files["good_pieces_suffix"] = (here / "data/tokenizers/pieces_suffix.model").read_bytes()
    return {**files, "no_model": b'{"version":"1.0"}', "empty": b""}


def main():
    root = pathlib.Path(sys.argv[1])
    for reader, end, files in (
            ("safetensors", "safetensors", SAFETENSORS), ("json", "json", JSON),
            ("gguf", "gguf", GGUF), ("yaml", "yaml", YAML), ("npy", "npy", NPY), ("pt2", "pt2", pt2()),
            ("pt2_parts", "parts", pt2_parts()), ("csv", "csv", CSV),
            ("program", "yaml", PROGRAM), ("ptd", "ptd", ptd()), ("bundle", "bpte", bundle()),
            ("tokenizer", "json", tokenizer())):
        folder = root / reader
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (folder / f"{name}.{end}").write_bytes(content)


if __name__ == "__main__":
    main()
