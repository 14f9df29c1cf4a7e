#include "cli/select/kernel_names.h"

#include "runtime/kernels/registry/checked_kernels.h"
#include "runtime/kernels/registry/temporary_kernels.h"

// The second argument after expansion, as a text.
#define SECOND_TEXT(first, second, ...) #second
#define EXPANDED_TEXT(...) SECOND_TEXT(__VA_ARGS__)

static const struct {
  const char* symbol;
  const char* temporary;  // "" for none
  const char* check;      // "" for none, otherwise with "&"
} names[ETX_OP_COUNT] = {
#define OP(symbol, name, overload, arguments, result, shape_rule, in_place) \
  {#symbol, EXPANDED_TEXT(ETX_TEMPORARY_##symbol, , ),                      \
   EXPANDED_TEXT(ETX_CHECK_##symbol, , )},
#include "format/ops/op_schema.def"
#undef OP
};

const char* etx_kernel_symbol(etx_op_id op) { return names[op].symbol; }

const char* etx_kernel_temporary_name(etx_op_id op) {
  return names[op].temporary[0] == '\0' ? NULL : names[op].temporary;
}

const char* etx_kernel_check_name(etx_op_id op) {
  return names[op].check[0] == '\0' ? NULL : names[op].check + 1;
}
