#define _POSIX_C_SOURCE 200112L  // posix_memalign

#include "tests/format/sample_program.h"

#include <stdio.h>
#include <stdlib.h>

#include "format/base/arena.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define TEXT(literal) \
  { literal, sizeof literal - 1 }

static const int32_t sizes_2_3[] = {2, 3};
static const uint8_t order_0_1[] = {0, 1};
static const uint8_t order_1_0[] = {1, 0};
static const int32_t sizes_2[] = {2};
static const int32_t sizes_0[] = {0};
static const uint8_t order_0[] = {0};
static const int64_t int_items[] = {SAMPLE_INT, SAMPLE_INT, SAMPLE_INT};
static const double double_items[] = {0.5, -1.25};
static const uint8_t bool_items[] = {1, 0, 1};
static const int32_t tensor_items[] = {SAMPLE_INPUT, SAMPLE_CONSTANT};
static const int32_t optional_items[] = {SAMPLE_STATE, -1, SAMPLE_NULL};

static const etx_pte_value forward_values[SAMPLE_VALUE_COUNT] = {
    [SAMPLE_NULL] = {.kind = ETX_PTE_NULL},
    [SAMPLE_INT] = {.kind = ETX_PTE_INT, .as.integer = -7000000000},
    [SAMPLE_BOOL] = {.kind = ETX_PTE_BOOL, .as.boolean = true},
    [SAMPLE_DOUBLE] = {.kind = ETX_PTE_DOUBLE, .as.real = 2.5},
    [SAMPLE_STRING] = {.kind = ETX_PTE_STRING, .as.string = TEXT("none")},
    [SAMPLE_INPUT] = {.kind = ETX_PTE_TENSOR,
                      .as.tensor = {.dtype = ETX_DTYPE_FLOAT32,
                                    .rank = 2,
                                    .sizes = sizes_2_3,
                                    .dim_order = order_0_1,
                                    .dynamism = ETX_PTE_DYNAMIC_BOUND,
                                    .has_allocation = true,
                                    .memory_id = 1,
                                    .memory_offset = 32}},
    [SAMPLE_CONSTANT] = {.kind = ETX_PTE_TENSOR,
                         .as.tensor = {.dtype = ETX_DTYPE_FLOAT32,
                                       .rank = 2,
                                       .sizes = sizes_2_3,
                                       .dim_order = order_0_1,
                                       .data_buffer_index = 1}},
    [SAMPLE_STATE] = {.kind = ETX_PTE_TENSOR,
                      .as.tensor = {.dtype = ETX_DTYPE_INT64,
                                    .rank = 1,
                                    .sizes = sizes_2,
                                    .dim_order = order_0,
                                    .has_allocation = true,
                                    .memory_id = 2,
                                    .memory_offset = 16,
                                    .name = TEXT("layer.cache")}},
    [SAMPLE_TRAINED] = {.kind = ETX_PTE_TENSOR,
                        .as.tensor = {.dtype = ETX_DTYPE_FLOAT32,
                                      .sizes = sizes_0,
                                      .dim_order = order_0,
                                      .data_buffer_index = 1,
                                      .has_allocation = true,
                                      .memory_id = 1,
                                      .memory_offset = 64}},
    [SAMPLE_EXTERNAL] = {.kind = ETX_PTE_TENSOR,
                         .as.tensor = {.dtype = ETX_DTYPE_UINT8,
                                       .rank = 1,
                                       .sizes = sizes_0,
                                       .dim_order = order_0,
                                       .location = ETX_PTE_EXTERNAL,
                                       .name = TEXT("elsewhere"),
                                       .device_type = 1,
                                       .device_index = 2}},
    [SAMPLE_TURNED] = {.kind = ETX_PTE_TENSOR,
                       .as.tensor = {.dtype = ETX_DTYPE_FLOAT32,
                                     .rank = 2,
                                     .sizes = sizes_2_3,
                                     .dim_order = order_1_0}},
    [SAMPLE_INT_LIST] = {.kind = ETX_PTE_INT_LIST,
                         .as.integers = {int_items, COUNT(int_items)}},
    [SAMPLE_DOUBLE_LIST] = {.kind = ETX_PTE_DOUBLE_LIST,
                            .as.reals = {double_items, COUNT(double_items)}},
    [SAMPLE_BOOL_LIST] = {.kind = ETX_PTE_BOOL_LIST,
                          .as.booleans = {bool_items, COUNT(bool_items)}},
    [SAMPLE_TENSOR_LIST] = {.kind = ETX_PTE_TENSOR_LIST,
                            .as.tensors = {tensor_items, COUNT(tensor_items)}},
    [SAMPLE_OPTIONAL_LIST] = {.kind = ETX_PTE_OPTIONAL_TENSOR_LIST,
                              .as.tensors = {optional_items,
                                             COUNT(optional_items)}},
};

static const int32_t add_arguments[] = {SAMPLE_INPUT, SAMPLE_CONSTANT,
                                        SAMPLE_INT, SAMPLE_INPUT, SAMPLE_INPUT};
static const int32_t delegate_arguments[] = {SAMPLE_INPUT, SAMPLE_STATE};
static const etx_pte_instruction first_chain[] = {
    {.kind = ETX_PTE_KERNEL_CALL,
     .index = 1,
     .arguments = add_arguments,
     .argument_count = COUNT(add_arguments)},
    {.kind = ETX_PTE_JUMP_FALSE_CALL, .index = SAMPLE_BOOL, .target = 4},
    {.kind = ETX_PTE_MOVE_CALL, .index = SAMPLE_INPUT, .target = SAMPLE_TURNED},
    {.kind = ETX_PTE_FREE_CALL, .index = SAMPLE_TURNED},
};
static const etx_pte_instruction second_chain[] = {
    {.kind = ETX_PTE_DELEGATE_CALL,
     .index = 0,
     .arguments = delegate_arguments,
     .argument_count = COUNT(delegate_arguments)},
};
static const etx_pte_chain forward_chains[] = {
    {first_chain, COUNT(first_chain)}, {second_chain, COUNT(second_chain)}};
static const etx_pte_operator forward_operators[] = {
    {TEXT("aten::copy_"), {NULL, 0}}, {TEXT("aten::add"), TEXT("out")}};
static const int32_t forward_inputs[] = {SAMPLE_INPUT, SAMPLE_INT};
static const int32_t forward_outputs[] = {SAMPLE_STATE, SAMPLE_INPUT};
static const int64_t forward_arenas[] = {0, 96, 32, 64};
static const uint8_t spec_value[] = {4, 0, 9};
static const etx_pte_compile_spec specs[] = {
    {TEXT("max_value"), {spec_value, COUNT(spec_value)}}};
static const etx_pte_delegate_content delegates[] = {
    {TEXT("SomeBackend"), 0, specs, COUNT(specs)}};
static const etx_pte_buffer_device devices[] = {{3, 1, 0}};

static const etx_pte_value second_values[] = {
    {.kind = ETX_PTE_TENSOR,
     .as.tensor = {.dtype = ETX_DTYPE_INT64,
                   .rank = 1,
                   .sizes = sizes_2,
                   .dim_order = order_0,
                   .has_allocation = true,
                   .memory_id = 2,
                   .memory_offset = 16,
                   .name = TEXT("layer.cache")}},
};
static const etx_pte_chain empty_chain[] = {{NULL, 0}};
static const int32_t only_value[] = {0};
static const int64_t second_arenas[] = {0, 0, 32};

static const etx_pte_value answer_values[] = {
    {.kind = ETX_PTE_INT, .as.integer = 42}};
static const int64_t answer_arenas[] = {0};

static const etx_pte_plan_content plans[] = {
    {.name = TEXT("forward"),
     .input_tree = TEXT("T2($,$)"),
     .output_tree = TEXT("$"),
     .values = forward_values,
     .value_count = COUNT(forward_values),
     .inputs = forward_inputs,
     .input_count = COUNT(forward_inputs),
     .outputs = forward_outputs,
     .output_count = COUNT(forward_outputs),
     .chains = forward_chains,
     .chain_count = COUNT(forward_chains),
     .operators = forward_operators,
     .operator_count = COUNT(forward_operators),
     .buffer_sizes = forward_arenas,
     .buffer_size_count = COUNT(forward_arenas),
     .delegates = delegates,
     .delegate_count = COUNT(delegates),
     .buffer_devices = devices,
     .buffer_device_count = COUNT(devices)},
    {.name = TEXT("second"),
     .values = second_values,
     .value_count = COUNT(second_values),
     .outputs = only_value,
     .output_count = COUNT(only_value),
     .chains = empty_chain,
     .chain_count = COUNT(empty_chain),
     .buffer_sizes = second_arenas,
     .buffer_size_count = COUNT(second_arenas)},
    {.name = TEXT("answer"),
     .values = answer_values,
     .value_count = COUNT(answer_values),
     .outputs = only_value,
     .output_count = COUNT(only_value),
     .chains = empty_chain,
     .chain_count = COUNT(empty_chain),
     .buffer_sizes = answer_arenas,
     .buffer_size_count = COUNT(answer_arenas)},
};

static const float constant_1[] = {1, 2, 3, 4, 5, 6};
static const int64_t constant_2[] = {5, -5};
static const float initial_1[] = {0.5f};
static const uint8_t delegate_blob[] = {1, 2, 3, 4, 5};
static const etx_bytes constants[] = {
    {NULL, 0},
    {(const uint8_t*)constant_1, sizeof constant_1},
    {(const uint8_t*)constant_2, sizeof constant_2}};
static const etx_bytes initial_data[] = {
    {NULL, 0}, {(const uint8_t*)initial_1, sizeof initial_1}};
static const etx_bytes delegate_data[] = {
    {delegate_blob, sizeof delegate_blob}};

// ---- the blob ----

static const etx_blob_input blob_inputs[] = {{TEXT("x"), true},
                                             {TEXT("n"), false}};
static const etx_blob_output blob_outputs[] = {
    {TEXT("cache"), ETX_LIFETIME_STATE, -1},
    {TEXT("x"), ETX_LIFETIME_STABLE, 0}};
static const etx_blob_symbol blob_symbols[] = {{TEXT("s0"), 1, 2}};
static const etx_blob_input_dim blob_dims[] = {{0, 0, 0, 1, 0},
                                               {1, -1, 0, 2, -7}};
static const etx_blob_view blob_views[] = {{SAMPLE_TURNED, SAMPLE_INPUT, 0}};
static const etx_blob_output second_outputs[] = {
    {TEXT("cache"), ETX_LIFETIME_STATE, -1}};
static const etx_blob_method blob_methods[] = {
    {.name = TEXT("forward"),
     .inputs = blob_inputs,
     .input_count = COUNT(blob_inputs),
     .outputs = blob_outputs,
     .output_count = COUNT(blob_outputs),
     .symbols = blob_symbols,
     .symbol_count = COUNT(blob_symbols),
     .input_dims = blob_dims,
     .input_dim_count = COUNT(blob_dims),
     .views = blob_views,
     .view_count = COUNT(blob_views)},
    {.name = TEXT("second"),
     .outputs = second_outputs,
     .output_count = COUNT(second_outputs)},
};
static const etx_blob_state blob_states[] = {
    {TEXT("another"), ETX_DTYPE_FLOAT32, sizes_2_3 + 1, 0, 0, 1, true},
    {TEXT("layer.cache"), ETX_DTYPE_INT64, sizes_2, 1, 16, 2, false}};

static const etx_blob_content blob_content = {
    .fingerprint = {1, 2, 3, [31] = 32},
    .target = TEXT("etx"),
    .options = TEXT("align=16"),
    .methods = blob_methods,
    .method_count = COUNT(blob_methods),
    .states = blob_states,
    .state_count = COUNT(blob_states),
    .state_bytes = 32,
};

const etx_blob_content* sample_blob_content(void) { return &blob_content; }

const etx_pte_content* sample_content(void) {
  static etx_pte_content content;
  static etx_pte_named_data named[2];
  static union {
    uint8_t bytes[4096];
    uint64_t alignment;
  } work;
  etx_bytes_mut block = {work.bytes, 0};
  etx_bytes blob = {NULL, 0};
  if (etx_blob_write_needed(&blob_content, &block.size) != ETX_OK ||
      block.size > sizeof work.bytes ||
      etx_blob_write(&blob_content, block, &blob, NULL) != ETX_OK) {
    abort();
  }
  named[0] = (etx_pte_named_data){TEXT("note"), {delegate_blob, 3}, 256};
  named[1] = (etx_pte_named_data){etx_text_of(ETX_BLOB_KEY), blob, 16};
  content = (etx_pte_content){.plans = plans,
                              .plan_count = COUNT(plans),
                              .constants = constants,
                              .constant_count = COUNT(constants),
                              .initial_data = initial_data,
                              .initial_data_count = COUNT(initial_data),
                              .named_data = named,
                              .named_data_count = COUNT(named),
                              .constant_alignment = 16,
                              .delegate_data = delegate_data,
                              .delegate_data_count = COUNT(delegate_data)};
  return &content;
}

// ---- a program that can be run ----

#define PLANNED(arena, offset)             \
  {                                        \
    .kind = ETX_PTE_TENSOR, .as.tensor = { \
      .dtype = ETX_DTYPE_FLOAT32,          \
      .rank = 2,                           \
      .sizes = sizes_2_3,                  \
      .dim_order = order_0_1,              \
      .has_allocation = true,              \
      .memory_id = arena,                  \
      .memory_offset = offset              \
    }                                      \
  }

static const etx_pte_value run_values[] = {
    [RUN_INPUT] = PLANNED(1, 0),
    [RUN_CONSTANT] = {.kind = ETX_PTE_TENSOR,
                      .as.tensor = {.dtype = ETX_DTYPE_FLOAT32,
                                    .rank = 2,
                                    .sizes = sizes_2_3,
                                    .dim_order = order_0_1,
                                    .data_buffer_index = 1}},
    [RUN_STATE] = PLANNED(2, 0),
    [RUN_SUM] = PLANNED(1, 32),
    [RUN_OUTPUT] = PLANNED(1, 0),
    [RUN_ONE] = {.kind = ETX_PTE_INT, .as.integer = 1},
    [RUN_FALSE] = {.kind = ETX_PTE_BOOL},
};
static const int32_t run_add[] = {RUN_INPUT, RUN_CONSTANT, RUN_ONE, RUN_SUM,
                                  RUN_SUM};
static const int32_t run_multiply[] = {RUN_SUM, RUN_STATE, RUN_OUTPUT,
                                       RUN_OUTPUT};
static const int32_t run_copy[] = {RUN_STATE, RUN_OUTPUT, RUN_FALSE, RUN_STATE};
static const etx_pte_instruction run_instructions[] = {
    {ETX_PTE_KERNEL_CALL, 0, 0, run_add, COUNT(run_add)},
    {ETX_PTE_KERNEL_CALL, 1, 0, run_multiply, COUNT(run_multiply)},
    {ETX_PTE_KERNEL_CALL, 2, 0, run_copy, COUNT(run_copy)},
};
static const etx_pte_chain run_chains[] = {
    {run_instructions, COUNT(run_instructions)}};
static const etx_pte_operator run_operators[] = {
    {TEXT("aten::add"), TEXT("out")},
    {TEXT("aten::mul"), TEXT("out")},
    {TEXT("aten::copy_"), {NULL, 0}}};
static const int32_t run_inputs[] = {RUN_INPUT};
static const int32_t run_outputs[] = {RUN_OUTPUT};
static const int64_t run_arenas[] = {0, 64, 32};
static const etx_pte_plan_content run_plans[] = {
    {.name = TEXT("forward"),
     .values = run_values,
     .value_count = COUNT(run_values),
     .inputs = run_inputs,
     .input_count = COUNT(run_inputs),
     .outputs = run_outputs,
     .output_count = COUNT(run_outputs),
     .chains = run_chains,
     .chain_count = COUNT(run_chains),
     .operators = run_operators,
     .operator_count = COUNT(run_operators),
     .buffer_sizes = run_arenas,
     .buffer_size_count = COUNT(run_arenas)},
};

const etx_pte_content* sample_runnable_content(void) {
  static const etx_pte_content content = {.plans = run_plans,
                                          .plan_count = COUNT(run_plans),
                                          .constants = constants,
                                          .constant_count = 2,
                                          .constant_alignment = 16};
  return &content;
}

// ---- bytes ----

static etx_bytes_mut take(size_t size) {
  // The end of the block is the end of the bytes: a read past them is seen.
  void* data = NULL;
  if (posix_memalign(&data, ETX_ARENA_ALIGNMENT, size == 0 ? 1 : size) != 0) {
    abort();
  }
  const etx_bytes_mut bytes = {data, size};
  return bytes;
}

void sample_release(etx_bytes_mut bytes) { free(bytes.data); }

etx_bytes_mut sample_copy(etx_bytes bytes) {
  const etx_bytes_mut copy = take(bytes.size);
  if (bytes.size > 0) memcpy(copy.data, bytes.data, bytes.size);
  return copy;
}

typedef struct memory_file {
  uint8_t* bytes;
  size_t size, capacity;
} memory_file;

static etx_status append(void* context, etx_bytes bytes) {
  memory_file* const file = context;
  if (bytes.size > file->capacity - file->size) {
    file->capacity = 2 * (file->size + bytes.size);
    uint8_t* const grown = realloc(file->bytes, file->capacity);
    if (grown == NULL) abort();
    file->bytes = grown;
  }
  if (bytes.size > 0) memcpy(file->bytes + file->size, bytes.data, bytes.size);
  file->size += bytes.size;
  return ETX_OK;
}

static void stop(const char* what) {
  fprintf(stderr, "sample: %s\n", what);
  abort();
}

etx_bytes_mut sample_write(const etx_pte_content* content) {
  memory_file file = {NULL, 0, 0};
  etx_diag diag;
  size_t needed = 0;
  etx_diag_init(&diag);
  if (etx_pte_write_needed(content, &needed) != ETX_OK) stop("no size");
  const etx_bytes_mut work = take(needed);
  const etx_sink sink = {append, &file};
  if (etx_pte_write(content, work, &sink, &diag) != ETX_OK) stop(diag.text);
  sample_release(work);
  const etx_bytes_mut exact = sample_copy((etx_bytes){file.bytes, file.size});
  free(file.bytes);
  return exact;
}

etx_bytes_mut sample_read_file(const char* path) {
  FILE* file = fopen(path, "rb");
  if (file == NULL) stop(path);
  if (fseek(file, 0, SEEK_END) != 0) stop(path);
  const long size = ftell(file);
  rewind(file);
  if (size < 0) stop(path);
  const etx_bytes_mut bytes = take((size_t)size);
  if (fread(bytes.data, 1, bytes.size, file) != bytes.size) stop(path);
  fclose(file);
  return bytes;
}
