#include "runtime/pool/index_stack.h"

enum { SIZE_SHIFT = 16, TAG_SHIFT = 32, PART_MASK = 0xffff };

static uint64_t pack(uint64_t before, uint64_t size, uint64_t top) {
  const uint64_t tag = (before >> TAG_SHIFT) + 1;
  return tag << TAG_SHIFT | size << SIZE_SHIFT | top;
}

static uint32_t top_of(uint64_t word) { return (uint32_t)word & PART_MASK; }

static uint32_t size_of(uint64_t word) {
  return (uint32_t)word >> SIZE_SHIFT & PART_MASK;
}

bool etx_index_stack_read(const etx_index_stack* stack,
                          etx_index_pop* out_pop) {
  const uint64_t seen = __atomic_load_n(&stack->word, __ATOMIC_ACQUIRE);
  const uint32_t top = top_of(seen);
  if (top == 0) return false;
  const uint32_t below =
      __atomic_load_n(&stack->links[top - 1], __ATOMIC_RELAXED);
  *out_pop =
      (etx_index_pop){seen, pack(seen, size_of(seen) - 1, below), top - 1};
  return true;
}

bool etx_index_stack_swap(etx_index_stack* stack, etx_index_pop* pop) {
  return __atomic_compare_exchange_n(&stack->word, &pop->seen, pop->next, false,
                                     __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

bool etx_index_stack_pop(etx_index_stack* stack, uint32_t* out_index,
                         uint32_t* out_left) {
  etx_index_pop pop;
  do {
    if (!etx_index_stack_read(stack, &pop)) return false;
  } while (!etx_index_stack_swap(stack, &pop));
  *out_index = pop.index;
  *out_left = size_of(pop.next);
  return true;
}

void etx_index_stack_push(etx_index_stack* stack, uint32_t index) {
  uint64_t seen = __atomic_load_n(&stack->word, __ATOMIC_RELAXED);
  uint64_t next;
  do {
    __atomic_store_n(&stack->links[index], top_of(seen), __ATOMIC_RELAXED);
    next = pack(seen, size_of(seen) + 1, (uint64_t)index + 1);
  } while (!__atomic_compare_exchange_n(&stack->word, &seen, next, true,
                                        __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
}

uint32_t etx_index_stack_size(const etx_index_stack* stack) {
  return size_of(__atomic_load_n(&stack->word, __ATOMIC_RELAXED));
}
