#include "exporter/chain_words.h"

#include "exporter/ir_edit.h"

// ------------------------------------------------ nodes that are steps

// Rows that compute their step for one operator each; gelu and clamp have
// arguments that decide.
static const struct {
  etx_op_id op;
  uint8_t step;
} rows[] = {
#define ONE(name, operator) {ETX_OP_##operator, ETX_STEP_##name},
#define TWO(name, operator) {ETX_OP_##operator, ETX_STEP_##name},
#include "format/ops/steps.def"
#undef ONE
#undef TWO
};

static bool is_number(const etx_ir_arg* arg, double wanted) {
  if (arg->kind == ETX_IR_ARG_INT) return (double)arg->as.integer == wanted;
  return arg->kind == ETX_IR_ARG_DOUBLE && arg->as.real == wanted;
}

// The step that a node computes; false if there is none.
static bool step_of(const etx_ir_node* node, uint8_t* out_step) {
  const etx_op_id op = node->op->id;
  if (op == ETX_OP_hardtanh_out || op == ETX_OP_clamp_out) {
    *out_step = ETX_STEP_relu6;
    return is_number(&node->args[1], 0) && is_number(&node->args[2], 6);
  }
  if (op == ETX_OP_gelu_out) {
    const etx_text approximate = node->args[1].as.string;
    *out_step =
        etx_text_is(approximate, "tanh") ? ETX_STEP_gelu_tanh : ETX_STEP_gelu;
    return true;
  }
  if ((op == ETX_OP_add_out || op == ETX_OP_sub_out) &&
      !is_number(&node->args[2], 1)) {
    return false;
  }
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    *out_step = rows[i].step;
    if (rows[i].op == op) return true;
  }
  return false;
}

// ------------------------------------------------ operands

bool etx_chain_is_full(const etx_rewrite* rewrite, const etx_ir_node* node,
                       uint32_t value) {
  const etx_shape* const own = etx_lower_shape(&rewrite->lower, value);
  const etx_shape* const result =
      etx_lower_shape(&rewrite->lower, node->outputs[0]);
  return own->dtype == result->dtype && own->rank == result->rank &&
         etx_lower_same_dims(&rewrite->lower, own->dims, result->dims,
                             own->rank);
}

// One element, or one row along the dimension that `behind` others follow.
static bool is_repeated(const etx_rewrite* rewrite, const etx_shape* result,
                        size_t behind, uint32_t value) {
  const etx_shape* const own = etx_lower_shape(&rewrite->lower, value);
  for (size_t i = 0; i < own->rank; ++i) {
    const size_t own_behind = own->rank - 1 - i;
    if (own->dims[i] == 1) continue;
    if (own_behind != behind || result->rank <= behind ||
        !etx_symbols_equal(&rewrite->lower.method->symbols, own->dims[i],
                           result->dims[result->rank - 1 - behind])) {
      return false;
    }
  }
  return true;
}

static bool is_operand(const etx_rewrite* rewrite, const etx_ir_node* node,
                       size_t behind, const etx_ir_arg* arg) {
  const etx_shape* const result =
      etx_lower_shape(&rewrite->lower, node->outputs[0]);
  return arg->kind == ETX_IR_ARG_VALUE &&
         etx_rewrite_shape(rewrite, arg)->dtype == ETX_DTYPE_FLOAT32 &&
         (etx_chain_is_full(rewrite, node, arg->as.value) ||
          is_repeated(rewrite, result, behind, arg->as.value));
}

static void put(etx_chain_words* words, uint8_t step, uint32_t value) {
  words->items[words->count++] = (etx_chain_word){step, value};
}

// A chain in the graph was made here, so it is right.
static void read_chain(const etx_ir_node* node, etx_chain_words* out) {
  const etx_ir_arg* const others = &node->args[1];
  uint8_t steps[ETX_STEPS_MAX];
  size_t count = 0;
  if (!etx_steps_read(node->args[2].as.string, others->as.list.count, steps,
                      &count)) {
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    if (steps[i] < ETX_STEP_X) {
      put(out, ETX_STEP_X, others->as.list.items[steps[i]].as.value);
    } else {
      put(out, steps[i], node->args[0].as.value);
    }
  }
}

// x x, or x x x, as the operator multiplies them.
static bool read_power(const etx_rewrite* rewrite, const etx_ir_node* node,
                       size_t behind, etx_chain_words* out) {
  const bool is_cube = is_number(&node->args[1], 3);
  if ((!is_cube && !is_number(&node->args[1], 2)) ||
      !is_operand(rewrite, node, behind, &node->args[0])) {
    return false;
  }
  const uint32_t value = node->args[0].as.value;
  put(out, ETX_STEP_X, value);
  for (size_t i = is_cube ? 2 : 1; i > 0; --i) {
    put(out, ETX_STEP_X, value);
    put(out, ETX_STEP_multiply, ETX_IR_NONE);
  }
  return true;
}

bool etx_chain_words_read(const etx_rewrite* rewrite, const etx_ir_node* node,
                          etx_chain_words* out_words) {
  return etx_chain_words_read_rows(rewrite, node, 0, out_words);
}

bool etx_chain_words_read_rows(const etx_rewrite* rewrite,
                               const etx_ir_node* node, size_t behind,
                               etx_chain_words* out_words) {
  uint8_t step = 0;
  out_words->count = 0;
  if (node->op->id == ETX_OP_chain_out) {
    read_chain(node, out_words);
    return out_words->count != 0;
  }
  if (etx_lower_shape(&rewrite->lower, node->outputs[0])->dtype !=
      ETX_DTYPE_FLOAT32) {
    return false;
  }
  if (node->op->id == ETX_OP_pow_tensor_scalar_out) {
    return read_power(rewrite, node, behind, out_words);
  }
  if (!step_of(node, &step)) return false;
  for (size_t i = 0; i < etx_step_takes(step); ++i) {
    if (!is_operand(rewrite, node, behind, &node->args[i])) return false;
    put(out_words, ETX_STEP_X, node->args[i].as.value);
  }
  put(out_words, step, ETX_IR_NONE);
  return true;
}

// ------------------------------------------------ putting together

static bool is_too_deep(const etx_chain_words* words) {
  size_t depth = 0;
  for (size_t i = 0; i < words->count; ++i) {
    depth += 1 - etx_step_takes(words->items[i].step);
    if (depth > ETX_STEPS_MAX_DEPTH) return true;
  }
  return false;
}

bool etx_chain_words_inline(etx_chain_words* words, uint32_t value,
                            const etx_chain_words* inner) {
  etx_chain_words all = {.count = 0};
  for (size_t i = 0; i < words->count; ++i) {
    const etx_chain_word word = words->items[i];
    const bool is_it = word.step == ETX_STEP_X && word.value == value;
    const size_t added = is_it ? inner->count : 1;
    if (all.count + added > ETX_STEPS_MAX) return false;
    memcpy(&all.items[all.count], is_it ? inner->items : &words->items[i],
           added * sizeof word);
    all.count += added;
  }
  if (is_too_deep(&all)) return false;
  *words = all;
  return true;
}

// Position of `value` among those listed, or the end.
static size_t listed_at(const uint32_t* listed, size_t count, uint32_t value) {
  size_t at = 0;
  while (at < count && listed[at] != value) ++at;
  return at;
}

etx_status etx_chain_words_args(etx_lower* lower, const etx_chain_words* words,
                                uint32_t self, etx_ir_arg* out_others,
                                etx_ir_arg* out_steps, bool* out_fits) {
  etx_pool* const pool = lower->module->pool;
  uint32_t listed[ETX_STEPS_MAX_OTHERS];
  size_t count = 0;
  etx_text text = {"", 0};
  *out_fits = false;
  for (size_t i = 0; i < words->count; ++i) {
    const etx_chain_word word = words->items[i];
    const char* const space = i == 0 ? "" : " ";
    if (word.step != ETX_STEP_X) {
      text = etx_pool_format(pool, "%t%s%s", text, space,
                             etx_step_name(word.step));
    } else if (word.value == self) {
      text = etx_pool_format(pool, "%t%sx", text, space);
    } else {
      const size_t at = listed_at(listed, count, word.value);
      if (at == ETX_STEPS_MAX_OTHERS) return ETX_OK;
      listed[at] = word.value;
      if (at == count) ++count;
      text = etx_pool_format(pool, "%t%s%z", text, space, at);
    }
    if (text.data == NULL) return ETX_OUT_OF_MEMORY;
  }
  etx_ir_arg* const items = etx_pool_take(pool, (count + 1) * sizeof *items);
  if (items == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < count; ++i) items[i] = etx_ir_value_arg(listed[i]);
  *out_others = etx_ir_list(items, count);
  *out_steps = (etx_ir_arg){ETX_IR_ARG_STRING, {0}};
  out_steps->as.string = text;
  *out_fits = true;
  return ETX_OK;
}

// ------------------------------------------------ layers in front

static const etx_ir_node* read_node(const etx_rewrite* rewrite,
                                    const etx_chain_word* word, etx_op_id op) {
  if (word->step != ETX_STEP_X) return NULL;
  const etx_ir_node* const node =
      etx_ir_definition(rewrite->lower.method, word->value);
  return node != NULL && node->op->id == op ? node : NULL;
}

const etx_ir_node* etx_chain_words_layer(const etx_rewrite* rewrite,
                                         const etx_chain_words* words,
                                         etx_op_id op) {
  const etx_ir_node* found = NULL;
  for (size_t i = 0; i < words->count; ++i) {
    const etx_ir_node* const node = read_node(rewrite, &words->items[i], op);
    if (node == NULL ||
        !etx_rewrite_is_only_use(rewrite, words->items[i].value) ||
        !etx_chain_is_full(rewrite, rewrite->lower.node,
                           words->items[i].value)) {
      continue;
    }
    if (found == NULL || node > found) found = node;
  }
  return found;
}

etx_status etx_chain_words_missed(const etx_rewrite* rewrite,
                                  const etx_chain_words* words, etx_op_id op,
                                  const char* kind) {
  for (size_t i = 0; i < words->count; ++i) {
    if (read_node(rewrite, &words->items[i], op) != NULL) {
      return etx_fusion_missed(rewrite->fusions, &rewrite->lower, kind,
                               "what it gives is read by others too");
    }
  }
  return ETX_OK;
}
