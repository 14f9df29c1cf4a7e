// Which instructions this processor has. Inner loops (such as float_loops.h,
// half_loops.h and f32_microkernels.h below runtime/kernels/simd) are compiled
// once for each instruction set that makes them faster; all sets give the same
// bits. This is the one place where a set is chosen. One instruction exists on
// some processors of a set only: the loop that uses it asks for it by itself
// (look_up in runtime/kernels/arch/x86/u8/u8_loops_avx512vnni.c).
//
// Nothing is cached here. On x86-64 the compiler's support library has asked
// the processor before, and the operating system whether it saves the wide
// registers; on ARM64 the operating system has asked.

#ifndef ETX_RUNTIME_INSTRUCTION_SET_H
#define ETX_RUNTIME_INSTRUCTION_SET_H

// The sets that loops are compiled for, narrowest first: the rows of
// instruction_sets.def.
typedef enum etx_instruction_set {
  ETX_SET_ANY,  // as a limit: no limit
#define SET(NAME, text) ETX_SET_##NAME,
#include "runtime/instruction_sets.def"
#undef SET
  ETX_SET_COUNT  // the number of instruction sets
} etx_instruction_set;

// The widest set that this build has loops for (the CMake option of the same
// name); those of all narrower sets are in it, too. Every build has the base
// set.
#ifndef ETX_WIDEST_SET
#define ETX_WIDEST_SET (ETX_SET_COUNT - 1)
#endif

// True if this build has loops for the set. A constant expression: the compiler
// drops what tests it in vain, and the linker the loops that only this refers
// to.
#define ETX_HAS_SET(NAME) ((int)ETX_SET_##NAME <= (int)(ETX_WIDEST_SET))

// The widest set that this processor and this build have and that is not above
// `limit`.
etx_instruction_set etx_instruction_set_within(etx_instruction_set limit);

// The name of a set as instruction_sets.def has it; "any" for no limit.
const char* etx_instruction_set_name(etx_instruction_set set);

#endif
