#include "tests/ops/vector_variants.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "format/tensor/layout.h"
#include "tests/ops/vector_compare.h"

// How the elements of a tensor lie.
typedef enum vector_spread {
  SPREAD_WITH_GAPS,  // row-major, every second element of the memory
  SPREAD_BACKWARDS,  // the first dimension is the innermost one
  SPREAD_COUNT
} vector_spread;

// Which tensor of a call is spread, and how.
typedef struct spread_place {
  size_t index;
  vector_spread how;
  bool is_last;  // set by run_spread if there is no such tensor
} spread_place;

static void run_backwards(void* context, void (*task)(void*, size_t),
                          void* argument, size_t count) {
  (void)context;
  while (count-- > 0) task(argument, count);
}

static void run_forwards(void* context, void (*task)(void*, size_t),
                         void* argument, size_t count) {
  (void)context;
  for (size_t i = 0; i < count; ++i) task(argument, i);
}

static const etx_parallel threads = {.parallel_for = run_backwards,
                                     .thread_count = 3};
static const etx_parallel narrow = {.parallel_for = run_forwards,
                                    .thread_count = 1,
                                    .instruction_set = ETX_SET_BASE};

static size_t offset_of(const etx_tensor* tensor, size_t i) {
  size_t at = 0;
  for (size_t d = tensor->rank; d-- > 0;) {
    at += i % (size_t)tensor->sizes[d] * (size_t)tensor->strides[d];
    i /= (size_t)tensor->sizes[d];
  }
  return at * etx_dtype_bytes(tensor->dtype);
}

static bool same_element(etx_dtype part, const char* a, const char* b,
                         size_t bytes) {
  for (const char* end = a + bytes; a < end; a += etx_dtype_bytes(part)) {
    const double x = vector_real(part, a), y = vector_real(part, b);
    if (memcmp(a, b, etx_dtype_bytes(part)) != 0 && !(isnan(x) && isnan(y))) {
      return false;
    }
    b += etx_dtype_bytes(part);
  }
  return true;
}

static bool same_bits(const etx_tensor* a, const etx_tensor* b) {
  const size_t count = etx_tensor_numel(a);
  const size_t bytes = etx_dtype_bytes(a->dtype);
  if (count != etx_tensor_numel(b) || a->dtype != b->dtype) return false;
  for (size_t i = 0; i < count; ++i) {
    if (!same_element(vector_component(a->dtype),
                      (const char*)a->data + offset_of(a, i),
                      (const char*)b->data + offset_of(b, i), bytes)) {
      return false;
    }
  }
  return true;
}

static etx_status run(vector_call* c) {
  ETX_TRY(vector_call_size(c, false));
  return vector_call_run(c);
}

// Runs the case as `plain` was run, but for these two.
static const char* run_otherwise(const vector_call* plain,
                                 const vector_file* file, json_t* test_case,
                                 const etx_parallel* parallel,
                                 bool is_prepared_twice) {
  vector_call c;
  const char* why = vector_call_build(
      &c, file, test_case, plain->is_strided ? VECTOR_AS_STATED : VECTOR_DENSE);
  if (why == NULL) {
    if (parallel != NULL) c.call.parallel = parallel;
    c.is_prepared_twice = is_prepared_twice;
    if (run(&c) != ETX_OK) why = "is refused";
  }
  for (size_t i = 0; why == NULL && i < c.output_count; ++i) {
    if (!same_bits(&plain->outputs[i]->as.tensor, &c.outputs[i]->as.tensor)) {
      why = "gives other bits";
    }
  }
  vector_call_end(&c);
  return why;
}

// Moves the elements of a dense tensor apart. False if nothing changes.
static bool spread(vector_call* c, etx_tensor* tensor, vector_spread how) {
  const size_t count = etx_tensor_numel(tensor);
  const size_t bytes = etx_dtype_bytes(tensor->dtype);
  if (!etx_tensor_is_contiguous(tensor) || count < 2) return false;
  const etx_tensor dense = *tensor;
  int32_t* from = vector_call_take(c, 2 * sizeof(int32_t) * ETX_MAX_RANK);
  int32_t* strides = from + ETX_MAX_RANK;
  memcpy(from, dense.strides, dense.rank * sizeof(int32_t));
  int32_t step = how == SPREAD_WITH_GAPS ? 2 : 1;
  for (size_t k = 0; k < dense.rank; ++k) {
    const size_t d = how == SPREAD_BACKWARDS ? k : dense.rank - 1 - k;
    strides[d] = step;
    step *= dense.sizes[d];
  }
  etx_tensor old = dense;
  old.strides = from;
  tensor->strides = strides;
  if (etx_tensor_is_contiguous(tensor)) return false;
  tensor->data = vector_call_take(c, (size_t)step * bytes);
  memset(tensor->data, 0x5a, (size_t)step * bytes);
  for (size_t i = 0; i < count; ++i) {
    memcpy((char*)tensor->data + offset_of(tensor, i),
           (const char*)old.data + offset_of(&old, i), bytes);
  }
  return true;
}

// Chains refuse their operands for the type and the layout at once, as a bad
// argument.
static bool is_operand_of_chain(const vector_call* c,
                                const etx_tensor* tensor) {
  for (size_t i = 0; i < c->count; ++i) {
    if (tensor == &c->values[i].as.tensor) return false;
  }
  return strncmp(c->op->name, "etx::", 5) == 0;
}

static const char* run_spread(const vector_file* file, json_t* test_case,
                              spread_place* at, char* text, size_t capacity) {
  vector_call c;
  const char* why = vector_call_build(&c, file, test_case, VECTOR_DENSE);
  if (why == NULL && vector_call_size(&c, false) != ETX_OK) {
    why = "is refused when dense";
  }
  etx_tensor* tensor = why == NULL ? vector_tensor_at(&c, at->index) : NULL;
  at->is_last = tensor == NULL;
  if (tensor != NULL && spread(&c, tensor, at->how)) {
    const etx_status status = vector_call_run(&c);
    if (status == ETX_OK) {
      why = vector_compare(&c, file, test_case, text, capacity);
    } else if (status != ETX_UNSUPPORTED && !is_operand_of_chain(&c, tensor)) {
      snprintf(text, capacity, "%.24s: %.120s", etx_status_name(status),
               c.diag.text);
      why = text;
    }
  }
  vector_call_end(&c);
  return why;
}

static const char* check_spreads(const vector_call* plain,
                                 const vector_file* file, json_t* test_case,
                                 char* text, size_t capacity) {
  // The first makes its result of the elements of the memory, in their order
  // there. The second rounds queries where the rows of keys are dense.
  if (plain->op->id == ETX_OP_as_strided_copy_out ||
      plain->op->id == ETX_OP_attention_scaled_out) {
    return NULL;
  }
  for (int how = 0; how < SPREAD_COUNT; ++how) {
    spread_place at = {.how = (vector_spread)how};
    for (; !at.is_last; ++at.index) {
      char reason[200];
      const char* why =
          run_spread(file, test_case, &at, reason, sizeof(reason));
      if (why == NULL) continue;
      snprintf(text, capacity, "tensor %zu %s: %.180s", at.index,
               how == SPREAD_WITH_GAPS ? "with gaps" : "backwards", why);
      return text;
    }
  }
  return NULL;
}

const char* vector_variants_check(const vector_call* plain,
                                  const vector_file* file, json_t* test_case,
                                  char* text, size_t capacity) {
  const struct {
    const char* name;
    const etx_parallel* parallel;
    bool is_prepared_twice;
  } ways[] = {{"prepared twice", NULL, true},
              {"on several threads", &threads, false},
              {"with the narrowest loops", &narrow, false}};
  for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); ++i) {
    const char* why = run_otherwise(plain, file, test_case, ways[i].parallel,
                                    ways[i].is_prepared_twice);
    if (why == NULL) continue;
    snprintf(text, capacity, "%s: %.40s", ways[i].name, why);
    return text;
  }
  return check_spreads(plain, file, test_case, text, capacity);
}
