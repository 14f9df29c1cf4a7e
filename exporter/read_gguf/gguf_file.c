// A cursor over the bytes: each read checks what is left. Lists are allocated
// only after the bytes that their items take at least are known to be there, so
// a small file cannot ask for much memory.

#include "exporter/read_gguf/gguf_file.h"

#include <stdlib.h>

#include "format/base/checked_math.h"

enum {
  TEXT = 8,  // types of values
  ARRAY = 9,
  TYPE_COUNT = 13,
  MOST_DEPTH = 8,  // of arrays in arrays
  DEFAULT_ALIGNMENT = 32,
  LEAST_PAIR_BYTES = 8 + 4 + 1,
  LEAST_TENSOR_BYTES = 8 + 4 + 4 + 8,
};

// Bytes of a value by its type; 0 for texts and arrays.
static const uint8_t value_bytes[TYPE_COUNT] = {1, 1, 2, 2, 4, 4, 4,
                                                1, 0, 0, 8, 8, 8};

typedef struct gguf_reader {
  etx_gguf_file* file;
  etx_pool* pool;
  etx_diag* diag;
  etx_bytes bytes;
  size_t at;
  uint64_t alignment;
  uint64_t* offsets;  // of the tensors, in the order of the file
} gguf_reader;

static etx_status fail(const gguf_reader* r, const char* what) {
  return etx_diag_fail(r->diag, ETX_BAD_FILE,
                       "'%t': %s at byte %z of %z, so the file is damaged or "
                       "was cut off",
                       r->file->path, what, r->at, r->bytes.size);
}

static size_t bytes_left(const gguf_reader* r) { return r->bytes.size - r->at; }

// Reads a little-endian number of `size` bytes.
static bool read_number(gguf_reader* r, size_t size, uint64_t* out) {
  *out = 0;
  if (size > bytes_left(r)) return false;
  for (size_t i = 0; i < size; ++i) {
    *out |= (uint64_t)r->bytes.data[r->at + i] << 8 * i;
  }
  r->at += size;
  return true;
}

static bool skip_bytes(gguf_reader* r, uint64_t size) {
  if (size > bytes_left(r)) return false;
  r->at += (size_t)size;
  return true;
}

static bool read_text(gguf_reader* r, etx_text* out) {
  uint64_t size = 0;
  if (!read_number(r, 8, &size) || size > bytes_left(r)) return false;
  *out = (etx_text){(const char*)r->bytes.data + r->at, (size_t)size};
  return skip_bytes(r, size);
}

// ---------------------------------------------------------------- pairs

// Arrays are nested at most MOST_DEPTH deep: `left` has for each open array the
// number of its items that follow.
static bool skip_array(gguf_reader* r) {
  uint64_t left[MOST_DEPTH] = {1};
  uint64_t types[MOST_DEPTH] = {ARRAY};
  size_t depth = 1;
  while (depth > 0) {
    uint64_t bytes = 0;
    if (left[depth - 1] == 0) {
      --depth;
      continue;
    }
    const uint64_t type = types[depth - 1];
    if (type == ARRAY) {
      --left[depth - 1];
      if (depth == MOST_DEPTH || !read_number(r, 4, &types[depth]) ||
          !read_number(r, 8, &left[depth]) || types[depth] >= TYPE_COUNT) {
        return false;
      }
      ++depth;
    } else if (type == TEXT) {
      etx_text text;
      --left[depth - 1];
      if (!read_text(r, &text)) return false;
    } else {
      if (!etx_multiply_u64(left[depth - 1], value_bytes[type], &bytes) ||
          !skip_bytes(r, bytes)) {
        return false;
      }
      left[depth - 1] = 0;
    }
  }
  return true;
}

static bool skip_value(gguf_reader* r, uint64_t type) {
  etx_text text;
  if (type >= TYPE_COUNT) return false;
  if (type == ARRAY) return skip_array(r);
  return type == TEXT ? read_text(r, &text) : skip_bytes(r, value_bytes[type]);
}

static int by_key(const void* a, const void* b) {
  return etx_text_compare(((const etx_gguf_pair*)a)->key,
                          ((const etx_gguf_pair*)b)->key);
}

static etx_status read_pairs(gguf_reader* r) {
  etx_gguf_file* const file = r->file;
  file->pairs = etx_pool_take(r->pool, file->pair_count * sizeof *file->pairs);
  if (file->pairs == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < file->pair_count; ++i) {
    etx_gguf_pair* const pair = &file->pairs[i];
    uint64_t type = 0;
    if (!read_text(r, &pair->key) || !read_number(r, 4, &type)) {
      return fail(r, "a key of the metadata does not end");
    }
    const size_t start = r->at;
    if (!skip_value(r, type)) {
      return etx_diag_fail(
          r->diag, ETX_BAD_FILE,
          "'%t': the value of '%t' at byte %z has an unknown type, arrays "
          "nested too deep, or reaches beyond the end of the file",
          file->path, pair->key, start);
    }
    pair->type = (uint32_t)type;
    pair->value = (etx_bytes){r->bytes.data + start, r->at - start};
  }
  if (file->pair_count > 1) {
    qsort(file->pairs, file->pair_count, sizeof *file->pairs, by_key);
  }
  for (size_t i = 1; i < file->pair_count; ++i) {
    if (!etx_text_equal(file->pairs[i - 1].key, file->pairs[i].key)) continue;
    return etx_diag_fail(r->diag, ETX_BAD_FILE,
                         "'%t': the metadata has the key '%t' twice",
                         file->path, file->pairs[i].key);
  }
  return ETX_OK;
}

static const etx_gguf_pair* find_pair(const etx_gguf_file* file, etx_text key) {
  const etx_gguf_pair wanted = {.key = key};
  if (file->pair_count == 0) return NULL;
  return bsearch(&wanted, file->pairs, file->pair_count, sizeof *file->pairs,
                 by_key);
}

bool etx_gguf_text(const etx_gguf_file* file, etx_text key,
                   etx_text* out_text) {
  enum { LENGTH_BYTES = 8 };
  const etx_gguf_pair* const pair = find_pair(file, key);
  if (pair == NULL || pair->type != TEXT) return false;
  *out_text = (etx_text){(const char*)pair->value.data + LENGTH_BYTES,
                         pair->value.size - LENGTH_BYTES};
  return true;
}

bool etx_gguf_number(const etx_gguf_file* file, etx_text key,
                     uint64_t* out_number) {
  // Types of signed and unsigned integers, by their number.
  static const bool is_unsigned[TYPE_COUNT] = {
      [0] = true, [2] = true, [4] = true, [10] = true};
  static const bool is_signed[TYPE_COUNT] = {
      [1] = true, [3] = true, [5] = true, [11] = true};
  const etx_gguf_pair* const pair = find_pair(file, key);
  if (pair == NULL) return false;
  const etx_bytes value = pair->value;
  if (!is_unsigned[pair->type] &&
      (!is_signed[pair->type] || value.data[value.size - 1] > 127)) {
    return false;
  }
  *out_number = 0;
  for (size_t i = 0; i < value.size; ++i) {
    *out_number |= (uint64_t)value.data[i] << 8 * i;
  }
  return true;
}

// ---------------------------------------------------------------- tensors

// Finds the type, and the number of bytes of `elements` with rows of `inner`.
static etx_status measure(const gguf_reader* r, etx_gguf_tensor* tensor,
                          uint64_t number, uint64_t elements, uint64_t inner) {
  uint64_t bytes = 0;
  tensor->type =
      number > UINT32_MAX ? NULL : etx_gguf_type_find((uint32_t)number);
  if (tensor->type == NULL) {
    return etx_diag_fail(r->diag, ETX_UNSUPPORTED,
                         "'%t': tensor '%t' has a type with number %u, which "
                         "etx does not know",
                         r->file->path, tensor->name, number);
  }
  if (tensor->type->expand == NULL) {
    return etx_diag_fail(r->diag, ETX_UNSUPPORTED,
                         "'%t': tensor '%t' has type %s, which etx does not "
                         "read: quantise the model to another type, such as "
                         "q4_K",
                         r->file->path, tensor->name, tensor->type->name);
  }
  if (inner % tensor->type->elements != 0 ||
      !etx_multiply_u64(elements / tensor->type->elements, tensor->type->bytes,
                        &bytes) ||
      bytes > r->bytes.size) {
    return etx_diag_fail(
        r->diag, ETX_BAD_FILE,
        "'%t': tensor '%t' of type %s has %u elements in rows of %u, which are "
        "no whole blocks of %u or more than the file has",
        r->file->path, tensor->name, tensor->type->name, elements, inner,
        (uint64_t)tensor->type->elements);
  }
  tensor->data.size = (size_t)bytes;
  return ETX_OK;
}

static etx_status read_tensor(gguf_reader* r, etx_gguf_tensor* tensor,
                              uint64_t* offset) {
  uint64_t rank = 0, number = 0, elements = 1, inner = 1;
  if (!read_text(r, &tensor->name) || !read_number(r, 4, &rank)) {
    return fail(r, "the list of tensors does not end");
  }
  if (rank > ETX_GGUF_MOST_RANK) {
    return etx_diag_fail(r->diag, ETX_BAD_FILE,
                         "'%t': tensor '%t' has %u dimensions, expected at "
                         "most %u",
                         r->file->path, tensor->name, rank,
                         (uint64_t)ETX_GGUF_MOST_RANK);
  }
  tensor->rank = (uint8_t)rank;
  for (size_t i = 0; i < rank; ++i) {
    uint64_t size = 0;
    if (!read_number(r, 8, &size)) {
      return fail(r, "the list of tensors does not end");
    }
    if (size > INT64_MAX || !etx_multiply_u64(elements, size, &elements)) {
      return etx_diag_fail(r->diag, ETX_BAD_FILE,
                           "'%t': the sizes of tensor '%t' overflow",
                           r->file->path, tensor->name);
    }
    if (i == 0) inner = size;
    tensor->sizes[rank - 1 - i] = (int64_t)size;
  }
  if (!read_number(r, 4, &number) || !read_number(r, 8, offset)) {
    return fail(r, "the list of tensors does not end");
  }
  return measure(r, tensor, number, elements, inner);
}

static int by_name(const void* a, const void* b) {
  return etx_text_compare(((const etx_gguf_tensor*)a)->name,
                          ((const etx_gguf_tensor*)b)->name);
}

// By first byte; of those that start together, empty ones come first.
static int by_place(const void* a, const void* b) {
  const etx_gguf_tensor* const x = a;
  const etx_gguf_tensor* const y = b;
  if (x->data.data != y->data.data) return x->data.data < y->data.data ? -1 : 1;
  if (x->data.size != y->data.size) return x->data.size < y->data.size ? -1 : 1;
  return by_name(a, b);
}

// Points the tensors at their bytes, after the list of tensors was read.
static etx_status place_tensors(gguf_reader* r) {
  etx_gguf_file* const file = r->file;
  uint64_t start = 0;
  if (!etx_align_up_u64(r->at, r->alignment, &start)) {
    return fail(r, "the data has no place");
  }
  for (size_t i = 0; i < file->tensor_count; ++i) {
    etx_gguf_tensor* const tensor = &file->tensors[i];
    uint64_t first = 0;
    if (r->offsets[i] % r->alignment != 0 ||
        !etx_add_u64(start, r->offsets[i], &first) ||
        (tensor->data.size != 0 &&
         !etx_fits_within(first, tensor->data.size, r->bytes.size))) {
      return etx_diag_fail(
          r->diag, ETX_BAD_FILE,
          "'%t': tensor '%t' needs %z bytes from %u on, a multiple of %u, of "
          "data from byte %u of %z on: the file is damaged or was cut off",
          file->path, tensor->name, tensor->data.size, r->offsets[i],
          r->alignment, start, r->bytes.size);
    }
    tensor->data.data =
        tensor->data.size == 0 ? NULL : r->bytes.data + (size_t)first;
  }
  return ETX_OK;
}

// Sorts the tensors by their names, of which no two are equal.
static etx_status sort_tensors(const etx_gguf_file* file, etx_diag* diag) {
  etx_gguf_tensor* const tensors = file->tensors;
  if (file->tensor_count < 2) return ETX_OK;
  qsort(tensors, file->tensor_count, sizeof *tensors, by_name);
  for (size_t i = 1; i < file->tensor_count; ++i) {
    if (!etx_text_equal(tensors[i - 1].name, tensors[i].name)) continue;
    return etx_diag_fail(diag, ETX_BAD_FILE, "'%t': two tensors are named '%t'",
                         file->path, tensors[i].name);
  }
  return ETX_OK;
}

static etx_status check_tensors(const gguf_reader* r) {
  const etx_gguf_file* const file = r->file;
  etx_gguf_tensor* const tensors = file->tensors;
  if (file->tensor_count < 2) return ETX_OK;
  qsort(tensors, file->tensor_count, sizeof *tensors, by_place);
  for (size_t i = 1; i < file->tensor_count; ++i) {
    const etx_bytes before = tensors[i - 1].data;
    if (before.size == 0 || before.data + before.size <= tensors[i].data.data) {
      continue;
    }
    return etx_diag_fail(r->diag, ETX_BAD_FILE,
                         "'%t': the bytes of tensors '%t' and '%t' overlap",
                         file->path, tensors[i - 1].name, tensors[i].name);
  }
  return sort_tensors(file, r->diag);
}

etx_status etx_gguf_add(etx_gguf_file* file, etx_pool* pool,
                        const etx_gguf_file* more, etx_diag* diag) {
  const size_t count = file->tensor_count + more->tensor_count;
  etx_gguf_tensor* const all = etx_pool_take(pool, count * sizeof *all);
  if (all == NULL) return ETX_OUT_OF_MEMORY;
  memcpy(all, file->tensors, file->tensor_count * sizeof *all);
  memcpy(all + file->tensor_count, more->tensors,
         more->tensor_count * sizeof *all);
  file->tensors = all;
  file->tensor_count = count;
  return sort_tensors(file, diag);
}

static etx_status read_tensors(gguf_reader* r) {
  etx_gguf_file* const file = r->file;
  const size_t count = file->tensor_count;
  file->tensors = etx_pool_take(r->pool, count * sizeof *file->tensors);
  r->offsets = etx_pool_take(r->pool, count * sizeof *r->offsets);
  if (file->tensors == NULL || r->offsets == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < count; ++i) {
    ETX_TRY(read_tensor(r, &file->tensors[i], &r->offsets[i]));
  }
  ETX_TRY(place_tensors(r));
  return check_tensors(r);
}

const etx_gguf_tensor* etx_gguf_find(const etx_gguf_file* file, etx_text name) {
  const etx_gguf_tensor wanted = {.name = name};
  if (file->tensor_count == 0) return NULL;
  return bsearch(&wanted, file->tensors, file->tensor_count,
                 sizeof *file->tensors, by_name);
}

// ---------------------------------------------------------------- header

static etx_status check_version(const gguf_reader* r, uint64_t version) {
  if (version == 2 || version == 3) return ETX_OK;
  if ((version & 0xFFFF) == 0) {
    return etx_diag_fail(r->diag, ETX_UNSUPPORTED,
                         "'%t' is a big-endian GGUF file: convert it to "
                         "little-endian",
                         r->file->path);
  }
  return etx_diag_fail(r->diag, ETX_UNSUPPORTED,
                       "'%t' is a GGUF file of version %u, expected 2 or 3",
                       r->file->path, version);
}

static etx_status read_header(gguf_reader* r) {
  uint64_t version = 0, tensors = 0, pairs = 0;
  if (r->bytes.size < 4 || memcmp(r->bytes.data, "GGUF", 4) != 0) {
    return etx_diag_fail(r->diag, ETX_BAD_FILE,
                         "'%t' is not a GGUF file, which begins with 'GGUF'",
                         r->file->path);
  }
  r->at = 4;
  if (!read_number(r, 4, &version)) return fail(r, "the header does not end");
  ETX_TRY(check_version(r, version));
  if (!read_number(r, 8, &tensors) || !read_number(r, 8, &pairs)) {
    return fail(r, "the header does not end");
  }
  if (tensors > bytes_left(r) / LEAST_TENSOR_BYTES ||
      pairs > bytes_left(r) / LEAST_PAIR_BYTES) {
    return etx_diag_fail(r->diag, ETX_BAD_FILE,
                         "'%t' states %u tensors and %u keys, more than its %z "
                         "bytes can have",
                         r->file->path, tensors, pairs, r->bytes.size);
  }
  r->file->tensor_count = (size_t)tensors;
  r->file->pair_count = (size_t)pairs;
  return ETX_OK;
}

static etx_status read_alignment(gguf_reader* r) {
  const etx_text key = etx_text_of("general.alignment");
  r->alignment = DEFAULT_ALIGNMENT;
  if (find_pair(r->file, key) == NULL) return ETX_OK;
  if (etx_gguf_number(r->file, key, &r->alignment) &&
      etx_is_power_of_two(r->alignment)) {
    return ETX_OK;
  }
  return etx_diag_fail(r->diag, ETX_BAD_FILE,
                       "'%t': general.alignment should be a power of two",
                       r->file->path);
}

etx_status etx_gguf_open(etx_gguf_file* file, etx_pool* pool, etx_text path,
                         etx_bytes bytes, etx_diag* diag) {
  gguf_reader r = {.file = file, .pool = pool, .diag = diag, .bytes = bytes};
  memset(file, 0, sizeof *file);
  file->path = path;
  ETX_TRY(read_header(&r));
  ETX_TRY(read_pairs(&r));
  ETX_TRY(read_alignment(&r));
  return read_tensors(&r);
}
