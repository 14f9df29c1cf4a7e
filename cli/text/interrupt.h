// Ctrl-C ends a text and not the program: what was said so far stays.

#ifndef ETX_CLI_TEXT_INTERRUPT_H
#define ETX_CLI_TEXT_INTERRUPT_H

#include <stdbool.h>

// From now on the first Ctrl-C is only noted; the second ends the program, as
// before. If the program was started with SIGINT ignored, it stays ignored.
void etx_interrupt_watch(void);

// True if Ctrl-C was pressed since.
bool etx_interrupt_seen(void);

#endif
