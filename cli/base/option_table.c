#include "cli/base/option_table.h"

size_t etx_option_count(const etx_usage* usage) {
  size_t count = 0;
  if (usage->options == NULL) return 0;
  while (count <= ETX_OPTION_MAX && usage->options[count].name != NULL) {
    ++count;
  }
  return count;
}

size_t etx_positional_count(const etx_usage* usage) {
  size_t count = 0;
  if (usage->positionals == NULL) return 0;
  while (count <= ETX_POSITIONAL_MAX &&
         usage->positionals[count].name != NULL) {
    ++count;
  }
  return count;
}
