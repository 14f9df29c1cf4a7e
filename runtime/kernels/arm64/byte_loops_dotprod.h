// The loops of bytes for processors with dot products, whose rows are of signed
// bytes.

#ifndef ETX_RUNTIME_KERNELS_ARM64_BYTE_LOOPS_DOTPROD_H
#define ETX_RUNTIME_KERNELS_ARM64_BYTE_LOOPS_DOTPROD_H

#include "runtime/kernels/byte_loops.h"

extern const etx_byte_loops etx_byte_loops_dotprod;

// Members of it, those of weights of 4 bits and those that make rows.
void etx_byte_range_dotprod(const float* x, size_t count, float* low,
                            float* high);
void etx_byte_quantize_dotprod(const float* x, size_t count, double inverse,
                               double zero, uint8_t* out);
void etx_byte_quantize_and_range_dotprod(const float* x, size_t count,
                                         double inverse, double zero,
                                         uint8_t* out, const float* other,
                                         float* low, float* high);
void etx_byte_order4_dotprod(uint8_t* row, size_t count);
void etx_byte_groups_dotprod(const etx_byte_groups* block);
void etx_byte_turn4_dotprod(const uint8_t* in, ptrdiff_t row, size_t columns,
                            size_t count, size_t group, int8_t* out,
                            int32_t* group_sums);
void etx_byte_panel_groups_dotprod(const etx_byte_group_panel* panel);
void etx_byte_totals_dotprod(size_t rows, size_t groups, float* sums);

#endif
