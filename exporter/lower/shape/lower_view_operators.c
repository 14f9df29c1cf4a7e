// Views: view, permute, expand, repeat. In the lowered IR every view is a copy
// operator; the pass alias_views turns those that can be into aliases.

#include "exporter/lower/builder/lowering_functions.h"

static uint32_t self_of(const etx_builder* builder) {
  return builder->args[0].as.value;
}

// The items of an int[] argument.
static etx_status read_dims(etx_builder* builder, const etx_ir_arg* arg,
                            etx_dim dims[ETX_MAX_RANK], size_t* out_count) {
  if (arg->kind != ETX_IR_ARG_LIST || arg->as.list.count > ETX_MAX_RANK) {
    return etx_diag_fail(builder->diag, ETX_BAD_ARGUMENT,
                         "tensors of more than %i dimensions are not supported",
                         (int64_t)ETX_MAX_RANK);
  }
  for (size_t i = 0; i < arg->as.list.count; ++i) {
    dims[i] = arg->as.list.items[i].as.integer;
  }
  *out_count = arg->as.list.count;
  return ETX_OK;
}

// Divides `total` by `part`; a remainder is refused.
static etx_status divide_exactly(etx_builder* builder, etx_dim total,
                                 etx_dim part, etx_dim* out) {
  etx_symbols* const symbols = &builder->method->symbols;
  etx_dim quotient = 0;
  etx_dim product = 0;
  ETX_TRY(etx_symbols_apply(symbols, ETX_SYMBOL_FLOOR_DIVIDE, total, part,
                            &quotient));
  ETX_TRY(etx_symbols_apply(symbols, ETX_SYMBOL_MULTIPLY, quotient, part,
                            &product));
  if (etx_dim_is_number(product) && etx_dim_is_number(total) &&
      product != total) {
    return etx_diag_fail(
        builder->diag, ETX_BAD_ARGUMENT,
        "%i elements cannot be viewed with sizes whose product is %i", total,
        part);
  }
  *out = quotient;
  return ETX_OK;
}

// The size for -1. Sizes that are on both sides are cancelled before the
// division, so that symbols divide without a remainder.
static etx_status missing_size(etx_builder* builder, const etx_shape* from,
                               const etx_dim* dims, size_t rank, etx_dim* out) {
  const etx_symbols* const symbols = &builder->method->symbols;
  bool used[ETX_MAX_RANK] = {false};
  etx_dim part = 1;
  for (size_t i = 0; i < rank; ++i) {
    if (dims[i] == -1) continue;
    size_t j = 0;
    while (j < from->rank &&
           (used[j] || !etx_symbols_equal(symbols, from->dims[j], dims[i]))) {
      ++j;
    }
    if (j < from->rank) {
      used[j] = true;
      continue;
    }
    ETX_TRY(etx_symbols_apply(&builder->method->symbols, ETX_SYMBOL_MULTIPLY,
                              part, dims[i], &part));
  }
  etx_dim total = 1;
  for (size_t j = 0; j < from->rank; ++j) {
    if (used[j]) continue;
    ETX_TRY(etx_symbols_apply(&builder->method->symbols, ETX_SYMBOL_MULTIPLY,
                              total, from->dims[j], &total));
  }
  if (part == 0) {
    return etx_diag_fail(builder->diag, ETX_BAD_ARGUMENT,
                         "a size of -1 beside a size of 0 is ambiguous");
  }
  return divide_exactly(builder, total, part, out);
}

// view, reshape, _unsafe_view.
etx_status etx_lowering_view(etx_builder* builder) {
  const etx_shape from = *etx_builder_shape(builder, self_of(builder));
  etx_dim dims[ETX_MAX_RANK];
  size_t rank = 0;
  ETX_TRY(read_dims(builder, &builder->args[1], dims, &rank));
  size_t unknown = rank;
  for (size_t i = 0; i < rank; ++i) {
    if (dims[i] != -1) continue;
    if (unknown != rank) {
      return etx_diag_fail(builder->diag, ETX_BAD_ARGUMENT,
                           "only one size can be -1");
    }
    unknown = i;
  }
  if (unknown != rank) {
    etx_dim missing = 0;
    ETX_TRY(missing_size(builder, &from, dims, rank, &missing));
    dims[unknown] = missing;
  }
  return etx_build_view(builder, self_of(builder), dims, rank,
                        &builder->results[0]);
}

etx_status etx_lowering_view_as(etx_builder* builder) {
  const etx_shape shape =
      *etx_builder_shape(builder, builder->args[1].as.value);
  return etx_build_view(builder, self_of(builder), shape.dims, shape.rank,
                        &builder->results[0]);
}

// flatten(self, start_dim, end_dim)
etx_status etx_lowering_flatten(etx_builder* builder) {
  const etx_shape from = *etx_builder_shape(builder, self_of(builder));
  etx_dim dims[ETX_MAX_RANK];
  size_t start = 0;
  size_t end = 0;
  size_t rank = 0;
  ETX_TRY(etx_builder_axis(builder, builder->args[1].as.integer, from.rank,
                           &start));
  ETX_TRY(
      etx_builder_axis(builder, builder->args[2].as.integer, from.rank, &end));
  for (size_t i = 0; i < start; ++i) dims[rank++] = from.dims[i];
  const size_t last = from.rank == 0 ? 0 : end + 1;
  if (start > end) {
    return etx_diag_fail(builder->diag, ETX_BAD_ARGUMENT,
                         "'%t' expects start_dim <= end_dim, found %z and %z",
                         builder->node->aten, start, end);
  }
  ETX_TRY(etx_builder_product(builder, from.dims, start, last, &dims[rank++]));
  for (size_t i = last; i < from.rank; ++i) dims[rank++] = from.dims[i];
  return etx_build_view(builder, self_of(builder), dims, rank,
                        &builder->results[0]);
}

// unflatten(self, dim, sizes): one size may be -1.
etx_status etx_lowering_unflatten(etx_builder* builder) {
  const etx_shape from = *etx_builder_shape(builder, self_of(builder));
  size_t axis = 0;
  size_t count = 0;
  etx_dim sizes[ETX_MAX_RANK];
  ETX_TRY(
      etx_builder_axis(builder, builder->args[1].as.integer, from.rank, &axis));
  ETX_TRY(read_dims(builder, &builder->args[2], sizes, &count));
  if (from.rank == 0 || from.rank - 1 + count > ETX_MAX_RANK) {
    return etx_diag_fail(builder->diag, ETX_BAD_ARGUMENT,
                         "tensors of more than %i dimensions are not supported",
                         (int64_t)ETX_MAX_RANK);
  }
  etx_ir_arg items[ETX_MAX_RANK];
  size_t rank = 0;
  for (size_t i = 0; i < axis; ++i) items[rank++] = etx_ir_int(from.dims[i]);
  for (size_t i = 0; i < count; ++i) items[rank++] = etx_ir_int(sizes[i]);
  for (size_t i = axis + 1; i < from.rank; ++i) {
    items[rank++] = etx_ir_int(from.dims[i]);
  }
  builder->args[1] = etx_ir_list(items, rank);
  return etx_lowering_view(builder);
}

etx_status etx_lowering_unsqueeze(etx_builder* builder) {
  size_t axis = 0;
  const size_t rank = etx_builder_shape(builder, self_of(builder))->rank;
  ETX_TRY(
      etx_builder_axis(builder, builder->args[1].as.integer, rank + 1, &axis));
  return etx_build_unsqueeze(builder, self_of(builder), axis,
                             &builder->results[0]);
}

// Checks a dimension that varies, which the graph keeps. PyTorch would remove
// it if its size were 1. If it may be empty, a check excludes the size 1, so
// that 0 is allowed; else its lower bound must be 2. Sizes that data decide are
// exempt: torch.export assumes that they are not 1.
static etx_status exclude_one(etx_builder* builder, size_t axis, etx_dim size) {
  etx_symbols* const symbols = &builder->method->symbols;
  etx_ir_arg holds = etx_ir_int(0);
  etx_ir_arg text = {ETX_IR_ARG_STRING, {0}};
  uint32_t unread = 0;
  int64_t low = 0;
  int64_t high = 0;
  etx_symbols_bounds(symbols, size, &low, &high);
  if (etx_symbols_late_in(symbols, size) != 0 || low > 1 || high < 1) {
    return ETX_OK;
  }
  if (low == 1 || high == 1 || builder->target != ETX_TARGET_ETX) {
    return etx_diag_fail(builder->diag, ETX_UNSUPPORTED,
                         "'%t' would remove dimension %z if its size were 1: "
                         "its lower bound must be 2, as Dim(min=2) or 'dims' "
                         "of program.yaml",
                         builder->node->aten, axis);
  }
  text.as.string = etx_pool_format(
      builder->module->pool,
      "the size of dimension %z, which '%t' would remove, is not 1", axis,
      builder->node->aten);
  if (text.as.string.data == NULL) return ETX_OUT_OF_MEMORY;
  ETX_TRY(etx_symbols_compare(symbols, ETX_SYMBOL_UNEQUAL, size, 1,
                              &holds.as.integer));
  if (etx_dim_is_number(holds.as.integer)) return ETX_OK;
  return etx_build_check(builder, &holds, &text, &unread);
}

// Removes the marked dimensions whose size is 1.
static etx_status squeeze(etx_builder* builder, const bool* marked) {
  const etx_shape from = *etx_builder_shape(builder, self_of(builder));
  etx_dim dims[ETX_MAX_RANK];
  size_t rank = 0;
  for (size_t i = 0; i < from.rank; ++i) {
    if (marked[i] && from.dims[i] != 1) {
      ETX_TRY(exclude_one(builder, i, from.dims[i]));
    }
  }
  for (size_t i = 0; i < from.rank; ++i) {
    if (!(marked[i] && from.dims[i] == 1)) dims[rank++] = from.dims[i];
  }
  return etx_build_view(builder, self_of(builder), dims, rank,
                        &builder->results[0]);
}

etx_status etx_lowering_squeeze_all(etx_builder* builder) {
  bool marked[ETX_MAX_RANK];
  for (size_t i = 0; i < ETX_MAX_RANK; ++i) marked[i] = true;
  return squeeze(builder, marked);
}

// squeeze.dim and squeeze.dims.
etx_status etx_lowering_squeeze(etx_builder* builder) {
  const size_t rank = etx_builder_shape(builder, self_of(builder))->rank;
  bool marked[ETX_MAX_RANK] = {false};
  const etx_ir_arg* const arg = &builder->args[1];
  const size_t count = arg->kind == ETX_IR_ARG_LIST ? arg->as.list.count : 1;
  for (size_t i = 0; i < count; ++i) {
    const etx_ir_arg* const item =
        arg->kind == ETX_IR_ARG_LIST ? &arg->as.list.items[i] : arg;
    size_t axis = 0;
    ETX_TRY(etx_builder_axis(builder, item->as.integer, rank, &axis));
    marked[axis] = true;
  }
  return squeeze(builder, marked);
}

etx_status etx_lowering_permute(etx_builder* builder) {
  const size_t rank = etx_builder_shape(builder, self_of(builder))->rank;
  etx_dim dims[ETX_MAX_RANK];
  size_t order[ETX_MAX_RANK];
  bool seen[ETX_MAX_RANK] = {false};
  size_t count = 0;
  ETX_TRY(read_dims(builder, &builder->args[1], dims, &count));
  for (size_t i = 0; i < count; ++i) {
    ETX_TRY(etx_builder_axis(builder, dims[i], rank, &order[i]));
    if (seen[order[i]]) count = rank + 1;
    seen[order[i]] = true;
  }
  if (count != rank) {
    return etx_diag_fail(builder->diag, ETX_BAD_ARGUMENT,
                         "'dims' is not a permutation of the %z dimensions",
                         rank);
  }
  return etx_build_permute(builder, self_of(builder), order,
                           &builder->results[0]);
}

etx_status etx_lowering_transpose(etx_builder* builder) {
  const size_t rank = etx_builder_shape(builder, self_of(builder))->rank;
  size_t a = 0;
  size_t b = 0;
  ETX_TRY(etx_builder_axis(builder, builder->args[1].as.integer, rank, &a));
  ETX_TRY(etx_builder_axis(builder, builder->args[2].as.integer, rank, &b));
  return etx_build_transpose(builder, self_of(builder), a, b,
                             &builder->results[0]);
}

// t: transposes a matrix; vectors and numbers stay as they are.
etx_status etx_lowering_t(etx_builder* builder) {
  const size_t rank = etx_builder_shape(builder, self_of(builder))->rank;
  if (rank > 2) {
    return etx_diag_fail(
        builder->diag, ETX_BAD_ARGUMENT,
        "'%t' expects a tensor of rank 2 or less, found rank %z",
        builder->node->aten, rank);
  }
  if (rank == 2) {
    return etx_build_transpose(builder, self_of(builder), 0, 1,
                               &builder->results[0]);
  }
  builder->results[0] = self_of(builder);
  return ETX_OK;
}

// mT: transposes the last two dimensions.
etx_status etx_lowering_transpose_last(etx_builder* builder) {
  const size_t rank = etx_builder_shape(builder, self_of(builder))->rank;
  if (rank < 2) {
    return etx_diag_fail(
        builder->diag, ETX_BAD_ARGUMENT,
        "'%t' expects a tensor of rank 2 or more, found rank %z",
        builder->node->aten, rank);
  }
  return etx_build_transpose(builder, self_of(builder), rank - 2, rank - 1,
                             &builder->results[0]);
}

// adjoint of real tensors: mT.
etx_status etx_lowering_adjoint(etx_builder* builder) {
  const etx_dtype dtype = etx_builder_shape(builder, self_of(builder))->dtype;
  if (etx_dtype_category_of(dtype) == ETX_CATEGORY_COMPLEX) {
    return etx_diag_fail(builder->diag, ETX_UNSUPPORTED,
                         "'%t' of complex tensors is not supported",
                         builder->node->aten);
  }
  return etx_lowering_transpose_last(builder);
}

// numpy_T: reverses the order of the dimensions.
etx_status etx_lowering_numpy_t(etx_builder* builder) {
  const size_t rank = etx_builder_shape(builder, self_of(builder))->rank;
  size_t order[ETX_MAX_RANK];
  for (size_t i = 0; i < rank; ++i) order[i] = rank - 1 - i;
  return etx_build_permute(builder, self_of(builder), order,
                           &builder->results[0]);
}

// as_strided(self, size, stride, storage_offset): only with the strides of a
// contiguous tensor with as many elements, so that it is a view.
etx_status etx_lowering_as_strided(etx_builder* builder) {
  const etx_shape from = *etx_builder_shape(builder, self_of(builder));
  etx_dim dims[ETX_MAX_RANK];
  etx_dim strides[ETX_MAX_RANK];
  size_t rank = 0;
  size_t count = 0;
  ETX_TRY(read_dims(builder, &builder->args[1], dims, &rank));
  ETX_TRY(read_dims(builder, &builder->args[2], strides, &count));
  bool dense = rank == count && (builder->args[3].kind == ETX_IR_ARG_NONE ||
                                 builder->args[3].as.integer == 0);
  const etx_symbols* const symbols = &builder->method->symbols;
  etx_dim stride = 1;
  for (size_t i = rank; dense && i-- > 0;) {
    dense = dims[i] == 1 || etx_symbols_equal(symbols, strides[i], stride);
    ETX_TRY(etx_builder_product(builder, (etx_dim[]){stride, dims[i]}, 0, 2,
                                &stride));
  }
  etx_dim elements = 0;
  ETX_TRY(etx_builder_product(builder, from.dims, 0, from.rank, &elements));
  if (!dense || !etx_symbols_equal(symbols, stride, elements)) {
    return etx_diag_fail(
        builder->diag, ETX_UNSUPPORTED,
        "'%t' is supported only with the strides of a contiguous tensor",
        builder->node->aten);
  }
  return etx_build_view(builder, self_of(builder), dims, rank,
                        &builder->results[0]);
}

// movedim.int(self, source, destination)
etx_status etx_lowering_movedim(etx_builder* builder) {
  const size_t rank = etx_builder_shape(builder, self_of(builder))->rank;
  size_t from = 0;
  size_t to = 0;
  size_t order[ETX_MAX_RANK];
  ETX_TRY(etx_builder_axis(builder, builder->args[1].as.integer, rank, &from));
  ETX_TRY(etx_builder_axis(builder, builder->args[2].as.integer, rank, &to));
  size_t next = 0;
  for (size_t i = 0; i < rank; ++i) {
    if (next == from) ++next;
    order[i] = i == to ? from : next++;
  }
  return etx_build_permute(builder, self_of(builder), order,
                           &builder->results[0]);
}

// expand: -1 keeps a dimension.
etx_status etx_lowering_expand(etx_builder* builder) {
  const etx_shape from = *etx_builder_shape(builder, self_of(builder));
  etx_dim dims[ETX_MAX_RANK];
  size_t rank = 0;
  ETX_TRY(read_dims(builder, &builder->args[1], dims, &rank));
  for (size_t i = 0; i < rank; ++i) {
    const bool has_source = i + from.rank >= rank;
    if (dims[i] == -1 && has_source) dims[i] = from.dims[i + from.rank - rank];
  }
  return etx_build_expand(builder, self_of(builder), dims, rank,
                          &builder->results[0]);
}

etx_status etx_lowering_expand_as(etx_builder* builder) {
  const etx_shape shape =
      *etx_builder_shape(builder, builder->args[1].as.value);
  return etx_build_expand(builder, self_of(builder), shape.dims, shape.rank,
                          &builder->results[0]);
}

// repeat: an expand if only dimensions of size 1 are repeated.
etx_status etx_lowering_repeat(etx_builder* builder) {
  const etx_shape from = *etx_builder_shape(builder, self_of(builder));
  etx_dim repeats[ETX_MAX_RANK];
  etx_dim dims[ETX_MAX_RANK];
  size_t rank = 0;
  ETX_TRY(read_dims(builder, &builder->args[1], repeats, &rank));
  if (rank < from.rank) {
    return etx_diag_fail(builder->diag, ETX_BAD_ARGUMENT,
                         "'repeats' has %z entries, expected at least %u", rank,
                         (uint64_t)from.rank);
  }
  bool can_expand = true;
  for (size_t i = 0; i < rank; ++i) {
    const etx_dim size =
        i + from.rank < rank ? 1 : from.dims[i + from.rank - rank];
    can_expand = can_expand && (size == 1 || repeats[i] == 1);
    dims[i] = size == 1 ? repeats[i] : size;
  }
  if (can_expand) {
    return etx_build_expand(builder, self_of(builder), dims, rank,
                            &builder->results[0]);
  }
  return etx_build_op(builder, ETX_OP_repeat_out, builder->args, 2,
                      &builder->results[0]);
}

// repeat_interleave with one number: repeats each element that many times.
etx_status etx_lowering_repeat_interleave(etx_builder* builder) {
  etx_shape from = *etx_builder_shape(builder, self_of(builder));
  const etx_dim repeats = builder->args[1].as.integer;
  uint32_t value = self_of(builder);
  size_t axis = 0;
  if (builder->args[2].kind == ETX_IR_ARG_NONE) {
    etx_dim count = 0;
    ETX_TRY(etx_builder_product(builder, from.dims, 0, from.rank, &count));
    ETX_TRY(etx_build_view(builder, value, &count, 1, &value));
    from = *etx_builder_shape(builder, value);
  } else {
    ETX_TRY(etx_builder_axis(builder, builder->args[2].as.integer, from.rank,
                             &axis));
  }
  ETX_TRY(etx_build_unsqueeze(builder, value, axis + 1, &value));
  etx_shape wide = *etx_builder_shape(builder, value);
  wide.dims[axis + 1] = repeats;
  ETX_TRY(etx_build_expand(builder, value, wide.dims, wide.rank, &value));
  ETX_TRY(etx_symbols_apply(&builder->method->symbols, ETX_SYMBOL_MULTIPLY,
                            from.dims[axis], repeats, &from.dims[axis]));
  return etx_build_view(builder, value, from.dims, from.rank,
                        &builder->results[0]);
}
