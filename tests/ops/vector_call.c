#include "tests/ops/vector_call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/tensor/layout.h"
#include "runtime/shapes/call_shape.h"

// Limits above what any case needs.
enum { TEMPORARY_MOST = 1 << 28, ELEMENTS_MOST = 1 << 22 };

void* vector_call_take(vector_call* c, size_t bytes) {
  if (c->block_count == c->block_room) {
    c->block_room = 2 * c->block_room + 64;
    c->blocks = realloc(c->blocks, c->block_room * sizeof *c->blocks);
  }
  void* block = calloc(1, bytes == 0 ? 1 : bytes);
  c->blocks[c->block_count++] = block;
  return block;
}

void vector_call_end(vector_call* c) {
  for (size_t i = 0; i < c->block_count; ++i) free(c->blocks[i]);
  free(c->blocks);
  c->blocks = NULL;
  c->block_count = c->block_room = 0;
}

static size_t numel_of(const int32_t* sizes, size_t rank) {
  size_t numel = 0;
  (void)etx_layout_numel(sizes, rank, &numel);
  return numel;
}

// The number of elements from the first to the last of a strided tensor.
static size_t extent(const int32_t* sizes, const int32_t* strides,
                     size_t rank) {
  size_t last = 0;
  if (numel_of(sizes, rank) == 0) return 0;
  for (size_t i = 0; i < rank; ++i) {
    last += (size_t)(sizes[i] - 1) * (size_t)strides[i];
  }
  return last + 1;
}

// Makes a tensor of these sizes and strides (NULL: row-major).
static void new_tensor(vector_call* c, etx_value* value, etx_dtype dtype,
                       const int32_t* sizes, size_t rank,
                       const int32_t* strides) {
  int32_t* own = vector_call_take(c, 2 * sizeof(int32_t) * ETX_MAX_RANK);
  if (rank > 0) memcpy(own, sizes, rank * sizeof(int32_t));
  if (strides == NULL) {
    (void)etx_layout_strides(sizes, NULL, rank, own + ETX_MAX_RANK);
  } else {
    memcpy(own + ETX_MAX_RANK, strides, rank * sizeof(int32_t));
  }
  value->kind = ETX_VALUE_TENSOR;
  value->as.tensor = (etx_tensor){
      .data = vector_call_take(
          c, extent(sizes, own + ETX_MAX_RANK, rank) * etx_dtype_bytes(dtype)),
      .sizes = own,
      .strides = own + ETX_MAX_RANK,
      .rank = (uint8_t)rank,
      .dtype = dtype};
}

void vector_tensor_make(vector_call* c, etx_value* value, etx_dtype dtype,
                        const int32_t* sizes, size_t rank,
                        const uint8_t* order) {
  int32_t strides[ETX_MAX_RANK];
  const bool has_order =
      order != NULL && etx_layout_strides(sizes, order, rank, strides);
  new_tensor(c, value, dtype, sizes, rank, has_order ? strides : NULL);
}

// The strides of a tensor in the case: stated, or from its dimension order.
static bool stated_strides(json_t* entry, const vector_tensor* tensor,
                           int32_t* out) {
  json_t* strides = json_object_get(entry, "strides");
  json_t* order = json_object_get(entry, "dim_order");
  if (json_array_size(strides) == tensor->rank && strides != NULL) {
    for (size_t i = 0; i < tensor->rank; ++i) {
      out[i] = (int32_t)json_integer_value(json_array_get(strides, i));
    }
    return true;
  }
  if (order == NULL || json_array_size(order) != tensor->rank) return false;
  uint8_t dimensions[ETX_MAX_RANK];
  for (size_t i = 0; i < tensor->rank; ++i) {
    dimensions[i] = (uint8_t)json_integer_value(json_array_get(order, i));
  }
  return etx_layout_is_order(dimensions, tensor->rank) &&
         etx_layout_strides(tensor->sizes, dimensions, tensor->rank, out);
}

static void copy_elements(const vector_tensor* from, etx_tensor* to) {
  const size_t bytes = etx_dtype_bytes(to->dtype);
  const size_t numel = numel_of(from->sizes, from->rank);
  for (size_t i = 0; i < numel; ++i) {
    size_t rest = i, at = 0;
    for (size_t d = from->rank; d-- > 0;) {
      at += rest % (size_t)from->sizes[d] * (size_t)to->strides[d];
      rest /= (size_t)from->sizes[d];
    }
    memcpy((char*)to->data + at * bytes, from->data + i * bytes, bytes);
  }
}

// Finds the tensor `name`; `entry` has a key if it is complex.
static bool find_tensor(const vector_file* file, const char* name,
                        json_t* entry, vector_tensor* out) {
  if (name == NULL || !vector_file_find(file, name, out)) return false;
  return json_object_get(entry, "complex") == NULL ||
         vector_file_make_complex(out);
}

static const char* load_tensor(vector_call* c, const vector_file* file,
                               const char* name, json_t* entry, bool as_stated,
                               etx_value* value) {
  vector_tensor tensor;
  int32_t strides[ETX_MAX_RANK];
  if (!find_tensor(file, name, entry, &tensor)) {
    return "a tensor's type is not known";
  }
  const bool strided =
      as_stated && entry != NULL && stated_strides(entry, &tensor, strides);
  new_tensor(c, value, tensor.dtype, tensor.sizes, tensor.rank,
             strided ? strides : NULL);
  if (strided && !etx_tensor_is_contiguous(&value->as.tensor)) {
    c->is_strided = true;
  }
  copy_elements(&tensor, &value->as.tensor);
  return NULL;
}

static const char* load_tensors(vector_call* c, const vector_file* file,
                                json_t* entry, bool as_stated,
                                etx_value* value) {
  json_t* names = json_object_get(entry, "tl");
  json_t* layouts = json_object_get(entry, "layouts");
  const size_t count = json_array_size(names);
  etx_value* items = vector_call_take(c, count * sizeof(etx_value));
  const etx_value** list = vector_call_take(c, count * sizeof(*list));
  for (size_t i = 0; i < count; ++i) {
    const char* name = json_string_value(json_array_get(names, i));
    list[i] = NULL;
    if (name == NULL) continue;
    list[i] = &items[i];
    char position[24];
    snprintf(position, sizeof(position), "%zu", i);
    const char* why =
        load_tensor(c, file, name, json_object_get(layouts, position),
                    as_stated, &items[i]);
    if (why != NULL) return why;
  }
  value->kind = ETX_VALUE_TENSORS;
  value->as.tensors.items = list;
  value->as.tensors.count = count;
  return NULL;
}

static double real_of(json_t* value) {
  const char* text = json_string_value(value);
  return text != NULL ? strtod(text, NULL) : json_number_value(value);
}

static void load_integers(vector_call* c, json_t* list, etx_value* value) {
  const size_t count = json_array_size(list);
  etx_value* items = vector_call_take(c, count * sizeof(etx_value));
  const etx_value** pointers = vector_call_take(c, count * sizeof(*pointers));
  for (size_t i = 0; i < count; ++i) {
    items[i].kind = ETX_VALUE_INT;
    items[i].as.integer = json_integer_value(json_array_get(list, i));
    pointers[i] = &items[i];
  }
  value->kind = ETX_VALUE_INTS;
  value->as.integers.items = pointers;
  value->as.integers.count = count;
}

static void load_reals(vector_call* c, json_t* list, etx_value* value) {
  const size_t count = json_array_size(list);
  double* items = vector_call_take(c, count * sizeof(double));
  for (size_t i = 0; i < count; ++i)
    items[i] = real_of(json_array_get(list, i));
  value->kind = ETX_VALUE_DOUBLES;
  value->as.reals.items = items;
  value->as.reals.count = count;
}

static void load_booleans(vector_call* c, json_t* list, etx_value* value) {
  const size_t count = json_array_size(list);
  uint8_t* items = vector_call_take(c, count);
  for (size_t i = 0; i < count; ++i) {
    items[i] = json_is_true(json_array_get(list, i));
  }
  value->kind = ETX_VALUE_BOOLS;
  value->as.booleans.items = items;
  value->as.booleans.count = count;
}

static void load_integer(json_t* number, etx_value* value) {
  value->kind = ETX_VALUE_INT;
  value->as.integer = json_integer_value(number);
}

// Loads one argument of any kind.
static const char* load_value(vector_call* c, const vector_file* file,
                              json_t* entry, vector_layout layout,
                              etx_value* value) {
  const bool as_stated = layout == VECTOR_AS_STATED;
  json_t* found;
  if ((found = json_object_get(entry, "t")) != NULL) {
    return load_tensor(c, file, json_string_value(found), entry, as_stated,
                       value);
  }
  if (json_object_get(entry, "tl") != NULL) {
    return load_tensors(c, file, entry, as_stated, value);
  }
  if ((found = json_object_get(entry, "i")) != NULL ||
      (found = json_object_get(entry, "dtype")) != NULL ||
      (found = json_object_get(entry, "mf")) != NULL) {
    load_integer(found, value);
  } else if ((found = json_object_get(entry, "f")) != NULL) {
    value->kind = ETX_VALUE_DOUBLE;
    value->as.real = real_of(found);
  } else if ((found = json_object_get(entry, "b")) != NULL) {
    value->kind = ETX_VALUE_BOOL;
    value->as.boolean = json_is_true(found);
  } else if ((found = json_object_get(entry, "s")) != NULL) {
    value->kind = ETX_VALUE_STRING;
    value->as.string = etx_text_of(json_string_value(found));
  } else if ((found = json_object_get(entry, "il")) != NULL) {
    load_integers(c, found, value);
  } else if ((found = json_object_get(entry, "fl")) != NULL) {
    load_reals(c, found, value);
  } else if ((found = json_object_get(entry, "bl")) != NULL) {
    load_booleans(c, found, value);
  } else if (json_object_get(entry, "n") != NULL) {
    value->kind = ETX_VALUE_NONE;
  } else {
    return "an argument's kind is not known";
  }
  return NULL;
}

static json_t* find_named(json_t* list, etx_text name) {
  size_t i;
  json_t* entry;
  json_array_foreach(list, i, entry) {
    const char* own = json_string_value(json_object_get(entry, "name"));
    if (own != NULL && etx_text_is(name, own)) return entry;
  }
  return NULL;
}

// The strides of an expected result, if it is dense in some dimension order.
static bool dense_strides(json_t* entry, const vector_tensor* tensor,
                          int32_t* out) {
  if (entry == NULL || !stated_strides(entry, tensor, out)) return false;
  for (size_t i = 0; i < tensor->rank; ++i) {
    if (out[i] == 0 && tensor->sizes[i] > 1) return false;
  }
  return extent(tensor->sizes, out, tensor->rank) ==
         numel_of(tensor->sizes, tensor->rank);
}

// Makes an output like the expected tensor, filled with a byte pattern that no
// kernel writes by chance.
static const char* new_like(vector_call* c, const vector_file* file,
                            const char* name, json_t* entry, bool as_stated,
                            etx_value* value) {
  vector_tensor tensor;
  int32_t strides[ETX_MAX_RANK];
  if (!find_tensor(file, name, entry, &tensor)) {
    return "a result's type is not known";
  }
  const bool strided = as_stated && dense_strides(entry, &tensor, strides);
  new_tensor(c, value, tensor.dtype, tensor.sizes, tensor.rank,
             strided ? strides : NULL);
  if (!etx_tensor_is_contiguous(&value->as.tensor)) c->is_strided = true;
  memset(value->as.tensor.data, 0x5a,
         numel_of(tensor.sizes, tensor.rank) * etx_dtype_bytes(tensor.dtype));
  return NULL;
}

static const char* new_out(vector_call* c, const vector_file* file,
                           json_t* entry, etx_argument_type type,
                           bool as_stated, etx_value* value) {
  if (type != ETX_ARGUMENT_TENSORS) {
    const char* name = json_string_value(json_object_get(entry, "t"));
    c->outputs[c->output_count++] = value;
    return new_like(c, file, name, entry, as_stated, value);
  }
  json_t* names = json_object_get(entry, "tl");
  const size_t count = json_array_size(names);
  if (count > VECTOR_LIST_MOST) return "too long a list";
  etx_value* items = vector_call_take(c, count * sizeof(etx_value));
  const etx_value** list = vector_call_take(c, count * sizeof(*list));
  for (size_t i = 0; i < count; ++i) {
    list[i] = c->outputs[c->output_count++] = &items[i];
    const char* why =
        new_like(c, file, json_string_value(json_array_get(names, i)), NULL,
                 false, &items[i]);
    if (why != NULL) return why;
  }
  value->kind = ETX_VALUE_TENSORS;
  value->as.tensors.items = list;
  value->as.tensors.count = count;
  return NULL;
}

// A changed argument may grow (et_copy_index), so it gets the memory of the
// result.
static void reserve(vector_call* c, const vector_file* file, json_t* entry,
                    etx_value* value) {
  vector_tensor wanted;
  etx_tensor* own = &value->as.tensor;
  const char* name = json_string_value(json_object_get(entry, "t"));
  if (name == NULL || !vector_file_find(file, name, &wanted)) return;
  if (!etx_tensor_is_contiguous(own) || wanted.size <= etx_tensor_bytes(own)) {
    return;
  }
  void* data = vector_call_take(c, wanted.size);
  memcpy(data, own->data, etx_tensor_bytes(own));
  own->data = data;
}

// Makes an output of a case that must be refused, before the rule sizes it.
static void new_unknown(vector_call* c, etx_argument_type type,
                        etx_value* value) {
  if (type == ETX_ARGUMENT_TENSORS) {
    value->kind = ETX_VALUE_TENSORS;
    return;
  }
  new_tensor(c, value, ETX_DTYPE_FLOAT32, NULL, 0, NULL);
  c->outputs[c->output_count++] = value;
}

static const char* build_argument(vector_call* c, const vector_file* file,
                                  json_t* test_case, vector_layout layout,
                                  const etx_argument* argument) {
  etx_value* value = &c->values[c->count];
  json_t* outs = json_object_get(test_case, "outs");
  json_t* given =
      find_named(json_object_get(test_case, "args"), argument->name);
  c->is_written[c->count++] = argument->written;
  if (given != NULL) {
    const char* why = load_value(c, file, given, layout, value);
    if (why != NULL || !argument->written) return why;
    c->outputs[c->output_count++] = value;
    json_t* wanted = find_named(outs, argument->name);
    if (wanted == NULL) wanted = json_array_get(outs, 0);
    if (wanted != NULL) reserve(c, file, wanted, value);
    return NULL;
  }
  if (!argument->written) return "an argument is missing";
  if (outs == NULL) {
    c->is_unstated[c->count - 1] = true;
    new_unknown(c, argument->type, value);
    return NULL;
  }
  json_t* wanted = find_named(outs, argument->name);
  // The results of a functional form are named `result`, or `result0`,
  // `result1`.
  if (wanted == NULL) wanted = json_array_get(outs, c->output_count);
  if (wanted == NULL && json_object_get(test_case, "form") != NULL) {
    c->is_unstated[c->count - 1] = true;
    new_unknown(c, argument->type, value);
    return NULL;
  }
  if (wanted == NULL) return "a result is missing";
  return new_out(c, file, wanted, argument->type, layout == VECTOR_AS_STATED,
                 value);
}

static void run_serially(void* context, void (*task)(void*, size_t),
                         void* argument, size_t count) {
  (void)context;
  for (size_t i = 0; i < count; ++i) task(argument, i);
}

// Finds the row of an operator. Operators that the stock library does not have
// are rows in namespace etx, in their out variant.
static const etx_op* find_row(const char* name) {
  const etx_text none = {NULL, 0};
  const etx_op* row = etx_op_find(etx_text_of(name), none);
  const char* bare = strstr(name, "::");
  if (row != NULL || bare == NULL) return row;
  char own[256];
  snprintf(own, sizeof(own), "etx%s%s", bare,
           strchr(bare, '.') == NULL ? ".out" : "");
  return etx_op_find(etx_text_of(own), none);
}

const char* vector_call_build(vector_call* c, const vector_file* file,
                              json_t* test_case, vector_layout layout) {
  static const etx_parallel parallel = {.parallel_for = run_serially,
                                        .thread_count = 1};
  memset(c, 0, sizeof(*c));
  c->op = find_row(json_string_value(json_object_get(test_case, "op")));
  if (c->op == NULL) return "no row";
  etx_argument_cursor cursor = etx_argument_first(c->op->arguments);
  etx_argument argument;
  while (etx_argument_next(&cursor, &argument)) {
    const char* why = build_argument(c, file, test_case, layout, &argument);
    if (why != NULL) return why;
  }
  if (c->op->result == ETX_RESULT_SCALAR) {
    c->values[c->count].kind = ETX_VALUE_INT;
    c->count++;
  }
  for (size_t i = 0; i < c->count; ++i) c->arguments[i] = &c->values[i];
  c->call = (etx_call){.op = c->op,
                       .arguments = c->arguments,
                       .argument_count = c->count,
                       .parallel = &parallel,
                       .random = &c->random,
                       .diag = &c->diag};
  return NULL;
}

static bool same_sizes(const etx_tensor* a, const etx_shape* b) {
  if (a->rank != b->rank) return false;
  for (size_t i = 0; i < a->rank; ++i) {
    if (a->sizes[i] != b->dims[i]) return false;
  }
  return true;
}

// Gives a changed argument the sizes of the shape rule (et_copy_index grows).
static void resize(etx_tensor* tensor, const int32_t* sizes) {
  int32_t* header = (int32_t*)(uintptr_t)tensor->sizes;
  memcpy(header, sizes, tensor->rank * sizeof(int32_t));
  (void)etx_layout_strides(sizes, NULL, tensor->rank, header + ETX_MAX_RANK);
}

// If sizes depend on data, the shape rule gives an upper bound.
static etx_status check_bound(vector_call* c, const etx_tensor* expected,
                              const etx_shape* most) {
  int32_t sizes[ETX_MAX_RANK] = {0};
  for (size_t i = 0; i < most->rank; ++i) sizes[i] = (int32_t)most->dims[i];
  if (c->expects_error ||
      (most->rank == expected->rank &&
       etx_tensor_numel(expected) <= numel_of(sizes, most->rank))) {
    return ETX_OK;
  }
  return etx_diag_fail(&c->diag, ETX_INTERNAL,
                       "the bound of the shape rule is less than the expected "
                       "sizes");
}

// Receives such sizes from the kernel while it runs.
static etx_status resize_out(void* context, const etx_value* output,
                             const int32_t* sizes) {
  vector_call* c = context;
  etx_value* value = (etx_value*)(uintptr_t)output;
  const etx_tensor* own = &value->as.tensor;
  if (c->expects_error) {
    new_tensor(c, value, own->dtype, sizes, own->rank, NULL);
    return ETX_OK;
  }
  if (own->rank == 0 ||
      memcmp(own->sizes, sizes, own->rank * sizeof(int32_t)) == 0) {
    return ETX_OK;
  }
  return etx_diag_fail(&c->diag, ETX_INTERNAL,
                       "the kernel gives other sizes than expected");
}

// True for an output without an expected result, or an item of such a list.
static bool is_unstated(const vector_call* c, const etx_value* value) {
  const bool is_item = value < c->values || value > c->values + c->count;
  if (is_item) return c->expects_error;
  return c->is_unstated[value - c->values];
}

// False if a tensor has more elements than ELEMENTS_MOST.
static bool is_affordable(const etx_shape* shape, bool at_most) {
  int64_t numel = 1;
  bool is_empty = at_most;
  for (size_t i = 0; i < shape->rank; ++i) {
    if (shape->dims[i] < 0 || shape->dims[i] > ELEMENTS_MOST) return false;
    is_empty |= shape->dims[i] == 0;
  }
  for (size_t i = 0; i < shape->rank && !is_empty; ++i) {
    numel *= shape->dims[i];
    if (numel > ELEMENTS_MOST) return false;
  }
  return true;
}

// An expected result must have the sizes of the shape rule. An output without
// an expected result gets these sizes.
static etx_status size_output(void* context, const etx_value* output,
                              const etx_shape* shape, bool at_most) {
  vector_call* c = context;
  etx_value* value = (etx_value*)(uintptr_t)output;
  etx_tensor* own = &value->as.tensor;
  const bool is_free = shape->dtype == ETX_DTYPE_FROM_OUT;
  int32_t sizes[ETX_MAX_RANK] = {0};
  for (size_t i = 0; i < shape->rank; ++i) sizes[i] = (int32_t)shape->dims[i];
  if (is_unstated(c, value)) {
    if (at_most) sizes[0] = 0;  // until the kernel says
    if (!is_affordable(shape, at_most)) return ETX_OUT_OF_RANGE;
    new_tensor(c, value, is_free ? ETX_DTYPE_FLOAT32 : shape->dtype, sizes,
               shape->rank, NULL);
    return ETX_OK;
  }
  if (!is_free && shape->dtype != own->dtype) c->dtype_differs = true;
  if (at_most) return check_bound(c, own, shape);
  if (same_sizes(own, shape)) return ETX_OK;
  if (c->op->result == ETX_RESULT_NONE && own->rank == shape->rank) {
    resize(own, sizes);
    return ETX_OK;
  }
  return etx_diag_fail(&c->diag, ETX_INTERNAL,
                       "the shape rule gives other sizes than expected");
}

// A case that must be refused does not state the length of an output list, so
// lengths are tried until the shape rule accepts one.
static etx_status size_list(vector_call* c, uint64_t written) {
  etx_value* list = &c->values[c->count - 1];
  etx_value* items = vector_call_take(c, VECTOR_LIST_MOST * sizeof(etx_value));
  const etx_value** pointers =
      vector_call_take(c, VECTOR_LIST_MOST * sizeof(*pointers));
  etx_status status = ETX_BAD_FILE;
  for (size_t n = 0; n < VECTOR_LIST_MOST && status == ETX_BAD_FILE; ++n) {
    etx_diag_init(&c->diag);
    if (n > 0) {
      new_tensor(c, &items[n - 1], ETX_DTYPE_FLOAT32, NULL, 0, NULL);
      pointers[n - 1] = &items[n - 1];
    }
    list->as.tensors.items = pointers;
    list->as.tensors.count = n;
    status = etx_call_size_outputs(&c->call, written, size_output, c);
  }
  return status;
}

etx_status vector_call_size(vector_call* c, bool expects_error) {
  const uint64_t written = etx_op_written_arguments(c->op);
  c->expects_error = expects_error;
  if (c->op->result == ETX_RESULT_SCALAR) return ETX_OK;
  if (expects_error && c->op->result == ETX_RESULT_LIST) {
    return size_list(c, written);
  }
  return etx_call_size_outputs(&c->call, written, size_output, c);
}

etx_status vector_call_run(vector_call* c) {
  const etx_kernel* kernel = etx_kernel_find(&etx_all_kernels, c->op->id);
  if (kernel == NULL) return ETX_MISSING_OPERATOR;
  ETX_TRY(etx_kernel_prepare(kernel, &c->call));
  if (c->is_prepared_twice) ETX_TRY(kernel->prepare(&c->call));
  size_t stated = 0;
  if (kernel->temporary_bytes != NULL) {
    ETX_TRY(kernel->temporary_bytes(&c->call, &stated));
  }
  if (c->call.temporary_bytes > stated) {
    return etx_diag_fail(&c->diag, ETX_INTERNAL,
                         "the kernel needs %z temporary bytes, its row states "
                         "%z",
                         c->call.temporary_bytes, stated);
  }
  if (c->call.temporary_bytes > TEMPORARY_MOST) return ETX_OUT_OF_MEMORY;
  const etx_resizer resizer = {resize_out, c};
  c->call.temporary = vector_call_take(c, c->call.temporary_bytes);
  c->call.resizer = &resizer;
  return c->call.run(&c->call);
}

etx_tensor* vector_tensor_at(vector_call* c, size_t index) {
  for (size_t i = 0; i < c->count; ++i) {
    etx_value* value = &c->values[i];
    if (value->kind == ETX_VALUE_TENSOR && index-- == 0) {
      return &value->as.tensor;
    }
    if (value->kind != ETX_VALUE_TENSORS) continue;
    for (size_t k = 0; k < value->as.tensors.count; ++k) {
      const etx_value* item = value->as.tensors.items[k];
      if (item != NULL && index-- == 0) {
        return (etx_tensor*)(uintptr_t)&item->as.tensor;
      }
    }
  }
  return NULL;
}
