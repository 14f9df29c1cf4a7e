// Values of an execution plan: tensors at their planned offsets, and scalars
// and lists of the types that the operators' schemas state. A value gets its
// slot at its first use. Equal immutable scalars and lists share a slot; slots
// that instructions write are not shared.

#include "exporter/emit/emit_internal.h"
#include "exporter/placement/view_rules.h"
#include "format/base/checked_math.h"
#include "format/pte/reserved_names.h"

// ---------------------------------------------------------------- tensors

// Finds another value with the same bytes and the same type, whose tensor can
// be used instead.
static bool find_equal(const etx_emit_method* m, uint32_t value,
                       uint32_t* out_equal) {
  const etx_placement* const placement = m->placement;
  const etx_value_placement* const place = &placement->values[value];
  const etx_storage_range range = etx_placement_range(placement, value);
  const uint32_t external = m->external_of_storage[range.storage];
  if (external != ETX_IR_NONE && external != value && range.start == 0 &&
      etx_value_view_same_shape(m->method, value, external)) {
    *out_equal = external;
    return true;
  }
  const bool has_own_header = place->kind == ETX_PLACEMENT_DYNAMIC_VIEW ||
                              place->kind == ETX_PLACEMENT_DYNAMIC_PART ||
                              place->kind == ETX_PLACEMENT_DYNAMIC_SIZE;
  if (!etx_placement_kind_is_root(place->kind) && !has_own_header &&
      place->delta == 0 &&
      etx_value_view_same_shape(m->method, value, place->base)) {
    *out_equal = place->base;
    return true;
  }
  // A view of a part of a state, and the new content that is computed in place
  // in that part, use one tensor.
  for (size_t i = 0; i < m->part_count; ++i) {
    const uint32_t part = m->parts[i];
    if (!has_own_header && etx_placement_has_fixed_offset(placement, value) &&
        etx_storage_range_equal(range, etx_placement_range(placement, part)) &&
        etx_value_view_same_shape(m->method, value, part)) {
      *out_equal = part;
      return true;
    }
  }
  return false;
}

static etx_status set_type(etx_emit_method* m, uint32_t value,
                           etx_pte_tensor* tensor) {
  const etx_shape* const shape = &m->method->values[value].shape;
  int64_t upper[ETX_MAX_RANK];
  int32_t* const sizes =
      etx_pool_take(m->emit->pool, shape->rank * sizeof *sizes);
  uint8_t* const order = etx_pool_take(m->emit->pool, shape->rank);
  if (sizes == NULL || order == NULL) return ETX_OUT_OF_MEMORY;
  if (!etx_ir_upper_sizes(m->method, shape, upper)) return ETX_OUT_OF_RANGE;
  for (size_t i = 0; i < shape->rank; ++i) {
    if (upper[i] > INT32_MAX) {
      return etx_diag_fail(m->emit->diag, ETX_OUT_OF_RANGE,
                           "method '%t': a size of '%t' can be %i, more than "
                           "the 2147483647 that a program file can store",
                           m->method->name, m->method->values[value].name,
                           upper[i]);
    }
    sizes[i] = (int32_t)upper[i];
    order[i] = (uint8_t)i;
  }
  // The planner checks the sizes of scratch, but not those of inputs.
  uint64_t bytes = 0;
  if (!etx_ir_upper_bytes(m->method, shape, &bytes) || bytes > INT64_MAX) {
    return etx_diag_fail(m->emit->diag, ETX_OUT_OF_RANGE,
                         "method '%t': '%t' can have more than 2^63 - 1 bytes",
                         m->method->name, m->method->values[value].name);
  }
  tensor->dtype = shape->dtype;
  tensor->rank = shape->rank;
  tensor->sizes = sizes;
  tensor->dim_order = order;
  tensor->dynamism =
      etx_ir_is_static(shape) ? ETX_PTE_STATIC : ETX_PTE_DYNAMIC_BOUND;
  return ETX_OK;
}

static uint64_t state_offset(const etx_emit* emit, uint32_t buffer) {
  const etx_state_layout* const layout = emit->program->layout;
  size_t i = 0;
  while (layout->buffers[i] != buffer) ++i;
  return layout->offsets[i];
}

static etx_status set_memory(etx_emit_method* m, uint32_t value,
                             etx_pte_tensor* tensor) {
  const etx_storage_range range = etx_placement_range(m->placement, value);
  const etx_storage* const storage = &m->placement->storages[range.storage];
  // Only the run knows the address of a part whose offset depends on sizes.
  if (!etx_placement_has_fixed_offset(m->placement, value)) return ETX_OK;
  switch (storage->kind) {
    case ETX_STORAGE_SCRATCH:
      tensor->has_allocation = true;
      tensor->memory_id = etx_memory_arena_of(storage->memory);
      tensor->memory_offset = storage->offset + range.start;
      break;
    case ETX_STORAGE_STATE:
      tensor->has_allocation = true;
      tensor->memory_id = ETX_MEMORY_STATE;
      tensor->memory_offset =
          state_offset(m->emit, storage->index) + range.start;
      if (m->placement->values[value].kind == ETX_PLACEMENT_EXTERNAL) {
        tensor->name = m->emit->module->buffers[storage->index].name;
      }
      break;
    case ETX_STORAGE_CONSTANT:
      // A view that is set up at run time starts as the whole constant.
      if (m->placement->values[value].kind == ETX_PLACEMENT_DYNAMIC_VIEW) {
        return etx_emit_constant(m->emit, storage->index, 0, storage->bytes,
                                 &tensor->data_buffer_index);
      }
      return etx_emit_constant(m->emit, storage->index, range.start,
                               range.end - range.start,
                               &tensor->data_buffer_index);
    case ETX_STORAGE_INPUT:
      break;  // the caller sets the address at run time
  }
  return ETX_OK;
}

static etx_status add_view(etx_emit_method* m, uint32_t index, uint32_t base,
                           uint64_t delta) {
  uint32_t base_index = 0;
  ETX_TRY(etx_emit_tensor(m, base, &base_index));
  ETX_TRY(etx_pool_grow(m->emit->pool, &m->views, m->view_count,
                        &m->view_capacity, sizeof *m->views));
  m->views[m->view_count++] = (etx_blob_view){index, base_index, delta};
  return ETX_OK;
}

bool etx_emit_has_dynamic_parts(const etx_emit_method* m, uint32_t concat) {
  if (m->placement->values[concat].kind != ETX_PLACEMENT_CONCAT) return false;
  const etx_ir_node* const node =
      &m->method->nodes[m->method->values[concat].index];
  uint64_t delta = 0;
  const uint32_t root = etx_placement_root(
      m->placement, node->args[0].as.list.items[0].as.value, &delta);
  return m->placement->values[root].part_of == concat + 1;
}

// Describes a concatenation without an instruction: one row for each operand.
static etx_status describe_concat(etx_emit_method* m, uint32_t value,
                                  uint32_t index) {
  const etx_ir_node* const node =
      &m->method->nodes[m->method->values[value].index];
  uint64_t delta = 0;
  for (size_t i = 0; i < node->args[0].as.list.count; ++i) {
    const uint32_t part = node->args[0].as.list.items[i].as.value;
    ETX_TRY(add_view(m, index, part, delta));
    delta += m->placement->values[part].bytes;
  }
  return ETX_OK;
}

// Describes an alias for readers of the blob: a value that shows bytes of
// another value, or that is a part of a state.
static etx_status describe_view(etx_emit_method* m, uint32_t value,
                                uint32_t index) {
  const etx_storage_range range = etx_placement_range(m->placement, value);
  const etx_storage* const storage = &m->placement->storages[range.storage];
  const etx_placement_kind kind = m->placement->values[value].kind;
  if (kind == ETX_PLACEMENT_CONCAT) {
    // Instructions give the parts their places if those are dynamic.
    return etx_emit_has_dynamic_parts(m, value)
               ? ETX_OK
               : describe_concat(m, value, index);
  }
  if (kind == ETX_PLACEMENT_EXTERNAL || kind == ETX_PLACEMENT_DYNAMIC_VIEW ||
      kind == ETX_PLACEMENT_DYNAMIC_PART ||
      storage->kind == ETX_STORAGE_CONSTANT) {
    return ETX_OK;
  }
  uint64_t delta = 0;
  uint32_t base = etx_placement_root(m->placement, value, &delta);
  const uint32_t updated = m->placement->values[value].base;
  if (base == value && updated != ETX_IR_NONE) {
    base = etx_placement_root(m->placement, updated, &delta);
    delta = range.start - m->placement->values[base].offset;
  }
  if (etx_storage_is_tracked(storage)) {
    base = m->external_of_storage[range.storage];
    delta = range.start;
    ETX_TRY(etx_pool_grow(m->emit->pool, &m->parts, m->part_count,
                          &m->part_capacity, sizeof value));
    m->parts[m->part_count++] = value;
  }
  return base == value ? ETX_OK : add_view(m, index, base, delta);
}

static etx_status note_scratch(etx_emit_method* m, uint32_t value,
                               uint32_t index) {
  const etx_storage_range range = etx_placement_range(m->placement, value);
  ETX_TRY(etx_pool_grow(m->emit->pool, &m->scratch, m->scratch_count,
                        &m->scratch_capacity, sizeof *m->scratch));
  m->scratch[m->scratch_count++] =
      (etx_emit_scratch){index, range.storage, range.start};
  return ETX_OK;
}

etx_status etx_emit_tensor(etx_emit_method* m, uint32_t value,
                           uint32_t* out_index) {
  if (m->index_of_value[value] != ETX_IR_NONE) {
    *out_index = m->index_of_value[value];
    return ETX_OK;
  }
  uint32_t equal = m->tensor_of[value];
  if (equal != value || find_equal(m, value, &equal)) {
    ETX_TRY(etx_emit_tensor(m, equal, out_index));
    m->index_of_value[value] = *out_index;
    return ETX_OK;
  }
  etx_pte_value out = {.kind = ETX_PTE_TENSOR};
  ETX_TRY(set_type(m, value, &out.as.tensor));
  ETX_TRY(set_memory(m, value, &out.as.tensor));
  ETX_TRY(etx_emit_value(m, &out, out_index));
  m->index_of_value[value] = *out_index;
  if (out.as.tensor.has_allocation &&
      out.as.tensor.memory_id == ETX_MEMORY_SCRATCH) {
    ETX_TRY(note_scratch(m, value, *out_index));
  }
  return describe_view(m, value, *out_index);
}

etx_status etx_emit_callers_tensor(etx_emit_method* m, uint32_t value,
                                   uint32_t* out_index) {
  etx_pte_value out = {.kind = ETX_PTE_TENSOR};
  ETX_TRY(set_type(m, value, &out.as.tensor));
  return etx_emit_value(m, &out, out_index);
}

// ---------------------------------------------------------------- scalars

static etx_status emit_double(etx_emit_method* m, double real,
                              uint32_t* out_index) {
  const etx_pte_value value = {.kind = ETX_PTE_DOUBLE, .as.real = real};
  return etx_emit_shared(m, &value, out_index);
}

static etx_status emit_bool(etx_emit_method* m, bool boolean,
                            uint32_t* out_index) {
  const etx_pte_value value = {.kind = ETX_PTE_BOOL, .as.boolean = boolean};
  return etx_emit_shared(m, &value, out_index);
}

etx_status etx_emit_any(etx_emit_method* m, const etx_ir_arg* arg,
                        uint32_t* out_index) {
  etx_pte_value value = {.kind = ETX_PTE_STRING};
  switch (arg->kind) {
    case ETX_IR_ARG_NONE:
      return etx_emit_null(m, out_index);
    case ETX_IR_ARG_VALUE:
      return etx_emit_tensor(m, arg->as.value, out_index);
    case ETX_IR_ARG_INT:
      return etx_emit_integer(m, arg->as.integer, out_index);
    case ETX_IR_ARG_DOUBLE:
      return emit_double(m, arg->as.real, out_index);
    case ETX_IR_ARG_BOOL:
      return emit_bool(m, arg->as.boolean, out_index);
    case ETX_IR_ARG_DTYPE:
      return etx_emit_int(m, arg->as.dtype, out_index);
    case ETX_IR_ARG_STRING:
      value.as.string = arg->as.string;
      return etx_emit_shared(m, &value, out_index);
    case ETX_IR_ARG_LIST:
      break;
  }
  return etx_diag_fail(m->emit->diag, ETX_INTERNAL,
                       "method '%t': expected a single value, found a list",
                       m->method->name);
}

// ---------------------------------------------------------------- lists

etx_status etx_emit_tensor_list(etx_emit_method* m, const uint32_t* indices,
                                size_t count, uint32_t* out_index) {
  int32_t* const items = etx_pool_take(m->emit->pool, count * sizeof *items);
  if (items == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < count; ++i) items[i] = (int32_t)indices[i];
  const etx_pte_value value = {.kind = ETX_PTE_TENSOR_LIST,
                               .as.tensors = {items, count}};
  return etx_emit_value(m, &value, out_index);
}

static etx_status emit_tensors(etx_emit_method* m, const etx_ir_arg* arg,
                               bool optional, uint32_t* out_index) {
  const size_t count = arg->as.list.count;
  int32_t* const items = etx_pool_take(m->emit->pool, count * sizeof *items);
  if (items == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < count; ++i) {
    const etx_ir_arg* const item = &arg->as.list.items[i];
    uint32_t index = 0;
    items[i] = -1;
    if (item->kind == ETX_IR_ARG_NONE && optional) continue;
    ETX_TRY(etx_emit_any(m, item, &index));
    items[i] = (int32_t)index;
  }
  const etx_pte_value value = {
      .kind = optional ? ETX_PTE_OPTIONAL_TENSOR_LIST : ETX_PTE_TENSOR_LIST,
      .as.tensors = {items, count}};
  return etx_emit_value(m, &value, out_index);
}

static etx_status emit_ints(etx_emit_method* m, const etx_argument* argument,
                            const etx_ir_arg* arg, uint32_t* out_index) {
  // A single integer is repeated for all items of an int[2].
  const bool is_list = arg->kind == ETX_IR_ARG_LIST;
  const size_t fixed = argument->fixed_count == 0 ? 1 : argument->fixed_count;
  const size_t count = is_list ? arg->as.list.count : fixed;
  int64_t* const items = etx_pool_take(m->emit->pool, count * sizeof *items);
  if (items == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < count; ++i) {
    uint32_t index = 0;
    ETX_TRY(etx_emit_any(m, is_list ? &arg->as.list.items[i] : arg, &index));
    items[i] = index;
  }
  const etx_pte_value value = {.kind = ETX_PTE_INT_LIST,
                               .as.integers = {items, count}};
  return etx_emit_shared(m, &value, out_index);
}

static double real_of(const etx_ir_arg* arg) {
  switch (arg->kind) {
    case ETX_IR_ARG_INT:
      return (double)arg->as.integer;
    case ETX_IR_ARG_BOOL:
      return arg->as.boolean;
    default:
      return arg->as.real;
  }
}

static etx_status emit_reals(etx_emit_method* m, const etx_ir_arg* arg,
                             uint32_t* out_index) {
  const size_t count = arg->as.list.count;
  double* const items = etx_pool_take(m->emit->pool, count * sizeof *items);
  if (items == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < count; ++i) items[i] = real_of(&arg->as.list.items[i]);
  const etx_pte_value value = {.kind = ETX_PTE_DOUBLE_LIST,
                               .as.reals = {items, count}};
  return etx_emit_value(m, &value, out_index);
}

static etx_status emit_booleans(etx_emit_method* m, const etx_ir_arg* arg,
                                uint32_t* out_index) {
  const size_t count = arg->as.list.count;
  uint8_t* const items = etx_pool_take(m->emit->pool, count);
  if (items == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < count; ++i) {
    items[i] = real_of(&arg->as.list.items[i]) != 0;
  }
  const etx_pte_value value = {.kind = ETX_PTE_BOOL_LIST,
                               .as.booleans = {items, count}};
  return etx_emit_value(m, &value, out_index);
}

// The placeholder for None in a required tensor argument: an empty tensor.
static etx_status emit_no_tensor(etx_emit_method* m, uint32_t* out_index) {
  static const int32_t sizes[1] = {0};
  static const uint8_t order[1] = {0};
  const etx_pte_value value = {.kind = ETX_PTE_TENSOR,
                               .as.tensor = {.dtype = ETX_DTYPE_UINT8,
                                             .rank = 1,
                                             .sizes = sizes,
                                             .dim_order = order}};
  return etx_emit_value(m, &value, out_index);
}

static bool is_number(const etx_ir_arg* arg) {
  return arg->kind == ETX_IR_ARG_BOOL ||
         (arg->kind == ETX_IR_ARG_INT && etx_dim_is_number(arg->as.integer));
}

etx_status etx_emit_argument(etx_emit_method* m, const etx_argument* argument,
                             const etx_ir_arg* arg, uint32_t* out_index) {
  if (arg->kind == ETX_IR_ARG_NONE) {
    return argument->type == ETX_ARGUMENT_TENSOR && !argument->optional
               ? emit_no_tensor(m, out_index)
               : etx_emit_null(m, out_index);
  }
  const bool is_list = arg->kind == ETX_IR_ARG_LIST;
  switch (argument->type) {
    case ETX_ARGUMENT_INTS:
      return emit_ints(m, argument, arg, out_index);
    case ETX_ARGUMENT_TENSORS:
      if (is_list) return emit_tensors(m, arg, false, out_index);
      break;
    case ETX_ARGUMENT_OPTIONAL_TENSORS:
      if (is_list) return emit_tensors(m, arg, true, out_index);
      break;
    case ETX_ARGUMENT_FLOATS:
      if (is_list) return emit_reals(m, arg, out_index);
      break;
    case ETX_ARGUMENT_BOOLS:
      if (is_list) return emit_booleans(m, arg, out_index);
      break;
    case ETX_ARGUMENT_FLOAT:
      if (is_number(arg)) return emit_double(m, real_of(arg), out_index);
      break;
    case ETX_ARGUMENT_BOOL:
      if (is_number(arg)) return emit_bool(m, real_of(arg) != 0, out_index);
      break;
    case ETX_ARGUMENT_INT:
      if (arg->kind == ETX_IR_ARG_BOOL) {
        return etx_emit_int(m, arg->as.boolean, out_index);
      }
      break;
    default:
      break;
  }
  return etx_emit_any(m, arg, out_index);
}
