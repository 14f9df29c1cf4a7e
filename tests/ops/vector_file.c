#include "tests/ops/vector_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/ops/vector_forms.h"

static unsigned char* read_all(const char* path, size_t* out_size) {
  FILE* stream = fopen(path, "rb");
  if (stream == NULL) return NULL;
  fseek(stream, 0, SEEK_END);
  const long size = ftell(stream);
  rewind(stream);
  unsigned char* bytes = malloc((size_t)size + 1);
  const size_t got = fread(bytes, 1, (size_t)size, stream);
  fclose(stream);
  bytes[got] = 0;
  *out_size = got;
  return bytes;
}

static json_t* read_lines(const char* path) {
  size_t size;
  unsigned char* text = read_all(path, &size);
  if (text == NULL) return NULL;
  json_t* cases = json_array();
  const char* line = (const char*)text;
  while (*line != '\0') {
    const char* end = strchr(line, '\n');
    const size_t length = end == NULL ? strlen(line) : (size_t)(end - line);
    json_error_t error;
    json_t* one = json_loadb(line, length, JSON_DECODE_ANY, &error);
    if (one == NULL) {
      fprintf(stderr, "%s: %s\n", path, error.text);
    } else {
      json_array_append_new(cases, one);
    }
    line += length + (end == NULL ? 0 : 1);
  }
  free(text);
  return cases;
}

bool vector_file_open(vector_file* file, const char* base) {
  char path[4096];
  memset(file, 0, sizeof(*file));
  snprintf(path, sizeof(path), "%s.jsonl", base);
  file->cases = read_lines(path);
  snprintf(path, sizeof(path), "%s.safetensors", base);
  file->bytes = read_all(path, &file->size);
  if (file->cases == NULL || file->bytes == NULL || file->size < 8) {
    fprintf(stderr, "%s: cannot be read\n", base);
    vector_file_close(file);
    return false;
  }
  uint64_t header = 0;
  for (size_t i = 8; i-- > 0;) header = header << 8 | file->bytes[i];
  file->data_start = 8 + (size_t)header;
  if (file->data_start <= file->size) {
    file->header =
        json_loadb((const char*)file->bytes + 8, (size_t)header, 0, NULL);
  }
  if (file->header != NULL) {
    size_t i;
    json_t* one;
    json_array_foreach(file->cases, i, one) vector_forms_apply(file, one);
    return true;
  }
  fprintf(stderr, "%s: the header is damaged\n", path);
  vector_file_close(file);
  return false;
}

void vector_file_close(vector_file* file) {
  json_decref(file->cases);
  json_decref(file->header);
  free(file->bytes);
  memset(file, 0, sizeof(*file));
}

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
