// Which weights `etx plan` rounds to integers, and how, as the command line and
// program.yaml say it:
//
//   RULE     KIND | KIND:PATTERN,PATTERN,..
//   KIND     none | int8 | int4 | int4/32 | int4/64 | int4/128, or with a w
//            behind int8 or int4 (int4w/64): rows of activations stay floats
//   PATTERN  a glob over fully qualified names and names of modules
//
// The last rule that matches a weight decides; without a pattern a rule matches
// all. A weight that no rule matches stays as it is.

#ifndef ETX_EXPORTER_IMPORT_QUANTIZE_RULES_H
#define ETX_EXPORTER_IMPORT_QUANTIZE_RULES_H

#include "exporter/ir/ir.h"

// Reads a rule and puts it behind those that the module has. ETX_BAD_ARGUMENT,
// with the reason, if it is none; ETX_NOT_FOUND, with the nearest name, if a
// pattern matches no buffer of the module, all of which must be there.
ETX_MUST_USE etx_status etx_quantize_rule_add(etx_ir_module* module,
                                              etx_text text, etx_diag* diag);

// The rule that decides about a tensor that has these names; NULL: none.
etx_quantize_rule* etx_quantize_rule_of(const etx_ir_module* module,
                                        const etx_text* names, size_t count);

// True if one of the rule's patterns is this name itself.
bool etx_quantize_rule_names(const etx_quantize_rule* rule, etx_text name);

#endif
