// The stack of a board, as sections.ld places it: at the lowest addresses of
// the memory, so that an overrun leaves the memory and stops the processor.

#ifndef BOARD_STACK_H
#define BOARD_STACK_H

#include <stdint.h>

extern uint32_t board_stack_bottom[];  // lowest address
extern uint32_t board_stack_top[];     // one past the highest

// Fills the stack below the caller's frame. The startup code calls it.
void board_stack_paint(void);

// The end of a run that a fault stopped: states the reason and exits. `sp` is
// the stack pointer at the fault, 0 if a guard of the stack caused it. Runs on
// a stack of its own.
_Noreturn void board_fault(uintptr_t sp);

#endif
