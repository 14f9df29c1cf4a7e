// cumsum and cumprod: inclusive scans along one dimension. Computed in the type
// of the result; floats are accumulated in doubles, as in PyTorch.

#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/views/axis_iterator.h"
#include "runtime/kernels/core/operand.h"
#include "runtime/kernels/core/slice_args.h"
#include "runtime/kernels/math/wrapping_math.h"

typedef struct scan {
  etx_compute_type compute;  // of the result
  bool multiplies;           // cumprod; otherwise cumsum
} scan;

// The sums of four elements are computed first, so that the dependency chain
// has one addition for four elements. Doubles cannot overflow here. `out` may
// be `in`.
static void cumsum_f32(float* out, const float* in, size_t count, double* sum) {
  size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    const double a = (double)in[i], b = (double)in[i + 1];
    const double c = (double)in[i + 2], d = (double)in[i + 3];
    const double two = a + b, three = two + c, four = two + (c + d);
    out[i] = (float)(*sum + a);
    out[i + 1] = (float)(*sum + two);
    out[i + 2] = (float)(*sum + three);
    *sum += four;
    out[i + 3] = (float)*sum;
  }
  for (; i < count; ++i) {
    *sum += (double)in[i];
    out[i] = (float)*sum;
  }
}

static void cumprod_f32(float* out, const float* in, size_t count,
                        double* product) {
  for (size_t i = 0; i < count; ++i) {
    *product *= (double)in[i];
    out[i] = (float)*product;
  }
}

// Scans elements of one line. `state` is the last result: a double or an int64.
static void scan_line(const scan* r, void* out, const void* in, size_t count,
                      etx_scalar* state) {
  if (r->compute == ETX_COMPUTE_F32) {
    if (r->multiplies) cumprod_f32(out, in, count, &state->f64);
    if (!r->multiplies) cumsum_f32(out, in, count, &state->f64);
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    if (etx_is_f64(r->compute)) {
      const double x = ((const double*)in)[i];
      state->f64 = r->multiplies ? state->f64 * x : state->f64 + x;
      ((double*)out)[i] = state->f64;
    } else {
      const int64_t x = ((const int64_t*)in)[i];
      state->i64 = r->multiplies ? etx_wrap_multiply(state->i64, x)
                                 : etx_wrap_add(state->i64, x);
      ((int64_t*)out)[i] = state->i64;
    }
  }
}

// Scans one element of each of `count` lines. Each line has its own state.
static void scan_lines_f32(const scan* r, float* out, const float* in,
                           size_t count, double* states) {
  for (size_t i = 0; i < count && !r->multiplies; ++i) {
    states[i] += (double)in[i];
  }
  for (size_t i = 0; i < count && r->multiplies; ++i) {
    states[i] *= (double)in[i];
  }
  for (size_t i = 0; i < count; ++i) out[i] = (float)states[i];
}
static void scan_lines_f64(const scan* r, double* out, const double* in,
                           size_t count, double* states) {
  for (size_t i = 0; i < count; ++i) {
    out[i] = states[i] = r->multiplies ? states[i] * in[i] : states[i] + in[i];
  }
}
static void scan_lines_i64(const scan* r, int64_t* out, const int64_t* in,
                           size_t count, int64_t* states) {
  for (size_t i = 0; i < count; ++i) {
    states[i] = r->multiplies ? etx_wrap_multiply(states[i], in[i])
                              : etx_wrap_add(states[i], in[i]);
    out[i] = states[i];
  }
}
static void scan_lines(const scan* r, void* out, const void* in, size_t count,
                       etx_block* states) {
  if (r->compute == ETX_COMPUTE_F32)
    scan_lines_f32(r, out, in, count, states->f64);
  if (etx_is_f64(r->compute)) scan_lines_f64(r, out, in, count, states->f64);
  if (r->compute == ETX_COMPUTE_I64)
    scan_lines_i64(r, out, in, count, states->i64);
}

static double identity(const scan* r) { return r->multiplies ? 1 : 0; }

static void visit_interleaved(const scan* r, const etx_axis_lines* lines) {
  etx_block states[ETX_AXIS_LINE_BLOCKS], block, results;
  for (size_t i = 0; i < lines->width; ++i) {
    etx_block* block_states = &states[i / ETX_BLOCK];
    if (r->compute == ETX_COMPUTE_I64)
      block_states->i64[i % ETX_BLOCK] = (int64_t)identity(r);
    if (r->compute != ETX_COMPUTE_I64)
      block_states->f64[i % ETX_BLOCK] = identity(r);
  }
  for (size_t at = 0; at < lines->count; ++at) {
    for (size_t b = 0; b * ETX_BLOCK < lines->width; ++b) {
      const size_t count = etx_axis_lines_in_block(lines, b);
      const void* in =
          etx_axis_across_read(&lines->in, b, at, count, r->compute, &block);
      void* out =
          etx_axis_across_target(&lines->out, b, at, r->compute, &results);
      scan_lines(r, out, in, count, &states[b]);
      etx_axis_across_store(&lines->out, b, at, count, r->compute, &results);
    }
  }
}

static void visit_line(const scan* r, const etx_axis_lines* lines,
                       size_t line) {
  etx_scalar state;
  etx_block block, results;
  if (r->compute == ETX_COMPUTE_I64) state.i64 = (int64_t)identity(r);
  if (r->compute != ETX_COMPUTE_I64) state.f64 = identity(r);
  for (size_t done = 0; done < lines->count; done += ETX_BLOCK) {
    const size_t left = lines->count - done;
    const size_t count = left < ETX_BLOCK ? left : ETX_BLOCK;
    const void* in =
        etx_axis_line_read(&lines->in, line, done, count, r->compute, &block);
    void* out =
        etx_axis_line_target(&lines->out, line, done, r->compute, &results);
    scan_line(r, out, in, count, &state);
    etx_axis_line_store(&lines->out, line, done, count, r->compute, &results);
  }
}

static void visit(const etx_axis_lines* lines, void* context) {
  const scan* r = context;
  if (etx_axis_lines_are_interleaved(lines)) {
    visit_interleaved(r, lines);
    return;
  }
  for (size_t line = 0; line < lines->width; ++line) {
    visit_line(r, lines, line);
  }
}

// (self, dim, dtype, out)
static etx_status run_over(const etx_call* call, bool multiplies) {
  const etx_tensor* self = etx_call_tensor(call, ETX_ARG_cumsum_self);
  const etx_tensor* out = etx_call_tensor(call, ETX_ARG_cumsum_out);
  scan r = {etx_compute_type_of(out->dtype), multiplies};
  etx_axis_iterator_visit(
      out, self,
      etx_wrap_dimension(etx_call_integer(call, ETX_ARG_cumsum_dim),
                         self->rank),
      visit, &r);
  return ETX_OK;
}
static etx_status run_cumsum(etx_call* call) { return run_over(call, false); }
static etx_status run_cumprod(etx_call* call) { return run_over(call, true); }

static etx_status prepare(etx_call* call, etx_kernel_function run) {
  const etx_dtype to = etx_call_tensor(call, ETX_ARG_cumsum_out)->dtype;
  ETX_TRY(etx_call_check_real(call, ETX_ARG_cumsum_self));
  ETX_TRY(etx_call_check_real(call, ETX_ARG_cumsum_out));
  const etx_tensor* self = etx_call_tensor(call, ETX_ARG_cumsum_self);
  if (to == ETX_DTYPE_BOOL && self->rank > 0 && etx_tensor_numel(self) > 0) {
    return etx_call_refuse_dtype(call, ETX_ARG_cumsum_out, "a number type");
  }
  if (!etx_call_is_none(call, ETX_ARG_cumsum_dtype) &&
      etx_call_integer(call, ETX_ARG_cumsum_dtype) != (int64_t)to) {
    return etx_call_refuse(
        call, ETX_BAD_ARGUMENT, "'dtype' is %i, but the result has type '%s'",
        etx_call_integer(call, ETX_ARG_cumsum_dtype), etx_dtype_name(to));
  }
  call->run = run;
  return ETX_OK;
}

etx_status etx_kernel_cumsum_out_prepare(etx_call* call) {
  return prepare(call, run_cumsum);
}
etx_status etx_kernel_cumprod_out_prepare(etx_call* call) {
  return prepare(call, run_cumprod);
}
