// Softmax and its logarithm along one dimension.
//
// Per line: the largest element m, then e^(x - m) and their sum, then the
// division by the sum. m makes the largest power 1, so nothing overflows. A
// line of minus infinities gives NaN, as in PyTorch. Each pass reads element i
// before it writes element i, so the result may overwrite the operand.
//
// Dense lines of float32 have loops of their own. All others go through
// blocks, along a line or across many lines, with the same steps on a block:
// there the powers are computed twice, since a half would round them.

#include "runtime/kernels/kernels.h"
#include "runtime/kernels/lanes.h"
#include "runtime/kernels/lines.h"
#include "runtime/kernels/math_functions.h"
#include "runtime/kernels/operand.h"
#include "runtime/kernels/parts.h"

typedef struct softmax {
  etx_wide wide;  // ETX_WIDE_F32 or ETX_WIDE_F64
  bool is_log;
} softmax;

// NaN does not matter here: it comes back through the sum.
static float largest_dense(const float* x, size_t count) {
  float lanes[16];
  for (size_t j = 0; j < 16; ++j) lanes[j] = x[j < count ? j : 0];
  size_t i = 16;
  for (; i + 16 <= count; i += 16) {
    for (size_t j = 0; j < 16; ++j) {
      lanes[j] = x[i + j] > lanes[j] ? x[i + j] : lanes[j];
    }
  }
  for (size_t j = 0; i < count; ++i, ++j) {
    lanes[j] = x[i] > lanes[j] ? x[i] : lanes[j];
  }
  float largest = lanes[0];
  for (size_t j = 1; j < 16; ++j) {
    largest = lanes[j] > largest ? lanes[j] : largest;
  }
  return largest;
}

static void softmax_dense(float* out, const float* in, size_t count) {
  const float m = largest_dense(in, count);
  for (size_t i = 0; i < count; ++i) out[i] = etx_exp_f32(in[i] - m);
  const float scale = 1.0f / etx_sum_f32(out, count);
  for (size_t i = 0; i < count; ++i) out[i] *= scale;
}

static void log_softmax_dense(float* out, const float* in, size_t count) {
  float powers[256];
  const float m = largest_dense(in, count);
  double sum = 0;
  for (size_t done = 0; done < count; done += 256) {
    const size_t part = count - done < 256 ? count - done : 256;
    for (size_t i = 0; i < part; ++i) {
      powers[i] = etx_exp_f32(in[done + i] - m);
    }
    sum += (double)etx_sum_f32(powers, part);
  }
  const float shift = (float)etx_log_f64(sum);
  for (size_t i = 0; i < count; ++i) out[i] = in[i] - m - shift;
}

// The largest of two blocks, element by element.
static void take_larger(const softmax* s, etx_block* m, const etx_block* x,
                        size_t count) {
  if (s->wide == ETX_WIDE_F32) {
    for (size_t i = 0; i < count; ++i) {
      m->f32[i] = x->f32[i] > m->f32[i] ? x->f32[i] : m->f32[i];
    }
  } else {
    for (size_t i = 0; i < count; ++i) {
      m->f64[i] = x->f64[i] > m->f64[i] ? x->f64[i] : m->f64[i];
    }
  }
}

// e^(x - m), element by element, in place of x.
static void raise(const softmax* s, etx_block* x, const etx_block* m,
                  size_t count) {
  if (s->wide == ETX_WIDE_F32) {
    for (size_t i = 0; i < count; ++i) {
      x->f32[i] = etx_exp_f32(x->f32[i] - m->f32[i]);
    }
  } else {
    for (size_t i = 0; i < count; ++i) {
      x->f64[i] = etx_exp_f64(x->f64[i] - m->f64[i]);
    }
  }
}

static void add(const softmax* s, etx_block* sums, const etx_block* x,
                size_t count) {
  for (size_t i = 0; i < count; ++i) {
    sums->f64[i] += s->wide == ETX_WIDE_F32 ? (double)x->f32[i] : x->f64[i];
  }
}

// Turns sums of powers into what the last pass needs: factors, or logarithms.
static void close_sums(const softmax* s, etx_block* sums, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const double sum = sums->f64[i];
    const double closed = s->is_log ? etx_log_f64(sum) : 1.0 / sum;
    if (s->wide == ETX_WIDE_F32) sums->f32[i] = (float)closed;
    if (s->wide == ETX_WIDE_F64) sums->f64[i] = closed;
  }
}

// The results, in place of the elements x.
static void finish(const softmax* s, etx_block* x, const etx_block* m,
                   const etx_block* closed, size_t count) {
  if (!s->is_log) raise(s, x, m, count);
  for (size_t i = 0; i < count; ++i) {
    if (s->wide == ETX_WIDE_F32) {
      x->f32[i] = s->is_log ? x->f32[i] - m->f32[i] - closed->f32[i]
                            : x->f32[i] * closed->f32[i];
    } else {
      x->f64[i] = s->is_log ? x->f64[i] - m->f64[i] - closed->f64[i]
                            : x->f64[i] * closed->f64[i];
    }
  }
}

static void visit_across(const softmax* s, const etx_lines* lines) {
  const size_t width = lines->width;
  etx_block m, sums, x;
  etx_across_load(&lines->in, 0, width, s->wide, &m);
  for (size_t at = 1; at < lines->count; ++at) {
    etx_across_load(&lines->in, at, width, s->wide, &x);
    take_larger(s, &m, &x, width);
  }
  for (size_t i = 0; i < width; ++i) sums.f64[i] = 0;
  for (size_t at = 0; at < lines->count; ++at) {
    etx_across_load(&lines->in, at, width, s->wide, &x);
    raise(s, &x, &m, width);
    add(s, &sums, &x, width);
  }
  close_sums(s, &sums, width);
  for (size_t at = 0; at < lines->count; ++at) {
    etx_across_load(&lines->in, at, width, s->wide, &x);
    finish(s, &x, &m, &sums, width);
    etx_across_store(&lines->out, at, width, s->wide, &x);
  }
}

// Sets every element of a block to its first one.
static void spread(const softmax* s, etx_block* block) {
  for (size_t i = 1; i < ETX_BLOCK; ++i) {
    if (s->wide == ETX_WIDE_F32) block->f32[i] = block->f32[0];
    if (s->wide == ETX_WIDE_F64) block->f64[i] = block->f64[0];
  }
}

// Elements of the block of a line that starts at `done`.
static size_t part_of(const etx_lines* lines, size_t done) {
  const size_t left = lines->count - done;
  return left < ETX_BLOCK ? left : ETX_BLOCK;
}

// As visit_across, with one m and one sum, spread over a block. The elements
// of a block are folded into the first one last.
static void visit_along(const softmax* s, const etx_lines* lines, size_t line) {
  etx_block m, sums, x;
  etx_line_load(&lines->in, line, 0, 1, s->wide, &m);
  spread(s, &m);
  for (size_t done = 0; done < lines->count; done += ETX_BLOCK) {
    const size_t part = part_of(lines, done);
    etx_line_load(&lines->in, line, done, part, s->wide, &x);
    take_larger(s, &m, &x, part);
  }
  for (size_t half = ETX_BLOCK / 2; half > 0; half /= 2) {
    const void* upper =
        s->wide == ETX_WIDE_F32 ? (void*)&m.f32[half] : (void*)&m.f64[half];
    etx_block rest;
    memcpy(&rest, upper, half * (s->wide == ETX_WIDE_F32 ? 4 : 8));
    take_larger(s, &m, &rest, half);
  }
  spread(s, &m);
  for (size_t i = 0; i < ETX_BLOCK; ++i) sums.f64[i] = 0;
  for (size_t done = 0; done < lines->count; done += ETX_BLOCK) {
    const size_t part = part_of(lines, done);
    etx_line_load(&lines->in, line, done, part, s->wide, &x);
    raise(s, &x, &m, part);
    add(s, &sums, &x, part);
  }
  for (size_t half = ETX_BLOCK / 2; half > 0; half /= 2) {
    for (size_t i = 0; i < half; ++i) sums.f64[i] += sums.f64[half + i];
  }
  close_sums(s, &sums, 1);
  spread(s, &sums);
  for (size_t done = 0; done < lines->count; done += ETX_BLOCK) {
    const size_t part = part_of(lines, done);
    etx_line_load(&lines->in, line, done, part, s->wide, &x);
    finish(s, &x, &m, &sums, part);
    etx_line_store(&lines->out, line, done, part, s->wide, &x);
  }
}

static bool is_dense(const etx_elements* elements) {
  return elements->stride == 1 && elements->dtype == ETX_DTYPE_FLOAT32;
}

static void visit_dense(const softmax* s, const etx_lines* lines) {
  float* out = (float*)(void*)lines->out.data;
  const float* in = (const float*)(const void*)lines->in.data;
  for (size_t line = 0; line < lines->width; ++line) {
    if (s->is_log) log_softmax_dense(out, in, lines->count);
    if (!s->is_log) softmax_dense(out, in, lines->count);
    out += lines->out.step;
    in += lines->in.step;
  }
}

static void visit(const etx_lines* lines, void* context) {
  const softmax* s = context;
  if (etx_lines_go_across(lines)) {
    visit_across(s, lines);
  } else if (is_dense(&lines->in) && is_dense(&lines->out)) {
    visit_dense(s, lines);
  } else {
    for (size_t line = 0; line < lines->width; ++line) {
      visit_along(s, lines, line);
    }
  }
}

// (self, dim, half_to_float, out)
static etx_status run_over(const etx_call* call, bool is_log) {
  const etx_tensor* self = etx_call_tensor(call, 0);
  softmax s = {etx_wide_of(self->dtype), is_log};
  etx_lines_visit(etx_call_tensor(call, 3), self,
                  etx_wrap_dimension(etx_call_integer(call, 1), self->rank),
                  visit, &s);
  return ETX_OK;
}
static etx_status run_softmax(etx_call* call) { return run_over(call, false); }
static etx_status run_log_softmax(etx_call* call) {
  return run_over(call, true);
}

static etx_status prepare(etx_call* call, etx_kernel_function run) {
  const etx_tensor* self = etx_call_tensor(call, 0);
  const etx_wide wide = etx_wide_of(self->dtype);
  const bool is_float = wide == ETX_WIDE_F32 || wide == ETX_WIDE_F64;
  // Nothing is asked of no elements.
  if (!is_float && etx_tensor_numel(self) > 0) {
    return etx_call_refuse_dtype(call, 0, "a float type");
  }
  if (etx_call_boolean(call, 2)) {
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "'half_to_float' is true, expected false");
  }
  call->run = run;
  return etx_call_check_same_dtype(call, 0, 3);
}

etx_status etx_kernel_softmax_out_prepare(etx_call* call) {
  return prepare(call, run_softmax);
}
etx_status etx_kernel_log_softmax_out_prepare(etx_call* call) {
  return prepare(call, run_log_softmax);
}
