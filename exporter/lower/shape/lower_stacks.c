// hstack, vstack, dstack and column_stack, which are concatenations that first
// add dimensions to their tensors; and broadcast_tensors.

#include "exporter/lower/builder/lowering_functions.h"

// Adds dimensions up to `rank`, as atleast_1d, atleast_2d and atleast_3d do.
static etx_status at_least(etx_builder* builder, size_t rank, uint32_t* value) {
  const etx_shape shape = *etx_builder_shape(builder, *value);
  if (shape.rank >= rank) return ETX_OK;
  etx_dim dims[3] = {1, 1, 1};
  // `rank` is 2 or 3 here. A vector becomes one row: its elements are along
  // dimension 1.
  if (shape.rank == 1) dims[1] = shape.dims[0];
  if (shape.rank == 2) memcpy(dims, shape.dims, 2 * sizeof *dims);
  return etx_build_view(builder, *value, dims, rank, value);
}

// Concatenates the tensors of argument 0 along `axis`, each with at least
// `rank` dimensions. With as_columns, vectors become columns instead of rows.
static etx_status concatenate_with_rank(etx_builder* builder, size_t rank,
                                        bool as_columns, etx_dim axis) {
  const size_t count = builder->args[0].as.list.count;
  etx_ir_arg* const items =
      etx_pool_take(builder->module->pool, (count + 1) * sizeof *items);
  if (items == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < count; ++i) {
    uint32_t value = builder->args[0].as.list.items[i].as.value;
    const etx_shape shape = *etx_builder_shape(builder, value);
    if (as_columns && shape.rank < 2) {
      const etx_dim dims[] = {shape.rank == 0 ? 1 : shape.dims[0], 1};
      ETX_TRY(etx_build_view(builder, value, dims, 2, &value));
    }
    ETX_TRY(at_least(builder, rank, &value));
    items[i] = etx_ir_value_arg(value);
  }
  builder->args[0] = etx_ir_list(items, count);
  builder->args[1] = etx_ir_int(axis);
  return etx_lowering_cat(builder);
}

etx_status etx_lowering_vstack(etx_builder* builder) {
  return concatenate_with_rank(builder, 2, false, 0);
}

etx_status etx_lowering_dstack(etx_builder* builder) {
  return concatenate_with_rank(builder, 3, false, 2);
}

etx_status etx_lowering_column_stack(etx_builder* builder) {
  return concatenate_with_rank(builder, 2, true, 1);
}

// Vectors are concatenated along dimension 0, all others along dimension 1.
etx_status etx_lowering_hstack(etx_builder* builder) {
  const etx_ir_arg* const list = &builder->args[0];
  const bool has_vectors =
      list->as.list.count > 0 &&
      etx_builder_shape(builder, list->as.list.items[0].as.value)->rank <= 1;
  return concatenate_with_rank(builder, 1, false, has_vectors ? 0 : 1);
}

// broadcast_tensors(tensors): expands each to the common sizes.
etx_status etx_lowering_broadcast_tensors(etx_builder* builder) {
  const etx_ir_arg* const list = &builder->args[0];
  etx_shape both = {.rank = 0};
  if (list->as.list.count != builder->node->output_count) {
    return etx_diag_fail(builder->diag, ETX_BAD_ARGUMENT,
                         "'%t' gives %z tensors, but the node has %z outputs",
                         builder->node->aten, list->as.list.count,
                         builder->node->output_count);
  }
  for (size_t i = 0; i < list->as.list.count; ++i) {
    const etx_shape so_far = both;
    const etx_shape shape =
        *etx_builder_shape(builder, list->as.list.items[i].as.value);
    ETX_TRY(etx_builder_broadcast(builder, &shape, &so_far, &both));
  }
  for (size_t i = 0; i < list->as.list.count; ++i) {
    ETX_TRY(etx_build_expand(builder, list->as.list.items[i].as.value,
                             both.dims, both.rank, &builder->results[i]));
  }
  return ETX_OK;
}
