#include "exporter/quantize/rounding/weight_rows.h"

#include <string.h>

#include "exporter/host/half_bits.h"

void etx_weight_rows_read(const etx_weight_rows* from, size_t at, size_t count,
                          float* out) {
  const size_t bytes = etx_dtype_bytes(from->dtype);
  const uint8_t* const data = from->data + at * bytes;
  if (from->dtype == ETX_DTYPE_FLOAT32) {
    memcpy(out, data, count * bytes);
    return;
  }
  const bool is_bfloat = from->dtype == ETX_DTYPE_BFLOAT16;
  for (size_t i = 0; i < count; ++i) {
    out[i] = is_bfloat ? etx_from_bfloat16(data + i * bytes)
                       : etx_from_float16(data + i * bytes);
  }
}

// The search for elements out of range.
typedef struct range_search {
  const etx_weight_rows* from;
  float largest;
  bool is_in_range[ETX_WEIGHT_PARTS];
} range_search;

static void search_part(void* argument, size_t part) {
  enum { PIECE = 512 };
  range_search* const search = argument;
  const size_t count = search->from->rows * search->from->inner;
  const size_t end = etx_weight_part_first(count, part + 1);
  bool is_in_range = true;
  size_t size = 0;
  for (size_t at = etx_weight_part_first(count, part); at < end; at += size) {
    float piece[PIECE];
    size = end - at < PIECE ? end - at : PIECE;
    etx_weight_rows_read(search->from, at, size, piece);
    for (size_t i = 0; i < size; ++i) {
      is_in_range = is_in_range & (piece[i] >= -search->largest) &
                    (piece[i] <= search->largest);
    }
  }
  search->is_in_range[part] = is_in_range;
}

bool etx_weight_rows_in_range(const etx_weight_rows* from, float largest,
                              const etx_workers* workers) {
  range_search search = {from, largest, {false}};
  etx_workers_run(workers, search_part, &search, ETX_WEIGHT_PARTS);
  for (size_t i = 0; i < ETX_WEIGHT_PARTS; ++i) {
    if (!search.is_in_range[i]) return false;
  }
  return true;
}
