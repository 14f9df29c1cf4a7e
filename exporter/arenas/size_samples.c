#include "exporter/arenas/size_samples.h"

#include "format/base/checked_math.h"

// All in 64ths of the range of a symbol.
static const int64_t together[] = {0, 1, 2, 4, 8, 16, 24, 36, 50};
static const int64_t grid[] = {0, 2, 8, 20, 40, 64};

enum {
  TOGETHER = sizeof together / sizeof *together,
  GRID = sizeof grid / sizeof *grid
};

_Static_assert(TOGETHER + GRID * GRID == ETX_SIZE_SAMPLES_MOST,
               "the number of samples");

size_t etx_size_samples_count(const etx_symbols* symbols) {
  size_t varying = 0;
  for (size_t i = 0; i < symbols->symbol_count; ++i) {
    const etx_symbol* const s = &symbols->symbols[i];
    varying += !s->is_late && s->minimum < s->maximum;
  }
  return varying == 0 ? 0 : varying == 1 ? TOGETHER : ETX_SIZE_SAMPLES_MOST;
}

// The size of a symbol in sample `index`. A size that data decide counts at its
// bound, since its memory does, too. `rank` counts the varying symbols before
// it: two neighbours vary independently.
static int64_t symbol_at(const etx_symbol* symbol, size_t rank, size_t index) {
  const int64_t range = symbol->maximum - symbol->minimum;
  if (symbol->is_late) return symbol->maximum;
  int64_t part = 0;
  if (index < TOGETHER) {
    part = together[index];
  } else {
    const size_t cell = index - TOGETHER;
    part = grid[rank % 2 == 0 ? cell % GRID : cell / GRID];
  }
  return symbol->minimum + range / 64 * part + range % 64 * part / 64;
}

static etx_status bytes_of(const etx_ir_method* method, const etx_shape* shape,
                           const int64_t* sizes, uint64_t* out_bytes) {
  uint64_t bytes = etx_dtype_bytes(shape->dtype);
  for (size_t i = 0; i < shape->rank; ++i) {
    int64_t size = 0;
    ETX_TRY(
        etx_symbols_evaluate(&method->symbols, shape->dims[i], sizes, &size));
    if (size < 0 || !etx_multiply_u64(bytes, (uint64_t)size, &bytes)) {
      return ETX_OUT_OF_RANGE;
    }
  }
  *out_bytes = bytes;
  return ETX_OK;
}

etx_status etx_size_samples_bytes(const etx_ir_method* method,
                                  const etx_placement* placement, size_t index,
                                  uint64_t* out_bytes) {
  int64_t sizes[ETX_SYMBOLS_MAX_COUNT];
  size_t rank = 0;
  for (size_t i = 0; i < method->symbols.symbol_count; ++i) {
    const etx_symbol* const s = &method->symbols.symbols[i];
    sizes[i] = symbol_at(s, rank, index);
    rank += !s->is_late && s->minimum < s->maximum;
  }
  for (size_t s = 0; s < placement->storage_count; ++s) out_bytes[s] = 0;
  for (uint32_t v = 0; v < placement->value_count; ++v) {
    const etx_storage_range range = etx_placement_range(placement, v);
    if (range.storage == ETX_IR_NONE) continue;
    uint64_t end = 0;
    ETX_TRY(bytes_of(method, &method->values[v].shape, sizes, &end));
    end += range.start;
    const uint64_t most = placement->storages[range.storage].bytes;
    if (end > most) end = most;
    if (end > out_bytes[range.storage]) out_bytes[range.storage] = end;
  }
  return ETX_OK;
}
