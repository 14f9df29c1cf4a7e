// Chains of elementwise steps (chain.h) over bytes: a block at a time becomes
// floats, passes the steps and becomes bytes again, while all of it is in the
// nearest cache. Some take a shorter way to the same bits: sums of two tensors,
// products with a row, and what depends on one byte alone, which is looked up.

#include "runtime/kernels/core/chain.h"
#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/core/parallel_for.h"
#include "runtime/kernels/quantized_u8/u8_args.h"

enum { BLOCK = 128, ITEM = 64 * BLOCK, TABLE_BYTES = 256 };  // elements

// A tensor of bytes, or of floats.
typedef struct operand {
  const void* data;
  size_t period;  // elements after which it begins again
  bool is_float;
  float scale;
  int32_t zero;
} operand;

typedef enum way { BLOCKS, ADDITION, ROWS, TABLE } way;

typedef struct job {
  way way;
  etx_chain chain;
  const etx_u8_loops* loops;
  operand self, others[ETX_CHAIN_MAX_OTHERS];
  size_t other_count;
  void* out;
  size_t numel;
  etx_u8_requantize results;
  float inverse;  // of the result's scale
  uint8_t table[TABLE_BYTES];
} job;

// Elements from `first` on as floats: where they lie, or in `made`.
static const float* load(const job* j, const operand* o, size_t first,
                         size_t count, float* made) {
  const size_t from = first % o->period;
  if (o->is_float && o->period - from >= count) {
    return (const float*)o->data + from;
  }
  for (size_t done = 0; done < count;) {
    const size_t at = (first + done) % o->period;
    const size_t left = count - done, rest = o->period - at;
    const size_t some = left < rest ? left : rest;
    if (o->is_float) {
      memcpy(made + done, (const float*)o->data + at, some * sizeof *made);
    } else {
      j->loops->to_floats((const uint8_t*)o->data + at, some, o->zero, o->scale,
                          made + done);
    }
    done += some;
  }
  return made;
}

static void run_block(const job* j, size_t first, size_t count) {
  float x[BLOCK], made[ETX_CHAIN_MAX_OTHERS][BLOCK], results[BLOCK];
  etx_chain chain = j->chain;
  for (size_t i = 0; i < j->other_count; ++i) {
    const operand* const o = &j->others[i];
    const bool moves = o->period > 1;
    chain.others[i] = (etx_chain_other){
        load(j, o, first, moves ? count : 1, made[i]), 0, moves};
  }
  const float* const self = load(j, &j->self, first, count, x);
  float* const floats = (float*)j->out + first;
  etx_chain_run(&chain, self, j->results.is_float ? floats : results, 0, 0,
                count);
  if (!j->results.is_float) {
    j->loops->to_bytes(results, count, j->results.zero, j->inverse,
                       j->results.low, j->results.high,
                       (uint8_t*)j->out + first);
  }
}

// ------------------------------------------------ shorter ways

// True if the chain begins with the step of x and the only other, bytes both.
static bool is_pair(const job* j, uint8_t step) {
  const uint8_t* steps = j->chain.steps;
  return j->chain.count >= 3 && steps[2] == step && steps[0] != steps[1] &&
         (steps[0] == ETX_STEP_X || steps[1] == ETX_STEP_X) &&
         j->other_count == 1 && !j->self.is_float;
}

// What is below 0 is below the bound, too, unless a scale turns it around.
static bool is_relu_at(const job* j, size_t step) {
  return j->chain.count == step + 1 && j->chain.steps[step] == ETX_STEP_relu &&
         j->results.low >= 0 && j->inverse >= 0;
}

static bool depends_on_self_alone(const job* j) {
  for (size_t i = 0; i < j->other_count; ++i) {
    if (j->others[i].period > 1) return false;
  }
  return !j->self.is_float;
}

static way way_of(const job* j) {
  const size_t count = j->chain.count;
  if (j->results.is_float) return BLOCKS;
  if (is_pair(j, ETX_STEP_add) && (count == 3 || is_relu_at(j, 3)) &&
      j->others[0].period == j->numel && !j->others[0].is_float) {
    return ADDITION;
  }
  if (is_pair(j, ETX_STEP_multiply) && (count == 3 || is_relu_at(j, 3)) &&
      j->others[0].period > 1 && j->others[0].period < j->numel) {
    return ROWS;
  }
  return j->numel > 2 * TABLE_BYTES && depends_on_self_alone(j) ? TABLE
                                                                : BLOCKS;
}

static etx_u8_binary_qparams pair_of(const job* j) {
  return (etx_u8_binary_qparams){.zeros = {j->self.zero, j->others[0].zero},
                                 .scales = {j->self.scale, j->others[0].scale},
                                 .zero = j->results.zero,
                                 .inverse = j->inverse,
                                 .low = j->results.low,
                                 .high = j->results.high};
}

// What becomes of each byte.
static void fill_table(job* j) {
  uint8_t bytes[TABLE_BYTES];
  job all = *j;
  for (size_t i = 0; i < TABLE_BYTES; ++i) bytes[i] = (uint8_t)i;
  all.self.data = bytes;
  all.self.period = TABLE_BYTES;
  all.out = j->table;
  for (size_t i = 0; i < TABLE_BYTES; i += BLOCK) run_block(&all, i, BLOCK);
}

// Items are rows.
static void multiply_rows(const void* context, size_t first, size_t end) {
  const job* j = context;
  const etx_u8_binary_qparams numbers = pair_of(j);
  const size_t columns = j->others[0].period;
  for (size_t column = 0; column < columns; column += BLOCK) {
    const size_t left = columns - column, count = left < BLOCK ? left : BLOCK;
    float made[BLOCK];
    const float* factors = load(j, &j->others[0], column, count, made);
    for (size_t row = first; row < end; ++row) {
      const size_t at = row * columns + column;
      j->loops->multiply(&numbers, (const uint8_t*)j->self.data + at, factors,
                         count, (uint8_t*)j->out + at);
    }
  }
}

static void run_items(const void* context, size_t first, size_t end) {
  const job* j = context;
  const size_t at = first * ITEM;
  const size_t last = end * ITEM < j->numel ? end * ITEM : j->numel;
  const uint8_t* self = j->self.data;
  uint8_t* out = j->out;
  if (j->way == ADDITION) {
    const etx_u8_binary_qparams numbers = pair_of(j);
    const uint8_t* other = j->others[0].data;
    j->loops->add(&numbers, self + at, other + at, last - at, out + at);
    return;
  }
  if (j->way == TABLE) {
    j->loops->look_up(j->table, self + at, last - at, out + at);
    return;
  }
  for (size_t i = at; i < last; i += BLOCK) {
    run_block(j, i, last - i < BLOCK ? last - i : BLOCK);
  }
}

// ------------------------------------------------ calls

static operand operand_of(const etx_tensor* tensor, double scale,
                          int64_t zero) {
  return (operand){.data = tensor->data,
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
  job j = {
      .loops = etx_u8_loops_of(
          etx_instruction_set_within(parallel->instruction_set)),
      .self = operand_of(etx_call_tensor(call, ETX_ARG_chain_u8_self),
                         etx_call_real(call, ETX_ARG_chain_u8_scale),
                         etx_call_integer(call, ETX_ARG_chain_u8_zero_point)),
      .other_count =
          etx_call_value(call, ETX_ARG_chain_u8_others)->as.tensors.count,
      .out = out->data,
      .numel = etx_tensor_numel(out),
      // In double, as Python does.
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
  j.way = way_of(&j);
  if (j.way == ROWS) {
    etx_parallel_for(parallel, j.numel / j.others[0].period,
                     3 * (double)j.numel, multiply_rows, &j);
    return ETX_OK;
  }
  double steps = (double)(j.chain.count + 2 + j.other_count);
  if (j.way == TABLE) {
    fill_table(&j);
    steps = 1;
  }
  etx_parallel_for(parallel, (j.numel + ITEM - 1) / ITEM,
                   (double)j.numel * steps, run_items, &j);
  return ETX_OK;
}

static etx_status refuse_zero(const etx_call* call, int64_t zero) {
  return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                         "a zero point is %i, expected 0 to 255", zero);
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
                             "dense 'uint8' or 'float32'",
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
