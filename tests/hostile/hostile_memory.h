// A limit on memory. A damaged size may ask for any number of bytes;
// allocations then fail instead of taking all memory of the machine.

#ifndef ETX_TESTS_HOSTILE_HOSTILE_MEMORY_H
#define ETX_TESTS_HOSTILE_HOSTILE_MEMORY_H

// Limits this process to about 1 GiB from now on.
void hostile_limit_memory(void);

#endif
