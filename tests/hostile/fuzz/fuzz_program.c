// program.yaml beside a method with a cache: read, planned, proved and run.

#include "tests/hostile/fuzz/fuzz_method.h"
#include "tests/hostile/fuzz/fuzz_target.h"

static const char method[] =
    "etx: 1\n"
    "method: step\n"
    "dims: {t: {min: 1, max: 4}}\n"
    "inputs:\n"
    "  - {name: x, type: \"float32[1, t, 2]\"}\n"
    "buffers:\n"
    "  - {name: keys, type: \"float32[1, 8, 2]\", init: 0}\n"
    "  - {name: position, type: \"int64[1]\", init: 0}\n"
    "nodes:\n"
    "  - {out: steps, op: aten.arange.default, args: [{sym: t}], type: "
    "\"int64[t]\"}\n"
    "  - {out: rows, op: aten.add.Tensor, args: [steps, position]}\n"
    "  - {out: new_keys, op: aten.index_copy.default, args: [keys, 1, rows, "
    "x]}\n"
    "  - {out: next, op: aten.add.Scalar, args: [position, {sym: t}]}\n"
    "  - {out: total, op: aten.mul.Tensor, args: [new_keys, new_keys]}\n"
    "outputs: {sum: total}\n"
    "mutates: {keys: new_keys, position: next}\n";

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static bool has_method;
  const etx_bytes bytes = {data, size};
  if (!has_method) {
    const etx_bytes text = {(const uint8_t*)method, sizeof method - 1};
    fuzz_method_file("step.yaml", text);
    has_method = true;
  }
  return fuzz_method("program.yaml", bytes) ? 0 : FUZZ_REFUSED;
}
