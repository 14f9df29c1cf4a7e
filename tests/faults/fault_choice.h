// What fault_library.c offers to a program that it is loaded into.

#ifndef ETX_TESTS_FAULTS_FAULT_CHOICE_H
#define ETX_TESTS_FAULTS_FAULT_CHOICE_H

#include <stdbool.h>

// Lets the allocation `first`, counted from now on, fail, and with `stays` all
// later ones. 0: none.
void etx_fault_choose(unsigned long first, bool stays);
// The number of allocations since then.
unsigned long etx_fault_allocations(void);

#endif
