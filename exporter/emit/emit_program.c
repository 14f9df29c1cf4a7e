// Emits the plans of all methods and constant methods, then the blob, and
// writes the file.

#include "exporter/emit/emit_program.h"

#include "exporter/emit/emit_internal.h"
#include "exporter/host/paged_memory.h"
#include "exporter/ir/own_operators.h"
#include "format/base/size_limits.h"
#include "format/cache_table/cache_table.h"
#include "format/pte_writer/pte_writer.h"
#include "format/pte/reserved_names.h"

enum { BLOB_ALIGNMENT = 16, WORK_ALIGNMENT = 16, MIN_CONSTANT_ALIGNMENT = 16 };

// Methods in order of their names, as in stock files.
static etx_status order_methods(const etx_emit* emit, size_t** out_order) {
  const etx_ir_module* const module = emit->module;
  size_t* const order =
      etx_pool_take(emit->pool, module->method_count * sizeof *order);
  if (order == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < module->method_count; ++i) {
    size_t at = i;
    while (at > 0 && etx_text_compare(module->methods[order[at - 1]].name,
                                      module->methods[i].name) > 0) {
      order[at] = order[at - 1];
      --at;
    }
    order[at] = i;
  }
  *out_order = order;
  return ETX_OK;
}

static void set_scalar(const etx_ir_arg* arg, etx_pte_value* value) {
  switch (arg->kind) {
    case ETX_IR_ARG_INT:
      value->kind = ETX_PTE_INT;
      value->as.integer = arg->as.integer;
      break;
    case ETX_IR_ARG_DOUBLE:
      value->kind = ETX_PTE_DOUBLE;
      value->as.real = arg->as.real;
      break;
    case ETX_IR_ARG_BOOL:
      value->kind = ETX_PTE_BOOL;
      value->as.boolean = arg->as.boolean;
      break;
    case ETX_IR_ARG_STRING:
      value->kind = ETX_PTE_STRING;
      value->as.string = arg->as.string;
      break;
    case ETX_IR_ARG_DTYPE:
      value->kind = ETX_PTE_INT;
      value->as.integer = arg->as.dtype;
      break;
    default:
      value->kind = ETX_PTE_NULL;
      break;
  }
}

static etx_status constant_tensor(etx_emit* emit, uint32_t constant,
                                  etx_pte_value* value) {
  const etx_ir_constant* const from = &emit->module->constants[constant];
  int32_t* const sizes = etx_pool_take(emit->pool, from->rank * sizeof *sizes);
  uint8_t* const order = etx_pool_take(emit->pool, from->rank);
  if (sizes == NULL || order == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < from->rank; ++i) {
    if (from->sizes[i] > INT32_MAX) return ETX_OUT_OF_RANGE;
    sizes[i] = (int32_t)from->sizes[i];
    order[i] = (uint8_t)i;
  }
  value->kind = ETX_PTE_TENSOR;
  value->as.tensor = (etx_pte_tensor){.dtype = from->dtype,
                                      .rank = from->rank,
                                      .sizes = sizes,
                                      .dim_order = order};
  return etx_emit_constant(emit, constant, 0, from->data.size,
                           &value->as.tensor.data_buffer_index);
}

// The items of a list are an output each, as ExecuTorch's exporter writes them.
static etx_status constant_list(etx_emit* emit, const etx_ir_arg* list,
                                etx_pte_plan_content* plan) {
  const size_t count = list->as.list.count;
  etx_pte_value* const values =
      etx_pool_take(emit->pool, count * sizeof *values);
  int32_t* const outputs = etx_pool_take(emit->pool, count * sizeof *outputs);
  if (values == NULL || outputs == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < count; ++i) {
    set_scalar(&list->as.list.items[i], &values[i]);
    outputs[i] = (int32_t)i;
  }
  plan->values = values;
  plan->value_count = count;
  plan->outputs = outputs;
  plan->output_count = count;
  return etx_emit_output_tree(emit, count, &plan->output_tree);
}

static etx_status constant_item(etx_emit* emit,
                                const etx_ir_constant_method* method,
                                etx_pte_plan_content* plan) {
  static const int32_t outputs[1] = {0};
  etx_pte_value* const value = etx_pool_take(emit->pool, sizeof *value);
  if (value == NULL) return ETX_OUT_OF_MEMORY;
  if (method->constant != ETX_IR_NONE) {
    ETX_TRY(constant_tensor(emit, method->constant, value));
  } else {
    set_scalar(&method->arg, value);
  }
  plan->values = value;
  plan->value_count = 1;
  plan->outputs = outputs;
  plan->output_count = 1;
  return etx_emit_output_tree(emit, 1, &plan->output_tree);
}

// A constant method is a plan without inputs and instructions.
static etx_status emit_constant_method(etx_emit* emit,
                                       const etx_ir_constant_method* method,
                                       etx_pte_plan_content* plan) {
  static const int64_t buffer_sizes[1] = {0};
  static const etx_pte_chain chain = {NULL, 0};
  *plan = (etx_pte_plan_content){
      .name = method->name,
      .chains = &chain,
      .chain_count = 1,
      .buffer_sizes = buffer_sizes,
      .buffer_size_count = 1,
  };
  return method->arg.kind == ETX_IR_ARG_LIST
             ? constant_list(emit, &method->arg, plan)
             : constant_item(emit, method, plan);
}

static etx_status describe_state(etx_emit* emit, size_t position,
                                 etx_blob_state* state) {
  const etx_state_layout* const layout = emit->program->layout;
  const uint32_t index = layout->buffers[position];
  uint32_t initial = 0;
  ETX_TRY(etx_shared_state_initial(emit->module, index, &initial));
  const etx_ir_buffer* const buffer = &emit->module->buffers[index];
  const etx_ir_constant* const constant = &emit->module->constants[initial];
  int32_t* const sizes =
      etx_pool_take(emit->pool, buffer->rank * sizeof *sizes);
  if (sizes == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < buffer->rank; ++i) {
    sizes[i] = (int32_t)buffer->sizes[i];
  }
  *state = (etx_blob_state){
      .name = buffer->name,
      .dtype = buffer->dtype,
      .sizes = sizes,
      .rank = buffer->rank,
      .offset = layout->offsets[position],
      .is_uniform = constant->rank == 0,
  };
  return etx_emit_constant(emit, initial, 0, constant->data.size,
                           &state->data_buffer_index);
}

static bool find_described(const etx_blob_method* methods, size_t count,
                           etx_text name, uint32_t* out_index) {
  for (size_t i = 0; i < count; ++i) {
    if (!etx_text_equal(methods[i].name, name)) continue;
    *out_index = (uint32_t)i;
    return true;
  }
  return false;
}

// The pairs of concurrent methods, as indices of described methods.
static etx_status describe_concurrent(etx_emit* emit,
                                      etx_blob_content* content) {
  const etx_ir_module* const module = emit->module;
  etx_blob_pair* const pairs =
      etx_pool_take(emit->pool, module->concurrent_count * sizeof *pairs);
  if (pairs == NULL) return ETX_OUT_OF_MEMORY;
  content->concurrent = pairs;
  for (size_t i = 0; i < module->concurrent_count; ++i) {
    etx_blob_pair* const pair = &pairs[content->concurrent_count];
    if (find_described(content->methods, content->method_count,
                       module->concurrent[i].first, &pair->first) &&
        find_described(content->methods, content->method_count,
                       module->concurrent[i].second, &pair->second)) {
      ++content->concurrent_count;
    }
  }
  return ETX_OK;
}

static etx_status build_blob(etx_emit* emit, const etx_blob_method* methods,
                             size_t method_count, etx_bytes* out_blob) {
  const etx_emit_program* const program = emit->program;
  const size_t count = program->layout->count;
  etx_blob_state* const states =
      etx_pool_take(emit->pool, count * sizeof *states);
  if (states == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < count; ++i) {
    ETX_TRY(describe_state(emit, i, &states[i]));
  }
  etx_blob_content content = {
      .target = etx_text_of(
          program->target == ETX_TARGET_EXECUTORCH ? "executorch" : "etx"),
      .options = program->options,
      .methods = methods,
      .method_count = method_count,
      .states = states,
      .state_count = count,
      .state_bytes = program->layout->bytes,
  };
  memcpy(content.fingerprint, program->fingerprint, sizeof content.fingerprint);
  ETX_TRY(describe_concurrent(emit, &content));
  size_t bytes = 0;
  ETX_TRY(etx_blob_write_needed(&content, &bytes));
  const etx_bytes_mut work = {etx_pool_take(emit->pool, bytes), bytes};
  if (work.data == NULL) return ETX_OUT_OF_MEMORY;
  return etx_blob_write(&content, work, out_blob, emit->diag);
}

// The pieces of named data of a file.
typedef struct named_pieces {
  etx_pte_named_data items[5];
  size_t count;
} named_pieces;

static etx_bytes* add_piece(named_pieces* named, const char* key) {
  etx_pte_named_data* const piece = &named->items[named->count++];
  *piece = (etx_pte_named_data){.key = etx_text_of(key),
                                .alignment = BLOB_ALIGNMENT};
  return &piece->data;
}

static etx_status build_named(etx_emit* emit, const etx_blob_method* methods,
                              size_t method_count, named_pieces* named) {
  etx_bytes caches = {NULL, 0};
  etx_bytes memories = {NULL, 0};
  ETX_TRY(
      build_blob(emit, methods, method_count, add_piece(named, ETX_BLOB_KEY)));
  ETX_TRY(etx_emit_caches_build(emit, &caches));
  if (caches.size != 0) *add_piece(named, ETX_CACHE_TABLE_KEY) = caches;
  ETX_TRY(etx_emit_memories_build(emit, &memories));
  if (memories.size != 0) *add_piece(named, ETX_MEMORY_TABLE_KEY) = memories;
  etx_text own = {NULL, 0};
  ETX_TRY(etx_own_operators_text(emit->module, emit->pool, &own));
  if (own.size != 0) {
    *add_piece(named, ETX_OWN_OPERATORS_KEY) =
        (etx_bytes){(const uint8_t*)own.data, own.size};
  }
  if (emit->sources == NULL) return ETX_OK;
  return etx_emit_sources_build(emit, add_piece(named, ETX_SOURCE_MAP_KEY));
}

// Counts the bytes that are written to another sink.
typedef struct counting_sink {
  const etx_sink* target;
  const etx_pool* pool;  // whose pages rest when they are written
  uint64_t bytes;
} counting_sink;

static etx_status count_bytes(void* context, etx_bytes bytes) {
  counting_sink* const counting = context;
  counting->bytes += bytes.size;
  const etx_status status =
      etx_sink_write(counting->target, bytes.data, bytes.size);
  etx_pages_rest(counting->pool, bytes.data, bytes.size);
  return status;
}

static etx_status write_file(etx_emit* emit, const etx_pte_content* content,
                             const etx_sink* sink, uint64_t* out_bytes) {
  size_t bytes = 0;
  ETX_TRY(etx_pte_write_needed(content, &bytes));
  const etx_bytes_mut work = {etx_pool_take(emit->pool, bytes), bytes};
  if (work.data == NULL) return ETX_OUT_OF_MEMORY;
  counting_sink counting = {sink, emit->module->pool, 0};
  const etx_sink through = {count_bytes, &counting};
  ETX_TRY(etx_pte_write(content, work, &through, emit->diag));
  *out_bytes = counting.bytes;
  return ETX_OK;
}

static etx_status emit_plans(etx_emit* emit, etx_pte_plan_content* plans,
                             etx_blob_method* blobs, size_t* out_blob_count,
                             etx_emit_result* result) {
  const etx_ir_module* const module = emit->module;
  size_t* order = NULL;
  ETX_TRY(order_methods(emit, &order));
  result->instruction_counts = etx_pool_take(
      module->pool, module->method_count * sizeof *result->instruction_counts);
  result->peak_instructions = etx_pool_take(
      module->pool, module->method_count * sizeof *result->peak_instructions);
  if (result->instruction_counts == NULL || result->peak_instructions == NULL) {
    return ETX_OUT_OF_MEMORY;
  }
  size_t blob_count = 0;
  for (size_t i = 0; i < module->method_count; ++i) {
    ETX_TRY(etx_emit_plan(emit, order[i], &plans[i], &blobs[blob_count],
                          &result->peak_instructions[order[i]]));
    result->instruction_counts[order[i]] = plans[i].chains[0].instruction_count;
    if (!module->methods[order[i]].is_synthetic) ++blob_count;
  }
  for (size_t i = 0; i < module->constant_method_count; ++i) {
    ETX_TRY(emit_constant_method(emit, &module->constant_methods[i],
                                 &plans[module->method_count + i]));
  }
  *out_blob_count = blob_count;
  return ETX_OK;
}

static void count_constants(const etx_emit* emit, const uint32_t* hosts,
                            etx_emit_result* result) {
  result->constant_count = emit->constant_count - 1;
  result->constant_bytes = 0;
  for (size_t i = 1; i < emit->constant_count; ++i) {
    if (hosts[i] == 0) result->constant_bytes += emit->constants[i].size;
  }
}

static etx_status emit_program(etx_emit* emit, const etx_sink* sink,
                               etx_emit_result* out_result) {
  const etx_ir_module* const module = emit->module;
  const size_t plan_count =
      module->method_count + module->constant_method_count;
  etx_pte_plan_content* const plans =
      etx_pool_take(emit->pool, plan_count * sizeof *plans);
  etx_blob_method* const blobs =
      etx_pool_take(emit->pool, (module->method_count + 1) * sizeof *blobs);
  if (plans == NULL || blobs == NULL) return ETX_OUT_OF_MEMORY;
  ETX_TRY(etx_emit_constants_start(emit));
  ETX_TRY(etx_emit_sources_start(emit));

  etx_emit_result result = {0};
  size_t blob_count = 0;
  ETX_TRY(emit_plans(emit, plans, blobs, &blob_count, &result));
  named_pieces named = {0};
  ETX_TRY(build_named(emit, blobs, blob_count, &named));
  const uint32_t alignment = module->alignment < MIN_CONSTANT_ALIGNMENT
                                 ? MIN_CONSTANT_ALIGNMENT
                                 : (uint32_t)module->alignment;
  uint32_t* hosts = NULL;
  ETX_TRY(etx_emit_constants_join(emit, alignment, &hosts));
  const etx_pte_content content = {
      .plans = plans,
      .plan_count = plan_count,
      .constants = emit->constants,
      .constant_count = emit->constant_count,
      .constant_bases = hosts,
      .named_data = named.items,
      .named_data_count = named.count,
      .constant_alignment = alignment,
      .max_tables = emit->program->target == ETX_TARGET_EXECUTORCH
                        ? ETX_MAX_FB_TABLES
                        : 0,
  };
  ETX_TRY(write_file(emit, &content, sink, &result.file_bytes));
  count_constants(emit, hosts, &result);
  *out_result = result;
  return ETX_OK;
}

etx_status etx_emit_write(const etx_emit_program* program, const etx_sink* sink,
                          etx_emit_result* out_result, etx_diag* diag) {
  etx_pool work;  // the content of the file, which nothing needs later
  etx_pool_init(&work);
  etx_emit emit = {.program = program,
                   .module = program->module,
                   .pool = &work,
                   .diag = diag};
  const etx_status status = emit_program(&emit, sink, out_result);
  etx_pool_close(&work);
  return status;
}
