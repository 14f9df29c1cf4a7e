// An independent oracle for `etx verify`: it runs programs on shadow memory.
//
// Every byte of every arena has a stamp, the number of the write that it comes
// from. Every value has the stamps that its content should have. A read
// compares the two, byte by byte. Nothing is computed.
//
//   write b   memory  7 7 7 7 8 8 8 8      expected for b: 8 8 8 8
//   read a    memory  7 7 7 7              expected for a: 7 7 7 7, valid
//
// Methods run one after another, several times and in two orders, on shared
// arenas. Scratch has garbage when a method starts. The first few jumps of a
// run are tried both ways. A kernel may write before it has read everything,
// and if two outputs of a call overlap, both are invalid there.
//
// It shares no code with the proof and computes no lifetimes: it only observes
// bytes.

#ifndef ETX_TESTS_CLI_VERIFY_SHADOW_EXECUTION_H
#define ETX_TESTS_CLI_VERIFY_SHADOW_EXECUTION_H

#include "format/base/span.h"
#include "format/ops/op_schema.h"
#include "tests/cli/verify/shadow_memory.h"

// Runs all methods of a file of etx. A file that cannot be opened is wrong.
byte_verdict shadow_execution_run(etx_bytes file);

// ---- parts of it, for runs in another order ----

enum { SHADOW_MOST_TOUCHED = 64 };  // tensors of one instruction

typedef struct shadow_touched {
  uint32_t reads[SHADOW_MOST_TOUCHED];
  bool is_first[SHADOW_MOST_TOUCHED];  // by read: the first tensor argument
  size_t read_count;
  uint32_t writes[SHADOW_MOST_TOUCHED];
  size_t write_count;
} shadow_touched;

// Adds the tensors that a call reads and writes.
void shadow_execution_touch(const shadow_method* m, const etx_op* op,
                            const etx_pte_instruction* call, shadow_touched* t);
// Begins a run, runs one call of it, and ends it.
void shadow_execution_enter(shadow_memory* s, shadow_method* m);
void shadow_execution_call(shadow_memory* s, shadow_method* m,
                           const etx_pte_instruction* call);
void shadow_execution_leave(shadow_memory* s, shadow_method* m);

#endif
