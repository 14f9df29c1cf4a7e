// The set of valid values. A value is valid if its bytes still have the content
// that was last written as this value.
//
// Here are its operations on values; verify_interval_tree.h stores the bytes.

#ifndef ETX_CLI_VERIFY_VERIFY_VALID_VALUES_H
#define ETX_CLI_VERIFY_VERIFY_VALID_VALUES_H

#include "cli/verify/verify_interval_tree.h"

typedef struct etx_verify_valid_values {
  const etx_verify_method* m;
  etx_verify_interval_tree intervals;
  // By value, for messages: 1 + the value that overwrote it last (0: none), and
  // the step at which it did (ETX_VERIFY_NONE: an input, at the start).
  uint32_t* overwriters;
  uint32_t* overwritten_at;
  uint32_t* written_at;  // by value: 1 + the step that wrote it last
  bool joins;  // writes of the present step keep the parts of what they write
} etx_verify_valid_values;

// Starts without valid values. All bytes of `valid` have to be zero.
ETX_MUST_USE etx_status etx_verify_valid_values_init(
    etx_verify_valid_values* valid, const etx_verify_method* m);

// True if all bytes of `value` are valid. A view uses the bytes of its parent;
// a value that is made of parts is also valid if all its parts are.
bool etx_verify_value_is_valid(const etx_verify_valid_values* valid,
                               uint32_t value);

// Makes a value valid without a write: a state, or a tensor that is only sized.
void etx_verify_value_set_valid(etx_verify_valid_values* valid, uint32_t value);

// `step` writes `value`: it becomes valid, and all values that share a byte
// with it become invalid. If another output of the same step overlaps it, both
// become invalid there. `step` is step_count for inputs, which the caller
// writes.
void etx_verify_value_write(etx_verify_valid_values* valid, uint32_t value,
                            size_t step);

// `step` has written two results: where they share bytes, both become invalid,
// though one is a view of the other.
void etx_verify_value_spoil(etx_verify_valid_values* valid, uint32_t a,
                            uint32_t b, size_t step);

// `value` takes over the header of `from`, and becomes valid if `from` is.
void etx_verify_value_rebind(etx_verify_valid_values* valid, uint32_t value,
                             uint32_t from);

// The bytes of `value` were freed: it becomes invalid.
void etx_verify_value_invalidate(etx_verify_valid_values* valid, uint32_t value,
                                 size_t step);

// Starts again without valid values.
void etx_verify_valid_values_clear(etx_verify_valid_values* valid);

#endif
