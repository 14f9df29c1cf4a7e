"""Checks that the exporter can emit each operator that has a kernel.

    python3 tests/exporter/check_operators.py --source .

The operators are the rows of format/ops/op_schema.def. The exporter can emit an
operator if aten_operators.def has a row of its name, or if a file of the
exporter names its symbol. The operators of ONLY_IN_FILES are read from files of
ExecuTorch's exporter and are never emitted.
"""

import argparse
import re
import sys
from pathlib import Path

SCHEMA = "format/ops/op_schema.def"
ATEN = "exporter/ir/aten_operators.def"
OPERATOR = re.compile(r'^OP\((\w+), "([^"]+)"', re.MULTILINE)

# Their namespaces have no PyTorch operator, or ExecuTorch's exporter makes them
# from Python code or in memory planning.
ONLY_IN_FILES = {
    "allclose_out", "allclose_tensor", "index_put_in_place",
    "kv_update_out",
    "fast_hadamard_transform_out", "sdpa_with_kv_cache_out",
    "update_cache_out", "update_cache_with_indices_out", "fallback_out",
    "h2d_copy_out", "d2h_copy_out", "tile_crop_out", "empty_dim_order_out",
    "prim_truediv_scalar", "prim_sym_ite_scalar", "prim_sym_float_scalar",
    "prim_sym_int_scalar", "prim_floordiv_int", "prim_mod_int",
    "et_copy_index_tensor",
}


def errors_of(source: Path) -> list[str]:
    rows = OPERATOR.findall((source / SCHEMA).read_text())
    table = (source / ATEN).read_text()
    names = set(re.findall(r'^ATEN\("\w+\.(\w+)\.', table, re.MULTILINE))
    words = set()
    for path in (source / "exporter").rglob("*.[chd]*"):
        if path.suffix in (".c", ".h", ".def"):
            words.update(re.findall(r"\w+", path.read_text()))
    errors = []
    for symbol, name in rows:
        is_emitted = (symbol in words or f"ETX_OP_{symbol}" in words
                      or name.split("::")[1] in names)
        if is_emitted and symbol in ONLY_IN_FILES:
            errors.append(f"{Path(__file__).name}: {symbol} is emitted by the exporter; "
                          "remove it from ONLY_IN_FILES")
        elif not is_emitted and symbol not in ONLY_IN_FILES:
            errors.append(f"{SCHEMA}: {symbol} ({name}) has a kernel, but no graph can use it; "
                          f"add its ATen operator to {ATEN}, for example with "
                          f"LOWER_OP(direct, {symbol})")
    for symbol in sorted(ONLY_IN_FILES - {row[0] for row in rows}):
        errors.append(f"{Path(__file__).name}: {SCHEMA} has no row {symbol}; "
                      "remove it from ONLY_IN_FILES")
    if not rows or not names:
        errors.append("no rows found: is --source right?")
    return errors


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--source", type=Path, required=True)
    errors = errors_of(parser.parse_args().source)
    for error in errors:
        print(error)
    print(f"operators of the exporter: {len(errors)} errors")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
