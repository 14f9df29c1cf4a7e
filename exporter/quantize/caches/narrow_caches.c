// Stores caches of keys and values in a narrower type than float32:
//
//   k = index_put(keys, [.., position], row);  attention(q, k, v)
//
//   f16, bf16:  k = index_put(keys, [.., position], cast(row))
//               attention(q, k, v)
//   int8:       values, factors = quantize_rows(row)
//               k = index_put(keys, [.., position], values)
//               f = index_put(keys_factors, [.., position], factors)
//               attention_scaled(q, k, v, .., f, ..)
//
// A cache is a state whose rows are only moved, written and read by attention,
// in all methods. The factors of int8 are a state of their own, with rows of
// one element: each node that moves rows has a twin that moves their factors.
// States that do anything else stay as they are, and the report says why.

#include "exporter/quantize/caches/cache_flow.h"
#include "exporter/rewrite/ir_rewrite.h"

enum { KEY = 1, VALUE = 2, CAP = 13, SCALED_ARGUMENTS = 16 };

typedef struct narrower {
  etx_pass_context* context;
  etx_ir_module* module;
  etx_dtype dtype;
  etx_cache_flow* flows;  // by method
  // By buffer:
  bool* is_cache;        // it may become narrower, as far as is known
  bool* is_read;         // attention reads it
  const char** reasons;  // why it does not
  etx_text* readers;     // the operator that the reason names, or empty
  uint32_t* factors;     // the state of its factors
} narrower;

// ------------------------------------------------ which states are caches

static void refuse(narrower* n, uint32_t buffer, const char* reason,
                   const etx_ir_node* node) {
  if (buffer == ETX_IR_NONE || !n->is_cache[buffer]) return;
  n->is_cache[buffer] = false;
  n->reasons[buffer] = reason;
  if (node != NULL) n->readers[buffer] = etx_text_of(node->op->name);
}

static bool is_zero(const etx_ir_module* module, const etx_ir_buffer* buffer) {
  if (buffer->initial == ETX_IR_NONE) return true;
  const etx_bytes bytes = module->constants[buffer->initial].data;
  for (size_t i = 0; i < bytes.size; ++i) {
    if (bytes.data[i] != 0) return false;
  }
  return true;
}

static void find_candidates(narrower* n) {
  for (uint32_t i = 0; i < n->module->buffer_count; ++i) {
    const etx_ir_buffer* const buffer = &n->module->buffers[i];
    n->is_cache[i] = buffer->is_state && buffer->dtype == ETX_DTYPE_FLOAT32 &&
                     buffer->rank >= 2 && buffer->sizes[buffer->rank - 1] > 0;
    if (n->is_cache[i] && !is_zero(n->module, buffer)) {
      refuse(n, i, "its initial value is not zero", NULL);
    }
  }
}

// Refuses all caches whose rows a node uses.
static void refuse_all(narrower* n, const etx_cache_flow* flow,
                       const etx_ir_node* node, const char* reason) {
  for (size_t i = 0; i < node->arg_count; ++i) {
    const etx_ir_arg* const arg = &node->args[i];
    refuse(n, etx_cache_flow_at(flow, arg), reason, node);
    for (size_t k = 0; arg->kind == ETX_IR_ARG_LIST && k < arg->as.list.count;
         ++k) {
      refuse(n, etx_cache_flow_at(flow, &arg->as.list.items[k]), reason, node);
    }
  }
}

// Keys and values must become narrower together.
static void check_attention(narrower* n, const etx_cache_flow* flow,
                            const etx_ir_node* node) {
  const uint32_t keys = etx_cache_flow_at(flow, &node->args[KEY]);
  const uint32_t values = etx_cache_flow_at(flow, &node->args[VALUE]);
  if (keys == ETX_IR_NONE || values == ETX_IR_NONE) {
    refuse_all(
        n, flow, node,
        "attention reads it beside keys or values that stay float32, in");
    return;
  }
  n->is_read[keys] = n->is_read[values] = true;
}

static void check_ends(narrower* n, const etx_cache_flow* flow) {
  const etx_ir_method* const method = flow->method;
  for (size_t i = 0; i < method->output_count; ++i) {
    refuse(n, etx_cache_flow_at(flow, &method->outputs[i].arg),
           "a method returns it", NULL);
  }
  for (size_t i = 0; i < method->mutation_count; ++i) {
    const etx_ir_mutation* const m = &method->mutations[i];
    const uint32_t from = flow->cache[m->value];
    if (from != ETX_IR_NONE && (m->is_input || m->target != from)) {
      refuse(n, from, "another state or an input gets its rows", NULL);
    }
    if (!m->is_input && from != m->target && from != ETX_IR_NONE) {
      refuse(n, m->target, "it gets rows of another state", NULL);
    }
  }
}

static void check_method(narrower* n, etx_cache_flow* flow) {
  etx_cache_flow_find(flow, n->is_cache);
  for (size_t i = 0; i < flow->method->node_count; ++i) {
    const etx_ir_node* const node = &flow->method->nodes[i];
    switch (etx_cache_step_of(flow, node).use) {
      case ETX_CACHE_ATTEND:
        check_attention(n, flow, node);
        break;
      case ETX_CACHE_OTHER:
        refuse_all(n, flow, node,
                   node->branch != 0
                       ? "a branch or a loop uses it, by"
                       : "it is not only written and attended to, but used by");
        break;
      default:
        break;
    }
  }
  check_ends(n, flow);
}

static size_t count_caches(const narrower* n) {
  size_t count = 0;
  for (size_t i = 0; i < n->module->buffer_count; ++i) count += n->is_cache[i];
  return count;
}

// A state that is refused may refuse those that are read beside it.
static void find_caches(narrower* n) {
  for (size_t before = SIZE_MAX; before != count_caches(n);) {
    before = count_caches(n);
    memset(n->is_read, 0, n->module->buffer_count * sizeof *n->is_read);
    for (size_t m = 0; m < n->module->method_count; ++m) {
      check_method(n, &n->flows[m]);
    }
    for (uint32_t i = 0; i < n->module->buffer_count; ++i) {
      if (!n->is_read[i]) refuse(n, i, "no fused attention reads it", NULL);
    }
  }
}

// ------------------------------------------------ report and states

static uint64_t numel(const etx_ir_buffer* buffer) {
  uint64_t count = 1;
  for (size_t i = 0; i < buffer->rank; ++i) count *= (uint64_t)buffer->sizes[i];
  return count;
}

static etx_status add_row(narrower* n, uint32_t index) {
  etx_quantized_report* const report = &n->context->caches;
  const etx_ir_buffer* const buffer = &n->module->buffers[index];
  const uint64_t count = numel(buffer);
  etx_quantized row = {.name = buffer->name,
                       .name_count = 1,
                       .type = etx_dtype_name(buffer->dtype),
                       .reason = n->reasons[index],
                       .reader = n->readers[index],
                       .bytes = count * etx_dtype_bytes(buffer->dtype)};
  row.bytes_after = row.bytes;
  if (n->is_cache[index]) {
    row.kind = etx_dtype_name(n->dtype);
    row.bytes_after = count * etx_dtype_bytes(n->dtype);
    if (n->dtype == ETX_DTYPE_INT8) {
      row.bytes_after +=
          count / (uint64_t)buffer->sizes[buffer->rank - 1] * sizeof(float);
    }
  }
  ETX_TRY(etx_pool_grow(n->module->pool, &report->items, report->count,
                        &report->capacity, sizeof row));
  report->items[report->count++] = row;
  return ETX_OK;
}

// Adds the state of the factors of a cache: its rows have one element.
static etx_status add_factors(narrower* n, uint32_t index) {
  etx_ir_buffer factors = n->module->buffers[index];
  factors.name = etx_pool_format(n->module->pool, "%t_factors", factors.name);
  if (factors.name.data == NULL) return ETX_OUT_OF_MEMORY;
  uint32_t taken = 0;
  if (etx_ir_find_buffer(n->module, factors.name, &taken)) {
    return etx_diag_fail(n->context->diag, ETX_UNSUPPORTED,
                         "there is a buffer '%t' already", factors.name);
  }
  factors.sizes[factors.rank - 1] = 1;
  factors.initial = ETX_IR_NONE;
  return etx_ir_add_buffer(n->module, &factors, &n->factors[index]);
}

static etx_status change_states(narrower* n, size_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    if (n->is_cache[i] || n->reasons[i] != NULL) ETX_TRY(add_row(n, i));
    if (!n->is_cache[i]) continue;
    if (n->dtype == ETX_DTYPE_INT8) ETX_TRY(add_factors(n, i));
    n->module->buffers[i].dtype = n->dtype;
    n->module->buffers[i].initial = ETX_IR_NONE;
  }
  return ETX_OK;
}

// ------------------------------------------------ rewriting

// New rows in the narrow type, by the value that they were.
typedef struct narrow_rows {
  uint32_t* values;   // ETX_IR_NONE: not yet rounded
  uint32_t* factors;  // of these; and of each value that has rows of a cache
} narrow_rows;

// What the rule knows of a method.
typedef struct narrow_facts {
  const narrower* n;
  const etx_cache_flow* flow;
  narrow_rows rows;
} narrow_facts;

// Rounds new rows: once, also if several states get them.
static etx_status round_rows(etx_builder* builder, const narrow_facts* facts,
                             uint32_t value) {
  const narrow_rows* const rows = &facts->rows;
  if (rows->values[value] != ETX_IR_NONE) return ETX_OK;
  if (facts->n->dtype != ETX_DTYPE_INT8) {
    return etx_build_cast(builder, value, facts->n->dtype,
                          &rows->values[value]);
  }
  const etx_ir_arg arg = etx_ir_value_arg(value);
  uint32_t outputs[2];
  ETX_TRY(etx_build_op_outputs(builder, ETX_OP_quantize_rows_out, &arg, 1, NULL,
                               outputs));
  rows->values[value] = outputs[0];
  rows->factors[value] = outputs[1];
  return ETX_OK;
}

// Replaces an argument by its narrow rows, or by their factors.
static void narrow_arg(const narrow_facts* facts, bool takes_factors,
                       etx_ir_arg* arg) {
  const bool is_cache = etx_cache_flow_at(facts->flow, arg) != ETX_IR_NONE;
  if (takes_factors) {
    arg->as.value = facts->rows.factors[arg->as.value];
  } else if (!is_cache) {
    arg->as.value = facts->rows.values[arg->as.value];
  }
}

static etx_status round_new_rows(etx_builder* builder,
                                 const narrow_facts* facts,
                                 const etx_ir_arg* arg) {
  if (etx_cache_flow_at(facts->flow, arg) != ETX_IR_NONE) return ETX_OK;
  return round_rows(builder, facts, arg->as.value);
}

// The sizes of a view or an expansion for the factors of its rows.
static etx_status factor_sizes(etx_builder* builder, const etx_ir_node* node,
                               int64_t width, etx_ir_arg* out) {
  etx_shape shape = *etx_builder_shape(builder, node->outputs[0]);
  shape.dims[shape.rank - 1] /= width;
  return etx_build_int_list(builder, shape.dims, shape.rank, out);
}

// Appends a node that does with narrow rows, or with their factors, what `node`
// does with rows.
static etx_status build_twin(etx_builder* builder, const narrow_facts* facts,
                             const etx_cache_step* step, bool takes_factors,
                             uint32_t* out_value) {
  const etx_ir_node* const node = builder->node;
  etx_ir_arg args[ETX_MAX_ARGUMENTS];
  memcpy(args, node->args, node->arg_count * sizeof *args);
  if (step->use == ETX_CACHE_JOIN) {
    const size_t count = args[0].as.list.count;
    etx_ir_arg* const items =
        etx_pool_take(builder->module->pool, count * sizeof *items);
    if (items == NULL) return ETX_OUT_OF_MEMORY;
    memcpy(items, args[0].as.list.items, count * sizeof *items);
    for (size_t i = 0; i < count; ++i) {
      narrow_arg(facts, takes_factors, &items[i]);
    }
    args[0].as.list.items = items;
  } else {
    narrow_arg(facts, takes_factors, &args[0]);
  }
  if (step->use == ETX_CACHE_WRITE) {
    narrow_arg(facts, takes_factors, &args[step->rows]);
  }
  if (takes_factors && (node->op->id == ETX_OP_view_copy_out ||
                        node->op->id == ETX_OP_expand_copy_out)) {
    ETX_TRY(factor_sizes(builder, node,
                         etx_cache_width(builder->module, step->cache),
                         &args[1]));
  }
  return etx_build_op(builder, node->op->id, args, node->arg_count, out_value);
}

// If `value` is the new content of a cache, its factors are that of their
// state.
static etx_status keep_factors(etx_builder* builder, const narrow_facts* facts,
                               uint32_t value) {
  etx_ir_method* const method = builder->method;
  const uint32_t cache = facts->flow->cache[value];
  const uint32_t index = etx_ir_mutation_of_buffer(method, cache);
  if (index == ETX_IR_NONE || method->mutations[index].value != value) {
    return ETX_OK;
  }
  etx_ir_mutation mutation = method->mutations[index];
  mutation.target = facts->n->factors[cache];
  mutation.value = facts->rows.factors[value];
  ETX_TRY(etx_pool_grow(builder->module->pool, &method->mutations,
                        method->mutation_count, &method->mutation_capacity,
                        sizeof mutation));
  method->mutations[method->mutation_count++] = mutation;
  return ETX_OK;
}

static etx_status narrow_move(etx_rewrite* rewrite, const narrow_facts* facts,
                              const etx_cache_step* step) {
  etx_builder* const builder = &rewrite->builder;
  const etx_ir_node* const node = builder->node;
  if (step->use == ETX_CACHE_WRITE) {
    ETX_TRY(round_new_rows(builder, facts, &node->args[step->rows]));
  }
  for (size_t i = 0;
       step->use == ETX_CACHE_JOIN && i < node->args[0].as.list.count; ++i) {
    ETX_TRY(round_new_rows(builder, facts, &node->args[0].as.list.items[i]));
  }
  ETX_TRY(build_twin(builder, facts, step, false, &builder->results[0]));
  if (facts->n->dtype != ETX_DTYPE_INT8) return ETX_OK;
  const uint32_t output = node->outputs[0];
  ETX_TRY(build_twin(builder, facts, step, true, &facts->rows.factors[output]));
  return keep_factors(builder, facts, output);
}

static etx_status narrow_attention(etx_rewrite* rewrite,
                                   const narrow_facts* facts) {
  etx_builder* const builder = &rewrite->builder;
  const etx_ir_node* const node = builder->node;
  etx_ir_arg args[SCALED_ARGUMENTS];
  memcpy(args, node->args, node->arg_count * sizeof *args);
  if (node->op->id == ETX_OP_attention_out) args[CAP] = etx_ir_double(0);
  for (size_t side = KEY; side <= VALUE; ++side) {
    args[CAP + side] = args[side];
    narrow_arg(facts, true, &args[CAP + side]);
  }
  return etx_build_op(builder, ETX_OP_attention_scaled_out, args,
                      SCALED_ARGUMENTS, &builder->results[0]);
}

static etx_status narrow_node(etx_rewrite* rewrite, bool* out_done) {
  const narrow_facts* const facts = rewrite->facts;
  const etx_cache_step step =
      etx_cache_step_of(facts->flow, rewrite->builder.node);
  switch (step.use) {
    case ETX_CACHE_MOVE:
    case ETX_CACHE_WRITE:
    case ETX_CACHE_JOIN:
      *out_done = true;
      return narrow_move(rewrite, facts, &step);
    case ETX_CACHE_ATTEND:
      if (facts->n->dtype != ETX_DTYPE_INT8) return ETX_OK;
      *out_done = true;
      return narrow_attention(rewrite, facts);
    default:
      return ETX_OK;
  }
}

// ------------------------------------------------ methods

// A cache that is written as a whole is written by a node, as if its rows were
// appended.
static etx_status copy_whole(narrower* n, etx_ir_method* method,
                             etx_ir_mutation* mutation) {
  uint32_t state = 0;
  ETX_TRY(etx_ir_buffer_value(n->module, method, mutation->target, &state));
  etx_builder builder = {.module = n->module,
                         .method = method,
                         .target = n->context->options->target,
                         .diag = n->context->diag,
                         .name = n->module->buffers[mutation->target].name};
  const etx_ir_node node = {.aten = etx_text_of("aten.copy.default"),
                            .place = mutation->place};
  builder.node = &node;
  return etx_build_binary(&builder, ETX_OP_copy_out, state, mutation->value,
                          &mutation->value);
}

static etx_status copy_wholes(narrower* n, etx_ir_method* method,
                              const etx_cache_flow* flow) {
  const size_t count = method->mutation_count;
  for (size_t i = 0; i < count; ++i) {
    etx_ir_mutation* const mutation = &method->mutations[i];
    if (mutation->is_input || !n->is_cache[mutation->target] ||
        flow->cache[mutation->value] != ETX_IR_NONE) {
      continue;
    }
    ETX_TRY(copy_whole(n, method, mutation));
  }
  return ETX_OK;
}

static uint32_t* take_values(const narrower* n, size_t count) {
  uint32_t* const values =
      etx_pool_take(n->module->pool, count * sizeof *values);
  for (size_t i = 0; values != NULL && i < count; ++i) values[i] = ETX_IR_NONE;
  return values;
}

static etx_status open_flow(const narrower* n, etx_cache_flow* flow,
                            const etx_ir_method* method) {
  *flow = (etx_cache_flow){.module = n->module,
                           .method = method,
                           .cache = take_values(n, method->value_count)};
  return flow->cache == NULL ? ETX_OUT_OF_MEMORY : ETX_OK;
}

static bool has_cache(const etx_cache_flow* flow) {
  for (size_t i = 0; i < flow->method->value_count; ++i) {
    if (flow->cache[i] != ETX_IR_NONE) return true;
  }
  return false;
}

// Values of caches get the narrow type, and those of their factors are added.
static etx_status start_values(const narrower* n, etx_ir_method* method,
                               const narrow_facts* facts, size_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t cache = facts->flow->cache[i];
    if (cache == ETX_IR_NONE) continue;
    method->values[i].shape.dtype = n->dtype;
    if (n->dtype != ETX_DTYPE_INT8 ||
        method->values[i].origin != ETX_IR_FROM_BUFFER) {
      continue;
    }
    ETX_TRY(etx_ir_buffer_value(n->module, method, n->factors[cache],
                                &facts->rows.factors[i]));
  }
  return ETX_OK;
}

static etx_status narrow_method(narrower* n, size_t index) {
  static const etx_rewrite_rule rules[] = {narrow_node};
  etx_ir_method* const method = &n->module->methods[index];
  etx_cache_flow flow;
  bool changed = false;
  ETX_TRY(copy_wholes(n, method, &n->flows[index]));
  ETX_TRY(open_flow(n, &flow, method));
  etx_cache_flow_find(&flow, n->is_cache);
  if (!has_cache(&flow)) return ETX_OK;
  const size_t count = method->value_count;
  const narrow_facts facts = {
      .n = n,
      .flow = &flow,
      .rows = {take_values(n, count), take_values(n, count)}};
  if (facts.rows.values == NULL || facts.rows.factors == NULL) {
    return ETX_OUT_OF_MEMORY;
  }
  ETX_TRY(start_values(n, method, &facts, count));
  return etx_rewrite_method_with(n->context, method, rules, 1, &facts,
                                 &changed);
}

static etx_status open_narrower(narrower* n) {
  etx_pool* const pool = n->module->pool;
  const size_t count = n->module->buffer_count;
  const size_t methods = n->module->method_count;
  n->is_cache = etx_pool_take(pool, count * sizeof *n->is_cache);
  n->is_read = etx_pool_take(pool, count * sizeof *n->is_read);
  n->reasons = etx_pool_take(pool, count * sizeof *n->reasons);
  n->readers = etx_pool_take(pool, count * sizeof *n->readers);
  n->factors = take_values(n, count);
  n->flows = etx_pool_take(pool, methods * sizeof *n->flows);
  if (n->is_cache == NULL || n->is_read == NULL || n->reasons == NULL ||
      n->readers == NULL || n->factors == NULL || n->flows == NULL) {
    return ETX_OUT_OF_MEMORY;
  }
  for (size_t i = 0; i < count; ++i) {
    n->reasons[i] = NULL;
    n->readers[i] = (etx_text){NULL, 0};
  }
  for (size_t i = 0; i < methods; ++i) {
    ETX_TRY(open_flow(n, &n->flows[i], &n->module->methods[i]));
  }
  return ETX_OK;
}

etx_status etx_pass_narrow_caches(etx_pass_context* context) {
  etx_ir_module* const module = context->module;
  narrower n = {
      .context = context, .module = module, .dtype = module->cache_type};
  if (n.dtype == ETX_DTYPE_FLOAT32 || module->buffer_count == 0) return ETX_OK;
  if (context->options->target != ETX_TARGET_ETX) {
    const etx_source_location nowhere = {.line = 0};
    etx_problem(context->problems, &nowhere,
                "caches cannot be stored as %s: it needs the target etx",
                etx_dtype_name(n.dtype));
    return ETX_OK;
  }
  const size_t count = module->buffer_count;
  ETX_TRY(open_narrower(&n));
  find_candidates(&n);
  find_caches(&n);
  ETX_TRY(change_states(&n, count));
  for (size_t i = 0; i < module->method_count; ++i) {
    ETX_TRY(narrow_method(&n, i));
  }
  return ETX_OK;
}
