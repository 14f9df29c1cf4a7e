// Weights of graphs written in YAML.

#include "exporter/import/weight_files.h"

#include "exporter/host/host_file.h"
#include "exporter/import/import.h"
#include "exporter/ir/uniform_value.h"

void etx_weight_files_init(etx_weight_files* weights, etx_pool* pool,
                           etx_text directory) {
  memset(weights, 0, sizeof *weights);
  weights->pool = pool;
  weights->directory = directory;
}

// The file `name`; it is opened at the first request.
static etx_status open_file(etx_weight_files* weights, etx_text name,
                            etx_safetensors** out_file, etx_diag* diag) {
  for (size_t i = 0; i < weights->count; ++i) {
    if (!etx_text_equal(weights->names[i], name)) continue;
    *out_file = weights->files[i];
    return ETX_OK;
  }
  etx_pool* const pool = weights->pool;
  etx_bytes bytes = {NULL, 0};
  const etx_text path = etx_path_join(pool, weights->directory, name);
  etx_safetensors* const file = etx_pool_take(pool, sizeof *file);
  if (path.data == NULL || file == NULL) return ETX_OUT_OF_MEMORY;
  ETX_TRY(etx_file_map(pool, path.data, &bytes, diag));
  ETX_TRY(etx_safetensors_open(file, pool, path, bytes, diag));
  ETX_TRY(etx_pool_grow(pool, &weights->names, weights->count,
                        &weights->name_capacity, sizeof *weights->names));
  ETX_TRY(etx_pool_grow(pool, &weights->files, weights->count,
                        &weights->file_capacity, sizeof(etx_safetensors*)));
  weights->names[weights->count] = name;
  weights->files[weights->count++] = file;
  *out_file = file;
  return ETX_OK;
}

etx_status etx_weight_files_search(etx_weight_files* weights, etx_text name,
                                   etx_diag* diag) {
  etx_safetensors* file = NULL;
  ETX_TRY(open_file(weights, name, &file, diag));
  ETX_TRY(etx_pool_grow(weights->pool, &weights->searched,
                        weights->searched_count, &weights->searched_capacity,
                        sizeof(etx_safetensors*)));
  weights->searched[weights->searched_count++] = file;
  return ETX_OK;
}

// Copies a tensor whose data is not aligned to its element size.
static etx_status align_tensor(etx_pool* pool, etx_ir_constant* tensor) {
  if ((uintptr_t)tensor->data.data % etx_dtype_bytes(tensor->dtype) == 0) {
    return ETX_OK;
  }
  uint8_t* const copy = etx_pool_take(pool, tensor->data.size);
  if (copy == NULL) return ETX_OUT_OF_MEMORY;
  memcpy(copy, tensor->data.data, tensor->data.size);
  tensor->data.data = copy;
  return ETX_OK;
}

etx_status etx_weight_files_find(const etx_weight_files* weights, etx_text name,
                                 etx_ir_constant* out_tensor) {
  for (size_t i = 0; i < weights->searched_count; ++i) {
    if (etx_safetensors_find(weights->searched[i], name, out_tensor)) {
      return align_tensor(weights->pool, out_tensor);
    }
  }
  return ETX_NOT_FOUND;
}

etx_status etx_weight_files_reference(etx_weight_files* weights,
                                      etx_text reference,
                                      etx_ir_constant* out_tensor,
                                      etx_diag* diag) {
  const char* const mark = memchr(reference.data, '#', reference.size);
  if (mark == NULL || mark == reference.data) {
    return etx_diag_fail(diag, ETX_BAD_FILE,
                         "'%t' should be 'file.safetensors#name'", reference);
  }
  const etx_text file_name = {reference.data, (size_t)(mark - reference.data)};
  const etx_text name = {mark + 1, reference.size - file_name.size - 1};
  etx_safetensors* file = NULL;
  ETX_TRY(open_file(weights, file_name, &file, diag));
  if (etx_safetensors_find(file, name, out_tensor)) {
    return align_tensor(weights->pool, out_tensor);
  }
  char hint[96];
  return etx_diag_fail(diag, ETX_NOT_FOUND, "file '%t' has no tensor '%t'%s",
                       file_name, name,
                       etx_safetensors_hint(file, name, hint, sizeof hint));
}

static etx_status read_reference(etx_weight_files* weights,
                                 const etx_yaml* node,
                                 const etx_ir_constant* type,
                                 etx_ir_constant* out_tensor, etx_diag* diag) {
  etx_text reference;
  etx_diag inner;
  etx_diag_init(&inner);
  ETX_TRY(etx_yaml_check_keys(node, "tensor", diag));
  ETX_TRY(etx_yaml_text(node, "tensor", &reference, diag));
  const etx_status status =
      etx_weight_files_reference(weights, reference, out_tensor, &inner);
  if (status != ETX_OK) {
    return etx_diag_fail_line(
        diag, status, node->line, node->column, "%s",
        inner.text_size != 0 ? inner.text : etx_status_text(status));
  }
  if (out_tensor->dtype == type->dtype && out_tensor->rank == type->rank &&
      memcmp(out_tensor->sizes, type->sizes,
             type->rank * sizeof type->sizes[0]) == 0) {
    return ETX_OK;
  }
  return etx_yaml_fail(node, diag, "'%t' is %t, expected %t", reference,
                       etx_import_type_text(weights->pool, out_tensor),
                       etx_import_type_text(weights->pool, type));
}

etx_status etx_weight_files_value(etx_weight_files* weights,
                                  etx_ir_module* module, const etx_yaml* node,
                                  const etx_ir_constant* type,
                                  uint32_t* out_constant, etx_diag* diag) {
  etx_ir_constant constant = {0};
  if (node->kind == ETX_YAML_MAP) {
    ETX_TRY(read_reference(weights, node, type, &constant, diag));
    return etx_ir_add_constant(module, &constant, out_constant);
  }
  etx_yaml_value value;
  etx_diag inner;
  etx_diag_init(&inner);
  ETX_TRY(etx_yaml_expect(node, ETX_YAML_SCALAR, "init", diag));
  ETX_TRY(etx_yaml_scalar(node, &value, diag));
  if (value.type == ETX_YAML_TEXT || value.type == ETX_YAML_NULL) {
    return etx_yaml_fail(node, diag,
                         "an initial value should be a number or {tensor: "
                         "file.safetensors#name}, found '%t'",
                         node->text);
  }
  const etx_status status =
      etx_uniform_make(module->pool, type, &value, &constant, &inner);
  if (status != ETX_OK) {
    return etx_diag_fail_line(
        diag, status, node->line, node->column, "%s",
        inner.text_size != 0 ? inner.text : etx_status_text(status));
  }
  return etx_ir_add_constant(module, &constant, out_constant);
}
