// A method is loaded as if its arenas lay one behind the other, from the first
// block on, since loading a program of etx accesses no byte of scratch. Then
// its tensors are moved into the blocks of their arenas.

#include "runtime/memories.h"

#include "format/pte/reserved_names.h"
#include "runtime/method/method_types.h"
#include "runtime/program/unplanned_outputs.h"
#include "runtime/shapes/method_shapes.h"
#include "runtime/shapes/scratch_compaction.h"

// Arenas of scratch: all but the dummy arena 0 and the state.
static size_t memory_count(const etx_pte_plan* plan) {
  const size_t arenas = etx_pte_buffer_size_count(plan);
  return arenas <= ETX_MEMORY_STATE ? 1 : arenas - ETX_MEMORY_STATE;
}

static size_t arena_of(size_t memory) {
  return memory == 0 ? ETX_MEMORY_SCRATCH : memory + ETX_MEMORY_STATE;
}

static size_t arena_bytes(const etx_pte_plan* plan, size_t arena) {
  return arena < etx_pte_buffer_size_count(plan)
             ? (size_t)etx_pte_buffer_size_at(plan, arena)
             : 0;
}

static etx_status find(const etx_program* program, etx_text name,
                       etx_pte_plan* plan, etx_diag* diag) {
  ETX_TRY(etx_program_find_plan(program, name, plan, diag));
  if (program->has_blob) return ETX_OK;
  return etx_diag_fail(diag, ETX_UNSUPPORTED,
                       "method '%t' was not planned for several memories by "
                       "etx; load it with one block of scratch",
                       name);
}

static etx_status memories_needed(const etx_program* program, etx_text name,
                                  size_t* out_bytes, size_t capacity,
                                  size_t* out_count, etx_diag* diag) {
  etx_pte_plan plan;
  size_t end = 0;
  ETX_TRY(find(program, name, &plan, diag));
  // Checks that the arenas are small enough for this machine.
  if (!etx_program_arena_offsets(program, &plan, NULL, &end)) {
    return ETX_OUT_OF_RANGE;
  }
  const size_t count = memory_count(&plan);
  if (count > capacity) {
    return etx_diag_fail(diag, ETX_OUT_OF_RANGE,
                         "method '%t' has %z memories, expected at most %z",
                         name, count, capacity);
  }
  for (size_t i = 0; i < count; ++i) {
    out_bytes[i] = arena_bytes(&plan, arena_of(i));
  }
  *out_count = count;
  return ETX_OK;
}

etx_status etx_method_memories_needed(const etx_program* program, etx_text name,
                                      size_t* out_bytes, size_t capacity,
                                      size_t* out_count, etx_diag* diag) {
  return etx_diag_seal(diag, memories_needed(program, name, out_bytes, capacity,
                                             out_count, diag));
}

static etx_status check_blocks(const etx_pte_plan* plan,
                               const etx_board_memory* board, etx_diag* diag) {
  const etx_text name = etx_pte_plan_name(plan);
  const size_t count = memory_count(plan);
  if (board->count < count) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "method '%t' has %z memories, but %z blocks were "
                         "given",
                         name, count, board->count);
  }
  for (size_t i = 0; i < count; ++i) {
    const size_t needed = arena_bytes(plan, arena_of(i));
    const etx_bytes_mut* const block = &board->blocks[i];
    if (block->size < needed || (block->data == NULL && needed > 0)) {
      return etx_diag_fail(diag, ETX_OUT_OF_MEMORY,
                           "method '%t' needs %z bytes in memory '%z', but %z "
                           "were given",
                           name, needed, i, block->size);
    }
    if ((uintptr_t)block->data % ETX_MEMORY_ALIGNMENT != 0) {
      return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                           "the block of memory '%z' is not aligned to %u "
                           "bytes",
                           i, (uint64_t)ETX_MEMORY_ALIGNMENT);
    }
  }
  return ETX_OK;
}

// The memory whose arena has the byte at `offset` of all arenas in a row.
static size_t memory_at(const etx_method* method, size_t offset) {
  size_t memory = memory_count(&method->plan) - 1;
  while (memory > 0 && method->arena_offsets[arena_of(memory)] > offset) {
    --memory;
  }
  return memory;
}

static etx_status move_tensors(etx_method* method,
                               const etx_board_memory* board, etx_diag* diag) {
  for (size_t i = 0; i < method->tensor_count; ++i) {
    etx_method_tensor* const tensor = &method->tensors[i];
    if (tensor->storage_kind != ETX_METHOD_STORAGE_SCRATCH) continue;
    const size_t memory = memory_at(method, tensor->storage_offset);
    const size_t arena = arena_of(memory);
    const size_t offset = tensor->storage_offset - method->arena_offsets[arena];
    // Outputs that the file has not planned lie behind all arenas.
    if (offset + tensor->storage_bytes > arena_bytes(&method->plan, arena)) {
      return etx_diag_fail(diag, ETX_UNSUPPORTED,
                           "method '%t' has outputs without planned memory; "
                           "load it with one block of scratch",
                           etx_pte_plan_name(&method->plan));
    }
    tensor->storage =
        tensor->storage_bytes == 0 ? NULL : board->blocks[memory].data + offset;
  }
  return ETX_OK;
}

static etx_status init_in_memories(etx_method* method,
                                   const etx_program* program, etx_text name,
                                   const etx_board_memory* board,
                                   const etx_missing_sink* missing,
                                   etx_diag* diag) {
  etx_pte_plan plan;
  etx_method loaded;
  etx_method_memory memory = board->memory;
  etx_memory_needed needed;
  ETX_TRY(find(program, name, &plan, diag));
  ETX_TRY(check_blocks(&plan, board, diag));
  ETX_TRY(etx_method_needed(program, name, &needed, diag));
  memory.scratch = (etx_bytes_mut){board->blocks[0].data, needed.scratch_bytes};
  if (memory.scratch.data == NULL) memory.scratch = memory.structures;
  memory.scratch.size = needed.scratch_bytes;
  ETX_TRY(etx_method_init(&loaded, program, name, &memory, missing, diag));
#if ETX_DYNAMIC
  etx_scratch_compaction_restart(&loaded);
#endif
  ETX_TRY(move_tensors(&loaded, board, diag));
  // A variant, or other memory, must fit into the first block.
  loaded.scratch_given = board->blocks[0].size;
#if ETX_DYNAMIC
  loaded.scratch_block_count = 0;  // blocks are not moved together
  loaded.scratch_member_count = 0;
#endif
  etx_method_update_pointers(&loaded);
  *method = loaded;
  return ETX_OK;
}

etx_status etx_method_init_in_memories(etx_method* method,
                                       const etx_program* program,
                                       etx_text name,
                                       const etx_board_memory* board,
                                       const etx_missing_sink* missing,
                                       etx_diag* diag) {
  return etx_diag_seal(
      diag, init_in_memories(method, program, name, board, missing, diag));
}
