// Which values hold: their bytes still have what was written as that value.
//
// Reads, writes and renames are in terms of values; verify_interval_tree.h
// keeps the bytes.

#ifndef ETX_CLI_VERIFY_VERIFY_VALID_VALUES_H
#define ETX_CLI_VERIFY_VERIFY_VALID_VALUES_H

#include "cli/verify/verify_interval_tree.h"

typedef struct etx_verify_valid_values {
  const etx_verify_method* m;
  etx_verify_interval_tree intact;
  uint32_t* killers;  // by value: 1 + the value that last overwrote it; 0: none
  uint32_t* killed_at;   // by value: the step at which that happened; NONE if
                         // it was an input
  uint32_t* written_at;  // by value: 1 + the step that wrote it last
} etx_verify_valid_values;

// Starts with nothing that holds.
ETX_MUST_USE etx_status etx_verify_valid_values_init(
    etx_verify_valid_values* holding, const etx_verify_method* m);

// True if all bytes of `value` hold it, those of its base if it is a view,
// those of its parts if it is made of parts.
bool etx_verify_value_is_valid(const etx_verify_valid_values* holding,
                               uint32_t value);

// Makes a value hold that no instruction wrote: a state.
void etx_verify_value_set_valid(etx_verify_valid_values* holding,
                                uint32_t value);

// `step` writes `value`: it holds, and whatever else has a byte there does not
// any more. Values that the same step writes go down together. step_count
// stands for the caller, who writes inputs. `is_update`: it was read as well,
// by the same argument.
void etx_verify_value_write(etx_verify_valid_values* holding, uint32_t value,
                            size_t step, bool is_update);

// `value` takes over the header of `from`, and holds if that does.
void etx_verify_value_rebind(etx_verify_valid_values* holding, uint32_t value,
                             uint32_t from);

// The bytes of `value` are gone.
void etx_verify_value_invalidate(etx_verify_valid_values* holding,
                                 uint32_t value, size_t step);

// Starts over with nothing that holds.
void etx_verify_valid_values_clear(etx_verify_valid_values* holding);

#endif
