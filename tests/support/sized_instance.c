#define _POSIX_C_SOURCE 200112L  // posix_memalign

#include "tests/support/sized_instance.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/size_values.h"
#include "runtime/variants.h"
#include "tests/support/assert_status.h"

enum { POISON = 0xff };

static etx_bytes_mut take(size_t size) {
  void* data = NULL;
  if (posix_memalign(&data, ETX_SHARED_MEMORY_ALIGNMENT,
                     size == 0 ? 1 : size) != 0) {
    abort();
  }
  memset(data, POISON, size);
  return (etx_bytes_mut){data, size};
}

// ---- inputs ----

static int64_t draw_between(int64_t least, int64_t most,
                            hostile_random* random) {
  const uint64_t range = (uint64_t)most - (uint64_t)least;
  if (hostile_chance(random, 20)) return least;
  if (hostile_chance(random, 20)) return most;
  if (range == UINT64_MAX) return (int64_t)hostile_next(random);
  return (int64_t)((uint64_t)least + hostile_next(random) % (range + 1));
}

static bool draw_symbols(sized_inputs* out, const etx_blob* blob, size_t method,
                         int64_t most_span, hostile_random* random) {
  out->symbol_count = etx_blob_symbol_count(blob, method);
  if (out->symbol_count > SIZED_MOST_SYMBOLS) return false;
  for (size_t i = 0; i < out->symbol_count; ++i) {
    const etx_blob_symbol symbol = etx_blob_symbol_at(blob, method, i);
    out->symbols[i].name = symbol.name;
    // Damaged bounds may be in the wrong order, or further apart than a number.
    const uint64_t span = (uint64_t)symbol.maximum - (uint64_t)symbol.minimum;
    const int64_t most =
        span <= (uint64_t)most_span
            ? symbol.maximum
            : (int64_t)((uint64_t)symbol.minimum + (uint64_t)most_span);
    out->symbols[i].size = draw_between(symbol.minimum, most, random);
  }
  return true;
}

static void fill(uint8_t* data, etx_dtype dtype, size_t bytes,
                 hostile_random* random) {
  const size_t size = etx_dtype_bytes(dtype);
  for (size_t at = 0; at + size <= bytes; at += size) {
    const uint64_t bits = hostile_next(random);
    const double real = (double)(bits >> 11) * 0x1p-52 - 1;
    const float single = (float)real;
    // Halves between 1/2 and 1, of either sign.
    const uint16_t half = (uint16_t)((bits & 0x83ff) | 0x3800);
    const uint16_t brain = (uint16_t)((bits & 0x807f) | 0x3f00);
    switch (dtype) {
      case ETX_DTYPE_FLOAT32:
        memcpy(data + at, &single, size);
        break;
      case ETX_DTYPE_FLOAT64:
        memcpy(data + at, &real, size);
        break;
      case ETX_DTYPE_FLOAT16:
        memcpy(data + at, &half, size);
        break;
      case ETX_DTYPE_BFLOAT16:
        memcpy(data + at, &brain, size);
        break;
      default:  // little-endian 0 or 1; complex numbers are 0 or tiny
        memset(data + at, 0, size);
        data[at] = (uint8_t)(bits >> 63);
        break;
    }
  }
}

static bool draw_tensor(sized_inputs* out, size_t index,
                        const etx_pte_tensor* bound, size_t most_bytes,
                        hostile_random* random) {
  etx_tensor* const tensor = &out->values[index].as.tensor;
  if (bound->rank > ETX_MAX_RANK ||
      !etx_dtype_is_valid((int64_t)bound->dtype)) {
    return false;
  }
  size_t bytes = etx_dtype_bytes(bound->dtype);
  for (size_t i = 0; i < bound->rank; ++i) {
    const int32_t size = out->sizes[index][i];
    if (size < 0 || (size > 0 && bytes > most_bytes / (size_t)size)) {
      return false;
    }
    bytes *= (size_t)size;
  }
  out->values[index].kind = ETX_VALUE_TENSOR;
  *tensor = (etx_tensor){take(bytes).data, out->sizes[index], NULL, bound->rank,
                         bound->dtype};
  fill(tensor->data, bound->dtype, bytes, random);
  out->bytes[index] = bytes;
  return true;
}

static bool copy_scalar(const etx_port_info* info, etx_value* out) {
  switch (info->kind) {
    case ETX_PTE_NULL:
      out->kind = ETX_VALUE_NONE;
      return true;
    case ETX_PTE_INT:
      out->kind = ETX_VALUE_INT;
      out->as.integer = info->value.as.integer;
      return true;
    case ETX_PTE_BOOL:
      out->kind = ETX_VALUE_BOOL;
      out->as.boolean = info->value.as.boolean;
      return true;
    case ETX_PTE_DOUBLE:
      out->kind = ETX_VALUE_DOUBLE;
      out->as.real = info->value.as.real;
      return true;
    case ETX_PTE_STRING:
      out->kind = ETX_VALUE_STRING;
      out->as.string = info->value.as.string;
      return true;
    default:
      return false;
  }
}

// Sets the sizes, and the integers, that depend on a symbol.
static bool apply_symbols(sized_inputs* out, const etx_blob* blob,
                          size_t method) {
  const size_t count = etx_blob_input_dim_count(blob, method);
  for (size_t i = 0; i < count; ++i) {
    const etx_blob_input_dim dim = etx_blob_input_dim_at(blob, method, i);
    if (dim.input >= out->count || dim.symbol >= out->symbol_count) {
      return false;
    }
    const int64_t size = (int64_t)((uint64_t)out->symbols[dim.symbol].size *
                                       (uint64_t)dim.factor +
                                   (uint64_t)dim.offset);
    if (dim.dim == -1) {
      out->values[dim.input].as.integer = size;
    } else if (dim.dim < 0 || dim.dim >= ETX_MAX_RANK || size < 0 ||
               size > INT32_MAX) {
      return false;
    } else {
      out->sizes[dim.input][dim.dim] = (int32_t)size;
    }
  }
  return true;
}

static bool draw(sized_inputs* out, const etx_program* program, etx_text method,
                 size_t most_bytes, int64_t most_span, hostile_random* random) {
  etx_pte_plan plan;
  etx_port_info ports[SIZED_MOST_INPUTS];
  size_t described = SIZE_MAX;
  if (etx_program_find_plan(program, method, &plan, NULL) != ETX_OK) {
    return false;
  }
  const size_t count = etx_pte_input_count(&plan);
  if (count > SIZED_MOST_INPUTS) return false;
  for (; out->count < count; ++out->count) {
    const size_t i = out->count;
    if (etx_program_input_at(program, method, i, &ports[i], NULL) != ETX_OK) {
      return false;
    }
    if (ports[i].kind != ETX_PTE_TENSOR) {
      if (!copy_scalar(&ports[i], &out->values[i])) return false;
      continue;
    }
    const etx_pte_tensor* const bound = &ports[i].value.as.tensor;
    if (bound->rank > ETX_MAX_RANK) return false;
    if (bound->rank > 0) {
      memcpy(out->sizes[i], bound->sizes, bound->rank * sizeof(int32_t));
    }
  }
  if (program->has_blob &&
      etx_blob_method_find(&program->blob, method, &described) &&
      (!draw_symbols(out, &program->blob, described, most_span, random) ||
       !apply_symbols(out, &program->blob, described))) {
    return false;
  }
  for (size_t i = 0; i < count; ++i) {
    if (ports[i].kind == ETX_PTE_TENSOR &&
        !draw_tensor(out, i, &ports[i].value.as.tensor, most_bytes, random)) {
      return false;
    }
  }
  return true;
}

bool sized_inputs_draw(sized_inputs* out, const etx_program* program,
                       etx_text method, size_t most_bytes, int64_t most_span,
                       hostile_random* random) {
  memset(out, 0, sizeof *out);
  if (draw(out, program, method, most_bytes, most_span, random)) return true;
  sized_inputs_end(out);
  return false;
}

void sized_inputs_end(sized_inputs* inputs) {
  for (size_t i = 0; i < inputs->count; ++i) {
    if (inputs->values[i].kind == ETX_VALUE_TENSOR) {
      free(inputs->values[i].as.tensor.data);
    }
  }
  inputs->count = 0;
}

// ---- instances ----

static etx_status load(sized_instance* instance, size_t index, etx_diag* diag) {
  etx_memory_needed needed;
  etx_planned_memory state;
  sized_method* const m = &instance->methods[index];
  ETX_TRY(etx_method_needed(instance->program, m->name, &needed, diag));
  ETX_TRY(
      etx_shared_memory_allocator(&instance->session, m->name, &state, diag));
  m->structures = take(needed.structure_bytes);
  const etx_method_memory memory = {m->structures, instance->scratch,
                                    instance->temporary, &state};
  if (instance->memory_count > 0) {
    const etx_board_memory board = {memory, instance->memories,
                                    instance->memory_count};
    ETX_TRY(etx_method_init_in_memories(&m->method, instance->program, m->name,
                                        &board, NULL, diag));
    m->is_loaded = true;
    return ETX_OK;
  }
  ETX_TRY(etx_method_init(&m->method, instance->program, m->name, &memory, NULL,
                          diag));
  m->is_loaded = true;
  return ETX_OK;
}

static etx_status use_copies(sized_instance* instance, size_t index,
                             etx_diag* diag) {
  sized_method* const m = &instance->methods[index];
  etx_memory_needed needed;
  size_t count = 0;
  if (instance->program->limits.kept_sizes == 0) return ETX_OK;
  ETX_TRY(etx_method_variants_needed(instance->program, m->name, &count,
                                     &needed, diag));
  if (count == 0) return ETX_OK;
  m->copies = take(needed.structure_bytes);
  return etx_method_use_variants(&m->method, m->copies, NULL, diag);
}

size_t sized_instance_keep_size_values(sized_instance* instance) {
  size_t bytes = 0;
  for (size_t i = 0; i < instance->method_count; ++i) {
    sized_method* const m = &instance->methods[i];
    const size_t needed =
        m->is_loaded ? etx_method_size_values_needed(&m->method) : 0;
    if (needed == 0) continue;
    etx_diag diag;
    m->size_values = take(needed);
    assert_ok(etx_method_keep_size_values(&m->method, m->size_values, &diag));
    bytes += needed;
  }
  return bytes;
}

// The bytes that the most demanding methods need at their largest sizes.
static etx_status find_needed(const etx_program* program, size_t most_bytes,
                              etx_memory_needed* out, etx_diag* diag) {
  memset(out, 0, sizeof *out);
  for (size_t i = 0; i < etx_program_method_count(program); ++i) {
    etx_method_info info;
    etx_memory_needed needed;
    ETX_TRY(etx_program_method_at(program, i, &info));
    if (info.is_constant) continue;
    ETX_TRY(etx_method_needed(program, info.name, &needed, diag));
    if (needed.structure_bytes > most_bytes ||
        needed.scratch_bytes > most_bytes ||
        needed.temporary_bytes > most_bytes ||
        needed.state_bytes > most_bytes) {
      return ETX_OUT_OF_RANGE;
    }
    if (needed.scratch_bytes > out->scratch_bytes) {
      out->scratch_bytes = needed.scratch_bytes;
    }
    if (needed.temporary_bytes > out->temporary_bytes) {
      out->temporary_bytes = needed.temporary_bytes;
    }
  }
  return ETX_OK;
}

// Allocates the memories of a program that has several: for each what the most
// demanding method needs there.
static etx_status take_memories(sized_instance* out) {
  size_t largest[SIZED_MOST_MEMORIES] = {0};
  for (size_t i = 0; i < out->method_count; ++i) {
    size_t bytes[SIZED_MOST_MEMORIES];
    size_t count = 0;
    etx_method_info info;
    ETX_TRY(etx_program_method_at(out->program, i, &info));
    if (info.is_constant || !out->program->has_blob) continue;
    ETX_TRY(etx_method_memories_needed(out->program, info.name, bytes,
                                       SIZED_MOST_MEMORIES, &count, NULL));
    if (count > out->memory_count) out->memory_count = count;
    for (size_t k = 0; k < count; ++k) {
      if (bytes[k] > largest[k]) largest[k] = bytes[k];
    }
  }
  if (out->memory_count < 2) out->memory_count = 0;
  for (size_t k = 0; k < out->memory_count; ++k) {
    out->memories[k] = take(largest[k]);
  }
  return ETX_OK;
}

etx_status sized_instance_open(sized_instance* out, const etx_program* program,
                               size_t most_bytes, etx_diag* diag) {
  size_t state_bytes = 0;
  etx_memory_needed needed;
  memset(out, 0, sizeof *out);
  out->program = program;
  out->method_count = etx_program_method_count(program);
  if (out->method_count > SIZED_MOST_METHODS) return ETX_OUT_OF_RANGE;
  ETX_TRY(find_needed(program, most_bytes, &needed, diag));
  ETX_TRY(etx_shared_memory_needed(program, &state_bytes));
  if (state_bytes > most_bytes) return ETX_OUT_OF_RANGE;
  out->state = take(state_bytes);
  ETX_TRY(take_memories(out));
  if (out->memory_count == 0) out->scratch = take(needed.scratch_bytes);
  out->temporary = take(needed.temporary_bytes);
  ETX_TRY(etx_shared_memory_init(&out->session, program, out->state, diag));
  for (size_t i = 0; i < out->method_count; ++i) {
    etx_method_info info;
    ETX_TRY(etx_program_method_at(program, i, &info));
    out->methods[i].name = info.name;
    if (info.is_constant) continue;
    ETX_TRY(load(out, i, diag));
    ETX_TRY(use_copies(out, i, diag));
  }
  return ETX_OK;
}

etx_status sized_instance_open_at(sized_instance* out,
                                  const sized_instance* from, size_t method,
                                  const sized_inputs* inputs, etx_diag* diag) {
  etx_memory_needed needed;
  memset(out, 0, sizeof *out);
  out->program = from->program;
  out->method_count = from->method_count;
  sized_method* const m = &out->methods[method];
  m->name = from->methods[method].name;
  out->state = take(from->state.size);
  ETX_TRY(
      etx_shared_memory_fork(&from->session, &out->session, out->state, diag));
  ETX_TRY(etx_method_needed(out->program, m->name, &needed, diag));
  if (load(out, method, NULL) != ETX_OK) {
    // It needs the same memory at all sizes, and is not loaded with less.
    free(m->structures.data);
    out->scratch = take(needed.scratch_bytes);
    out->temporary = take(needed.temporary_bytes);
    return load(out, method, diag);
  }
  ETX_TRY(etx_method_needed_at(&m->method, inputs->symbols,
                               inputs->symbol_count, &needed, diag));
  out->scratch = take(needed.scratch_bytes);
  out->temporary = take(needed.temporary_bytes);
  return etx_method_set_memory(&m->method, out->scratch, out->temporary, diag);
}

static void free_inputs(sized_instance* instance) {
  for (size_t i = 0; i < instance->input_count; ++i) free(instance->inputs[i]);
  instance->input_count = 0;
}

void sized_instance_close(sized_instance* instance) {
  free_inputs(instance);
  for (size_t i = 0; i < instance->method_count && i < SIZED_MOST_METHODS;
       ++i) {
    free(instance->methods[i].structures.data);
    free(instance->methods[i].copies.data);
    free(instance->methods[i].size_values.data);
  }
  free(instance->state.data);
  free(instance->scratch.data);
  for (size_t k = 0; k < instance->memory_count; ++k) {
    free(instance->memories[k].data);
  }
  free(instance->temporary.data);
  instance->method_count = 0;
}

static etx_status set_inputs(sized_instance* instance, etx_method* method,
                             const sized_inputs* inputs, etx_diag* diag) {
  free_inputs(instance);
  for (size_t i = 0; i < inputs->count; ++i) {
    etx_value value = inputs->values[i];
    instance->inputs[i] = NULL;
    ++instance->input_count;
    if (value.kind == ETX_VALUE_TENSOR) {
      value.as.tensor.data = instance->inputs[i] = take(inputs->bytes[i]).data;
      memcpy(instance->inputs[i], inputs->values[i].as.tensor.data,
             inputs->bytes[i]);
    }
    ETX_TRY(etx_method_set_value(method, i, &value, diag));
  }
  return ETX_OK;
}

etx_status sized_instance_call(sized_instance* instance, size_t method,
                               const sized_inputs* inputs, etx_diag* diag) {
  etx_method* const m = &instance->methods[method].method;
  if (instance->memory_count == 0) {
    memset(instance->scratch.data, POISON, instance->scratch.size);
  }
  for (size_t k = 0; k < instance->memory_count; ++k) {
    memset(instance->memories[k].data, POISON, instance->memories[k].size);
  }
  memset(instance->temporary.data, POISON, instance->temporary.size);
  ETX_TRY(set_inputs(instance, m, inputs, diag));
  etx_method_seed(m, 1);
  return etx_method_run(m, diag);
}

// ---- comparison ----

static bool same_tensor(const etx_tensor* a, const etx_tensor* b) {
  if (a->dtype != b->dtype || a->rank != b->rank) return false;
  for (size_t i = 0; i < a->rank; ++i) {
    if (a->sizes[i] != b->sizes[i]) return false;
  }
  const size_t bytes = etx_tensor_bytes(a);
  // Outputs are contiguous; one in another order has it in both.
  return bytes == 0 || memcmp(a->data, b->data, bytes) == 0;
}

static bool same_value(const etx_value* a, const etx_value* b) {
  if (a->kind != b->kind) return false;
  switch (a->kind) {
    case ETX_VALUE_TENSOR:
      return same_tensor(&a->as.tensor, &b->as.tensor);
    case ETX_VALUE_INT:
      return a->as.integer == b->as.integer;
    case ETX_VALUE_BOOL:
      return a->as.boolean == b->as.boolean;
    case ETX_VALUE_DOUBLE:
      return memcmp(&a->as.real, &b->as.real, sizeof a->as.real) == 0;
    default:
      return true;
  }
}

const char* sized_instance_difference(const sized_instance* a,
                                      const sized_instance* b, size_t method,
                                      const sized_inputs* inputs) {
  const etx_method* const first = &a->methods[method].method;
  const etx_method* const second = &b->methods[method].method;
  if (first->output_count != second->output_count) return "number of outputs";
  for (size_t i = 0; i < first->output_count; ++i) {
    const etx_value* x = NULL;
    const etx_value* y = NULL;
    if (etx_method_output(first, i, &x) != ETX_OK ||
        etx_method_output(second, i, &y) != ETX_OK || !same_value(x, y)) {
      return "an output";
    }
  }
  for (size_t i = 0; i < inputs->count; ++i) {
    if (inputs->bytes[i] > 0 &&
        memcmp(a->inputs[i], b->inputs[i], inputs->bytes[i]) != 0) {
      return "a tensor that was given";
    }
  }
  return NULL;
}

bool sized_instance_same_state(const sized_instance* a,
                               const sized_instance* b) {
  return a->state.size == b->state.size &&
         (a->state.size == 0 ||
          memcmp(a->state.data, b->state.data, a->state.size) == 0);
}
