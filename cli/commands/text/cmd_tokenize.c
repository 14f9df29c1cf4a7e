// etx tokenize: text to ids, and ids to text.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/exit_code.h"
#include "cli/base/mapped_file.h"
#include "cli/base/options.h"
#include "cli/commands/text/text_commands.h"
#include "cli/json/json_value.h"
#include "cli/text/text_model.h"
#include "tokenizer/tokenizer.h"

static const char about[] =
    "Encodes a text with a tokenizer.json, the format of Hugging Face's "
    "package\n"
    "tokenizers, or a SentencePiece model, and prints its ids. Without TEXT, "
    "standard input is read to "
    "its\n"
    "end. --decode reads ids instead, with spaces between them, and prints "
    "their\n"
    "text without special tokens.\n";

static const char examples[] =
    "  etx tokenize tokenizer.json 'Hello world'\n"
    "  etx tokenize model.pte --offsets --json < page.txt\n"
    "  etx tokenize tokenizer.json --decode '9906 1917'\n";

typedef struct tokenize_options {
  const char* path;
  const char* text;  // NULL: standard input
  const char* pair;  // NULL: none
  bool decode, offsets, no_special_tokens, json;
} tokenize_options;

// A tokenizer with its memory, and what it works on.
typedef struct tokenize_job {
  const tokenize_options* options;
  etx_tokenizer tokenizer;
  void* block;
  bool has_model;
  etx_text_model model;  // whose tokenizer it is, if has_model
  char* input;           // standard input, or NULL
  etx_text text;
  void* memory;  // of a call
  uint32_t* ids;
  etx_token_span* spans;
  etx_diag diag;
} tokenize_job;

static etx_status no_memory(tokenize_job* job) {
  return etx_diag_fail(&job->diag, ETX_HOST_FAILED,
                       "the system has too little memory");
}

static etx_status read_input(tokenize_job* job) {
  size_t capacity = 0, size = 0;
  if (job->options->text != NULL) {
    job->text = etx_text_of(job->options->text);
    return ETX_OK;
  }
  for (;;) {
    if (size == capacity) {
      capacity = capacity == 0 ? 65536 : 2 * capacity;
      char* const larger = realloc(job->input, capacity);
      if (larger == NULL) return no_memory(job);
      job->input = larger;
    }
    const size_t count = fread(job->input + size, 1, capacity - size, stdin);
    if (count == 0) break;
    size += count;
  }
  if (ferror(stdin)) {
    return etx_diag_fail(&job->diag, ETX_HOST_FAILED, "standard input: %s",
                         strerror(errno));
  }
  job->text = (etx_text){job->input, size};
  return ETX_OK;
}

static bool is_program(const char* path) {
  const size_t size = strlen(path);
  return size > 4 && strcmp(path + size - 4, ".pte") == 0;
}

static etx_status load(tokenize_job* job) {
  if (is_program(job->options->path)) {
    const etx_run_session_options session = {.threads = 1};
    ETX_TRY(etx_text_model_open(&job->model, job->options->path, NULL, true,
                                &session, &job->diag));
    job->has_model = true;
    job->tokenizer = job->model.tokenizer;
    return ETX_OK;
  }
  etx_mapped_file file;
  size_t bytes = 0;
  etx_status status =
      etx_mapped_file_open(&file, job->options->path, &job->diag);
  if (status != ETX_OK) return status;
  status = etx_tokenizer_needed(file.bytes, &bytes, &job->diag);
  if (status == ETX_OK) {
    job->block = malloc(bytes);
    const etx_bytes_mut block = {job->block, bytes};
    status = job->block == NULL
                 ? no_memory(job)
                 : etx_tokenizer_init(&job->tokenizer, file.bytes, block,
                                      &job->diag);
  }
  etx_mapped_file_close(&file);
  return status;
}

// Encodes with as much memory as most texts need, and then with as much as any.
static etx_status encode(tokenize_job* job, etx_encode_output* output) {
  const tokenize_options* const options = job->options;
  const etx_encode_request request = {
      .text = job->text,
      .pair = etx_text_of(options->pair),
      .has_pair = options->pair != NULL,
      .no_special_tokens = options->no_special_tokens};
  const size_t longest =
      request.pair.size > job->text.size ? request.pair.size : job->text.size;
  const size_t needed = etx_tokenizer_encode_needed(&job->tokenizer, longest);
  const size_t usual = 256 * longest + 65536;
  const size_t sizes[2] = {usual < needed ? usual : needed, needed};
  output->capacity = job->text.size + request.pair.size + 256;
  etx_status status = ETX_OUT_OF_MEMORY;
  for (int i = 0; i < 4; ++i) {
    const size_t size = sizes[status != ETX_OUT_OF_MEMORY || i > 0];
    free(job->memory);
    free(job->ids);
    free(job->spans);
    job->memory = malloc(size);
    job->ids = malloc(output->capacity * sizeof *job->ids);
    job->spans = malloc(output->capacity * sizeof *job->spans);
    if (job->memory == NULL || job->ids == NULL || job->spans == NULL) {
      return no_memory(job);
    }
    output->ids = job->ids;
    output->spans = job->spans;
    etx_diag_init(&job->diag);
    const etx_bytes_mut memory = {job->memory, size};
    status = etx_tokenizer_encode(&job->tokenizer, &request, memory, output,
                                  &job->diag);
    if (status == ETX_OUT_OF_RANGE && output->count > output->capacity) {
      output->capacity = output->count;
    } else if (status != ETX_OUT_OF_MEMORY || size == needed) {
      break;
    }
  }
  return status;
}

static bool print_json(const tokenize_job* job,
                       const etx_encode_output* output) {
  json_t* const root = json_object();
  json_t* const ids = json_array();
  json_t* const offsets = json_array();
  for (size_t i = 0; i < output->count; ++i) {
    json_array_append_new(ids, etx_json_unsigned(output->ids[i]));
    json_t* const span = json_array();
    json_array_append_new(span, etx_json_unsigned(output->spans[i].begin));
    json_array_append_new(span, etx_json_unsigned(output->spans[i].end));
    json_array_append_new(offsets, span);
  }
  json_object_set_new(root, "ids", ids);
  if (job->options->offsets) {
    json_object_set_new(root, "offsets", offsets);
  } else {
    json_decref(offsets);
  }
  return etx_json_print(root);
}

static etx_exit print_ids(const tokenize_job* job,
                          const etx_encode_output* output) {
  if (job->options->json) {
    return print_json(job, output) ? ETX_EXIT_DONE : ETX_EXIT_MACHINE_FAILED;
  }
  for (size_t i = 0; i < output->count; ++i) {
    if (!job->options->offsets) {
      printf("%s%u", i == 0 ? "" : " ", (unsigned)output->ids[i]);
      continue;
    }
    const etx_text token = etx_tokenizer_token(&job->tokenizer, output->ids[i]);
    printf("%u\t%u\t%u\t%.*s\n", (unsigned)output->ids[i],
           (unsigned)output->spans[i].begin, (unsigned)output->spans[i].end,
           (int)token.size, token.data == NULL ? "" : token.data);
  }
  if (!job->options->offsets) fputc('\n', stdout);
  return ETX_EXIT_DONE;
}

// Reads ids from the text. Commas and brackets count as spaces.
static etx_status read_ids(tokenize_job* job, size_t* count) {
  *count = 0;
  job->ids = malloc((job->text.size + 1) * sizeof *job->ids);
  if (job->ids == NULL) return no_memory(job);
  for (size_t at = 0; at < job->text.size;) {
    const char c = job->text.data[at];
    if (memchr(" \t\r\n,[]", c, 8) != NULL) {
      ++at;
      continue;
    }
    uint64_t id = 0;
    const size_t begin = at;
    for (; at < job->text.size && job->text.data[at] >= '0' &&
           job->text.data[at] <= '9' && id <= UINT32_MAX;
         ++at) {
      id = id * 10 + (uint64_t)(job->text.data[at] - '0');
    }
    if (at == begin || id > UINT32_MAX) {
      return etx_diag_fail(&job->diag, ETX_BAD_ARGUMENT,
                           "expected an id at byte %z of the input", begin);
    }
    job->ids[(*count)++] = (uint32_t)id;
  }
  return ETX_OK;
}

static etx_status decode(tokenize_job* job, etx_text* out) {
  size_t count = 0;
  etx_status status = read_ids(job, &count);
  if (status != ETX_OK) return status;
  const size_t needed = etx_tokenizer_decode_needed(&job->tokenizer, count);
  const etx_decode_request request = {job->ids, count, true};
  for (size_t size = 64 * count + 65536;;
       size = size > needed / 4 ? needed : 4 * size) {
    if (size > needed) size = needed;
    free(job->memory);
    job->memory = malloc(size);
    if (job->memory == NULL) return no_memory(job);
    etx_diag_init(&job->diag);
    const etx_bytes_mut memory = {job->memory, size};
    status = etx_tokenizer_decode(&job->tokenizer, &request, memory, out,
                                  &job->diag);
    if (status != ETX_OUT_OF_MEMORY || size == needed) return status;
  }
}

static etx_exit tokenize(tokenize_job* job) {
  etx_encode_output output = {.ids = NULL};
  etx_text text = {NULL, 0};
  etx_status status = load(job);
  if (status != ETX_OK) {
    return etx_error_report("tokenize", job->options->path, status, &job->diag);
  }
  status = read_input(job);
  if (status == ETX_OK) {
    status = job->options->decode ? decode(job, &text) : encode(job, &output);
  }
  if (status != ETX_OK)
    return etx_error_report("tokenize", NULL, status, &job->diag);
  if (!job->options->decode) return print_ids(job, &output);
  if (job->options->json) {
    json_t* const root = json_object();
    json_object_set_new(root, "text", etx_json_text(text));
    return etx_json_print(root) ? ETX_EXIT_DONE : ETX_EXIT_MACHINE_FAILED;
  }
  fwrite(text.data, 1, text.size, stdout);
  fputc('\n', stdout);
  return ETX_EXIT_DONE;
}

int etx_cmd_tokenize(int argc, char** argv) {
  tokenize_options options = {.path = NULL};
  const etx_usage usage = {
      .command = "tokenize",
      .about = about,
      .examples = examples,
      .positionals = ETX_POSITIONALS(
          {"FILE",
           "a tokenizer.json, a SentencePiece model, or a program (.pte)",
           &options.path, true},
          {"TEXT", "the text, or ids with --decode", &options.text, false}),
      .options = ETX_OPTIONS(
          ETX_FLAG("decode", 0, "turn ids into text", &options.decode),
          ETX_FLAG("offsets", 0,
                   "print a line for each id: its bytes and its token",
                   &options.offsets),
          ETX_FLAG("no-special-tokens", 0, "leave out what is put around texts",
                   &options.no_special_tokens),
          ETX_TEXT("pair", 0, "TEXT", "encode a second text with it",
                   &options.pair),
          ETX_FLAG("json", 0, "print JSON", &options.json)),
  };
  const etx_options_result read = etx_options_read(&usage, argc, argv);
  if (read != ETX_OPTIONS_READ) return etx_options_exit(read);
  tokenize_job job;
  memset(&job, 0, sizeof job);
  job.options = &options;
  etx_diag_init(&job.diag);
  const etx_exit code = tokenize(&job);
  if (job.has_model) etx_text_model_close(&job.model);
  free(job.block);
  free(job.input);
  free(job.memory);
  free(job.ids);
  free(job.spans);
  return (int)code;
}
