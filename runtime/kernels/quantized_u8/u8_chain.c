// Chains of elementwise steps (chain.h) over bytes. A block at a time is
// dequantised, passes all steps and is quantised again, while it stays in L1.
// Three cases have faster paths with the same bits: sums of two tensors,
// products with a row, and chains whose result depends on one byte only, which
// become a table.

#include "runtime/kernels/core/chain.h"
#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/core/parallel_for.h"
#include "runtime/kernels/core/tile_bytes.h"
#include "runtime/kernels/quantized_u8/u8_args.h"

enum {  // elements
  BLOCK = ETX_TILE_BYTES < 4096 ? 16 : 96,
  TASK = 8192,
  TABLE_BYTES = 256,
};

// A tensor of bytes or floats.
typedef struct u8_operand {
  const void* data;
  size_t period;  // elements after which it repeats (broadcast)
  bool is_float;
  float scale;
  int32_t zero;
} u8_operand;

typedef enum u8_chain_path { GENERAL, ADDITION, ROWS, TABLE } u8_chain_path;

typedef struct u8_chain_job {
  u8_chain_path path;
  etx_chain chain;
  const etx_u8_loops* loops;
  u8_operand self, others[ETX_CHAIN_MAX_OTHERS];
  size_t other_count;
  void* out;
  size_t numel;
  etx_u8_requantize results;
  float inverse;  // 1 / the result's scale
  uint8_t table[TABLE_BYTES];
} u8_chain_job;

// Elements from `first` on as floats: in place, or converted to `buffer`.
static const float* load(const u8_chain_job* j, const u8_operand* o,
                         size_t first, size_t count, float* buffer) {
  const size_t from = first % o->period;
  if (o->is_float && o->period - from >= count) {
    return (const float*)o->data + from;
  }
  for (size_t done = 0; done < count;) {
    const size_t at = (first + done) % o->period;
    const size_t left = count - done, rest = o->period - at;
    const size_t part = left < rest ? left : rest;
    if (o->is_float) {
      memcpy(buffer + done, (const float*)o->data + at, part * sizeof *buffer);
    } else {
      j->loops->to_floats((const uint8_t*)o->data + at, part, o->zero, o->scale,
                          buffer + done);
    }
    done += part;
  }
  return buffer;
}

static void run_block(const u8_chain_job* j, size_t first, size_t count) {
  float x[BLOCK], buffer[ETX_CHAIN_MAX_OTHERS][BLOCK], results[BLOCK];
  etx_chain chain = j->chain;
  for (size_t i = 0; i < j->other_count; ++i) {
    const u8_operand* const o = &j->others[i];
    const bool varies = o->period > 1;
    chain.others[i] = (etx_chain_other){
        load(j, o, first, varies ? count : 1, buffer[i]), 0, varies};
  }
  const float* const self = load(j, &j->self, first, count, x);
  float* const floats = (float*)j->out + first;
  etx_chain_run(&chain, self, j->results.is_float ? floats : results, 0, 0,
                count);
  if (!j->results.is_float) {
    const etx_u8_qparams qparams = {.zero = j->results.zero,
                                    .inverse = j->inverse,
                                    .low = j->results.low,
                                    .high = j->results.high};
    j->loops->to_bytes(results, count, &qparams, (uint8_t*)j->out + first);
  }
}

// ------------------------------------------------ fast paths

// True if the chain begins with `step` of self and the only other tensor, and
// self has bytes.
static bool is_binary(const u8_chain_job* j, uint8_t step) {
  const uint8_t* steps = j->chain.steps;
  return j->chain.count >= 3 && steps[2] == step && steps[0] != steps[1] &&
         (steps[0] == ETX_STEP_X || steps[1] == ETX_STEP_X) &&
         j->other_count == 1 && !j->self.is_float;
}

// True if the step is a final relu that the lower bound already computes. With
// a negative scale it would not.
static bool is_relu_at(const u8_chain_job* j, size_t step) {
  return j->chain.count == step + 1 && j->chain.steps[step] == ETX_STEP_relu &&
         j->results.low >= 0 && j->inverse >= 0;
}

static bool depends_on_self_only(const u8_chain_job* j) {
  for (size_t i = 0; i < j->other_count; ++i) {
    if (j->others[i].period > 1) return false;
  }
  return !j->self.is_float;
}

static u8_chain_path choose_path(const u8_chain_job* j) {
  const size_t count = j->chain.count;
  if (j->results.is_float) return GENERAL;
  if (is_binary(j, ETX_STEP_add) && (count == 3 || is_relu_at(j, 3)) &&
      j->others[0].period == j->numel && !j->others[0].is_float) {
    return ADDITION;
  }
  if (is_binary(j, ETX_STEP_multiply) && (count == 3 || is_relu_at(j, 3)) &&
      j->others[0].period > 1 && j->others[0].period < j->numel) {
    return ROWS;
  }
  return j->numel > 2 * TABLE_BYTES && depends_on_self_only(j) ? TABLE
                                                               : GENERAL;
}

static etx_u8_binary_qparams binary_qparams(const u8_chain_job* j) {
  return (etx_u8_binary_qparams){.zeros = {j->self.zero, j->others[0].zero},
                                 .scales = {j->self.scale, j->others[0].scale},
                                 .zero = j->results.zero,
                                 .inverse = j->inverse,
                                 .low = j->results.low,
                                 .high = j->results.high};
}

// Computes the result of every byte value.
static void fill_table(u8_chain_job* j) {
  uint8_t bytes[TABLE_BYTES];
  u8_chain_job all = *j;
  for (size_t i = 0; i < TABLE_BYTES; ++i) bytes[i] = (uint8_t)i;
  all.self.data = bytes;
  all.self.period = TABLE_BYTES;
  all.out = j->table;
  for (size_t i = 0; i < TABLE_BYTES; i += BLOCK) {
    const size_t left = TABLE_BYTES - i;
    run_block(&all, i, left < BLOCK ? left : BLOCK);
  }
}

// Multiplies rows [first, end) with the other tensor, which is one row.
static void multiply_rows(const void* context, size_t first, size_t end) {
  const u8_chain_job* j = context;
  const etx_u8_binary_qparams qparams = binary_qparams(j);
  const size_t columns = j->others[0].period;
  for (size_t column = 0; column < columns; column += BLOCK) {
    const size_t left = columns - column, count = left < BLOCK ? left : BLOCK;
    float buffer[BLOCK];
    const float* factors = load(j, &j->others[0], column, count, buffer);
    for (size_t row = first; row < end; ++row) {
      const size_t at = row * columns + column;
      j->loops->multiply(&qparams, (const uint8_t*)j->self.data + at, factors,
                         count, (uint8_t*)j->out + at);
    }
  }
}

static void run_tasks(const void* context, size_t first, size_t end) {
  const u8_chain_job* j = context;
  const size_t at = first * TASK;
  const size_t last = end * TASK < j->numel ? end * TASK : j->numel;
  const uint8_t* self = j->self.data;
  uint8_t* out = j->out;
  if (j->path == ADDITION) {
    const etx_u8_binary_qparams qparams = binary_qparams(j);
    const uint8_t* other = j->others[0].data;
    j->loops->add(&qparams, self + at, other + at, last - at, out + at);
    return;
  }
  if (j->path == TABLE) {
    j->loops->look_up(j->table, self + at, last - at, out + at);
    return;
  }
  for (size_t i = at; i < last; i += BLOCK) {
    run_block(j, i, last - i < BLOCK ? last - i : BLOCK);
  }
}

// ------------------------------------------------ calls

static u8_operand operand_of(const etx_tensor* tensor, double scale,
                             int64_t zero) {
  return (u8_operand){.data = tensor->data,
                      .period = etx_tensor_numel(tensor),
                      .is_float = tensor->dtype == ETX_DTYPE_FLOAT32,
                      .scale = (float)scale,
                      .zero = (int32_t)zero};
}

// (self, scale, zero_point, others, scales, zero_points, steps, out_scale,
// out_zero_point, out_min, out_max, dtype, out)
static etx_status run(etx_call* call) {
  const etx_tensor* out = etx_call_tensor(call, ETX_ARG_chain_u8_out);
  const etx_parallel* parallel = call->parallel;
  u8_chain_job j = {
      .loops = etx_u8_loops_of(
          etx_instruction_set_within(parallel->instruction_set)),
      .self = operand_of(etx_call_tensor(call, ETX_ARG_chain_u8_self),
                         etx_call_real(call, ETX_ARG_chain_u8_scale),
                         etx_call_integer(call, ETX_ARG_chain_u8_zero_point)),
      .other_count =
          etx_call_value(call, ETX_ARG_chain_u8_others)->as.tensors.count,
      .out = out->data,
      .numel = etx_tensor_numel(out),
      // In double, as in Python.
      .inverse =
          (float)(1.0 / etx_call_real(call, ETX_ARG_chain_u8_out_scale))};
  if (j.numel == 0) return ETX_OK;
  for (size_t i = 0; i < j.other_count; ++i) {
    j.others[i] = operand_of(
        &etx_call_value(call, ETX_ARG_chain_u8_others)
             ->as.tensors.items[i]
             ->as.tensor,
        etx_call_value(call, ETX_ARG_chain_u8_scales)->as.reals.items[i],
        etx_call_item(call, ETX_ARG_chain_u8_zero_points, i));
  }
  etx_chain_read_steps(call, &j.chain);
  etx_u8_requantize_bounds_read(call, 8, &j.results);
  j.path = choose_path(&j);
  if (j.path == ROWS) {
    etx_parallel_for(parallel, j.numel / j.others[0].period,
                     3 * (double)j.numel, multiply_rows, &j);
    return ETX_OK;
  }
  double steps = (double)(j.chain.count + 2 + j.other_count);
  if (j.path == TABLE) {
    fill_table(&j);
    steps = 1;
  }
  etx_parallel_for(parallel, (j.numel + TASK - 1) / TASK,
                   (double)j.numel * steps, run_tasks, &j);
  return ETX_OK;
}

static etx_status refuse_zero(const etx_call* call, int64_t zero) {
  return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                         "zero point %i, expected 0 to 255", zero);
}

static bool is_byte(int64_t x) { return x >= 0 && x <= UINT8_MAX; }

static etx_status check_others(const etx_call* call) {
  const etx_value* others = etx_call_value(call, ETX_ARG_chain_u8_others);
  const size_t most = ETX_CHAIN_MAX_OTHERS;
  if (others->as.tensors.count > most) {
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "'others' has %z tensors, expected at most %z",
                           others->as.tensors.count, most);
  }
  for (size_t i = 0; i < others->as.tensors.count; ++i) {
    const etx_value* item = others->as.tensors.items[i];
    if (item == NULL || item->kind != ETX_VALUE_TENSOR) {
      return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                             "item %z of 'others' is None", i);
    }
    const etx_tensor* other = &item->as.tensor;
    if ((other->dtype != ETX_DTYPE_FLOAT32 &&
         other->dtype != ETX_DTYPE_UINT8) ||
        !etx_tensor_is_contiguous(other)) {
      return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                             "item %z of 'others' has type '%s', expected "
                             "contiguous 'uint8' or 'float32'",
                             i, etx_dtype_name(other->dtype));
    }
    const int64_t zero = etx_call_item(call, ETX_ARG_chain_u8_zero_points, i);
    if (!is_byte(zero)) return refuse_zero(call, zero);
  }
  return ETX_OK;
}

etx_status etx_kernel_chain_u8_out_prepare(etx_call* call) {
  const etx_dtype self = etx_call_tensor(call, ETX_ARG_chain_u8_self)->dtype;
  if (self != ETX_DTYPE_UINT8 && self != ETX_DTYPE_FLOAT32) {
    return etx_call_refuse_dtype(call, ETX_ARG_chain_u8_self,
                                 "uint8 or float32");
  }
  const int64_t zero = etx_call_integer(call, ETX_ARG_chain_u8_zero_point);
  if (!is_byte(zero)) return refuse_zero(call, zero);
  ETX_TRY(etx_call_check_contiguous(call, ETX_ARG_chain_u8_self));
  ETX_TRY(etx_call_check_contiguous(call, ETX_ARG_chain_u8_out));
  ETX_TRY(etx_call_check_dtype(
      call, ETX_ARG_chain_u8_out,
      (etx_dtype)etx_call_integer(call, ETX_ARG_chain_u8_dtype)));
  ETX_TRY(check_others(call));
  ETX_TRY(etx_chain_check_steps(call, 3, 6));
  call->run = run;
  return ETX_OK;
}
