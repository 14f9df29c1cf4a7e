// Values of a method whose content is known when it is planned, and the
// evaluation of nodes over them with the evaluator of the caller (evaluator.h).
//
// Evaluation has limits, because a short program may ask for any amount of work:
// the work of all evaluated nodes is at most options->fold_budget, and their
// results have at most four times the bytes of the program's constants and
// 256 MiB. Nodes beyond a limit are computed in each call instead.

#ifndef ETX_EXPORTER_REWRITE_CONSTANTS_KNOWN_VALUES_H
#define ETX_EXPORTER_REWRITE_CONSTANTS_KNOWN_VALUES_H

#include "exporter/passes/pass_context.h"

enum {
  // Bytes up to which a result is small: it may be a constant of the file
  // whatever it is computed from.
  ETX_KNOWN_SMALL_BYTES = 64 * 1024
};

typedef struct etx_known_values {
  etx_pass_context* context;
  const etx_ir_method* method;
  const etx_ir_constant** contents;  // by index of the value, or NULL
  size_t count;                      // of contents
  bool is_beyond_limit;  // why the last evaluation was not done
} etx_known_values;

// No content is known but that of constants. ETX_OUT_OF_MEMORY.
ETX_MUST_USE etx_status etx_known_values_init(etx_known_values* known,
                                              etx_pass_context* context,
                                              const etx_ir_method* method);

// The content of a value: one that was recorded, a constant, or the initial
// value of a buffer that is not a state. NULL if it is not known.
const etx_ir_constant* etx_known_content(const etx_known_values* known,
                                         uint32_t value);

// Records the content of a value; `content` is copied, its data is borrowed.
ETX_MUST_USE etx_status etx_known_values_record(etx_known_values* known,
                                                uint32_t value,
                                                const etx_ir_constant* content);

// True if the contents of all tensors that the node reads are known. Adds their
// bytes to `*bytes`.
bool etx_known_values_cover(const etx_known_values* known,
                            const etx_ir_node* node, uint64_t* bytes);

// Computes `node`, whose tensors are all known and whose integers are numbers.
// `outputs` has room for all of its outputs; their data is in the pool.
// `*out_done` is false if the evaluator has no kernel, the kernel returns an
// error, or a limit is reached: the node must then stay, so that the error
// occurs at run time.
ETX_MUST_USE etx_status etx_known_values_evaluate(etx_known_values* known,
                                                  const etx_ir_node* node,
                                                  etx_ir_constant* outputs,
                                                  bool* out_done);

#endif
