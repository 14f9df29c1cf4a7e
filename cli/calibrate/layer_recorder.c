#include "cli/calibrate/layer_recorder.h"

#include <string.h>

#include "exporter/host/half_bits.h"

enum { INPUT = 0, WEIGHT = 1 };  // arguments of a linear layer

// ------------------------------------------------ layers

// Gives a layer memory for its sums, if `most` bytes are enough for it.
static etx_status begin_layer(etx_layer_recorder* r, etx_recorded_layer* layer,
                              size_t most) {
  size_t bytes = 0;
  if (!etx_input_products_bytes(layer->inner, &bytes) || bytes > most) {
    return ETX_OK;
  }
  float* const memory = etx_pool_take(&r->sums, bytes);
  if (memory == NULL) return ETX_OUT_OF_MEMORY;
  r->sums_left -= bytes < r->sums_left ? bytes : r->sums_left;
  etx_input_products_init(&layer->products, layer->inner, memory);
  layer->is_recorded = true;
  return ETX_OK;
}

static etx_status add_layer(etx_layer_recorder* r, etx_bytes weight,
                            size_t inner) {
  ETX_TRY(etx_pool_grow(r->pool, &r->layers, r->count, &r->capacity,
                        sizeof *r->layers));
  etx_recorded_layer* const layer = &r->layers[r->count++];
  *layer = (etx_recorded_layer){.weight = weight, .inner = inner};
  return begin_layer(r, layer, r->sums_left);
}

// The layer of a weight in the program, which is added if it is new.
static etx_recorded_layer* layer_of(etx_layer_recorder* r, etx_bytes weight,
                                    size_t inner) {
  for (size_t i = 0; i < r->count; ++i) {
    if (r->layers[i].weight.data == weight.data) return &r->layers[i];
  }
  r->status = add_layer(r, weight, inner);
  return r->status == ETX_OK ? &r->layers[r->count - 1] : NULL;
}

size_t etx_layer_recorder_find(const etx_layer_recorder* recorder,
                               etx_bytes weight) {
  size_t i = 0;
  while (i < recorder->count) {
    const etx_bytes known = recorder->layers[i].weight;
    if (known.size == weight.size &&
        memcmp(known.data, weight.data, weight.size) == 0) {
      break;
    }
    ++i;
  }
  return i;
}

// ------------------------------------------------ inputs

static float read_float(const etx_tensor* from, const uint8_t* at) {
  if (from->dtype == ETX_DTYPE_BFLOAT16) return etx_from_bfloat16(at);
  if (from->dtype == ETX_DTYPE_FLOAT16) return etx_from_float16(at);
  float x;
  memcpy(&x, at, sizeof x);
  return x;
}

// Adds each row of an input of any strides.
static void add_rows(etx_layer_recorder* r, etx_recorded_layer* layer,
                     const etx_tensor* input, float* row) {
  const size_t last = (size_t)input->rank - 1;
  const size_t bytes = etx_dtype_bytes(input->dtype);
  size_t rows = 1;
  for (size_t d = 0; d < last; ++d) rows *= (size_t)input->sizes[d];
  for (size_t i = 0; i < rows; ++i) {
    size_t offset = 0, rest = i;
    for (size_t d = last; d-- > 0;) {
      const size_t size = (size_t)input->sizes[d];
      offset += rest % size * (size_t)input->strides[d];
      rest /= size;
    }
    for (size_t k = 0; k < layer->inner; ++k) {
      const size_t element = offset + k * (size_t)input->strides[last];
      row[k] = read_float(input, (const uint8_t*)input->data + element * bytes);
    }
    etx_input_products_add(&layer->products, row, 1, r->workers);
  }
}

static bool is_in(etx_bytes file, const etx_tensor* tensor) {
  const uintptr_t at = (uintptr_t)tensor->data, start = (uintptr_t)file.data;
  return at >= start && at - start < file.size;
}

static void before_call(void* context, size_t instruction,
                        const etx_call* call) {
  etx_layer_recorder* const r = context;
  (void)instruction;
  if (r->status != ETX_OK || call->op->id != ETX_OP_linear_out) return;
  const etx_tensor* const input = &call->arguments[INPUT]->as.tensor;
  const etx_tensor* const weight = &call->arguments[WEIGHT]->as.tensor;
  if (weight->rank != 2 || !is_in(r->program, weight)) return;
  const size_t inner = (size_t)weight->sizes[1];
  const etx_bytes bytes = {weight->data, etx_tensor_bytes(weight)};
  etx_recorded_layer* const layer = layer_of(r, bytes, inner);
  if (layer == NULL || !layer->is_recorded || inner == 0) return;
  etx_pool pool;
  etx_pool_init(&pool);
  float* const row = etx_pool_take(&pool, inner * sizeof *row);
  if (row != NULL) {
    add_rows(r, layer, input, row);
  } else {
    r->status = ETX_OUT_OF_MEMORY;
  }
  etx_pool_close(&pool);
}

static void after_call(void* context, size_t instruction,
                       const etx_call* call) {
  (void)context, (void)instruction, (void)call;
}

// ------------------------------------------------ recording

void etx_layer_recorder_open(etx_layer_recorder* recorder, etx_bytes program,
                             size_t most_bytes, const etx_workers* workers,
                             etx_pool* pool) {
  *recorder =
      (etx_layer_recorder){.observer = {before_call, after_call, recorder},
                           .program = program,
                           .workers = workers,
                           .pool = pool,
                           .sums_left = most_bytes};
  etx_pool_init(&recorder->sums);
}

void etx_layer_recorder_close(etx_layer_recorder* recorder) {
  etx_pool_close(&recorder->sums);
}

etx_status etx_layer_recorder_restart(etx_layer_recorder* recorder,
                                      size_t first, size_t most_bytes) {
  etx_pool_close(&recorder->sums);
  recorder->sums_left = most_bytes;
  for (size_t i = 0; i < recorder->count; ++i) {
    recorder->layers[i].is_recorded = false;
  }
  ETX_TRY(begin_layer(recorder, &recorder->layers[first], SIZE_MAX));
  for (size_t i = 0; i < recorder->count; ++i) {
    etx_recorded_layer* const layer = &recorder->layers[i];
    if (layer->was_used || layer->is_recorded) continue;
    ETX_TRY(begin_layer(recorder, layer, recorder->sums_left));
  }
  return ETX_OK;
}
