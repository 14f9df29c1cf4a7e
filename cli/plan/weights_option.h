// The options --weights and --weights-names of `etx plan`.

#ifndef ETX_CLI_PLAN_WEIGHTS_OPTION_H
#define ETX_CLI_PLAN_WEIGHTS_OPTION_H

#include "cli/base/options.h"
#include "exporter/export.h"

typedef struct etx_weights_option {
  const char* file;   // a GGUF file, "f16" or "bf16", or NULL
  const char* names;  // a file of names, or NULL
} etx_weights_option;

// Rows of ETX_OPTIONS(...); `option` is an etx_weights_option*.
#define ETX_WEIGHTS_OPTION(option)                                             \
  ETX_TEXT("weights", 0, "FILE|f16|bf16",                                      \
           "take the weights from a GGUF file instead of the graphs, by name; " \
           "or store them as halves, as --quantize f16 does, beside float32 "  \
           "activations (a file of that name: ./f16)",                         \
           &(option)->file),                                                   \
      ETX_TEXT("weights-names", 0, "FILE",                                     \
               "with --weights: lines 'TENSOR = WEIGHT' with names of the "    \
               "GGUF file and of the graph, for models whose names etx does "  \
               "not know",                                                     \
               &(option)->names)

// Tells a module of the files, before its methods are read. ETX_BAD_ARGUMENT if
// there are names, but no weights.
ETX_MUST_USE etx_status etx_weights_option_apply(
    const etx_weights_option* option, etx_ir_module* module, etx_diag* diag);

// Adds the rule of f16 or bf16, if it was given, before those of the command
// line; after the methods were read.
ETX_MUST_USE etx_status etx_weights_option_add_rule(
    const etx_weights_option* option, etx_ir_module* module, etx_diag* diag);

#endif
