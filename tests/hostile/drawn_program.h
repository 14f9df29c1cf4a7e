// Programs that no exporter writes: random operators over random values whose
// kinds are those of the operator's schema. Everything else is random: types,
// ranks, sizes, orders of dimensions, numbers, overlaps in memory, and data
// with many special values. Most such programs are refused; the others run
// kernels on unusual arguments.

#ifndef ETX_TESTS_HOSTILE_DRAWN_PROGRAM_H
#define ETX_TESTS_HOSTILE_DRAWN_PROGRAM_H

#include "tests/hostile/drawn_content.h"

// Draws a program whose first instruction is an `op`.
void drawn_program_draw(drawn_program* program, uint64_t seed, uint64_t number,
                        etx_op_id op);

#endif
