#include "tests/support/test_program.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/format/fixtures/sample_program.h"

enum {
  MAX_METHODS = 10,
  MAX_VALUES = 240,
  MAX_INSTRUCTIONS = 4096,
  MAX_ITEMS = 256,
  MAX_PORTS = 104,
  MAX_SYMBOLS = 100,
  MAX_VIEWS = 160,
  MAX_PLACES = 100,
  MAX_DATA = 32,
  MAX_CHAINS = 4,
  MAX_ARENAS = 6,
  MAX_NAMED = 4,
};

typedef struct method_builder {
  etx_pte_plan_content plan;
  etx_blob_method described;
  etx_pte_value values[MAX_VALUES];
  int32_t sizes[MAX_VALUES][ETX_MAX_RANK];
  int32_t inputs[MAX_PORTS];
  int32_t outputs[MAX_PORTS];
  etx_pte_instruction instructions[MAX_INSTRUCTIONS];
  size_t instruction_count;
  bool is_described, is_undescribed;
  etx_pte_buffer_device devices[MAX_ARENAS];
  etx_pte_chain chains[MAX_CHAINS];
  etx_pte_operator operators[MAX_ITEMS];
  etx_pte_delegate_content delegates[MAX_PORTS];
  int64_t arenas[MAX_ARENAS];
  etx_blob_input named_inputs[MAX_PORTS];
  etx_blob_output named_outputs[MAX_PORTS];
  etx_blob_symbol symbols[MAX_SYMBOLS];
  etx_blob_input_dim dims[MAX_ITEMS];
  etx_blob_view views[MAX_VIEWS];
  etx_blob_place places[MAX_PLACES];
} method_builder;

typedef struct program_block {
  struct program_block* next;
  uint64_t bytes[];
} program_block;

struct test_program {
  method_builder methods[MAX_METHODS];
  size_t method_count;
  etx_bytes constants[MAX_DATA];
  size_t constant_count;
  etx_bytes initial[MAX_DATA];
  size_t initial_count;
  bool has_blob;
  bool has_delegate_data;
  etx_blob_content blob;
  etx_blob_state states[MAX_DATA];
  int32_t state_sizes[MAX_DATA][ETX_MAX_RANK];
  etx_blob_pair concurrent[MAX_METHODS];
  etx_pte_named_data named[MAX_NAMED];
  size_t named_count;
  program_block* blocks;
  etx_bytes_mut file;
};

static const uint8_t in_order[ETX_MAX_RANK] = {0, 1, 2,  3,  4,  5,  6,  7,
                                               8, 9, 10, 11, 12, 13, 14, 15};

static void stop_unless(bool good, const char* what) {
  if (good) return;
  fprintf(stderr, "test program: %s\n", what);
  abort();
}

static void* take(test_program* p, size_t bytes) {
  program_block* b = calloc(1, sizeof *b + bytes + 16);
  stop_unless(b != NULL, "no memory");
  b->next = p->blocks;
  p->blocks = b;
  return b->bytes;
}

test_program* test_program_new(void) {
  test_program* p = calloc(1, sizeof *p);
  stop_unless(p != NULL, "no memory");
  p->constant_count = 1;
  p->initial_count = 1;
  return p;
}

void test_program_end(test_program* p) {
  while (p->blocks != NULL) {
    program_block* b = p->blocks;
    p->blocks = b->next;
    free(b);
  }
  sample_release(p->file);
  free(p);
}

static method_builder* last(test_program* p) {
  stop_unless(p->method_count > 0, "no method");
  return &p->methods[p->method_count - 1];
}

void test_method(test_program* p, const char* name) {
  stop_unless(p->method_count < MAX_METHODS, "too many methods");
  method_builder* m = &p->methods[p->method_count++];
  m->plan.name = m->described.name = etx_text_of(name);
  m->plan.values = m->values;
  m->plan.inputs = m->inputs;
  m->plan.outputs = m->outputs;
  m->plan.chains = m->chains;
  m->plan.chain_count = 1;
  m->chains[0].instructions = m->instructions;
  m->plan.operators = m->operators;
  m->plan.delegates = m->delegates;
  m->plan.buffer_sizes = m->arenas;
  m->plan.buffer_size_count = 1;
  m->described.inputs = m->named_inputs;
  m->described.outputs = m->named_outputs;
  m->described.symbols = m->symbols;
  m->described.input_dims = m->dims;
  m->described.views = m->views;
  m->described.places = m->places;
}

void test_arena(test_program* p, int64_t bytes) {
  method_builder* m = last(p);
  stop_unless(m->plan.buffer_size_count < MAX_ARENAS, "too many arenas");
  m->arenas[m->plan.buffer_size_count++] = bytes;
}

void test_device(test_program* p, int arena, int device_type) {
  method_builder* m = last(p);
  stop_unless(m->plan.buffer_device_count < MAX_ARENAS, "too many devices");
  m->plan.buffer_devices = m->devices;
  m->devices[m->plan.buffer_device_count++] =
      (etx_pte_buffer_device){arena, (int8_t)device_type, 0};
}

void test_arenas(test_program* p, int64_t scratch, int64_t state) {
  test_arena(p, scratch);
  if (state > 0) test_arena(p, state);
}

static etx_pte_value* add_value(test_program* p, etx_pte_kind kind,
                                int* out_index) {
  method_builder* m = last(p);
  stop_unless(m->plan.value_count < MAX_VALUES, "too many values");
  *out_index = (int)m->plan.value_count;
  etx_pte_value* value = &m->values[m->plan.value_count++];
  value->kind = kind;
  return value;
}

int test_none(test_program* p) {
  int index;
  add_value(p, ETX_PTE_NULL, &index);
  return index;
}

int test_int(test_program* p, int64_t value) {
  int index;
  add_value(p, ETX_PTE_INT, &index)->as.integer = value;
  return index;
}

int test_bool(test_program* p, bool value) {
  int index;
  add_value(p, ETX_PTE_BOOL, &index)->as.boolean = value;
  return index;
}

int test_double(test_program* p, double value) {
  int index;
  add_value(p, ETX_PTE_DOUBLE, &index)->as.real = value;
  return index;
}

int test_string(test_program* p, const char* value) {
  int index;
  add_value(p, ETX_PTE_STRING, &index)->as.string = etx_text_of(value);
  return index;
}

int test_doubles(test_program* p, const double* items, size_t count) {
  int index;
  etx_pte_value* value = add_value(p, ETX_PTE_DOUBLE_LIST, &index);
  double* copies = take(p, count * sizeof *copies);
  memcpy(copies, items, count * sizeof *copies);
  value->as.reals.items = copies;
  value->as.reals.count = count;
  return index;
}

int test_bools(test_program* p, const uint8_t* items, size_t count) {
  int index;
  etx_pte_value* value = add_value(p, ETX_PTE_BOOL_LIST, &index);
  uint8_t* copies = take(p, count);
  memcpy(copies, items, count);
  value->as.booleans.items = copies;
  value->as.booleans.count = count;
  return index;
}

int test_ints(test_program* p, const int* items, size_t count) {
  int index;
  etx_pte_value* value = add_value(p, ETX_PTE_INT_LIST, &index);
  int64_t* copies = take(p, count * sizeof *copies);
  for (size_t i = 0; i < count; ++i) copies[i] = items[i];
  value->as.integers.items = copies;
  value->as.integers.count = count;
  return index;
}

static int add_tensors(test_program* p, etx_pte_kind kind, const int* items,
                       size_t count) {
  int index;
  etx_pte_value* value = add_value(p, kind, &index);
  int32_t* copies = take(p, count * sizeof *copies);
  for (size_t i = 0; i < count; ++i) copies[i] = items[i];
  value->as.tensors.items = copies;
  value->as.tensors.count = count;
  return index;
}

int test_tensors(test_program* p, const int* items, size_t count) {
  return add_tensors(p, ETX_PTE_TENSOR_LIST, items, count);
}

int test_optional_tensors(test_program* p, const int* items, size_t count) {
  return add_tensors(p, ETX_PTE_OPTIONAL_TENSOR_LIST, items, count);
}

int test_borrowed(test_program* p, etx_dtype dtype, test_sizes sizes) {
  int index;
  etx_pte_tensor* tensor = &add_value(p, ETX_PTE_TENSOR, &index)->as.tensor;
  int32_t* copy = last(p)->sizes[index];
  memcpy(copy, sizes.at, sizeof sizes.at);
  tensor->dtype = dtype;
  tensor->rank = sizes.rank;
  tensor->sizes = copy;
  tensor->dim_order = in_order;
  return index;
}

int test_planned(test_program* p, etx_dtype dtype, test_sizes sizes,
                 uint32_t memory_id, uint64_t offset) {
  const int index = test_borrowed(p, dtype, sizes);
  etx_pte_tensor* tensor = test_tensor_of(p, index);
  tensor->has_allocation = true;
  tensor->memory_id = memory_id;
  tensor->memory_offset = offset;
  return index;
}

int test_scratch(test_program* p, etx_dtype dtype, test_sizes sizes,
                 uint64_t offset) {
  return test_planned(p, dtype, sizes, 1, offset);
}

int test_state(test_program* p, const char* name, etx_dtype dtype,
               test_sizes sizes, uint64_t offset) {
  const int index = test_planned(p, dtype, sizes, 2, offset);
  test_tensor_of(p, index)->name = etx_text_of(name);
  return index;
}

int test_constant(test_program* p, etx_dtype dtype, test_sizes sizes,
                  uint32_t data_index) {
  const int index = test_borrowed(p, dtype, sizes);
  test_tensor_of(p, index)->data_buffer_index = data_index;
  return index;
}

int test_dynamic(test_program* p, int value) {
  test_tensor_of(p, value)->dynamism = ETX_PTE_DYNAMIC_BOUND;
  return value;
}

int test_initial(test_program* p, int value, uint32_t data_index) {
  test_tensor_of(p, value)->data_buffer_index = data_index;
  return value;
}

etx_pte_tensor* test_tensor_of(test_program* p, int value) {
  stop_unless(last(p)->values[value].kind == ETX_PTE_TENSOR, "no tensor");
  return &last(p)->values[value].as.tensor;
}

static uint32_t add_data(test_program* p, etx_bytes* table, size_t* count,
                         const void* data, size_t bytes) {
  stop_unless(*count < MAX_DATA, "too much data");
  void* copy = take(p, bytes);
  memcpy(copy, data, bytes);
  table[*count] = (etx_bytes){copy, bytes};
  return (uint32_t)(*count)++;
}

uint32_t test_data(test_program* p, const void* data, size_t bytes) {
  return add_data(p, p->constants, &p->constant_count, data, bytes);
}

uint32_t test_initial_data(test_program* p, const void* data, size_t bytes) {
  return add_data(p, p->initial, &p->initial_count, data, bytes);
}

int test_input(test_program* p, int value, const char* name) {
  method_builder* m = last(p);
  stop_unless(m->plan.input_count < MAX_PORTS, "too many inputs");
  const size_t at = m->plan.input_count++;
  m->described.input_count = m->plan.input_count;
  m->inputs[at] = value;
  m->named_inputs[at].name = etx_text_of(name);
  return value;
}

uint32_t test_input_count(test_program* p) {
  return (uint32_t)last(p)->plan.input_count;
}

int test_mutable_input(test_program* p, int value, const char* name) {
  test_input(p, value, name);
  last(p)->named_inputs[last(p)->plan.input_count - 1].is_mutable = true;
  return value;
}

int test_shown(test_program* p, int value, const char* name, int input) {
  method_builder* m = last(p);
  stop_unless(m->plan.output_count < MAX_PORTS, "too many outputs");
  const size_t at = m->plan.output_count++;
  m->described.output_count = m->plan.output_count;
  m->outputs[at] = value;
  m->named_outputs[at].name = etx_text_of(name);
  m->named_outputs[at].mutated_input = input;
  return value;
}

int test_output(test_program* p, int value, const char* name) {
  return test_shown(p, value, name, -1);
}

void test_lifetime(test_program* p, etx_blob_lifetime lifetime) {
  method_builder* m = last(p);
  stop_unless(m->plan.output_count > 0, "no output");
  m->named_outputs[m->plan.output_count - 1].lifetime = lifetime;
}

static etx_pte_instruction* add_instruction(test_program* p,
                                            etx_pte_instruction_kind kind) {
  method_builder* m = last(p);
  stop_unless(m->instruction_count < MAX_INSTRUCTIONS, "too many instructions");
  ++m->chains[m->plan.chain_count - 1].instruction_count;
  etx_pte_instruction* instruction = &m->instructions[m->instruction_count++];
  instruction->kind = kind;
  return instruction;
}

static int32_t operator_index(method_builder* m, const char* name,
                              const char* overload) {
  for (size_t i = 0; i < m->plan.operator_count; ++i) {
    if (etx_text_is(m->operators[i].name, name) &&
        etx_text_is(m->operators[i].overload, overload)) {
      return (int32_t)i;
    }
  }
  stop_unless(m->plan.operator_count < MAX_ITEMS, "too many operators");
  const size_t at = m->plan.operator_count++;
  m->operators[at].name = etx_text_of(name);
  m->operators[at].overload = etx_text_of(overload);
  return (int32_t)at;
}

void test_operator(test_program* p, const char* name, const char* overload) {
  (void)operator_index(last(p), name, overload);
}

void test_call(test_program* p, const char* name, const char* overload,
               const int* arguments, size_t count) {
  etx_pte_instruction* call = add_instruction(p, ETX_PTE_KERNEL_CALL);
  int32_t* copies = take(p, count * sizeof *copies);
  for (size_t i = 0; i < count; ++i) copies[i] = arguments[i];
  call->index = operator_index(last(p), name, overload);
  call->arguments = copies;
  call->argument_count = count;
}

void test_move(test_program* p, int from, int to) {
  etx_pte_instruction* move = add_instruction(p, ETX_PTE_MOVE_CALL);
  move->index = from;
  move->target = to;
}

void test_jump_false(test_program* p, int condition, int destination) {
  etx_pte_instruction* jump = add_instruction(p, ETX_PTE_JUMP_FALSE_CALL);
  jump->index = condition;
  jump->target = destination;
}

void test_release(test_program* p, int value) {
  add_instruction(p, ETX_PTE_FREE_CALL)->index = value;
}

void test_listed_delegate(test_program* p, const char* id) {
  method_builder* m = last(p);
  const size_t at = m->plan.delegate_count++;
  m->delegates[at].id = etx_text_of(id);
  m->delegates[at].data_index = 0;
  p->has_delegate_data = true;
}

void test_delegate(test_program* p, const char* id) {
  test_listed_delegate(p, id);
  add_instruction(p, ETX_PTE_DELEGATE_CALL)->index =
      (int32_t)last(p)->plan.delegate_count - 1;
}

void test_next_chain(test_program* p) {
  method_builder* m = last(p);
  stop_unless(m->plan.chain_count < MAX_CHAINS, "too many chains");
  m->chains[m->plan.chain_count++].instructions =
      &m->instructions[m->instruction_count];
}

void test_blob(test_program* p) { p->has_blob = true; }

uint32_t test_symbol(test_program* p, const char* name, int64_t minimum,
                     int64_t maximum) {
  method_builder* m = last(p);
  const size_t at = m->described.symbol_count++;
  m->symbols[at] = (etx_blob_symbol){etx_text_of(name), minimum, maximum};
  return (uint32_t)at;
}

void test_dim(test_program* p, uint32_t input, int32_t dim, uint32_t symbol,
              int64_t factor, int64_t offset) {
  method_builder* m = last(p);
  m->dims[m->described.input_dim_count++] =
      (etx_blob_input_dim){input, dim, symbol, factor, offset};
}

void test_view(test_program* p, int value, int base, uint64_t offset) {
  method_builder* m = last(p);
  stop_unless(m->described.view_count < MAX_VIEWS, "too many views");
  m->views[m->described.view_count++] =
      (etx_blob_view){(uint32_t)value, (uint32_t)base, offset};
}

void test_place(test_program* p, int value, uint32_t layout, uint64_t offset,
                uint64_t bytes) {
  method_builder* m = last(p);
  stop_unless(m->described.place_count < MAX_PLACES, "too many places");
  m->places[m->described.place_count++] =
      (etx_blob_place){(uint32_t)value, layout, offset, bytes};
}

etx_blob_state* test_state_row(test_program* p, const char* name,
                               etx_dtype dtype, test_sizes sizes,
                               uint64_t offset, uint32_t data_index) {
  const size_t at = p->blob.state_count++;
  stop_unless(at < MAX_DATA, "too many states");
  memcpy(p->state_sizes[at], sizes.at, sizeof sizes.at);
  p->states[at] = (etx_blob_state){
      etx_text_of(name), dtype, p->state_sizes[at], sizes.rank, offset,
      data_index,        false};
  return &p->states[at];
}

void test_concurrent(test_program* p, uint32_t first, uint32_t second) {
  const size_t at = p->blob.concurrent_count++;
  stop_unless(at < MAX_METHODS, "too many pairs");
  p->concurrent[at] = (etx_blob_pair){first, second};
  p->blob.concurrent = p->concurrent;
}

void test_fingerprint(test_program* p, uint8_t first_byte) {
  p->blob.fingerprint[0] = first_byte;
}

void test_named(test_program* p, const char* key, const void* data,
                size_t bytes) {
  stop_unless(p->named_count < MAX_NAMED - 1, "too many named data");
  void* copy = take(p, bytes);
  memcpy(copy, data, bytes);
  p->named[p->named_count++] =
      (etx_pte_named_data){etx_text_of(key), {copy, bytes}, 16};
}

void test_caches(test_program* p, const etx_cache* caches, size_t count) {
  etx_bytes_mut work = {NULL, 0};
  etx_bytes data = {NULL, 0};
  stop_unless(etx_cache_table_write_needed(caches, count, &work.size) == ETX_OK,
              "the table of caches cannot be counted");
  work.data = take(p, work.size);
  stop_unless(etx_cache_table_write(caches, count, work, &data, NULL) == ETX_OK,
              "the table of caches cannot be written");
  test_named(p, ETX_CACHE_TABLE_KEY, data.data, data.size);
}

void test_described(test_program* p) { last(p)->is_described = true; }

void test_undescribed(test_program* p) { last(p)->is_undescribed = true; }

static etx_bytes write_blob(test_program* p) {
  etx_bytes blob = {NULL, 0};
  size_t needed = 0;
  etx_diag diag;
  etx_diag_init(&diag);
  etx_blob_method* methods = take(p, p->method_count * sizeof *methods);
  size_t count = 0;
  for (size_t i = 0; i < p->method_count; ++i) {
    const method_builder* m = &p->methods[i];
    if (m->plan.buffer_size_count > 2) {
      p->blob.state_bytes = (uint64_t)m->arenas[2];
    }
    if ((m->instruction_count > 0 || m->is_described) && !m->is_undescribed) {
      methods[count++] = m->described;
    }
  }
  p->blob.methods = methods;
  p->blob.method_count = count;
  p->blob.states = p->states;
  p->blob.target = etx_text_of("etx");
  p->blob.options = etx_text_of("");
  stop_unless(etx_blob_write_needed(&p->blob, &needed) == ETX_OK,
              "the blob cannot be counted");
  const etx_bytes_mut work = {take(p, needed), needed};
  if (etx_blob_write(&p->blob, work, &blob, &diag) != ETX_OK) {
    stop_unless(false, diag.text);
  }
  return blob;
}

etx_bytes test_file(test_program* p) {
  etx_pte_content content;
  etx_pte_plan_content plans[MAX_METHODS];
  memset(&content, 0, sizeof content);
  for (size_t i = 0; i < p->method_count; ++i) plans[i] = p->methods[i].plan;
  content.plans = plans;
  content.plan_count = p->method_count;
  content.constants = p->constants;
  content.constant_count = p->constant_count;
  content.initial_data = p->initial;
  content.initial_data_count = p->initial_count > 1 ? p->initial_count : 0;
  content.constant_alignment = 16;
  static const uint8_t delegate_byte = 7;
  const etx_bytes delegate_data = {&delegate_byte, 1};
  content.delegate_data = &delegate_data;
  content.delegate_data_count = p->has_delegate_data ? 1 : 0;
  content.named_data = p->named;
  content.named_data_count = p->named_count;
  if (p->has_blob) {
    content.named_data_count = p->named_count + 1;
    p->named[p->named_count] =
        (etx_pte_named_data){etx_text_of(ETX_BLOB_KEY), write_blob(p), 16};
  }
  sample_release(p->file);
  p->file = sample_write(&content);
  return sample_view(p->file);
}
