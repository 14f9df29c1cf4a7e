#include <zephyr/kernel.h>

#include "etx_example.h"

static void write_line(const char* line) { printk("%s\n", line); }

int main(void) { return etx_example_run(write_line); }
