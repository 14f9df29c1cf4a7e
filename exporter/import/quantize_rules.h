// Rules by which `etx plan` quantises weights, as the command line and
// program.yaml state them:
//
//   RULE     KIND | KIND:PATTERN,PATTERN,..
//   KIND     none | int8 | int4 | int4/32 | int4/64 | int4/128 | int4k: dynamic
//            quantisation of activations; a w after int8 or int4 (int4w/64)
//            means weight-only. The number is the group size, 32 by default.
//            int4k: groups of 32 with an offset each.
//            f16 | bf16: weights of float32 are stored as halves, and
//            activations stay float32
//   PATTERN  a glob over fully qualified names and names of modules
//
// The last rule that matches a weight decides; a rule without a pattern matches
// all weights. A weight that no rule matches is not quantised.

#ifndef ETX_EXPORTER_IMPORT_QUANTIZE_RULES_H
#define ETX_EXPORTER_IMPORT_QUANTIZE_RULES_H

#include "exporter/ir/ir.h"

// Parses a rule and appends it to those of the module. ETX_BAD_ARGUMENT if it
// is malformed; ETX_NOT_FOUND, with the nearest name, if a pattern matches no
// buffer of the module. All buffers must have been read.
ETX_MUST_USE etx_status etx_quantize_rule_add(etx_ir_module* module,
                                              etx_text text, etx_diag* diag);

// The rule that decides about a tensor with these names; NULL if no rule does.
etx_quantize_rule* etx_quantize_rule_of(const etx_ir_module* module,
                                        const etx_text* names, size_t count);

// True if one of the rule's patterns is exactly this name, without wildcards.
bool etx_quantize_rule_names(const etx_quantize_rule* rule, etx_text name);

#endif
