// Packs weights into panels of 16 output columns at plan time (with --pack), so
// that the kernels need not pack them at run time:
//
//   linear(x, w, b)              ->  linear_panels(x, p, b, [], "x")
//   linear_chain(x, w, b, o, s)  ->  linear_panels(x, p, b, o, s)
//   linear_a8w8(x, w, s, b)      ->  linear_a8w8_panels(x, p, s, sums, b)
//
//   gru_sequence(x, h, w, ..)   ->  gru_sequence(x, h, p, ..), and so on
//
//   w [N, K]  ->  p [N / 16][K][16]; int8: p [ceil(N / 16)][K / 4][16][4]
//
// and weights of convolutions (packed_convolution.h):
//
//   convolution(x, w, b, ..)              ->  convolution_panels (1 x 1),
//   convolution_chain(x, w, b, .., o, s)      convolution_winograd (3 x 3) or
//                                             convolution_packed (others)
//
//   w [O, I, k, k]  ->  p [O / 16][I][k][k][16]
//
// Winograd sums in another order (runtime/kernels/convolution/winograd.c), so
// its results are not bit-equal to those of the unpacked convolution.
//
// Weights that are multiplied with few rows stay unpacked: GEMV reads a weight
// once, in the order in which it is stored. Recurrent layers of one row, which
// read it in every step, do have panels: their products then add nothing across
// a register.
//
// A weight that some readers want in panels and others as it is would be stored
// twice. That is done while the second copies fit into the budget
// (pack_budget.h), which is 0 unless --pack-budget states it; other such
// weights stay unpacked for all readers. The table of an embedding, which
// touches few rows of it, is stored in both forms without a budget.

#include "exporter/rewrite/constant_users.h"
#include "exporter/host/paged_memory.h"
#include "exporter/ir/ir_edit.h"
#include "exporter/rewrite/ir_rewrite.h"
#include "exporter/fuse/pack_budget.h"
#include "exporter/fuse/packed_convolution.h"

enum {
  WEIGHT = 1,  // argument of layers that are not recurrent
  SCALES = 2,  // of int8 layers
  HIDDEN = 1,  // arguments of recurrent layers
  HIDDEN_WEIGHT = 2,
  COLUMNS = 16,
  // Up to so many rows an unpacked weight is as fast; its kernel also sums in
  // another order (ETX_GEMM_NT_ROWS in runtime/kernels/matmul/gemm.h).
  FEW_ROWS = 12,
  FEW_INT8_ROWS = 7,
  COLUMN_BYTES = 4,  // neighbouring bytes of one column in a panel
  // Row lengths for which the runtime has fast int8 loops.
  MIN_INT8_ROW = 64,
  MAX_INT8_ROW = 32768,
};

// What is known of a constant.
typedef struct packed_weight {
  bool is_layer;         // some layer reads it as its weight
  const char* obstacle;  // why a layer cannot read panels; NULL: none
  etx_text reader;       // an operator that is neither layer nor embedding
  etx_text table;        // an embedding that reads it, or empty
  bool has_few_rows;     // some layer multiplies it with few rows
  uint64_t panel_reads;  // layers that read panels if there are any
  etx_text row_reader;   // a layer that reads it as it is, or empty
  uint32_t panels;       // constant with the panels, if `is_packed`
  uint32_t sums;  // constant with the sums of int8 columns, if `is_packed`
  bool is_packed;
  // Of the first convolution that can read panels.
  etx_packed_convolution form;
} packed_weight;

typedef struct packing {
  etx_pass_context* context;
  etx_ir_module* module;
  packed_weight* weights;  // by constant
  size_t weight_count;
  etx_pack_copy* copies;  // weights that would be stored twice
  size_t copy_count;
} packing;

// The record of the constant that an argument reads, or NULL.
static packed_weight* weight_of(const packing* self,
                                const etx_ir_method* method,
                                const etx_ir_arg* arg) {
  const size_t index = etx_constant_behind(self->module, method, arg);
  return index < self->weight_count ? &self->weights[index] : NULL;
}

// ------------------------------------------------ readers of constants

static bool is_recurrent(const etx_ir_node* node) {
  const etx_op_id op = node->op->id;
  return op == ETX_OP_gru_sequence_out || op == ETX_OP_lstm_sequence_out ||
         op == ETX_OP_rnn_tanh_sequence_out ||
         op == ETX_OP_rnn_relu_sequence_out;
}

static size_t weight_argument(const etx_ir_node* node) {
  return is_recurrent(node) ? HIDDEN_WEIGHT : WEIGHT;
}

// True for layers, whether or not they have a packed form.
static bool is_layer(const etx_ir_node* node) {
  switch (node->op->id) {
    case ETX_OP_linear_out:
    case ETX_OP_linear_chain_out:
    case ETX_OP_linear_w8_out:
    case ETX_OP_linear_a8w8_out:
    case ETX_OP_linear_w4g_out:
    case ETX_OP_linear_a8w4g_out:
      return true;
    default:
      return etx_is_convolution(node) || is_recurrent(node);
  }
}

static bool is_embedding(const etx_ir_node* node) {
  return node->op->id == ETX_OP_embedding_out ||
         node->op->id == ETX_OP_embedding_byte_out;
}

// Why a linear or recurrent layer cannot read panels; NULL if it can.
static const char* obstacle_of(const etx_ir_method* method,
                               const etx_ir_node* node) {
  const etx_ir_arg* const weight = &node->args[weight_argument(node)];
  const etx_shape* const w = &method->values[weight->as.value].shape;
  if (node->op->id == ETX_OP_linear_a8w8_out) {
    if (method->values[node->args[SCALES].as.value].shape.rank != 1) {
      return "has scales for groups";
    }
    if (w->dims[1] < MIN_INT8_ROW || w->dims[1] > MAX_INT8_ROW ||
        w->dims[1] % COLUMN_BYTES != 0) {
      return "has rows shorter than 64 or longer than 32768, or not a multiple "
             "of "
             "4";
    }
  } else if (node->op->id != ETX_OP_linear_out &&
             node->op->id != ETX_OP_linear_chain_out && !is_recurrent(node)) {
    return "is read by an operator without a packed form";
  } else if (w->dtype != ETX_DTYPE_FLOAT32) {
    return "is not float32";
  }
  if (w->rank != 2) return "is not a matrix";
  if (w->dims[0] == 0 || w->dims[1] == 0) return "is empty";
  return w->dims[0] % COLUMNS == 0 || w->dtype == ETX_DTYPE_INT8
             ? NULL
             : "has a number of output columns that is not a multiple of 16";
}

// Upper bound of the number of rows that a layer multiplies, in one step if it
// is recurrent.
static uint64_t rows_of(const etx_ir_method* method, const etx_ir_node* node) {
  const etx_ir_arg* const rows_arg =
      &node->args[is_recurrent(node) ? HIDDEN : 0];
  const etx_shape* const shape = &method->values[rows_arg->as.value].shape;
  int64_t sizes[ETX_MAX_RANK];
  uint64_t rows = 1;
  if (!etx_ir_upper_sizes(method, shape, sizes)) return UINT64_MAX;
  for (size_t i = 0; i + 1 < shape->rank; ++i) {
    const uint64_t size = (uint64_t)sizes[i];
    rows = size != 0 && rows > UINT64_MAX / size ? UINT64_MAX : rows * size;
  }
  return rows;
}

// True if a recurrent layer has one row, and whole panels for each gate.
static bool is_recurrent_row(const etx_ir_method* method,
                             const etx_ir_node* node, uint64_t rows) {
  if (!is_recurrent(node) || rows != 1) return false;
  const etx_ir_arg* const weight = &node->args[HIDDEN_WEIGHT];
  const etx_shape* const w = &method->values[weight->as.value].shape;
  return w->rank == 2 && w->dims[1] % COLUMNS == 0;
}

// True if a layer multiplies so few rows that it reads the weight as it is.
static bool multiplies_few_rows(const etx_ir_method* method,
                                const etx_ir_node* node) {
  if (etx_is_convolution(node)) return false;
  const uint64_t rows = rows_of(method, node);
  return rows <= (node->op->id == ETX_OP_linear_a8w8_out ? FEW_INT8_ROWS
                                                         : FEW_ROWS) &&
         !is_recurrent_row(method, node, rows);
}

// All convolutions that read a weight must read the same panels. True if this
// one can.
static bool note_convolution(packed_weight* read, etx_packed_convolution form) {
  if (form.obstacle == NULL && read->panel_reads == 0) read->form = form;
  if (form.obstacle == NULL &&
      read->form.transposed_groups != form.transposed_groups) {
    form.obstacle = "is read by convolutions that need different panels";
  }
  if (read->obstacle == NULL) read->obstacle = form.obstacle;
  return form.obstacle == NULL;
}

// True if the layer can read panels and multiplies enough rows.
static bool note_layer(packed_weight* read, const etx_constant_user* reader) {
  const etx_ir_node* const node = reader->node;
  read->is_layer = true;
  if (etx_is_convolution(node)) {
    return note_convolution(read,
                            etx_packed_convolution_of(reader->method, node));
  }
  const char* const obstacle = obstacle_of(reader->method, node);
  if (read->obstacle == NULL) read->obstacle = obstacle;
  if (obstacle != NULL) return false;
  const bool has_few_rows = multiplies_few_rows(reader->method, node);
  read->has_few_rows = read->has_few_rows || has_few_rows;
  return !has_few_rows;
}

// Constant methods and initial values of states read a constant unpacked.
static void note_reader(void* context, size_t constant,
                        const etx_constant_user* reader) {
  const packing* const self = context;
  packed_weight* const read = &self->weights[constant];
  const etx_ir_node* const node = reader->node;
  if (node != NULL && is_embedding(node) && reader->position == 0) {
    read->table = reader->name;
  } else if (node == NULL || !is_layer(node) ||
             reader->position != weight_argument(node)) {
    read->reader = reader->name;
  } else if (note_layer(read, reader)) {
    ++read->panel_reads;
  } else {
    read->row_reader = reader->name;
  }
}

// A weight that is a part of another one is read as it is by the readers of the
// latter: packing it for all others would store it twice.
static void note_parts(const packing* self) {
  for (size_t i = 0; i < self->module->part_count; ++i) {
    const etx_ir_part* const part = &self->module->parts[i];
    const packed_weight* const whole = &self->weights[part->whole];
    packed_weight* const read = &self->weights[part->constant];
    if (whole->row_reader.size == 0) continue;
    read->has_few_rows = true;
    read->row_reader = whole->row_reader;
  }
}

// True if a layer of a packed weight reads its panels.
static bool reads_panels(const packed_weight* w, const etx_ir_method* method,
                         const etx_ir_node* node) {
  if (etx_is_convolution(node)) {
    const etx_packed_convolution form = etx_packed_convolution_of(method, node);
    return form.obstacle == NULL &&
           form.transposed_groups == w->form.transposed_groups;
  }
  return obstacle_of(method, node) == NULL &&
         !multiplies_few_rows(method, node);
}

// ------------------------------------------------ panels

// Writes panels: for each group of `side` bytes of a row (one float or four
// int8), those of 16 columns after each other; zeros for columns past the last
// one.
static void write_panels(const etx_ir_constant* from, size_t side,
                         uint8_t* to) {
  const size_t count = (size_t)from->sizes[0], row = from->data.size / count;
  const uint8_t* rows = from->data.data;
  for (size_t n = 0; n < count; n += COLUMNS) {
    const size_t left = count - n;
    for (size_t k = 0; k < row; k += side) {
      for (size_t c = 0; c < COLUMNS; ++c, to += side) {
        if (c < left) {
          memcpy(to, rows + c * row + k, side);
        } else {
          memset(to, 0, side);
        }
      }
    }
    rows += left < COLUMNS ? left * row : COLUMNS * row;
  }
}

static etx_status add_sums(const packing* self, packed_weight* w,
                           const etx_ir_constant* from) {
  const size_t rows = (size_t)from->sizes[0], inner = (size_t)from->sizes[1];
  const size_t bytes = rows * sizeof(int32_t);
  int32_t* const sums = etx_pool_take(self->module->pool, bytes);
  if (sums == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t n = 0; n < rows; ++n) {
    const int8_t* const row = (const int8_t*)from->data.data + n * inner;
    sums[n] = 0;
    for (size_t k = 0; k < inner; ++k) sums[n] += row[k];
  }
  const etx_ir_constant constant = {.dtype = ETX_DTYPE_INT32,
                                    .rank = 1,
                                    .sizes = {from->sizes[0]},
                                    .data = {(const uint8_t*)sums, bytes}};
  return etx_ir_add_constant(self->module, &constant, &w->sums);
}

// The bytes of the panels. Those of convolutions are full.
static size_t panel_bytes(const etx_ir_constant* from) {
  const size_t rows = (size_t)from->sizes[0];
  const size_t count = (rows + COLUMNS - 1) / COLUMNS;
  return from->rank > 2 ? from->data.size
                        : count * COLUMNS * (from->data.size / rows);
}

static etx_status pack(const packing* self, uint32_t index) {
  packed_weight* const w = &self->weights[index];
  const etx_ir_constant from = self->module->constants[index];
  const size_t count = ((size_t)from.sizes[0] + COLUMNS - 1) / COLUMNS;
  const size_t bytes = panel_bytes(&from);
  uint8_t* const data = etx_pages_take(self->module->pool, bytes);
  if (data == NULL) return ETX_OUT_OF_MEMORY;
  etx_ir_constant panels = {.dtype = from.dtype,
                            .rank = 3,
                            .sizes = {(int64_t)count, from.sizes[1], COLUMNS},
                            .data = {data, bytes}};
  w->is_packed = true;
  if (from.rank > 2) {
    etx_packed_convolution_write(&w->form, &from, &panels, data);
    return etx_ir_add_constant(self->module, &panels, &w->panels);
  }
  write_panels(&from, COLUMN_BYTES, data);
  if (from.dtype == ETX_DTYPE_INT8) {
    panels.rank = 4;
    panels.sizes[1] = from.sizes[1] / COLUMN_BYTES;
    panels.sizes[3] = COLUMN_BYTES;
    ETX_TRY(add_sums(self, w, &from));
  }
  etx_pages_rest(self->module->pool, from.data.data, from.data.size);
  return etx_ir_add_constant(self->module, &panels, &w->panels);
}

// ------------------------------------------------ which weights

// Why the weight is not packed for all of its layers; NULL if it is.
static const char* reason_of(const packed_weight* w) {
  if (w->obstacle != NULL) return w->obstacle;
  if (w->reader.size != 0) return "is also read unpacked by";
  return w->has_few_rows ? "is multiplied with few rows only" : NULL;
}

static bool is_wanted_twice(const packed_weight* w) {
  return w->is_layer && reason_of(w) != NULL && w->panel_reads > 0;
}

// Chooses the weights that are stored twice.
static etx_status choose_copies(packing* self) {
  const etx_ir_module* const module = self->module;
  self->copies = etx_pool_take(module->pool,
                               (self->weight_count + 1) * sizeof *self->copies);
  if (self->copies == NULL) return ETX_OUT_OF_MEMORY;
  for (uint32_t i = 0; i < self->weight_count; ++i) {
    const packed_weight* const w = &self->weights[i];
    const etx_ir_constant* const constant = &module->constants[i];
    if (!is_wanted_twice(w)) continue;
    etx_pack_copy* const copy = &self->copies[self->copy_count++];
    *copy = (etx_pack_copy){
        .constant = i, .reads = w->panel_reads, .bytes = panel_bytes(constant)};
    if (constant->dtype == ETX_DTYPE_INT8) {
      copy->bytes += (uint64_t)constant->sizes[0] * sizeof(int32_t);
    }
  }
  self->context->packed.copy_bytes = etx_pack_budget_choose(
      self->copies, self->copy_count, self->context->options->pack_budget);
  return ETX_OK;
}

static const etx_pack_copy* copy_of(const packing* self, uint32_t constant) {
  for (size_t i = 0; i < self->copy_count; ++i) {
    if (self->copies[i].constant == constant) return &self->copies[i];
  }
  return NULL;
}

static etx_status pack_if_possible(const packing* self, uint32_t index) {
  packed_weight* const w = &self->weights[index];
  const etx_ir_constant* const constant = &self->module->constants[index];
  const etx_pack_copy* const copy = copy_of(self, index);
  etx_text* names = NULL;
  size_t count = 0;
  if (!w->is_layer) return ETX_OK;
  ETX_TRY(etx_constant_names_find(&self->context->constant_names, self->module,
                                  index, &names, &count));
  etx_packed row = {.name = count == 0 ? etx_text_of("(computed)") : names[0],
                    .name_count = count,
                    .type = etx_dtype_name(constant->dtype),
                    .reason = reason_of(w),
                    .bytes = constant->data.size};
  if (copy != NULL && copy->is_taken) {
    row.reason = NULL;
    row.reader = w->row_reader.size != 0 ? w->row_reader : w->reader;
    row.copy_bytes = copy->bytes;
  } else if (copy != NULL && self->context->options->pack_budget > 0) {
    row.reason = "does not fit into the budget a second time, unpacked for";
    row.reader = w->row_reader.size != 0 ? w->row_reader : w->reader;
  } else if (row.reason == NULL) {
    row.reader = w->table;
  } else if (w->obstacle == NULL) {
    row.reader = w->reader;
  }
  if (row.reason == NULL) ETX_TRY(pack(self, index));
  etx_packed_report* const list = &self->context->packed;
  ETX_TRY(etx_pool_grow(self->module->pool, &list->items, list->count,
                        &list->capacity, sizeof *list->items));
  list->items[list->count++] = row;
  return ETX_OK;
}

// ------------------------------------------------ nodes

static etx_status change_node(const packing* self, etx_ir_method* method,
                              etx_ir_node* node) {
  enum { ARGS = 5 };
  uint32_t value = 0;
  const size_t weight = weight_argument(node);
  const packed_weight* const w = weight_of(self, method, &node->args[weight]);
  etx_ir_arg* const args = etx_pool_take(
      self->module->pool, ETX_PACKED_CONVOLUTION_ARGS * sizeof *args);
  if (args == NULL) return ETX_OUT_OF_MEMORY;
  ETX_TRY(etx_ir_constant_value(self->module, method, w->panels, &value));
  if (etx_is_convolution(node)) {
    const etx_packed_convolution form = etx_packed_convolution_of(method, node);
    etx_packed_convolution_change(&form, node, value, args);
    return ETX_OK;
  }
  args[3] = etx_ir_list(NULL, 0);
  args[4] = (etx_ir_arg){ETX_IR_ARG_STRING, {0}};
  args[4].as.string = etx_text_of("x");
  memcpy(args, node->args, node->arg_count * sizeof *args);
  args[weight] = etx_ir_value_arg(value);
  if (is_recurrent(node)) {
    node->args = args;
    return ETX_OK;
  }
  const bool is_bytes = node->op->id == ETX_OP_linear_a8w8_out;
  if (is_bytes) {
    ETX_TRY(etx_ir_constant_value(self->module, method, w->sums, &value));
    args[4] = args[3];
    args[3] = etx_ir_value_arg(value);
  }
  node->args = args;
  node->arg_count = ARGS;
  node->op = etx_op_at(is_bytes ? ETX_OP_linear_a8w8_panels_out
                                : ETX_OP_linear_panels_out);
  return ETX_OK;
}

static etx_status change_method(const packing* self, etx_ir_method* method) {
  bool is_changed = false;
  for (size_t i = 0; i < method->node_count; ++i) {
    etx_ir_node* const node = &method->nodes[i];
    if (!is_layer(node)) continue;
    const packed_weight* const w =
        weight_of(self, method, &node->args[weight_argument(node)]);
    if (w == NULL || !w->is_packed || !reads_panels(w, method, node)) continue;
    ETX_TRY(change_node(self, method, node));
    is_changed = true;
  }
  return is_changed ? etx_ir_renumber(self->module, method) : ETX_OK;
}

etx_status etx_pass_pack_weights(etx_pass_context* context) {
  etx_ir_module* const module = context->module;
  packing self = {.context = context,
                  .module = module,
                  .weight_count = module->constant_count};
  if (!context->options->pack_weights) return ETX_OK;
  if (context->options->target != ETX_TARGET_ETX) {
    return etx_diag_fail(context->diag, ETX_UNSUPPORTED,
                         "ExecuTorch has no operators over packed weights: "
                         "plan for target etx, or without 'pack'");
  }
  const size_t bytes = (self.weight_count + 1) * sizeof *self.weights;
  self.weights = etx_pool_take(module->pool, bytes);
  if (self.weights == NULL) return ETX_OUT_OF_MEMORY;
  memset(self.weights, 0, bytes);
  etx_constant_users_visit(module, note_reader, &self);
  note_parts(&self);
  ETX_TRY(choose_copies(&self));
  for (uint32_t i = 0; i < self.weight_count; ++i)
    ETX_TRY(pack_if_possible(&self, i));
  for (size_t i = 0; i < module->method_count; ++i) {
    ETX_TRY(change_method(&self, &module->methods[i]));
  }
  return ETX_OK;
}
