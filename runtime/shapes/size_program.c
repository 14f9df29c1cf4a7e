// Builds size programs.

#include "runtime/shapes/size_program.h"

#include "format/base/reachability.h"
#include "format/shapes/size_table.h"
#include "runtime/shapes/call_shape.h"
#include "runtime/shapes/scratch_compaction.h"

enum {
  EXTRA_EXPRESSIONS = 8,  // besides symbols and the sizes themselves
  NUMBER_IS_UNKNOWN = 0,  // else, in `numbers`: position of an expression + 1
  NUMBER_IS_FIXED = 255,  // the same for all values of the symbols
  // Earlier tensors and records that are compared. Models repeat layers, so an
  // equal one is near.
  MOST_COMPARED = 64,
};

typedef struct program_builder {
  etx_method* method;
  const etx_method_record* record;  // the present one
  etx_size_table table;
  etx_dim_math math;
  size_t dims;     // taken so far
  bool undecided;  // see etx_shape_call
} program_builder;

void etx_size_program_count(etx_method* method, size_t dynamic_dims) {
  etx_size_program* const program = &method->sizes;
  if (dynamic_dims == 0 || method->program->limits.calls_shape_functions) {
    return;
  }
  const size_t symbols =
      etx_blob_symbol_count(&method->program->blob, method->blob_index);
  const size_t wanted = symbols + EXTRA_EXPRESSIONS + dynamic_dims;
  if (symbols >= ETX_SIZE_MOST_EXPRESSIONS) return;
  program->expression_room =
      wanted < ETX_SIZE_MOST_EXPRESSIONS ? wanted : ETX_SIZE_MOST_EXPRESSIONS;
  program->dim_count = dynamic_dims;
  program->tensor_count = method->tensor_count;
  program->record_count = method->record_count;
  program->number_count = method->value_count;
}

// ---- sizes and numbers ----

static etx_shape_call arithmetic(program_builder* b) {
  etx_shape_call call;
  memset(&call, 0, sizeof call);
  call.op = b->record->call.op;
  call.math = &b->math;
  call.undecided = &b->undecided;
  return call;
}

static etx_size_tensor* sizes_at(const etx_method* method, size_t tensor) {
  return &method->sizes.tensors[tensor];
}

// Gives a dynamic tensor its dimensions, whose number was counted. Returns
// their place.
static etx_dim* take_dims(program_builder* b, size_t tensor) {
  const etx_method_tensor* const t = &b->method->tensors[tensor];
  etx_size_tensor* const sizes = sizes_at(b->method, tensor);
  sizes->first_dim = (uint32_t)b->dims;
  sizes->alike = (uint32_t)tensor;
  sizes->most = etx_method_bound_numel(t);
  sizes->element_bytes = (uint32_t)etx_dtype_bytes(t->value->as.tensor.dtype);
  b->dims += t->value->as.tensor.rank;
  return &b->method->sizes.dims[sizes->first_dim];
}

// The dimensions of a tensor. A dynamic one that was not written yet has its
// bounds.
static void read_sizes(void* context, const etx_value* value,
                       etx_dim* out_dims) {
  program_builder* const b = context;
  etx_method* const method = b->method;
  const etx_method_tensor* const tensor = etx_method_tensor_of(method, value);
  const size_t rank = value->as.tensor.rank;
  if (!etx_method_is_dynamic(tensor)) {
    for (size_t i = 0; i < rank; ++i) out_dims[i] = tensor->bounds[i];
    return;
  }
  const etx_size_tensor* const sizes = sizes_at(method, value->position);
  if (sizes->alike == ETX_NO_INDEX) {
    etx_dim* const dims = take_dims(b, value->position);
    for (size_t i = 0; i < rank; ++i) dims[i] = tensor->bounds[i];
  }
  memcpy(out_dims, &method->sizes.dims[sizes->first_dim],
         rank * sizeof *out_dims);
}

static bool varies(void* context, const etx_value* value) {
  const program_builder* const b = context;
  return (b->method->marks[value->position] & ETX_MARK_VARIES) != 0;
}

static etx_dim read_integer(void* context, const etx_value* value) {
  program_builder* const b = context;
  const uint8_t number = varies(b, value)
                             ? b->method->sizes.numbers[value->position]
                             : NUMBER_IS_FIXED;
  if (number != NUMBER_IS_UNKNOWN && number != NUMBER_IS_FIXED) {
    return etx_size_dim(number - 1u);
  }
  if (number == NUMBER_IS_FIXED && etx_dim_is_number(value->as.integer)) {
    return value->as.integer;
  }
  b->undecided = true;
  return 0;
}

static void note_number(etx_method* method, uint32_t value, etx_dim dim) {
  method->sizes.numbers[value] = etx_dim_is_number(dim)
                                     ? NUMBER_IS_FIXED
                                     : (uint8_t)(etx_size_position(dim) + 1);
}

// ---- inputs ----

static etx_status add_symbols(program_builder* b) {
  const etx_method* const method = b->method;
  for (size_t i = 0; i < method->symbol_count; ++i) {
    const etx_blob_symbol* const symbol = &method->symbol_bounds[i];
    ETX_TRY(
        etx_size_table_add_symbol(&b->table, symbol->minimum, symbol->maximum));
  }
  return ETX_OK;
}

// Sizes and numbers of inputs that depend on a symbol.
static etx_status read_inputs(program_builder* b) {
  etx_method* const method = b->method;
  const etx_shape_call call = arithmetic(b);
  for (size_t i = 0; i < method->input_count; ++i) {
    const etx_method_input* const input = &method->inputs[i];
    if (input->tensor == ETX_NO_INDEX) continue;
    const etx_method_tensor* const t = &method->tensors[input->tensor];
    etx_dim dims[ETX_MAX_RANK];
    if (etx_method_is_dynamic(t)) read_sizes(b, t->value, dims);
  }
  for (size_t i = 0; i < method->input_dim_count; ++i) {
    const etx_blob_input_dim row = method->input_dims[i];
    const etx_method_input* const input = &method->inputs[row.input];
    etx_dim dim;
    ETX_TRY(
        etx_dim_multiply(&call, etx_size_dim(row.symbol), row.factor, &dim));
    ETX_TRY(etx_dim_add(&call, dim, row.offset, &dim));
    if (row.dim < 0) {
      note_number(method, input->value, dim);
    } else if (ETX_ALWAYS(input->tensor != ETX_NO_INDEX) &&  // verified
               etx_method_is_dynamic(&method->tensors[input->tensor])) {
      const uint32_t first = sizes_at(method, input->tensor)->first_dim;
      method->sizes.dims[first + (size_t)row.dim] = dim;
    }
  }
  return ETX_OK;
}

// ---- records ----

// Sets the sizes of an output; a second writer must agree.
static etx_status set_sizes(program_builder* b, const etx_value* value,
                            const etx_dim* dims, size_t rank) {
  const etx_method_tensor* const tensor =
      etx_method_tensor_of(b->method, value);
  if (rank != value->as.tensor.rank) return ETX_UNSUPPORTED;
  if (etx_method_is_dynamic(tensor) &&
      sizes_at(b->method, value->position)->alike == ETX_NO_INDEX) {
    etx_dim* const taken = take_dims(b, value->position);
    memcpy(taken, dims, rank * sizeof *dims);
    return ETX_OK;
  }
  etx_dim present[ETX_MAX_RANK];
  read_sizes(b, value, present);
  for (size_t i = 0; i < rank; ++i) {
    if (present[i] != dims[i]) return ETX_UNSUPPORTED;
  }
  return ETX_OK;
}

static etx_status write_output(void* context, const etx_value* output,
                               const etx_shape* shape, bool at_most) {
  program_builder* const b = context;
  if (at_most) {  // it has its upper bounds until the kernel sets its sizes
    const etx_method_tensor* const tensor =
        etx_method_tensor_of(b->method, output);
    const bool is_known =
        etx_method_is_dynamic(tensor) && (tensor->late & ETX_LATE_SIZES) == 0;
    return is_known ? ETX_UNSUPPORTED : ETX_OK;
  }
  const bool is_view = b->record->kind == ETX_RECORD_VIEW;
  return set_sizes(b, is_view ? &b->method->values[b->record->slot] : output,
                   shape->dims, shape->rank);
}

static etx_status read_call(program_builder* b) {
  const etx_call_symbols symbols = {&b->math, &b->undecided, read_sizes,
                                    read_integer, varies};
  const etx_method_record* const record = b->record;
  ETX_TRY(etx_call_size_symbolic(&record->call, record->written, &symbols,
                                 write_output, b));
  if (b->undecided) return ETX_UNSUPPORTED;
  if (record->kind == ETX_RECORD_VIEW || record->slot == ETX_NO_INDEX) {
    return ETX_OK;
  }
  // The return slot of an in-place operator is an alias of its first argument.
  const etx_value* const self = record->call.arguments[0];
  etx_dim dims[ETX_MAX_RANK];
  read_sizes(b, self, dims);
  return set_sizes(b, &b->method->values[record->slot], dims,
                   self->as.tensor.rank);
}

static etx_status read_size(program_builder* b, const etx_call* call,
                            etx_dim* out) {
  const etx_tensor* const self = etx_call_tensor(call, 0);
  etx_dim dims[ETX_MAX_RANK];
  read_sizes(b, call->arguments[0], dims);
  if (varies(b, call->arguments[1])) return ETX_UNSUPPORTED;
  int64_t dim = etx_call_integer(call, 1);
  if (dim < 0) dim += self->rank;
  // The record was run in the phase before.
  if (ETX_NEVER(dim < 0 || dim >= self->rank)) return ETX_UNSUPPORTED;
  *out = dims[dim];
  return ETX_OK;
}

static etx_status compute_number(program_builder* b, etx_dim* out) {
  const etx_call* const from = &b->record->call;
  const etx_shape_call call = arithmetic(b);
  if (from->op->id == ETX_OP_sym_size_int) return read_size(b, from, out);
  if (from->arguments[0]->kind != ETX_VALUE_INT) return ETX_UNSUPPORTED;
  const etx_dim x = read_integer(b, from->arguments[0]);
  if (b->undecided) return ETX_UNSUPPORTED;
  // A check that fails for the present sizes fails when it is run.
  if (from->op->id == ETX_OP_check_range) {
    *out = x;
    return ETX_OK;
  }
  // An application's operator may have no argument but the slot of its result.
  if (from->argument_count < 2 || from->arguments[1]->kind != ETX_VALUE_INT) {
    return ETX_UNSUPPORTED;
  }
  const etx_dim y = read_integer(b, from->arguments[1]);
  if (b->undecided) return ETX_UNSUPPORTED;
  switch (from->op->id) {
    case ETX_OP_prim_add_scalar:
      return etx_dim_add(&call, x, y, out);
    case ETX_OP_prim_sub_scalar:
      return etx_dim_subtract(&call, x, y, out);
    case ETX_OP_prim_mul_scalar:
      return etx_dim_multiply(&call, x, y, out);
    case ETX_OP_prim_floordiv_scalar:
    case ETX_OP_prim_floordiv_int:
      return etx_dim_floor_divide(&call, x, y, out);
    case ETX_OP_prim_sym_max_scalar:
      return etx_dim_maximum(&call, x, y, out);
    case ETX_OP_prim_sym_min_scalar:
      return etx_dim_minimum(&call, x, y, out);
    default:
      return ETX_UNSUPPORTED;
  }
}

// A number that cannot be expressed is unknown. That matters only if a shape
// function reads it.
static void read_number(program_builder* b) {
  etx_dim dim = 0;
  const etx_status status = compute_number(b, &dim);
  b->undecided = false;
  if (status == ETX_OK) {
    note_number(b->method, b->record->slot, dim);
  } else {
    b->method->sizes.numbers[b->record->slot] = NUMBER_IS_UNKNOWN;
  }
}

// The target of a move has the sizes of its source, unless they are late.
static etx_status read_move(program_builder* b) {
  const etx_value* const from = &b->method->values[b->record->from];
  etx_dim dims[ETX_MAX_RANK];
  if (from->kind != ETX_VALUE_TENSOR) return ETX_OK;
  read_sizes(b, from, dims);
  return set_sizes(b, &b->method->values[b->record->to], dims,
                   from->as.tensor.rank);
}

static etx_status read_record(program_builder* b) {
  switch (b->record->kind) {
    case ETX_RECORD_SCALAR:
      read_number(b);
      return ETX_OK;
    case ETX_RECORD_MOVE:
      return read_move(b);
    case ETX_RECORD_JUMP:
    case ETX_RECORD_FREE:
      return ETX_OK;
    default:
      return read_call(b);
  }
}

static etx_status read_records(program_builder* b) {
  etx_method* const method = b->method;
  for (size_t i = 0; i < method->record_count; ++i) {
    b->record = &method->records[i];
    if (b->record->late != ETX_RECORD_LATE) ETX_TRY(read_record(b));
  }
  return ETX_OK;
}

// ---- what is equal for all sizes ----

// True if two tensors of the program, by position, have the same sizes and
// strides. Most differ in the first dimension that is compared.
static bool have_same_dims(const etx_method* method, size_t a, size_t other) {
  const etx_method_tensor* const x = &method->tensors[a];
  const etx_method_tensor* const y = &method->tensors[other];
  const size_t rank = x->value->as.tensor.rank;
  const etx_dim* const dims = method->sizes.dims;
  const uint32_t first = sizes_at(method, a)->first_dim;
  const uint32_t second = sizes_at(method, other)->first_dim;
  if (rank != y->value->as.tensor.rank) return false;
  for (size_t i = rank; i-- > 0;) {
    if (dims[first + i] != dims[second + i] ||
        x->dim_order[i] != y->dim_order[i]) {
      return false;
    }
  }
  return true;
}

static bool have_same_sizes(program_builder* b, const etx_value* a,
                            const etx_value* other) {
  etx_dim x[ETX_MAX_RANK], y[ETX_MAX_RANK];
  const size_t rank = a->as.tensor.rank;
  if (rank != other->as.tensor.rank) return false;
  const uint32_t first = sizes_at(b->method, a->position)->alike;
  const uint32_t second = sizes_at(b->method, other->position)->alike;
  if (first != ETX_NO_INDEX && second != ETX_NO_INDEX) {
    return first == second ||
           have_same_dims(b->method, a->position, other->position);
  }
  read_sizes(b, a, x);
  read_sizes(b, other, y);
  return memcmp(x, y, rank * sizeof *x) == 0 &&
         memcmp(etx_method_tensor_of(b->method, a)->dim_order,
                etx_method_tensor_of(b->method, other)->dim_order, rank) == 0;
}

// True if a phase must look at a tensor: sets its sizes, or checks that a view
// of an input still has memory.
static bool does_vary(const etx_method* method, size_t tensor) {
  const uint32_t root = method->tensors[tensor].root;
  if (sizes_at(method, tensor)->alike != ETX_NO_INDEX) return true;
  if (method->tensors[tensor].late != 0) return false;
  return root != tensor && root != ETX_NO_INDEX &&
         method->tensors[root].storage_kind == ETX_METHOD_STORAGE_INPUT;
}

typedef enum list_part { SIZED, VIEW, ALIKE, ALIKE_BLOCK } list_part;

// Roots are the same for all sizes, but for those that control flow changes.
static list_part part_of(const etx_method* method, size_t tensor) {
  const uint32_t root = method->tensors[tensor].root;
  const bool is_first = sizes_at(method, tensor)->alike == tensor;
  const bool has_memory_of_others =
      root != tensor || etx_method_has_flow(method);
  if (is_first) return has_memory_of_others ? VIEW : SIZED;
  return has_memory_of_others ? ALIKE : ALIKE_BLOCK;
}

// Puts the tensors of one part in front of the list. Returns the first one.
static uint32_t link_part(const etx_method* method, list_part part,
                          uint32_t next) {
  for (size_t i = method->tensor_count; i-- > 0;) {
    if (!does_vary(method, i) || part_of(method, i) != part) continue;
    sizes_at(method, i)->next = next;
    next = (uint32_t)i;
  }
  return next;
}

static void link_tensors(etx_method* method) {
  etx_size_program* const p = &method->sizes;
  p->first_alike_block = link_part(method, ALIKE_BLOCK, ETX_NO_INDEX);
  p->first_alike = link_part(method, ALIKE, p->first_alike_block);
  p->first_view = link_part(method, VIEW, p->first_alike);
  p->first_sized = link_part(method, SIZED, p->first_view);
}

static void join_tensors(program_builder* b) {
  const etx_method* const method = b->method;
  for (size_t i = 0; i < method->tensor_count; ++i) {
    etx_size_tensor* const sizes = sizes_at(method, i);
    if (sizes->alike == ETX_NO_INDEX) continue;
    const size_t first = i > MOST_COMPARED ? i - MOST_COMPARED : 0;
    for (size_t k = first; k < i; ++k) {
      if (sizes_at(method, k)->alike == ETX_NO_INDEX ||
          !have_same_dims(method, k, i)) {
        continue;
      }
      sizes->alike = sizes_at(method, k)->alike;
      etx_size_tensor* const same = sizes_at(method, sizes->alike);
      if (sizes->most < same->most) same->most = sizes->most;
      break;
    }
  }
}

static bool are_alike(program_builder* b, const etx_value* x,
                      const etx_value* y) {
  if (x == y) return true;
  if (x == NULL || y == NULL) return false;  // both are of one kind
  switch (x->kind) {
    case ETX_VALUE_NONE:
      return true;
    case ETX_VALUE_TENSOR:
      return x->as.tensor.dtype == y->as.tensor.dtype &&
             have_same_sizes(b, x, y);
    case ETX_VALUE_INT: {
      const bool are_equal = read_integer(b, x) == read_integer(b, y);
      const bool are_known = !b->undecided;
      b->undecided = false;
      return are_equal && are_known;
    }
    case ETX_VALUE_BOOL:
      return !varies(b, x) && !varies(b, y) && x->as.boolean == y->as.boolean;
    default:
      return false;  // strings and floats: equal ones usually share a slot
  }
}

// Both calls are of the same operator, so they have as many arguments.
static bool arguments_are_alike(program_builder* b, const etx_call* x,
                                const etx_call* y) {
  for (size_t i = 0; i < x->argument_count; ++i) {
    if (x->arguments[i] == y->arguments[i]) continue;
    if (x->arguments[i]->kind != y->arguments[i]->kind) return false;
    const etx_value_span first = etx_call_argument_values(x, i);
    const etx_value_span second = etx_call_argument_values(y, i);
    const size_t count = (size_t)(first.end - first.at);
    if (count != (size_t)(second.end - second.at)) return false;
    for (size_t k = 0; k < count; ++k) {
      if (!are_alike(b, first.at[k], second.at[k])) return false;
    }
  }
  return true;
}

// True if the sizes of all arguments of a record are known ahead.
static bool is_ahead(const etx_method_record* record) {
  return record->late == ETX_RECORD_AHEAD || record->late == ETX_RECORD_ROOTS;
}

static uint32_t find_leader(program_builder* b, size_t index) {
  const etx_method* const method = b->method;
  const etx_method_record* const record = &method->records[index];
  const etx_method_record* other = record;
  for (size_t i = 0; i < MOST_COMPARED && other->from != ETX_NO_INDEX; ++i) {
    other = &method->records[other->from];
    if (!is_ahead(other)) continue;
    if (!arguments_are_alike(b, &record->call, &other->call)) continue;
    return method->sizes.records[other - method->records].leader;
  }
  return (uint32_t)index;
}

// True if a tensor has no element for some sizes.
static bool may_be_empty(program_builder* b, const etx_value* tensor) {
  etx_dim dims[ETX_MAX_RANK];
  etx_shape_call call = arithmetic(b);
  call.undecided = NULL;  // the answer is for all sizes
  read_sizes(b, tensor, dims);
  for (size_t i = 0; i < tensor->as.tensor.rank; ++i) {
    int64_t low, high;
    etx_dim_bounds(&call, dims[i], &low, &high);
    if (low < 1) return true;
  }
  return false;
}

// True if a tensor that the record writes may have no element.
static bool may_write_nothing(program_builder* b,
                              const etx_method_record* record) {
  etx_value_cursor written = etx_record_written_values(record);
  for (const etx_value* value; (value = etx_value_next(&written)) != NULL;) {
    if (may_be_empty(b, value)) return true;
  }
  return false;
}

// True if a concatenation may leave its parts where they are: they lie in the
// memory of the result, for some sizes. Roots are the same for all sizes.
static bool may_be_joined(program_builder* b, const etx_method_record* record) {
  const etx_method* const method = b->method;
  const etx_call* const call = &record->call;
  if (call->op->id != ETX_OP_cat_out) return false;
  const etx_method_tensor* const out =
      etx_method_tensor_of(method, call->arguments[call->argument_count - 1]);
  etx_value_span parts = etx_call_argument_values(call, 0);
  for (; parts.at != parts.end; ++parts.at) {
    if (!may_be_empty(b, *parts.at) &&
        etx_method_tensor_of(method, *parts.at)->root != out->root) {
      return false;
    }
  }
  return true;
}

static bool is_fixed_number(program_builder* b, const etx_value* value) {
  return value->kind == ETX_VALUE_TENSOR || !varies(b, value);
}

static bool has_fixed_sizes(program_builder* b, const etx_value* value) {
  etx_dim dims[ETX_MAX_RANK];
  if (value->kind != ETX_VALUE_TENSOR) return true;
  read_sizes(b, value, dims);
  for (size_t i = 0; i < value->as.tensor.rank; ++i) {
    if (!etx_dim_is_number(dims[i])) return false;
  }
  return true;
}

static bool has_early_root(program_builder* b, const etx_value* value) {
  const etx_method_tensor* const tensor =
      etx_method_tensor_of(b->method, value);
  return tensor == NULL || (tensor->late & ETX_LATE_ROOT) == 0;
}

// True if `holds` is true for all arguments of a call.
static bool hold_for_all(program_builder* b, const etx_call* call,
                         bool (*holds)(program_builder*, const etx_value*)) {
  for (size_t i = 0; i < call->argument_count; ++i) {
    etx_value_span values = etx_call_argument_values(call, i);
    for (; values.at != values.end; ++values.at) {
      if (*values.at != NULL && !holds(b, *values.at)) return false;
    }
  }
  return true;
}

// ---- outputs that never overlap other arguments ----

// The block of scratch that a tensor starts; ETX_NO_INDEX: it starts none.
static uint32_t own_block(const etx_method* method, const etx_value* value) {
  const etx_method_tensor* const tensor = etx_method_tensor_of(method, value);
  const bool is_first = tensor->root == value->position &&
                        method->scratch_block_count > 0 &&
                        method->scratch_members[value->position].delta == 0;
  return is_first ? etx_scratch_block_of(method, tensor) : ETX_NO_INDEX;
}

// True if an output has no byte of another argument at any sizes, or has
// exactly its bytes, which the shape phase has allowed.
static bool is_apart_from(program_builder* b, const etx_value* output,
                          const etx_value* other) {
  const etx_method* const method = b->method;
  if (other == NULL || other == output || other->kind != ETX_VALUE_TENSOR) {
    return true;
  }
  const uint32_t root = etx_method_tensor_of(method, other)->root;
  if (root == ETX_NO_INDEX) return true;
  const uint32_t block = etx_scratch_block_of(method, &method->tensors[root]);
  // Compacted scratch shares no bytes with other memory.
  if (block == ETX_NO_INDEX) return true;
  const etx_block_relation relation =
      etx_scratch_relation(method, own_block(method, output), block);
  return relation == ETX_BLOCKS_APART ||
         (relation == ETX_BLOCKS_TOGETHER &&
          own_block(method, other) == block &&
          etx_dtype_bytes(other->as.tensor.dtype) ==
              etx_dtype_bytes(output->as.tensor.dtype) &&
          have_same_sizes(b, output, other));
}

static bool is_apart(program_builder* b, const etx_method_record* record) {
  for (uint64_t left = record->written; left != 0; left &= left - 1) {
    const etx_value* const output =
        record->call.arguments[__builtin_ctzll(left)];
    if (output->kind != ETX_VALUE_TENSOR ||
        own_block(b->method, output) == ETX_NO_INDEX) {
      return false;
    }
    for (size_t i = 0; i < record->call.argument_count; ++i) {
      etx_value_span values = etx_call_argument_values(&record->call, i);
      for (; values.at != values.end; ++values.at) {
        if (!is_apart_from(b, output, *values.at)) return false;
      }
    }
  }
  return true;
}

static bool slot_has_early_root(program_builder* b) {
  const uint32_t slot = b->record->slot;
  return slot == ETX_NO_INDEX || has_early_root(b, &b->method->values[slot]);
}

static void join_records(program_builder* b) {
  etx_method* const method = b->method;
  for (size_t i = 0; i < method->record_count; ++i) {
    etx_size_record* const row = &method->sizes.records[i];
    b->record = &method->records[i];
    *row = (etx_size_record){(uint32_t)i, false, false, false, false};
    if (b->record->kind != ETX_RECORD_KERNEL || !is_ahead(b->record)) continue;
    const etx_call* const call = &b->record->call;
    row->has_fixed_numbers = hold_for_all(b, call, is_fixed_number);
    row->is_fixed =
        row->has_fixed_numbers && hold_for_all(b, call, has_fixed_sizes);
    row->leader = find_leader(b, i);
    row->has_late_roots =
        etx_method_has_flow(method) &&
        (!hold_for_all(b, call, has_early_root) || !slot_has_early_root(b));
    if (row->has_late_roots) continue;
    row->may_be_idle =
        may_be_joined(b, b->record) || may_write_nothing(b, b->record);
    if (!row->may_be_idle && is_apart(b, b->record)) {
      method->records[i].is_apart = true;
    }
  }
}

static bool build(etx_method* method) {
  etx_size_program* const program = &method->sizes;
  program_builder b = {method, method->records, {0}, {0}, 0, false};
  b.table = (etx_size_table){program->expressions, program->expression_room, 0};
  b.math = etx_size_table_math(&b.table);
  memset(program->numbers, NUMBER_IS_UNKNOWN, program->number_count);
  for (size_t i = 0; i < program->tensor_count; ++i) {
    program->tensors[i] = (etx_size_tensor){0, 0, 0, ETX_NO_INDEX, 0, 0};
  }
  if (add_symbols(&b) != ETX_OK || read_inputs(&b) != ETX_OK ||
      read_records(&b) != ETX_OK) {
    return false;
  }
  join_tensors(&b);
  link_tensors(method);
  join_records(&b);
  program->expression_count = b.table.count;
  program->flow = method->flow;
  return true;
}

void etx_size_program_build(etx_method* method) {
  etx_size_program* const program = &method->sizes;
  // The first phase is that of loading: a method that is always called with one
  // size should not pay for others.
  if (program->is_tried || program->expression_room == 0 ||
      method->phases < 2 || method->record_count == 0 ||
      (method->flow & ETX_FLOW_ALL_LATE) != 0) {
    return;
  }
  program->is_tried = true;
  program->is_used = build(method);
}
