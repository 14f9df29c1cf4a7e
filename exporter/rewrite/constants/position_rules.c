#include "exporter/rewrite/constants/position_rules.h"

#include <math.h>

static const etx_shape* shape_of(const etx_ir_method* method,
                                 const etx_ir_arg* arg) {
  return &method->values[arg->as.value].shape;
}

static bool is_number(const etx_ir_arg* arg) {
  return arg->kind != ETX_IR_ARG_INT || etx_dim_is_number(arg->as.integer);
}

static bool dims_hold(const etx_ir_node* node) {
  for (size_t i = 1; i < node->arg_count; ++i) {
    if (!is_number(&node->args[i])) return false;
  }
  return true;
}

// A dimension argument, counted from the front.
static bool read_axis(const etx_ir_arg* arg, size_t rank, size_t* out_axis) {
  if (arg->kind != ETX_IR_ARG_INT || !is_number(arg)) return false;
  const etx_dim axis =
      arg->as.integer < 0 ? arg->as.integer + (etx_dim)rank : arg->as.integer;
  *out_axis = (size_t)axis;
  return axis >= 0 && axis < (etx_dim)rank;
}

// ------------------------------------------------ elementwise

static bool is_elementwise(const etx_op* op) {
  return op->in_place == ETX_IN_PLACE_ELEMENTWISE &&
         op->id != ETX_OP_prelu_out &&
         (op->shape == etx_shape_same || op->shape == etx_shape_same_float ||
          op->shape == etx_shape_same_bool ||
          op->shape == etx_shape_magnitude || op->shape == etx_shape_cast ||
          op->shape == etx_shape_clamp || op->shape == etx_shape_clamp_tensor ||
          op->shape == etx_shape_broadcast ||
          op->shape == etx_shape_broadcast_bool ||
          op->shape == etx_shape_broadcast_float ||
          op->shape == etx_shape_broadcast_three ||
          op->shape == etx_shape_divide_mode || op->shape == etx_shape_where ||
          op->shape == etx_shape_masked_fill);
}

// True if each dimension of the operand is one of the result, or has size 1
// and is repeated.
static bool broadcasts_to(const etx_ir_method* method, const etx_shape* from,
                          const etx_shape* to) {
  if (from->rank > to->rank) return false;
  for (size_t i = 1; i <= from->rank; ++i) {
    const etx_dim dim = from->dims[from->rank - i];
    if (dim != 1 &&
        !etx_symbols_equal(&method->symbols, dim, to->dims[to->rank - i])) {
      return false;
    }
  }
  return true;
}

static bool elementwise_holds(const etx_ir_method* method,
                              const etx_ir_node* node, const etx_shape* to) {
  for (size_t i = 0; i < node->arg_count; ++i) {
    const etx_ir_arg* const arg = &node->args[i];
    if (!is_number(arg)) return false;
    if (arg->kind == ETX_IR_ARG_VALUE &&
        !broadcasts_to(method, shape_of(method, arg), to)) {
      return false;
    }
  }
  return true;
}

// ------------------------------------------------ views and slices

// True if a view leaves each dimension that varies as it is.
static bool view_holds(const etx_ir_method* method, const etx_shape* from,
                       const etx_shape* to) {
  size_t i = 0;
  size_t j = 0;
  while (i < from->rank || j < to->rank) {
    if (i < from->rank && from->dims[i] == 1) {
      ++i;
      continue;
    }
    if (j < to->rank && to->dims[j] == 1) {
      ++j;
      continue;
    }
    if (i == from->rank || j == to->rank) return false;
    etx_dim a = from->dims[i++];
    etx_dim b = to->dims[j++];
    if (!etx_dim_is_number(a) || !etx_dim_is_number(b)) {
      if (!etx_symbols_equal(&method->symbols, a, b)) return false;
      continue;
    }
    while (a != b) {
      const etx_dim next = a < b ? (i < from->rank ? from->dims[i++] : 0)
                                 : (j < to->rank ? to->dims[j++] : 0);
      if (!etx_dim_is_number(next) || next <= 0) return false;
      if (a < b) {
        a *= next;
      } else {
        b *= next;
      }
    }
  }
  return true;
}

// True if a slice starts at a fixed index, counted from the front.
static bool slice_holds(const etx_ir_node* node) {
  const etx_ir_arg* const start = &node->args[2];
  return is_number(&node->args[1]) && is_number(&node->args[4]) &&
         (start->kind == ETX_IR_ARG_NONE ||
          (is_number(start) && start->as.integer >= 0));
}

// True if all operands but the last have a fixed size along the dimension of
// the concatenation.
static bool cat_holds(const etx_ir_method* method, const etx_ir_node* node,
                      const etx_shape* to) {
  size_t axis = 0;
  const etx_ir_arg* const list = &node->args[0];
  if (!read_axis(&node->args[1], to->rank, &axis)) return false;
  for (size_t i = 0; i < list->as.list.count; ++i) {
    const etx_shape* const shape = shape_of(method, &list->as.list.items[i]);
    if (shape->rank != to->rank) return false;
    if (i + 1 < list->as.list.count && !etx_dim_is_number(shape->dims[axis])) {
      return false;
    }
  }
  return true;
}

// True if the numbers of an arange other than its end are fixed.
static bool arange_holds(const etx_ir_node* node) {
  return node->op->id == ETX_OP_arange_out ||
         (is_number(&node->args[0]) && is_number(&node->args[2]));
}

// True if a filled tensor has a fixed number.
static bool fill_holds(const etx_ir_node* node) {
  return node->arg_count < 2 || is_number(&node->args[1]);
}

// ------------------------------------------------ sizes at a position

// The least size of a dimension where an element of another tensor exists.
typedef struct size_floor {
  int64_t least;                // at all sizes
  int64_t above[ETX_MAX_RANK];  // by how much it exceeds dimension i of the
                                // other tensor, at least
  const int64_t* sizes;         // of the other tensor at the upper bounds
  size_t rank;
} size_floor;

static size_floor find_floor(etx_ir_method* method, etx_dim size,
                             const etx_shape* other, const int64_t* sizes) {
  size_floor out = {.sizes = sizes, .rank = other->rank};
  int64_t high = 0;
  etx_symbols_bounds(&method->symbols, size, &out.least, &high);
  for (size_t i = 0; i < other->rank; ++i) {
    etx_dim difference = 0;
    out.above[i] = INT64_MIN;
    if (etx_symbols_apply(&method->symbols, ETX_SYMBOL_SUBTRACT, size,
                          other->dims[i], &difference) == ETX_OK) {
      etx_symbols_bounds(&method->symbols, difference, &out.above[i], &high);
    }
  }
  return out;
}

// The least size where element `at` of the other tensor exists, whose
// dimension `skipped` does not count.
static int64_t floor_at(const size_floor* floor, size_t at, size_t skipped) {
  int64_t least = floor->least;
  for (size_t i = floor->rank; i-- > 0;) {
    const int64_t position = (int64_t)(at % (size_t)floor->sizes[i]);
    at /= (size_t)floor->sizes[i];
    if (i == skipped || floor->above[i] < -position) continue;
    const int64_t here = position + 1 + floor->above[i];
    if (here > least) least = here;
  }
  return least;
}

static size_t count_elements(const etx_ir_constant* constant) {
  return constant->data.size / etx_dtype_bytes(constant->dtype);
}

// ------------------------------------------------ reductions

// any() or all() along one dimension: true if the elements that exist at the
// least size decide each result.
static bool reduction_holds(etx_ir_method* method,
                            const etx_known_values* known,
                            const etx_ir_node* node) {
  const uint32_t self = node->args[0].as.value;
  const etx_ir_constant* const content = etx_known_content(known, self);
  const etx_shape* const shape = &method->values[self].shape;
  size_t axis = 0;
  if (content->dtype != ETX_DTYPE_BOOL ||
      !read_axis(&node->args[1], shape->rank, &axis)) {
    return false;
  }
  const bool decisive = node->op->id == ETX_OP_any_out;
  const size_floor floor =
      find_floor(method, shape->dims[axis], shape, content->sizes);
  const size_t size = (size_t)content->sizes[axis];
  size_t inner = 1;
  for (size_t i = axis + 1; i < shape->rank; ++i) {
    inner *= (size_t)content->sizes[i];
  }
  const size_t count = count_elements(content);
  for (size_t i = 0; i < count; ++i) {
    if (i / inner % size != 0) continue;
    size_t first = 0;
    while (first < size &&
           (content->data.data[i + first * inner] != 0) != decisive) {
      ++first;
    }
    if (first < size && (int64_t)first >= floor_at(&floor, i, axis)) {
      return false;
    }
  }
  return true;
}

// ------------------------------------------------ sums

// True if the elements are integers that all float sums of them hold exactly,
// in any order: a mask of ones, whose sums are positions.
static bool sums_are_exact(const etx_ir_constant* content) {
  static const double most = 1 << 24;  // float32 holds all integers up to it
  double sum = 0;
  if (content->dtype != ETX_DTYPE_FLOAT32) return false;
  for (size_t i = 0; i < count_elements(content); ++i) {
    float element = 0;
    memcpy(&element, content->data.data + i * sizeof element, sizeof element);
    if (!(fabsf(element) <= (float)most) || truncf(element) != element) {
      return false;
    }
    sum += (double)fabsf(element);
  }
  return sum <= most;
}

// Running sums. Sums of other floats may be rounded in another order where
// there are more.
static bool cumsum_holds(const etx_known_values* known, const etx_ir_node* node,
                         const etx_shape* to) {
  const etx_ir_constant* const content =
      etx_known_content(known, node->args[0].as.value);
  const bool is_integer =
      etx_dtype_category_of(to->dtype) == ETX_CATEGORY_INTEGER;
  return (is_integer ||
          (to->dtype == content->dtype && sums_are_exact(content))) &&
         dims_hold(node);
}

// ------------------------------------------------ products

// A matrix product of one column and one row: each element is one product,
// which has the same bits whatever the sizes are. Sums of several products may
// be computed in another order where there are more rows.
static bool product_holds(const etx_ir_method* method,
                          const etx_ir_node* node) {
  const etx_shape* const left = shape_of(method, &node->args[0]);
  return left->dims[left->rank - 1] == 1;
}

// ------------------------------------------------ indexing

static bool read_integer(const etx_ir_constant* constant, size_t at,
                         int64_t* out) {
  int32_t narrow = 0;
  if (constant->dtype == ETX_DTYPE_INT64) {
    memcpy(out, constant->data.data + at * sizeof *out, sizeof *out);
    return true;
  }
  if (constant->dtype != ETX_DTYPE_INT32) return false;
  memcpy(&narrow, constant->data.data + at * sizeof narrow, sizeof narrow);
  *out = narrow;
  return true;
}

// True if each index is inside of the dimension, counted from the front, at
// all sizes where the index exists. The evaluator checks fixed dimensions.
static bool index_holds(etx_ir_method* method, const etx_known_values* known,
                        uint32_t index, etx_dim size) {
  const etx_ir_constant* const content = etx_known_content(known, index);
  const etx_shape* const shape = &method->values[index].shape;
  int64_t number = 0;
  if (content->dtype != ETX_DTYPE_INT64 && content->dtype != ETX_DTYPE_INT32) {
    return false;
  }
  if (etx_dim_is_number(size)) return true;
  const size_floor floor = find_floor(method, size, shape, content->sizes);
  const size_t count = count_elements(content);
  for (size_t i = 0; i < count; ++i) {
    if (!read_integer(content, i, &number) || number < 0 ||
        number >= floor_at(&floor, i, ETX_MAX_RANK)) {
      return false;
    }
  }
  return true;
}

static bool index_list_holds(etx_ir_method* method,
                             const etx_known_values* known,
                             const etx_ir_node* node) {
  const etx_shape shape = *shape_of(method, &node->args[0]);
  const etx_ir_arg* const list = &node->args[1];
  for (size_t i = 0; i < list->as.list.count; ++i) {
    const etx_ir_arg* const item = &list->as.list.items[i];
    if (item->kind == ETX_IR_ARG_VALUE &&
        (i >= shape.rank ||
         !index_holds(method, known, item->as.value, shape.dims[i]))) {
      return false;
    }
  }
  return true;
}

// index_select, gather: an index along dimension `args[1]`.
static bool index_along_holds(etx_ir_method* method,
                              const etx_known_values* known,
                              const etx_ir_node* node) {
  const etx_shape* const shape = shape_of(method, &node->args[0]);
  size_t axis = 0;
  return read_axis(&node->args[1], shape->rank, &axis) &&
         index_holds(method, known, node->args[2].as.value, shape->dims[axis]);
}

// ------------------------------------------------ all rules

static bool select_holds(const etx_ir_node* node) {
  return dims_hold(node) && node->args[2].as.integer >= 0;
}

bool etx_position_rule_holds(etx_ir_method* method,
                             const etx_known_values* known,
                             const etx_ir_node* node) {
  const etx_shape* const to = &method->values[node->outputs[0]].shape;
  if (is_elementwise(node->op)) return elementwise_holds(method, node, to);
  switch (node->op->id) {
    case ETX_OP_arange_out:
    case ETX_OP_arange_start_out:
      return arange_holds(node);
    case ETX_OP_full_out:
    case ETX_OP_full_like_out:
    case ETX_OP_zeros_out:
    case ETX_OP_ones_out:
      return fill_holds(node);
    case ETX_OP_view_copy_out:
      return view_holds(method, shape_of(method, &node->args[0]), to);
    case ETX_OP_expand_copy_out:
      return broadcasts_to(method, shape_of(method, &node->args[0]), to);
    case ETX_OP_permute_copy_out:
    case ETX_OP_transpose_copy_int_out:
    case ETX_OP_t_copy_out:
      return dims_hold(node);
    case ETX_OP_cumsum_out:
      return cumsum_holds(known, node, to);
    case ETX_OP_slice_copy_tensor_out:
      return slice_holds(node);
    case ETX_OP_select_copy_int_out:
      return select_holds(node);
    case ETX_OP_cat_out:
      return cat_holds(method, node, to);
    case ETX_OP_any_out:
    case ETX_OP_all_out:
      return reduction_holds(method, known, node);
    case ETX_OP_bmm_out:
    case ETX_OP_mm_out:
      return product_holds(method, node);
    case ETX_OP_embedding_out:
      return index_holds(method, known, node->args[1].as.value,
                         shape_of(method, &node->args[0])->dims[0]);
    case ETX_OP_index_select_out:
    case ETX_OP_gather_out:
      return index_along_holds(method, known, node);
    case ETX_OP_index_tensor_out:
      return index_list_holds(method, known, node);
    default:
      return false;
  }
}

bool etx_position_rule_only_selects(const etx_ir_node* node) {
  switch (node->op->id) {
    case ETX_OP_full_out:
    case ETX_OP_full_like_out:
    case ETX_OP_zeros_out:
    case ETX_OP_ones_out:
    case ETX_OP_view_copy_out:
    case ETX_OP_expand_copy_out:
    case ETX_OP_slice_copy_tensor_out:
    case ETX_OP_select_copy_int_out:
      return true;
    default:
      return false;
  }
}

bool etx_position_rule_is_consecutive(const etx_ir_constant* constant) {
  int64_t first = 0;
  int64_t number = 0;
  if (constant->dtype != ETX_DTYPE_INT64 || constant->data.size == 0) {
    return false;
  }
  const size_t count = count_elements(constant);
  memcpy(&first, constant->data.data, sizeof first);
  for (size_t i = 1; i < count; ++i) {
    memcpy(&number, constant->data.data + i * sizeof number, sizeof number);
    if (number - first != (int64_t)i) return false;
  }
  return true;
}
