#include "tests/hostile/drawn_program.h"

#include "format/base/build_parts.h"

#include <math.h>
#include <string.h>

#include "tests/hostile/drawn_outputs.h"

// An instruction is drawn at most this often.
enum { DRAWS = 8 };

static bool chance(drawn_program* p, size_t percent) {
  return hostile_chance(&p->random, percent);
}

static size_t below(drawn_program* p, size_t bound) {
  return hostile_below(&p->random, bound);
}

// Returns a new value, or the last one again if there is no room.
static size_t new_value(drawn_program* p, etx_pte_kind kind) {
  const size_t index =
      p->value_count < RANDOM_VALUES ? p->value_count++ : RANDOM_VALUES - 1;
  memset(&p->values[index], 0, sizeof p->values[index]);
  p->values[index].kind = kind;
  return index;
}

// ---- numbers ----

static int64_t draw_integer(drawn_program* p) {
  static const int64_t rare[] = {
      INT64_MIN, INT64_MIN + 1, INT32_MIN, -1000000,  -17,
      17,        1000000,       INT32_MAX, INT64_MAX, 4096};
  if (p->is_tidy && chance(p, 90)) return (int64_t)below(p, 2);
  if (chance(p, 8)) return rare[below(p, sizeof rare / sizeof *rare)];
  return (int64_t)below(p, 8) - 3;
}

static double draw_real(drawn_program* p) {
  static const double rare[] = {0.0,  -0.0,     1e300, -1e300,
                                1e-9, INFINITY, -5.5,  NAN};
  if (chance(p, 15)) return rare[below(p, sizeof rare / sizeof *rare)];
  return (double)below(p, 9) * 0.5 - 1.0;
}

static size_t draw_int_value(drawn_program* p) {
  const size_t index = new_value(p, ETX_PTE_INT);
  p->values[index].as.integer = draw_integer(p);
  return index;
}

static size_t draw_scalar(drawn_program* p) {
  if (chance(p, 40)) return draw_int_value(p);
  if (chance(p, 15)) {
    const size_t index = new_value(p, ETX_PTE_BOOL);
    p->values[index].as.boolean = chance(p, 50);
    return index;
  }
  const size_t index = new_value(p, ETX_PTE_DOUBLE);
  p->values[index].as.real = draw_real(p);
  return index;
}

// ---- tensors ----

// The type that operators usually expect for an argument of this name.
static bool usual_dtype(const etx_argument* argument, etx_dtype* out) {
  static const char* const integers[] = {"index", "indices", "max_values",
                                         "min_indices"};
  for (size_t i = 0; i < sizeof integers / sizeof *integers; ++i) {
    if (!etx_text_is(argument->name, integers[i])) continue;
    *out = ETX_DTYPE_INT64;
    return true;
  }
  *out = ETX_DTYPE_BOOL;
  return etx_text_is(argument->name, "mask") ||
         etx_text_is(argument->name, "condition");
}

static etx_dtype draw_dtype(drawn_program* p, const etx_argument* argument) {
  static const etx_dtype usual[] = {ETX_DTYPE_FLOAT32, ETX_DTYPE_INT64,
                                    ETX_DTYPE_INT32, ETX_DTYPE_BOOL,
                                    ETX_DTYPE_UINT8};
  etx_dtype usual_one = p->dtype;
  if (usual_dtype(argument, &usual_one) && chance(p, 90)) return usual_one;
  if (chance(p, p->is_tidy ? 97 : 75)) return p->dtype;
  if (chance(p, 90)) return usual[below(p, 5)];
  return (etx_dtype)below(p, ETX_DTYPE_COUNT);
}

// A shape that resembles the program's: broadcast, shortened, lengthened or
// any other.
static size_t draw_shape(drawn_program* p, int32_t* sizes, bool is_vector) {
  size_t rank = p->rank;
  memcpy(sizes, p->shape, sizeof p->shape);
  if (p->is_tidy && chance(p, 90)) {
    if (rank > 0 && chance(p, 10)) --rank;
    if (rank + 1 < RANDOM_RANK && chance(p, 7)) ++rank;
    return is_vector && chance(p, 60) ? 1 : rank;
  }
  if (chance(p, 30)) rank = below(p, RANDOM_RANK);
  for (size_t i = 0; i < rank; ++i) {
    if (i >= p->rank || chance(p, 10)) sizes[i] = (int32_t)below(p, 5);
    if (chance(p, 10)) sizes[i] = 1;
  }
  if (rank >= 2 && chance(p, 15)) {
    const int32_t last = sizes[rank - 1];
    sizes[rank - 1] = sizes[rank - 2];
    sizes[rank - 2] = last;
  }
  return rank;
}

static void draw_order(drawn_program* p, uint8_t* order, size_t rank) {
  for (size_t i = 0; i < rank; ++i) order[i] = (uint8_t)i;
  if (!chance(p, p->is_tidy ? 3 : 12)) return;
  for (size_t i = rank; i > 1; --i) {
    const size_t j = below(p, i);
    const uint8_t kept = order[i - 1];
    order[i - 1] = order[j];
    order[j] = kept;
  }
}

// Elements of a constant: small numbers, with special ones among floats and
// indices that lead outside among integers.
static void draw_data(drawn_program* p, etx_dtype dtype, uint8_t* bytes,
                      size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const size_t size = etx_dtype_bytes(dtype);
    const int64_t integer =
        chance(p, 3) ? draw_integer(p) : (int64_t)below(p, 3);
    const float real = (float)draw_real(p);
    const double wide = draw_real(p);
    const uint8_t boolean = chance(p, 50);
    uint8_t* out = bytes + i * size;
    if (dtype == ETX_DTYPE_FLOAT32) {
      memcpy(out, &real, sizeof real);
    } else if (dtype == ETX_DTYPE_FLOAT64) {
      memcpy(out, &wide, sizeof wide);
    } else if (dtype == ETX_DTYPE_BOOL) {
      *out = boolean;
    } else {
      memset(out, 0, size);
      memcpy(out, &integer, size < 8 ? size : 8);
    }
  }
}

// Gives the tensor a constant of its own if there is room.
static bool make_constant(drawn_program* p, etx_pte_tensor* tensor,
                          size_t elements) {
  const size_t bytes = elements * etx_dtype_bytes(tensor->dtype);
  const size_t index = p->content.constant_count;
  const size_t start = (p->data_bytes + 7) / 8 * 8;
  if (index == RANDOM_CONSTANTS || bytes > RANDOM_CONSTANT_BYTES - start) {
    return false;
  }
  uint8_t* data = (uint8_t*)p->data + start;
  draw_data(p, tensor->dtype, data, elements);
  p->data_bytes = start + bytes;
  p->constants[index].data = data;
  p->constants[index].size = bytes;
  ++p->content.constant_count;
  tensor->data_buffer_index = (uint32_t)index;
  return true;
}

// True for arguments that usually have one dimension.
static bool is_usual_vector(const etx_argument* argument) {
  static const char* const names[] = {"weight",       "bias",   "running_mean",
                                      "running_var",  "scales", "zero_points",
                                      "weight_scales"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    if (etx_text_is(argument->name, names[i])) return true;
  }
  return false;
}

// True if the operator's name contains the word.
static bool is_of(const drawn_program* p, const char* word) {
  return strstr(p->op->name, word) != NULL;
}

// The sizes that convolutions, recurrent layers and operators on quantised
// numbers usually expect for an argument of this name: those of p->shape,
// except for panels and gates.
static const struct drawn_form {
  const char* word;  // in the operator's name
  const char* name;
  etx_dtype dtype;
  uint8_t rank;
} forms[] = {
    {"_u8", "input", ETX_DTYPE_UINT8, 4},
    {"_u8", "self", ETX_DTYPE_UINT8, 4},
    {"_u8", "others", ETX_DTYPE_UINT8, 4},
    {"_u8", "weight", ETX_DTYPE_INT8, 3},
    {"_u8", "panels", ETX_DTYPE_INT8, 4},
    {"_u8", "offsets", ETX_DTYPE_INT32, 1},
    {"_u8", "scales", ETX_DTYPE_FLOAT32, 1},
    {"_u8", "bias", ETX_DTYPE_FLOAT32, 1},
    {"8w8", "input", ETX_DTYPE_FLOAT32, 2},
    {"8w8", "weight", ETX_DTYPE_INT8, 2},
    {"8w8", "panels", ETX_DTYPE_INT8, 4},
    {"8w8", "scales", ETX_DTYPE_FLOAT32, 1},
    {"8w8", "sums", ETX_DTYPE_INT32, 1},
    {"8w8", "bias", ETX_DTYPE_FLOAT32, 1},
    {"linear_w8", "input", ETX_DTYPE_FLOAT32, 2},
    {"linear_w8", "weight", ETX_DTYPE_INT8, 2},
    {"linear_w8", "scales", ETX_DTYPE_FLOAT32, 1},
    {"linear_w8", "bias", ETX_DTYPE_FLOAT32, 1},
    {"::convolution", "input", ETX_DTYPE_FLOAT32, 4},
    {"::convolution", "weight", ETX_DTYPE_FLOAT32, 4},
    {"::convolution", "panels", ETX_DTYPE_FLOAT32, 5},
    {"::convolution", "bias", ETX_DTYPE_FLOAT32, 1},
    {"_sequence", "input", ETX_DTYPE_FLOAT32, 3},
    {"_sequence", "hx", ETX_DTYPE_FLOAT32, 2},
    {"_sequence", "cx", ETX_DTYPE_FLOAT32, 2},
    {"_sequence", "w_hh", ETX_DTYPE_FLOAT32, 2},
    {"_sequence", "b_hh", ETX_DTYPE_FLOAT32, 1},
};

// Panels with as many channels as the shape has.
static void draw_panels(drawn_program* p, size_t rank, int32_t* sizes) {
  const int32_t kernel = is_of(p, "winograd") ? 3
                         : is_of(p, "packed") ? 1 + (int32_t)below(p, 3)
                                              : 1;
  const int32_t bytes[] = {1, (p->shape[0] + 3) / 4, 16, 4};
  const int32_t floats[] = {1, p->shape[0], kernel, kernel, 16};
  memcpy(sizes, rank == 5 ? floats : bytes, rank * sizeof *sizes);
}

// Gates for the first two sizes of the shape, the batch and the hidden units.
static void draw_gates(const drawn_program* p, size_t rank, int32_t* sizes) {
  const int32_t gates = is_of(p, "lstm") ? 4 : is_of(p, "gru") ? 3 : 1;
  sizes[rank == 3 ? 2 : 0] = gates * p->shape[1];
  if (rank == 3) sizes[1] = p->shape[0];
}

static void use_form(drawn_program* p, const etx_argument* argument,
                     etx_pte_tensor* tensor, int32_t* sizes) {
  for (size_t i = 0; i < sizeof forms / sizeof *forms && p->is_tidy; ++i) {
    const struct drawn_form* form = &forms[i];
    if (!is_of(p, form->word) || !etx_text_is(argument->name, form->name)) {
      continue;
    }
    if (chance(p, 5)) return;
    tensor->dtype = form->dtype;
    tensor->rank = form->rank;
    memcpy(sizes, p->shape, form->rank * sizeof *sizes);
    if (etx_text_is(argument->name, "panels")) {
      draw_panels(p, form->rank, sizes);
    }
    if (is_of(p, "_sequence") && argument->name.data[1] != 'x') {
      draw_gates(p, form->rank, sizes);
    }
    return;
  }
}

static size_t draw_tensor(drawn_program* p, const etx_argument* argument) {
  const bool is_written = argument->written;
  const bool is_vector = is_usual_vector(argument);
  if (p->value_count > 0 && chance(p, p->is_tidy ? 3 : 20)) {
    for (size_t i = p->value_count; i-- > 0;) {
      if (p->values[i].kind == ETX_PTE_TENSOR && chance(p, 50)) return i;
    }
  }
  const size_t index = new_value(p, ETX_PTE_TENSOR);
  etx_pte_tensor* tensor = &p->values[index].as.tensor;
  memset(tensor, 0, sizeof *tensor);
  tensor->dtype = draw_dtype(p, argument);
  tensor->rank = (uint8_t)draw_shape(p, p->sizes[index], is_vector);
  use_form(p, argument, tensor, p->sizes[index]);
  draw_order(p, p->orders[index], tensor->rank);
  tensor->sizes = p->sizes[index];
  tensor->dim_order = p->orders[index];
  // Builds without dynamic methods refuse programs with a dynamic tensor, so
  // few are drawn.
  const uint32_t many = ETX_DYNAMIC ? 85 : 3, few = ETX_DYNAMIC ? 30 : 1;
  if (chance(p, is_written ? many : few)) {
    tensor->dynamism = ETX_PTE_DYNAMIC_BOUND;
  }
  if (is_written && tensor->dynamism == ETX_PTE_DYNAMIC_BOUND) {
    for (size_t i = 0; i < tensor->rank; ++i) {
      p->sizes[index][i] = tensor->rank <= 3 ? 9 : 5;
    }
  }
  if (!is_written && chance(p, 70) &&
      make_constant(p, tensor, drawn_tensor_elements(tensor))) {
    return index;
  }
  if (!chance(p, 4)) drawn_tensor_place(p, tensor);
  if (!is_written && chance(p, 60) && p->plan.input_count < RANDOM_VALUES) {
    p->inputs[p->plan.input_count++] = (int32_t)index;
  }
  return index;
}

// ---- lists ----

static size_t usual_count(const drawn_program* p) {
  const size_t count = (size_t)p->shape[0];
  return count < RANDOM_ITEMS ? count : RANDOM_ITEMS;
}

// True for a list that accompanies a list of tensors.
static bool goes_with_tensors(const drawn_program* p,
                              const etx_argument* argument) {
  return is_of(p, "_u8") && p->is_tidy &&
         (etx_text_is(argument->name, "zero_points") ||
          etx_text_is(argument->name, "scales"));
}

static size_t draw_tensor_list(drawn_program* p, bool may_lack,
                               const etx_argument* argument) {
  int32_t items[RANDOM_ITEMS];
  const size_t count =
      p->is_tidy && chance(p, 60) ? usual_count(p) : below(p, 4);
  for (size_t i = 0; i < count; ++i) {
    items[i] =
        may_lack && chance(p, 30) ? -1 : (int32_t)draw_tensor(p, argument);
  }
  const size_t index = new_value(
      p, may_lack ? ETX_PTE_OPTIONAL_TENSOR_LIST : ETX_PTE_TENSOR_LIST);
  memcpy(p->tensor_items[index], items, count * sizeof *items);
  p->values[index].as.tensors.items = p->tensor_items[index];
  p->values[index].as.tensors.count = count;
  return index;
}

// The usual value of an integer argument of this name: 1 or a size of the
// shape.
static bool usual_integer(const drawn_program* p, const etx_argument* argument,
                          size_t place, int64_t* out) {
  *out = 1;
  if (is_of(p, "_u8") && etx_text_is(argument->name, "kernel_size"))
    return true;
  if (etx_text_is(argument->name, "stride") ||
      etx_text_is(argument->name, "dilation") ||
      etx_text_is(argument->name, "group") ||
      etx_text_is(argument->name, "groups")) {
    return true;
  }
  *out = p->shape[0];
  for (size_t i = 3; i < p->rank && etx_text_is(argument->name, "HxW"); ++i) {
    *out *= p->shape[i];
  }
  if (etx_text_is(argument->name, "N") || etx_text_is(argument->name, "C") ||
      etx_text_is(argument->name, "HxW")) {
    return true;
  }
  *out = p->shape[place % RANDOM_RANK];
  return etx_text_is(argument->name, "normalized_shape") ||
         etx_text_is(argument->name, "size");
}

static size_t draw_list_count(drawn_program* p, const etx_argument* argument) {
  if (goes_with_tensors(p, argument)) return usual_count(p);
  if (argument->fixed_count > 0 && chance(p, 80)) return argument->fixed_count;
  if (p->is_tidy && p->rank >= 3 && chance(p, 40)) return p->rank - 2;
  if (p->is_tidy && chance(p, 30)) return 1;
  return chance(p, 60) ? p->rank : below(p, 4);
}

static size_t draw_int_list(drawn_program* p, const etx_argument* argument) {
  const size_t count = draw_list_count(p, argument);
  const size_t index = new_value(p, ETX_PTE_INT_LIST);
  for (size_t i = 0; i < count && i < RANDOM_ITEMS; ++i) {
    int64_t usual = p->shape[i];
    const size_t item = draw_int_value(p);
    if (p->values[item].kind != ETX_PTE_INT) break;
    const bool is_usual = usual_integer(p, argument, i, &usual);
    if (chance(p, is_usual ? 85 : 30)) p->values[item].as.integer = usual;
    p->int_items[index][i] = (int64_t)item;
    p->values[index].as.integers.count = i + 1;
  }
  p->values[index].as.integers.items = p->int_items[index];
  return index;
}

static size_t draw_real_list(drawn_program* p, const etx_argument* argument) {
  const size_t index = new_value(p, ETX_PTE_DOUBLE_LIST);
  const size_t count =
      goes_with_tensors(p, argument) ? usual_count(p) : below(p, RANDOM_ITEMS);
  for (size_t i = 0; i < count; ++i) p->real_items[index][i] = draw_real(p);
  p->values[index].as.reals.items = p->real_items[index];
  p->values[index].as.reals.count = count;
  return index;
}

static size_t draw_bool_list(drawn_program* p) {
  const size_t index = new_value(p, ETX_PTE_BOOL_LIST);
  const size_t count = below(p, RANDOM_ITEMS);
  for (size_t i = 0; i < count; ++i) {
    p->bool_items[index][i] = chance(p, 50);
  }
  p->values[index].as.booleans.items = p->bool_items[index];
  p->values[index].as.booleans.count = count;
  return index;
}

static size_t draw_string(drawn_program* p, const etx_argument* argument) {
  static const char* const texts[] = {"none",  "tanh", "floor",
                                      "trunc", "",     "sum"};
  static const char* const steps[] = {
      "x", "x relu", "x 0 add", "x x multiply", "x 1 add", "x add"};
  const size_t index = new_value(p, ETX_PTE_STRING);
  p->values[index].as.string = etx_text_of(texts[below(p, p->is_tidy ? 2 : 6)]);
  if (etx_text_is(argument->name, "steps") && chance(p, 95)) {
    p->values[index].as.string =
        etx_text_of(steps[below(p, p->is_tidy ? 4 : 6)]);
  }
  return index;
}

static size_t draw_code(drawn_program* p, size_t bound) {
  const size_t index = new_value(p, ETX_PTE_INT);
  p->values[index].as.integer =
      chance(p, 5) ? draw_integer(p) : (int64_t)below(p, bound);
  return index;
}

static size_t draw_argument(drawn_program* p, const etx_argument* argument) {
  if (argument->optional && chance(p, 40)) return new_value(p, ETX_PTE_NULL);
  switch (argument->type) {
    case ETX_ARGUMENT_TENSOR:
      return draw_tensor(p, argument);
    case ETX_ARGUMENT_TENSORS:
      return draw_tensor_list(p, false, argument);
    case ETX_ARGUMENT_OPTIONAL_TENSORS:
      return draw_tensor_list(p, true, argument);
    case ETX_ARGUMENT_SCALAR:
      return draw_scalar(p);
    case ETX_ARGUMENT_INT: {
      const size_t index = draw_int_value(p);
      int64_t usual = 0;
      if (usual_integer(p, argument, 0, &usual) && chance(p, 85)) {
        p->values[index].as.integer = usual;
      }
      return index;
    }
    case ETX_ARGUMENT_INTS:
      return draw_int_list(p, argument);
    case ETX_ARGUMENT_FLOAT: {
      const size_t index = new_value(p, ETX_PTE_DOUBLE);
      p->values[index].as.real = draw_real(p);
      return index;
    }
    case ETX_ARGUMENT_FLOATS:
      return draw_real_list(p, argument);
    case ETX_ARGUMENT_BOOL: {
      const size_t index = new_value(p, ETX_PTE_BOOL);
      p->values[index].as.boolean = chance(p, 40);
      return index;
    }
    case ETX_ARGUMENT_BOOLS:
      return draw_bool_list(p);
    case ETX_ARGUMENT_STRING:
      return draw_string(p, argument);
    case ETX_ARGUMENT_SCALAR_TYPE: {
      const size_t index = draw_code(p, ETX_DTYPE_COUNT + 1);
      if (is_of(p, "_u8") && chance(p, 90)) {
        p->values[index].as.integer =
            chance(p, 50) ? ETX_DTYPE_UINT8 : ETX_DTYPE_FLOAT32;
      }
      return index;
    }
    case ETX_ARGUMENT_MEMORY_FORMAT:
    case ETX_ARGUMENT_LAYOUT:
    case ETX_ARGUMENT_DEVICE:
      return draw_code(p, 3);
  }
  return new_value(p, ETX_PTE_NULL);
}

// ---- instructions ----

// Appends the slot after the arguments; `written` are the written arguments.
static size_t draw_result(drawn_program* p, const etx_op* op,
                          const int32_t* arguments, const int32_t* written,
                          size_t written_count) {
  switch (op->result) {
    case ETX_RESULT_OUT:
    case ETX_RESULT_LIST:
    case ETX_RESULT_SELF:
      return written_count > 0 ? (size_t)written[0] : (size_t)arguments[0];
    case ETX_RESULT_OUT_LIST: {
      const size_t index = new_value(p, ETX_PTE_TENSOR_LIST);
      memcpy(p->tensor_items[index], written, written_count * sizeof *written);
      p->values[index].as.tensors.items = p->tensor_items[index];
      p->values[index].as.tensors.count = written_count;
      return index;
    }
    case ETX_RESULT_SCALAR:
      return draw_scalar(p);
    case ETX_RESULT_NONE:
      break;
  }
  return SIZE_MAX;
}

// False if the operator's rule refuses what was drawn.
static bool draw_instruction(drawn_program* p, etx_op_id id) {
  const etx_op* op = etx_op_at(id);
  const size_t place = p->chain.instruction_count;
  int32_t* arguments = p->arguments[place];
  int32_t written[RANDOM_ITEMS];
  size_t written_count = 0;
  size_t count = 0;
  etx_argument argument;
  etx_argument_cursor cursor = etx_argument_first(op->arguments);
  p->op = op;
  while (etx_argument_next(&cursor, &argument)) {
    arguments[count] = (int32_t)draw_argument(p, &argument);
    if (argument.written && written_count < RANDOM_ITEMS) {
      written[written_count++] = arguments[count];
      if (p->plan.output_count < RANDOM_VALUES) {
        p->outputs[p->plan.output_count++] = arguments[count];
      }
    }
    ++count;
  }
  const bool fits = chance(p, 30) || drawn_outputs_fit(p, op, arguments);
  const size_t result = draw_result(p, op, arguments, written, written_count);
  if (result != SIZE_MAX) arguments[count++] = (int32_t)result;
  p->operators[place].name = etx_text_of(op->name);
  p->operators[place].overload = etx_text_of(op->overload);
  p->instructions[place].kind = ETX_PTE_KERNEL_CALL;
  p->instructions[place].index = (int32_t)place;
  p->instructions[place].arguments = arguments;
  p->instructions[place].argument_count = count;
  ++p->chain.instruction_count;
  return fits;
}

static void start(drawn_program* p) {
  static const etx_dtype usual[] = {
      ETX_DTYPE_FLOAT32, ETX_DTYPE_FLOAT32,  ETX_DTYPE_INT64,   ETX_DTYPE_BOOL,
      ETX_DTYPE_INT32,   ETX_DTYPE_FLOAT64,  ETX_DTYPE_FLOAT16, ETX_DTYPE_INT8,
      ETX_DTYPE_UINT8,   ETX_DTYPE_COMPLEX64};
  p->rank = below(p, 5);
  for (size_t i = 0; i < RANDOM_RANK; ++i) {
    p->shape[i] = (int32_t)(chance(p, 6) ? 0 : 1 + below(p, 5));
  }
  p->dtype = usual[below(p, sizeof usual / sizeof *usual)];
  p->is_tidy = chance(p, 50);
  if (p->is_tidy) {
    p->rank = 1 + below(p, 4);
    for (size_t i = 1; i < RANDOM_RANK; ++i) p->shape[i] = p->shape[0];
  }
  p->arenas[1] = DRAWN_ARENA_BYTES;
  p->arenas[2] = DRAWN_ARENA_BYTES;
  p->content.constants = p->constants;
  p->content.constant_count = 1;
  p->content.constant_alignment = 16;
}

void drawn_program_draw(drawn_program* program, uint64_t seed, uint64_t number,
                        etx_op_id op) {
  drawn_program* p = program;
  hostile_random random = hostile_random_of(seed, number);
  bool fits = false;
  // An instruction that is refused for its sizes is mostly drawn again, so that
  // most kernels run. Some refused ones are kept.
  for (size_t i = 0; i < DRAWS && !fits; ++i) {
    memset(p, 0, sizeof *p);
    p->random = random;
    start(p);
    fits = draw_instruction(p, op);
    random = p->random;
  }
  while (p->chain.instruction_count < RANDOM_INSTRUCTIONS && chance(p, 30)) {
    (void)draw_instruction(p, (etx_op_id)below(p, ETX_OP_COUNT));
  }
  p->chain.instructions = p->instructions;
  p->plan.name = etx_text_of("forward");
  p->plan.values = p->values;
  p->plan.value_count = p->value_count;
  p->plan.inputs = p->inputs;
  p->plan.outputs = p->outputs;
  p->plan.chains = &p->chain;
  p->plan.chain_count = 1;
  p->plan.operators = p->operators;
  p->plan.operator_count = p->chain.instruction_count;
  p->plan.buffer_sizes = p->arenas;
  p->plan.buffer_size_count = 3;
  p->content.plans = &p->plan;
  p->content.plan_count = 1;
}
