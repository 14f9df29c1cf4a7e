// The constants of the file. Equal bytes are stored once, even for tensors of
// different types: a hash table by content finds them.

#include "exporter/emit/emit_internal.h"
#include "exporter/host/content_hash.h"

enum { FIRST_TABLE_SIZE = 256 };

// The bytes of a constant without elements: its tensors need an index, and a
// constant of the file must not be empty.
static const uint8_t one_zero[1] = {0};

static const etx_emit_slice not_a_slice = {ETX_IR_NONE, 0};

static void put(const etx_emit* emit, uint32_t* table, size_t size,
                uint32_t index) {
  size_t at = (size_t)emit->hashes[index] & (size - 1);
  while (table[at] != 0) at = (at + 1) & (size - 1);
  table[at] = index;
}

static etx_status make_room(etx_emit* emit) {
  if (2 * emit->constant_count < emit->constant_hash_size) return ETX_OK;
  const size_t size = emit->constant_hash_size == 0
                          ? FIRST_TABLE_SIZE
                          : 2 * emit->constant_hash_size;
  uint32_t* const table = etx_pool_take(emit->pool, size * sizeof *table);
  if (table == NULL) return ETX_OUT_OF_MEMORY;
  for (uint32_t i = 1; i < emit->constant_count; ++i) {
    put(emit, table, size, i);
  }
  emit->constant_hashes = table;
  emit->constant_hash_size = size;
  return ETX_OK;
}

static etx_status add(etx_emit* emit, etx_bytes bytes, uint64_t hash,
                      const etx_emit_slice* slice) {
  const size_t count = emit->constant_count;
  ETX_TRY(etx_pool_extend(emit->pool, &emit->hashes, count,
                          &emit->hash_capacity, sizeof hash));
  ETX_TRY(etx_pool_extend(emit->pool, &emit->constants, count,
                          &emit->constant_capacity, sizeof bytes));
  ETX_TRY(etx_pool_extend(emit->pool, &emit->slices, count,
                          &emit->slice_capacity, sizeof *slice));
  emit->slices[count] = *slice;
  emit->hashes[count] = hash;
  emit->constants[count] = bytes;
  emit->constant_count = count + 1;
  return ETX_OK;
}

etx_status etx_emit_constants_start(etx_emit* emit) {
  const etx_bytes none = {NULL, 0};
  return add(emit, none, 0, &not_a_slice);
}

static etx_status find_or_add(etx_emit* emit, etx_bytes bytes, uint64_t hash,
                              const etx_emit_slice* slice,
                              uint32_t* out_index) {
  ETX_TRY(make_room(emit));
  const size_t mask = emit->constant_hash_size - 1;
  size_t at = (size_t)hash & mask;
  for (; emit->constant_hashes[at] != 0; at = (at + 1) & mask) {
    const etx_bytes known = emit->constants[emit->constant_hashes[at]];
    if (emit->hashes[emit->constant_hashes[at]] == hash &&
        known.size == bytes.size &&
        memcmp(known.data, bytes.data, bytes.size) == 0) {
      *out_index = emit->constant_hashes[at];
      return ETX_OK;
    }
  }
  *out_index = (uint32_t)emit->constant_count;
  ETX_TRY(add(emit, bytes, hash, slice));
  emit->constant_hashes[at] = *out_index;
  return ETX_OK;
}

// Grows `index_of_constant` to include `constant`, since emission may add
// constants to the module.
static etx_status grow_indices(etx_emit* emit, uint32_t constant) {
  if (constant < emit->index_of_constant_count) return ETX_OK;
  const size_t count = emit->module->constant_count;
  uint32_t* const bigger = etx_pool_take(emit->pool, count * sizeof *bigger);
  if (bigger == NULL) return ETX_OUT_OF_MEMORY;
  if (emit->index_of_constant_count != 0) {
    memcpy(bigger, emit->index_of_constant,
           emit->index_of_constant_count * sizeof *bigger);
  }
  emit->index_of_constant = bigger;
  emit->index_of_constant_count = count;
  return ETX_OK;
}

// A constant that is written as a whole may be a part of another one.
static etx_emit_slice whole_slice(const etx_ir_module* module,
                                  uint32_t constant) {
  const etx_ir_part* const part = etx_ir_find_part(module, constant);
  return part == NULL ? not_a_slice
                      : (etx_emit_slice){part->whole, part->offset};
}

etx_status etx_emit_constant(etx_emit* emit, uint32_t constant, uint64_t offset,
                             uint64_t size, uint32_t* out_index) {
  ETX_TRY(grow_indices(emit, constant));
  const etx_bytes whole = emit->module->constants[constant].data;
  const bool is_whole = offset == 0;
  if (is_whole && emit->index_of_constant[constant] != 0) {
    *out_index = emit->index_of_constant[constant];
    return ETX_OK;
  }
  // A tensor that starts at offset 0 may refer to the whole constant, even if
  // it is shorter.
  etx_bytes bytes = whole;
  if (!is_whole) {
    bytes.data += offset;
    bytes.size = (size_t)size;
  }
  if (bytes.size == 0) {
    bytes.data = one_zero;
    bytes.size = sizeof one_zero;
  }
  etx_emit_slice slice = {constant, offset};
  if (is_whole) slice = whole_slice(emit->module, constant);
  const uint64_t hash = bytes.data == whole.data && bytes.size == whole.size
                            ? emit->module->constant_hashes[constant]
                            : etx_content_hash(bytes);
  ETX_TRY(find_or_add(emit, bytes, hash, &slice, out_index));
  if (is_whole) emit->index_of_constant[constant] = *out_index;
  return ETX_OK;
}

// The constant of the file that contains constant `index`; 0: none. Constants
// are found by content, so it may be `index` itself.
static uint32_t host_of(const etx_emit* emit, size_t index,
                        uint64_t alignment) {
  const etx_emit_slice* const slice = &emit->slices[index];
  if (slice->constant == ETX_IR_NONE || slice->offset % alignment != 0) {
    return 0;
  }
  const uint32_t host = emit->index_of_constant[slice->constant];
  return host == index ? 0 : host;
}

// A slice of a constant that is a part of another one lies in the latter, which
// has bytes of its own. Each host has more bytes, so the search ends.
static uint32_t outermost_host(const etx_emit* emit, size_t index,
                               uint64_t alignment, uint64_t* out_offset) {
  uint32_t host = 0;
  uint32_t next = host_of(emit, index, alignment);
  size_t inner = index;
  *out_offset = 0;
  while (next != 0) {
    *out_offset += emit->slices[inner].offset;
    host = next;
    inner = next;
    next = host_of(emit, inner, alignment);
  }
  return host;
}

etx_status etx_emit_constants_join(etx_emit* emit, uint64_t alignment,
                                   uint32_t** out_hosts) {
  uint32_t* const hosts =
      etx_pool_take(emit->pool, emit->constant_count * sizeof *hosts);
  if (hosts == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 1; i < emit->constant_count; ++i) {
    uint64_t offset = 0;
    hosts[i] = outermost_host(emit, i, alignment, &offset);
    if (hosts[i] == 0) continue;
    // The host may be another constant of the module with equal content, so the
    // address is taken from the host.
    emit->constants[i].data = emit->constants[hosts[i]].data + offset;
  }
  *out_hosts = hosts;
  return ETX_OK;
}
