// A slice of a contiguous tensor is contiguous if every dimension before the
// sliced one has size 1. Its offset is the index times the bytes of the
// dimensions behind: a number, or an expression over sizes.

#include "exporter/placement/view_rules.h"

#include "format/base/checked_math.h"

typedef enum rule {
  NO_VIEW,
  IDENTITY,
  RESHAPE,
  PERMUTE,
  EXPAND,
  SELECT,
  SLICE,
  PIECES,
  COPY,
} rule;

static rule rule_of(const etx_op* op) {
  switch (op->id) {
#define VIEW(symbol, name) \
  case ETX_OP_##symbol:    \
    return name;
#include "exporter/placement/view_rules.def"
#undef VIEW
    default:
      return NO_VIEW;
  }
}

static const etx_shape* shape_of(const etx_ir_method* method, uint32_t value) {
  return &method->values[value].shape;
}

static bool same_dims(const etx_ir_method* method, const etx_shape* a,
                      const etx_shape* b) {
  if (a->rank != b->rank) return false;
  for (size_t i = 0; i < a->rank; ++i) {
    if (!etx_symbols_equal(&method->symbols, a->dims[i], b->dims[i])) {
      return false;
    }
  }
  return true;
}

bool etx_value_view_same_shape(const etx_ir_method* method, uint32_t a,
                               uint32_t b) {
  const etx_shape* const x = shape_of(method, a);
  const etx_shape* const y = shape_of(method, b);
  return x->dtype == y->dtype && same_dims(method, x, y);
}

static bool is_one(etx_dim dim) { return dim == 1; }

// Sizes without those that are 1.
static etx_shape without_ones(const etx_shape* shape) {
  etx_shape out = {.dtype = shape->dtype};
  for (size_t i = 0; i < shape->rank; ++i) {
    if (!is_one(shape->dims[i])) out.dims[out.rank++] = shape->dims[i];
  }
  return out;
}

static bool read_int(const etx_ir_node* node, size_t argument,
                     int64_t* out_value) {
  if (argument >= node->arg_count) return false;
  const etx_ir_arg* const arg = &node->args[argument];
  if (arg->kind != ETX_IR_ARG_INT || !etx_dim_is_number(arg->as.integer)) {
    return false;
  }
  *out_value = arg->as.integer;
  return true;
}

static bool read_dimension(const etx_ir_node* node, size_t argument,
                           uint8_t rank, size_t* out_dimension) {
  int64_t dimension = 0;
  if (!read_int(node, argument, &dimension)) return false;
  if (dimension < 0) dimension += rank;
  if (dimension < 0 || dimension >= rank) return false;
  *out_dimension = (size_t)dimension;
  return true;
}

// True if the dimensions of other sizes than 1 keep their order.
static bool keeps_order(const etx_shape* shape, const size_t* order) {
  size_t last = 0;
  for (size_t i = 0; i < shape->rank; ++i) {
    if (is_one(shape->dims[order[i]])) continue;
    if (order[i] + 1 <= last) return false;
    last = order[i] + 1;
  }
  return true;
}

static bool permute_keeps_order(const etx_ir_node* node,
                                const etx_shape* shape) {
  size_t order[ETX_MAX_RANK];
  for (size_t i = 0; i < shape->rank; ++i) order[i] = i;
  if (node->op->id == ETX_OP_t_copy_out) {
    if (shape->rank == 2) order[0] = 1, order[1] = 0;
  } else if (node->op->id == ETX_OP_transpose_copy_int_out) {
    size_t a = 0;
    size_t b = 0;
    if (shape->rank == 0) return true;
    if (!read_dimension(node, 1, shape->rank, &a) ||
        !read_dimension(node, 2, shape->rank, &b)) {
      return false;
    }
    order[a] = b;
    order[b] = a;
  } else {
    const etx_ir_arg* const dims = &node->args[1];
    if (dims->kind != ETX_IR_ARG_LIST || dims->as.list.count != shape->rank) {
      return false;
    }
    for (size_t i = 0; i < shape->rank; ++i) {
      const etx_dim dim = dims->as.list.items[i].as.integer;
      order[i] = (size_t)(dim < 0 ? dim + shape->rank : dim);
      if (order[i] >= shape->rank) return false;
    }
  }
  return keeps_order(shape, order);
}

// True if every dimension in front of `dimension` has size 1.
static bool is_outermost(const etx_shape* shape, size_t dimension) {
  for (size_t i = 0; i < dimension; ++i) {
    if (!is_one(shape->dims[i])) return false;
  }
  return true;
}

// The offset of index `index` of `dimension`, in bytes. False if it depends on
// symbols.
static bool fixed_offset(const etx_shape* shape, size_t dimension,
                         etx_dim index, uint64_t* out_delta) {
  *out_delta = 0;
  if (index == 0) return true;
  if (!etx_dim_is_number(index) || index < 0) return false;
  uint64_t inner = etx_dtype_bytes(shape->dtype);
  for (size_t i = dimension + 1; i < shape->rank; ++i) {
    if (!etx_dim_is_number(shape->dims[i])) return false;
    if (!etx_multiply_u64(inner, (uint64_t)shape->dims[i], &inner)) {
      return false;
    }
  }
  return etx_multiply_u64(inner, (uint64_t)index, out_delta);
}

// True if the offset of `index` is not negative and depends on sizes, but not
// on data.
static bool depends_on_sizes(const etx_symbols* symbols, const etx_shape* shape,
                             size_t dimension, etx_dim index) {
  int64_t low = 0, high = 0;
  uint64_t late = etx_symbols_late_in(symbols, index);
  for (size_t i = dimension + 1; i < shape->rank; ++i) {
    late |= etx_symbols_late_in(symbols, shape->dims[i]);
  }
  etx_symbols_bounds(symbols, index, &low, &high);
  return late == 0 && low >= 0;
}

// Where index `index` of `dimension` starts. False if the slice from there on
// is not contiguous, or if the offset depends on data.
static bool part_offset(const etx_symbols* symbols, const etx_shape* shape,
                        size_t dimension, etx_dim index, etx_value_view* view) {
  view->dimension = dimension;
  view->index = index;
  view->has_dynamic_offset =
      !fixed_offset(shape, dimension, index, &view->delta);
  if (view->has_dynamic_offset) view->delta = 0;
  return is_outermost(shape, dimension) &&
         (!view->has_dynamic_offset ||
          depends_on_sizes(symbols, shape, dimension, index));
}

// An index or a slice bound, counted from the front.
static bool read_index(const etx_ir_node* node, size_t argument,
                       etx_dim dimension_size, etx_dim* out_index) {
  if (argument >= node->arg_count) return false;
  const etx_ir_arg* const arg = &node->args[argument];
  *out_index = 0;
  if (arg->kind == ETX_IR_ARG_NONE) return true;
  if (arg->kind != ETX_IR_ARG_INT) return false;
  *out_index = arg->as.integer;
  if (!etx_dim_is_number(*out_index) || *out_index >= 0) return true;
  if (!etx_dim_is_number(dimension_size)) return false;
  *out_index += dimension_size;
  return *out_index >= 0;
}

// Offset of a SELECT, SLICE or scatter whose dimension is argument `argument`.
static bool find_part(const etx_ir_method* method, const etx_ir_node* node,
                      const etx_shape* shape, size_t argument,
                      etx_value_view* view) {
  size_t dimension = 0;
  etx_dim index = 0;
  if (!read_dimension(node, argument, shape->rank, &dimension)) return false;
  if (!read_index(node, argument + 1, shape->dims[dimension], &index)) {
    return false;
  }
  return part_offset(&method->symbols, shape, dimension, index, view);
}

static bool steps_by_one(const etx_ir_node* node, size_t argument) {
  int64_t by = 1;
  return argument >= node->arg_count ||
         (read_int(node, argument, &by) && by == 1);
}

// Output `output` of a split or unbind.
static bool find_split_part(const etx_ir_method* method,
                            const etx_ir_node* node, const etx_shape* shape,
                            size_t output, etx_value_view* view) {
  const bool unbinds = node->op->id == ETX_OP_unbind_copy_int_out;
  size_t dimension = 0;
  if (!read_dimension(node, unbinds ? 1 : 2, shape->rank, &dimension)) {
    return false;
  }
  int64_t index = 0;
  for (size_t i = 0; i < output; ++i) {
    if (unbinds) {
      ++index;
      continue;
    }
    if (node->outputs[i] == ETX_IR_NONE) return false;
    const etx_dim size = shape_of(method, node->outputs[i])->dims[dimension];
    if (!etx_dim_is_number(size)) return false;
    index += size;
  }
  return part_offset(&method->symbols, shape, dimension, index, view);
}

// Whether output and base hold the same elements in the same order.
static bool has_all_elements(const etx_ir_method* method, rule kind,
                             const etx_ir_node* node, const etx_shape* from,
                             const etx_shape* to) {
  const etx_shape a = without_ones(from);
  const etx_shape b = without_ones(to);
  switch (kind) {
    case RESHAPE:
      return true;
    case PERMUTE:
      return permute_keeps_order(node, from);
    case IDENTITY:
    case COPY:
      return same_dims(method, from, to);
    default:
      return same_dims(method, &a, &b);
  }
}

// True if a part lies within its base at the upper bounds. What is known of
// sizes from data, and of the sizes of a part with a dynamic offset, may be
// less than what the model relies on. All other parts fit.
static bool part_fits(const etx_ir_method* method, const etx_shape* base,
                      const etx_shape* part, const etx_value_view* view) {
  const uint64_t delta = view->delta;
  uint64_t late = 0, all = 0, bytes = 0;
  for (size_t i = 0; i < part->rank; ++i) {
    late |= etx_symbols_late_in(&method->symbols, part->dims[i]);
  }
  return (late == 0 && !view->has_dynamic_offset) ||
         (etx_ir_upper_bytes(method, base, &all) &&
          etx_ir_upper_bytes(method, part, &bytes) && delta <= all &&
          bytes <= all - delta);
}

static bool find_view(const etx_ir_method* method, const etx_ir_node* node,
                      size_t output, etx_value_view* out_view) {
  const rule kind = rule_of(node->op);
  const uint32_t result = node->outputs[output];
  if (kind == NO_VIEW || result == ETX_IR_NONE) return false;
  const etx_ir_arg* const arg = &node->args[kind == COPY ? 1 : 0];
  if (arg->kind != ETX_IR_ARG_VALUE) return false;
  const etx_shape* const from = shape_of(method, arg->as.value);
  const etx_shape* const to = shape_of(method, result);
  if (from->dtype != to->dtype) return false;
  *out_view = (etx_value_view){.base = arg->as.value};
  out_view->all_elements = has_all_elements(method, kind, node, from, to);
  if (out_view->all_elements) return true;
  switch (kind) {
    case SELECT:
      return find_part(method, node, from, 1, out_view);
    case SLICE:
      return steps_by_one(node, 4) &&
             find_part(method, node, from, 1, out_view);
    case PIECES:
      return find_split_part(method, node, from, output, out_view);
    default:
      return false;
  }
}

bool etx_value_view_find(const etx_ir_method* method, const etx_ir_node* node,
                         size_t output, etx_value_view* out_view) {
  // A node that sets a symbol must run.
  if (node->late != 0 || !find_view(method, node, output, out_view)) {
    return false;
  }
  return part_fits(method, shape_of(method, out_view->base),
                   shape_of(method, node->outputs[output]), out_view);
}

bool etx_value_view_find_scatter(const etx_ir_method* method,
                                 const etx_ir_node* node,
                                 etx_value_view* out_view) {
  const bool slices = node->op->id == ETX_OP_slice_scatter_out;
  if (!slices && node->op->id != ETX_OP_select_scatter_out) return false;
  const etx_shape* const self = shape_of(method, node->args[0].as.value);
  const etx_shape* const source = shape_of(method, node->args[1].as.value);
  if (self->dtype != source->dtype) return false;
  if (slices && !steps_by_one(node, 5)) return false;
  *out_view = (etx_value_view){.base = node->args[0].as.value};
  return find_part(method, node, self, 2, out_view) &&
         !out_view->has_dynamic_offset &&
         part_fits(method, self, source, out_view);
}

// True if the result of a SELECT, SLICE or PIECES is contiguous in its
// argument, whatever its offset.
static bool is_contiguous_part(const etx_ir_node* node, const etx_shape* from) {
  const bool splits = node->op->id == ETX_OP_split_copy_tensor_out ||
                      node->op->id == ETX_OP_split_with_sizes_copy_out;
  size_t dimension = 0;
  return read_dimension(node, splits ? 2 : 1, from->rank, &dimension) &&
         is_outermost(from, dimension) &&
         (node->op->id != ETX_OP_slice_copy_tensor_out ||
          steps_by_one(node, 4));
}

const char* etx_value_view_obstacle(const etx_ir_method* method,
                                    const etx_ir_node* node) {
  if (node->arg_count == 0 || node->args[0].kind != ETX_IR_ARG_VALUE) {
    return NULL;
  }
  const etx_shape* const from = shape_of(method, node->args[0].as.value);
  switch (rule_of(node->op)) {
    case SELECT:
    case SLICE:
    case PIECES:
      return is_contiguous_part(node, from)
                 ? "the slice starts at a dynamic offset"
                 : "the slice is not contiguous";
    case PERMUTE:
      return "the permute reorders its elements";
    case EXPAND:
      // Broadcasting one element is not worth a note.
      return without_ones(from).rank == 0 ? NULL
                                          : "the expand repeats its elements";
    default:
      return NULL;
  }
}
