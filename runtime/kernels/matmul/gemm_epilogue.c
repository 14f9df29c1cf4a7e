#include "runtime/kernels/matmul/gemm_epilogue.h"

#include "runtime/kernels/core/chain.h"
#include "runtime/kernels/core/convert.h"
#include "runtime/kernels/math/wrapping_math.h"

// sums = beta * x + alpha * sums in the wide type.
static void add_scaled(const etx_gemm* p, etx_compute_type wide, void* sums,
                       const etx_block* x, size_t count) {
  double* real = sums;
  float* single = sums;
  int64_t* whole = sums;
  const bool skips = p->ignores_added;
  for (size_t i = 0; i < count; ++i) {
    if (wide == ETX_COMPUTE_I64) {
      const int64_t added =
          skips ? 0 : etx_wrap_multiply(p->beta.i64, x->i64[i]);
      whole[i] = etx_wrap_add(added, etx_wrap_multiply(p->alpha.i64, whole[i]));
    } else if (wide == ETX_COMPUTE_F32) {
      const float added = skips ? 0 : p->beta.f32 * x->f32[i];
      single[i] = added + p->alpha.f32 * single[i];
    } else {
      const double added = skips ? 0 : p->beta.f64 * x->f64[i];
      real[i] = added + p->alpha.f64 * real[i];
    }
  }
}

// For a chain that only adds a contiguous float32 tensor.
static void add_plain(const float* added, float* sums, size_t count) {
  for (size_t i = 0; i < count; ++i) sums[i] = added[i] + sums[i];
}

void etx_gemm_epilogue_add(const etx_gemm* p, etx_compute_type wide, size_t row,
                           size_t column, size_t columns, void* sums) {
  if (p->added == NULL) return;
  const ptrdiff_t at =
      (ptrdiff_t)row * p->added_row + (ptrdiff_t)column * p->added_column;
  if (p->dtype == ETX_DTYPE_FLOAT32 && !p->is_scaled && p->added_column == 1) {
    add_plain((const float*)(const void*)p->added + at, sums, columns);
    return;
  }
  const ptrdiff_t bytes = (ptrdiff_t)etx_dtype_bytes(p->dtype);
  const ptrdiff_t each = (ptrdiff_t)etx_compute_type_bytes(wide);
  const char* from = p->added + at * bytes;
  for (size_t done = 0; done < columns; done += ETX_BLOCK) {
    const size_t left = columns - done;
    const size_t count = left < ETX_BLOCK ? left : ETX_BLOCK;
    etx_block x;
    etx_block_load(&x, wide, p->dtype,
                   from + (ptrdiff_t)done * p->added_column * bytes,
                   p->added_column, count);
    add_scaled(p, wide, (char*)sums + (ptrdiff_t)done * each, &x, count);
  }
}

void etx_gemm_epilogue_run(const etx_gemm* p, size_t row, size_t column,
                           size_t columns, float* sums) {
  etx_gemm_epilogue_add(p, ETX_COMPUTE_F32, row, column, columns, sums);
  if (etx_chain_added(p->chain) == NULL) return;
  etx_chain_run(p->chain, sums, sums, row, column, columns);
}
