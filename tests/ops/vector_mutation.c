#include "tests/ops/vector_mutation.h"

#include <math.h>
#include <string.h>

#include "format/tensor/layout.h"

// The largest number of elements of a new tensor.
enum { MOST_ELEMENTS = 1 << 13 };

static bool chance(hostile_random* random, size_t percent) {
  return hostile_chance(random, percent);
}

static size_t below(hostile_random* random, size_t bound) {
  return hostile_below(random, bound);
}

static int64_t draw_integer(hostile_random* random, int64_t before) {
  static const int64_t rare[] = {INT64_MIN, INT64_MIN + 1, INT32_MIN,
                                 -4097,     -17,           17,
                                 4096,      INT32_MAX,     1LL << 32,
                                 65536,     INT64_MAX - 1, INT64_MAX,
                                 1LL << 62, -(1LL << 62),  -(1LL << 31) - 1};
  if (chance(random, 35)) return rare[below(random, sizeof rare / 8)];
  if (chance(random, 50)) return (int64_t)below(random, 9) - 4;
  // Wraps for the rare ones that were drawn before.
  return (int64_t)((uint64_t)before + below(random, 5) - 2);
}

static double draw_real(hostile_random* random) {
  static const double rare[] = {0.0,  -0.0,     1e300,  -1e300,   1e-320, 1e-9,
                                -5.5, NAN,      3e38,   1.0,      0.5,    -1.0,
                                1e18, INFINITY, 9.3e18, -INFINITY};
  return rare[below(random, sizeof rare / sizeof *rare)];
}

// ---- elements ----

static void put_element(hostile_random* random, etx_dtype dtype, uint8_t* out) {
  const size_t size = etx_dtype_bytes(dtype);
  const double wide = draw_real(random);
  const float real = (float)wide;
  const int64_t integer = draw_integer(random, 0);
  memset(out, 0, size);
  switch (dtype) {
    case ETX_DTYPE_FLOAT32:
    case ETX_DTYPE_COMPLEX64:
      memcpy(out, &real, 4);
      break;
    case ETX_DTYPE_FLOAT64:
    case ETX_DTYPE_COMPLEX128:
      memcpy(out, &wide, 8);
      break;
    default:
      memcpy(out, &integer, size < 8 ? size : 8);
  }
}

// Changes some elements of a dense tensor.
static void change_elements(hostile_random* random, etx_tensor* tensor,
                            size_t percent) {
  const size_t size = etx_dtype_bytes(tensor->dtype);
  const size_t count = etx_tensor_numel(tensor);
  uint8_t* data = tensor->data;
  for (size_t i = 0; i < count; ++i) {
    if (chance(random, percent)) {
      put_element(random, tensor->dtype, data + i * size);
    }
  }
}

// ---- tensors ----

typedef struct tensor_form {
  etx_dtype dtype;
  const int32_t* sizes;
  size_t rank;
  const uint8_t* order;  // of dimensions in memory; NULL: contiguous
} tensor_form;

static tensor_form form_of(const etx_tensor* tensor) {
  return (tensor_form){tensor->dtype, tensor->sizes, tensor->rank, NULL};
}

// Makes a new tensor in memory of exactly its size. It repeats the bytes of the
// old one, so the elements are typical if the dtype is the same.
static void replace(vector_call* c, hostile_random* random, etx_value* value,
                    const tensor_form* form) {
  const etx_tensor old = value->as.tensor;
  const bool was_dense = etx_tensor_is_contiguous(&old);
  size_t numel = 0;
  if (!etx_layout_numel(form->sizes, form->rank, &numel) ||
      numel > MOST_ELEMENTS) {
    return;
  }
  vector_tensor_make(c, value, form->dtype, form->sizes, form->rank,
                     form->order);
  const size_t bytes = etx_tensor_bytes(&value->as.tensor);
  const size_t had = was_dense ? etx_tensor_bytes(&old) : 0;
  uint8_t* data = value->as.tensor.data;
  for (size_t i = 0; i < bytes; ++i) {
    data[i] = had > 0 ? ((const uint8_t*)old.data)[i % had] : 1;
  }
  if (old.dtype != form->dtype && chance(random, 60)) {
    change_elements(random, &value->as.tensor, 100);
  }
}

static void change_sizes(vector_call* c, hostile_random* random,
                         etx_value* value) {
  static const int32_t rare[] = {0, 1, 2, 7, 16, 17, 33, 64, 65, 130};
  const etx_tensor* tensor = &value->as.tensor;
  int32_t sizes[ETX_MAX_RANK];
  size_t rank = tensor->rank;
  if (rank > 0) memcpy(sizes, tensor->sizes, rank * sizeof *sizes);
  if (rank > 0 && chance(random, 20)) {
    --rank;
  } else if (rank < ETX_MAX_RANK && (rank == 0 || chance(random, 20))) {
    sizes[rank++] = rare[below(random, 4)];
  } else if (chance(random, 40)) {
    sizes[below(random, rank)] = rare[below(random, 10)];
  } else {
    int32_t* size = &sizes[below(random, rank)];
    *size += chance(random, 50) || *size == 0 ? 1 : -1;
  }
  const tensor_form form = {tensor->dtype, sizes, rank, NULL};
  replace(c, random, value, &form);
}

static void draw_order(hostile_random* random, uint8_t* order, size_t rank) {
  for (size_t i = 0; i < ETX_MAX_RANK; ++i) order[i] = (uint8_t)i;
  for (size_t i = rank; i > 1; --i) {
    const size_t j = below(random, i);
    const uint8_t kept = order[i - 1];
    order[i - 1] = order[j];
    order[j] = kept;
  }
}

static etx_dtype draw_dtype(hostile_random* random) {
  return (etx_dtype)below(random, ETX_DTYPE_COUNT);
}

static void change_tensor(vector_call* c, hostile_random* random,
                          etx_value* value) {
  const etx_tensor* tensor = &value->as.tensor;
  tensor_form form = form_of(tensor);
  uint8_t order[ETX_MAX_RANK];
  switch (below(random, 5)) {
    case 0:
    case 1:
      change_sizes(c, random, value);
      return;
    case 2:
      form.dtype = draw_dtype(random);
      replace(c, random, value, &form);
      return;
    case 3:
      draw_order(random, order, tensor->rank);
      form.order = order;
      replace(c, random, value, &form);
      return;
    default:
      if (etx_tensor_is_contiguous(tensor)) {
        change_elements(random, &value->as.tensor, chance(random, 50) ? 4 : 60);
      }
  }
}

static void new_tensor(vector_call* c, hostile_random* random,
                       etx_value* value) {
  int32_t sizes[3];
  for (size_t i = 0; i < 3; ++i) sizes[i] = (int32_t)below(random, 5);
  vector_tensor_make(c, value, draw_dtype(random), sizes, below(random, 4),
                     NULL);
  change_elements(random, &value->as.tensor, 100);
}

// ---- lists ----

// Copies a list of pointers and removes, adds or replaces the item at `at`.
static const etx_value** changed_list(vector_call* c, hostile_random* random,
                                      const etx_value* const* items,
                                      size_t* count, size_t* at) {
  const size_t had = *count;
  const etx_value** list =
      vector_call_take(c, (had + 1) * sizeof(const etx_value*));
  if (had > 0) memcpy((void*)list, (const void*)items, had * sizeof *list);
  *at = had > 0 ? below(random, had) : 0;
  if (had > 0 && chance(random, 20)) {
    list[*at] = list[--*count];
    *at = SIZE_MAX;
  } else if (had == 0 || chance(random, 20)) {
    *at = (*count)++;
  }
  return list;
}

static void change_integers(vector_call* c, hostile_random* random,
                            etx_value* value) {
  size_t at, count = value->as.integers.count;
  const etx_value** list =
      changed_list(c, random, value->as.integers.items, &count, &at);
  if (at != SIZE_MAX) {
    etx_value* item = vector_call_take(c, sizeof *item);
    const int64_t before =
        at < value->as.integers.count ? list[at]->as.integer : 0;
    item->kind = ETX_VALUE_INT;
    item->as.integer = draw_integer(random, before);
    list[at] = item;
  }
  value->as.integers.items = list;
  value->as.integers.count = count;
}

static void change_tensors(vector_call* c, hostile_random* random,
                           etx_value* value, bool may_lack) {
  size_t at, count = value->as.tensors.count;
  const etx_value** list =
      changed_list(c, random, value->as.tensors.items, &count, &at);
  if (at != SIZE_MAX) {
    etx_value* item = vector_call_take(c, sizeof *item);
    const etx_value* before = at < value->as.tensors.count ? list[at] : NULL;
    if (before == NULL) {
      new_tensor(c, random, item);
    } else {
      *item = *before;
      change_tensor(c, random, item);
    }
    list[at] = may_lack && chance(random, 20) ? NULL : item;
  }
  value->as.tensors.items = list;
  value->as.tensors.count = count;
}

static void change_reals(vector_call* c, hostile_random* random,
                         etx_value* value) {
  const size_t count = below(random, value->as.reals.count + 2);
  double* items = vector_call_take(c, count * sizeof *items);
  for (size_t i = 0; i < count; ++i) items[i] = draw_real(random);
  value->as.reals.items = items;
  value->as.reals.count = count;
}

static void change_booleans(vector_call* c, hostile_random* random,
                            etx_value* value) {
  const size_t count = below(random, value->as.booleans.count + 2);
  uint8_t* items = vector_call_take(c, count);
  for (size_t i = 0; i < count; ++i) items[i] = chance(random, 50);
  value->as.booleans.items = items;
  value->as.booleans.count = count;
}

// ---- arguments ----

static void change_number(hostile_random* random, etx_value* value) {
  switch (below(random, 3)) {
    case 0:
      value->kind = ETX_VALUE_INT;
      value->as.integer = draw_integer(random, 1);
      return;
    case 1:
      value->kind = ETX_VALUE_BOOL;
      value->as.boolean = chance(random, 50);
      return;
    default:
      value->kind = ETX_VALUE_DOUBLE;
      value->as.real = draw_real(random);
  }
}

// Replaces None by a value of the type of the schema.
static void fill_none(vector_call* c, hostile_random* random, etx_value* value,
                      etx_argument_type type) {
  if (type == ETX_ARGUMENT_TENSOR) new_tensor(c, random, value);
  if (type == ETX_ARGUMENT_SCALAR || type == ETX_ARGUMENT_FLOAT) {
    change_number(random, value);
  }
  if (type == ETX_ARGUMENT_INT || type == ETX_ARGUMENT_SCALAR_TYPE) {
    value->kind = ETX_VALUE_INT;
    value->as.integer = draw_integer(random, 1);
  }
  if (type == ETX_ARGUMENT_INTS) {
    memset(value, 0, sizeof *value);
    value->kind = ETX_VALUE_INTS;
    change_integers(c, random, value);
  }
}

static void change_text(hostile_random* random, etx_value* value) {
  static const char* const texts[] = {"none", "tanh", "floor", "trunc", "",
                                      "sum",  "mean", "amax",  "prod"};
  value->as.string = etx_text_of(texts[below(random, 9)]);
}

static void change_value(vector_call* c, hostile_random* random,
                         etx_value* value, const etx_argument* argument) {
  const etx_argument_type type = argument->type;
  if (value->kind == ETX_VALUE_NONE) {
    fill_none(c, random, value, type);
  } else if (argument->optional && chance(random, 30)) {
    value->kind = ETX_VALUE_NONE;
  } else if (type == ETX_ARGUMENT_SCALAR || type == ETX_ARGUMENT_FLOAT) {
    change_number(random, value);
  } else if (value->kind == ETX_VALUE_INT) {
    value->as.integer = draw_integer(random, value->as.integer);
  } else if (value->kind == ETX_VALUE_BOOL) {
    value->as.boolean = !value->as.boolean;
  } else if (value->kind == ETX_VALUE_TENSOR) {
    change_tensor(c, random, value);
  } else if (value->kind == ETX_VALUE_INTS) {
    change_integers(c, random, value);
  } else if (value->kind == ETX_VALUE_TENSORS) {
    change_tensors(c, random, value, type == ETX_ARGUMENT_OPTIONAL_TENSORS);
  } else if (value->kind == ETX_VALUE_DOUBLES) {
    change_reals(c, random, value);
  } else if (value->kind == ETX_VALUE_BOOLS) {
    change_booleans(c, random, value);
  } else if (value->kind == ETX_VALUE_STRING) {
    change_text(random, value);
  }
}

// The pointers of a list, repeated `times` times.
static const etx_value** repeated(vector_call* c, const etx_value* const* items,
                                  size_t count, size_t times) {
  const etx_value** list =
      vector_call_take(c, times * count * sizeof(const etx_value*));
  for (size_t i = 0; i < times * count; ++i) list[i] = items[i % count];
  return list;
}

static void repeat_list(vector_call* c, etx_value* value, size_t count,
                        size_t times) {
  if (value->kind == ETX_VALUE_TENSORS && value->as.tensors.count == count) {
    value->as.tensors.items =
        repeated(c, value->as.tensors.items, count, times);
    value->as.tensors.count *= times;
  }
  if (value->kind == ETX_VALUE_INTS && value->as.integers.count == count) {
    value->as.integers.items =
        repeated(c, value->as.integers.items, count, times);
    value->as.integers.count *= times;
  }
  if (value->kind == ETX_VALUE_DOUBLES && value->as.reals.count == count) {
    double* items = vector_call_take(c, times * count * sizeof *items);
    for (size_t i = 0; i < times * count; ++i) {
      items[i] = value->as.reals.items[i % count];
    }
    value->as.reals.items = items;
    value->as.reals.count *= times;
  }
}

// Repeats the list of tensors, and other lists of the same length with it.
static void repeat_lists(vector_call* c, hostile_random* random) {
  const size_t times = 2 + below(random, 24);
  size_t count = 0;
  for (size_t i = 0; i < c->count && count == 0; ++i) {
    if (c->values[i].kind != ETX_VALUE_TENSORS || c->is_written[i]) continue;
    count = c->values[i].as.tensors.count;
  }
  for (size_t i = 0; i < c->count && count > 0; ++i) {
    if (!c->is_written[i]) repeat_list(c, &c->values[i], count, times);
  }
}

void vector_mutation_arguments(vector_call* c, hostile_random* random) {
  if (chance(random, 4)) {
    repeat_lists(c, random);
    if (chance(random, 50)) return;
  }
  const size_t percent = chance(random, 70) ? 25 : 60;
  etx_argument argument;
  etx_argument_cursor cursor = etx_argument_first(c->op->arguments);
  for (size_t i = 0; etx_argument_next(&cursor, &argument); ++i) {
    if (c->is_unstated[i] || !chance(random, percent)) continue;
    change_value(c, random, &c->values[i], &argument);
  }
}

void vector_mutation_outputs(vector_call* c, hostile_random* random) {
  for (size_t i = 0; i < c->output_count; ++i) {
    const etx_tensor* tensor = &c->outputs[i]->as.tensor;
    uint8_t order[ETX_MAX_RANK];
    draw_order(random, order, tensor->rank);
    if (!chance(random, 25)) continue;
    vector_tensor_make(c, c->outputs[i],
                       chance(random, 60) ? draw_dtype(random) : tensor->dtype,
                       tensor->sizes, tensor->rank,
                       chance(random, 40) ? order : NULL);
  }
}
