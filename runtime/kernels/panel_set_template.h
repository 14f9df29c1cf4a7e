// The loops of panel_loops.h for one instruction set, whose vector registers
// have VECTOR_BYTES.

#include "runtime/kernels/dots_template.h"

#define T float
#define NAME(x) x##_f32
#include "runtime/kernels/panel_template.h"
#undef T
#undef NAME
#define T double
#define NAME(x) x##_f64
#include "runtime/kernels/panel_template.h"
#undef T
#undef NAME
// Integers wrap.
#define T uint64_t
#define NAME(x) x##_i64
#include "runtime/kernels/panel_template.h"
#undef T
#undef NAME

#define ETX_PANEL_SET(name)                        \
  {                                                \
    name,                                          \
        {add_products_i64, add_products_f32,       \
         ETX_IF_DTYPE(FLOAT64, add_products_f64)}, \
        dots                                       \
  }
