// A mixture-of-experts layer with quantised weights: a router selects some
// experts for each token, each expert computes down(silu(up(x)) * gate(x)), and
// the results are summed with the weights of the router.
//
// The weights of an expert are one blob in torchao's universal packing for
// linear layers:
//
//   16 x int32   6712, 1 (universal), bits, 0 (no zero points), 0 (no bias),
//                8, 16, 2 (rows and columns of a block, its halves), 0..
//   for each 8 rows (padded with zeros):
//     for each group of columns:
//       for each 16 columns: 128 elements: columns 0 to 7 of all 8 rows, then
//         columns 8 to 15. As bytes; or 4 bits each plus 8: byte i of 16 has
//         element i of 32 in its low half and element i + 16 in its high half
//       8 x float32  scales of the rows
//       8 x int32    sums of the rows' elements, not used here
//
// torchao's other packings belong to kernels of one processor. They are refused
// according to the header.

#include <string.h>

#include "format/base/checked_math.h"
#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/simd/vector/striped_sum.h"
#include "runtime/kernels/math/math_functions.h"
#include "runtime/kernels/core/operand.h"
#include "runtime/kernels/core/parallel_for.h"
#include "runtime/kernels/registry/temporary_kernels.h"

enum {
  X,
  ROUTER,
  BIAS,
  UP_GATE,
  DOWN,
  ACTIVE,
  EXPERTS,
  HIDDEN,
  WIDTH,
  GROUP,
  BITS,
  SCORE,
  ROUTE_SCALE,
  OUT
};

enum {
  HEADER = 64,  // bytes
  BLOCK_ROWS = 8,
  BLOCK_COLUMNS = 16,
  CHUNK = 128,  // columns that are unpacked at a time
  TILE = 8,     // tokens that use an unpacked chunk
  // Multiply-adds below which waking other threads costs more than it saves.
  MIN_PARALLEL_WORK = 200000,
};

// One matrix [rows, columns] of one expert.
typedef struct expert_matrix {
  const uint8_t* data;  // after the header
  size_t rows, columns, group, bits;
} expert_matrix;

// Bytes of eight rows of one group.
static size_t group_bytes(size_t group, size_t bits) {
  return group * bits + BLOCK_ROWS * (sizeof(float) + sizeof(int32_t));
}

static size_t block_bytes(const expert_matrix* m) {
  return m->columns / m->group * group_bytes(m->group, m->bits);
}

// The bytes of a blob. Returns false if they overflow size_t.
static bool blob_bytes(size_t rows, size_t columns, size_t group, size_t bits,
                       size_t* out) {
  const size_t blocks = (rows + BLOCK_ROWS - 1) / BLOCK_ROWS;
  size_t bytes;
  if (group > SIZE_MAX / 64) return false;
  return etx_multiply_size(columns / group, group_bytes(group, bits), &bytes) &&
         etx_multiply_size(bytes, blocks, &bytes) &&
         etx_add_size(bytes, HEADER, out);
}

// ------------------------------------------------ unpacking

// Unpacks 16 columns of 8 rows and multiplies them with the scales of the rows.
// Rows of `out` are `stride` apart.
static void unpack_block(const uint8_t* in, size_t bits, const float* scales,
                         float* out, size_t stride) {
  int8_t numbers[BLOCK_ROWS * BLOCK_COLUMNS];
  if (bits == 8) {
    memcpy(numbers, in, sizeof(numbers));
  } else {
    for (size_t part = 0; part < 4; ++part, in += 16) {
      int8_t* to = numbers + 32 * part;
      for (size_t i = 0; i < 16; ++i) {
        to[i] = (int8_t)((in[i] & 15) - 8);
        to[i + 16] = (int8_t)((in[i] >> 4) - 8);
      }
    }
  }
  const int8_t* from = numbers;
  for (size_t half = 0; half < BLOCK_COLUMNS; half += 8) {
    for (size_t row = 0; row < BLOCK_ROWS; ++row, from += 8) {
      float* to = out + row * stride + half;
      for (size_t i = 0; i < 8; ++i) to[i] = (float)from[i] * scales[row];
    }
  }
}

// Unpacks columns [first, first + count), at most CHUNK and of one group, of
// the 8 rows of a block.
static void unpack_chunk(const expert_matrix* m, size_t block, size_t first,
                         size_t count, float out[BLOCK_ROWS][CHUNK]) {
  const uint8_t* group = m->data + block * block_bytes(m) +
                         first / m->group * group_bytes(m->group, m->bits);
  float scales[BLOCK_ROWS];
  memcpy(scales, group + m->group * m->bits, sizeof(scales));
  for (size_t i = 0; i < count; i += BLOCK_COLUMNS) {
    const size_t column = first % m->group + i;
    unpack_block(group + column * m->bits, m->bits, scales, &out[0][i], CHUNK);
  }
}

// ------------------------------------------------ products

// out[t][n] = dot(row n, in[t]), or out[t][n] += weights[t] * dot(row n,
// in[t]).
typedef struct expert_product {
  const expert_matrix* matrix;
  size_t tokens;
  const float* in[TILE];
  float* out[TILE];
  const float* weights;  // NULL: the first form
} expert_product;

static void add_chunk(const expert_product* p, size_t first, size_t count,
                      float rows[BLOCK_ROWS][CHUNK],
                      float sums[TILE][BLOCK_ROWS]) {
  for (size_t t = 0; t < p->tokens; ++t) {
    for (size_t row = 0; row < BLOCK_ROWS; row += 2) {
      float a, b;
      etx_striped_dot_two_f32(rows[row], rows[row + 1], p->in[t] + first, count,
                              &a, &b);
      sums[t][row] += a;
      sums[t][row + 1] += b;
    }
  }
}

static void run_block(void* argument, size_t block) {
  const expert_product* p = argument;
  const expert_matrix* m = p->matrix;
  float sums[TILE][BLOCK_ROWS] = {{0}};
  for (size_t k = 0; k < m->columns;) {
    float rows[BLOCK_ROWS][CHUNK];
    const size_t rest = m->group - k % m->group;
    const size_t count = rest < CHUNK ? rest : CHUNK;
    unpack_chunk(m, block, k, count, rows);
    add_chunk(p, k, count, rows, sums);
    k += count;
  }
  for (size_t row = 0; row < BLOCK_ROWS; ++row) {
    const size_t at = block * BLOCK_ROWS + row;
    if (at >= m->rows) return;
    for (size_t t = 0; t < p->tokens; ++t) {
      if (p->weights == NULL) {
        p->out[t][at] = sums[t][row];
      } else {
        p->out[t][at] += p->weights[t] * sums[t][row];
      }
    }
  }
}

static void run_product(expert_product* p, const etx_parallel* parallel) {
  const size_t blocks = (p->matrix->rows + BLOCK_ROWS - 1) / BLOCK_ROWS;
  const double work =
      (double)p->tokens * (double)p->matrix->rows * (double)p->matrix->columns;
  if (parallel->thread_count > 1 && work >= MIN_PARALLEL_WORK) {
    etx_parallel_run_tasks(parallel, run_block, p, blocks);
    return;
  }
  for (size_t block = 0; block < blocks; ++block) run_block(p, block);
}

// ------------------------------------------------ the router

// True if expert `index` is already selected.
static bool is_selected(const int32_t* selected, size_t count, size_t index) {
  for (size_t i = 0; i < count; ++i) {
    if ((size_t)selected[i] == index) return true;
  }
  return false;
}

// The expert with the highest score that is not selected yet: the first of
// equal ones, and the first of all if the remaining scores are NaN.
static int32_t next_best(const float* scores, const float* bias, size_t count,
                         const int32_t* selected, size_t done) {
  size_t best = SIZE_MAX, first = SIZE_MAX;
  float highest = 0;
  for (size_t e = 0; e < count; ++e) {
    if (is_selected(selected, done, e)) continue;
    const float score = scores[e] + (bias == NULL ? 0.0f : bias[e]);
    if (first == SIZE_MAX) first = e;
    if (score == score && (best == SIZE_MAX || score > highest)) {
      best = e;
      highest = score;
    }
  }
  return (int32_t)(best == SIZE_MAX ? first : best);
}

// Scales the weights of a sigmoid router so that their sum is `scale`.
static void normalize_weights(float* weights, size_t count, float scale) {
  const float least = 1.17549435e-38f;
  float sum = 0;
  for (size_t i = 0; i < count; ++i) sum += weights[i];
  const float factor = scale / (sum < least ? least : sum);
  for (size_t i = 0; i < count; ++i) weights[i] *= factor;
}

static void apply_softmax(float* weights, size_t count) {
  float max = weights[0], sum = 0;
  for (size_t i = 1; i < count; ++i) {
    max = weights[i] > max ? weights[i] : max;
  }
  for (size_t i = 0; i < count; ++i) {
    weights[i] = etx_exp_f32(weights[i] - max);
    sum += weights[i];
  }
  for (size_t i = 0; i < count; ++i) weights[i] /= sum;
}

typedef struct moe_layer {
  const etx_call* call;
  size_t tokens, width, hidden, experts, active, group, bits;
  bool is_sigmoid;
  int32_t* selected;  // [tokens, active]
  float* weights;     // [tokens, active]
  float* scores;      // [experts]
  float* up_gate;     // [TILE, 2 * hidden]: up and gate
} moe_layer;

static void route_token(const moe_layer* l, size_t token) {
  const float* x =
      (const float*)etx_call_tensor(l->call, X)->data + token * l->width;
  const float* router = etx_call_tensor(l->call, ROUTER)->data;
  const etx_tensor* bias_tensor = etx_call_tensor(l->call, BIAS);
  const float* bias =
      etx_tensor_numel(bias_tensor) == 0 ? NULL : bias_tensor->data;
  int32_t* selected = l->selected + token * l->active;
  float* weights = l->weights + token * l->active;
  for (size_t e = 0; e < l->experts; ++e) {
    const float score = etx_striped_dot_f32(x, router + e * l->width, l->width);
    l->scores[e] = l->is_sigmoid ? etx_sigmoid_f32(score) : score;
  }
  for (size_t i = 0; i < l->active; ++i) {
    selected[i] = next_best(l->scores, bias, l->experts, selected, i);
    weights[i] = l->scores[selected[i]];
  }
  if (l->is_sigmoid) {
    normalize_weights(weights, l->active,
                      (float)etx_call_real(l->call, ROUTE_SCALE));
  } else {
    apply_softmax(weights, l->active);
  }
}

// ------------------------------------------------ experts

static expert_matrix expert_matrix_of(const moe_layer* l, size_t argument,
                                      size_t expert) {
  const etx_tensor* packed = etx_call_tensor(l->call, argument);
  const bool is_down = argument == DOWN;
  const expert_matrix m = {
      (const uint8_t*)packed->data + expert * (size_t)packed->sizes[1] + HEADER,
      is_down ? l->width : 2 * l->hidden, is_down ? l->hidden : l->width,
      l->group, l->bits};
  return m;
}

// Computes one expert for up to TILE tokens. silu(up) * gate overwrites up.
static void run_tile(const moe_layer* l, size_t expert, const size_t* tokens,
                     const float* weights, size_t count) {
  const expert_matrix up_gate = expert_matrix_of(l, UP_GATE, expert);
  const expert_matrix down = expert_matrix_of(l, DOWN, expert);
  expert_product in = {.matrix = &up_gate, .tokens = count};
  expert_product out = {.matrix = &down, .tokens = count, .weights = weights};
  for (size_t t = 0; t < count; ++t) {
    const size_t row = tokens[t] * l->width;
    in.in[t] = (const float*)etx_call_tensor(l->call, X)->data + row;
    in.out[t] = l->up_gate + t * 2 * l->hidden;
    out.in[t] = in.out[t];
    out.out[t] = (float*)etx_call_tensor(l->call, OUT)->data + row;
  }
  run_product(&in, l->call->parallel);
  for (size_t t = 0; t < count; ++t) {
    float* up = in.out[t];
    const float* gate = up + l->hidden;
    for (size_t i = 0; i < l->hidden; ++i) {
      up[i] = up[i] * etx_sigmoid_f32(up[i]) * gate[i];
    }
  }
  run_product(&out, l->call->parallel);
}

static void run_expert(const moe_layer* l, size_t expert) {
  size_t tokens[TILE], count = 0;
  float weights[TILE];
  for (size_t i = 0; i < l->tokens * l->active; ++i) {
    if ((size_t)l->selected[i] != expert) continue;
    tokens[count] = i / l->active;
    weights[count++] = l->weights[i];
    if (count < TILE) continue;
    run_tile(l, expert, tokens, weights, count);
    count = 0;
  }
  if (count > 0) run_tile(l, expert, tokens, weights, count);
}

// ------------------------------------------------ checks

static etx_status check_header(const etx_call* call, const uint8_t* blob,
                               size_t bits) {
  int32_t words[HEADER / sizeof(int32_t)];
  const int32_t expected[] = {6712, 1,          (int32_t)bits, 0,
                              0,    BLOCK_ROWS, BLOCK_COLUMNS, 2};
  memcpy(words, blob, sizeof(words));
  for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); ++i) {
    if (words[i] == expected[i]) continue;
    return etx_call_refuse(call, ETX_UNSUPPORTED,
                           "word %z of packed weights is %i, expected %i of "
                           "torchao's universal packing",
                           i, (int64_t)words[i], (int64_t)expected[i]);
  }
  return ETX_OK;
}

static etx_status check_headers(const moe_layer* l, size_t argument) {
  const etx_tensor* packed = etx_call_tensor(l->call, argument);
  for (size_t e = 0; e < l->experts; ++e) {
    ETX_TRY(check_header(
        l->call, (const uint8_t*)packed->data + e * (size_t)packed->sizes[1],
        l->bits));
  }
  return ETX_OK;
}

static etx_status check_blob(const moe_layer* l, size_t argument, size_t rows,
                             size_t columns) {
  size_t bytes;
  const size_t found = (size_t)etx_call_tensor(l->call, argument)->sizes[1];
  if (!blob_bytes(rows, columns, l->group, l->bits, &bytes) || found < bytes) {
    return etx_call_refuse(l->call, ETX_BAD_ARGUMENT,
                           "packed weights of %z x %z have %z bytes per expert",
                           rows, columns, found);
  }
  return ETX_OK;
}

static etx_status check_format(const etx_call* call) {
  const int64_t group = etx_call_integer(call, GROUP);
  const int64_t bits = etx_call_integer(call, BITS);
  if (bits != 4 && bits != 8) {
    return etx_call_refuse(call, ETX_UNSUPPORTED,
                           "'weight_nbit' is %i, expected 4 or 8", bits);
  }
  if (group > 0 && group % BLOCK_COLUMNS == 0) return ETX_OK;
  return etx_call_refuse(call, ETX_UNSUPPORTED,
                         "'group_size' is %i, expected a multiple of %i", group,
                         (int64_t)BLOCK_COLUMNS);
}

// ------------------------------------------------ the call

// Lays out the workspace; sets the pointers unless `memory` is NULL. Returns
// false if its size overflows.
static bool lay_out_workspace(moe_layer* l, char* memory, size_t* out_bytes) {
  size_t selected, up_gate, bytes;
  if (!etx_multiply_size(l->tokens, l->active, &selected) ||
      !etx_multiply_size(selected, sizeof(int32_t) + sizeof(float), &bytes) ||
      !etx_multiply_size(l->hidden, 2 * TILE, &up_gate) ||
      !etx_add_size(up_gate, l->experts, &up_gate) ||
      !etx_multiply_size(up_gate, sizeof(float), &up_gate) ||
      !etx_add_size(bytes, up_gate, out_bytes)) {
    return false;
  }
  if (memory == NULL) return true;
  l->selected = (int32_t*)(void*)memory;
  l->weights = (float*)(void*)memory + selected;
  l->scores = l->weights + selected;
  l->up_gate = l->scores + l->experts;
  return true;
}

static moe_layer read_moe_layer(const etx_call* call) {
  const etx_text score = etx_call_value(call, SCORE)->as.string;
  const etx_tensor* x = etx_call_tensor(call, X);
  return (moe_layer){.call = call,
                     .tokens = x->rank == 0 ? 0 : (size_t)x->sizes[0],
                     .width = (size_t)etx_call_integer(call, WIDTH),
                     .hidden = (size_t)etx_call_integer(call, HIDDEN),
                     .experts = (size_t)etx_call_integer(call, EXPERTS),
                     .active = (size_t)etx_call_integer(call, ACTIVE),
                     .group = (size_t)etx_call_integer(call, GROUP),
                     .bits = (size_t)etx_call_integer(call, BITS),
                     .is_sigmoid = etx_text_is(score, "sigmoid")};
}

etx_status etx_temporary_quantized_moe(const etx_call* call,
                                       size_t* out_bytes) {
  moe_layer l = read_moe_layer(call);
  *out_bytes = 0;
  // The shape rule refuses negative numbers.
  if (etx_call_integer(call, HIDDEN) < 0 ||
      etx_call_integer(call, EXPERTS) < 0 ||
      etx_call_integer(call, ACTIVE) < 0) {
    return ETX_OK;
  }
  if (lay_out_workspace(&l, NULL, out_bytes)) return ETX_OK;
  return etx_call_refuse(call, ETX_OUT_OF_RANGE,
                         "the workspace for the experts overflows");
}

static etx_status run(etx_call* call) {
  moe_layer l = read_moe_layer(call);
  size_t bytes;
  // Cannot overflow: prepare computed the same.
  if (!lay_out_workspace(&l, call->temporary, &bytes)) return ETX_OUT_OF_RANGE;
  if (l.tokens == 0) return ETX_OK;
  ETX_TRY(check_headers(&l, UP_GATE));
  ETX_TRY(check_headers(&l, DOWN));
  memset(etx_call_tensor(call, OUT)->data, 0,
         l.tokens * l.width * sizeof(float));
  for (size_t t = 0; t < l.tokens; ++t) route_token(&l, t);
  for (size_t e = 0; e < l.experts; ++e) run_expert(&l, e);
  return ETX_OK;
}

static etx_status check_score(const etx_call* call, const moe_layer* l) {
  const etx_text score = etx_call_value(call, SCORE)->as.string;
  if (!l->is_sigmoid && !etx_text_is(score, "softmax")) {
    return etx_call_refuse(call, ETX_UNSUPPORTED,
                           "'score_func' is '%t', expected 'sigmoid' or "
                           "'softmax'",
                           score);
  }
  if (!l->is_sigmoid && etx_tensor_numel(etx_call_tensor(call, BIAS)) > 0) {
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "'expert_bias' is not empty with 'softmax'");
  }
  return ETX_OK;
}

etx_status etx_kernel_quantized_moe_ffn_out_prepare(etx_call* call) {
  static const size_t floats[] = {X, ROUTER, BIAS, OUT};
  static const size_t blobs[] = {UP_GATE, DOWN};
  for (size_t i = 0; i < 4; ++i) {
    ETX_TRY(etx_call_check_dtype(call, floats[i], ETX_DTYPE_FLOAT32));
    ETX_TRY(etx_call_check_contiguous(call, floats[i]));
  }
  for (size_t i = 0; i < 2; ++i) {
    ETX_TRY(etx_call_check_dtype(call, blobs[i], ETX_DTYPE_UINT8));
    ETX_TRY(etx_call_check_contiguous(call, blobs[i]));
  }
  ETX_TRY(check_format(call));
  const moe_layer l = read_moe_layer(call);
  ETX_TRY(check_score(call, &l));
  ETX_TRY(check_blob(&l, UP_GATE, 2 * l.hidden, l.width));
  ETX_TRY(check_blob(&l, DOWN, l.width, l.hidden));
  if (!etx_call_is_again(call)) {
    ETX_TRY(etx_temporary_quantized_moe(call, &call->temporary_bytes));
  }
  call->run = run;
  return ETX_OK;
}
