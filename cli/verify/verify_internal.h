// What only the files of the proof share. What the pictures of a plan need as
// well is in verify_method.h.
//
//   verify_rebinding which other tensor a slot may come to name
//   verify_sharing   outputs that lie on arguments
//   verify_holding   which values hold, by the bytes of verify_intact, which
//                    are cut in verify_pieces
//   verify_flow      the proof: forward over all paths
//   verify_rows      rows that a loop collects
//   verify_sizes     sizes against the operators' rules
//   verify_state     what all methods must agree about (verify_state.h)

#ifndef ETX_CLI_VERIFY_VERIFY_INTERNAL_H
#define ETX_CLI_VERIFY_VERIFY_INTERNAL_H

#include "cli/verify/verify_method.h"

// Refuses the plan; the message is followed by the method's name.
etx_status etx_verify_refuse(const etx_verify_method* m, const char* format,
                             ...);
// Adds where in the method it happened to a message, and returns `status`.
etx_status etx_verify_at(const etx_verify_method* m, size_t step,
                         etx_status status);

// verify_rebinding

// Finds all places of values that take over headers of others.
ETX_MUST_USE etx_status etx_verify_find_rebinding(etx_verify_method* m);

// verify_sharing

// Proves that step's output `written` may lie where it does against `read`.
ETX_MUST_USE etx_status etx_verify_in_place(const etx_verify_method* m,
                                            const etx_op* op,
                                            const etx_verify_access* read,
                                            uint32_t written);

// verify_flow

// Proves that every read finds what it means.
ETX_MUST_USE etx_status etx_verify_dataflow(etx_verify_method* m);

// verify_rows

// Proves that rows which a loop collects last from round to round.
ETX_MUST_USE etx_status etx_verify_loop_rows(const etx_verify_method* m);

// verify_sizes

// Proves that fixed sizes are those that the operators make.
ETX_MUST_USE etx_status etx_verify_shapes(const etx_verify_method* m);

#endif
