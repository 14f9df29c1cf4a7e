#include "cli/tensors/tensor_file.h"

#include <string.h>

#include "cli/tensors/npy.h"
#include "cli/base/output_file.h"
#include "exporter/host/host_file.h"
#include "exporter/import/safetensors.h"

static const char npy_end[] = ".npy";
static const char set_end[] = ".safetensors";
static const char set_mark[] = ".safetensors#";

static bool ends_with(const char* text, const char* end) {
  const size_t size = strlen(text);
  const size_t end_size = strlen(end);
  return size > end_size && strcmp(text + size - end_size, end) == 0;
}

bool etx_tensor_file_is_path(const char* text) {
  return ends_with(text, npy_end) || strstr(text, set_mark) != NULL;
}

bool etx_tensor_file_has_known_suffix(const char* path) {
  return ends_with(path, npy_end) || ends_with(path, set_end);
}

// A copy, because tensors in a file need not be aligned for their dtype.
static etx_status copy_constant(const etx_ir_constant* from, etx_pool* pool,
                                etx_host_tensor* out, etx_diag* diag) {
  etx_host_tensor tensor = {.dtype = from->dtype, .rank = from->rank};
  for (size_t i = 0; i < from->rank; ++i) {
    if (from->sizes[i] > INT32_MAX) {
      return etx_diag_fail(diag, ETX_OUT_OF_RANGE,
                           "a tensor has a dimension of %i, expected at most "
                           "2147483647",
                           from->sizes[i]);
    }
    tensor.sizes[i] = (int32_t)from->sizes[i];
  }
  ETX_TRY(etx_host_tensor_allocate(&tensor, pool, diag));
  if (tensor.bytes != 0) memcpy(tensor.data, from->data.data, tensor.bytes);
  *out = tensor;
  return ETX_OK;
}

static etx_status open_set(const char* path, etx_pool* pool,
                           etx_safetensors* out, etx_diag* diag) {
  etx_bytes bytes;
  ETX_TRY(etx_file_read(pool, path, &bytes, diag));
  return etx_safetensors_open(out, pool, etx_text_of(path), bytes, diag);
}

static etx_status read_from_set(const char* text, etx_pool* pool,
                                etx_host_tensor* out_tensor, etx_diag* diag) {
  const char* const mark = strstr(text, set_mark) + sizeof set_end - 1;
  const etx_text path_text = {text, (size_t)(mark - text)};
  const etx_text path = etx_pool_copy_text(pool, path_text);
  const etx_text name = etx_text_of(mark + 1);
  etx_safetensors file;
  etx_ir_constant constant;
  if (path.data == NULL) {
    return etx_diag_fail(diag, ETX_OUT_OF_MEMORY,
                         "not enough memory for a path");
  }
  ETX_TRY(open_set(path.data, pool, &file, diag));
  if (etx_safetensors_find(&file, name, &constant)) {
    return copy_constant(&constant, pool, out_tensor, diag);
  }
  char nearest[128];
  const char* const hint =
      etx_safetensors_hint(&file, name, nearest, sizeof nearest);
  return etx_diag_fail(diag, ETX_NOT_FOUND, "'%t' has no tensor '%t'%s", path,
                       name, hint == NULL ? "" : hint);
}

etx_status etx_tensor_file_read(const char* path, etx_pool* pool,
                                etx_host_tensor* out_tensor, etx_diag* diag) {
  if (strstr(path, set_mark) != NULL) {
    return read_from_set(path, pool, out_tensor, diag);
  }
  etx_bytes bytes;
  ETX_TRY(etx_file_read(pool, path, &bytes, diag));
  const etx_status status = etx_npy_read(bytes, pool, out_tensor, diag);
  if (status != ETX_OK) etx_diag_append(diag, " in '%s'", path);
  return status;
}

etx_status etx_tensor_set_read(const char* path, etx_pool* pool,
                               etx_tensor_set* out_set, etx_diag* diag) {
  etx_safetensors file;
  ETX_TRY(open_set(path, pool, &file, diag));
  etx_tensor_set set = {NULL, 0};
  set.items = etx_pool_take(pool, file.header->count * sizeof *set.items);
  if (set.items == NULL) {
    return etx_diag_fail(diag, ETX_OUT_OF_MEMORY,
                         "not enough memory for tensors");
  }
  for (size_t i = 0; i < file.header->count; ++i) {
    etx_ir_constant constant;
    // The only key that is not a tensor is the metadata.
    if (!etx_safetensors_find(&file, file.header->keys[i], &constant)) continue;
    set.items[set.count].name = file.header->keys[i];
    ETX_TRY(copy_constant(&constant, pool, &set.items[set.count].tensor, diag));
    ++set.count;
  }
  *out_set = set;
  return ETX_OK;
}

const etx_host_tensor* etx_tensor_set_find(const etx_tensor_set* set,
                                           etx_text name) {
  for (size_t i = 0; i < set->count; ++i) {
    if (etx_text_equal(set->items[i].name, name)) return &set->items[i].tensor;
  }
  return NULL;
}

static etx_status write_set(const etx_tensor_item* items, size_t count,
                            etx_pool* pool, const etx_sink* sink) {
  etx_named_tensor* const named = etx_pool_take(pool, count * sizeof *named);
  etx_ir_constant* const constants =
      etx_pool_take(pool, count * sizeof *constants);
  if (named == NULL || constants == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < count; ++i) {
    const etx_host_tensor* const from = &items[i].tensor;
    etx_ir_constant* const to = &constants[i];
    to->dtype = from->dtype;
    to->rank = from->rank;
    for (size_t d = 0; d < from->rank; ++d) to->sizes[d] = from->sizes[d];
    to->data.data = from->data;
    to->data.size = from->bytes;
    named[i].name = items[i].name;
    named[i].tensor = to;
  }
  return etx_safetensors_write(pool, named, count, sink);
}

static etx_status write_content(etx_output_file* output,
                                const etx_tensor_item* items, size_t count,
                                etx_pool* pool) {
  const etx_sink sink = etx_output_file_sink(output);
  ETX_TRY(ends_with(output->path, npy_end)
              ? etx_npy_write(&items[0].tensor, &sink, output->diag)
              : write_set(items, count, pool, &sink));
  ETX_TRY(etx_output_file_finish(output));
  return etx_output_file_keep(output);
}

etx_status etx_tensor_file_write(const char* path, const etx_tensor_item* items,
                                 size_t count, etx_pool* pool, etx_diag* diag) {
  if (ends_with(path, npy_end) && count != 1) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "'%s' holds exactly one tensor, not %z; use a "
                         ".safetensors file for more",
                         path, count);
  }
  etx_output_file output;
  ETX_TRY(etx_output_file_open(&output, path, diag));
  const etx_status status = write_content(&output, items, count, pool);
  etx_output_file_discard(&output);
  return status;
}
