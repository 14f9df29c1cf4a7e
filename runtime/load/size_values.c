// A record *runs once* if nothing but sizes and constants decides its results:
// all tensors that it reads are constants, or results of records that run once.
// Such records need not run again until sizes change.
//
// Its results must still be there when a record that runs in each call reads
// them, so the blocks of these results move from scratch to memory of the
// method. All other results of records that run once stay in scratch: only
// records that run once read them, and these run first, in the file's order. So
// they may share bytes with all other blocks.
//
// A block may hold several values in turn. It stays in scratch, and its writers
// run in each call, if one of them does, or if a value in it is overwritten
// after a record that runs in each call has read it.

#include "runtime/size_values.h"

#include "runtime/load/size_values_run.h"
#include "runtime/load/variant_methods.h"
#include "runtime/run/method_run.h"
#include "runtime/shapes/method_shapes.h"
#include "runtime/shapes/scratch_compaction.h"

enum { MOST_ROUNDS = 64 };  // until it is known which records run once

// Bits of a block, in `bytes` of its layout, which each phase sets anew.
enum {
  IS_WRITTEN = 1,          // by some record
  IS_WRITTEN_IN_EACH = 2,  // by a record that runs in each call, or the caller
  IS_READ_IN_EACH = 4,     // by a record that runs in each call
  IS_REWRITTEN = 8,        // after that
};

// ---- where values lie ----

// The block of scratch that has a tensor's bytes; ETX_NO_INDEX: none has.
static uint32_t block_of(const etx_method* method, const etx_value* value) {
  const etx_method_tensor* const tensor = etx_method_tensor_of(method, value);
  return tensor->root == ETX_NO_INDEX
             ? ETX_NO_INDEX
             : etx_scratch_block_of(method, &method->tensors[tensor->root]);
}

static bool is_constant(const etx_method* method, const etx_value* value) {
  const etx_method_tensor* const tensor = etx_method_tensor_of(method, value);
  return tensor->root != ETX_NO_INDEX &&
         method->tensors[tensor->root].storage_kind ==
             ETX_METHOD_STORAGE_CONSTANT;
}

static bool is_tensor(const etx_value* value) {
  return value != NULL && value->kind == ETX_VALUE_TENSOR;
}

static bool writes(const etx_method_record* record, size_t argument) {
  return (record->written >> argument & 1) != 0;
}

// ---- which records run once ----

// Of a method without late values (may_keep), so no kernel sets sizes.
static bool may_run_once(const etx_method_record* record) {
  return record->kind == ETX_RECORD_KERNEL &&
         record->call.op->result == ETX_RESULT_OUT &&
         record->call.op->id < ETX_OP_COUNT &&
         !etx_op_only_sizes(record->call.op) &&
         !etx_op_draws_random_numbers(record->call.op) && !record->writes_state;
}

static void mark_block(etx_method* method, const etx_value* value, size_t bit) {
  if (!is_tensor(value)) return;
  const uint32_t block = block_of(method, value);
  if (block != ETX_NO_INDEX) method->scratch_blocks[block].bytes |= bit;
}

// Inputs that are copied into scratch, and outputs.
static void mark_ports(etx_method* method) {
  for (size_t i = 0; i < method->input_count; ++i) {
    mark_block(method, &method->values[method->inputs[i].value],
               IS_WRITTEN_IN_EACH);
  }
  for (size_t i = 0; i < method->output_count; ++i) {
    const etx_value* const output = method->outputs[i];
    const etx_call call = {.arguments = &output, .argument_count = 1};
    etx_value_span values = etx_call_argument_values(&call, 0);
    for (; values.at != values.end; ++values.at) {
      mark_block(method, *values.at, IS_WRITTEN_IN_EACH);
    }
  }
}

static void mark_access(etx_method* method, const etx_method_record* record,
                        const etx_value* value, bool is_written) {
  const uint32_t block =
      is_tensor(value) ? block_of(method, value) : ETX_NO_INDEX;
  if (block == ETX_NO_INDEX) return;
  size_t* const bits = &method->scratch_blocks[block].bytes;
  if (!is_written) {
    if (!record->runs_once) *bits |= IS_READ_IN_EACH;
    return;
  }
  *bits |= IS_WRITTEN;
  if (!record->runs_once) *bits |= IS_WRITTEN_IN_EACH;
  if ((*bits & IS_READ_IN_EACH) != 0) *bits |= IS_REWRITTEN;
}

// Reads of a record come before its writes. An operator that only sets the
// sizes of its output writes nothing.
static void mark_accesses(etx_method* method, const etx_method_record* record) {
  for (int is_written = 0; is_written < 2; ++is_written) {
    for (size_t i = 0; i < record->call.argument_count; ++i) {
      if (writes(record, i) != (is_written != 0)) continue;
      etx_value_span values = etx_call_argument_values(&record->call, i);
      for (; values.at != values.end; ++values.at) {
        mark_access(method, record, *values.at, is_written != 0);
      }
    }
  }
}

static void mark_blocks(etx_method* method) {
  for (size_t i = 0; i < method->scratch_block_count; ++i) {
    method->scratch_blocks[i].bytes = 0;
  }
  mark_ports(method);
  for (size_t i = 0; i < method->record_count; ++i) {
    if (method->records[i].kind == ETX_RECORD_KERNEL &&
        !etx_op_only_sizes(method->records[i].call.op)) {
      mark_accesses(method, &method->records[i]);
    }
  }
}

// True if the value is the same in all calls of equal sizes, and can be kept.
static bool is_once(const etx_method* method, const etx_value* value,
                    bool is_written) {
  if (!is_tensor(value)) return true;
  if (!is_written && is_constant(method, value)) return true;
  const uint32_t block = block_of(method, value);
  return block != ETX_NO_INDEX &&
         (method->scratch_blocks[block].bytes &
          (IS_WRITTEN | IS_WRITTEN_IN_EACH | IS_REWRITTEN)) == IS_WRITTEN;
}

static bool stays_once(const etx_method* method,
                       const etx_method_record* record) {
  for (size_t i = 0; i < record->call.argument_count; ++i) {
    etx_value_span values = etx_call_argument_values(&record->call, i);
    for (; values.at != values.end; ++values.at) {
      if (!is_once(method, *values.at, writes(record, i))) return false;
    }
  }
  return true;
}

// Leaves `runs_once` to those records that need not run in each call. What a
// dropped record writes is noted at once, so that those behind it that depend
// on it are dropped in the same round, however long the chain is.
static bool drop_records(etx_method* method) {
  bool dropped = false;
  for (size_t i = 0; i < method->record_count; ++i) {
    etx_method_record* const record = &method->records[i];
    if (!record->runs_once || stays_once(method, record)) continue;
    record->runs_once = false;
    mark_accesses(method, record);
    dropped = true;
  }
  return dropped;
}

// Sets `runs_once` of all records and the bits of all blocks. Without a call of
// set_uses, nothing else reads them.
static bool find_records(etx_method* method) {
  for (size_t i = 0; i < method->record_count; ++i) {
    method->records[i].runs_once = may_run_once(&method->records[i]);
  }
  for (size_t i = 0; i < MOST_ROUNDS; ++i) {
    mark_blocks(method);
    if (!drop_records(method)) return true;
  }
  return false;
}

// ---- memory ----

static bool is_kept(const etx_layout_block* block) {
  return (block->bytes & (IS_WRITTEN | IS_WRITTEN_IN_EACH | IS_READ_IN_EACH |
                          IS_REWRITTEN)) == (IS_WRITTEN | IS_READ_IN_EACH);
}

// The bytes that all kept blocks take.
static size_t kept_bytes(const etx_method* method) {
  size_t bytes = 0;
  for (size_t i = 0; i < method->scratch_block_count; ++i) {
    const etx_layout_block* const block = &method->scratch_blocks[i];
    if (is_kept(block))
      bytes += etx_kept_block_bytes(block->end - block->start);
  }
  return bytes;
}

// The roots of all tensors must be known, and no size may have been used yet.
static bool may_keep(const etx_method* method) {
  return ETX_DYNAMIC && !method->program->limits.repeats_size_values &&
         method->once == NULL && method->is_prepared && method->flow == 0 &&
         method->version_count == 0 && method->phases == 1 &&
         method->regions == NULL;
}

// The bytes that the method itself keeps, without its variants.
static size_t find_own(etx_method* method) {
  return may_keep(method) && find_records(method) ? kept_bytes(method) : 0;
}

size_t etx_method_size_values_needed(etx_method* method) {
  size_t bytes = find_own(method);
  const struct etx_method_variants* const all = method->variants;
  for (size_t i = 0; all != NULL && i < all->all; ++i) {
    bytes += find_own(&all->items[i]);
  }
  return bytes;
}

// True if only records that run once use the block.
static bool is_passing(const etx_layout_block* block) {
  return (block->bytes & (IS_WRITTEN | IS_WRITTEN_IN_EACH | IS_READ_IN_EACH)) ==
         IS_WRITTEN;
}

static void set_uses(etx_method* method) {
  for (size_t i = 0; i < method->scratch_member_count; ++i) {
    etx_scratch_member* const member = &method->scratch_members[i];
    if (member->block == ETX_NO_INDEX) continue;
    const etx_layout_block* const block =
        &method->scratch_blocks[member->block];
    if (is_passing(block)) member->use = ETX_BLOCK_ONCE;
    if (!is_kept(block)) continue;
    member->use = ETX_BLOCK_KEPT;
    method->tensors[i].storage_kind = ETX_METHOD_STORAGE_KEPT;
  }
}

static const etx_once_functions functions = {etx_once_split_steps,
                                             etx_once_run};

// Returns the bytes of `data` that are taken.
static size_t keep_own(etx_method* method, uint8_t* data) {
  const size_t bytes = find_own(method);
  if (bytes == 0) return 0;
  set_uses(method);
  method->once = &functions;
  method->kept = (etx_bytes_mut){data, bytes};
  method->is_prepared = false;  // the next phase sets their addresses
  return bytes;
}

static etx_status keep(etx_method* method, etx_bytes_mut block,
                       etx_diag* diag) {
  const size_t needed = etx_method_size_values_needed(method);
  if (needed == 0) {
    return etx_diag_fail(diag, ETX_BAD_STATE,
                         "method '%t' has run, or has no values that depend on "
                         "sizes alone",
                         etx_pte_plan_name(&method->plan));
  }
  if (block.size < needed) {
    return etx_diag_fail(diag, ETX_OUT_OF_MEMORY,
                         "the values of method '%t' that depend on sizes alone "
                         "need %z bytes, %z were given",
                         etx_pte_plan_name(&method->plan), needed, block.size);
  }
  if ((uintptr_t)block.data % ETX_MEMORY_ALIGNMENT != 0) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "the memory of values that depend on sizes alone is "
                         "not aligned to %z bytes",
                         (size_t)ETX_MEMORY_ALIGNMENT);
  }
  size_t end = keep_own(method, block.data);
  const struct etx_method_variants* const all = method->variants;
  for (size_t i = 0; all != NULL && i < all->all; ++i) {
    end += keep_own(&all->items[i], block.data + end);
  }
  return ETX_OK;
}

etx_status etx_method_keep_size_values(etx_method* method, etx_bytes_mut block,
                                       etx_diag* diag) {
  etx_status status = etx_method_enter(method, diag);
  if (status == ETX_OK) {
    status = keep(method, block, diag);
    etx_method_leave(method);
  }
  return etx_diag_seal(diag, status);
}
