// Runs test vectors through the public kernel table:
//
//   check_ops DIR [-v | -b]
//
// reads every `*.jsonl` below DIR. Each case is run as it is, and once more
// for each argument that the row allows an output to overwrite, with the
// output at that argument's bytes: the result must be the same to the bit. And
// in each way of vector_variants.h, vector_bounds.h and vector_retyped.h.
// Cases of operators without a row and of types that a kernel does not know
// are skipped. Ends with "N passed, M failed, K skipped"; exit code 6 if any
// failed or none passed. In a build that leaves types out, cases with such a
// type must be refused for it, and the last line counts them too. -v names the
// skipped and the refused; -b prints a hash of all bits of all results, which
// must be the same from every build on every machine.

#include <stdio.h>
#include <string.h>

#include "tests/ops/vector_bounds.h"
#include "tests/ops/vector_compare.h"
#include "tests/ops/vector_retyped.h"
#include "tests/ops/vector_tree.h"
#include "tests/ops/vector_variants.h"
#include "tests/support/assert_message.h"

enum { MESSAGE = 256 };  // bytes

typedef struct vector_counts {
  size_t passed, failed, skipped, left_out;
  uint64_t hash;
  bool is_verbose;
  bool prints_hash;
} vector_counts;

// FNV-1a over the elements of a result, which lies densely. NaNs count as one:
// their sign is not promised.
static void add_to_hash(vector_counts* t, const etx_tensor* tensor) {
  const unsigned char* bytes = tensor->data;
  const etx_dtype part = vector_component(tensor->dtype);
  const size_t size = etx_dtype_bytes(part);
  const size_t count = etx_tensor_bytes(tensor) / size;
  for (size_t i = 0; i < count; ++i, bytes += size) {
    const double value = vector_real(part, bytes);
    for (size_t k = 0; k < size; ++k) {
      t->hash ^= value == value ? bytes[k] : 0x7f;
      t->hash *= UINT64_C(0x100000001b3);
    }
  }
}

static const char* id_of(json_t* test_case) {
  return json_string_value(json_object_get(test_case, "id"));
}

static void fail(vector_counts* t, json_t* test_case, const char* why,
                 const char* detail) {
  ++t->failed;
  printf("FAILED %s: %s%s%s\n", id_of(test_case), why,
         *detail == '\0' ? "" : ": ", detail);
}

static void skip(vector_counts* t, json_t* test_case, const char* why) {
  ++t->skipped;
  if (t->is_verbose) printf("skipped %s: %s\n", id_of(test_case), why);
}

// True if output 0 may lie on argument `index`.
static bool may_overwrite(const vector_call* c, size_t index) {
  const etx_value* value = &c->values[index];
  const etx_tensor* out = &c->outputs[0]->as.tensor;
  if (c->is_written[index] || value->kind != ETX_VALUE_TENSOR) return false;
  const etx_tensor* in = &value->as.tensor;
  if (!etx_tensor_is_contiguous(in) || !etx_tensor_is_contiguous(out) ||
      etx_tensor_bytes(in) != etx_tensor_bytes(out)) {
    return false;
  }
  if (c->op->in_place == ETX_IN_PLACE_SELF) {
    return index == 0 && in->dtype == out->dtype;
  }
  if (in->rank != out->rank || in->dtype == ETX_DTYPE_COUNT) return false;
  return memcmp(in->sizes, out->sizes, in->rank * sizeof(int32_t)) == 0;
}

// Runs the case with the output at argument `index`; NULL if the results are
// those of `separate`.
static const char* run_in_place(const vector_call* separate,
                                const vector_file* file, json_t* test_case,
                                size_t index) {
  vector_call c;
  const char* why = vector_call_build(&c, file, test_case, VECTOR_DENSE);
  if (why == NULL) {
    c.outputs[0]->as.tensor.data = c.values[index].as.tensor.data;
    if (vector_call_size(&c, false) != ETX_OK ||
        vector_call_run(&c) != ETX_OK) {
      why = "refused in place";
    }
  }
  for (size_t i = 0; why == NULL && i < c.output_count; ++i) {
    const etx_tensor* a = &separate->outputs[i]->as.tensor;
    const etx_tensor* b = &c.outputs[i]->as.tensor;
    if (memcmp(a->data, b->data, etx_tensor_bytes(a)) != 0) {
      why = "the result in place differs";
    }
  }
  vector_call_end(&c);
  return why;
}

static const char* check_in_place(const vector_call* c, const vector_file* file,
                                  json_t* test_case) {
  const bool has_out =
      c->op->result == ETX_RESULT_OUT || c->op->result == ETX_RESULT_OUT_LIST;
  if (c->op->in_place == ETX_IN_PLACE_NEVER || !has_out || c->is_strided) {
    return NULL;
  }
  for (size_t i = 0; i < c->count; ++i) {
    if (!may_overwrite(c, i)) continue;
    const char* why = run_in_place(c, file, test_case, i);
    if (why != NULL) return why;
  }
  return NULL;
}

// A refusal is right for an error; UNSUPPORTED is a gap, not a fault.
static void check_error(vector_counts* t, const vector_file* file,
                        json_t* test_case) {
  vector_call c;
  const char* why = vector_call_build(&c, file, test_case, VECTOR_DENSE);
  if (why != NULL) {
    skip(t, test_case, why);
  } else if (vector_call_size(&c, true) != ETX_OK ||
             vector_call_run(&c) != ETX_OK) {
    ++t->passed;
    if (t->is_verbose)
      printf("refused %s: %s\n", id_of(test_case), c.diag.text);
  } else {
    const char* reason =
        json_string_value(json_object_get(test_case, "reason"));
    fail(t, test_case, "was not refused", reason == NULL ? "" : reason);
  }
  vector_call_end(&c);
}

static bool is_left_out(const etx_value* value) {
  return value != NULL && value->kind == ETX_VALUE_TENSOR &&
         !etx_dtype_is_built(value->as.tensor.dtype);
}

// True if the call holds a tensor of a type that this build leaves out.
static bool holds_left_out(const vector_call* c) {
  for (size_t i = 0; i < c->call.argument_count; ++i) {
    const etx_value* value = c->call.arguments[i];
    if (is_left_out(value)) return true;
    if (value->kind != ETX_VALUE_TENSORS) continue;
    for (size_t k = 0; k < value->as.tensors.count; ++k) {
      if (is_left_out(value->as.tensors.items[k])) return true;
    }
  }
  return false;
}

// Checks that the kernel refused the call because the build leaves out one of
// its types.
static void check_left_out(vector_counts* t, json_t* test_case,
                           const vector_call* c, etx_status status) {
  const bool says_so =
      test_message_has(&c->diag, "which this build leaves out");
  if (status != ETX_UNSUPPORTED || !says_so) {
    fail(t, test_case, "is not refused for a type that is left out",
         c->diag.text);
    return;
  }
  ++t->left_out;
  if (t->is_verbose)
    printf("left out %s: %s\n", id_of(test_case), c->diag.text);
}

static etx_status run_case(vector_call* c) {
  ETX_TRY(vector_call_size(c, false));
  return vector_call_run(c);
}

// Runs the case in all the other ways.
static const char* check_otherwise(const vector_call* plain,
                                   const vector_file* file, json_t* test_case,
                                   char text[MESSAGE]) {
  const char* why =
      vector_variants_check(plain, file, test_case, text, MESSAGE);
  if (why == NULL) why = vector_bounds_check(file, test_case, text, MESSAGE);
  if (why != NULL) return why;
  return vector_retyped_check(plain, file, test_case, text, MESSAGE);
}

static void check_result(vector_counts* t, const vector_file* file,
                         json_t* test_case) {
  vector_call c;
  char text[MESSAGE];
  const char* why = vector_call_build(&c, file, test_case, VECTOR_AS_STATED);
  if (why != NULL) {
    skip(t, test_case, why);
    vector_call_end(&c);
    return;
  }
  etx_status status = run_case(&c);
  if (status == ETX_UNSUPPORTED && c.is_strided) {
    vector_call_end(&c);
    (void)vector_call_build(&c, file, test_case, VECTOR_DENSE);
    status = run_case(&c);
  }
  if (holds_left_out(&c)) {
    check_left_out(t, test_case, &c, status);
  } else if (status == ETX_UNSUPPORTED) {
    skip(t, test_case, c.diag.text);
  } else if (status != ETX_OK) {
    fail(t, test_case, etx_status_name(status), c.diag.text);
  } else if ((why = vector_compare(&c, file, test_case, text, sizeof(text))) !=
                 NULL ||
             (why = check_in_place(&c, file, test_case)) != NULL ||
             (why = check_otherwise(&c, file, test_case, text)) != NULL ||
             (why = c.dtype_differs ? "the rule names another type" : NULL) !=
                 NULL) {
    fail(t, test_case, why, "");
  } else {
    ++t->passed;
    for (size_t i = 0; i < c.output_count; ++i) {
      add_to_hash(t, &c.outputs[i]->as.tensor);
    }
  }
  vector_call_end(&c);
}

static void check_case(void* context, const vector_file* file,
                       json_t* test_case) {
  const char* expect = json_string_value(json_object_get(test_case, "expect"));
  if (expect != NULL && strcmp(expect, "error") == 0) {
    check_error(context, file, test_case);
  } else {
    check_result(context, file, test_case);
  }
}

int main(int count, char** arguments) {
  if (count < 2) {
    fprintf(stderr, "usage: check_ops DIR [-v | -b]\n");
    return 2;
  }
  vector_counts t = {0};
  t.is_verbose = count > 2 && strcmp(arguments[2], "-v") == 0;
  t.prints_hash = count > 2 && strcmp(arguments[2], "-b") == 0;
  t.failed += vector_tree_walk(arguments[1], check_case, &t);
  if (t.prints_hash) printf("bits %016llx\n", (unsigned long long)t.hash);
  printf("%zu passed, %zu failed, %zu skipped", t.passed, t.failed, t.skipped);
  if (t.left_out > 0) printf(", %zu left out", t.left_out);
  putchar('\n');
  return t.failed > 0 || t.passed == 0 ? 6 : 0;
}
