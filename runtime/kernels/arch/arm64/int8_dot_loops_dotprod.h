// The int8 loops for processors with dot product instructions. The bytes of
// quantised rows are signed here.

#ifndef ETX_RUNTIME_KERNELS_ARCH_ARM64_INT8_DOT_LOOPS_DOTPROD_H
#define ETX_RUNTIME_KERNELS_ARCH_ARM64_INT8_DOT_LOOPS_DOTPROD_H

#include "runtime/kernels/simd/int8/int8_dot_loops.h"

extern const etx_int8_dot_loops etx_int8_dot_loops_dotprod;

// Members of the table that are defined in other files: quantisation of rows,
// and 4-bit weights.
void etx_int8_range_dotprod(const float* x, size_t count, float* low,
                            float* high);
void etx_int8_quantize_dotprod(const float* x, size_t count, double inverse,
                               double zero, uint8_t* out);
void etx_int8_quantize_and_range_dotprod(const etx_int8_quantize* quantize,
                                         const float* other, float* low,
                                         float* high);
void etx_int4_order_dotprod(uint8_t* row, size_t count);
void etx_int4_dot_dotprod(const etx_int4_dot_block* block);
void etx_int4_pack_dotprod(const etx_int4_pack* pack);
void etx_int4_panel_dotprod(const etx_int4_panel* panel);
void etx_int4_totals_dotprod(size_t rows, size_t groups, float* sums);

#endif
