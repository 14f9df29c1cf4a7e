#include "tests/ops/vector_tensor.h"

#include <string.h>

static bool find_dtype(const char* name, etx_dtype* out) {
  static const struct {
    const char* name;
    etx_dtype dtype;
  } names[] = {
      {"BOOL", ETX_DTYPE_BOOL},   {"U8", ETX_DTYPE_UINT8},
      {"I8", ETX_DTYPE_INT8},     {"I16", ETX_DTYPE_INT16},
      {"I32", ETX_DTYPE_INT32},   {"I64", ETX_DTYPE_INT64},
      {"F16", ETX_DTYPE_FLOAT16}, {"BF16", ETX_DTYPE_BFLOAT16},
      {"F32", ETX_DTYPE_FLOAT32}, {"F64", ETX_DTYPE_FLOAT64},
      {"U16", ETX_DTYPE_UINT16},  {"U32", ETX_DTYPE_UINT32},
      {"U64", ETX_DTYPE_UINT64},
  };
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); ++i) {
    if (strcmp(name, names[i].name) == 0) {
      *out = names[i].dtype;
      return true;
    }
  }
  return false;
}

bool vector_file_make_complex(vector_tensor* tensor) {
  if (tensor->rank == 0 || tensor->sizes[tensor->rank - 1] != 2) return false;
  if (tensor->dtype == ETX_DTYPE_FLOAT32) {
    tensor->dtype = ETX_DTYPE_COMPLEX64;
  } else if (tensor->dtype == ETX_DTYPE_FLOAT64) {
    tensor->dtype = ETX_DTYPE_COMPLEX128;
  } else {
    return false;
  }
  --tensor->rank;
  return true;
}

bool vector_file_find(const vector_file* file, const char* name,
                      vector_tensor* out) {
  json_t* entry = json_object_get(file->header, name);
  const char* dtype = json_string_value(json_object_get(entry, "dtype"));
  json_t* shape = json_object_get(entry, "shape");
  json_t* offsets = json_object_get(entry, "data_offsets");
  if (dtype == NULL || !find_dtype(dtype, &out->dtype)) return false;
  out->rank = json_array_size(shape);
  if (out->rank > ETX_MAX_RANK) return false;
  for (size_t i = 0; i < out->rank; ++i) {
    out->sizes[i] = (int32_t)json_integer_value(json_array_get(shape, i));
  }
  const size_t start = (size_t)json_integer_value(json_array_get(offsets, 0));
  const size_t end = (size_t)json_integer_value(json_array_get(offsets, 1));
  if (end < start || file->data_start + end > file->size) return false;
  out->data = file->bytes + file->data_start + start;
  out->size = end - start;
  return true;
}
