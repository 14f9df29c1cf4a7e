#include "cli/tensors/dtype_set.h"

#include <string.h>

const etx_dtype etx_dtype_set_members[ETX_DTYPE_SET_MEMBER_COUNT] = {
    ETX_DTYPE_BOOL,    ETX_DTYPE_UINT8,     ETX_DTYPE_INT8,
    ETX_DTYPE_INT16,   ETX_DTYPE_INT32,     ETX_DTYPE_INT64,
    ETX_DTYPE_FLOAT16, ETX_DTYPE_BFLOAT16,  ETX_DTYPE_FLOAT32,
    ETX_DTYPE_FLOAT64, ETX_DTYPE_COMPLEX64, ETX_DTYPE_COMPLEX128};

// A category whose members are all in a set is written by its name.
static const struct {
  etx_dtype_category category;
  const char* name;
} groups[] = {{ETX_CATEGORY_BOOLEAN, "bool"},
              {ETX_CATEGORY_INTEGER, "integers"},
              {ETX_CATEGORY_FLOATING, "floats"},
              {ETX_CATEGORY_COMPLEX, "complex"}};

static void add_word(char* out, const char* word) {
  if (out[0] != '\0') strcat(out, ", ");
  strcat(out, word);
}

static uint32_t members_of(etx_dtype_category category) {
  uint32_t bits = 0;
  for (size_t i = 0; i < ETX_DTYPE_SET_MEMBER_COUNT; ++i) {
    const etx_dtype dtype = etx_dtype_set_members[i];
    if (etx_dtype_category_of(dtype) == category) bits |= UINT32_C(1) << dtype;
  }
  return bits;
}

const char* etx_dtype_set_text(uint32_t bits, char* out) {
  out[0] = '\0';
  for (size_t g = 0; g < sizeof groups / sizeof groups[0]; ++g) {
    const uint32_t members = members_of(groups[g].category);
    if ((bits & members) == members) {
      add_word(out, groups[g].name);
      continue;
    }
    for (size_t i = 0; i < ETX_DTYPE_SET_MEMBER_COUNT; ++i) {
      const etx_dtype dtype = etx_dtype_set_members[i];
      if ((bits & members & UINT32_C(1) << dtype) != 0) {
        add_word(out, etx_dtype_name(dtype));
      }
    }
  }
  return out[0] == '\0' ? strcpy(out, "-") : out;
}
