// Offsets of states are kept from an earlier program if asked for; the file is
// not trusted: sizes, alignment and overlap are checked.

#include "exporter/placement/shared_state.h"

#include "format/base/checked_math.h"
#include "format/pte/etx_blob.h"
#include "format/pte/pte_program.h"
#include "format/pte/reserved_names.h"

enum { PLAN_COLUMNS = 6 };

etx_status etx_shared_state_order(etx_ir_module* module, uint32_t** out_buffers,
                                  size_t* out_count) {
  uint32_t* const order =
      etx_pool_take(module->pool, module->buffer_count * sizeof *order);
  if (order == NULL) return ETX_OUT_OF_MEMORY;
  size_t count = 0;
  for (uint32_t b = 0; b < module->buffer_count; ++b) {
    if (!module->buffers[b].is_state) continue;
    size_t at = count++;
    // Insertion: names arrive nearly sorted, and names are unique.
    while (at > 0 && etx_text_compare(module->buffers[order[at - 1]].name,
                                      module->buffers[b].name) > 0) {
      order[at] = order[at - 1];
      --at;
    }
    order[at] = b;
  }
  *out_buffers = order;
  *out_count = count;
  return ETX_OK;
}

static uint64_t state_bytes(const etx_ir_buffer* buffer) {
  uint64_t bytes = etx_dtype_bytes(buffer->dtype);
  for (size_t i = 0; i < buffer->rank; ++i) bytes *= (uint64_t)buffer->sizes[i];
  return bytes;
}

static bool is_uniform(const etx_ir_constant* constant) {
  const size_t element = etx_dtype_bytes(constant->dtype);
  const etx_bytes data = constant->data;
  return data.size >= element &&
         memcmp(data.data, data.data + element, data.size - element) == 0;
}

etx_status etx_shared_state_initial(etx_ir_module* module, uint32_t buffer,
                                    uint32_t* out_constant) {
  const etx_ir_buffer* const state = &module->buffers[buffer];
  etx_ir_constant one = {.dtype = state->dtype};
  one.data.size = etx_dtype_bytes(state->dtype);
  if (state->initial != ETX_IR_NONE && state_bytes(state) != 0) {
    const etx_ir_constant* const initial = &module->constants[state->initial];
    if (!is_uniform(initial)) {
      *out_constant = state->initial;
      return ETX_OK;
    }
    one.data.data = initial->data.data;
  } else {
    one.data.data = etx_pool_take(module->pool, one.data.size);
    if (one.data.data == NULL) return ETX_OUT_OF_MEMORY;
  }
  return etx_ir_add_constant(module, &one, out_constant);
}

// Offset and end of a state in an earlier program; false if it has none.
static bool find_kept(const etx_blob* blob, etx_text name,
                      etx_blob_state* out_state) {
  for (size_t i = 0; i < etx_blob_state_count(blob); ++i) {
    *out_state = etx_blob_state_at(blob, i);
    if (etx_text_equal(out_state->name, name)) return true;
  }
  return false;
}

static etx_status keep_offset(const etx_ir_module* module,
                              const etx_ir_buffer* buffer,
                              const etx_blob_state* kept, uint64_t* out_offset,
                              etx_diag* diag) {
  uint64_t bytes = etx_dtype_bytes(kept->dtype);
  for (size_t i = 0; i < kept->rank; ++i) bytes *= (uint64_t)kept->sizes[i];
  if (bytes != state_bytes(buffer)) {
    return etx_diag_fail(
        diag, ETX_BAD_ARGUMENT,
        "state '%t' has %u bytes, but %u bytes in the layout to keep",
        buffer->name, state_bytes(buffer), bytes);
  }
  if (kept->dtype != buffer->dtype) {
    return etx_diag_fail(
        diag, ETX_BAD_ARGUMENT,
        "state '%t' has dtype '%s', but '%s' in the layout to keep",
        buffer->name, etx_dtype_name(buffer->dtype),
        etx_dtype_name(kept->dtype));
  }
  if (kept->offset % module->alignment != 0) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "state '%t' is at offset %u in the layout to keep, "
                         "expected a multiple of %u",
                         buffer->name, kept->offset, module->alignment);
  }
  *out_offset = kept->offset;
  return ETX_OK;
}

static etx_status append(const etx_ir_module* module, uint32_t buffer,
                         uint64_t* end, uint64_t* out_offset) {
  if (!etx_align_up_u64(*end, module->alignment, out_offset) ||
      !etx_add_u64(*out_offset, state_bytes(&module->buffers[buffer]), end)) {
    return ETX_OUT_OF_RANGE;
  }
  return ETX_OK;
}

// States that keep their offsets must not overlap.
static etx_status check_apart(const etx_ir_module* module,
                              const etx_state_layout* layout, const bool* kept,
                              etx_diag* diag) {
  for (size_t i = 0; i < layout->count; ++i) {
    const etx_ir_buffer* const a = &module->buffers[layout->buffers[i]];
    for (size_t k = 0; k < i; ++k) {
      const etx_ir_buffer* const b = &module->buffers[layout->buffers[k]];
      if (!kept[i] || !kept[k] ||
          layout->offsets[i] >= layout->offsets[k] + state_bytes(b) ||
          layout->offsets[k] >= layout->offsets[i] + state_bytes(a)) {
        continue;
      }
      return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                           "states '%t' and '%t' overlap in the layout to keep",
                           b->name, a->name);
    }
  }
  return ETX_OK;
}

static etx_status keep_layout(const etx_ir_module* module, etx_bytes keep,
                              etx_state_layout* layout, bool* kept,
                              uint64_t* end, etx_diag* diag) {
  if (keep.size == 0) return ETX_OK;
  etx_pte pte;
  etx_blob blob;
  ETX_TRY(etx_pte_open(&pte, keep, NULL, diag));
  const etx_status found = etx_blob_open(&blob, &pte, diag);
  if (found == ETX_NOT_FOUND) {
    return etx_diag_fail(
        diag, ETX_BAD_FILE,
        "the program was not written by etx and has no state layout to keep");
  }
  ETX_TRY(found);
  // The bytes of states that no longer exist stay unused.
  *end = etx_blob_state_bytes(&blob);
  for (size_t i = 0; i < layout->count; ++i) {
    const etx_ir_buffer* const buffer = &module->buffers[layout->buffers[i]];
    etx_blob_state state;
    if (!find_kept(&blob, buffer->name, &state)) continue;
    ETX_TRY(keep_offset(module, buffer, &state, &layout->offsets[i], diag));
    kept[i] = true;
  }
  return check_apart(module, layout, kept, diag);
}

etx_status etx_shared_state_layout(etx_ir_module* module, etx_bytes keep,
                                   etx_state_layout* out_layout,
                                   etx_diag* diag) {
  etx_state_layout layout = {0};
  ETX_TRY(etx_shared_state_order(module, &layout.buffers, &layout.count));
  layout.offsets =
      etx_pool_take(module->pool, layout.count * sizeof *layout.offsets);
  bool* const kept = etx_pool_take(module->pool, layout.count * sizeof *kept);
  if (layout.offsets == NULL || kept == NULL) return ETX_OUT_OF_MEMORY;
  uint64_t end = 0;
  ETX_TRY(keep_layout(module, keep, &layout, kept, &end, diag));
  for (size_t i = 0; i < layout.count; ++i) {
    if (kept[i]) continue;
    ETX_TRY(append(module, layout.buffers[i], &end, &layout.offsets[i]));
  }
  if (!etx_align_up_u64(end, module->alignment, &layout.bytes)) {
    return ETX_OUT_OF_RANGE;
  }
  *out_layout = layout;
  return ETX_OK;
}

static etx_status add_table(etx_ir_module* module, const char* name,
                            etx_dtype dtype, size_t columns, size_t rows,
                            const uint8_t* data) {
  etx_ir_constant constant = {.dtype = dtype, .rank = 2};
  constant.sizes[0] = (int64_t)rows;
  constant.sizes[1] = (int64_t)columns;
  constant.data.data = data;
  constant.data.size = rows * columns * etx_dtype_bytes(dtype);
  etx_ir_constant_method method = {.name = etx_text_of(name)};
  ETX_TRY(etx_ir_add_constant(module, &constant, &method.constant));
  ETX_TRY(etx_pool_grow(module->pool, &module->constant_methods,
                        module->constant_method_count,
                        &module->constant_method_capacity, sizeof method));
  // In front of the user's constant methods, in the order of the calls.
  size_t at = 0;
  while (at < module->constant_method_count &&
         etx_text_starts_with(module->constant_methods[at].name,
                              etx_text_of("et_get_shared_buffer"))) {
    ++at;
  }
  memmove(&module->constant_methods[at + 1], &module->constant_methods[at],
          (module->constant_method_count - at) * sizeof method);
  module->constant_methods[at] = method;
  ++module->constant_method_count;
  return ETX_OK;
}

static etx_status publish_names(etx_ir_module* module,
                                const etx_state_layout* layout) {
  size_t longest = 0;
  for (size_t i = 0; i < layout->count; ++i) {
    const size_t size = module->buffers[layout->buffers[i]].name.size;
    if (size > longest) longest = size;
  }
  const size_t width = longest + 1;
  uint8_t* const names = etx_pool_take(module->pool, layout->count * width);
  if (names == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < layout->count; ++i) {
    const etx_text name = module->buffers[layout->buffers[i]].name;
    memcpy(names + i * width, name.data, name.size);
  }
  return add_table(module, ETX_METHOD_BUFFER_NAMES, ETX_DTYPE_UINT8, width,
                   layout->count, names);
}

etx_status etx_shared_state_publish(etx_ir_module* module,
                                    const etx_state_layout* layout) {
  if (layout->count == 0) return ETX_OK;
  ETX_TRY(publish_names(module, layout));
  int64_t* const rows =
      etx_pool_take(module->pool, layout->count * PLAN_COLUMNS * sizeof *rows);
  if (rows == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < layout->count; ++i) {
    const etx_ir_buffer* const buffer = &module->buffers[layout->buffers[i]];
    const uint64_t bytes = state_bytes(buffer);
    uint64_t allocated = 0;
    if (!etx_align_up_u64(bytes, module->alignment, &allocated)) {
      return ETX_OUT_OF_RANGE;
    }
    int64_t* const row = rows + i * PLAN_COLUMNS;
    row[0] = ETX_MEMORY_STATE;
    row[1] = (int64_t)i;
    row[2] = (int64_t)layout->offsets[i];
    row[3] = (int64_t)allocated;
    row[4] = (int64_t)bytes;
    row[5] = (int64_t)(bytes / etx_dtype_bytes(buffer->dtype));
  }
  return add_table(module, ETX_METHOD_BUFFER_PLAN, ETX_DTYPE_INT64,
                   PLAN_COLUMNS, layout->count, (const uint8_t*)rows);
}
