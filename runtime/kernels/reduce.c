// Two walks (walk.h): the outer one over the kept dimensions and the results,
// the inner one over the reduced dimensions. The inner walk is set up once and
// moved for each result.

#include "runtime/kernels/reduce.h"

#include "runtime/kernels/parts.h"
#include "runtime/kernels/walk.h"

static void fold_row(const etx_reduction* r, etx_fold* s, const char* data,
                     ptrdiff_t stride, size_t count) {
  const etx_dtype dtype = r->self->dtype;
  const ptrdiff_t bytes = (ptrdiff_t)etx_dtype_bytes(dtype);
  if (stride == 1 && dtype == etx_wide_dtype(r->wide)) {
    r->fold(r->wide, s, data, count);
    return;
  }
  etx_block block;
  for (size_t done = 0; done < count; done += ETX_BLOCK) {
    const size_t left = count - done;
    const size_t part = left < ETX_BLOCK ? left : ETX_BLOCK;
    etx_block_load(&block, r->wide, dtype,
                   data + (ptrdiff_t)done * stride * bytes, stride, part);
    r->fold(r->wide, s, &block, part);
  }
}

static void write_value(const etx_reduction* r, const etx_fold* s, char* out) {
  etx_block block = {{0}};
  if (r->is_truth) {
    etx_convert_integer(r->out->dtype, s->value.i64 != 0, out);
    return;
  }
  if (r->wide == ETX_WIDE_I64) {
    block.i64[0] = s->value.i64;
  } else if (r->wide == ETX_WIDE_F32) {
    block.f32[0] = s->value.f32 / (float)r->divisor;
  } else {
    block.f64[0] = s->value.f64 / r->divisor;
  }
  etx_block_store(&block, r->wide, r->out->dtype, out, 1, 1);
}

// Splits self's dimensions: `inner` walks the reduced ones.
static bool start_inner(const etx_reduction* r, etx_walk* inner) {
  int32_t sizes[ETX_MAX_RANK];
  ptrdiff_t strides[ETX_MAX_RANK];
  size_t rank = 0;
  for (size_t i = 0; i < r->self->rank; ++i) {
    if (((r->dims >> i) & 1) == 0) continue;
    sizes[rank] = r->self->sizes[i];
    strides[rank++] = r->self->strides[i];
  }
  etx_walk_init(inner, sizes, rank);
  etx_walk_add_strided(inner, r->self->data, etx_dtype_bytes(r->self->dtype),
                       strides);
  return etx_walk_start(inner);
}

// `outer` walks the kept dimensions of self and, behind it, the results, which
// have the same dimensions in the same order (sizes of 1 aside).
static void add_results(etx_walk* outer, const etx_reduction* r,
                        const etx_tensor* results) {
  ptrdiff_t strides[ETX_MAX_RANK];
  const bool keeps = results->rank == r->self->rank;
  size_t rank = 0, at = 0;
  for (size_t i = 0; i < r->self->rank; ++i) {
    const bool is_reduced = ((r->dims >> i) & 1) != 0;
    if (!is_reduced) strides[rank++] = results->strides[keeps ? i : at];
    if (!is_reduced || keeps) ++at;
  }
  etx_walk_add_strided(outer, results->data, etx_dtype_bytes(results->dtype),
                       strides);
}

static bool start_outer(const etx_reduction* r, etx_walk* outer) {
  int32_t sizes[ETX_MAX_RANK];
  ptrdiff_t strides[ETX_MAX_RANK];
  size_t rank = 0;
  for (size_t i = 0; i < r->self->rank; ++i) {
    if (((r->dims >> i) & 1) != 0) continue;
    sizes[rank] = r->self->sizes[i];
    strides[rank++] = r->self->strides[i];
  }
  etx_walk_init(outer, sizes, rank);
  etx_walk_add_strided(outer, r->self->data, etx_dtype_bytes(r->self->dtype),
                       strides);
  if (r->out != NULL) add_results(outer, r, r->out);
  if (r->indices != NULL) add_results(outer, r, r->indices);
  return etx_walk_start(outer);
}

// Folds the elements behind one position of the outer walk. A finished walk
// stands at its first row again, so it is moved and used once more.
static void fold_at(const etx_reduction* r, etx_walk* inner, bool has_inner,
                    const char* data, etx_fold* s) {
  *s = (etx_fold){.value = r->start};
  if (!has_inner) return;
  inner->data[0] = (char*)(uintptr_t)data;
  do {
    fold_row(r, s, inner->data[0], inner->stride[0], inner->count);
  } while (etx_walk_next(inner));
}

void etx_reduce(const etx_reduction* r) {
  etx_walk inner, outer;
  const bool has_inner = start_inner(r, &inner);
  for (bool more = start_outer(r, &outer); more; more = etx_walk_next(&outer)) {
    char* at[3];
    for (size_t k = 0; k < outer.operands; ++k) at[k] = outer.data[k];
    for (size_t i = 0; i < outer.count; ++i) {
      etx_fold s;
      fold_at(r, &inner, has_inner, at[0], &s);
      if (r->out != NULL) write_value(r, &s, at[1]);
      if (r->indices != NULL) {
        int64_t* index = (int64_t*)(void*)at[r->out == NULL ? 1 : 2];
        *index = s.index;
      }
      for (size_t k = 0; k < outer.operands; ++k) {
        at[k] += outer.stride[k] * outer.bytes[k];
      }
    }
  }
}

uint32_t etx_reduced_dims(const etx_call* call, size_t index,
                          bool empty_is_all) {
  const size_t rank = etx_call_tensor(call, 0)->rank;
  const uint32_t all = rank == 0 ? 0 : (UINT32_C(2) << (rank - 1)) - 1;
  const etx_value* value = etx_call_value(call, index);
  if (value->kind == ETX_VALUE_NONE) return all;
  if (value->kind == ETX_VALUE_INT) {
    return UINT32_C(1) << etx_wrap_dimension(value->as.integer, rank) & all;
  }
  if (value->as.integers.count == 0 && empty_is_all) return all;
  uint32_t bits = 0;
  for (size_t i = 0; i < value->as.integers.count; ++i) {
    bits |=
        UINT32_C(1) << etx_wrap_dimension(etx_call_item(call, index, i), rank);
  }
  return bits & all;
}

size_t etx_reduced_count(const etx_tensor* self, uint32_t dims) {
  size_t count = 1;
  for (size_t i = 0; i < self->rank; ++i) {
    if (((dims >> i) & 1) != 0) count *= (size_t)self->sizes[i];
  }
  return count;
}
