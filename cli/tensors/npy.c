// The header is a Python literal; only what NumPy itself writes is accepted:
// the three keys in any order, one level, single or double quotes.

#include "cli/tensors/npy.h"

#include <stdio.h>
#include <string.h>

enum { MAGIC_BYTES = 6, LEAST_BYTES = 10, HEADER_STEP = 64 };
static const char magic[MAGIC_BYTES + 1] = "\x93NUMPY";

typedef struct dtype_code {
  etx_dtype dtype;
  char code[4];
} dtype_code;

static const dtype_code dtype_codes[] = {
    {ETX_DTYPE_UINT8, "|u1"},   {ETX_DTYPE_INT8, "|i1"},
    {ETX_DTYPE_BOOL, "|b1"},    {ETX_DTYPE_INT16, "<i2"},
    {ETX_DTYPE_INT32, "<i4"},   {ETX_DTYPE_INT64, "<i8"},
    {ETX_DTYPE_UINT16, "<u2"},  {ETX_DTYPE_UINT32, "<u4"},
    {ETX_DTYPE_UINT64, "<u8"},  {ETX_DTYPE_FLOAT16, "<f2"},
    {ETX_DTYPE_FLOAT32, "<f4"}, {ETX_DTYPE_FLOAT64, "<f8"},
};

enum { CODE_COUNT = sizeof dtype_codes / sizeof dtype_codes[0] };

// Position in the header text.
typedef struct cursor {
  const char* at;
  const char* end;
} cursor;

static void skip_spaces(cursor* text) {
  while (text->at != text->end && (*text->at == ' ' || *text->at == '\n')) {
    ++text->at;
  }
}

static bool take(cursor* text, char wanted) {
  skip_spaces(text);
  if (text->at == text->end || *text->at != wanted) return false;
  ++text->at;
  return true;
}

static bool take_quoted(cursor* text, etx_text* out) {
  skip_spaces(text);
  if (text->at == text->end) return false;
  const char quote = *text->at;
  if (quote != '\'' && quote != '"') return false;
  const char* const start = ++text->at;
  while (text->at != text->end && *text->at != quote) ++text->at;
  if (text->at == text->end) return false;
  const etx_text word = {start, (size_t)(text->at - start)};
  ++text->at;
  *out = word;
  return true;
}

static bool take_word(cursor* text, const char* word) {
  skip_spaces(text);
  const size_t size = strlen(word);
  if ((size_t)(text->end - text->at) < size) return false;
  if (memcmp(text->at, word, size) != 0) return false;
  text->at += size;
  return true;
}

static bool take_size(cursor* text, int32_t* out) {
  skip_spaces(text);
  int64_t value = 0;
  const char* const start = text->at;
  while (text->at != text->end && *text->at >= '0' && *text->at <= '9') {
    value = 10 * value + (*text->at - '0');
    if (value > INT32_MAX) return false;
    ++text->at;
  }
  *out = (int32_t)value;
  return text->at != start;
}

static bool take_shape(cursor* text, etx_host_tensor* tensor) {
  if (!take(text, '(')) return false;
  while (!take(text, ')')) {
    if (tensor->rank == ETX_MAX_RANK) return false;
    if (!take_size(text, &tensor->sizes[tensor->rank])) return false;
    ++tensor->rank;
    if (take(text, ',')) continue;
    return take(text, ')');
  }
  return true;
}

static bool find_code(etx_text code, etx_dtype* out) {
  for (size_t i = 0; i < CODE_COUNT; ++i) {
    if (etx_text_is(code, dtype_codes[i].code)) {
      *out = dtype_codes[i].dtype;
      return true;
    }
  }
  return false;
}

static etx_status read_entry(cursor* text, etx_host_tensor* tensor,
                             unsigned* keys, etx_diag* diag) {
  etx_text key = {NULL, 0};
  etx_text code = {NULL, 0};
  if (!take_quoted(text, &key) || !take(text, ':')) {
    return etx_diag_fail(diag, ETX_BAD_FILE, "npy header is not a dictionary");
  }
  if (etx_text_is(key, "descr")) {
    *keys |= 1;
    if (take_quoted(text, &code) && find_code(code, &tensor->dtype)) {
      return ETX_OK;
    }
    return etx_diag_fail(diag, ETX_UNSUPPORTED, "npy type '%t' is not read",
                         code);
  }
  if (etx_text_is(key, "fortran_order")) {
    *keys |= 2;
    if (take_word(text, "False")) return ETX_OK;
    return etx_diag_fail(diag, ETX_UNSUPPORTED,
                         "npy file in Fortran order is not read");
  }
  if (etx_text_is(key, "shape")) {
    *keys |= 4;
    if (take_shape(text, tensor)) return ETX_OK;
  }
  return etx_diag_fail(diag, ETX_BAD_FILE, "npy header entry '%t' is wrong",
                       key);
}

static etx_status read_header(cursor text, etx_host_tensor* tensor,
                              etx_diag* diag) {
  unsigned keys = 0;
  bool is_open = take(&text, '{');
  while (is_open && !take(&text, '}')) {
    ETX_TRY(read_entry(&text, tensor, &keys, diag));
    if (take(&text, ',')) continue;
    if (take(&text, '}')) break;
    is_open = false;
  }
  if (is_open && keys == 7) return ETX_OK;
  return etx_diag_fail(diag, ETX_BAD_FILE,
                       "npy header lacks descr, fortran_order or shape");
}

etx_status etx_npy_read(etx_bytes file, etx_pool* pool,
                        etx_host_tensor* out_tensor, etx_diag* diag) {
  if (file.size < LEAST_BYTES || memcmp(file.data, magic, MAGIC_BYTES) != 0) {
    return etx_diag_fail(diag, ETX_BAD_FILE, "not a npy file");
  }
  const bool is_long = file.data[6] >= 2;
  const size_t start = is_long ? 12 : LEAST_BYTES;
  size_t length = (size_t)file.data[8] | (size_t)file.data[9] << 8;
  if (is_long && file.size >= start) {
    length |= (size_t)file.data[10] << 16 | (size_t)file.data[11] << 24;
  }
  if (file.size < start || file.size - start < length) {
    return etx_diag_fail(diag, ETX_BAD_FILE, "npy header is cut off");
  }
  const char* const text = (const char*)file.data + start;
  const cursor header = {text, text + length};
  etx_host_tensor tensor = {.rank = 0};
  ETX_TRY(read_header(header, &tensor, diag));
  ETX_TRY(etx_host_tensor_allocate(&tensor, pool, diag));
  const size_t found = file.size - start - length;
  if (found != tensor.bytes) {
    return etx_diag_fail(diag, ETX_BAD_FILE,
                         "npy data has %z bytes, its shape wants %z", found,
                         tensor.bytes);
  }
  if (found != 0) memcpy(tensor.data, file.data + start + length, found);
  *out_tensor = tensor;
  return ETX_OK;
}

static const char* code_of(etx_dtype dtype) {
  for (size_t i = 0; i < CODE_COUNT; ++i) {
    if (dtype_codes[i].dtype == dtype) return dtype_codes[i].code;
  }
  return NULL;
}

etx_status etx_npy_write(const etx_host_tensor* tensor, const etx_sink* sink,
                         etx_diag* diag) {
  const char* const code = code_of(tensor->dtype);
  if (code == NULL) {
    return etx_diag_fail(diag, ETX_UNSUPPORTED, "npy has no type '%s'",
                         etx_dtype_name(tensor->dtype));
  }
  char text[512];
  int size =
      snprintf(text, sizeof text,
               "{'descr': '%s', 'fortran_order': False, 'shape': (", code);
  for (size_t i = 0; i < tensor->rank; ++i) {
    size += snprintf(text + size, sizeof text - (size_t)size, "%s%d",
                     i == 0 ? "" : ", ", (int)tensor->sizes[i]);
  }
  size += snprintf(text + size, sizeof text - (size_t)size,
                   tensor->rank == 1 ? ",), }" : "), }");
  // Spaces and a newline, so that the data starts at a multiple of 64.
  while ((LEAST_BYTES + size + 1) % HEADER_STEP != 0) text[size++] = ' ';
  text[size++] = '\n';
  uint8_t head[LEAST_BYTES] = {0};
  memcpy(head, magic, MAGIC_BYTES);
  head[6] = 1;
  head[8] = (uint8_t)(size & 255);
  head[9] = (uint8_t)(size >> 8);
  ETX_TRY(etx_sink_write(sink, head, sizeof head));
  ETX_TRY(etx_sink_write(sink, text, (size_t)size));
  return etx_sink_write(sink, tensor->data, tensor->bytes);
}
