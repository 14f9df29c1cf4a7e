#include "exporter/host/name_pattern.h"

// On a mismatch it backtracks to the last star only, so the time is bounded by
// the product of both lengths.
static bool matches_glob(etx_text pattern, etx_text name) {
  size_t p = 0, n = 0, star = SIZE_MAX, resume = 0;
  while (n < name.size) {
    if (p < pattern.size && pattern.data[p] == '*') {
      star = p++;
      resume = n;
    } else if (p < pattern.size &&
               (pattern.data[p] == '?' || pattern.data[p] == name.data[n])) {
      ++p;
      ++n;
    } else if (star != SIZE_MAX) {
      p = star + 1;
      n = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size && pattern.data[p] == '*') ++p;
  return p == pattern.size;
}

static bool matches_some_prefix(etx_text pattern, etx_text name) {
  for (size_t i = 1; i <= name.size; ++i) {
    if (i < name.size && name.data[i] != '.') continue;
    const etx_text prefix = {name.data, i};
    if (matches_glob(pattern, prefix)) return true;
  }
  return false;
}

bool etx_name_matches_module(etx_text pattern, etx_text name) {
  if (matches_some_prefix(pattern, name)) return true;
  if (pattern.size < 3 || pattern.data[0] != '*' || pattern.data[1] != '.') {
    return false;
  }
  const etx_text rest = {pattern.data + 2, pattern.size - 2};
  return matches_some_prefix(rest, name);
}

bool etx_name_matches_pattern(etx_text pattern, etx_text name) {
  if (pattern.size == 0) return false;
  if (etx_text_starts_with(name, pattern) &&
      (name.size == pattern.size || name.data[pattern.size] == '.')) {
    return true;
  }
  return matches_glob(pattern, name);
}
