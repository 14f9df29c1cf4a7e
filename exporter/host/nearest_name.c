// Optimal string alignment distance: dynamic programming over the last three
// rows of the table.

#include "exporter/host/nearest_name.h"

#include "format/base/diag.h"

enum { MAX_NAME = 63 };

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

size_t etx_name_distance(etx_text a, etx_text b) {
  if (a.size > MAX_NAME || b.size > MAX_NAME) return SIZE_MAX;
  size_t rows[3][MAX_NAME + 1];
  for (size_t j = 0; j <= b.size; ++j) rows[0][j] = j;
  for (size_t i = 1; i <= a.size; ++i) {
    size_t* const row = rows[i % 3];
    const size_t* const above = rows[(i + 2) % 3];
    const size_t* const higher = rows[(i + 1) % 3];
    row[0] = i;
    for (size_t j = 1; j <= b.size; ++j) {
      const size_t replaced =
          above[j - 1] + (a.data[i - 1] == b.data[j - 1] ? 0 : 1);
      row[j] = smaller(replaced, smaller(above[j], row[j - 1]) + 1);
      if (i > 1 && j > 1 && a.data[i - 1] == b.data[j - 2] &&
          a.data[i - 2] == b.data[j - 1]) {
        row[j] = smaller(row[j], higher[j - 2] + 1);
      }
    }
  }
  return rows[a.size % 3][b.size];
}

void etx_nearest_offer(etx_nearest_name* nearest, etx_text candidate) {
  // A distant name would mislead: the allowed distance grows with the length,
  // and at least one character must agree.
  const size_t shorter = smaller(nearest->wanted.size, candidate.size);
  const size_t allowed = shorter < 3 ? 1 : shorter < 8 ? 2 : 3;
  // Most names differ by more than that in length alone.
  if (nearest->wanted.size + candidate.size - 2 * shorter > allowed) return;
  const size_t distance = etx_name_distance(nearest->wanted, candidate);
  if (distance >= nearest->distance || distance > allowed ||
      distance >= nearest->wanted.size) {
    return;
  }
  nearest->best = candidate;
  nearest->distance = distance;
}

const char* etx_nearest_hint(const etx_nearest_name* nearest, char* out,
                             size_t capacity) {
  out[0] = '\0';
  if (nearest->best.size != 0) {
    etx_format_text(out, capacity, ", did you mean '%t'", nearest->best);
  }
  return out;
}
