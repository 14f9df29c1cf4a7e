// Bilinear layers: out[n, k] = x[n] @ weight[k] @ y[n] + bias[k].
//
// A linear layer over y with the rows of all matrices gives [n, k, i]; a bmm
// with x[n] sums over i.

#include "exporter/lower/builder/lowering_functions.h"

// x [N, I], y [N, J] and weight [K, I, J] as [N, K].
static etx_status emit_products(etx_builder* builder, uint32_t x, uint32_t y,
                                uint32_t weight, uint32_t* out_value) {
  const etx_shape shape = *etx_builder_shape(builder, weight);
  const etx_dim count = etx_builder_shape(builder, x)->dims[0];
  const etx_dim apart[] = {count, shape.dims[0], shape.dims[1]};
  const etx_dim whole[] = {count, shape.dims[0]};
  etx_dim rows[] = {0, shape.dims[2]};
  uint32_t value = 0;
  ETX_TRY(etx_builder_product(builder, shape.dims, 0, 2, &rows[0]));
  ETX_TRY(etx_build_view(builder, weight, rows, 2, &weight));
  ETX_TRY(etx_build_linear(builder, y, weight, ETX_IR_NONE, &value));
  ETX_TRY(etx_build_view(builder, value, apart, 3, &value));
  ETX_TRY(etx_build_unsqueeze(builder, x, 2, &x));
  ETX_TRY(etx_build_binary(builder, ETX_OP_bmm_out, value, x, &value));
  return etx_build_view(builder, value, whole, 2, out_value);
}

static etx_status check_ranks(etx_builder* builder, size_t x, size_t weight,
                              size_t y) {
  const bool fits =
      etx_builder_shape(builder, builder->args[x].as.value)->rank >= 1 &&
      etx_builder_shape(builder, builder->args[y].as.value)->rank ==
          etx_builder_shape(builder, builder->args[x].as.value)->rank &&
      etx_builder_shape(builder, builder->args[weight].as.value)->rank == 3;
  if (fits) return ETX_OK;
  return etx_diag_fail(
      builder->diag, ETX_BAD_ARGUMENT,
      "'%t' expects two operands of the same rank and a weight of rank 3",
      builder->node->aten);
}

// bilinear(input1, input2, weight, bias)
etx_status etx_lowering_bilinear(etx_builder* builder) {
  const etx_ir_arg* const args = builder->args;
  ETX_TRY(check_ranks(builder, 0, 2, 1));
  etx_shape out = *etx_builder_shape(builder, args[0].as.value);
  uint32_t pair[] = {args[0].as.value, args[1].as.value};
  uint32_t value = 0;
  etx_dim count = 0;
  ETX_TRY(etx_builder_product(builder, out.dims, 0, out.rank - 1u, &count));
  for (size_t i = 0; i < 2; ++i) {
    const etx_dim flat[] = {
        count, etx_builder_shape(builder, pair[i])->dims[out.rank - 1]};
    ETX_TRY(etx_build_view(builder, pair[i], flat, 2, &pair[i]));
  }
  ETX_TRY(emit_products(builder, pair[0], pair[1], args[2].as.value, &value));
  if (args[3].kind == ETX_IR_ARG_VALUE) {
    ETX_TRY(etx_build_binary(builder, ETX_OP_add_out, value, args[3].as.value,
                             &value));
  }
  out.dims[out.rank - 1] =
      etx_builder_shape(builder, args[2].as.value)->dims[0];
  return etx_build_view(builder, value, out.dims, out.rank,
                        &builder->results[0]);
}

static bool list_is(const etx_ir_arg* list, etx_dim first, etx_dim second) {
  const etx_dim wanted[] = {first, second};
  const size_t count = second < 0 ? 1 : 2;
  if (list->kind != ETX_IR_ARG_LIST || list->as.list.count != count) {
    return false;
  }
  for (size_t i = 0; i < count; ++i) {
    if (list->as.list.items[i].as.integer != wanted[i]) return false;
  }
  return true;
}

// _trilinear(i1, i2, i3, expand1, expand2, expand3, sumdim): only the form that
// PyTorch decomposes a bilinear layer into.
etx_status etx_lowering_trilinear(etx_builder* builder) {
  const etx_ir_arg* const args = builder->args;
  if (!list_is(&args[3], 1, 3) || !list_is(&args[4], 0, -1) ||
      !list_is(&args[5], 1, 2) || !list_is(&args[6], 2, 3)) {
    return etx_diag_fail(
        builder->diag, ETX_UNSUPPORTED,
        "'%t' is supported only with the dimensions of a bilinear layer",
        builder->node->aten);
  }
  ETX_TRY(check_ranks(builder, 0, 1, 2));
  if (etx_builder_shape(builder, args[0].as.value)->rank != 2) {
    return etx_diag_fail(builder->diag, ETX_BAD_ARGUMENT,
                         "'%t' expects operands of rank 2",
                         builder->node->aten);
  }
  return emit_products(builder, args[0].as.value, args[2].as.value,
                       args[1].as.value, &builder->results[0]);
}
