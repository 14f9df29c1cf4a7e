// "did you mean": the name that is nearest to a misspelled one.

#ifndef ETX_EXPORTER_HOST_NEAREST_NAME_H
#define ETX_EXPORTER_HOST_NEAREST_NAME_H

#include "format/base/span.h"

// Edit distance: characters to insert, delete, replace or swap with their
// neighbour to turn one name into the other. SIZE_MAX if a name has more than
// 63 bytes.
size_t etx_name_distance(etx_text a, etx_text b);

typedef struct etx_nearest_name {
  etx_text wanted;
  etx_text best;    // empty until one is near enough
  size_t distance;  // of best
} etx_nearest_name;

static inline etx_nearest_name etx_nearest_start(etx_text wanted) {
  const etx_nearest_name nearest = {wanted, {NULL, 0}, SIZE_MAX};
  return nearest;
}

// Considers a candidate; among equally near ones the first is kept.
void etx_nearest_offer(etx_nearest_name* nearest, etx_text candidate);

// ", did you mean 'x'" or an empty text, written into `out`.
const char* etx_nearest_hint(const etx_nearest_name* nearest, char* out,
                             size_t capacity);

#endif
