// A limit on memory. A changed size may ask for any number of bytes, and shall
// be told that there are none, instead of taking the machine's.

#ifndef ETX_TESTS_HOSTILE_HOSTILE_MEMORY_H
#define ETX_TESTS_HOSTILE_HOSTILE_MEMORY_H

// Lets this process have about 1 GiB from now on.
void hostile_limit_memory(void);

#endif
