#include "tests/ops/vector_program.h"

#include <string.h>

#include "format/tensor/layout.h"
#include "tests/format/fixtures/sample_program.h"

enum {
  MOST_VALUES = 320,
  MOST_CONSTANTS = 160,
  MOST_ITEMS = 1024,
  CONSTANT_BYTES = 30000,
  ARENA_BYTES = 1 << 16,  // what hostile_program.c allows
};

typedef struct vector_pte {
  hostile_random* random;
  etx_pte_value values[MOST_VALUES];
  size_t value_count;
  int32_t sizes[MOST_VALUES][ETX_MAX_RANK];
  uint8_t orders[MOST_VALUES][ETX_MAX_RANK];
  int64_t integers[MOST_ITEMS];
  int32_t tensors[MOST_ITEMS];
  size_t item_count;  // of both
  etx_bytes constants[MOST_CONSTANTS];
  size_t constant_count;
  size_t constant_bytes;
  int32_t inputs[MOST_VALUES], outputs[MOST_VALUES];
  size_t input_count, output_count;
  uint64_t arena_used;
  bool is_full;
} vector_pte;

static bool chance(vector_pte* p, size_t percent) {
  return hostile_chance(p->random, percent);
}

// Adds a value. If there is no room, sets is_full and returns the last value.
static int32_t new_value(vector_pte* p, etx_pte_kind kind) {
  if (p->value_count == MOST_VALUES) {
    p->is_full = true;
    --p->value_count;
  }
  memset(&p->values[p->value_count], 0, sizeof *p->values);
  p->values[p->value_count].kind = kind;
  return (int32_t)p->value_count++;
}

// ---- tensors ----

// The dimension order of a dense tensor: dimensions by descending strides.
static void order_of(const etx_tensor* tensor, uint8_t* order) {
  for (size_t i = 0; i < tensor->rank; ++i) {
    size_t at = i;
    for (; at > 0; --at) {
      const size_t before = order[at - 1];
      const bool is_first = tensor->strides[before] > tensor->strides[i] ||
                            (tensor->strides[before] == tensor->strides[i] &&
                             tensor->sizes[before] >= tensor->sizes[i]);
      if (is_first) break;
      order[at] = order[at - 1];
    }
    order[at] = (uint8_t)i;
  }
}

// Gives a tensor its own offset, or sometimes that of another tensor.
static void assign_offset(vector_pte* p, etx_pte_tensor* tensor, size_t bytes) {
  const uint64_t end = p->arena_used + (bytes + 15) / 16 * 16;
  tensor->has_allocation = true;
  tensor->memory_id = 1;
  if (chance(p, 15) && bytes <= p->arena_used) {
    const size_t places = (size_t)((p->arena_used - bytes) / 16 + 1);
    tensor->memory_offset = hostile_below(p->random, places) * 16;
  } else if (end <= ARENA_BYTES) {
    tensor->memory_offset = p->arena_used;
    p->arena_used = end;
  } else {
    p->is_full = true;
  }
}

static bool is_dense(const etx_tensor* tensor) {
  size_t last = 0;
  for (size_t i = 0; i < tensor->rank; ++i) {
    if (tensor->sizes[i] == 0) return true;
    last += (size_t)(tensor->sizes[i] - 1) * (size_t)tensor->strides[i];
  }
  return last + 1 == etx_tensor_numel(tensor);
}

static bool make_constant(vector_pte* p, const etx_tensor* from,
                          etx_pte_tensor* to, size_t bytes) {
  const bool fits = bytes <= CONSTANT_BYTES - p->constant_bytes;
  if (p->constant_count == MOST_CONSTANTS || !fits || !is_dense(from)) {
    return false;
  }
  p->constant_bytes += bytes;
  to->data_buffer_index = (uint32_t)p->constant_count;
  p->constants[p->constant_count++] = (etx_bytes){from->data, bytes};
  return true;
}

static int32_t add_tensor(vector_pte* p, const etx_tensor* from,
                          bool is_written) {
  const int32_t index = new_value(p, ETX_PTE_TENSOR);
  etx_pte_tensor* to = &p->values[index].as.tensor;
  const size_t bytes = etx_tensor_bytes(from);
  to->dtype = from->dtype;
  to->rank = from->rank;
  to->sizes = p->sizes[index];
  to->dim_order = p->orders[index];
  if (from->rank > 0) {
    memcpy(p->sizes[index], from->sizes, from->rank * sizeof(int32_t));
  }
  order_of(from, p->orders[index]);
  if (!is_written && chance(p, 65) && make_constant(p, from, to, bytes)) {
    return index;
  }
  if (chance(p, 60)) to->dynamism = ETX_PTE_DYNAMIC_BOUND;
  if (is_written && to->dynamism == ETX_PTE_DYNAMIC_BOUND && chance(p, 20) &&
      from->rank > 0) {
    ++p->sizes[index][hostile_below(p->random, from->rank)];
  }
  size_t numel = 0;
  (void)etx_layout_numel(to->sizes, to->rank, &numel);
  assign_offset(p, to, numel * etx_dtype_bytes(to->dtype));
  if (is_written) {
    p->outputs[p->output_count++] = index;
  } else if (chance(p, 80)) {
    p->inputs[p->input_count++] = index;
  }
  return index;
}

// ---- values ----

static int32_t add_value(vector_pte* p, const etx_value* from, bool is_written,
                         bool may_lack);

static int32_t add_integers(vector_pte* p, const etx_value* from) {
  const int32_t index = new_value(p, ETX_PTE_INT_LIST);
  const size_t count = from->as.integers.count, start = p->item_count;
  if (start + count > MOST_ITEMS) {
    p->is_full = true;
    return index;
  }
  p->item_count += count;
  for (size_t i = 0; i < count; ++i) {
    const int32_t item = new_value(p, ETX_PTE_INT);
    p->values[item].as.integer = from->as.integers.items[i]->as.integer;
    p->integers[start + i] = item;
  }
  p->values[index].as.integers.items = p->integers + start;
  p->values[index].as.integers.count = count;
  return index;
}

static int32_t add_tensors(vector_pte* p, const etx_value* from,
                           bool is_written, bool may_lack) {
  const size_t count = from->as.tensors.count, start = p->item_count;
  const int32_t index = new_value(
      p, may_lack ? ETX_PTE_OPTIONAL_TENSOR_LIST : ETX_PTE_TENSOR_LIST);
  if (start + count > MOST_ITEMS) {
    p->is_full = true;
    return index;
  }
  p->item_count += count;
  for (size_t i = 0; i < count; ++i) {
    const etx_value* item = from->as.tensors.items[i];
    p->tensors[start + i] =
        item == NULL ? -1 : add_tensor(p, &item->as.tensor, is_written);
  }
  p->values[index].as.tensors.items = p->tensors + start;
  p->values[index].as.tensors.count = count;
  return index;
}

static int32_t add_value(vector_pte* p, const etx_value* from, bool is_written,
                         bool may_lack) {
  if (from->kind == ETX_VALUE_TENSOR) {
    return add_tensor(p, &from->as.tensor, is_written);
  }
  if (from->kind == ETX_VALUE_TENSORS) {
    return add_tensors(p, from, is_written, may_lack);
  }
  if (from->kind == ETX_VALUE_INTS) return add_integers(p, from);
  const int32_t index = new_value(p, ETX_PTE_NULL);
  etx_pte_value* to = &p->values[index];
  switch (from->kind) {
    case ETX_VALUE_INT:
      to->kind = ETX_PTE_INT;
      to->as.integer = from->as.integer;
      break;
    case ETX_VALUE_BOOL:
      to->kind = ETX_PTE_BOOL;
      to->as.boolean = from->as.boolean;
      break;
    case ETX_VALUE_DOUBLE:
      to->kind = ETX_PTE_DOUBLE;
      to->as.real = from->as.real;
      break;
    case ETX_VALUE_STRING:
      to->kind = ETX_PTE_STRING;
      to->as.string = from->as.string;
      break;
    case ETX_VALUE_DOUBLES:
      to->kind = ETX_PTE_DOUBLE_LIST;
      to->as.reals.items = from->as.reals.items;
      to->as.reals.count = from->as.reals.count;
      break;
    case ETX_VALUE_BOOLS:
      to->kind = ETX_PTE_BOOL_LIST;
      to->as.booleans.items = from->as.booleans.items;
      to->as.booleans.count = from->as.booleans.count;
      break;
    default:
      break;
  }
  return index;
}

// The slot for the result after the arguments; -1 if there is none.
static int32_t add_result(vector_pte* p, const etx_op* op, int32_t first,
                          int32_t first_written) {
  switch (op->result) {
    case ETX_RESULT_OUT:
    case ETX_RESULT_LIST:
      return first_written;
    case ETX_RESULT_SELF:
      return first;
    case ETX_RESULT_SCALAR:
      return new_value(p, ETX_PTE_INT);
    case ETX_RESULT_OUT_LIST: {
      const int32_t index = new_value(p, ETX_PTE_TENSOR_LIST);
      p->values[index].as.tensors.items = p->outputs;
      p->values[index].as.tensors.count = p->output_count;
      return index;
    }
    case ETX_RESULT_NONE:
      break;
  }
  return -1;
}

static size_t add_arguments(vector_pte* p, const vector_call* c,
                            int32_t* arguments) {
  etx_argument argument;
  etx_argument_cursor cursor = etx_argument_first(c->op->arguments);
  int32_t first_written = 0;
  size_t count = 0;
  while (etx_argument_next(&cursor, &argument)) {
    arguments[count] =
        add_value(p, &c->values[count], argument.written,
                  argument.type == ETX_ARGUMENT_OPTIONAL_TENSORS);
    if (argument.written && p->output_count <= 1) {
      first_written = arguments[count];
    }
    ++count;
  }
  const int32_t result = add_result(p, c->op, arguments[0], first_written);
  if (result >= 0) arguments[count++] = result;
  return count;
}

etx_bytes_mut vector_program_write(const vector_call* c,
                                   hostile_random* random) {
  static vector_pte p;
  int32_t arguments[ETX_MAX_ARGUMENTS + 1];
  memset(&p, 0, sizeof p);
  p.random = random;
  p.constant_count = 1;
  etx_pte_instruction call = {.kind = ETX_PTE_KERNEL_CALL,
                              .arguments = arguments};
  call.argument_count = add_arguments(&p, c, arguments);
  if (p.is_full || call.argument_count == 0) {
    const etx_bytes_mut none = {NULL, 0};
    return none;
  }
  const int64_t arenas[] = {0, ARENA_BYTES};
  const etx_pte_operator op = {etx_text_of(c->op->name),
                               etx_text_of(c->op->overload)};
  const etx_pte_chain chain = {&call, 1};
  etx_pte_plan_content plan = {.name = etx_text_of("forward"),
                               .values = p.values,
                               .value_count = p.value_count,
                               .inputs = p.inputs,
                               .input_count = p.input_count,
                               .outputs = p.outputs,
                               .output_count = p.output_count,
                               .chains = &chain,
                               .chain_count = 1,
                               .operators = &op,
                               .operator_count = 1,
                               .buffer_sizes = arenas,
                               .buffer_size_count = 2};
  const etx_pte_content content = {.plans = &plan,
                                   .plan_count = 1,
                                   .constants = p.constants,
                                   .constant_count = p.constant_count,
                                   .constant_alignment = 16};
  return sample_write(&content);
}
