#include "cli/machine/process_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// "VmHWM:     1234 kB"
etx_process_memory etx_process_memory_read(void) {
  etx_process_memory memory = {0, 0};
  char line[256];
  FILE* file = fopen("/proc/self/status", "r");
  if (file == NULL) return memory;
  while (fgets(line, sizeof line, file) != NULL) {
    if (strncmp(line, "VmHWM:", 6) == 0) {
      memory.peak_bytes = 1024 * strtoull(line + 6, NULL, 10);
    } else if (strncmp(line, "RssAnon:", 8) == 0) {
      memory.own_bytes = 1024 * strtoull(line + 8, NULL, 10);
    }
  }
  fclose(file);
  return memory;
}
