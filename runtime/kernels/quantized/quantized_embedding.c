// Embedding lookups in a quantised table: (w - zero_point) * scale, with a
// scale and a zero point for each row, or for each of a row's equal groups.
//
//   byte   int8 or uint8
//   4bit   two elements per byte, the first in the high half, each plus 8
//          or, with zero points of int16, a scale for each row and parameters
//          for each group (packed_weights.h)
//   2bit   four elements per byte, the first in the lowest bits, each plus 2
//
// The difference and the product are each rounded to the type of the scales,
// and the product then to the type of the result.

#include "runtime/kernels/core/index_tensor.h"
#include "runtime/kernels/registry/checked_kernels.h"
#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/core/operand.h"
#include "runtime/kernels/quantized/packed_weights.h"
#include "runtime/kernels/core/strided_iterator.h"

enum { WEIGHT = 0, SCALES = 1, ZEROS = 2, INDICES = 5 };

typedef struct embedding_table {
  const etx_tensor* weight;
  const etx_tensor* scales;
  const etx_tensor* zeros;  // NULL: zero
  bool has_params;          // zeros are parameters of groups
  size_t bits;              // of an element
  size_t width;             // elements of a row
  size_t group;             // elements with one scale
  etx_dtype out;
} embedding_table;

static embedding_table read_embedding_table(const etx_call* call, size_t bits) {
  embedding_table t = {.weight = etx_call_tensor(call, WEIGHT),
                       .scales = etx_call_tensor(call, SCALES),
                       .bits = bits};
  if (!etx_call_is_none(call, ZEROS)) t.zeros = etx_call_tensor(call, ZEROS);
  t.width = (size_t)t.weight->sizes[1] * (8 / bits);
  t.has_params = t.zeros != NULL && t.zeros->dtype == ETX_DTYPE_INT16;
  const etx_tensor* of_groups = t.has_params ? t.zeros : t.scales;
  const size_t groups =
      of_groups->rank == 2 ? (size_t)of_groups->sizes[1] : (size_t)1;
  t.group = groups == 0 ? t.width : t.width / groups;
  return t;
}

// Unpacks elements [first, first + count) of a contiguous row of the table.
static void load_elements(const embedding_table* t, const char* row,
                          size_t first, size_t count, etx_block* out) {
  const uint8_t* bytes = (const uint8_t*)row;
  if (t->bits == 8) {
    etx_block_load(out, ETX_COMPUTE_F32, t->weight->dtype, row + first, 1,
                   count);
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    const size_t at = first + i;
    if (t->bits == 4) {
      const int byte = bytes[at / 2];
      out->f32[i] = (float)((at % 2 == 0 ? byte >> 4 : byte & 15) - 8);
    } else {
      out->f32[i] = (float)((bytes[at / 4] >> 2 * (at % 4) & 3) - 2);
    }
  }
}

static float qparam_at(const etx_tensor* tensor, size_t row, size_t group) {
  ptrdiff_t at = (ptrdiff_t)row * tensor->strides[0];
  if (tensor->rank == 2) at += (ptrdiff_t)group * tensor->strides[1];
  const char* data = tensor->data;
  etx_block one;
  etx_block_load(&one, ETX_COMPUTE_F32, tensor->dtype,
                 data + at * (ptrdiff_t)etx_dtype_bytes(tensor->dtype), 0, 1);
  return one.f32[0];
}

// Rounds to the type of the scales, which is float32, float16 or bfloat16.
static void round_block(const embedding_table* t, etx_block* block,
                        size_t count) {
  etx_block narrow;
  if (t->scales->dtype == ETX_DTYPE_FLOAT32) return;
  etx_block_store(block, ETX_COMPUTE_F32, t->scales->dtype, &narrow, 1, count);
  etx_block_load(block, ETX_COMPUTE_F32, t->scales->dtype, &narrow, 1, count);
}

static void write_group(const embedding_table* t, size_t row, size_t group,
                        char* out) {
  const size_t bytes = etx_dtype_bytes(t->out);
  const char* weights =
      (const char*)t->weight->data + (ptrdiff_t)row * t->weight->strides[0];
  float scale = qparam_at(t->scales, row, group);
  float zero = t->zeros == NULL ? 0 : qparam_at(t->zeros, row, group);
  if (t->has_params) {
    const int32_t params = (int32_t)zero;
    scale *= (float)(ETX_GROUP_PARTS * etx_group_factor(params));
    zero = -(float)etx_group_offset(params) / ETX_GROUP_PARTS;
  }
  const size_t last = (group + 1) * t->group;
  for (size_t i = group * t->group; i < last; i += ETX_BLOCK) {
    const size_t count = last - i < ETX_BLOCK ? last - i : ETX_BLOCK;
    etx_block block;
    load_elements(t, weights, i, count, &block);
    for (size_t k = 0; k < count; ++k) block.f32[k] -= zero;
    round_block(t, &block, count);
    for (size_t k = 0; k < count; ++k) block.f32[k] *= scale;
    round_block(t, &block, count);
    etx_block_store(&block, ETX_COMPUTE_F32, t->out, out + i * bytes, 1, count);
  }
}

static etx_status refuse_rows(const etx_call* call) {
  return etx_index_check(call, etx_call_tensor(call, INDICES),
                         etx_call_tensor(call, WEIGHT)->sizes[0], false);
}

const etx_kernel_check etx_check_quantized_embedding = {UINT64_C(1) << INDICES,
                                                        refuse_rows};

static etx_status run(etx_call* call, size_t bits, size_t out_index) {
  const etx_tensor* indices = etx_call_tensor(call, INDICES);
  const etx_tensor* out = etx_call_tensor(call, out_index);
  embedding_table t = read_embedding_table(call, bits);
  ETX_TRY(refuse_rows(call));
  t.out = out->dtype;
  if (etx_tensor_numel(out) == 0) return ETX_OK;
  char* to = out->data;
  etx_strided_iterator iterator;
  etx_strided_iterator_init(&iterator, indices->sizes, indices->rank);
  etx_strided_iterator_add(&iterator, indices);
  for (bool more = etx_strided_iterator_start(&iterator); more;
       more = etx_strided_iterator_next(&iterator)) {
    for (size_t i = 0; i < iterator.count; ++i) {
      const char* at = iterator.data[0] +
                       (ptrdiff_t)i * iterator.stride[0] * iterator.bytes[0];
      const size_t row = (size_t)etx_index_at(indices->dtype, at, 0);
      for (size_t g = 0; g * t.group < t.width; ++g) {
        write_group(&t, row, g, to);
      }
      to += t.width * etx_dtype_bytes(t.out);
    }
  }
  return ETX_OK;
}

static etx_status run_byte(etx_call* call) { return run(call, 8, 6); }
static etx_status run_byte_dtype(etx_call* call) { return run(call, 8, 7); }
static etx_status run_4bit(etx_call* call) { return run(call, 4, 6); }
static etx_status run_4bit_dtype(etx_call* call) { return run(call, 4, 7); }
static etx_status run_2bit(etx_call* call) { return run(call, 2, 6); }
static etx_status run_2bit_dtype(etx_call* call) { return run(call, 2, 7); }

static bool is_small_float(etx_dtype dtype) {
  return etx_compute_type_of(dtype) == ETX_COMPUTE_F32;
}

static etx_status prepare(etx_call* call, size_t out,
                          etx_kernel_function chosen) {
  const etx_dtype weight = etx_call_tensor(call, WEIGHT)->dtype;
  const bool is_byte = chosen == run_byte || chosen == run_byte_dtype;
  if (weight != ETX_DTYPE_UINT8 && !(is_byte && weight == ETX_DTYPE_INT8)) {
    return etx_call_refuse_dtype(call, WEIGHT,
                                 is_byte ? "int8 or uint8" : "uint8");
  }
  if (!is_small_float(etx_call_tensor(call, SCALES)->dtype)) {
    return etx_call_refuse_dtype(call, SCALES, "float32, float16 or bfloat16");
  }
  if (!is_small_float(etx_call_tensor(call, out)->dtype)) {
    return etx_call_refuse_dtype(call, out, "float32, float16 or bfloat16");
  }
  if (!etx_call_is_none(call, ZEROS)) {
    const etx_dtype zeros = etx_call_tensor(call, ZEROS)->dtype;
    const bool is_4bit = chosen == run_4bit || chosen == run_4bit_dtype;
    if (!is_4bit || zeros != ETX_DTYPE_INT16) {
      ETX_TRY(etx_call_check_same_dtype(call, SCALES, ZEROS));
    } else {
      ETX_TRY(etx_call_check_dtype(call, SCALES, ETX_DTYPE_FLOAT32));
    }
  }
  ETX_TRY(etx_index_check_dtype(call, etx_call_tensor(call, INDICES)));
  ETX_TRY(etx_call_check_contiguous(call, WEIGHT));
  ETX_TRY(etx_call_check_contiguous(call, out));
  call->run = chosen;
  return ETX_OK;
}

etx_status etx_kernel_embedding_byte_out_prepare(etx_call* call) {
  return prepare(call, 6, run_byte);
}
etx_status etx_kernel_embedding_byte_dtype_out_prepare(etx_call* call) {
  return prepare(call, 7, run_byte_dtype);
}
etx_status etx_kernel_embedding_4bit_out_prepare(etx_call* call) {
  return prepare(call, 6, run_4bit);
}
etx_status etx_kernel_embedding_4bit_dtype_out_prepare(etx_call* call) {
  return prepare(call, 7, run_4bit_dtype);
}
etx_status etx_kernel_embedding_2bit_out_prepare(etx_call* call) {
  return prepare(call, 6, run_2bit);
}
etx_status etx_kernel_embedding_2bit_dtype_out_prepare(etx_call* call) {
  return prepare(call, 7, run_2bit_dtype);
}
