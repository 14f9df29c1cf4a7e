#include "runtime/kernels/core/operand.h"

#include "format/tensor/dtype_limits.h"
#include "format/tensor/promotion.h"

etx_dtype_category etx_scalar_category(const etx_value* value) {
  if (value->kind == ETX_VALUE_DOUBLE) return ETX_CATEGORY_FLOATING;
  return value->kind == ETX_VALUE_INT ? ETX_CATEGORY_INTEGER
                                      : ETX_CATEGORY_BOOLEAN;
}

void etx_scalar_store(const etx_value* value, etx_dtype dtype, void* out) {
  if (value->kind == ETX_VALUE_DOUBLE) {
    etx_convert_real(dtype, value->as.real, out);
  } else if (value->kind == ETX_VALUE_BOOL) {
    etx_convert_integer(dtype, value->as.boolean, out);
  } else {
    etx_convert_integer(dtype, value->as.integer, out);
  }
}

etx_scalar etx_scalar_read(const etx_value* value, etx_dtype dtype) {
  etx_scalar narrow = {0}, number = {0};
  if (dtype == ETX_DTYPE_FLOAT32 && value->kind == ETX_VALUE_DOUBLE) {
    number.f32 = (float)value->as.real;
    return number;
  }
  if (dtype == ETX_DTYPE_FLOAT32 && value->kind == ETX_VALUE_INT) {
    number.f32 = (float)value->as.integer;
    return number;
  }
  if (dtype == ETX_DTYPE_INT64 && value->kind == ETX_VALUE_INT) {
    number.i64 = value->as.integer;
    return number;
  }
  etx_scalar_store(value, dtype, &narrow);
  const etx_dtype native = etx_compute_type_dtype(etx_compute_type_of(dtype));
  etx_convert(native, &number, 1, dtype, &narrow, 1, 1);
  return number;
}

static bool fits(const etx_value* value, etx_dtype dtype) {
  const double most = etx_dtype_max(dtype);
  const bool is_unsigned = dtype == ETX_DTYPE_UINT8;
  if (dtype == ETX_DTYPE_BOOL || value->kind == ETX_VALUE_BOOL) return true;
  if (value->kind == ETX_VALUE_INT) {
    const double x = (double)value->as.integer;
    const double least =
        etx_compute_type_of(dtype) == ETX_COMPUTE_I64 && !is_unsigned
            ? -most - 1.0
            : -most;
    return x >= least && x <= most;
  }
  const double x = value->as.real;
  if (etx_compute_type_of(dtype) != ETX_COMPUTE_I64) {
    const bool is_finite = x - x == 0;
    return !is_finite || (x >= -most && x <= most);
  }
  return x >= (is_unsigned ? 0.0 : -most - 1.0) && x <= most;
}

etx_status etx_call_check_scalar(const etx_call* call, size_t index,
                                 etx_dtype dtype) {
  if (fits(etx_call_value(call, index), dtype)) return ETX_OK;
  return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                         "the number %f does not fit type '%s'",
                         etx_call_real(call, index), etx_dtype_name(dtype));
}

etx_scalar etx_scalar_one(etx_dtype dtype) {
  const etx_value one = {.kind = ETX_VALUE_INT, .as = {.integer = 1}};
  return etx_scalar_read(&one, dtype);
}

etx_status etx_call_check_real(const etx_call* call, size_t index) {
  if (etx_compute_type_of(etx_call_tensor(call, index)->dtype) !=
      ETX_COMPUTE_NONE) {
    return ETX_OK;
  }
  return etx_call_refuse_dtype(call, index, "a real type");
}

etx_status etx_call_common_type(const etx_call* call, size_t first,
                                size_t count, etx_dtype* out_dtype) {
  etx_promotion promotion = etx_promotion_start();
  bool ok = true;
  for (size_t i = first; i < first + count; ++i) {
    if (etx_call_is_none(call, i)) continue;
    if (!etx_call_is_tensor(call, i)) {
      etx_promotion_add_number(&promotion,
                               etx_scalar_category(etx_call_value(call, i)));
      continue;
    }
    const etx_tensor* tensor = etx_call_tensor(call, i);
    ETX_TRY(etx_call_check_real(call, i));
    ok = ok && etx_promotion_add(&promotion, tensor->dtype, tensor->rank);
  }
  if (ok && etx_promotion_result(&promotion, out_dtype)) return ETX_OK;
  return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                         "the operands have no common type");
}

etx_status etx_call_check_result(const etx_call* call, size_t out,
                                 etx_dtype result) {
  const etx_dtype to = etx_call_tensor(call, out)->dtype;
  ETX_TRY(etx_call_check_real(call, out));
  if (etx_dtype_category_of(result) <= etx_dtype_category_of(to)) {
    return ETX_OK;
  }
  return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                         "a result of type '%s' is written to type '%s'",
                         etx_dtype_name(result), etx_dtype_name(to));
}

const void* etx_operand_widen(etx_block* block, etx_dtype common,
                              etx_dtype dtype, const void* data,
                              ptrdiff_t stride, size_t count) {
  const etx_compute_type compute = etx_compute_type_of(common);
  const etx_dtype native = etx_compute_type_dtype(compute);
  const size_t read = stride == 0 ? 1 : count;
  if (dtype == native && common == native && (stride == 0 || stride == 1)) {
    return data;
  }
  if (dtype == common || common == native) {
    etx_block_load(block, compute, dtype, data, stride, read);
    return block;
  }
  etx_block narrow;
  etx_convert(common, &narrow, 1, dtype, data, stride, read);
  etx_block_load(block, compute, common, &narrow, 1, read);
  return block;
}

void etx_operand_fill(etx_block* block, etx_dtype common, etx_dtype dtype,
                      const void* data, ptrdiff_t stride, size_t count) {
  const etx_compute_type compute = etx_compute_type_of(common);
  if (dtype == common || common == etx_compute_type_dtype(compute)) {
    etx_block_load(block, compute, dtype, data, stride, count);
    return;
  }
  etx_block narrow;
  etx_convert(common, &narrow, 1, dtype, data, stride, count);
  etx_block_load(block, compute, common, &narrow, 1, count);
}

const void* etx_operand_row(etx_block* block, etx_dtype common, etx_dtype dtype,
                            const void* data, ptrdiff_t stride, size_t count) {
  if (stride != 0 || count == 1) {
    return etx_operand_widen(block, common, dtype, data,
                             count == 1 ? 0 : stride, count);
  }
  etx_operand_fill(block, common, dtype, data, 0, count);
  return block;
}

void etx_operand_load_as(etx_block* block, etx_compute_type compute,
                         const etx_operand_source* source, size_t count) {
  const etx_dtype cast = source->cast, dtype = source->dtype;
  if (etx_compute_type_of(cast) != ETX_COMPUTE_I64 ||
      etx_compute_type_of(dtype) == ETX_COMPUTE_I64) {
    etx_block_load(block, compute, dtype, source->data, source->stride, count);
    return;
  }
  etx_block narrow;
  etx_convert(cast, &narrow, 1, dtype, source->data, source->stride, count);
  etx_block_load(block, compute, cast, &narrow, 1, count);
}

void etx_operand_store(etx_block* block, etx_dtype common, etx_dtype to,
                       void* out, ptrdiff_t stride, size_t count) {
  const etx_compute_type compute = etx_compute_type_of(common);
  if (common != to && common != etx_compute_type_dtype(compute)) {
    etx_block narrow;
    etx_block_store(block, compute, common, &narrow, 1, count);
    etx_block_load(block, compute, common, &narrow, 1, count);
  }
  etx_block_store(block, compute, to, out, stride, count);
}
