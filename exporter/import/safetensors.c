// Reader and writer of safetensors files.

#include "exporter/import/safetensors.h"

#include <stdlib.h>

#include "exporter/host/nearest_name.h"
#include "exporter/host/text_buffer.h"
#include "format/base/checked_math.h"

typedef struct dtype_name {
  const char* name;
  etx_dtype dtype;
} dtype_name;

static const dtype_name dtype_names[] = {
    {"F64", ETX_DTYPE_FLOAT64},         {"F32", ETX_DTYPE_FLOAT32},
    {"F16", ETX_DTYPE_FLOAT16},         {"BF16", ETX_DTYPE_BFLOAT16},
    {"I64", ETX_DTYPE_INT64},           {"I32", ETX_DTYPE_INT32},
    {"I16", ETX_DTYPE_INT16},           {"I8", ETX_DTYPE_INT8},
    {"U64", ETX_DTYPE_UINT64},          {"U32", ETX_DTYPE_UINT32},
    {"U16", ETX_DTYPE_UINT16},          {"U8", ETX_DTYPE_UINT8},
    {"BOOL", ETX_DTYPE_BOOL},           {"F8_E4M3", ETX_DTYPE_FLOAT8_E4M3FN},
    {"F8_E5M2", ETX_DTYPE_FLOAT8_E5M2}, {"C64", ETX_DTYPE_COMPLEX64},
};

enum { DTYPE_COUNT = sizeof dtype_names / sizeof dtype_names[0] };

static bool find_dtype(etx_text name, etx_dtype* out) {
  for (size_t i = 0; i < DTYPE_COUNT; ++i) {
    if (!etx_text_is(name, dtype_names[i].name)) continue;
    *out = dtype_names[i].dtype;
    return true;
  }
  return false;
}

static const char* name_of(etx_dtype dtype) {
  for (size_t i = 0; i < DTYPE_COUNT; ++i) {
    if (dtype_names[i].dtype == dtype) return dtype_names[i].name;
  }
  return NULL;
}

// ---------------------------------------------------------------- reading

static bool read_size(const etx_json* array, size_t index, int64_t* out) {
  if (array->items[index].kind != ETX_JSON_INT ||
      array->items[index].integer < 0) {
    return false;
  }
  *out = array->items[index].integer;
  return true;
}

// The tensor of a header entry; false if the entry is malformed.
static bool read_entry(const etx_safetensors* file, const etx_json* entry,
                       etx_ir_constant* out) {
  const etx_json* const dtype = etx_json_member(entry, "dtype");
  const etx_json* const shape = etx_json_member(entry, "shape");
  const etx_json* const offsets = etx_json_member(entry, "data_offsets");
  if (dtype == NULL || dtype->kind != ETX_JSON_STRING || shape == NULL ||
      shape->kind != ETX_JSON_ARRAY || shape->count > ETX_MAX_RANK ||
      offsets == NULL || offsets->kind != ETX_JSON_ARRAY ||
      offsets->count != 2) {
    return false;
  }
  etx_ir_constant tensor = {0};
  int64_t begin = 0, end = 0;
  if (!find_dtype(dtype->string, &tensor.dtype) ||
      !read_size(offsets, 0, &begin) || !read_size(offsets, 1, &end)) {
    return false;
  }
  uint64_t bytes = etx_dtype_bytes(tensor.dtype);
  tensor.rank = (uint8_t)shape->count;
  for (size_t i = 0; i < shape->count; ++i) {
    if (!read_size(shape, i, &tensor.sizes[i]) ||
        !etx_multiply_u64(bytes, (uint64_t)tensor.sizes[i], &bytes)) {
      return false;
    }
  }
  if (begin > end || (uint64_t)end > file->data.size ||
      (uint64_t)(end - begin) != bytes) {
    return false;
  }
  tensor.data.data = bytes == 0 ? NULL : file->data.data + begin;
  tensor.data.size = (size_t)bytes;
  *out = tensor;
  return true;
}

static etx_status fail_entry(etx_text path, etx_text name,
                             const etx_json* entry, etx_diag* diag) {
  const etx_json* const type = etx_json_member(entry, "dtype");
  etx_dtype unused;
  if (type != NULL && type->kind == ETX_JSON_STRING &&
      !find_dtype(type->string, &unused)) {
    return etx_diag_fail(
        diag, ETX_UNSUPPORTED,
        "'%t': tensor '%t' has dtype '%t', which is not supported", path, name,
        type->string);
  }
  return etx_diag_fail(
      diag, ETX_BAD_FILE,
      "'%t': the entry of tensor '%t' is malformed or reaches outside the file",
      path, name);
}

static bool is_metadata(etx_text name) {
  return etx_text_is(name, "__metadata__");
}

// Elements are read in place, so the data must be aligned. Files of other
// writers may not be: their data is copied.
static etx_status align_data(etx_safetensors* file, etx_pool* pool) {
  if ((uintptr_t)file->data.data % 16 == 0) return ETX_OK;
  uint8_t* const copy = etx_pool_take(pool, file->data.size);
  if (copy == NULL) return ETX_OUT_OF_MEMORY;
  if (file->data.size != 0) memcpy(copy, file->data.data, file->data.size);
  file->data.data = copy;
  return ETX_OK;
}

etx_status etx_safetensors_open(etx_safetensors* file, etx_pool* pool,
                                etx_text path, etx_bytes bytes,
                                etx_diag* diag) {
  uint64_t size = 0;
  for (size_t i = 0; i < 8 && i < bytes.size; ++i) {
    size |= (uint64_t)bytes.data[i] << 8 * i;
  }
  if (bytes.size < 8 || size > bytes.size - 8) {
    return etx_diag_fail(diag, ETX_BAD_FILE,
                         "'%t' is not a safetensors file: it states a header "
                         "of %u bytes, but has %z bytes",
                         path, size, bytes.size);
  }
  etx_json* const header = etx_pool_take(pool, sizeof *header);
  if (header == NULL) return ETX_OUT_OF_MEMORY;
  etx_diag inner;
  etx_diag_init(&inner);
  const etx_text text = {(const char*)bytes.data + 8, (size_t)size};
  const etx_status status = etx_json_read(pool, text, header, &inner);
  if (status != ETX_OK) {
    return etx_diag_fail(diag, status, "'%t': the header%s %s", path,
                         status == ETX_OUT_OF_MEMORY ? ":" : " is", inner.text);
  }
  if (header->kind != ETX_JSON_OBJECT) {
    return etx_diag_fail(diag, ETX_BAD_FILE,
                         "'%t': the header should be a JSON object", path);
  }
  file->path = path;
  file->header = header;
  file->data.data = bytes.data + 8 + size;
  file->data.size = bytes.size - 8 - (size_t)size;
  ETX_TRY(align_data(file, pool));
  for (size_t i = 0; i < header->count; ++i) {
    etx_ir_constant unused;
    if (is_metadata(header->keys[i]) ||
        read_entry(file, &header->items[i], &unused)) {
      continue;
    }
    return fail_entry(path, header->keys[i], &header->items[i], diag);
  }
  return ETX_OK;
}

bool etx_safetensors_find(const etx_safetensors* file, etx_text name,
                          etx_ir_constant* out_tensor) {
  if (is_metadata(name)) return false;
  const etx_json* const entry = etx_json_find(file->header, name);
  return entry != NULL && read_entry(file, entry, out_tensor);
}

const char* etx_safetensors_hint(const etx_safetensors* file, etx_text name,
                                 char* out, size_t capacity) {
  etx_nearest_name nearest = etx_nearest_start(name);
  for (size_t i = 0; i < file->header->count; ++i) {
    if (is_metadata(file->header->keys[i])) continue;
    etx_nearest_offer(&nearest, file->header->keys[i]);
  }
  return etx_nearest_hint(&nearest, out, capacity);
}

// ---------------------------------------------------------------- writing

// A JSON string; control characters, quotes and backslashes are escaped.
static void put_quoted(etx_text_buffer* buffer, etx_text text) {
  static const char hex[] = "0123456789abcdef";
  etx_text_put_string(buffer, "\"");
  for (size_t i = 0; i < text.size; ++i) {
    const unsigned char c = (unsigned char)text.data[i];
    if (c == '"' || c == '\\') {
      const char pair[2] = {'\\', (char)c};
      etx_text_put(buffer, pair, 2);
    } else if (c < 0x20) {
      const char escape[6] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};
      etx_text_put(buffer, escape, 6);
    } else {
      etx_text_put(buffer, &text.data[i], 1);
    }
  }
  etx_text_put_string(buffer, "\"");
}

static int by_width_and_name(const void* a, const void* b) {
  const etx_named_tensor* const x = a;
  const etx_named_tensor* const y = b;
  const size_t wide_x = etx_dtype_bytes(x->tensor->dtype);
  const size_t wide_y = etx_dtype_bytes(y->tensor->dtype);
  if (wide_x != wide_y) return wide_x > wide_y ? -1 : 1;
  return etx_text_compare(x->name, y->name);
}

static void put_entry(etx_text_buffer* buffer, const etx_named_tensor* named,
                      uint64_t begin) {
  const etx_ir_constant* const tensor = named->tensor;
  put_quoted(buffer, named->name);
  etx_text_put_string(buffer, ":{\"dtype\":\"");
  etx_text_put_string(buffer, name_of(tensor->dtype));
  etx_text_put_string(buffer, "\",\"shape\":[");
  for (size_t i = 0; i < tensor->rank; ++i) {
    if (i != 0) etx_text_put_string(buffer, ",");
    etx_text_put_format(buffer, "%i", tensor->sizes[i]);
  }
  etx_text_put_string(buffer, "],\"data_offsets\":[");
  etx_text_put_format(buffer, "%u", begin);
  etx_text_put_string(buffer, ",");
  etx_text_put_format(buffer, "%u", begin + tensor->data.size);
  etx_text_put_string(buffer, "]}");
}

etx_status etx_safetensors_write(etx_pool* pool, etx_named_tensor* tensors,
                                 size_t count, const etx_sink* sink) {
  etx_text_buffer buffer;
  etx_text_buffer_init(&buffer, pool);
  if (count > 1) qsort(tensors, count, sizeof *tensors, by_width_and_name);
  etx_text_put_string(&buffer, "{");
  uint64_t offset = 0;
  for (size_t i = 0; i < count; ++i) {
    if (name_of(tensors[i].tensor->dtype) == NULL) return ETX_UNSUPPORTED;
    if (i != 0) etx_text_put_string(&buffer, ",");
    put_entry(&buffer, &tensors[i], offset);
    offset += tensors[i].tensor->data.size;
  }
  etx_text_put_string(&buffer, "}");
  while (buffer.status == ETX_OK && (buffer.size + 8) % 64 != 0) {
    etx_text_put_string(&buffer, " ");
  }
  ETX_TRY(buffer.status);
  uint8_t size[8];
  for (size_t i = 0; i < 8; ++i) size[i] = (uint8_t)(buffer.size >> 8 * i);
  ETX_TRY(etx_sink_write(sink, size, sizeof size));
  ETX_TRY(etx_sink_write(sink, buffer.data, buffer.size));
  for (size_t i = 0; i < count; ++i) {
    const etx_bytes data = tensors[i].tensor->data;
    ETX_TRY(etx_sink_write(sink, data.data, data.size));
  }
  return ETX_OK;
}
