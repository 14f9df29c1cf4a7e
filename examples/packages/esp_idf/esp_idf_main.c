#include <stdio.h>

#include "etx_example.h"

static void write_line(const char* line) { puts(line); }

void app_main(void) { (void)etx_example_run(write_line); }
