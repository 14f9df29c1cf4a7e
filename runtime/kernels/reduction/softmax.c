// softmax and log_softmax along one dimension.
//
// For each line: the maximum m, then exp(x - m) and their sum, then the
// division by the sum. The largest exponential is 1, so nothing overflows. A
// line of minus infinities gives NaN, as in PyTorch. Each pass reads element i
// before it writes element i, so the result may be in place.
//
// Contiguous float32 lines have vectorised loops; short lines of another layout
// or type are copied to such a line first. All others are processed in blocks,
// along one line or across many interleaved lines. The exponentials are kept in
// the result between the passes, unless the result is float16 or bfloat16,
// which would round them: then they are computed twice.

#include "runtime/kernels/simd/elementwise/float_loops.h"
#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/simd/vector/striped_sum.h"
#include "runtime/kernels/views/axis_iterator.h"
#include "runtime/kernels/math/math_functions.h"
#include "runtime/kernels/core/operand.h"
#include "runtime/kernels/core/slice_args.h"

typedef struct softmax {
  etx_compute_type compute;  // ETX_COMPUTE_F32 or ETX_COMPUTE_F64
  bool is_log;
  const etx_row_loops* loops;
} softmax;

enum { MIN_VECTORISED = 32 };  // shorter lines use scalar loops

// The exponentials of several short rows are computed together: of rows up to
// UNEVEN_ROW elements if they are not a multiple of VECTOR, otherwise up to
// EVEN_ROW. At most MAX_TOGETHER elements, which stay in L1.
enum { UNEVEN_ROW = 256, EVEN_ROW = 64, VECTOR = 16, MAX_TOGETHER = 1024 };

// NaN may be ignored here: the sum becomes NaN anyway.
static float max_of_short(const float* x, size_t count) {
  float max = x[0];
  for (size_t i = 1; i < count; ++i) max = x[i] > max ? x[i] : max;
  return max;
}

// out = exp(in - m). Returns the sum, in the reduction order of longer lines.
static float exp_short(float* out, const float* in, size_t count, float m) {
  for (size_t i = 0; i < count; ++i) out[i] = etx_exp_f32(in[i] - m);
  return etx_striped_sum_f32(out, count);
}

static float row_max(const softmax* s, float* out, const float* in,
                     size_t count) {
  return s->loops->scale(out, in, count, 1.0f,
                         etx_f32_of_bits(UINT32_C(0xff800000)));
}

static void softmax_dense(const softmax* s, float* out, const float* in,
                          size_t count) {
  if (count < MIN_VECTORISED) {
    const float m = max_of_short(in, count);
    const float scale = 1.0f / exp_short(out, in, count, m);
    for (size_t i = 0; i < count; ++i) out[i] *= scale;
    return;
  }
  const float m = row_max(s, out, in, count);
  const float scale = 1.0f / s->loops->raise(out, out, count, m);
  (void)s->loops->scale(out, out, count, scale, 0);
}

// Adjacent rows.
static void softmax_rows(const softmax* s, float* out, const float* in,
                         size_t rows, size_t count) {
  for (size_t r = 0; r < rows; ++r) {
    float* const row = out + r * count;
    const float* const from = in + r * count;
    const float m = count < MIN_VECTORISED ? max_of_short(from, count)
                                           : row_max(s, row, from, count);
    for (size_t i = 0; i < count; ++i) row[i] = from[i] - m;
  }
  (void)s->loops->raise(out, out, rows * count, 0);
  for (size_t r = 0; r < rows; ++r) {
    float* const row = out + r * count;
    const float scale = 1.0f / etx_striped_sum_f32(row, count);
    if (count < MIN_VECTORISED) {
      for (size_t i = 0; i < count; ++i) row[i] *= scale;
    } else {
      (void)s->loops->scale(row, row, count, scale, 0);
    }
  }
}

static void log_softmax_dense(const softmax* s, float* out, const float* in,
                              size_t count) {
  float exps[256];
  float m;
  double sum = 0;
  if (count < MIN_VECTORISED) {
    m = max_of_short(in, count);
    sum = (double)exp_short(exps, in, count, m);
  } else {
    m = row_max(s, out, in, count);
    in = out;
    for (size_t done = 0; done < count; done += 256) {
      const size_t part = count - done < 256 ? count - done : 256;
      sum += (double)s->loops->raise(exps, in + done, part, m);
    }
  }
  const float shift = etx_log_f32((float)sum);
  for (size_t i = 0; i < count; ++i) out[i] = in[i] - m - shift;
}

// m = max(m, elements), element by element.
static void update_max(const softmax* s, etx_block* m, const void* elements,
                       size_t count) {
  if (!etx_is_f64(s->compute)) {
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

// exps = exp(elements - m), element by element. `exps` may be `elements`.
static void exp_block(const softmax* s, void* exps, const void* elements,
                      const etx_block* m, size_t count) {
  if (!etx_is_f64(s->compute)) {
    const float* x = elements;
    float* y = exps;
    for (size_t i = 0; i < count; ++i) y[i] = etx_exp_f32(x[i] - m->f32[i]);
  } else {
    const double* x = elements;
    double* y = exps;
    for (size_t i = 0; i < count; ++i) y[i] = etx_exp_f64(x[i] - m->f64[i]);
  }
}
static void add_to_sums(const softmax* s, etx_block* sums, const void* exps,
                        size_t count) {
  if (!etx_is_f64(s->compute)) {
    const float* x = exps;
    for (size_t i = 0; i < count; ++i) sums->f64[i] += (double)x[i];
  } else {
    const double* x = exps;
    for (size_t i = 0; i < count; ++i) sums->f64[i] += x[i];
  }
}

// Replaces sums by what the last pass needs: 1 / sum, or log(sum) for
// log_softmax.
static void finish_sums(const softmax* s, etx_block* sums, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const double sum = sums->f64[i];
    const double factor = s->is_log ? etx_log_f64(sum) : 1.0 / sum;
    if (s->compute == ETX_COMPUTE_F32) sums->f32[i] = (float)factor;
    if (etx_is_f64(s->compute)) sums->f64[i] = factor;
  }
}

static void scale(const softmax* s, void* exps, const etx_block* factors,
                  size_t count) {
  if (!etx_is_f64(s->compute)) {
    float* x = exps;
    for (size_t i = 0; i < count; ++i) x[i] *= factors->f32[i];
  } else {
    double* x = exps;
    for (size_t i = 0; i < count; ++i) x[i] *= factors->f64[i];
  }
}
static void subtract(const softmax* s, void* out, const void* elements,
                     const etx_block* m, const etx_block* shifts,
                     size_t count) {
  if (!etx_is_f64(s->compute)) {
    const float* x = elements;
    float* y = out;
    for (size_t i = 0; i < count; ++i) y[i] = x[i] - m->f32[i] - shifts->f32[i];
  } else {
    const double* x = elements;
    double* y = out;
    for (size_t i = 0; i < count; ++i) y[i] = x[i] - m->f64[i] - shifts->f64[i];
  }
}

// True if the result holds the exponentials between the passes.
static bool keeps_exps(const softmax* s, const etx_axis_lines* lines) {
  return !s->is_log && lines->out.dtype == etx_compute_type_dtype(s->compute);
}

// The maximum and the factor of the last pass for each element of a block.
typedef struct line_stats {
  const etx_block* max;
  const etx_block* factors;  // 1 / sum, or log(sum)
} line_stats;

// The last pass over `count` elements. `in` has the exponentials if has_exps,
// otherwise the elements.
static void finish(const softmax* s, bool has_exps, void* out, const void* in,
                   line_stats stats, size_t count) {
  if (s->is_log) {
    subtract(s, out, in, stats.max, stats.factors, count);
    return;
  }
  if (has_exps && out != in) {
    memcpy(out, in,
           count * etx_dtype_bytes(etx_compute_type_dtype(s->compute)));
  }
  if (!has_exps) exp_block(s, out, in, stats.max, count);
  scale(s, out, stats.factors, count);
}

// The state of a group of interleaved lines.
typedef struct interleaved_state {
  etx_block max[ETX_AXIS_LINE_BLOCKS];
  etx_block sums[ETX_AXIS_LINE_BLOCKS];
} interleaved_state;

// The three passes, for element `at` of the lines of block `b`.
static void pass_max(const softmax* s, const etx_axis_lines* lines,
                     interleaved_state* a, size_t b, size_t at) {
  const size_t count = etx_axis_lines_in_block(lines, b);
  etx_block x;
  const void* in =
      etx_axis_across_read(&lines->in, b, at, count, s->compute, &x);
  if (at > 0) {
    update_max(s, &a->max[b], in, count);
  } else {
    memcpy(&a->max[b], in,
           count * etx_dtype_bytes(etx_compute_type_dtype(s->compute)));
  }
}
static void pass_sum(const softmax* s, const etx_axis_lines* lines,
                     interleaved_state* a, size_t b, size_t at) {
  const size_t count = etx_axis_lines_in_block(lines, b);
  const bool keeps = keeps_exps(s, lines);
  etx_block x, y;
  const void* in =
      etx_axis_across_read(&lines->in, b, at, count, s->compute, &x);
  void* exps =
      keeps ? etx_axis_across_target(&lines->out, b, at, s->compute, &y) : &y;
  exp_block(s, exps, in, &a->max[b], count);
  add_to_sums(s, &a->sums[b], exps, count);
  if (!keeps) return;
  etx_axis_across_store(&lines->out, b, at, count, s->compute, &y);
}
static void pass_finish(const softmax* s, const etx_axis_lines* lines,
                        interleaved_state* a, size_t b, size_t at) {
  const size_t count = etx_axis_lines_in_block(lines, b);
  const bool keeps = keeps_exps(s, lines);
  const etx_axis_elements* from = keeps ? &lines->out : &lines->in;
  etx_block x, y;
  const void* in = etx_axis_across_read(from, b, at, count, s->compute, &x);
  void* out = etx_axis_across_target(&lines->out, b, at, s->compute, &y);
  finish(s, keeps, out, in, (line_stats){&a->max[b], &a->sums[b]}, count);
  etx_axis_across_store(&lines->out, b, at, count, s->compute, &y);
}

static __attribute__((noinline)) void visit_interleaved(
    const softmax* s, const etx_axis_lines* lines) {
  static void (*const passes[])(const softmax*, const etx_axis_lines*,
                                interleaved_state*, size_t,
                                size_t) = {pass_max, pass_sum, pass_finish};
  const size_t blocks = (lines->width + ETX_BLOCK - 1) / ETX_BLOCK;
  interleaved_state a;
  memset(a.sums, 0, sizeof a.sums);
  for (size_t pass = 0; pass < 3; ++pass) {
    for (size_t at = 0; at < lines->count; ++at) {
      for (size_t b = 0; b < blocks; ++b) passes[pass](s, lines, &a, b, at);
    }
    for (size_t b = 0; b < blocks && pass == 1; ++b) {
      finish_sums(s, &a.sums[b], etx_axis_lines_in_block(lines, b));
    }
  }
}

// Copies the first element of a block to all others.
static void broadcast_first(const softmax* s, etx_block* block) {
  for (size_t i = 1; i < ETX_BLOCK && s->compute == ETX_COMPUTE_F32; ++i) {
    block->f32[i] = block->f32[0];
  }
  for (size_t i = 1; i < ETX_BLOCK && etx_is_f64(s->compute); ++i) {
    block->f64[i] = block->f64[0];
  }
}

// The number of elements of the block of a line that starts at `done`.
static size_t block_size(const etx_axis_lines* lines, size_t done) {
  const size_t left = lines->count - done;
  return left < ETX_BLOCK ? left : ETX_BLOCK;
}

// The maximum of a line, in all elements of `m`.
static void find_line_max(const softmax* s, const etx_axis_lines* lines,
                          size_t line, etx_block* m) {
  const size_t bytes = etx_dtype_bytes(etx_compute_type_dtype(s->compute));
  etx_block x;
  const void* in = etx_axis_line_read(&lines->in, line, 0, 1, s->compute, &x);
  memcpy(m, in, bytes);
  broadcast_first(s, m);
  for (size_t done = 0; done < lines->count; done += ETX_BLOCK) {
    const size_t part = block_size(lines, done);
    in = etx_axis_line_read(&lines->in, line, done, part, s->compute, &x);
    update_max(s, m, in, part);
  }
  for (size_t half = ETX_BLOCK / 2; half > 0; half /= 2) {
    memcpy(&x, (const char*)m + half * bytes, half * bytes);
    update_max(s, m, &x, half);
  }
  broadcast_first(s, m);
}

// One line in blocks. The lane sums of the blocks are added pairwise in the
// end.
static void visit_line(const softmax* s, const etx_axis_lines* lines,
                       size_t line) {
  const bool keeps = keeps_exps(s, lines);
  etx_block m, sums, x, y;
  find_line_max(s, lines, line, &m);
  for (size_t i = 0; i < ETX_BLOCK; ++i) sums.f64[i] = 0;
  for (size_t done = 0; done < lines->count; done += ETX_BLOCK) {
    const size_t part = block_size(lines, done);
    const void* in =
        etx_axis_line_read(&lines->in, line, done, part, s->compute, &x);
    void* exps =
        keeps ? etx_axis_line_target(&lines->out, line, done, s->compute, &y)
              : &y;
    exp_block(s, exps, in, &m, part);
    add_to_sums(s, &sums, exps, part);
    if (keeps) {
      etx_axis_line_store(&lines->out, line, done, part, s->compute, &y);
    }
  }
  for (size_t half = ETX_BLOCK / 2; half > 0; half /= 2) {
    for (size_t i = 0; i < half; ++i) sums.f64[i] += sums.f64[half + i];
  }
  finish_sums(s, &sums, 1);
  broadcast_first(s, &sums);
  for (size_t done = 0; done < lines->count; done += ETX_BLOCK) {
    const size_t part = block_size(lines, done);
    const etx_axis_elements* from = keeps ? &lines->out : &lines->in;
    const void* in = etx_axis_line_read(from, line, done, part, s->compute, &x);
    void* out = etx_axis_line_target(&lines->out, line, done, s->compute, &y);
    finish(s, keeps, out, in, (line_stats){&m, &sums}, part);
    etx_axis_line_store(&lines->out, line, done, part, s->compute, &y);
  }
}

static bool is_dense(const etx_axis_elements* elements) {
  return elements->stride == 1 && elements->dtype == ETX_DTYPE_FLOAT32;
}

static void visit_dense(const softmax* s, const etx_axis_lines* lines) {
  float* out = (float*)(void*)lines->out.data;
  const float* in = (const float*)(const void*)lines->in.data;
  const size_t count = lines->count;
  const bool are_adjacent =
      lines->out.step == (ptrdiff_t)count && lines->in.step == (ptrdiff_t)count;
  const bool is_short =
      count <= (size_t)(count % VECTOR == 0 ? EVEN_ROW : UNEVEN_ROW);
  const size_t together =
      are_adjacent && !s->is_log && is_short ? MAX_TOGETHER / count : 1;
  for (size_t line = 0, rows; line < lines->width; line += rows) {
    const size_t left = lines->width - line;
    rows = left < together ? left : together;
    if (rows > 1) {
      softmax_rows(s, out, in, rows, count);
    } else if (s->is_log) {
      log_softmax_dense(s, out, in, count);
    } else {
      softmax_dense(s, out, in, count);
    }
    out += (ptrdiff_t)rows * lines->out.step;
    in += (ptrdiff_t)rows * lines->in.step;
  }
}

enum { SHORT_LINE = 1024 };  // elements of a line that is copied

static void visit_copied(const softmax* s, const etx_axis_lines* lines,
                         size_t line) {
  float copy[SHORT_LINE];
  etx_block block;
  for (size_t done = 0; done < lines->count; done += ETX_BLOCK) {
    const size_t part = block_size(lines, done);
    const void* in =
        etx_axis_line_read(&lines->in, line, done, part, s->compute, &block);
    memcpy(copy + done, in, part * sizeof(float));
  }
  if (s->is_log) log_softmax_dense(s, copy, copy, lines->count);
  if (!s->is_log) softmax_dense(s, copy, copy, lines->count);
  for (size_t done = 0; done < lines->count; done += ETX_BLOCK) {
    const size_t part = block_size(lines, done);
    void* out =
        etx_axis_line_target(&lines->out, line, done, s->compute, &block);
    memcpy(out, copy + done, part * sizeof(float));
    etx_axis_line_store(&lines->out, line, done, part, s->compute, &block);
  }
}

static void visit(const etx_axis_lines* lines, void* context) {
  const softmax* s = context;
  const bool is_short =
      s->compute == ETX_COMPUTE_F32 && lines->count <= SHORT_LINE;
  if (etx_axis_lines_are_interleaved(lines)) {
    visit_interleaved(s, lines);
  } else if (is_dense(&lines->in) && is_dense(&lines->out)) {
    visit_dense(s, lines);
  } else {
    for (size_t line = 0; line < lines->width; ++line) {
      if (is_short) visit_copied(s, lines, line);
      if (!is_short) visit_line(s, lines, line);
    }
  }
}

// (self, dim, half_to_float, out)
static etx_status run_over(const etx_call* call, bool is_log) {
  const etx_tensor* self = etx_call_tensor(call, ETX_ARG_log_softmax_self);
  softmax s = {etx_compute_type_of(self->dtype), is_log,
               &etx_float_loops_best()->rows};
  etx_axis_iterator_visit(
      etx_call_tensor(call, ETX_ARG_log_softmax_out), self,
      etx_wrap_dimension(etx_call_integer(call, ETX_ARG_log_softmax_dim),
                         self->rank),
      visit, &s);
  return ETX_OK;
}
static etx_status run_softmax(etx_call* call) { return run_over(call, false); }
static etx_status run_log_softmax(etx_call* call) {
  return run_over(call, true);
}

static etx_status prepare(etx_call* call, etx_kernel_function run) {
  const etx_tensor* self = etx_call_tensor(call, ETX_ARG_softmax_self);
  const etx_compute_type compute = etx_compute_type_of(self->dtype);
  const bool is_float =
      compute == ETX_COMPUTE_F32 || compute == ETX_COMPUTE_F64;
  // PyTorch accepts any type if there are no elements.
  if (!is_float && etx_tensor_numel(self) > 0) {
    return etx_call_refuse_dtype(call, ETX_ARG_softmax_self, "a float type");
  }
  if (etx_call_boolean(call, ETX_ARG_softmax_half_to_float)) {
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "'half_to_float' is true, expected false");
  }
  call->run = run;
  return etx_call_check_same_dtype(call, ETX_ARG_softmax_self,
                                   ETX_ARG_softmax_out);
}

etx_status etx_kernel_softmax_out_prepare(etx_call* call) {
  return prepare(call, run_softmax);
}
etx_status etx_kernel_log_softmax_out_prepare(etx_call* call) {
  return prepare(call, run_log_softmax);
}
