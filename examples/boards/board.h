// What an application may ask of a board: text out, the end of the run, its
// stack, and the instructions so far. Each board has a startup file, memory.ld
// and semihosting of its own; on_desktop.c is for runs on this machine.

#ifndef BOARD_H
#define BOARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The application. The board exits with the number that it returns.
int main(void);

// Writes text to the terminal of the emulator or debugger.
void board_write(const char* text);

// Ends the run; 0 means success.
_Noreturn void board_exit(int code);

// Instructions since some start, as exact as the board's counter. Only
// differences mean something; 0 on a machine that cannot count.
uint64_t board_instructions(void);

// Bytes of stack that were touched since the start: the startup code has
// filled the stack with a pattern. 0 on a machine that did not.
size_t board_stack_used(void);

// True if the stack pointer or the pattern at the end of the stack shows that
// the stack was too small.
bool board_stack_overrun(void);

#endif
