// Pages for a browser: one self-contained HTML file each.
//
// A template is a file of cli/memory/page or cli/graph/page. In it, {{name}} is
// replaced by what the part of that name prints, or by the file of that name,
// which is taken as it is.

#ifndef ETX_CLI_PAGE_PAGE_PRINT_H
#define ETX_CLI_PAGE_PAGE_PRINT_H

#include <stddef.h>
#include <stdio.h>

// Content that the program prints in place of {{name}}.
typedef struct etx_page_part {
  const char* name;
  void (*print)(const void* context, FILE* out);
  const void* context;  // passed to `print`
} etx_page_part;

// Writes the page of the file `name`, such as "memory.html". The caller checks
// the stream for errors (ferror).
void etx_page_print(const char* name, const etx_page_part* parts,
                    size_t part_count, FILE* out);

#endif
