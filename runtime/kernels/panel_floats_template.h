// The inner loop of panels of floats (panel_template.h). Read once for each
// instruction set, after fused_template.h. PANEL_FLOAT_TAPS, if it is defined,
// is a set's own way through eights of taps; PANEL_ASKS_BY_TAP lets each tap
// ask for memory.

#define T float
#define NAME(x) x##_f32
#define STEP(weight, x, sums) ETX_FUSED_ADD(ETX_FUSED_ALL(weight), x, sums)
#define ROWS PANEL_ROWS
#ifdef PANEL_FLOAT_TAPS
#define EIGHTS_OF_TAPS PANEL_FLOAT_TAPS
#endif
#ifdef PANEL_ASKS_BY_TAP
#define ASKS_BY_TAP
#endif
#include "runtime/kernels/panel_template.h"
#undef EIGHTS_OF_TAPS
#undef ASKS_BY_TAP
#undef T
#undef NAME
#undef STEP
#undef ROWS
