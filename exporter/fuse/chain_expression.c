#include "exporter/fuse/chain_expression.h"

#include "exporter/ir/ir_edit.h"

// ------------------------------------------------ building

// Number of operands that a token pops; 0 for values and numbers.
static size_t token_arity(const etx_chain_token* token) {
  return token->step == ETX_CHAIN_NUMBER ? 0
                                         : etx_chain_step_operands(token->step);
}

static bool is_too_deep(const etx_chain_expression* chain) {
  size_t depth = 0;
  for (size_t i = 0; i < chain->count; ++i) {
    depth += 1 - token_arity(&chain->items[i]);
    if (depth > ETX_CHAIN_MAX_DEPTH) return true;
  }
  return false;
}

bool etx_chain_expression_inline(etx_chain_expression* chain, uint32_t value,
                                 const etx_chain_expression* inner) {
  etx_chain_expression all = {.count = 0};
  for (size_t i = 0; i < chain->count; ++i) {
    const etx_chain_token token = chain->items[i];
    const bool is_read = token.step == ETX_STEP_X && token.value == value;
    const size_t added = is_read ? inner->count : 1;
    if (all.count + added > ETX_CHAIN_STEPS_MAX) return false;
    memcpy(&all.items[all.count], is_read ? inner->items : &chain->items[i],
           added * sizeof token);
    all.count += added;
  }
  if (is_too_deep(&all)) return false;
  *chain = all;
  return true;
}

// Position of `value` in the list, or `count`.
static size_t listed_at(const uint32_t* listed, size_t count, uint32_t value) {
  size_t at = 0;
  while (at < count && listed[at] != value) ++at;
  return at;
}

// Replaces numbers by 0-d tensors, one for equal numbers.
static etx_status make_numbers(etx_builder* builder,
                               etx_chain_expression* chain) {
  for (size_t i = 0; i < chain->count; ++i) {
    etx_chain_token* const token = &chain->items[i];
    if (token->step != ETX_CHAIN_NUMBER) continue;
    const etx_ir_arg number = etx_ir_double((double)token->number);
    const etx_chain_token made = *token;
    uint32_t value = 0;
    ETX_TRY(etx_build_scalar(builder, &number, ETX_DTYPE_FLOAT32, &value));
    for (size_t j = i; j < chain->count; ++j) {
      if (chain->items[j].step == ETX_CHAIN_NUMBER &&
          memcmp(&chain->items[j].number, &made.number, sizeof(float)) == 0) {
        chain->items[j] = (etx_chain_token){ETX_STEP_X, value, 0};
      }
    }
  }
  return ETX_OK;
}

// Of the longest word of a chain and the space before it.
enum { WORD_BYTES = 32 };

etx_status etx_chain_expression_args(etx_builder* builder,
                                     const etx_chain_expression* given,
                                     uint32_t self, etx_ir_arg* out_others,
                                     etx_ir_arg* out_steps, bool* out_fits) {
  etx_pool* const pool = builder->module->pool;
  etx_chain_expression numbered = *given;
  const etx_chain_expression* const chain = &numbered;
  uint32_t listed[ETX_CHAIN_MAX_OTHERS];
  size_t count = 0;
  char text[ETX_CHAIN_STEPS_MAX * WORD_BYTES];
  size_t size = 0;
  *out_fits = false;
  ETX_TRY(make_numbers(builder, &numbered));
  for (size_t i = 0; i < chain->count; ++i) {
    const etx_chain_token token = chain->items[i];
    const char* const space = i == 0 ? "" : " ";
    char* const end = text + size;
    const size_t room = sizeof text - size;
    if (token.step != ETX_STEP_X) {
      size += etx_format_text(end, room, "%s%s", space,
                              etx_chain_step_name(token.step));
    } else if (token.value == self) {
      size += etx_format_text(end, room, "%sx", space);
    } else {
      const size_t at = listed_at(listed, count, token.value);
      if (at == ETX_CHAIN_MAX_OTHERS) return ETX_OK;
      listed[at] = token.value;
      if (at == count) ++count;
      size += etx_format_text(end, room, "%s%z", space, at);
    }
  }
  etx_ir_arg* const items = etx_pool_take(pool, (count + 1) * sizeof *items);
  if (items == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < count; ++i) items[i] = etx_ir_value_arg(listed[i]);
  *out_others = etx_ir_list(items, count);
  *out_steps = (etx_ir_arg){ETX_IR_ARG_STRING, {0}};
  out_steps->as.string = etx_pool_copy_text(pool, (etx_text){text, size});
  if (out_steps->as.string.data == NULL) return ETX_OUT_OF_MEMORY;
  *out_fits = true;
  return ETX_OK;
}

// ------------------------------------------------ producers

static const etx_ir_node* read_node(const etx_rewrite* rewrite,
                                    const etx_chain_token* token,
                                    etx_op_id op) {
  if (token->step != ETX_STEP_X) return NULL;
  const etx_ir_node* const node =
      etx_ir_definition(rewrite->builder.method, token->value);
  return node != NULL && node->op->id == op ? node : NULL;
}

const etx_ir_node* etx_chain_expression_producer(
    const etx_rewrite* rewrite, const etx_chain_expression* chain,
    etx_op_id op) {
  const etx_ir_node* found = NULL;
  for (size_t i = 0; i < chain->count; ++i) {
    const etx_ir_node* const node = read_node(rewrite, &chain->items[i], op);
    if (node == NULL ||
        !etx_rewrite_is_only_use(rewrite, chain->items[i].value) ||
        !etx_chain_is_full(rewrite, rewrite->builder.node,
                           chain->items[i].value)) {
      continue;
    }
    if (found == NULL || node > found) found = node;
  }
  return found;
}

etx_status etx_chain_expression_missed(const etx_rewrite* rewrite,
                                       const etx_chain_expression* chain,
                                       etx_op_id op, const char* kind) {
  for (size_t i = 0; i < chain->count; ++i) {
    if (read_node(rewrite, &chain->items[i], op) != NULL) {
      return etx_fusion_report_missed(rewrite->fusions, &rewrite->builder, kind,
                                      "the result of the layer has other uses");
    }
  }
  return ETX_OK;
}

bool etx_chain_is_full(const etx_rewrite* rewrite, const etx_ir_node* node,
                       uint32_t value) {
  const etx_shape* const own = etx_builder_shape(&rewrite->builder, value);
  const etx_shape* const result =
      etx_builder_shape(&rewrite->builder, node->outputs[0]);
  return own->dtype == result->dtype && own->rank == result->rank &&
         etx_builder_same_dims(&rewrite->builder, own->dims, result->dims,
                               own->rank);
}
