// The gradient of max pooling: the gradient of each result is added to the
// element that was the largest in its window. float16 and bfloat16 are summed
// as floats, for a chunk of a plane at a time, so that each sum is rounded
// once.
//
// Indices are checked while they are used, because a pass of its own would take
// as long as the work. A gradient with a bad index is skipped, and the call is
// refused in the end.

#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/core/operand.h"
#include "runtime/kernels/image/planes.h"
#include "runtime/kernels/core/parallel_for.h"

enum { CHUNK = 512 };  // elements of a plane that are summed at a time

typedef struct pool_gradient {
  etx_planes grad, indices, out;
  etx_compute_type compute;
  bool sums_in_result;  // the result has the compute type
  bool* has_bad_index;  // set by any thread
} pool_gradient;

// Notes an index outside the plane. -1 is allowed and drops the gradient.
static void check_index(const pool_gradient* b, int64_t index) {
  if (index != -1) __atomic_store_n(b->has_bad_index, true, __ATOMIC_RELAXED);
}

static int64_t index_at(const pool_gradient* b, const char* plane, int64_t y,
                        int64_t x) {
  const ptrdiff_t at =
      (ptrdiff_t)y * b->indices.row + (ptrdiff_t)x * b->indices.column;
  return ((const int64_t*)(const void*)plane)[at];
}

// Adds the gradient at (y, x) to a sum of the compute type.
static void add_gradient(const pool_gradient* b, const char* plane, int64_t y,
                         int64_t x, void* sum) {
  const ptrdiff_t at =
      (ptrdiff_t)y * b->grad.row + (ptrdiff_t)x * b->grad.column;
  etx_block value;
  etx_block_load(&value, b->compute, b->grad.dtype, plane + at * b->grad.bytes,
                 0, 1);
  if (!etx_is_f64(b->compute)) {
    *(float*)sum += value.f32[0];
  } else {
    *(double*)sum += value.f64[0];
  }
}

static char* element_of(const pool_gradient* b, char* plane, int64_t index) {
  const int64_t y = index / b->out.columns, x = index % b->out.columns;
  const ptrdiff_t at = (ptrdiff_t)y * b->out.row + (ptrdiff_t)x * b->out.column;
  return plane + at * b->out.bytes;
}

// The data of one plane of each tensor.
typedef struct plane_data {
  const char* indices;
  const char* grad;
  char* out;
} plane_data;

// Adds the gradients whose index is in [first, end): to the result, or to
// `sums` from index `first` on.
static void scatter(const pool_gradient* b, const plane_data* p, float* sums,
                    int64_t first, int64_t end) {
  const uint64_t numel = (uint64_t)(b->out.rows * b->out.columns);
  for (int64_t y = 0; y < b->grad.rows; ++y) {
    for (int64_t x = 0; x < b->grad.columns; ++x) {
      const int64_t index = index_at(b, p->indices, y, x);
      if ((uint64_t)index >= numel) check_index(b, index);
      if (index < first || index >= end) continue;
      void* sum = b->sums_in_result ? (void*)element_of(b, p->out, index)
                                    : (void*)(sums + (index - first));
      add_gradient(b, p->grad, y, x, sum);
    }
  }
}

// True if the planes of all three tensors are dense and the sums are in the
// result.
static bool is_dense(const pool_gradient* b) {
  const etx_planes* all[] = {&b->grad, &b->indices, &b->out};
  for (size_t i = 0; i < 3; ++i) {
    const bool has_rows =
        all[i]->rows <= 1 || (int64_t)all[i]->row == all[i]->columns;
    if (!has_rows || (all[i]->columns > 1 && all[i]->column != 1)) return false;
  }
  return b->sums_in_result;
}

// Adds four gradients at a time, with one branch that checks their indices.
// After a bad index, and at the end, it adds them one by one.
#define SCATTER_DENSE(T)                                                   \
  do {                                                                     \
    const T* x = (const T*)(const void*)plane->grad;                       \
    T* sums = (T*)(void*)plane->out;                                       \
    int64_t i = 0;                                                         \
    for (; i + 4 <= count; i += 4) {                                       \
      const uint64_t p = (uint64_t)at[i], q = (uint64_t)at[i + 1];         \
      const uint64_t r = (uint64_t)at[i + 2], s = (uint64_t)at[i + 3];     \
      const T gradients[4] = {x[i], x[i + 1], x[i + 2], x[i + 3]};         \
      if (!((p < numel) & (q < numel) & (r < numel) & (s < numel))) break; \
      sums[p] += gradients[0];                                             \
      sums[q] += gradients[1];                                             \
      sums[r] += gradients[2];                                             \
      sums[s] += gradients[3];                                             \
    }                                                                      \
    for (; i < count; ++i) {                                               \
      if ((uint64_t)at[i] < numel) {                                       \
        sums[at[i]] += x[i];                                               \
      } else {                                                             \
        check_index(b, at[i]);                                             \
      }                                                                    \
    }                                                                      \
  } while (0)

static void scatter_dense(const pool_gradient* b, const plane_data* plane) {
  const int64_t* at = (const int64_t*)(const void*)plane->indices;
  const int64_t count = b->grad.rows * b->grad.columns;
  const uint64_t numel = (uint64_t)(b->out.rows * b->out.columns);
  memset(plane->out, 0, (size_t)numel * (size_t)b->out.bytes);
  if (etx_is_f64(b->compute)) {
    SCATTER_DENSE(double);
  } else {
    SCATTER_DENSE(float);
  }
}

static void clear(const pool_gradient* b, char* out) {
  const int64_t numel = b->out.rows * b->out.columns;
  for (int64_t i = 0; i < numel; ++i) {
    memset(element_of(b, out, i), 0, (size_t)b->out.bytes);
  }
}

static void run_plane(const pool_gradient* b, int64_t image, int64_t channel) {
  const plane_data p = {.indices = etx_planes_at(&b->indices, image, channel),
                        .grad = etx_planes_at(&b->grad, image, channel),
                        .out = etx_planes_at(&b->out, image, channel)};
  const int64_t numel = b->out.rows * b->out.columns;
  if (is_dense(b)) {
    scatter_dense(b, &p);
    return;
  }
  if (b->sums_in_result) {
    clear(b, p.out);
    scatter(b, &p, NULL, 0, numel);
    return;
  }
  for (int64_t first = 0; first < numel; first += CHUNK) {
    float sums[CHUNK] = {0};
    const int64_t end = first + CHUNK < numel ? first + CHUNK : numel;
    scatter(b, &p, sums, first, end);
    for (int64_t i = first; i < end; ++i) {
      etx_convert(b->out.dtype, element_of(b, p.out, i), 1, ETX_DTYPE_FLOAT32,
                  sums + (i - first), 1, 1);
    }
  }
}

static void run_planes(const void* context, size_t first, size_t end) {
  const pool_gradient* b = context;
  for (size_t i = first; i < end; ++i) {
    run_plane(b, (int64_t)i / b->out.channels, (int64_t)i % b->out.channels);
  }
}

static etx_status refuse_bad_index(const etx_call* call,
                                   const pool_gradient* b) {
  const int64_t numel = b->out.rows * b->out.columns;
  const int64_t planes = b->out.images * b->out.channels;
  const int64_t columns = b->indices.columns;
  for (int64_t i = 0; i < planes; ++i) {
    const char* plane =
        etx_planes_at(&b->indices, i / b->out.channels, i % b->out.channels);
    for (int64_t k = 0; k < b->indices.rows * columns; ++k) {
      const int64_t index = index_at(b, plane, k / columns, k % columns);
      if (index >= -1 && index < numel) continue;
      return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                             "an index is %i, expected less than %i", index,
                             numel);
    }
  }
  return ETX_OK;
}

// (grad_output, self, kernel_size, stride, padding, dilation, ceil_mode,
// indices, grad_input)
static etx_status run_backward(etx_call* call) {
  const etx_tensor* grad = etx_call_tensor(
      call, ETX_ARG_max_pool2d_with_indices_backward_grad_input_grad_output);
  bool has_bad_index = false;
  const pool_gradient b = {
      .grad = etx_planes_of(grad),
      .indices = etx_planes_of(etx_call_tensor(
          call, ETX_ARG_max_pool2d_with_indices_backward_grad_input_indices)),
      .out = etx_planes_of(etx_call_tensor(
          call,
          ETX_ARG_max_pool2d_with_indices_backward_grad_input_grad_input)),
      .compute = etx_compute_type_of(grad->dtype),
      .sums_in_result =
          grad->dtype == ETX_DTYPE_FLOAT32 || grad->dtype == ETX_DTYPE_FLOAT64,
      .has_bad_index = &has_bad_index};
  etx_parallel_for(
      call->parallel, (size_t)(b.out.images * b.out.channels),
      (double)etx_tensor_numel(etx_call_tensor(
          call,
          ETX_ARG_max_pool2d_with_indices_backward_grad_input_grad_input)),
      run_planes, &b);
  return has_bad_index ? refuse_bad_index(call, &b) : ETX_OK;
}

etx_status etx_kernel_max_pool2d_with_indices_backward_grad_input_prepare(
    etx_call* call) {
  const etx_compute_type compute = etx_compute_type_of(
      etx_call_tensor(
          call, ETX_ARG_max_pool2d_with_indices_backward_grad_input_grad_output)
          ->dtype);
  if (compute != ETX_COMPUTE_F32 && compute != ETX_COMPUTE_F64) {
    return etx_call_refuse_dtype(
        call, ETX_ARG_max_pool2d_with_indices_backward_grad_input_grad_output,
        "a float");
  }
  ETX_TRY(etx_call_check_same_dtype(
      call, ETX_ARG_max_pool2d_with_indices_backward_grad_input_grad_output,
      ETX_ARG_max_pool2d_with_indices_backward_grad_input_self));
  ETX_TRY(etx_call_check_same_dtype(
      call, ETX_ARG_max_pool2d_with_indices_backward_grad_input_grad_output,
      ETX_ARG_max_pool2d_with_indices_backward_grad_input_grad_input));
  call->run = run_backward;
  return etx_call_check_dtype(
      call, ETX_ARG_max_pool2d_with_indices_backward_grad_input_indices,
      ETX_DTYPE_INT64);
}
