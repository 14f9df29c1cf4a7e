// nms: the boxes that are left when each box suppresses those with a lower
// score that overlap it by more than a threshold.
//
// Boxes are gathered in the order of their scores (equal scores: in the order
// of the boxes), so the loop over the boxes behind one reads memory in order.
// The arithmetic is that of torchvision's kernel, step by step in the type of
// the boxes, so the same boxes are kept.

#include <string.h>

#include "runtime/built_types.h"
#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/core/sort_keys.h"
#include "runtime/kernels/registry/temporary_kernels.h"

enum { SIDES = 4, NUMBERS = SIDES + 1 };  // x1, y1, x2, y2; and the area

// The temporary memory: entries, numbers of the boxes, marks.
typedef struct box_memory {
  const etx_sort_entry* order;
  void* numbers;        // NUMBERS rows of `count`
  uint8_t* suppressed;  // 1: suppressed
  size_t count;         // of boxes
} box_memory;

static size_t bytes_for(size_t count, etx_dtype dtype) {
  return count *
         (2 * sizeof(etx_sort_entry) + NUMBERS * etx_dtype_bytes(dtype) + 1);
}

static box_memory start(const etx_call* call) {
  const etx_tensor* scores = etx_call_tensor(call, ETX_ARG_nms_scores);
  const size_t count = (size_t)scores->sizes[0];
  etx_sort_entry* entries = call->temporary;
  const etx_key_source source = {scores->data, scores->dtype,
                                 scores->strides[0], true};
  box_memory m = {.numbers = entries + 2 * count, .count = count};
  m.suppressed =
      (uint8_t*)m.numbers + count * NUMBERS * etx_dtype_bytes(scores->dtype);
  etx_sort_entries_load(&source, count, entries);
  m.order = etx_radix_sort(entries, entries + count, count);
  memset(m.suppressed, 0, count);
  return m;
}

// DEFINE_SUPPRESS(name, T): marks the boxes that are suppressed.
//
// A comparison with NaN is false, which decides as std::min and std::max do.
#define DEFINE_SUPPRESS(name, T)                                              \
  static void name(const etx_tensor* dets, const box_memory* m,               \
                   double threshold) {                                        \
    const size_t n = m->count;                                                \
    T* const x1 = m->numbers;                                                 \
    T *const y1 = x1 + n, *const x2 = y1 + n, *const y2 = x2 + n;             \
    T* const area = y2 + n;                                                   \
    for (size_t i = 0; i < n; ++i) {                                          \
      const T* box = (const T*)dets->data +                                   \
                     (ptrdiff_t)m->order[i].position * dets->strides[0];      \
      for (size_t k = 0; k < SIDES; ++k) {                                    \
        x1[k * n + i] = box[(ptrdiff_t)k * dets->strides[1]];                 \
      }                                                                       \
      area[i] = (x2[i] - x1[i]) * (y2[i] - y1[i]);                            \
    }                                                                         \
    for (size_t i = 0; i < n; ++i) {                                          \
      const T left = x1[i], top = y1[i], right = x2[i], bottom = y2[i];       \
      const T box_area = area[i];                                             \
      if (m->suppressed[i] != 0) continue;                                    \
      for (size_t j = i + 1; j < n; ++j) {                                    \
        const T width =                                                       \
            (x2[j] < right ? x2[j] : right) - (left < x1[j] ? x1[j] : left);  \
        const T height =                                                      \
            (y2[j] < bottom ? y2[j] : bottom) - (top < y1[j] ? y1[j] : top);  \
        const T shared = (0 < width ? width : 0) * (0 < height ? height : 0); \
        const T ratio = shared / (box_area + area[j] - shared);               \
        m->suppressed[j] |= (double)ratio > threshold;                        \
      }                                                                       \
    }                                                                         \
  }

DEFINE_SUPPRESS(suppress_f32, float)
DEFINE_SUPPRESS(suppress_f64, double)

static etx_status run_nms(etx_call* call) {
  const etx_tensor* dets = etx_call_tensor(call, ETX_ARG_nms_dets);
  const etx_tensor* out = etx_call_tensor(call, ETX_ARG_nms_out);
  const double threshold = etx_call_real(call, ETX_ARG_nms_iou_threshold);
  int32_t kept = 0;
  if (dets->sizes[0] == 0) {
    return etx_call_resize_out(call, ETX_ARG_nms_out, &kept);
  }
  const box_memory m = start(call);
  if (ETX_HAS_DTYPE(FLOAT64) && dets->dtype == ETX_DTYPE_FLOAT64) {
    suppress_f64(dets, &m, threshold);
  } else {
    suppress_f32(dets, &m, threshold);
  }
  for (size_t i = 0; i < m.count; ++i) kept += m.suppressed[i] == 0;
  ETX_TRY(etx_call_resize_out(call, ETX_ARG_nms_out, &kept));
  int64_t* to = out->data;
  for (size_t i = 0; i < m.count; ++i) {
    if (m.suppressed[i] == 0) *to++ = (int64_t)m.order[i].position;
  }
  return ETX_OK;
}

etx_status etx_temporary_nms(const etx_call* call, size_t* out_bytes) {
  const etx_tensor* scores = etx_call_tensor(call, ETX_ARG_nms_scores);
  *out_bytes = bytes_for(etx_tensor_numel(scores), scores->dtype);
  return ETX_OK;
}

etx_status etx_kernel_nms_out_prepare(etx_call* call) {
  const etx_dtype dtype = etx_call_tensor(call, ETX_ARG_nms_dets)->dtype;
  if (dtype != ETX_DTYPE_FLOAT32 && dtype != ETX_DTYPE_FLOAT64) {
    return etx_call_refuse_dtype(call, ETX_ARG_nms_dets,
                                 "'float32' or 'float64'");
  }
  ETX_TRY(
      etx_call_check_same_dtype(call, ETX_ARG_nms_dets, ETX_ARG_nms_scores));
  ETX_TRY(etx_call_check_dtype(call, ETX_ARG_nms_out, ETX_DTYPE_INT64));
  ETX_TRY(etx_call_check_contiguous(call, ETX_ARG_nms_out));
  call->temporary_bytes = bytes_for(
      (size_t)etx_call_tensor(call, ETX_ARG_nms_scores)->sizes[0], dtype);
  call->run = run_nms;
  return ETX_OK;
}
