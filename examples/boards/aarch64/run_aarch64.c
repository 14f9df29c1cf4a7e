// The part of the startup that runs once there is a stack.

#include "board.h"
#include "board_stack.h"
#include "memory_start.h"

_Noreturn void board_run(void);

void board_run(void) {
  board_memory_start();
  board_exit(main());
}

uint64_t board_instructions(void) {
  uint64_t count;
  __asm__ volatile("isb\n\tmrs %0, pmccntr_el0" : "=r"(count));
  return count;
}
