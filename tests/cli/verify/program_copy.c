#include "tests/cli/verify/program_copy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/pte/pte_program.h"
#include "format/pte_writer/pte_writer.h"
#include "tests/format/fixtures/sample_program.h"

typedef struct copied_block {
  struct copied_block* before;
  max_align_t content[];
} copied_block;

static void stop(const char* why) {
  fprintf(stderr, "program copy: %s\n", why);
  exit(1);
}

static void* take(program_copy* copy, size_t count, size_t item_bytes) {
  copied_block* const taken =
      calloc(1, sizeof(copied_block) + count * item_bytes + 1);
  if (taken == NULL) stop("no memory");
  taken->before = copy->blocks;
  copy->blocks = taken;
  return taken->content;
}

static void* keep(program_copy* copy, const void* items, size_t count,
                  size_t item_bytes) {
  void* const kept = take(copy, count, item_bytes);
  if (count > 0) memcpy(kept, items, count * item_bytes);
  return kept;
}

// ---- plans ----

static void keep_value(program_copy* copy, etx_pte_value* value) {
  if (value->kind != ETX_PTE_TENSOR) return;
  etx_pte_tensor* const tensor = &value->as.tensor;
  tensor->sizes =
      keep(copy, tensor->sizes, tensor->rank, sizeof *tensor->sizes);
}

static void copy_values(program_copy* copy, const etx_pte_plan* from,
                        etx_pte_plan_content* to) {
  to->value_count = etx_pte_value_count(from);
  etx_pte_value* const values = take(copy, to->value_count, sizeof *values);
  for (size_t i = 0; i < to->value_count; ++i) {
    values[i] = etx_pte_value_at(from, i);
    keep_value(copy, &values[i]);
  }
  to->values = values;
}

static void copy_ports(program_copy* copy, const etx_pte_plan* from,
                       etx_pte_plan_content* to) {
  to->input_count = etx_pte_input_count(from);
  to->output_count = etx_pte_output_count(from);
  int32_t* const inputs = take(copy, to->input_count, sizeof *inputs);
  int32_t* const outputs = take(copy, to->output_count, sizeof *outputs);
  for (size_t i = 0; i < to->input_count; ++i) {
    inputs[i] = etx_pte_input_at(from, i);
  }
  for (size_t i = 0; i < to->output_count; ++i) {
    outputs[i] = etx_pte_output_at(from, i);
  }
  to->inputs = inputs;
  to->outputs = outputs;
}

static void copy_chains(program_copy* copy, const etx_pte_plan* from,
                        etx_pte_plan_content* to) {
  to->chain_count = etx_pte_chain_count(from);
  etx_pte_chain* const chains = take(copy, to->chain_count, sizeof *chains);
  for (size_t c = 0; c < to->chain_count; ++c) {
    const size_t count = etx_pte_instruction_count(from, c);
    etx_pte_instruction* const steps = take(copy, count, sizeof *steps);
    for (size_t i = 0; i < count; ++i) {
      steps[i] = etx_pte_instruction_at(from, c, i);
    }
    chains[c] = (etx_pte_chain){steps, count};
  }
  to->chains = chains;
}

static void copy_operators(program_copy* copy, const etx_pte_plan* from,
                           etx_pte_plan_content* to) {
  to->operator_count = etx_pte_operator_count(from);
  etx_pte_operator* const operators =
      take(copy, to->operator_count, sizeof *operators);
  for (size_t i = 0; i < to->operator_count; ++i) {
    operators[i] = etx_pte_operator_at(from, i);
  }
  to->operators = operators;
  to->buffer_size_count = etx_pte_buffer_size_count(from);
  int64_t* const sizes = take(copy, to->buffer_size_count, sizeof *sizes);
  for (size_t i = 0; i < to->buffer_size_count; ++i) {
    sizes[i] = etx_pte_buffer_size_at(from, i);
  }
  to->buffer_sizes = sizes;
}

static void copy_plans(program_copy* copy, const etx_pte* pte) {
  copy->plan_count = etx_pte_plan_count(pte);
  copy->plans = take(copy, copy->plan_count, sizeof *copy->plans);
  for (size_t i = 0; i < copy->plan_count; ++i) {
    const etx_pte_plan from = etx_pte_plan_at(pte, i);
    etx_pte_plan_content* const to = &copy->plans[i];
    to->name = etx_pte_plan_name(&from);
    to->input_tree = etx_pte_plan_input_tree(&from);
    to->output_tree = etx_pte_plan_output_tree(&from);
    copy_values(copy, &from, to);
    copy_ports(copy, &from, to);
    copy_chains(copy, &from, to);
    copy_operators(copy, &from, to);
  }
}

// ---- blob ----

static void copy_method(program_copy* copy, const etx_blob* blob, size_t index,
                        etx_blob_method* to) {
  etx_blob_input* inputs = NULL;
  etx_blob_output* outputs = NULL;
  etx_blob_symbol* symbols = NULL;
  etx_blob_input_dim* dims = NULL;
  etx_blob_view* views = NULL;
  etx_blob_place* places = NULL;
#define COPY(field, count, at)                       \
  to->count = etx_blob_##at##_count(blob, index);    \
  field = take(copy, to->count, sizeof *(field));    \
  for (size_t i = 0; i < to->count; ++i) {           \
    (field)[i] = etx_blob_##at##_at(blob, index, i); \
  }                                                  \
  to->field = field;
  to->name = etx_blob_method_name(blob, index);
  COPY(inputs, input_count, input)
  COPY(outputs, output_count, output)
  COPY(symbols, symbol_count, symbol)
  COPY(views, view_count, view)
#undef COPY
  to->input_dim_count = etx_blob_input_dim_count(blob, index);
  dims = take(copy, to->input_dim_count, sizeof *dims);
  for (size_t i = 0; i < to->input_dim_count; ++i) {
    dims[i] = etx_blob_input_dim_at(blob, index, i);
  }
  to->input_dims = dims;
  to->place_count = etx_blob_place_count(blob, index);
  places = take(copy, to->place_count, sizeof *places);
  for (size_t i = 0; i < to->place_count; ++i) {
    places[i] = etx_blob_place_at(blob, index, i);
  }
  to->places = places;
}

static void copy_blob(program_copy* copy, const etx_blob* blob) {
  etx_blob_content* const to = &copy->blob;
  etx_blob_fingerprint(blob, to->fingerprint);
  to->target = etx_blob_target(blob);
  to->options = etx_blob_options(blob);
  to->state_bytes = etx_blob_state_bytes(blob);
  to->method_count = etx_blob_method_count(blob);
  copy->blob_methods = take(copy, to->method_count, sizeof *copy->blob_methods);
  for (size_t i = 0; i < to->method_count; ++i) {
    copy_method(copy, blob, i, &copy->blob_methods[i]);
  }
  to->state_count = etx_blob_state_count(blob);
  copy->states = take(copy, to->state_count, sizeof *copy->states);
  for (size_t i = 0; i < to->state_count; ++i) {
    copy->states[i] = etx_blob_state_at(blob, i);
  }
  to->methods = copy->blob_methods;
  to->states = copy->states;
}

// ---- constants ----

static size_t state_bytes(const etx_blob_state* state) {
  size_t bytes = etx_dtype_bytes(state->dtype);
  for (size_t i = 0; !state->is_uniform && i < state->rank; ++i) {
    bytes *= (size_t)state->sizes[i];
  }
  return bytes;
}

static void copy_constants(program_copy* copy, const etx_pte* pte) {
  const size_t count = etx_pte_constant_count(pte);
  etx_bytes* const constants = take(copy, count + 1, sizeof *constants);
  size_t* const needed = take(copy, count + 1, sizeof *needed);
  for (size_t p = 0; p < copy->plan_count; ++p) {
    for (size_t v = 0; v < copy->plans[p].value_count; ++v) {
      const etx_pte_value* const value = &copy->plans[p].values[v];
      if (value->kind != ETX_PTE_TENSOR || value->as.tensor.has_allocation ||
          value->as.tensor.data_buffer_index == 0) {
        continue;
      }
      const size_t bytes = etx_pte_tensor_bytes(&value->as.tensor);
      size_t* const at = &needed[value->as.tensor.data_buffer_index];
      if (bytes > *at) *at = bytes;
    }
  }
  for (size_t i = 0; copy->has_blob && i < copy->blob.state_count; ++i) {
    size_t* const at = &needed[copy->states[i].data_buffer_index];
    const size_t bytes = state_bytes(&copy->states[i]);
    if (bytes > *at) *at = bytes;
  }
  for (uint32_t i = 1; i < count; ++i) {
    constants[i].data = etx_pte_constant(pte, i).data;
    constants[i].size = needed[i];
  }
  copy->content.constants = constants;
  copy->content.constant_count = count == 0 ? 1 : count;
}

// ---- the whole ----

program_copy* program_copy_of(etx_bytes file) {
  etx_pte pte;
  etx_blob blob;
  program_copy* const copy = calloc(1, sizeof *copy);
  if (copy == NULL || etx_pte_open(&pte, file, NULL, NULL) != ETX_OK) {
    stop("the file does not open");
  }
  copy_plans(copy, &pte);
  copy->has_blob = etx_blob_open(&blob, &pte, NULL) == ETX_OK;
  if (copy->has_blob) copy_blob(copy, &blob);
  copy_constants(copy, &pte);
  copy->content.plans = copy->plans;
  copy->content.plan_count = copy->plan_count;
  copy->content.constant_alignment = 16;
  return copy;
}

void program_copy_end(program_copy* copy) {
  copied_block* at = copy->blocks;
  while (at != NULL) {
    copied_block* const before = at->before;
    free(at);
    at = before;
  }
  free(copy);
}

etx_pte_value* program_copy_values(program_copy* copy, size_t plan) {
  return (etx_pte_value*)(uintptr_t)copy->plans[plan].values;
}

int64_t* program_copy_arenas(program_copy* copy, size_t plan) {
  return (int64_t*)(uintptr_t)copy->plans[plan].buffer_sizes;
}

etx_pte_instruction* program_copy_instructions(program_copy* copy, size_t plan,
                                               size_t chain) {
  return (etx_pte_instruction*)(uintptr_t)copy->plans[plan]
      .chains[chain]
      .instructions;
}

etx_blob_view* program_copy_views(program_copy* copy, size_t method) {
  return (etx_blob_view*)(uintptr_t)copy->blob_methods[method].views;
}

etx_blob_symbol* program_copy_symbols(program_copy* copy, size_t method) {
  return (etx_blob_symbol*)(uintptr_t)copy->blob_methods[method].symbols;
}

etx_blob_input_dim* program_copy_input_dims(program_copy* copy, size_t method) {
  return (etx_blob_input_dim*)(uintptr_t)copy->blob_methods[method].input_dims;
}

etx_blob_place* program_copy_places(program_copy* copy, size_t method) {
  return (etx_blob_place*)(uintptr_t)copy->blob_methods[method].places;
}

size_t program_copy_plan_of(const program_copy* copy, size_t method) {
  size_t plan = 0;
  while (!etx_text_equal(copy->plans[plan].name,
                         copy->blob_methods[method].name)) {
    ++plan;
  }
  return plan;
}

void program_copy_add_layout(program_copy* copy, size_t method) {
  etx_blob_method* const m = &copy->blob_methods[method];
  const size_t plan = program_copy_plan_of(copy, method);
  const etx_pte_plan_content* const from = &copy->plans[plan];
  etx_blob_place* const places =
      take(copy, m->place_count + from->value_count, sizeof *places);
  const uint32_t layout =
      m->place_count == 0 ? 0 : m->places[m->place_count - 1].layout + 1;
  if (m->place_count > 0) {
    memcpy(places, m->places, m->place_count * sizeof *places);
  }
  for (size_t i = 0; i < from->value_count; ++i) {
    const etx_pte_tensor* const tensor = &from->values[i].as.tensor;
    if (from->values[i].kind != ETX_PTE_TENSOR || !tensor->has_allocation ||
        tensor->memory_id != 1) {
      continue;
    }
    places[m->place_count++] =
        (etx_blob_place){(uint32_t)i, layout, tensor->memory_offset,
                         etx_pte_tensor_bytes(tensor)};
  }
  m->places = places;
}

etx_blob_output* program_copy_outputs(program_copy* copy, size_t method) {
  return (etx_blob_output*)(uintptr_t)copy->blob_methods[method].outputs;
}

static etx_bytes write_blob(const program_copy* copy, uint8_t** out_block) {
  size_t needed = 0;
  etx_bytes blob = {NULL, 0};
  if (etx_blob_write_needed(&copy->blob, &needed) != ETX_OK) {
    stop("the blob has no size");
  }
  const etx_bytes_mut work = {aligned_alloc(16, (needed + 31) / 16 * 16),
                              needed};
  if (work.data == NULL ||
      etx_blob_write(&copy->blob, work, &blob, NULL) != ETX_OK) {
    stop("the blob cannot be written");
  }
  *out_block = work.data;
  return blob;
}

etx_bytes_mut program_copy_write(const program_copy* copy) {
  etx_pte_content content = copy->content;
  etx_pte_named_data named = {etx_text_of(ETX_BLOB_KEY), {NULL, 0}, 16};
  uint8_t* blob = NULL;
  if (copy->has_blob) {
    named.data = write_blob(copy, &blob);
    content.named_data = &named;
    content.named_data_count = 1;
  }
  const etx_bytes_mut file = sample_write(&content);
  free(blob);
  return file;
}
