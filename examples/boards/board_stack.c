#include "board_stack.h"

#include <stdbool.h>

#include "board.h"

#define PATTERN 0x57ACCEEDu

enum { OWN_FRAME_BYTES = 128, FAULT_CODE = 2, OVERRUN_CODE = 3 };

void board_stack_paint(void) {
  volatile uint32_t here = 0;
  uint32_t* end = (uint32_t*)((uintptr_t)&here - OWN_FRAME_BYTES);
  for (volatile uint32_t* at = board_stack_bottom; at < end; ++at) {
    *at = PATTERN;
  }
}

size_t board_stack_used(void) {
  const volatile uint32_t* at = board_stack_bottom;
  while (at < board_stack_top && *at == PATTERN) ++at;
  return (size_t)((const char*)board_stack_top - (const char*)at);
}

bool board_stack_overrun(void) {
  return *(const volatile uint32_t*)board_stack_bottom != PATTERN;
}

void board_fault(uintptr_t sp) {
  if (sp < (uintptr_t)board_stack_bottom || board_stack_overrun()) {
    board_write(
        "board: the stack was overrun; it needs *_STACK_BYTES of the "
        "program's header\n");
    board_exit(OVERRUN_CODE);
  }
  board_write("board: a fault stopped the processor\n");
  board_exit(FAULT_CODE);
}
