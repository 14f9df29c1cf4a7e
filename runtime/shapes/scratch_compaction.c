#include "runtime/shapes/scratch_compaction.h"

size_t etx_scratch_compaction_count(const etx_method* method,
                                    size_t dynamic_dims) {
  return method->blob_index == SIZE_MAX || dynamic_dims == 0 ||
                 method->program->limits.keeps_plan
             ? 0
             : method->tensor_count;
}

// ---- blocks ----

// A view that an instruction sets up never uses the memory that the file states
// for it. An input is copied there by the run, so it always does.
static bool uses_own_memory(const etx_method_tensor* tensor) {
  return tensor->storage_kind == ETX_METHOD_STORAGE_SCRATCH &&
         ((tensor->late & ETX_LATE_ANY_ROOT) == 0 ||
          tensor->input != ETX_NO_INDEX);
}

// While blocks are joined, `block` of a member is another member of its block,
// or itself.
static uint32_t find_first(etx_scratch_member* members, uint32_t at) {
  while (members[at].block != at) {
    members[at].block = members[members[at].block].block;
    at = members[at].block;
  }
  return at;
}

static void join_views(etx_method* method) {
  const etx_blob* const blob = &method->program->blob;
  const size_t count = etx_blob_view_count(blob, method->blob_index);
  for (size_t i = 0; i < count; ++i) {
    const etx_blob_view row = etx_blob_view_at(blob, method->blob_index, i);
    const uint32_t view = method->values[row.value].position;
    const uint32_t base = method->values[row.base].position;
    if (method->scratch_members[view].block == ETX_NO_INDEX ||
        method->scratch_members[base].block == ETX_NO_INDEX) {
      continue;
    }
    const uint32_t first = find_first(method->scratch_members, view);
    method->scratch_members[first].block =
        find_first(method->scratch_members, base);
  }
}

// Replaces members by blocks in `block`. Meanwhile, `delta` has the number of
// the block.
static void number_blocks(etx_method* method) {
  etx_scratch_member* const members = method->scratch_members;
  method->scratch_block_count = 0;
  for (uint32_t i = 0; i < method->scratch_member_count; ++i) {
    if (members[i].block != i) continue;
    etx_layout_block* const block =
        &method->scratch_blocks[method->scratch_block_count];
    *block = (etx_layout_block){SIZE_MAX, 0, 0, 0, 0, 0};
    members[i].delta = method->scratch_block_count++;
  }
  for (uint32_t i = 0; i < method->scratch_member_count; ++i) {
    if (members[i].block == ETX_NO_INDEX || members[i].block == i) continue;
    members[i].delta = members[find_first(members, i)].delta;
  }
  for (uint32_t i = 0; i < method->scratch_member_count; ++i) {
    if (members[i].block != ETX_NO_INDEX) {
      members[i].block = (uint32_t)members[i].delta;
    }
  }
}

static void measure_blocks(etx_method* method) {
  for (size_t i = 0; i < method->scratch_member_count; ++i) {
    const etx_scratch_member* const member = &method->scratch_members[i];
    if (member->block == ETX_NO_INDEX) continue;
    etx_layout_block* const block = &method->scratch_blocks[member->block];
    const size_t start = method->tensors[i].storage_offset;
    if (start < block->start) block->start = start;
    if (start + member->bytes > block->end) block->end = start + member->bytes;
  }
  for (size_t i = 0; i < method->scratch_member_count; ++i) {
    etx_scratch_member* const member = &method->scratch_members[i];
    if (member->block == ETX_NO_INDEX) continue;
    member->delta = method->tensors[i].storage_offset -
                    method->scratch_blocks[member->block].start;
  }
}

void etx_scratch_compaction_init(etx_method* method) {
  for (uint32_t i = 0; i < method->scratch_member_count; ++i) {
    etx_method_tensor* const tensor = &method->tensors[i];
    etx_scratch_member* const member = &method->scratch_members[i];
    *member = (etx_scratch_member){0, tensor->storage_bytes, ETX_NO_INDEX};
    if (uses_own_memory(tensor)) member->block = i;
  }
  if (method->scratch_member_count == 0) return;
  join_views(method);
  number_blocks(method);
  measure_blocks(method);
  method->scratch_alignment =
      etx_blocks_alignment(method->scratch_blocks, method->scratch_block_count);
  // A tensor could lose the alignment of its type.
  if (method->scratch_alignment < ETX_MEMORY_ALIGNMENT) {
    method->scratch_block_count = 0;
  }
  if (method->scratch_block_count == 0) {
    method->scratch_member_count = 0;
    return;
  }
  etx_blocks_sort(method->scratch_blocks, method->scratch_block_count);
  for (size_t i = 0; i < method->scratch_member_count; ++i) {
    etx_method_tensor* const tensor = &method->tensors[i];
    if (method->scratch_members[i].block != ETX_NO_INDEX ||
        tensor->storage_kind != ETX_METHOD_STORAGE_SCRATCH) {
      continue;
    }
    tensor->storage = NULL;
    tensor->storage_bytes = 0;
  }
}

// ---- compaction ----

// Sizes that the run may change count at their bounds.
static size_t present_bytes(const etx_method* method, size_t tensor) {
  const etx_method_tensor* const t = &method->tensors[tensor];
  return (t->late & ETX_LATE_SIZES) != 0 ? method->scratch_members[tensor].bytes
                                         : t->bytes;
}

void etx_scratch_compaction_restart(etx_method* method) {
  if (method->scratch_block_count == 0) return;
  for (size_t i = 0; i < method->scratch_member_count; ++i) {
    const etx_scratch_member* const member = &method->scratch_members[i];
    if (member->block == ETX_NO_INDEX) continue;
    method->tensors[i].storage_bytes = member->bytes;
  }
}

static void size_blocks(etx_method* method) {
  for (size_t i = 0; i < method->scratch_block_count; ++i) {
    method->scratch_blocks[i].bytes = 0;
  }
  for (size_t i = 0; i < method->scratch_member_count; ++i) {
    const etx_scratch_member* const member = &method->scratch_members[i];
    if (member->block == ETX_NO_INDEX) continue;
    const size_t end = member->delta + present_bytes(method, i);
    etx_layout_block* const block = &method->scratch_blocks[member->block];
    if (end > block->bytes) block->bytes = end;
  }
}

void etx_scratch_compact(etx_method* method) {
  if (method->scratch_block_count == 0) return;
  size_blocks(method);
  method->scratch_used =
      etx_blocks_place(method->scratch_blocks, method->scratch_block_count,
                       method->scratch_alignment);
  for (size_t i = 0; i < method->scratch_member_count; ++i) {
    const etx_scratch_member* const member = &method->scratch_members[i];
    if (member->block == ETX_NO_INDEX) continue;
    etx_method_tensor* const tensor = &method->tensors[i];
    tensor->storage = etx_method_byte(
        method->scratch.data,
        method->scratch_blocks[member->block].placed + member->delta);
    tensor->storage_bytes = present_bytes(method, i);
  }
}
