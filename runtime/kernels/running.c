// cumsum and cumprod: the sum or product up to each element of a line.
//
// Computed in the result's type, floats in double, as PyTorch does it.

#include "runtime/kernels/kernels.h"
#include "runtime/kernels/lines.h"
#include "runtime/kernels/operand.h"
#include "runtime/kernels/parts.h"
#include "runtime/kernels/whole_math.h"

typedef struct running {
  etx_wide wide;    // of the result
  bool multiplies;  // or else adds
} running;

// Sums up to each of four elements are made apart, so that only one addition
// in four waits for the one before. Doubles cannot overflow on the way.
static void add_along_f32(float* x, size_t count, double* sum) {
  size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    const double a = (double)x[i], b = (double)x[i + 1];
    const double c = (double)x[i + 2], d = (double)x[i + 3];
    const double two = a + b, three = two + c, four = two + (c + d);
    x[i] = (float)(*sum + a);
    x[i + 1] = (float)(*sum + two);
    x[i + 2] = (float)(*sum + three);
    *sum += four;
    x[i + 3] = (float)*sum;
  }
  for (; i < count; ++i) {
    *sum += (double)x[i];
    x[i] = (float)*sum;
  }
}

static void multiply_along_f32(float* x, size_t count, double* product) {
  for (size_t i = 0; i < count; ++i) {
    *product *= (double)x[i];
    x[i] = (float)*product;
  }
}

// Turns the elements of a block into running results, from `state` on: a
// double or an int64.
static void go_along(const running* r, etx_block* block, size_t count,
                     etx_number* state) {
  if (r->wide == ETX_WIDE_F32) {
    if (r->multiplies) multiply_along_f32(block->f32, count, &state->f64);
    if (!r->multiplies) add_along_f32(block->f32, count, &state->f64);
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    if (r->wide == ETX_WIDE_F64) {
      double* x = &block->f64[i];
      *x = state->f64 = r->multiplies ? state->f64 * *x : state->f64 + *x;
    } else {
      int64_t* x = &block->i64[i];
      *x = state->i64 = r->multiplies ? etx_wrap_multiply(state->i64, *x)
                                      : etx_wrap_add(state->i64, *x);
    }
  }
}

// The same for one element of each of `count` lines, with a state for each.
static void go_across(const running* r, etx_block* block, size_t count,
                      etx_block* states) {
  for (size_t i = 0; i < count && r->wide == ETX_WIDE_F32; ++i) {
    const double x = (double)block->f32[i];
    double* state = &states->f64[i];
    *state = r->multiplies ? *state * x : *state + x;
    block->f32[i] = (float)*state;
  }
  for (size_t i = 0; i < count && r->wide == ETX_WIDE_F64; ++i) {
    const double x = block->f64[i];
    double* state = &states->f64[i];
    block->f64[i] = *state = r->multiplies ? *state * x : *state + x;
  }
  for (size_t i = 0; i < count && r->wide == ETX_WIDE_I64; ++i) {
    const int64_t x = block->i64[i];
    int64_t* state = &states->i64[i];
    block->i64[i] = *state =
        r->multiplies ? etx_wrap_multiply(*state, x) : etx_wrap_add(*state, x);
  }
}

static double identity(const running* r) { return r->multiplies ? 1 : 0; }

static void visit_across(const running* r, const etx_lines* lines) {
  etx_block states, block;
  for (size_t i = 0; i < lines->width; ++i) {
    if (r->wide == ETX_WIDE_I64) states.i64[i] = (int64_t)identity(r);
    if (r->wide != ETX_WIDE_I64) states.f64[i] = identity(r);
  }
  for (size_t at = 0; at < lines->count; ++at) {
    etx_across_load(&lines->in, at, lines->width, r->wide, &block);
    go_across(r, &block, lines->width, &states);
    etx_across_store(&lines->out, at, lines->width, r->wide, &block);
  }
}

static void visit_along(const running* r, const etx_lines* lines, size_t line) {
  etx_number state;
  etx_block block;
  if (r->wide == ETX_WIDE_I64) state.i64 = (int64_t)identity(r);
  if (r->wide != ETX_WIDE_I64) state.f64 = identity(r);
  for (size_t done = 0; done < lines->count; done += ETX_BLOCK) {
    const size_t left = lines->count - done;
    const size_t count = left < ETX_BLOCK ? left : ETX_BLOCK;
    etx_line_load(&lines->in, line, done, count, r->wide, &block);
    go_along(r, &block, count, &state);
    etx_line_store(&lines->out, line, done, count, r->wide, &block);
  }
}

static void visit(const etx_lines* lines, void* context) {
  const running* r = context;
  if (etx_lines_go_across(lines)) {
    visit_across(r, lines);
    return;
  }
  for (size_t line = 0; line < lines->width; ++line) {
    visit_along(r, lines, line);
  }
}

// (self, dim, dtype, out)
static etx_status run_over(const etx_call* call, bool multiplies) {
  const etx_tensor* self = etx_call_tensor(call, 0);
  const etx_tensor* out = etx_call_tensor(call, 3);
  running r = {etx_wide_of(out->dtype), multiplies};
  etx_lines_visit(out, self,
                  etx_wrap_dimension(etx_call_integer(call, 1), self->rank),
                  visit, &r);
  return ETX_OK;
}
static etx_status run_cumsum(etx_call* call) { return run_over(call, false); }
static etx_status run_cumprod(etx_call* call) { return run_over(call, true); }

static etx_status prepare(etx_call* call, etx_kernel_function run) {
  const etx_dtype to = etx_call_tensor(call, 3)->dtype;
  ETX_TRY(etx_call_check_real(call, 0));
  ETX_TRY(etx_call_check_real(call, 3));
  const etx_tensor* self = etx_call_tensor(call, 0);
  if (to == ETX_DTYPE_BOOL && self->rank > 0 && etx_tensor_numel(self) > 0) {
    return etx_call_refuse_dtype(call, 3, "a number type");
  }
  if (!etx_call_is_none(call, 2) && etx_call_integer(call, 2) != (int64_t)to) {
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "'dtype' is %i, the result has type '%s'",
                           etx_call_integer(call, 2), etx_dtype_name(to));
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
