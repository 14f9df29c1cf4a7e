// The gradient of max pooling: each result's goes to the element that was the
// largest. Types narrower than those they are summed in collect their sums in
// a piece of a plane at a time, so that a sum is rounded once.
//
// Indices are read once, and looked at while they are used: to read them all
// beforehand takes as long as the work. One that is wrong is used for nothing,
// and the call is refused when all else is done.

#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/core/operand.h"
#include "runtime/kernels/image/planes.h"
#include "runtime/kernels/core/parallel_for.h"

// Elements of a plane whose sums are collected at once.
enum { PIECE = 512 };

typedef struct backward {
  etx_planes grad, indices, out;
  etx_compute_type wide;
  bool is_native;  // sums are collected in the result itself
  bool* is_wrong;  // an index was; several threads may say so
} backward;

// -1 takes a gradient nowhere.
static void judge_missed(const backward* b, int64_t index) {
  if (index != -1) __atomic_store_n(b->is_wrong, true, __ATOMIC_RELAXED);
}

static int64_t index_at(const backward* b, const char* plane, int64_t y,
                        int64_t x) {
  const ptrdiff_t at =
      (ptrdiff_t)y * b->indices.row + (ptrdiff_t)x * b->indices.column;
  return ((const int64_t*)(const void*)plane)[at];
}

// Adds the gradient at (y, x) to one sum of the wide type.
static void add_gradient(const backward* b, const char* plane, int64_t y,
                         int64_t x, void* sum) {
  const ptrdiff_t at =
      (ptrdiff_t)y * b->grad.row + (ptrdiff_t)x * b->grad.column;
  etx_block value;
  etx_block_load(&value, b->wide, b->grad.dtype, plane + at * b->grad.bytes, 0,
                 1);
  if (!etx_is_f64(b->wide)) {
    *(float*)sum += value.f32[0];
  } else {
    *(double*)sum += value.f64[0];
  }
}

static char* element(const backward* b, char* plane, int64_t index) {
  const int64_t y = index / b->out.columns, x = index % b->out.columns;
  const ptrdiff_t at = (ptrdiff_t)y * b->out.row + (ptrdiff_t)x * b->out.column;
  return plane + at * b->out.bytes;
}

// Sums for elements `first` up to `end` of a plane with `numel`, in the result
// or in `sums`.
static void collect(const backward* b, const char* indices, const char* grad,
                    char* out, float* sums, int64_t first, int64_t end) {
  const uint64_t numel = (uint64_t)(b->out.rows * b->out.columns);
  for (int64_t y = 0; y < b->grad.rows; ++y) {
    for (int64_t x = 0; x < b->grad.columns; ++x) {
      const int64_t index = index_at(b, indices, y, x);
      if ((uint64_t)index >= numel) judge_missed(b, index);
      if (index < first || index >= end) continue;
      void* sum = b->is_native ? (void*)element(b, out, index)
                               : (void*)(sums + (index - first));
      add_gradient(b, grad, y, x, sum);
    }
  }
}

// The planes of all three lie densely, and sums in the result.
static bool is_dense(const backward* b) {
  const etx_planes* all[] = {&b->grad, &b->indices, &b->out};
  for (size_t i = 0; i < 3; ++i) {
    const bool has_rows =
        all[i]->rows <= 1 || (int64_t)all[i]->row == all[i]->columns;
    if (!has_rows || (all[i]->columns > 1 && all[i]->column != 1)) return false;
  }
  return b->is_native;
}

// Four at a time, with one branch that says that all are in the plane; the
// rest, and all behind one that is not, one by one.
#define COLLECT_DENSE(T)                                                   \
  do {                                                                     \
    const T* x = (const T*)(const void*)grad;                              \
    T* sums = (T*)(void*)out;                                              \
    int64_t i = 0;                                                         \
    for (; i + 4 <= count; i += 4) {                                       \
      const uint64_t p = (uint64_t)at[i], q = (uint64_t)at[i + 1];         \
      const uint64_t r = (uint64_t)at[i + 2], s = (uint64_t)at[i + 3];     \
      const T more[4] = {x[i], x[i + 1], x[i + 2], x[i + 3]};              \
      if (!((p < numel) & (q < numel) & (r < numel) & (s < numel))) break; \
      sums[p] += more[0];                                                  \
      sums[q] += more[1];                                                  \
      sums[r] += more[2];                                                  \
      sums[s] += more[3];                                                  \
    }                                                                      \
    for (; i < count; ++i) {                                               \
      if ((uint64_t)at[i] < numel) {                                       \
        sums[at[i]] += x[i];                                               \
      } else {                                                             \
        judge_missed(b, at[i]);                                            \
      }                                                                    \
    }                                                                      \
  } while (0)

static void collect_dense(const backward* b, const char* indices,
                          const char* grad, char* out) {
  const int64_t* at = (const int64_t*)(const void*)indices;
  const int64_t count = b->grad.rows * b->grad.columns;
  const uint64_t numel = (uint64_t)(b->out.rows * b->out.columns);
  memset(out, 0, (size_t)numel * (size_t)b->out.bytes);
  if (etx_is_f64(b->wide)) {
    COLLECT_DENSE(double);
  } else {
    COLLECT_DENSE(float);
  }
}

static void clear(const backward* b, char* out) {
  const int64_t numel = b->out.rows * b->out.columns;
  for (int64_t i = 0; i < numel; ++i) {
    memset(element(b, out, i), 0, (size_t)b->out.bytes);
  }
}

static void backward_plane(const backward* b, int64_t image, int64_t channel) {
  const char* indices = etx_planes_at(&b->indices, image, channel);
  const char* grad = etx_planes_at(&b->grad, image, channel);
  char* out = etx_planes_at(&b->out, image, channel);
  const int64_t numel = b->out.rows * b->out.columns;
  if (is_dense(b)) {
    collect_dense(b, indices, grad, out);
    return;
  }
  if (b->is_native) {
    clear(b, out);
    collect(b, indices, grad, out, NULL, 0, numel);
    return;
  }
  for (int64_t first = 0; first < numel; first += PIECE) {
    float sums[PIECE] = {0};
    const int64_t end = first + PIECE < numel ? first + PIECE : numel;
    collect(b, indices, grad, out, sums, first, end);
    for (int64_t i = first; i < end; ++i) {
      etx_convert(b->out.dtype, element(b, out, i), 1, ETX_DTYPE_FLOAT32,
                  sums + (i - first), 1, 1);
    }
  }
}

static void backward_planes(const void* context, size_t first, size_t end) {
  const backward* b = context;
  for (size_t i = first; i < end; ++i) {
    backward_plane(b, (int64_t)i / b->out.channels,
                   (int64_t)i % b->out.channels);
  }
}

static etx_status refuse_wrong(const etx_call* call, const backward* b) {
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
  bool is_wrong = false;
  const backward b = {
      .grad = etx_planes_of(grad),
      .indices = etx_planes_of(etx_call_tensor(
          call, ETX_ARG_max_pool2d_with_indices_backward_grad_input_indices)),
      .out = etx_planes_of(etx_call_tensor(
          call,
          ETX_ARG_max_pool2d_with_indices_backward_grad_input_grad_input)),
      .wide = etx_compute_type_of(grad->dtype),
      .is_native =
          grad->dtype == ETX_DTYPE_FLOAT32 || grad->dtype == ETX_DTYPE_FLOAT64,
      .is_wrong = &is_wrong};
  etx_parallel_for(
      call->parallel, (size_t)(b.out.images * b.out.channels),
      (double)etx_tensor_numel(etx_call_tensor(
          call,
          ETX_ARG_max_pool2d_with_indices_backward_grad_input_grad_input)),
      backward_planes, &b);
  return is_wrong ? refuse_wrong(call, &b) : ETX_OK;
}

etx_status etx_kernel_max_pool2d_with_indices_backward_grad_input_prepare(
    etx_call* call) {
  const etx_compute_type wide = etx_compute_type_of(
      etx_call_tensor(
          call, ETX_ARG_max_pool2d_with_indices_backward_grad_input_grad_output)
          ->dtype);
  if (wide != ETX_COMPUTE_F32 && wide != ETX_COMPUTE_F64) {
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
