// Factors of matrices: LU with its parts, QR, singular values, eigenvalues of
// symmetric matrices. Vectors that nothing reads are not computed.

#include "exporter/lower/builder/lowering_functions.h"

// Appends the row's operator with a matrix and two choices.
static etx_status emit_pair(etx_builder* builder, etx_op_id op, bool first,
                            bool second, uint32_t* out_values) {
  const etx_ir_arg args[] = {builder->args[0], etx_ir_bool(first),
                             etx_ir_bool(second)};
  return etx_build_op_outputs(builder, op, args, 3, NULL, out_values);
}

// ------------------------------------------------ LU

// linalg_lu(A, pivot): P, L, U
etx_status etx_lowering_lu(etx_builder* builder) {
  const bool exchanges = builder->args[1].as.boolean;
  uint32_t values[ETX_TYPE_INFERENCE_MAX_OUTPUTS];
  ETX_TRY(emit_pair(builder, ETX_OP_linalg_lu_factor_ex_out, exchanges, false,
                    values));
  const etx_ir_arg args[] = {etx_ir_value_arg(values[0]),
                             etx_ir_value_arg(values[1]), etx_ir_bool(true),
                             etx_ir_bool(exchanges)};
  return etx_build_op_outputs(builder, builder->row->op, args, 4, NULL,
                              builder->results);
}

// ------------------------------------------------ QR

static etx_status emit_qr(etx_builder* builder, bool complete, bool has_q) {
  uint32_t values[ETX_TYPE_INFERENCE_MAX_OUTPUTS];
  ETX_TRY(emit_pair(builder, builder->row->op, complete,
                    has_q && etx_builder_is_read(builder, 0), values));
  if (!has_q || etx_builder_is_read(builder, 0)) {
    builder->results[0] = values[0];
  }
  builder->results[1] = values[1];
  return ETX_OK;
}

// linalg_qr(A, mode)
etx_status etx_lowering_linalg_qr(etx_builder* builder) {
  const etx_text mode = builder->args[1].as.string;
  return emit_qr(builder, etx_text_is(mode, "complete"),
                 !etx_text_is(mode, "r"));
}

// qr(self, some)
etx_status etx_lowering_qr(etx_builder* builder) {
  return emit_qr(builder, !builder->args[1].as.boolean, true);
}

// ------------------------------------------------ singular values

// U, S and Vh as `values`; without vectors, unless `is_read`, S alone.
static etx_status emit_svd(etx_builder* builder, bool full, bool is_read,
                           uint32_t* values) {
  return emit_pair(builder, ETX_OP_linalg_svd_out, full && is_read, is_read,
                   values);
}

static etx_status lower_svd(etx_builder* builder, bool full, bool has_vectors) {
  uint32_t values[ETX_TYPE_INFERENCE_MAX_OUTPUTS];
  const bool is_read =
      etx_builder_is_read(builder, 0) || etx_builder_is_read(builder, 2);
  ETX_TRY(emit_svd(builder, full, has_vectors && is_read, values));
  builder->results[1] = values[1];
  if (!is_read) return ETX_OK;
  builder->results[0] = values[0];
  builder->results[2] = values[2];
  return ETX_OK;
}

// _linalg_svd(A, full_matrices, compute_uv, driver)
etx_status etx_lowering_linalg_svd_parts(etx_builder* builder) {
  return lower_svd(builder, builder->args[1].as.boolean,
                   builder->args[2].as.boolean);
}

// linalg_svd(A, full_matrices, driver)
etx_status etx_lowering_linalg_svd(etx_builder* builder) {
  return lower_svd(builder, builder->args[1].as.boolean, true);
}

// linalg_svdvals(A, driver)
etx_status etx_lowering_linalg_svdvals(etx_builder* builder) {
  uint32_t values[ETX_TYPE_INFERENCE_MAX_OUTPUTS];
  ETX_TRY(emit_svd(builder, false, false, values));
  builder->results[0] = values[1];
  return ETX_OK;
}

static etx_status zeros_of(etx_builder* builder, etx_dim size,
                           uint32_t* out_value) {
  etx_shape shape = *etx_builder_shape(builder, builder->args[0].as.value);
  shape.dims[shape.rank - 2] = shape.dims[shape.rank - 1] = size;
  return etx_build_full(builder, shape.dims, shape.rank, etx_ir_double(0.0),
                        shape.dtype, out_value);
}

// svd(self, some, compute_uv): U, S and V, not its transpose; without
// `compute_uv`, U and V are square matrices of zeros.
etx_status etx_lowering_svd(etx_builder* builder) {
  const bool has_vectors = builder->args[2].as.boolean;
  const etx_shape a = *etx_builder_shape(builder, builder->args[0].as.value);
  uint32_t* const results = builder->results;
  ETX_TRY(lower_svd(builder, !builder->args[1].as.boolean, has_vectors));
  if (results[0] == ETX_IR_NONE) return ETX_OK;
  if (has_vectors) {
    return etx_build_transpose(builder, results[2], a.rank - 2u, a.rank - 1u,
                               &results[2]);
  }
  ETX_TRY(zeros_of(builder, a.dims[a.rank - 2], &results[0]));
  return zeros_of(builder, a.dims[a.rank - 1], &results[2]);
}

// ------------------------------------------------ eigenvalues

static etx_status lower_eigh(etx_builder* builder, bool has_vectors) {
  uint32_t values[ETX_TYPE_INFERENCE_MAX_OUTPUTS];
  const etx_text triangle = builder->args[1].as.string;
  const bool upper = etx_text_is(triangle, "U") || etx_text_is(triangle, "u");
  const bool is_read = etx_builder_is_read(builder, 1);
  ETX_TRY(emit_pair(builder, builder->row->op, upper, has_vectors && is_read,
                    values));
  builder->results[0] = values[0];
  if (is_read) builder->results[1] = values[1];
  return ETX_OK;
}

// linalg_eigh(self, UPLO), linalg_eigvalsh(self, UPLO)
etx_status etx_lowering_linalg_eigh(etx_builder* builder) {
  return lower_eigh(builder, true);
}

// _linalg_eigh(A, UPLO, compute_v)
etx_status etx_lowering_linalg_eigh_parts(etx_builder* builder) {
  return lower_eigh(builder, builder->args[2].as.boolean);
}
