#include <stdio.h>

#include "etx_example.h"

static void write_line(const char* line) { puts(line); }

int main(void) { return etx_example_run(write_line); }
