// Writes the part of the corpus that was made by hand: programs that would make
// a careless reader fail. Each differs in one way, which its name states, from
// the runnable sample or from the sample with values of every kind.
//
//   corpus_tool PROGRAMS SNAPSHOTS   two directories

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/flatbuffers/fb_builder.h"
#include "format/pte/pte_schema.h"
#include "shared_memory/shared_memory.h"
#include "tests/format/fixtures/sample_program.h"

// The runnable sample with parts that can be changed.
typedef struct corpus_variant {
  etx_pte_content content;
  etx_pte_plan_content plan;
  etx_pte_value values[RUN_VALUE_COUNT];
  etx_pte_instruction instructions[RUN_INSTRUCTION_COUNT + 1];
  int32_t arguments[RUN_INSTRUCTION_COUNT][5];
  etx_pte_chain chain;
  int32_t outputs[1];
  int32_t inputs[1];
  int32_t sizes[16];
  uint8_t dim_order[16];
} corpus_variant;

static void variant_init(corpus_variant* v) {
  memset(v, 0, sizeof *v);
  v->content = *sample_runnable_content();
  v->plan = v->content.plans[0];
  memcpy(v->values, v->plan.values, sizeof v->values);
  memcpy(v->instructions, v->plan.chains[0].instructions,
         RUN_INSTRUCTION_COUNT * sizeof *v->instructions);
  for (size_t i = 0; i < RUN_INSTRUCTION_COUNT; ++i) {
    etx_pte_instruction* it = &v->instructions[i];
    memcpy(v->arguments[i], it->arguments,
           it->argument_count * sizeof *it->arguments);
    it->arguments = v->arguments[i];
  }
  v->chain.instructions = v->instructions;
  v->chain.instruction_count = RUN_INSTRUCTION_COUNT;
  v->outputs[0] = RUN_OUTPUT;
  v->inputs[0] = RUN_INPUT;
  for (size_t i = 0; i < 16; ++i) v->dim_order[i] = (uint8_t)i;
  v->plan.values = v->values;
  v->plan.chains = &v->chain;
  v->plan.outputs = v->outputs;
  v->plan.inputs = v->inputs;
  v->content.plans = &v->plan;
}

static void kernel_writes_to_a_constant(corpus_variant* v) {
  v->arguments[RUN_ADD][3] = RUN_CONSTANT;
  v->arguments[RUN_ADD][4] = RUN_CONSTANT;
}
static void in_place_kernel_writes_to_a_constant(corpus_variant* v) {
  v->arguments[RUN_COPY][0] = RUN_CONSTANT;
  v->arguments[RUN_COPY][3] = RUN_CONSTANT;
}
// The move makes the out tensor refer to the constant, so the next kernel would
// write to the constant.
static void constant_moves_into_an_out_tensor(corpus_variant* v) {
  v->instructions[RUN_ADD] = (etx_pte_instruction){
      ETX_PTE_MOVE_CALL, RUN_CONSTANT, RUN_OUTPUT, NULL, 0};
}
static void integer_moves_into_a_tensor(corpus_variant* v) {
  v->instructions[RUN_ADD] =
      (etx_pte_instruction){ETX_PTE_MOVE_CALL, RUN_ONE, RUN_SUM, NULL, 0};
}
static void tensor_is_freed_before_it_is_read(corpus_variant* v) {
  v->instructions[RUN_ADD] =
      (etx_pte_instruction){ETX_PTE_FREE_CALL, RUN_STATE, 0, NULL, 0};
}
static void constant_is_freed(corpus_variant* v) {
  v->instructions[RUN_MULTIPLY] =
      (etx_pte_instruction){ETX_PTE_FREE_CALL, RUN_CONSTANT, 0, NULL, 0};
}
static void loop_without_end(corpus_variant* v) {
  v->instructions[RUN_COPY] =
      (etx_pte_instruction){ETX_PTE_JUMP_FALSE_CALL, RUN_FALSE, 0, NULL, 0};
}
static void jump_on_a_number(corpus_variant* v) {
  v->instructions[RUN_COPY] =
      (etx_pte_instruction){ETX_PTE_JUMP_FALSE_CALL, RUN_ONE, 1, NULL, 0};
}
static void integer_where_a_tensor_is_wanted(corpus_variant* v) {
  v->arguments[RUN_ADD][0] = RUN_ONE;
}
static void tensor_where_a_number_is_wanted(corpus_variant* v) {
  v->arguments[RUN_ADD][2] = RUN_INPUT;
}
static void argument_too_few(corpus_variant* v) {
  v->instructions[RUN_ADD].argument_count = 4;
}
static void no_arguments(corpus_variant* v) {
  v->instructions[RUN_ADD].argument_count = 0;
}
static void return_slot_is_another_tensor(corpus_variant* v) {
  v->arguments[RUN_ADD][4] = RUN_CONSTANT;
}
static void out_tensor_without_memory(corpus_variant* v) {
  v->values[RUN_SUM].as.tensor.has_allocation = false;
}
static void output_that_is_never_written(corpus_variant* v) {
  v->values[RUN_SUM].as.tensor.has_allocation = false;
  v->outputs[0] = RUN_SUM;
  v->chain.instruction_count = 0;
}
static void argument_without_memory(corpus_variant* v) {
  v->values[RUN_STATE].as.tensor.has_allocation = false;
}
static void out_tensor_of_another_type(corpus_variant* v) {
  v->values[RUN_SUM].as.tensor.dtype = ETX_DTYPE_INT32;
}
static void out_tensor_of_an_opaque_type(corpus_variant* v) {
  v->values[RUN_SUM].as.tensor.dtype = ETX_DTYPE_BITS8;
}
static void out_tensor_too_small(corpus_variant* v) {
  v->values[RUN_SUM].as.tensor.rank = 0;
}
static void out_tensor_overlaps_its_argument(corpus_variant* v) {
  v->values[RUN_SUM].as.tensor.memory_offset = 4;
}
static void input_without_bound(corpus_variant* v) {
  v->values[RUN_INPUT].as.tensor.dynamism = ETX_PTE_DYNAMIC_UNBOUND;
}
static void external_input(corpus_variant* v) {
  v->values[RUN_INPUT].as.tensor.location = ETX_PTE_EXTERNAL;
  v->values[RUN_INPUT].as.tensor.name = etx_text_of("elsewhere");
}
static void rank_16_of_zeros(corpus_variant* v) {
  etx_pte_tensor* tensor = &v->values[RUN_INPUT].as.tensor;
  tensor->rank = 16;
  tensor->sizes = v->sizes;
  tensor->dim_order = v->dim_order;
}
static void input_of_four_gibibytes(corpus_variant* v) {
  etx_pte_tensor* tensor = &v->values[RUN_INPUT].as.tensor;
  v->sizes[0] = INT32_MAX;
  v->sizes[1] = 1;
  tensor->sizes = v->sizes;
  tensor->has_allocation = false;
}
static void the_same_value_is_input_and_state(corpus_variant* v) {
  v->inputs[0] = RUN_STATE;
}
static void the_integer_is_an_input(corpus_variant* v) {
  v->inputs[0] = RUN_ONE;
}
static void no_arena_for_state(corpus_variant* v) {
  v->plan.buffer_size_count = 2;
}
static void unknown_operator(corpus_variant* v) {
  static etx_pte_operator operators[RUN_INSTRUCTION_COUNT];
  memcpy(operators, v->plan.operators, sizeof operators);
  operators[RUN_ADD].overload = etx_text_of("no_such_overload");
  v->plan.operators = operators;
}

typedef struct corpus_entry {
  const char* name;
  void (*change)(corpus_variant* v);
} corpus_entry;

#define ENTRY(function) \
  { #function, function }

static const corpus_entry entries[] = {
    ENTRY(kernel_writes_to_a_constant),
    ENTRY(in_place_kernel_writes_to_a_constant),
    ENTRY(constant_moves_into_an_out_tensor),
    ENTRY(integer_moves_into_a_tensor),
    ENTRY(tensor_is_freed_before_it_is_read),
    ENTRY(constant_is_freed),
    ENTRY(loop_without_end),
    ENTRY(jump_on_a_number),
    ENTRY(integer_where_a_tensor_is_wanted),
    ENTRY(tensor_where_a_number_is_wanted),
    ENTRY(argument_too_few),
    ENTRY(no_arguments),
    ENTRY(return_slot_is_another_tensor),
    ENTRY(out_tensor_without_memory),
    ENTRY(output_that_is_never_written),
    ENTRY(argument_without_memory),
    ENTRY(out_tensor_of_another_type),
    ENTRY(out_tensor_of_an_opaque_type),
    ENTRY(out_tensor_too_small),
    ENTRY(out_tensor_overlaps_its_argument),
    ENTRY(input_without_bound),
    ENTRY(external_input),
    ENTRY(rank_16_of_zeros),
    ENTRY(input_of_four_gibibytes),
    ENTRY(the_same_value_is_input_and_state),
    ENTRY(the_integer_is_an_input),
    ENTRY(no_arena_for_state),
    ENTRY(unknown_operator),
};

static int write_file(const char* directory, const char* name,
                      etx_bytes bytes) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s.pte", directory, name);
  FILE* file = fopen(path, "wb");
  const bool good = file != NULL &&
                    fwrite(bytes.data, 1, bytes.size, file) == bytes.size &&
                    fclose(file) == 0;
  if (!good) perror(path);
  return good ? 0 : 1;
}

static int write_content(const char* directory, const char* name,
                         const etx_pte_content* content) {
  const etx_bytes_mut bytes = sample_write(content);
  const int failed = write_file(directory, name, sample_view(bytes));
  sample_release(bytes);
  return failed;
}

// The values refer to segments, but the file has no valid header with their
// position.
static int write_without_header(const char* directory) {
  const etx_bytes_mut bytes = sample_write(sample_content());
  bytes.data[11] = '1';
  const int failed =
      write_file(directory, "constants_without_a_header", sample_view(bytes));
  sample_release(bytes);
  return failed;
}

// A thousand methods that share one table, with a thousand values that share
// one.
static int write_shared_tables(const char* directory) {
  enum { MANY = 1000 };
  static uint64_t space[4096];
  const etx_bytes_mut block = {(uint8_t*)space, sizeof space};
  etx_bytes_mut file = {NULL, 0};
  etx_fb_builder b;
  etx_fb_builder_init(&b, block);
  etx_fb_builder_start(&b);
  etx_fb_builder_add_u8(&b, ETX_PTE_EValue_val_type, ETX_PTE_NULL, 0);
  const etx_fb_ref value = etx_fb_builder_end(&b);
  size_t refs = etx_fb_builder_reserve_refs(&b, MANY);
  for (size_t i = 0; i < MANY; ++i) {
    etx_fb_builder_set_ref(&b, refs, i, value);
  }
  const etx_fb_ref values = etx_fb_builder_table_vector(&b, refs, MANY);
  const etx_fb_ref none = etx_fb_builder_vector(&b, NULL, 0, 8, 8);
  const etx_fb_ref name = etx_fb_builder_string(&b, etx_text_of("forward"));
  etx_fb_builder_start(&b);
  etx_fb_builder_add_ref(&b, ETX_PTE_ExecutionPlan_name, name);
  etx_fb_builder_add_ref(&b, ETX_PTE_ExecutionPlan_values, values);
  etx_fb_builder_add_ref(&b, ETX_PTE_ExecutionPlan_inputs, none);
  etx_fb_builder_add_ref(&b, ETX_PTE_ExecutionPlan_outputs, none);
  etx_fb_builder_add_ref(&b, ETX_PTE_ExecutionPlan_chains, none);
  etx_fb_builder_add_ref(&b, ETX_PTE_ExecutionPlan_non_const_buffer_sizes,
                         none);
  const etx_fb_ref plan = etx_fb_builder_end(&b);
  refs = etx_fb_builder_reserve_refs(&b, MANY);
  for (size_t i = 0; i < MANY; ++i) {
    etx_fb_builder_set_ref(&b, refs, i, plan);
  }
  const etx_fb_ref plans = etx_fb_builder_table_vector(&b, refs, MANY);
  etx_fb_builder_start(&b);
  etx_fb_builder_add_ref(&b, ETX_PTE_Program_execution_plan, plans);
  if (etx_fb_builder_finish(&b, etx_fb_builder_end(&b), "ET12", &file) !=
      ETX_OK) {
    return 1;
  }
  return write_file(directory, "a_thousand_times_a_thousand_tables",
                    sample_view(file));
}

static int write_bytes(const char* directory, const char* name,
                       const void* data, size_t size) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s.bin", directory, name);
  FILE* file = fopen(path, "wb");
  const bool good =
      file != NULL && fwrite(data, 1, size, file) == size && fclose(file) == 0;
  if (!good) perror(path);
  return good ? 0 : 1;
}

// A valid snapshot of the runnable sample, and snapshots with one error each.
static int write_snapshots(const char* directory) {
  static _Alignas(ETX_SHARED_MEMORY_ALIGNMENT) uint8_t block[1024];
  static uint8_t snapshot[1024];
  const etx_bytes_mut file = sample_write(sample_runnable_content());
  const etx_bytes_mut out = {snapshot, sizeof snapshot};
  etx_bytes_mut memory = {block, 0};
  etx_program program;
  etx_shared_memory shared;
  size_t size = 0;
  const bool good =
      etx_program_open(&program, sample_view(file), &etx_all_kernels, NULL,
                       NULL) == ETX_OK &&
      etx_shared_memory_needed(&program, &memory.size) == ETX_OK &&
      memory.size <= sizeof block &&
      etx_shared_memory_init(&shared, &program, memory, NULL) == ETX_OK &&
      etx_shared_memory_save(&shared, out, &size, NULL) == ETX_OK;
  sample_release(file);
  if (!good) return 1;
  return write_bytes(directory, "good_snapshot", snapshot, size) |
         write_bytes(directory, "cut_by_one", snapshot, size - 1) |
         write_bytes(directory, "head_only", snapshot, 16) |
         write_bytes(directory, "empty", snapshot, 0);
}

int main(int count, char** arguments) {
  if (count != 3) {
    fprintf(stderr, "usage: corpus_tool PROGRAMS SNAPSHOTS\n");
    return 2;
  }
  const char* directory = arguments[1];
  int failed = write_content(directory, "runnable", sample_runnable_content());
  failed |= write_content(directory, "every_kind", sample_content());
  failed |= write_without_header(directory);
  failed |= write_shared_tables(directory);
  for (size_t i = 0; i < sizeof entries / sizeof *entries; ++i) {
    corpus_variant v;
    variant_init(&v);
    entries[i].change(&v);
    failed |= write_content(directory, entries[i].name, &v.content);
  }
  return failed | write_snapshots(arguments[2]);
}
