// The loops of panel_loops.h for one instruction set, whose vector registers
// have VECTOR_BYTES. Sums of PANEL_ROWS rows and PANEL_GROUPS groups of lanes,
// or of DOT_ROWS times DOT_COLUMNS dots, fit in its registers; PANEL_FEW_SUMS
// vectors of them hide how long a step takes. PANEL_FLOAT_TAPS and
// DENSE_EIGHTS, if they are defined, are a set's own ways through eights of
// taps. PANEL_ASKS_BY_TAP, if it is defined, lets floats ask for memory with
// each tap (panel_template.h). PANEL_READS_STAY, if it is defined, is what
// keeps a compiler from reading the weights of all rows at once, for which
// there are no registers; PANEL_SPOILS_ALL and PANEL_SPOILS_REST(used) what
// keeps it from leaving anything in vector registers (panel_template.h).

#include "runtime/kernels/fused_template.h"
#include "runtime/kernels/power_template.h"
#include "runtime/kernels/row_template.h"
#include "runtime/kernels/small_template.h"
#include "runtime/kernels/dots_template.h"
#include "runtime/kernels/most_template.h"
#include "runtime/kernels/score_template.h"
#include "runtime/kernels/plane_template.h"
#include "runtime/kernels/dense_spot_template.h"
#include "runtime/kernels/winograd_template.h"
#include "runtime/kernels/spot_template.h"
#if VECTOR_BYTES >= 32
#include "runtime/kernels/point_template.h"
#define PANEL_POINTS sum_points
#else
#define PANEL_POINTS NULL
#endif
#if VECTOR_BYTES >= 32
#include "runtime/kernels/window_plane_template.h"
#include "runtime/kernels/window_square_template.h"
#define PANEL_WINDOWS sum_windows, WINDOW_MOST
#else
#define PANEL_WINDOWS NULL, 0
#endif

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
#undef ROWS
// Wider types are rare, and their steps are two operations each: fewer rows
// keep them busy, in half the code.
#define ROWS 3
#undef NAME
#undef STEP
#define STEP(weight, x, sums) ((sums) + (weight) * (x))
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
#undef STEP
#undef ROWS

#define ETX_PANEL_SET(name)                             \
  {name,                                                \
   {add_products_i64, add_products_f32,                 \
    ETX_IF_DTYPE(FLOAT64, add_products_f64)},           \
   dots,                                                \
   multiply_small,                                      \
   turn,                                                \
   copy_rows,                                           \
   store_rows,                                          \
   sum_plane,                                           \
   row_most,                                            \
   weigh_scores,                                        \
   sum_dense_spots,                                     \
   sum_spots,                                           \
   store_spots,                                         \
   {winograd_input, winograd_weights, winograd_output}, \
   PANEL_WINDOWS,                                       \
   PANEL_POINTS,                                        \
   PANEL_GROUPS}
