// Pads of a tensor's own elements: reflection_pad and replication_pad.
//
// Out is written row by row. A row of the last dimension is a contiguous piece
// of a row of self between two pieces that are read element by element. The
// same map from positions of out to positions of self selects the row of self.

#include <string.h>

#include "runtime/kernels/core/dtype_switch.h"
#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/core/short_copy.h"

// One padded dimension. A negative pad crops.
typedef struct pad_edge {
  int64_t before;  // elements of out before self's first
  int64_t size;    // of self
  bool reflects;
} pad_edge;

// The element of self that is copied to element `at` of out.
static int64_t source_of(const pad_edge* e, int64_t at) {
  const int64_t position = at - e->before;
  if (position >= 0 && position < e->size) return position;
  if (!e->reflects) return position < 0 ? 0 : e->size - 1;
  return position < 0 ? -position : 2 * (e->size - 1) - position;
}

typedef struct padding {
  const etx_tensor* self;
  const etx_tensor* out;
  ptrdiff_t bytes;               // bytes of an element
  pad_edge edges[ETX_MAX_RANK];  // of every dimension; most are not padded
} padding;

static void copy_mapped(const padding* p, char* to, const char* from,
                        int64_t start, int64_t end) {
  const size_t last = (size_t)p->out->rank - 1;
  const ptrdiff_t to_step = p->out->strides[last] * p->bytes;
  const ptrdiff_t from_step = p->self->strides[last] * p->bytes;
  ETX_SWITCH_BYTES(p->bytes, T, {
    for (int64_t i = start; i < end; ++i) {
      const ptrdiff_t at = (ptrdiff_t)source_of(&p->edges[last], i);
      memcpy(to + (ptrdiff_t)i * to_step, from + at * from_step, sizeof(T));
    }
  })
}

// Writes the pads of a contiguous row, each shorter than the row of self.
static void copy_edges(const padding* p, char* to, const char* from) {
  const pad_edge* e = &p->edges[p->out->rank - 1];
  const ptrdiff_t before = (ptrdiff_t)e->before;
  const ptrdiff_t size = (ptrdiff_t)e->size;
  const ptrdiff_t after =
      (ptrdiff_t)p->out->sizes[p->out->rank - 1] - before - size;
  const ptrdiff_t step = e->reflects ? 1 : 0;
  ETX_SWITCH_BYTES(p->bytes, T, {
    const ptrdiff_t bytes = (ptrdiff_t)sizeof(T);
    T one;
    for (ptrdiff_t i = 1; i <= before; ++i) {
      memcpy(&one, from + i * step * bytes, sizeof one);
      memcpy(to + (before - i) * bytes, &one, sizeof one);
    }
    for (ptrdiff_t i = 1; i <= after; ++i) {
      memcpy(&one, from + (size - 1 - i * step) * bytes, sizeof one);
      memcpy(to + (before + size - 1 + i) * bytes, &one, sizeof one);
    }
  })
}

static void copy_row(const padding* p, char* to, const char* from) {
  const size_t last = (size_t)p->out->rank - 1;
  const pad_edge* e = &p->edges[last];
  const int64_t size = p->out->sizes[last];
  const bool is_dense =
      p->out->strides[last] == 1 && p->self->strides[last] == 1;
  if (is_dense && e->before >= 0 && e->before + e->size <= size) {
    copy_edges(p, to, from);
    etx_copy_short(to + (ptrdiff_t)e->before * p->bytes, from,
                   (size_t)e->size * (size_t)p->bytes);
    return;
  }
  copy_mapped(p, to, from, 0, size);
}

static void fill(const padding* p) {
  const size_t rows = (size_t)p->out->rank - 1;  // dimensions above a row
  int32_t position[ETX_MAX_RANK] = {0};
  for (;;) {
    ptrdiff_t to = 0, from = 0;
    for (size_t i = 0; i < rows; ++i) {
      to += position[i] * p->out->strides[i];
      from +=
          (ptrdiff_t)source_of(&p->edges[i], position[i]) * p->self->strides[i];
    }
    copy_row(p, (char*)p->out->data + to * p->bytes,
             (const char*)p->self->data + from * p->bytes);
    size_t i = rows;
    while (i > 0 && ++position[i - 1] == p->out->sizes[i - 1]) {
      position[--i] = 0;
    }
    if (i == 0) return;
  }
}

// True if only the last dimension is padded and both tensors are contiguous, so
// that rows follow each other.
static bool pads_rows(const padding* p) {
  for (size_t i = 0; i + 1 < p->out->rank; ++i) {
    const pad_edge* e = &p->edges[i];
    if (e->before != 0 || e->size != p->out->sizes[i]) return false;
  }
  return etx_tensor_is_contiguous(p->self) && etx_tensor_is_contiguous(p->out);
}

static void fill_rows(const padding* p) {
  const size_t last = (size_t)p->out->rank - 1;
  const ptrdiff_t to_row = (ptrdiff_t)p->out->sizes[last] * p->bytes;
  const ptrdiff_t from_row = (ptrdiff_t)p->self->sizes[last] * p->bytes;
  const size_t rows = etx_tensor_numel(p->out) / (size_t)p->out->sizes[last];
  char* to = p->out->data;
  const char* from = p->self->data;
  for (size_t i = 0; i < rows; ++i, to += to_row, from += from_row) {
    copy_row(p, to, from);
  }
}

// `padding` has a pair for each dimension, from the last one on.
static etx_status pad(const etx_call* call, bool reflects) {
  padding p = {.self = etx_call_tensor(call, ETX_ARG_reflection_pad1d_self),
               .out = etx_call_tensor(call, ETX_ARG_reflection_pad1d_out)};
  const size_t pairs = etx_call_value(call, ETX_ARG_reflection_pad1d_padding)
                           ->as.integers.count /
                       2;
  if (etx_tensor_numel(p.out) == 0) return ETX_OK;
  p.bytes = (ptrdiff_t)etx_dtype_bytes(p.out->dtype);
  for (size_t i = 0; i < p.out->rank; ++i) {
    p.edges[i] = (pad_edge){0, p.self->sizes[i], reflects};
  }
  for (size_t i = 0; i < pairs; ++i) {
    p.edges[p.out->rank - 1 - i].before =
        etx_call_item(call, ETX_ARG_reflection_pad1d_padding, 2 * i);
  }
  if (pads_rows(&p)) {
    fill_rows(&p);
  } else {
    fill(&p);
  }
  return ETX_OK;
}

static etx_status run_reflection(etx_call* call) { return pad(call, true); }
static etx_status run_replication(etx_call* call) { return pad(call, false); }

static etx_status prepare_pad(etx_call* call, etx_kernel_function run) {
  ETX_TRY(etx_call_check_same_dtype(call, ETX_ARG_reflection_pad1d_self,
                                    ETX_ARG_reflection_pad1d_out));
  call->run = run;
  return ETX_OK;
}

etx_status etx_kernel_reflection_pad1d_out_prepare(etx_call* call) {
  return prepare_pad(call, run_reflection);
}
etx_status etx_kernel_reflection_pad2d_out_prepare(etx_call* call) {
  return prepare_pad(call, run_reflection);
}
etx_status etx_kernel_reflection_pad3d_out_prepare(etx_call* call) {
  return prepare_pad(call, run_reflection);
}
etx_status etx_kernel_replication_pad1d_out_prepare(etx_call* call) {
  return prepare_pad(call, run_replication);
}
etx_status etx_kernel_replication_pad2d_out_prepare(etx_call* call) {
  return prepare_pad(call, run_replication);
}
etx_status etx_kernel_replication_pad3d_out_prepare(etx_call* call) {
  return prepare_pad(call, run_replication);
}
