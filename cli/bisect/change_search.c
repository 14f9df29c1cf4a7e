#include "cli/bisect/change_search.h"

size_t etx_change_search_most_tests(size_t total) {
  size_t tests = total > 0 ? 1 : 0;
  for (size_t left = total; left > 1; left -= left / 2) ++tests;
  return tests;
}

etx_status etx_change_search(size_t total, etx_change_test test, void* context,
                             size_t* out_position) {
  bool differs = false;
  *out_position = total;
  if (total == 0) return ETX_OK;
  ETX_TRY(test(context, total, &differs));
  if (!differs) return ETX_OK;
  // The result is unchanged with `same` mechanisms and changed with `changed`.
  size_t same = 0, changed = total;
  while (changed - same > 1) {
    const size_t middle = same + (changed - same) / 2;
    ETX_TRY(test(context, middle, &differs));
    if (differs) {
      changed = middle;
    } else {
      same = middle;
    }
  }
  *out_position = same;
  return ETX_OK;
}
