// The steps of the proof of one method. What cli/memory uses too is declared in
// verify_method.h.
//
//   verify_rebinding       values that take over the header (address, sizes,
//                          strides) of another tensor
//   verify_in_place        outputs that share bytes with arguments
//   verify_valid_values    which values are valid, by the byte intervals of
//                          verify_interval_tree
//   verify_dataflow        the main part: a forward analysis over all paths
//   verify_parts           tensors that lie one after the other in another one
//   verify_loop_rows       tensors that a loop fills row by row
//   verify_layouts         blocks of memory stay apart at all sizes
//   verify_shapes          sizes against the shape rules of the operators
//
// What all methods must agree about is in verify_state.h.
//
// All functions return ETX_BAD_PLAN with a message if the plan is wrong,
// ETX_UNSUPPORTED if nothing can be proved, and ETX_OUT_OF_MEMORY.

#ifndef ETX_CLI_VERIFY_VERIFY_INTERNAL_H
#define ETX_CLI_VERIFY_VERIFY_INTERNAL_H

#include "cli/verify/verify_method.h"

// Reports ETX_BAD_PLAN; adds the method's name to the message.
etx_status etx_verify_refuse(const etx_verify_method* m, const char* format,
                             ...);
// Adds the instruction of `step` to a message, and returns `status`.
etx_status etx_verify_at(const etx_verify_method* m, size_t step,
                         etx_status status);

// Sets of numbers, one bit for each.

static inline void etx_verify_set_add(uint64_t* set, uint32_t item) {
  set[item / 64] |= UINT64_C(1) << item % 64;
}

static inline void etx_verify_set_remove(uint64_t* set, uint32_t item) {
  set[item / 64] &= ~(UINT64_C(1) << item % 64);
}

static inline bool etx_verify_set_has(const uint64_t* set, uint32_t item) {
  return (set[item / 64] >> item % 64 & 1) != 0;
}

// The first item of a set of numbers below `count` from `from` on; `count` if
// there is none.
static inline uint32_t etx_verify_set_next(const uint64_t* set, size_t count,
                                           uint32_t from) {
  while (from < count) {
    const uint64_t left = set[from / 64] >> from % 64;
    if (left != 0) return from + (uint32_t)__builtin_ctzll(left);
    from += 64 - from % 64;
  }
  return (uint32_t)count;
}

// Adds one set of `words` words to another. True if that changed it.
static inline bool etx_verify_set_unite(uint64_t* set, const uint64_t* other,
                                        size_t words) {
  uint64_t news = 0;
  for (size_t i = 0; i < words; ++i) {
    news |= other[i] & ~set[i];
    set[i] |= other[i];
  }
  return news != 0;
}

// verify_rebinding

// Finds all possible address ranges of values that take over headers.
ETX_MUST_USE etx_status etx_verify_find_rebinding(etx_verify_method* m);

// verify_parts

// Finds the chains of parts. Until then no value is known to be a part.
ETX_MUST_USE etx_status etx_verify_find_parts(etx_verify_method* m);
// True if two values share no byte, whatever their sizes are, because they are,
// or lie in, different parts of one chain.
bool etx_verify_are_disjoint_parts(const etx_verify_method* m, uint32_t a,
                                   uint32_t b);
// True if `value` is, or lies in, a part of `whole`.
bool etx_verify_is_part_of(const etx_verify_method* m, uint32_t value,
                           uint32_t whole);
// True if `step` concatenates all parts of a chain in its whole, where they lie
// already.
bool etx_verify_is_joined(const etx_verify_method* m, size_t step);

// verify_in_place

// Proves that output `written` of a call shares bytes with its argument `read`
// only as the operator allows.
ETX_MUST_USE etx_status etx_verify_in_place(const etx_verify_method* m,
                                            const etx_op* op,
                                            const etx_verify_access* read,
                                            uint32_t written);

// verify_dataflow

// Proves that every value is valid when it is read.
ETX_MUST_USE etx_status etx_verify_dataflow(etx_verify_method* m);

// verify_loop_rows

// Proves that rows which a loop has written stay valid in later iterations.
ETX_MUST_USE etx_status etx_verify_loop_rows(const etx_verify_method* m);
// True if two values may have common bytes.
typedef bool (*etx_verify_meeting)(const void* context, uint32_t a, uint32_t b);
// The same where `meets` decides which values have common bytes.
ETX_MUST_USE etx_status etx_verify_loop_rows_meeting(const etx_verify_method* m,
                                                     etx_verify_meeting meets,
                                                     const void* context);

// verify_layouts

// Proves that blocks of arena 1 that are in use at the same time share no byte
// in any layout, so that the runtime may move blocks together at smaller sizes.
ETX_MUST_USE etx_status etx_verify_layouts(etx_verify_method* m);

// verify_shapes

// Proves that fixed sizes agree with the shape rules of the operators.
ETX_MUST_USE etx_status etx_verify_shapes(const etx_verify_method* m);

#endif
