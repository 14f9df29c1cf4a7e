// Results of an application as lines of text. Lines with "bits" are the same on
// every board and on the machine that planned the program.

#ifndef PRINT_RESULTS_H
#define PRINT_RESULTS_H

#include "etx.h"

// Writes "bits NAME" and every number of four bytes in hexadecimal.
void print_bits(const char* name, const void* data, size_t count);

// Writes "NAME NUMBER".
void print_number(const char* name, uint64_t number);

// Writes the bytes of stack that were used, and what went wrong, if anything.
// Returns the exit code of main.
int print_end(etx_status status, const etx_diag* diag);

#endif
