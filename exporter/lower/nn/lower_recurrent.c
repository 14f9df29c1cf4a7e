// LSTM, GRU and RNN layers and cells. The products of the inputs of all steps
// with the input weights are one linear layer before the first step, because
// they do not depend on the state. The steps are one operator of etx's runtime
// for each direction of each layer, or they are unrolled over time:
//
//   lstm  i, f, g, o = gates    c' = f c + i g    h' = o tanh(c'), or a
//         projection of it
//   gru   r, z, n               n = tanh(x_n + r h_n)    h' = n + z (h - n)
//   rnn   h' = tanh or relu of the gates

#include "exporter/lower/builder/lowering_functions.h"

// A step has 10 to 20 nodes if it is unrolled; longer sequences should be run
// step by step.
enum { MAX_STEPS = 1024 };

typedef enum cell_kind { CELL_LSTM, CELL_GRU, CELL_RNN } cell_kind;

// Weights of one direction of one layer.
typedef struct weights {
  uint32_t input;        // [gates * H, I]
  uint32_t hidden;       // [gates * H, P]
  uint32_t input_bias;   // or ETX_IR_NONE
  uint32_t hidden_bias;  // or ETX_IR_NONE
  uint32_t projection;   // [P, H] of an LSTM, or ETX_IR_NONE: P is H
} weights;

// [B, P], and [B, H] for `cell`, which only an LSTM has.
typedef struct cell_state {
  uint32_t hidden;
  uint32_t cell;
} cell_state;

typedef struct recurrent_layer {
  cell_kind kind;
  etx_op_id activation;  // of a plain RNN
  bool is_fused;         // the steps of a direction are one operator
  bool batch_first;      // layout of input and output, if fused
  size_t directions;
  size_t layers;
  bool has_biases;
  bool has_projections;
  const etx_ir_arg* params;
  size_t param_count;
} recurrent_layer;

// Gate `index` of gates [B, count * H].
static etx_status gate(etx_builder* builder, uint32_t gates, etx_dim hidden,
                       int64_t index, etx_op_id activation,
                       uint32_t* out_value) {
  uint32_t value = 0;
  ETX_TRY(etx_build_slice(
      builder, gates,
      (etx_dim_slice){1, index * hidden, (index + 1) * hidden, 1}, &value));
  if (activation == ETX_OP_COUNT) {
    *out_value = value;
    return ETX_OK;
  }
  return etx_build_unary(builder, activation, value, out_value);
}

static etx_status lstm_step(etx_builder* builder, uint32_t from_input,
                            uint32_t from_hidden, etx_dim size,
                            cell_state* state) {
  static const etx_op_id activations[] = {ETX_OP_sigmoid_out,
                                          ETX_OP_sigmoid_out, ETX_OP_tanh_out,
                                          ETX_OP_sigmoid_out};
  uint32_t gates = 0;
  uint32_t g[4];
  uint32_t kept = 0;
  uint32_t added = 0;
  ETX_TRY(etx_build_binary(builder, ETX_OP_add_out, from_input, from_hidden,
                           &gates));
  for (int64_t i = 0; i < 4; ++i) {
    ETX_TRY(gate(builder, gates, size, i, activations[i], &g[i]));
  }
  ETX_TRY(etx_build_binary(builder, ETX_OP_mul_out, g[1], state->cell, &kept));
  ETX_TRY(etx_build_binary(builder, ETX_OP_mul_out, g[0], g[2], &added));
  ETX_TRY(etx_build_binary(builder, ETX_OP_add_out, kept, added, &state->cell));
  ETX_TRY(etx_build_unary(builder, ETX_OP_tanh_out, state->cell, &kept));
  return etx_build_binary(builder, ETX_OP_mul_out, g[3], kept, &state->hidden);
}

// The reset or update gate: the sigmoid of the sum of both parts.
static etx_status summed_gate(etx_builder* builder, uint32_t from_input,
                              uint32_t from_hidden, etx_dim size, int64_t index,
                              uint32_t* out_value) {
  uint32_t a = 0;
  uint32_t b = 0;
  ETX_TRY(gate(builder, from_input, size, index, ETX_OP_COUNT, &a));
  ETX_TRY(gate(builder, from_hidden, size, index, ETX_OP_COUNT, &b));
  ETX_TRY(etx_build_binary(builder, ETX_OP_add_out, a, b, &a));
  return etx_build_unary(builder, ETX_OP_sigmoid_out, a, out_value);
}

static etx_status gru_step(etx_builder* builder, uint32_t from_input,
                           uint32_t from_hidden, etx_dim size,
                           cell_state* state) {
  uint32_t reset = 0;
  uint32_t update = 0;
  uint32_t fresh = 0;
  uint32_t value = 0;
  ETX_TRY(summed_gate(builder, from_input, from_hidden, size, 0, &reset));
  ETX_TRY(summed_gate(builder, from_input, from_hidden, size, 1, &update));
  ETX_TRY(gate(builder, from_input, size, 2, ETX_OP_COUNT, &fresh));
  ETX_TRY(gate(builder, from_hidden, size, 2, ETX_OP_COUNT, &value));
  ETX_TRY(etx_build_binary(builder, ETX_OP_mul_out, reset, value, &value));
  ETX_TRY(etx_build_binary(builder, ETX_OP_add_out, fresh, value, &fresh));
  ETX_TRY(etx_build_unary(builder, ETX_OP_tanh_out, fresh, &fresh));
  ETX_TRY(
      etx_build_binary(builder, ETX_OP_sub_out, state->hidden, fresh, &value));
  ETX_TRY(etx_build_binary(builder, ETX_OP_mul_out, update, value, &value));
  return etx_build_binary(builder, ETX_OP_add_out, fresh, value,
                          &state->hidden);
}

// One step: `from_input` is the input's part of the gates, [B, gates * H].
static etx_status step(etx_builder* builder, const recurrent_layer* l,
                       const weights* w, uint32_t from_input,
                       cell_state* state) {
  uint32_t from_hidden = 0;
  const etx_shape* const shape = etx_builder_shape(builder, w->hidden);
  const etx_dim rows = shape->dims[0];
  const etx_dim size = rows / (l->kind == CELL_LSTM ? 4 : 3);
  if (shape->rank != 2 || rows < 0 || rows > INT32_MAX) {
    return etx_diag_fail(
        builder->diag, ETX_BAD_ARGUMENT,
        "'%t' expects hidden weights of rank 2 and of a fixed size",
        builder->node->aten);
  }
  ETX_TRY(etx_build_linear(builder, state->hidden, w->hidden, w->hidden_bias,
                           &from_hidden));
  if (l->kind == CELL_LSTM) {
    ETX_TRY(lstm_step(builder, from_input, from_hidden, size, state));
    if (w->projection == ETX_IR_NONE) return ETX_OK;
    return etx_build_linear(builder, state->hidden, w->projection, ETX_IR_NONE,
                            &state->hidden);
  }
  if (l->kind == CELL_GRU) {
    return gru_step(builder, from_input, from_hidden, size, state);
  }
  uint32_t gates = 0;
  ETX_TRY(etx_build_binary(builder, ETX_OP_add_out, from_input, from_hidden,
                           &gates));
  return etx_build_unary(builder, l->activation, gates, &state->hidden);
}

// ------------------------------------------------ cells

static uint32_t optional_value(const etx_ir_arg* arg) {
  return arg->kind == ETX_IR_ARG_VALUE ? arg->as.value : ETX_IR_NONE;
}

// (input, hx, w_ih, w_hh, b_ih, b_hh); hx of an LSTM is a list of two.
static etx_status lower_cell(etx_builder* builder, const recurrent_layer* l,
                             cell_state state) {
  const etx_ir_arg* const args = builder->args;
  const weights w = {args[2].as.value, args[3].as.value,
                     optional_value(&args[4]), optional_value(&args[5]),
                     ETX_IR_NONE};
  uint32_t from_input = 0;
  ETX_TRY(etx_build_linear(builder, args[0].as.value, w.input, w.input_bias,
                           &from_input));
  ETX_TRY(step(builder, l, &w, from_input, &state));
  builder->results[0] = state.hidden;
  builder->results[1] = state.cell;
  return ETX_OK;
}

etx_status etx_lowering_lstm_cell(etx_builder* builder) {
  const recurrent_layer l = {.kind = CELL_LSTM};
  const etx_ir_arg* const list = &builder->args[1];
  if (list->as.list.count != 2) {
    return etx_diag_fail(builder->diag, ETX_BAD_ARGUMENT,
                         "'%t' expects 2 initial states, found %z",
                         builder->node->aten, list->as.list.count);
  }
  const cell_state state = {list->as.list.items[0].as.value,
                            list->as.list.items[1].as.value};
  return lower_cell(builder, &l, state);
}

etx_status etx_lowering_gru_cell(etx_builder* builder) {
  const recurrent_layer l = {.kind = CELL_GRU};
  const cell_state state = {builder->args[1].as.value, ETX_IR_NONE};
  return lower_cell(builder, &l, state);
}

etx_status etx_lowering_rnn_cell(etx_builder* builder) {
  const recurrent_layer l = {.kind = CELL_RNN, .activation = builder->row->op};
  const cell_state state = {builder->args[1].as.value, ETX_IR_NONE};
  return lower_cell(builder, &l, state);
}

// ------------------------------------------------ layers

// The number of weights of each direction of each layer.
static size_t weight_count(const recurrent_layer* l) {
  return (l->has_biases ? 4u : 2u) + l->has_projections;
}

static weights weights_at(const recurrent_layer* l, size_t index) {
  const size_t each = weight_count(l);
  const etx_ir_arg* const p = &l->params[index * each];
  const weights w = {p[0].as.value, p[1].as.value,
                     l->has_biases ? p[2].as.value : ETX_IR_NONE,
                     l->has_biases ? p[3].as.value : ETX_IR_NONE,
                     l->has_projections ? p[each - 1].as.value : ETX_IR_NONE};
  return w;
}

static etx_status select_row(etx_builder* builder, uint32_t value, size_t index,
                             uint32_t* out_value) {
  const etx_ir_arg args[] = {etx_ir_value_arg(value), etx_ir_int(0),
                             etx_ir_int((etx_dim)index)};
  return etx_build_op(builder, ETX_OP_select_copy_int_out, args, 3, out_value);
}

// Concatenates `count` tensors along a new dimension 0.
static etx_status stack_rows(etx_builder* builder, const uint32_t* rows,
                             size_t count, uint32_t* out_value) {
  etx_ir_arg* const items =
      etx_pool_take(builder->module->pool, count * sizeof(etx_ir_arg));
  if (items == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < count; ++i) {
    uint32_t row = 0;
    ETX_TRY(etx_build_unsqueeze(builder, rows[i], 0, &row));
    items[i] = etx_ir_value_arg(row);
  }
  if (count == 1) {
    *out_value = items[0].as.value;
    return ETX_OK;
  }
  const etx_ir_arg args[] = {etx_ir_list(items, count), etx_ir_int(0)};
  return etx_build_op(builder, ETX_OP_cat_out, args, 2, out_value);
}

// One direction over all steps of `input` [T, B, I] as one operator: `out_all`
// is [T, B, H]. With batch_first, both begin with [B, T].
static etx_status fuse_direction(etx_builder* builder, const recurrent_layer* l,
                                 size_t index, uint32_t input,
                                 cell_state* state, uint32_t* out_all) {
  const weights w = weights_at(l, index);
  uint32_t projected = 0;
  uint32_t outputs[3] = {0, 0, ETX_IR_NONE};
  ETX_TRY(etx_build_linear(builder, input, w.input, w.input_bias, &projected));
  const etx_ir_arg args[] = {
      etx_ir_value_arg(projected),
      etx_ir_value_arg(state->hidden),
      etx_ir_value_arg(w.hidden),
      l->has_biases ? etx_ir_value_arg(w.hidden_bias) : etx_ir_none(),
      etx_ir_bool(index % l->directions == 1),
      etx_ir_bool(l->batch_first),
      etx_ir_value_arg(state->cell)};
  ETX_TRY(etx_build_op_outputs(builder, builder->row->op, args,
                               l->kind == CELL_LSTM ? 7 : 6, NULL, outputs));
  *out_all = outputs[0];
  *state = (cell_state){outputs[1], outputs[2]};
  return ETX_OK;
}

// The same for layout [T, B, ..], unrolled.
static etx_status run_direction(etx_builder* builder, const recurrent_layer* l,
                                size_t index, uint32_t input, cell_state* state,
                                uint32_t* out_all) {
  const weights w = weights_at(l, index);
  const bool backward = index % l->directions == 1;
  const size_t length = (size_t)etx_builder_shape(builder, input)->dims[0];
  uint32_t* const rows =
      etx_pool_take(builder->module->pool, length * sizeof(uint32_t));
  if (rows == NULL) return ETX_OUT_OF_MEMORY;
  uint32_t projected = 0;
  ETX_TRY(etx_build_linear(builder, input, w.input, w.input_bias, &projected));
  for (size_t i = 0; i < length; ++i) {
    const size_t at = backward ? length - 1 - i : i;
    uint32_t row = 0;
    ETX_TRY(select_row(builder, projected, at, &row));
    ETX_TRY(step(builder, l, &w, row, state));
    rows[at] = state->hidden;
  }
  return stack_rows(builder, rows, length, out_all);
}

// All layers over `input` [T, B, I]. `states` has one entry for each direction
// of each layer: the initial state, which is replaced by the final one.
static etx_status run_layers(etx_builder* builder, const recurrent_layer* l,
                             uint32_t input, cell_state* states,
                             uint32_t* out_value) {
  for (size_t i = 0; i < l->layers; ++i) {
    uint32_t parts[2];
    for (size_t d = 0; d < l->directions; ++d) {
      const size_t index = i * l->directions + d;
      ETX_TRY((l->is_fused ? fuse_direction : run_direction)(
          builder, l, index, input, &states[index], &parts[d]));
    }
    input = parts[0];
    if (l->directions == 1) continue;
    etx_ir_arg items[] = {etx_ir_value_arg(parts[0]),
                          etx_ir_value_arg(parts[1])};
    const etx_ir_arg args[] = {etx_ir_list(items, 2), etx_ir_int(2)};
    ETX_TRY(etx_build_op(builder, ETX_OP_cat_out, args, 2, &input));
  }
  *out_value = input;
  return ETX_OK;
}

// Final states of all layers as [layers * directions, B, H].
static etx_status stack_states(etx_builder* builder, const cell_state* states,
                               size_t count, bool cells, uint32_t* out_value) {
  uint32_t* const rows =
      etx_pool_take(builder->module->pool, count * sizeof(uint32_t));
  if (rows == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < count; ++i) {
    rows[i] = cells ? states[i].cell : states[i].hidden;
  }
  return stack_rows(builder, rows, count, out_value);
}

// True if a sequence can be unrolled.
static bool has_few_steps(const etx_shape* input, size_t axis) {
  return input->rank == 3 && etx_dim_is_number(input->dims[axis]) &&
         input->dims[axis] >= 1 && input->dims[axis] <= MAX_STEPS;
}

// True if the steps can be one operator. A model whose weights are to be
// quantised is unrolled if possible, because the operator reads floats.
static bool is_fusible(const etx_builder* builder, const recurrent_layer* l,
                       const uint32_t* initial) {
  const uint32_t input = builder->args[0].as.value;
  const etx_shape* const shape = etx_builder_shape(builder, input);
  if (builder->target != ETX_TARGET_ETX || l->has_projections) return false;
  if (shape->rank != 3 || shape->dtype != ETX_DTYPE_FLOAT32) return false;
  if (builder->module->quantize_count > 0 &&
      has_few_steps(shape, l->batch_first ? 1 : 0)) {
    return false;
  }
  for (size_t i = 0; i < (l->kind == CELL_LSTM ? 2u : 1u); ++i) {
    if (etx_builder_shape(builder, initial[i])->dtype != ETX_DTYPE_FLOAT32) {
      return false;
    }
  }
  for (size_t i = 0; i < l->param_count; ++i) {
    const uint32_t param = l->params[i].as.value;
    if (etx_builder_shape(builder, param)->dtype != ETX_DTYPE_FLOAT32) {
      return false;
    }
  }
  return true;
}

static etx_status check_layers(etx_builder* builder, const recurrent_layer* l,
                               uint32_t input, bool trains) {
  const size_t each = weight_count(l);
  const etx_shape* const shape = etx_builder_shape(builder, input);
  if (trains) {
    return etx_diag_fail(
        builder->diag, ETX_UNSUPPORTED,
        "'%t' in training mode is not supported: export the model in eval mode",
        builder->node->aten);
  }
  if (l->layers == 0 || l->layers > l->param_count ||
      l->param_count != l->layers * l->directions * each) {
    return etx_diag_fail(
        builder->diag, ETX_UNSUPPORTED,
        "'%t' expects %z weights for each direction of each layer",
        builder->node->aten, each);
  }
  if (!l->is_fused && !has_few_steps(shape, 0)) {
    return etx_diag_fail(builder->diag, ETX_UNSUPPORTED,
                         "'%t' expects [time, batch, features] with a fixed "
                         "number of 1 to %i time steps",
                         builder->node->aten, (int64_t)MAX_STEPS);
  }
  return ETX_OK;
}

// The arguments from `params` on are the same for all kinds: params,
// has_biases, num_layers, dropout, train, bidirectional, batch_first.
static etx_status lower_layers(etx_builder* builder, recurrent_layer* l,
                               const uint32_t* initial) {
  const etx_ir_arg* const args = builder->args;
  l->params = args[2].as.list.items;
  l->param_count = args[2].as.list.count;
  l->has_biases = args[3].as.boolean;
  l->layers = (size_t)args[4].as.integer;
  l->directions = args[7].as.boolean ? 2 : 1;
  // An LSTM with projections has one weight more.
  l->has_projections =
      l->kind == CELL_LSTM && l->layers <= l->param_count &&
      l->param_count == l->layers * l->directions * (l->has_biases ? 5u : 3u);
  l->batch_first = args[8].as.boolean;
  l->is_fused = is_fusible(builder, l, initial);
  const bool transposes = l->batch_first && !l->is_fused;
  const bool is_lstm = l->kind == CELL_LSTM;
  uint32_t input = args[0].as.value;
  uint32_t all = 0;
  if (transposes) ETX_TRY(etx_build_transpose(builder, input, 0, 1, &input));
  ETX_TRY(check_layers(builder, l, input, args[6].as.boolean));
  const size_t count = l->layers * l->directions;
  cell_state* const states =
      etx_pool_take(builder->module->pool, count * sizeof(cell_state));
  if (states == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < count; ++i) {
    ETX_TRY(select_row(builder, initial[0], i, &states[i].hidden));
    if (is_lstm) ETX_TRY(select_row(builder, initial[1], i, &states[i].cell));
  }
  ETX_TRY(run_layers(builder, l, input, states, &all));
  if (transposes) ETX_TRY(etx_build_transpose(builder, all, 0, 1, &all));
  builder->results[0] = all;
  ETX_TRY(stack_states(builder, states, count, false, &builder->results[1]));
  if (!is_lstm) return ETX_OK;
  return stack_states(builder, states, count, true, &builder->results[2]);
}

etx_status etx_lowering_lstm(etx_builder* builder) {
  recurrent_layer l = {.kind = CELL_LSTM};
  const etx_ir_arg* const list = &builder->args[1];
  if (list->as.list.count != 2) {
    return etx_diag_fail(builder->diag, ETX_BAD_ARGUMENT,
                         "'%t' expects 2 initial states, found %z",
                         builder->node->aten, list->as.list.count);
  }
  const uint32_t initial[] = {list->as.list.items[0].as.value,
                              list->as.list.items[1].as.value};
  return lower_layers(builder, &l, initial);
}

etx_status etx_lowering_gru(etx_builder* builder) {
  recurrent_layer l = {.kind = CELL_GRU};
  return lower_layers(builder, &l, &builder->args[1].as.value);
}

etx_status etx_lowering_rnn(etx_builder* builder) {
  recurrent_layer l = {.kind = CELL_RNN, .activation = ETX_OP_relu_out};
  if (builder->row->op == ETX_OP_rnn_tanh_sequence_out) {
    l.activation = ETX_OP_tanh_out;
  }
  return lower_layers(builder, &l, &builder->args[1].as.value);
}
