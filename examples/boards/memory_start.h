// What every startup file does before main: variables get their values.

#ifndef MEMORY_START_H
#define MEMORY_START_H

// Copies initial values from flash, clears the rest, and fills the stack with
// its pattern.
void board_memory_start(void);

#endif
