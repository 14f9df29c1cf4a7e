// etx embed: texts in, one vector out for each.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/exit_code.h"
#include "cli/base/options.h"
#include "cli/commands/text/text_commands.h"
#include "cli/json/json_value.h"
#include "cli/text/text_command.h"
#include "runtime/method.h"
#include "runtime/program.h"

static const char about[] =
    "Prints a vector for each TEXT, or else for each line of standard input, "
    "with\n"
    "a program that has the method embed, such as those of etx.hf. A vector is "
    "a\n"
    "line of numbers, with nine digits, from which float32 is read back "
    "exactly.\n"
    "--json prints an object in each line: {\"text\": ..., \"embedding\": "
    "[...]}.\n"
    "A program that has a vector for each token gives a list of vectors with\n"
    "--json, and else one line for each token.\n";

static const char examples[] =
    "  etx embed minilm.pte 'a text' 'another text'\n"
    "  etx embed minilm.pte --json < lines.txt\n";

typedef struct embed_options {
  const char* file;
  const char* tokenizer;
  etx_option_list texts;
  uint64_t threads;
  bool json;
} embed_options;

typedef struct embedding {
  const embed_options* options;
  etx_text_model model;
  etx_method* method;
  const char* method_name;
} embedding;

// ---- inputs ----

// Sets an input to [rows, count]: each row has the ids, or `filler` without
// ids. An input that the method does not have is left out.
static etx_status set_input(embedding* e, const char* name,
                            const etx_token_list* ids, int64_t filler,
                            etx_pool* pool, etx_diag* diag) {
  size_t index = 0;
  if (etx_method_find_input(e->method, etx_text_of(name), &index) != ETX_OK) {
    return ETX_OK;
  }
  int64_t* const values = etx_pool_take(pool, ids->count * sizeof *values);
  int32_t* const sizes = etx_pool_take(pool, 2 * sizeof *sizes);
  if (values == NULL || sizes == NULL) {
    return etx_diag_fail(diag, ETX_HOST_FAILED, "no memory for %z tokens",
                         ids->count);
  }
  for (size_t i = 0; i < ids->count; ++i) {
    values[i] = ids->ids == NULL ? filler : ids->ids[i];
  }
  sizes[0] = 1;
  sizes[1] = (int32_t)ids->count;
  const etx_tensor tensor = {
      .data = values, .sizes = sizes, .rank = 2, .dtype = ETX_DTYPE_INT64};
  return etx_method_set_input(e->method, index, &tensor, diag);
}

static etx_status check_count(const embedding* e, size_t count,
                              etx_diag* diag) {
  const int64_t most =
      etx_text_model_integer(&e->model, "get_max_seq_len", INT32_MAX);
  if (count != 0 && (int64_t)count <= most) return ETX_OK;
  return etx_diag_fail(diag, ETX_OUT_OF_RANGE,
                       "a text has %z tokens, the program takes 1 to %i: "
                       "divide it, or export the program with a larger "
                       "max_length",
                       count, most);
}

static etx_status run(embedding* e, etx_text text, etx_pool* pool,
                      const etx_tensor** out, etx_diag* diag) {
  etx_token_list ids;
  ETX_TRY(etx_text_model_encode(&e->model, text, ETX_TEXT_SOURCE, pool, &ids,
                                diag));
  ETX_TRY(check_count(e, ids.count, diag));
  const etx_token_list same = {NULL, ids.count};
  const etx_value* value = NULL;
  ETX_TRY(set_input(e, "input_ids", &ids, 0, pool, diag));
  ETX_TRY(set_input(e, "attention_mask", &same, 1, pool, diag));
  ETX_TRY(set_input(e, "token_type_ids", &same, 0, pool, diag));
  ETX_TRY(etx_run_session_run(&e->model.session, e->method, diag));
  ETX_TRY(etx_method_output(e->method, 0, &value));
  *out = &value->as.tensor;
  if (value->kind == ETX_VALUE_TENSOR && (*out)->dtype == ETX_DTYPE_FLOAT32 &&
      ((*out)->rank == 2 || (*out)->rank == 3) && (*out)->sizes[0] == 1 &&
      etx_tensor_is_contiguous(*out)) {
    return ETX_OK;
  }
  return etx_diag_fail(diag, ETX_UNSUPPORTED,
                       "method '%s' does not give float32 [1, width] or [1, "
                       "tokens, width] for one text",
                       e->method_name);
}

// ---- output ----

static json_t* vector_as_json(const float* values, size_t width) {
  json_t* const list = json_array();
  for (size_t i = 0; i < width; ++i) {
    json_array_append_new(list, etx_json_real((double)values[i]));
  }
  return list;
}

static bool print_json(etx_text text, const etx_tensor* found, size_t rows,
                       size_t width) {
  const float* const values = found->data;
  json_t* const object = json_object();
  json_t* list = json_array();
  for (size_t r = 0; r < rows; ++r) {
    json_array_append_new(list, vector_as_json(values + r * width, width));
  }
  if (found->rank == 2) {
    json_decref(list);
    list = vector_as_json(values, width);
  }
  json_object_set_new(object, "text", etx_json_text(text));
  json_object_set_new(object, "embedding", list);
  char* const line = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(9));
  json_decref(object);
  const bool is_printed = line != NULL && printf("%s\n", line) >= 0;
  free(line);
  return is_printed;
}

static bool print(const embedding* e, etx_text text, const etx_tensor* found) {
  const size_t width = (size_t)found->sizes[found->rank - 1];
  const size_t rows = found->rank == 3 ? (size_t)found->sizes[1] : 1;
  const float* const values = found->data;
  if (e->options->json) return print_json(text, found, rows, width);
  for (size_t i = 0; i < rows * width; ++i) {
    const char end = (i + 1) % width == 0 ? '\n' : ' ';
    if (printf("%.9g%c", (double)values[i], end) < 0) return false;
  }
  return true;
}

// of etx_texts_take
static etx_exit embed_text(void* context, etx_text text) {
  embedding* const e = context;
  const etx_tensor* found = NULL;
  etx_pool pool;
  etx_diag diag;
  etx_diag_init(&diag);
  etx_pool_init(&pool);
  const etx_status status = run(e, text, &pool, &found, &diag);
  const bool is_printed = status == ETX_OK && print(e, text, found);
  etx_pool_close(&pool);
  if (status != ETX_OK) {
    (void)etx_error_report("embed", e->options->file, status, &diag);
    return etx_exit_from_run_status(status);
  }
  return is_printed ? ETX_EXIT_DONE : ETX_EXIT_MACHINE_FAILED;
}

// of etx_text_program_use
static etx_exit embed(void* context) {
  embedding* const e = context;
  etx_diag diag;
  etx_diag_init(&diag);
  e->method_name = etx_text_model_has_method(&e->model, "embed_text")
                       ? "embed_text"
                       : "embed";
  etx_status status = etx_run_session_method(&e->model.session, e->method_name,
                                             &e->method, &diag);
  size_t index = 0;
  if (status == ETX_OK &&
      etx_method_find_input(e->method, etx_text_of("input_ids"), &index) !=
          ETX_OK) {
    status = etx_diag_fail(&diag, ETX_UNSUPPORTED,
                           "method 'embed' has no input 'input_ids': it does "
                           "not read text");
  }
  if (status != ETX_OK) {
    return etx_error_report("embed", e->options->file, status, &diag);
  }
  return etx_texts_take(&e->options->texts, "embed", embed_text, e);
}

int etx_cmd_embed(int argc, char** argv) {
  embed_options options = {.threads = 1};
  const etx_usage usage = {
      .command = "embed",
      .about = about,
      .examples = examples,
      .positionals =
          ETX_POSITIONALS({"FILE", "the program, .pte", &options.file, true}),
      .options = ETX_OPTIONS(
          ETX_TEXT("tokenizer", 0, "FILE",
                   "a tokenizer.json or a SentencePiece model, instead of the "
                   "program's",
                   &options.tokenizer),
          ETX_COUNT("threads", 't', "N",
                    "threads for large operators (default: 1)",
                    &options.threads),
          ETX_FLAG("json", 0, "print a JSON object in each line",
                   &options.json)),
      .rest = &options.texts,
  };
  const etx_options_result read = etx_options_read(&usage, argc, argv);
  if (read != ETX_OPTIONS_READ) return etx_options_exit(read);
  embedding e = {.options = &options};
  const etx_text_program program = {
      .command = "embed",
      .file = options.file,
      .tokenizer = options.tokenizer,
      .session = {.threads = (size_t)options.threads}};
  return (int)etx_text_program_use(&program, &e.model, embed, &e);
}
