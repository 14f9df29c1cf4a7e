// Which instructions this processor has. Inner loops (kernels/float_loops.h,
// half_loops.h, f32_microkernels.h) are compiled once for each set that is worth it;
// all sets give the same bits. This is the one place where a set is chosen;
// for one instruction that not all processors of a set have a loop asks by itself
// (x86/u8_loops_avx512vnni.c: look_up).
//
// Nothing is remembered: the compiler's support library has asked the processor
// before, and the operating system whether it keeps the wide registers; on
// ARM64 the system has.

#ifndef ETX_RUNTIME_INSTRUCTION_SET_H
#define ETX_RUNTIME_INSTRUCTION_SET_H

// The sets that loops are compiled for, narrowest first: the rows of
// instruction_sets.def.
typedef enum etx_instruction_set {
  ETX_SET_ANY,  // as a limit: no limit
#define SET(NAME, text) ETX_SET_##NAME,
#include "runtime/instruction_sets.def"
#undef SET
  ETX_SET_COUNT  // how many there are
} etx_instruction_set;

// The widest set that this processor has and that is not above `limit`.
etx_instruction_set etx_instruction_set_within(etx_instruction_set limit);

// The name of a set as instruction_sets.def has it; "any" for no limit.
const char* etx_instruction_set_name(etx_instruction_set set);

#endif
