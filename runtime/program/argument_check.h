// Checks an instruction's arguments against the operator's schema, before they
// are decoded.

#ifndef ETX_RUNTIME_PROGRAM_ARGUMENT_CHECK_H
#define ETX_RUNTIME_PROGRAM_ARGUMENT_CHECK_H

#include "format/base/build_parts.h"
#include "format/ops/op_schema.h"
#include "format/pte/pte_program.h"
#include "runtime/built_types.h"
#include "runtime/value.h"

// ETX_CHECKS_ARGUMENTS is false in a build without a verifier whose kernels
// have all types.
enum { ETX_CHECKS_ARGUMENTS = ETX_VERIFIER || !ETX_KNOWS_ALL_TYPES };

// Checks the number of value indices and the kinds of arguments and return
// slot. ETX_BAD_FILE: one is wrong; ETX_UNSUPPORTED: this build leaves out the
// type of a tensor.
ETX_MUST_USE etx_status etx_arguments_check(
    const etx_pte_plan* plan, const etx_pte_instruction* instruction,
    const etx_op* op, etx_diag* diag);

// The kinds of values that an argument of the type, or a return slot, may be: a
// bit for each etx_pte_kind.
uint16_t etx_argument_kinds(etx_argument_type type);
uint16_t etx_result_kinds(etx_op_result result);

// Converts a value whose content is in the file's value itself: a number, a
// string, a list of doubles or bools. Tensors and lists that refer to other
// values become None.
void etx_value_from_scalar(const etx_pte_value* from, etx_value* out);

#endif
