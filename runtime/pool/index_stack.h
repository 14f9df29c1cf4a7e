// A stack of indices below 65535 that threads share without locks. Internal to
// runtime/pool/.
//
// One word of 64 bits has the top and the size:
//
//   bits 0-15   the index on top, plus 1; 0: the stack is empty
//   bits 16-31  number of indices on the stack
//   bits 32-63  tag, incremented by each push and pop
//
// A pop reads the word and the link of the top, and then swaps the word. If
// other threads popped that index and pushed it again in between, its link may
// have changed although it is on top again (the ABA problem). But then the tag
// differs and the swap fails. The tag has the same value again after 2^32
// pushes and pops: only a thread that stops between the two halves of a pop for
// a multiple of exactly that many, which takes minutes, could be deceived.
//
// Threads  any number. What a thread wrote before a push is seen by the thread
//          that pops the index.

#ifndef ETX_RUNTIME_POOL_INDEX_STACK_H
#define ETX_RUNTIME_POOL_INDEX_STACK_H

#include <stdbool.h>
#include <stdint.h>

typedef struct etx_index_stack {
  uint64_t word;    // atomic
  uint32_t* links;  // by index: the next index below it, plus 1; atomic
} etx_index_stack;

// The two halves of a pop, so that a test can do something in between.
typedef struct etx_index_pop {
  uint64_t seen;   // the word that was read
  uint64_t next;   // the word to write
  uint32_t index;  // the top that was read
} etx_index_pop;

// Reads the top. Returns false if the stack is empty.
bool etx_index_stack_read(const etx_index_stack* stack, etx_index_pop* out_pop);
// Takes the top that was read. Returns false if any push or pop came between.
bool etx_index_stack_swap(etx_index_stack* stack, etx_index_pop* pop);

// Takes the top. Returns false if the stack is empty. `out_left` is the number
// of indices that the pop left.
bool etx_index_stack_pop(etx_index_stack* stack, uint32_t* out_index,
                         uint32_t* out_left);
// Puts an index on top that is not on the stack.
void etx_index_stack_push(etx_index_stack* stack, uint32_t index);

// Indices on the stack.
uint32_t etx_index_stack_size(const etx_index_stack* stack);

#endif
