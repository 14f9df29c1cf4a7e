#include "memory_start.h"

#include <stdint.h>
#include <string.h>

#include "board_stack.h"

// Symbols of sections.ld.
extern uint8_t board_data_start[], board_data_end[], board_bss_start[],
    board_bss_end[];
extern const uint8_t board_data_load[];

void board_memory_start(void) {
  memcpy(board_data_start, board_data_load,
         (size_t)(board_data_end - board_data_start));
  memset(board_bss_start, 0, (size_t)(board_bss_end - board_bss_start));
  board_stack_paint();
}
