// Programs that no exporter writes: random operators over random values whose
// kinds are those of the operator's schema, and everything else is drawn.
//
// Types, ranks, sizes, orders of dimensions, numbers, memory that overlaps,
// data full of special values: most such programs are refused, the others run
// kernels at their corners.

#ifndef ETX_TESTS_HOSTILE_DRAWN_PROGRAM_H
#define ETX_TESTS_HOSTILE_DRAWN_PROGRAM_H

#include "tests/hostile/drawn_content.h"

// Draws a program whose first instruction is an `op`.
void drawn_program_draw(drawn_program* program, uint64_t seed, uint64_t number,
                        etx_op_id op);

#endif
