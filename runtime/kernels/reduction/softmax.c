// Softmax and its logarithm along one dimension.
//
// Per line: the largest element m, then e^(x - m) and their sum, then the
// division by the sum. m makes the largest power 1, so nothing overflows. A
// line of minus infinities gives NaN, as in PyTorch. Each pass reads element i
// before it writes element i, so the result may overwrite the operand.
//
// Dense lines of float32 have loops of their own; short lines that lie or are
// stored otherwise are copied to such a line first. All others go through
// blocks, along a line or across many lines, with the same steps on a block.
// Powers are kept in the result between the passes, unless it is a half, which
// would round them: then they are computed twice.

#include "runtime/kernels/simd/elementwise/float_loops.h"
#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/simd/vector/striped_sum.h"
#include "runtime/kernels/views/axis_iterator.h"
#include "runtime/kernels/math/math_functions.h"
#include "runtime/kernels/core/operand.h"
#include "runtime/kernels/core/slice_args.h"

typedef struct softmax {
  etx_compute_type wide;  // ETX_COMPUTE_F32 or ETX_COMPUTE_F64
  bool is_log;
  const etx_softmax_loops* line;
} softmax;

// Lines too short for loops of their own set.
enum { FEW = 32 };

// Lines of softmax so short that powers of several are computed together: where
// each would leave a rest, and where it is of few vectors. So many elements stay
// in the first cache.
enum { UNEVEN_ROW = 256, EVEN_ROW = 64, VECTOR = 16, ROWS_TOGETHER = 1024 };

// NaN does not matter for the largest: it comes back through the sum.
static float largest_of_few(const float* x, size_t count) {
  float largest = x[0];
  for (size_t i = 1; i < count; ++i) largest = x[i] > largest ? x[i] : largest;
  return largest;
}

// out = e^(in - m). Returns the sum, to the same bits as for longer lines.
static float raise_few(float* out, const float* in, size_t count, float m) {
  for (size_t i = 0; i < count; ++i) out[i] = etx_exp_f32(in[i] - m);
  return etx_striped_sum_f32(out, count);
}

static float largest_of(const softmax* s, float* out, const float* in,
                        size_t count) {
  return s->line->scale(out, in, count, 1.0f,
                        etx_f32_of_bits(UINT32_C(0xff800000)));
}

static void softmax_dense(const softmax* s, float* out, const float* in,
                          size_t count) {
  if (count < FEW) {
    const float m = largest_of_few(in, count);
    const float scale = 1.0f / raise_few(out, in, count, m);
    for (size_t i = 0; i < count; ++i) out[i] *= scale;
    return;
  }
  const float m = largest_of(s, out, in, count);
  const float scale = 1.0f / s->line->raise(out, out, count, m);
  (void)s->line->scale(out, out, count, scale, 0);
}

// Rows that follow each other.
static void softmax_rows(const softmax* s, float* out, const float* in,
                         size_t rows, size_t count) {
  for (size_t r = 0; r < rows; ++r) {
    float* const row = out + r * count;
    const float* const from = in + r * count;
    const float m = count < FEW ? largest_of_few(from, count)
                                : largest_of(s, row, from, count);
    for (size_t i = 0; i < count; ++i) row[i] = from[i] - m;
  }
  (void)s->line->raise(out, out, rows * count, 0);
  for (size_t r = 0; r < rows; ++r) {
    float* const row = out + r * count;
    const float scale = 1.0f / etx_striped_sum_f32(row, count);
    if (count < FEW) {
      for (size_t i = 0; i < count; ++i) row[i] *= scale;
    } else {
      (void)s->line->scale(row, row, count, scale, 0);
    }
  }
}

static void log_softmax_dense(const softmax* s, float* out, const float* in,
                              size_t count) {
  float powers[256];
  float m;
  double sum = 0;
  if (count < FEW) {
    m = largest_of_few(in, count);
    sum = (double)raise_few(powers, in, count, m);
  } else {
    m = largest_of(s, out, in, count);
    in = out;
    for (size_t done = 0; done < count; done += 256) {
      const size_t part = count - done < 256 ? count - done : 256;
      sum += (double)s->line->raise(powers, in + done, part, m);
    }
  }
  const float shift = etx_log_f32((float)sum);
  for (size_t i = 0; i < count; ++i) out[i] = in[i] - m - shift;
}

// The largest of two blocks, element by element.
static void take_larger(const softmax* s, etx_block* m, const void* elements,
                        size_t count) {
  if (!etx_is_f64(s->wide)) {
    const float* x = elements;
    for (size_t i = 0; i < count; ++i) {
      m->f32[i] = x[i] > m->f32[i] ? x[i] : m->f32[i];
    }
  } else {
    const double* x = elements;
    for (size_t i = 0; i < count; ++i) {
      m->f64[i] = x[i] > m->f64[i] ? x[i] : m->f64[i];
    }
  }
}

// e^(x - m), element by element, and their sums. `powers` may be `elements`.
static void raise(const softmax* s, void* powers, const void* elements,
                  const etx_block* m, size_t count) {
  if (!etx_is_f64(s->wide)) {
    const float* x = elements;
    float* y = powers;
    for (size_t i = 0; i < count; ++i) y[i] = etx_exp_f32(x[i] - m->f32[i]);
  } else {
    const double* x = elements;
    double* y = powers;
    for (size_t i = 0; i < count; ++i) y[i] = etx_exp_f64(x[i] - m->f64[i]);
  }
}
static void add(const softmax* s, etx_block* sums, const void* powers,
                size_t count) {
  if (!etx_is_f64(s->wide)) {
    const float* x = powers;
    for (size_t i = 0; i < count; ++i) sums->f64[i] += (double)x[i];
  } else {
    const double* x = powers;
    for (size_t i = 0; i < count; ++i) sums->f64[i] += x[i];
  }
}

// Turns sums of powers into what the last pass needs: factors, or logarithms.
static void close_sums(const softmax* s, etx_block* sums, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const double sum = sums->f64[i];
    const double closed = s->is_log ? etx_log_f64(sum) : 1.0 / sum;
    if (s->wide == ETX_COMPUTE_F32) sums->f32[i] = (float)closed;
    if (etx_is_f64(s->wide)) sums->f64[i] = closed;
  }
}

static void scale(const softmax* s, void* powers, const etx_block* factors,
                  size_t count) {
  if (!etx_is_f64(s->wide)) {
    float* x = powers;
    for (size_t i = 0; i < count; ++i) x[i] *= factors->f32[i];
  } else {
    double* x = powers;
    for (size_t i = 0; i < count; ++i) x[i] *= factors->f64[i];
  }
}
static void subtract(const softmax* s, void* out, const void* elements,
                     const etx_block* m, const etx_block* shifts,
                     size_t count) {
  if (!etx_is_f64(s->wide)) {
    const float* x = elements;
    float* y = out;
    for (size_t i = 0; i < count; ++i) y[i] = x[i] - m->f32[i] - shifts->f32[i];
  } else {
    const double* x = elements;
    double* y = out;
    for (size_t i = 0; i < count; ++i) y[i] = x[i] - m->f64[i] - shifts->f64[i];
  }
}

// Between the passes of softmax the result holds the powers, if it can.
static bool keeps_powers(const softmax* s, const etx_axis_lines* lines) {
  return !s->is_log && lines->out.dtype == etx_compute_type_dtype(s->wide);
}

// The last pass over `count` elements: from the powers in `out`, or from the
// elements `in`.
static void finish(const softmax* s, bool has_powers, void* out, const void* in,
                   const etx_block* m, const etx_block* closed, size_t count) {
  if (s->is_log) {
    subtract(s, out, in, m, closed, count);
    return;
  }
  if (has_powers && out != in) {
    memcpy(out, in, count * etx_dtype_bytes(etx_compute_type_dtype(s->wide)));
  }
  if (!has_powers) raise(s, out, in, m, count);
  scale(s, out, closed, count);
}

// The numbers of a group of lines that is gone along together.
typedef struct across {
  etx_block largest[ETX_AXIS_LINE_BLOCKS];
  etx_block sums[ETX_AXIS_LINE_BLOCKS];
} across;

// The three passes for element `at` of the lines of block `b`.
static void pass_largest(const softmax* s, const etx_axis_lines* lines, across* a,
                         size_t b, size_t at) {
  const size_t count = etx_axis_lines_in_block(lines, b);
  etx_block x;
  const void* in = etx_axis_across_read(&lines->in, b, at, count, s->wide, &x);
  if (at > 0) {
    take_larger(s, &a->largest[b], in, count);
  } else {
    memcpy(&a->largest[b], in,
           count * etx_dtype_bytes(etx_compute_type_dtype(s->wide)));
  }
}
static void pass_sums(const softmax* s, const etx_axis_lines* lines, across* a,
                      size_t b, size_t at) {
  const size_t count = etx_axis_lines_in_block(lines, b);
  const bool keeps = keeps_powers(s, lines);
  etx_block x, y;
  const void* in = etx_axis_across_read(&lines->in, b, at, count, s->wide, &x);
  void* powers =
      keeps ? etx_axis_across_target(&lines->out, b, at, s->wide, &y) : &y;
  raise(s, powers, in, &a->largest[b], count);
  add(s, &a->sums[b], powers, count);
  if (!keeps) return;
  etx_axis_across_store(&lines->out, b, at, count, s->wide, &y);
}
static void pass_finish(const softmax* s, const etx_axis_lines* lines, across* a,
                        size_t b, size_t at) {
  const size_t count = etx_axis_lines_in_block(lines, b);
  const bool keeps = keeps_powers(s, lines);
  const etx_axis_elements* from = keeps ? &lines->out : &lines->in;
  etx_block x, y;
  const void* in = etx_axis_across_read(from, b, at, count, s->wide, &x);
  void* out = etx_axis_across_target(&lines->out, b, at, s->wide, &y);
  finish(s, keeps, out, in, &a->largest[b], &a->sums[b], count);
  etx_axis_across_store(&lines->out, b, at, count, s->wide, &y);
}

static void visit_across(const softmax* s, const etx_axis_lines* lines) {
  static void (*const passes[])(const softmax*, const etx_axis_lines*, across*,
                                size_t, size_t) = {pass_largest, pass_sums,
                                                   pass_finish};
  const size_t blocks = (lines->width + ETX_BLOCK - 1) / ETX_BLOCK;
  across a;
  for (size_t b = 0; b < blocks; ++b) {
    const size_t count = etx_axis_lines_in_block(lines, b);
    for (size_t i = 0; i < count; ++i) a.sums[b].f64[i] = 0;
  }
  for (size_t pass = 0; pass < 3; ++pass) {
    for (size_t at = 0; at < lines->count; ++at) {
      for (size_t b = 0; b < blocks; ++b) passes[pass](s, lines, &a, b, at);
    }
    for (size_t b = 0; b < blocks && pass == 1; ++b) {
      close_sums(s, &a.sums[b], etx_axis_lines_in_block(lines, b));
    }
  }
}

// Sets every element of a block to its first one.
static void spread(const softmax* s, etx_block* block) {
  for (size_t i = 1; i < ETX_BLOCK && s->wide == ETX_COMPUTE_F32; ++i) {
    block->f32[i] = block->f32[0];
  }
  for (size_t i = 1; i < ETX_BLOCK && etx_is_f64(s->wide); ++i) {
    block->f64[i] = block->f64[0];
  }
}

// Elements of the block of a line that starts at `done`.
static size_t part_of(const etx_axis_lines* lines, size_t done) {
  const size_t left = lines->count - done;
  return left < ETX_BLOCK ? left : ETX_BLOCK;
}

// The largest element of a line, spread over a block.
static void find_largest(const softmax* s, const etx_axis_lines* lines, size_t line,
                         etx_block* m) {
  const size_t bytes = etx_dtype_bytes(etx_compute_type_dtype(s->wide));
  etx_block x;
  const void* in = etx_axis_line_read(&lines->in, line, 0, 1, s->wide, &x);
  memcpy(m, in, bytes);
  spread(s, m);
  for (size_t done = 0; done < lines->count; done += ETX_BLOCK) {
    const size_t part = part_of(lines, done);
    in = etx_axis_line_read(&lines->in, line, done, part, s->wide, &x);
    take_larger(s, m, in, part);
  }
  for (size_t half = ETX_BLOCK / 2; half > 0; half /= 2) {
    memcpy(&x, (const char*)m + half * bytes, half * bytes);
    take_larger(s, m, &x, half);
  }
  spread(s, m);
}

// As visit_across, with one m and one sum, spread over a block. The sums of
// the places of a block are added last.
static void visit_along(const softmax* s, const etx_axis_lines* lines, size_t line) {
  const bool keeps = keeps_powers(s, lines);
  etx_block m, sums, x, y;
  find_largest(s, lines, line, &m);
  for (size_t i = 0; i < ETX_BLOCK; ++i) sums.f64[i] = 0;
  for (size_t done = 0; done < lines->count; done += ETX_BLOCK) {
    const size_t part = part_of(lines, done);
    const void* in = etx_axis_line_read(&lines->in, line, done, part, s->wide, &x);
    void* powers =
        keeps ? etx_axis_line_target(&lines->out, line, done, s->wide, &y) : &y;
    raise(s, powers, in, &m, part);
    add(s, &sums, powers, part);
    if (keeps) {
      etx_axis_line_store(&lines->out, line, done, part, s->wide, &y);
    }
  }
  for (size_t half = ETX_BLOCK / 2; half > 0; half /= 2) {
    for (size_t i = 0; i < half; ++i) sums.f64[i] += sums.f64[half + i];
  }
  close_sums(s, &sums, 1);
  spread(s, &sums);
  for (size_t done = 0; done < lines->count; done += ETX_BLOCK) {
    const size_t part = part_of(lines, done);
    const etx_axis_elements* from = keeps ? &lines->out : &lines->in;
    const void* in = etx_axis_line_read(from, line, done, part, s->wide, &x);
    void* out = etx_axis_line_target(&lines->out, line, done, s->wide, &y);
    finish(s, keeps, out, in, &m, &sums, part);
    etx_axis_line_store(&lines->out, line, done, part, s->wide, &y);
  }
}

static bool is_dense(const etx_axis_elements* elements) {
  return elements->stride == 1 && elements->dtype == ETX_DTYPE_FLOAT32;
}

static void visit_dense(const softmax* s, const etx_axis_lines* lines) {
  float* out = (float*)(void*)lines->out.data;
  const float* in = (const float*)(const void*)lines->in.data;
  const size_t count = lines->count;
  const bool follow = lines->out.step == (ptrdiff_t)count &&
                      lines->in.step == (ptrdiff_t)count;
  const bool is_short =
      count <= (size_t)(count % VECTOR == 0 ? EVEN_ROW : UNEVEN_ROW);
  const size_t together =
      follow && !s->is_log && is_short ? ROWS_TOGETHER / count : 1;
  for (size_t line = 0, some; line < lines->width; line += some) {
    const size_t left = lines->width - line;
    some = left < together ? left : together;
    if (some > 1) {
      softmax_rows(s, out, in, some, count);
    } else if (s->is_log) {
      log_softmax_dense(s, out, in, count);
    } else {
      softmax_dense(s, out, in, count);
    }
    out += (ptrdiff_t)some * lines->out.step;
    in += (ptrdiff_t)some * lines->in.step;
  }
}

// Elements of a line that is copied.
enum { SHORT_LINE = 1024 };

static void visit_short(const softmax* s, const etx_axis_lines* lines, size_t line) {
  float copy[SHORT_LINE];
  etx_block block;
  for (size_t done = 0; done < lines->count; done += ETX_BLOCK) {
    const size_t part = part_of(lines, done);
    const void* in =
        etx_axis_line_read(&lines->in, line, done, part, s->wide, &block);
    memcpy(copy + done, in, part * sizeof(float));
  }
  if (s->is_log) log_softmax_dense(s, copy, copy, lines->count);
  if (!s->is_log) softmax_dense(s, copy, copy, lines->count);
  for (size_t done = 0; done < lines->count; done += ETX_BLOCK) {
    const size_t part = part_of(lines, done);
    void* out = etx_axis_line_target(&lines->out, line, done, s->wide, &block);
    memcpy(out, copy + done, part * sizeof(float));
    etx_axis_line_store(&lines->out, line, done, part, s->wide, &block);
  }
}

static void visit(const etx_axis_lines* lines, void* context) {
  const softmax* s = context;
  const bool is_short = s->wide == ETX_COMPUTE_F32 && lines->count <= SHORT_LINE;
  if (etx_axis_lines_are_interleaved(lines)) {
    visit_across(s, lines);
  } else if (is_dense(&lines->in) && is_dense(&lines->out)) {
    visit_dense(s, lines);
  } else {
    for (size_t line = 0; line < lines->width; ++line) {
      if (is_short) visit_short(s, lines, line);
      if (!is_short) visit_along(s, lines, line);
    }
  }
}

// (self, dim, half_to_float, out)
static etx_status run_over(const etx_call* call, bool is_log) {
  const etx_tensor* self = etx_call_tensor(call, ETX_ARG_log_softmax_self);
  softmax s = {etx_compute_type_of(self->dtype), is_log,
               &etx_float_loops_best()->line};
  etx_axis_iterator_visit(etx_call_tensor(call, ETX_ARG_log_softmax_out), self,
                  etx_wrap_dimension(etx_call_integer(call, ETX_ARG_log_softmax_dim), self->rank),
                  visit, &s);
  return ETX_OK;
}
static etx_status run_softmax(etx_call* call) { return run_over(call, false); }
static etx_status run_log_softmax(etx_call* call) {
  return run_over(call, true);
}

static etx_status prepare(etx_call* call, etx_kernel_function run) {
  const etx_tensor* self = etx_call_tensor(call, ETX_ARG_softmax_self);
  const etx_compute_type wide = etx_compute_type_of(self->dtype);
  const bool is_float = wide == ETX_COMPUTE_F32 || wide == ETX_COMPUTE_F64;
  // Nothing is asked of no elements.
  if (!is_float && etx_tensor_numel(self) > 0) {
    return etx_call_refuse_dtype(call, ETX_ARG_softmax_self, "a float type");
  }
  if (etx_call_boolean(call, ETX_ARG_softmax_half_to_float)) {
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "'half_to_float' is true, expected false");
  }
  call->run = run;
  return etx_call_check_same_dtype(call, ETX_ARG_softmax_self, ETX_ARG_softmax_out);
}

etx_status etx_kernel_softmax_out_prepare(etx_call* call) {
  return prepare(call, run_softmax);
}
etx_status etx_kernel_log_softmax_out_prepare(etx_call* call) {
  return prepare(call, run_log_softmax);
}
