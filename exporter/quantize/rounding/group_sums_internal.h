// What group_sums.h and the files with instructions of a machine share.

#ifndef ETX_EXPORTER_QUANTIZE_ROUNDING_GROUP_SUMS_INTERNAL_H
#define ETX_EXPORTER_QUANTIZE_ROUNDING_GROUP_SUMS_INTERNAL_H

#include <stddef.h>

// The largest group.
enum { ETX_GROUP_SUM_LANES = 8, ETX_GROUP_SUM_LARGEST = 128 };

typedef struct etx_group_sums {
  float cross;   // sum of float * integer
  float square;  // sum of integer * integer
} etx_group_sums;

// The sums for each of `factor_count` factors.
typedef void etx_group_sums_function(const float* group, size_t count,
                                     const float* factors, size_t factor_count,
                                     etx_group_sums* out);

// The function for instructions of this processor; NULL if there are none. For
// groups whose size is a multiple of ETX_GROUP_SUM_LANES.
etx_group_sums_function* etx_group_sums_instructions(void);

#endif
