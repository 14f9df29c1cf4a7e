#include "tests/hostile/drawn_content.h"

size_t drawn_tensor_elements(const etx_pte_tensor* tensor) {
  size_t count = 1;
  for (size_t i = 0; i < tensor->rank; ++i) count *= (size_t)tensor->sizes[i];
  return count;
}

void drawn_tensor_place(drawn_program* p, etx_pte_tensor* tensor) {
  const size_t bytes =
      drawn_tensor_elements(tensor) * etx_dtype_bytes(tensor->dtype);
  tensor->has_allocation = true;
  tensor->memory_id = hostile_chance(&p->random, 10) ? 2 : 1;
  size_t offset = hostile_below(&p->random, DRAWN_ARENA_BYTES / 16) * 16;
  if (hostile_chance(&p->random, 15))
    offset = hostile_below(&p->random, 4) * 16;
  if (bytes > DRAWN_ARENA_BYTES) {
    tensor->has_allocation = false;
  } else if (offset + bytes > DRAWN_ARENA_BYTES) {
    offset = (DRAWN_ARENA_BYTES - bytes) / 16 * 16;
  }
  tensor->memory_offset = offset;
}
