#include "runtime/instruction_set.h"

const char* etx_instruction_set_name(etx_instruction_set set) {
  static const char* const names[ETX_SET_COUNT] = {
      "any",
#define SET(NAME, text) text,
#include "runtime/instruction_sets.def"
#undef SET
  };
  return names[set];
}
