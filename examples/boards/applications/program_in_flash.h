// The program's bytes, which stay in flash. PROGRAM_FILE is its path.

#ifndef PROGRAM_IN_FLASH_H
#define PROGRAM_IN_FLASH_H

#include <stdint.h>

__asm__(
    ".section .rodata.program_file, \"a\"\n.balign 16\n"
    ".global program_start, program_end\n"
    "program_start: .incbin \"" PROGRAM_FILE "\"\nprogram_end:\n.text\n");
extern const uint8_t program_start[], program_end[];

// A block of memory of `bytes` for the runtime, never empty.
#define BLOCK(name, bytes) static _Alignas(64) uint8_t name[(bytes) + 1]

// The same in the slower memory of the board (SLOW in its memory script).
#define SLOW_BLOCK(name, bytes)                 \
  static _Alignas(64) uint8_t name[(bytes) + 1] \
      __attribute__((section(".slow_memory")))

// Refuses to compile for a board whose stack is smaller than calls of the
// runtime need; build_board.py states BOARD_STACK_BYTES. BOARD_STACK_ANY_SIZE
// allows it, for the test of what happens then.
#if defined(BOARD_STACK_BYTES) && !defined(BOARD_STACK_ANY_SIZE)
#define BOARD_STACK_HOLDS(bytes)               \
  _Static_assert(BOARD_STACK_BYTES >= (bytes), \
                 "the stack of the board is too small for the program")
#else
#define BOARD_STACK_HOLDS(bytes) _Static_assert((bytes) >= 0, "")
#endif

#endif
