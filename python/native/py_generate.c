// Generates text (generate/generator.h): reads the options and calls back into
// Python for each token. The GIL is released but for these calls.
//
// Python passes ids as bytes of int64, so that nothing is converted here:
// etx/_generate.py makes them.

#include "generate/generator.h"
#include "python/native/native_internal.h"
#include "python/native/py_drafts.h"

// Lists of the options that are of the caller's bytes.
typedef struct option_lists {
  etx_sequence_bias* biases;
  etx_token_list* bad_words;
  etx_text* stop_strings;
} option_lists;

static bool read_list(PyObject* object, etx_token_list* out) {
  char* data = NULL;
  Py_ssize_t size = 0;
  if (PyBytes_AsStringAndSize(object, &data, &size) != 0) return false;
  *out = (etx_token_list){(const int64_t*)(void*)data,
                          (size_t)size / sizeof(int64_t)};
  return true;
}

// Zeroed memory for an item of each element of a tuple, and their number. NULL:
// an exception is set.
static void* take_items(PyObject* tuple, size_t item_bytes, size_t* out_count) {
  const Py_ssize_t count = PyTuple_Size(tuple);
  if (count < 0) return NULL;
  void* const items = PyMem_Calloc((size_t)count + 1, item_bytes);
  if (items == NULL) PyErr_NoMemory();
  *out_count = (size_t)count;
  return items;
}

static bool read_lists(PyObject* tuple, etx_token_list** out,
                       size_t* out_count) {
  *out = (etx_token_list*)take_items(tuple, sizeof **out, out_count);
  if (*out == NULL) return false;
  for (size_t i = 0; i < *out_count; ++i) {
    PyObject* const item = PyTuple_GetItem(tuple, (Py_ssize_t)i);
    if (!read_list(item, &(*out)[i])) return false;
  }
  return true;
}

static bool read_biases(PyObject* tuple, etx_sequence_bias** out,
                        size_t* out_count) {
  *out = (etx_sequence_bias*)take_items(tuple, sizeof **out, out_count);
  if (*out == NULL) return false;
  for (size_t i = 0; i < *out_count; ++i) {
    PyObject* const item = PyTuple_GetItem(tuple, (Py_ssize_t)i);
    PyObject* ids = NULL;
    if (!PyArg_ParseTuple(item, "Of", &ids, &(*out)[i].bias) ||
        !read_list(ids, &(*out)[i].sequence)) {
      return false;
    }
  }
  return true;
}

static bool read_strings(PyObject* tuple, etx_text** out, size_t* out_count) {
  *out = (etx_text*)take_items(tuple, sizeof **out, out_count);
  if (*out == NULL) return false;
  for (size_t i = 0; i < *out_count; ++i) {
    char* data = NULL;
    Py_ssize_t size = 0;
    PyObject* const item = PyTuple_GetItem(tuple, (Py_ssize_t)i);
    if (PyBytes_AsStringAndSize(item, &data, &size) != 0) return false;
    (*out)[i] = (etx_text){data, (size_t)size};
  }
  return true;
}

// ---- options by name ----

typedef enum option_kind {
  OPTION_SIZE,
  OPTION_INTEGER,
  OPTION_SEED,
  OPTION_BOOL,
  OPTION_FLOAT,
  OPTION_DOUBLE,
  OPTION_TOKENS,
  OPTION_STOPPING
} option_kind;

typedef struct option_row {
  const char* name;
  option_kind kind;
  size_t offset;
} option_row;

#define ETX_OPTION(name, kind) \
  { #name, kind, offsetof(etx_generation_config, name) }
static const option_row option_rows[] = {
    ETX_OPTION(max_new_tokens, OPTION_SIZE),
    ETX_OPTION(min_new_tokens, OPTION_SIZE),
    ETX_OPTION(min_length, OPTION_SIZE),
    ETX_OPTION(num_beams, OPTION_SIZE),
    ETX_OPTION(length_penalty, OPTION_FLOAT),
    ETX_OPTION(early_stopping, OPTION_STOPPING),
    ETX_OPTION(num_return_sequences, OPTION_SIZE),
    ETX_OPTION(do_sample, OPTION_BOOL),
    ETX_OPTION(temperature, OPTION_DOUBLE),
    ETX_OPTION(top_k, OPTION_SIZE),
    ETX_OPTION(top_p, OPTION_DOUBLE),
    ETX_OPTION(min_p, OPTION_DOUBLE),
    ETX_OPTION(typical_p, OPTION_DOUBLE),
    ETX_OPTION(seed, OPTION_SEED),
    ETX_OPTION(repetition_penalty, OPTION_FLOAT),
    ETX_OPTION(frequency_penalty, OPTION_FLOAT),
    ETX_OPTION(presence_penalty, OPTION_FLOAT),
    ETX_OPTION(no_repeat_ngram_size, OPTION_SIZE),
    ETX_OPTION(forced_bos_token_id, OPTION_INTEGER),
    ETX_OPTION(forced_eos_token_id, OPTION_TOKENS),
    ETX_OPTION(suppress_tokens, OPTION_TOKENS),
    ETX_OPTION(begin_suppress_tokens, OPTION_TOKENS),
    ETX_OPTION(eos_token_id, OPTION_TOKENS),
    ETX_OPTION(pad_token_id, OPTION_INTEGER),
};

static bool read_number(const option_row* row, PyObject* value, void* field) {
  if (row->kind == OPTION_FLOAT || row->kind == OPTION_DOUBLE) {
    const double number = PyFloat_AsDouble(value);
    if (row->kind == OPTION_FLOAT) {
      *(float*)field = (float)number;
    } else {
      *(double*)field = number;
    }
  } else if (row->kind == OPTION_SIZE) {
    *(size_t*)field = PyLong_AsSize_t(value);
  } else if (row->kind == OPTION_SEED) {
    *(uint64_t*)field = PyLong_AsUnsignedLongLongMask(value);
  } else {
    *(int64_t*)field = PyLong_AsLongLong(value);
  }
  return PyErr_Occurred() == NULL;
}

static bool read_option(const option_row* row, PyObject* value,
                        etx_generation_config* config) {
  void* const field = (char*)config + row->offset;
  if (row->kind == OPTION_TOKENS) return read_list(value, field);
  if (row->kind == OPTION_BOOL) {
    *(bool*)field = PyObject_IsTrue(value) == 1;
    return PyErr_Occurred() == NULL;
  }
  if (row->kind == OPTION_STOPPING) {
    const long number = PyLong_AsLong(value);
    config->early_stopping = (etx_early_stopping)number;
    return PyErr_Occurred() == NULL;
  }
  return read_number(row, value, field);
}

static bool read_sequences(PyObject* options, etx_generation_config* config,
                           option_lists* lists) {
  PyObject* const biases = PyDict_GetItemString(options, "sequence_bias");
  PyObject* const words = PyDict_GetItemString(options, "bad_words_ids");
  PyObject* const strings = PyDict_GetItemString(options, "stop_strings");
  if (biases != NULL &&
      !read_biases(biases, &lists->biases, &config->sequence_bias_count)) {
    return false;
  }
  if (words != NULL &&
      !read_lists(words, &lists->bad_words, &config->bad_words_count)) {
    return false;
  }
  if (strings != NULL && !read_strings(strings, &lists->stop_strings,
                                       &config->stop_string_count)) {
    return false;
  }
  config->sequence_bias = lists->biases;
  config->bad_words_ids = lists->bad_words;
  config->stop_strings = lists->stop_strings;
  return true;
}

// Options that are not in the dictionary stay as they are.
static bool read_options(PyObject* options, etx_generation_config* config,
                         option_lists* lists) {
  for (size_t i = 0; i < sizeof option_rows / sizeof *option_rows; ++i) {
    PyObject* const value = PyDict_GetItemString(options, option_rows[i].name);
    if (value != NULL && !read_option(&option_rows[i], value, config)) {
      return false;
    }
  }
  return read_sequences(options, config, lists);
}

static void free_lists(option_lists* lists) {
  PyMem_Free(lists->biases);
  PyMem_Free(lists->bad_words);
  PyMem_Free(lists->stop_strings);
}

// ---- functions that are called for tokens ----

typedef struct python_hooks {
  PyObject* token;    // (text, id): False ends
  PyObject* text_of;  // (id): bytes
  PyObject* bytes;    // the last that text_of returned
  PyThreadState* thread;
} python_hooks;

static bool on_token(void* context, size_t text, int64_t id) {
  python_hooks* const hooks = context;
  if (hooks->token == Py_None) return true;
  PyEval_RestoreThread(hooks->thread);
  PyObject* const answer = PyObject_CallFunction(
      hooks->token, "nL", (Py_ssize_t)text, (long long)id);
  const bool goes_on = answer != NULL && answer != Py_False;
  Py_XDECREF(answer);
  hooks->thread = PyEval_SaveThread();
  return goes_on;
}

// Lets an interrupt from the keyboard end the call.
static bool on_step(void* context, size_t new_tokens) {
  python_hooks* const hooks = context;
  (void)new_tokens;
  PyEval_RestoreThread(hooks->thread);
  const bool goes_on = PyErr_Occurred() == NULL && PyErr_CheckSignals() == 0;
  hooks->thread = PyEval_SaveThread();
  return goes_on;
}

static etx_text text_of(void* context, int64_t id) {
  python_hooks* const hooks = context;
  char* data = NULL;
  Py_ssize_t size = 0;
  PyEval_RestoreThread(hooks->thread);
  if (PyErr_Occurred() == NULL) {
    PyObject* const bytes =
        PyObject_CallFunction(hooks->text_of, "L", (long long)id);
    Py_XDECREF(hooks->bytes);
    hooks->bytes = bytes;
    if (bytes == NULL || PyBytes_AsStringAndSize(bytes, &data, &size) != 0) {
      size = 0;
    }
  }
  hooks->thread = PyEval_SaveThread();
  return (etx_text){data, (size_t)size};
}

// ---- results ----

static PyObject* text_as_tuple(const etx_generated_text* text) {
  static const char* const ends[] = {"end_token", "stop_string", "length",
                                     "cancelled"};
  return Py_BuildValue("y#ds", text->count == 0 ? "" : (const char*)text->ids,
                       (Py_ssize_t)(text->count * sizeof *text->ids),
                       text->score, ends[text->end]);
}

static PyObject* texts_as_list(const etx_generation_result* result) {
  PyObject* const list = PyList_New(0);
  for (size_t i = 0; list != NULL && i < result->count; ++i) {
    PyObject* const item = text_as_tuple(&result->texts[i]);
    const bool is_added = item != NULL && PyList_Append(list, item) == 0;
    Py_XDECREF(item);
    if (!is_added) {
      Py_DECREF(list);
      return NULL;
    }
  }
  return list;
}

// (texts, tokens of drafts, how many of them were accepted)
static PyObject* result_as_tuple(const etx_generation_result* result) {
  PyObject* const texts = texts_as_list(result);
  return texts == NULL
             ? NULL
             : Py_BuildValue("Nnn", texts, (Py_ssize_t)result->drafted,
                             (Py_ssize_t)result->accepted);
}

// ---- generate ----

typedef struct generate_call {
  etx_py_method* prefill;  // NULL: none
  etx_py_method* decode;
  etx_py_method* verify;  // NULL: none
  PyObject* options;
  PyObject* drafts;  // of etx_py_drafts_open
  etx_generation_prompt prompt;
  python_hooks hooks;
  etx_generator generator;
  etx_generation_config config;
} generate_call;

static PyObject* run_in(generate_call* call, etx_diag* diag) {
  const etx_generation_hooks hooks = {
      on_token,
      on_step,
      &call->hooks,
      {call->hooks.text_of == Py_None ? NULL : text_of, &call->hooks}};
  size_t bytes = 0;
  call->prompt.hooks = &hooks;
  etx_status status = etx_generate_needed(&call->generator, &call->config,
                                          &call->prompt, &bytes, diag);
  if (status != ETX_OK) return etx_py_fail(status, diag, call->decode->place);
  void* const block = PyMem_Malloc(bytes + ETX_MEMORY_ALIGNMENT);
  if (block == NULL) return PyErr_NoMemory();
  const etx_bytes_mut memory = etx_py_aligned(block, bytes);
  etx_generation_result result = {.texts = NULL};
  call->hooks.thread = PyEval_SaveThread();
  status = etx_generate(&call->generator, &call->config, &call->prompt, memory,
                        &result, diag);
  PyEval_RestoreThread(call->hooks.thread);
  PyObject* found = NULL;
  if (PyErr_Occurred() == NULL) {
    found = status == ETX_OK ? result_as_tuple(&result)
                             : etx_py_fail(status, diag, call->decode->place);
  }
  Py_XDECREF(call->hooks.bytes);
  PyMem_Free(block);
  return found;
}

static PyObject* run_with_drafts(generate_call* call, etx_diag* diag) {
  etx_py_drafts drafts;
  PyObject* found = NULL;
  if (etx_py_drafts_open(&drafts, call->drafts, &call->config,
                         &call->hooks.thread)) {
    if (drafts.source.propose != NULL) call->prompt.drafts = &drafts.source;
    found = run_in(call, diag);
  }
  etx_py_drafts_close(&drafts);
  return found;
}

static PyObject* run_with(generate_call* call, option_lists* lists) {
  etx_diag diag;
  etx_diag_init(&diag);
  etx_generation_config_init(&call->config);
  etx_status status = etx_generator_init(
      &call->generator, call->prefill == NULL ? NULL : call->prefill->method,
      call->decode->method, &diag);
  if (status == ETX_OK && call->verify != NULL) {
    status =
        etx_generator_add_verify(&call->generator, call->verify->method, &diag);
  }
  if (status != ETX_OK) return etx_py_fail(status, &diag, call->decode->place);
  etx_generator_defaults(&call->generator, &call->config);
  if (!read_options(call->options, &call->config, lists)) return NULL;
  return run_with_drafts(call, &diag);
}

static bool read_prompt(PyObject* tuple, etx_generation_prompt* out) {
  PyObject* ids = NULL;
  PyObject* padding = NULL;
  Py_ssize_t rows = 0, cached = 0, stride = 0;
  etx_token_list all, pads;
  if (!PyArg_ParseTuple(tuple, "SnSnn", &ids, &rows, &padding, &cached,
                        &stride) ||
      !read_list(ids, &all) || !read_list(padding, &pads)) {
    return false;
  }
  if (rows < 1 || cached < 0 || stride < 0 || all.count % (size_t)rows != 0 ||
      pads.count != (size_t)rows) {
    etx_py_refuse(ETX_BAD_ARGUMENT, NULL, "the prompt has no rows");
    return false;
  }
  *out = (etx_generation_prompt){.ids = all.ids,
                                 .rows = (size_t)rows,
                                 .count = all.count / (size_t)rows,
                                 .padding = pads.ids,
                                 .cached_count = (size_t)cached,
                                 .row_stride = (size_t)stride};
  return true;
}

PyObject* etx_py_generate(PyObject* module, PyObject* args) {
  PyObject *prefill = NULL, *decode = NULL, *verify = NULL, *prompt = NULL;
  generate_call call = {.prefill = NULL};
  option_lists lists = {NULL, NULL, NULL};
  (void)module;
  if (!PyArg_ParseTuple(args, "(OO!O)O!O!OOO!", &prefill, etx_py_method_type,
                        &decode, &verify, &PyTuple_Type, &prompt, &PyDict_Type,
                        &call.options, &call.hooks.token, &call.hooks.text_of,
                        &PyTuple_Type, &call.drafts) ||
      !read_prompt(prompt, &call.prompt)) {
    return NULL;
  }
  if (PyObject_TypeCheck(prefill, etx_py_method_type)) {
    call.prefill = (etx_py_method*)prefill;
  }
  if (PyObject_TypeCheck(verify, etx_py_method_type)) {
    call.verify = (etx_py_method*)verify;
  }
  call.decode = (etx_py_method*)decode;
  etx_py_session* const session = call.decode->session;
  if ((call.prefill != NULL && call.prefill->session != session) ||
      (call.verify != NULL && call.verify->session != session)) {
    return etx_py_refuse(ETX_BAD_ARGUMENT, NULL,
                         "the methods are of different sessions");
  }
  if (!etx_py_session_is_free(session)) return NULL;
  session->runs = call.decode->name;
  PyObject* const found = run_with(&call, &lists);
  session->runs = NULL;
  free_lists(&lists);
  return found;
}

// ---- tokens from logits ----

typedef struct draw_range {
  uint64_t first;  // draws that the text made before
  size_t count;
} draw_range;

static PyObject* probabilities_as_bytes(const etx_candidate_token* candidates,
                                        size_t count, size_t vocab_size) {
  PyObject* const bytes =
      PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(vocab_size * sizeof(float)));
  if (bytes == NULL) return NULL;
  float* const out = (float*)(void*)PyBytes_AsString(bytes);
  memset(out, 0, vocab_size * sizeof *out);
  for (size_t i = 0; i < count; ++i) {
    out[candidates[i].id] = candidates[i].probability;
  }
  return bytes;
}

static PyObject* drawn_as_bytes(const etx_candidate_token* candidates,
                                size_t count, size_t draws,
                                etx_token_random random) {
  PyObject* const bytes =
      PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(draws * sizeof(int64_t)));
  if (bytes == NULL) return NULL;
  int64_t* const out = (int64_t*)(void*)PyBytes_AsString(bytes);
  for (size_t i = 0; i < draws; ++i) {
    out[i] = etx_token_draw(candidates, count, &random);
  }
  return bytes;
}

static PyObject* sample(const etx_generation_config* config,
                        const etx_text_so_far* text, float* logits,
                        size_t vocab_size, draw_range draws, uint8_t* memory) {
  etx_diag diag;
  etx_candidate_token* const candidates = (etx_candidate_token*)(void*)memory;
  uint8_t* const marks =
      memory + vocab_size * (sizeof *candidates + sizeof *logits);
  const etx_token_list ids = {text->ids, text->count};
  size_t count = 0;
  etx_diag_init(&diag);
  etx_generation_config checked = *config;
  checked.suppress_tokens = ids;  // checked as any list of tokens is
  etx_status status = etx_generation_config_check(config, vocab_size, &diag);
  if (status == ETX_OK) {
    status = etx_generation_config_check(&checked, vocab_size, &diag);
  }
  if (status == ETX_OK) {
    etx_logits_process(config, text, logits, vocab_size, marks);
    status = etx_token_candidates(config, logits, vocab_size, candidates,
                                  &count, &diag);
  }
  if (status != ETX_OK) return etx_py_fail(status, &diag, NULL);
  PyObject* const shares =
      probabilities_as_bytes(candidates, count, vocab_size);
  const etx_token_random random = {.seed = config->seed,
                                   .counter = draws.first};
  PyObject* const drawn =
      drawn_as_bytes(candidates, count, draws.count, random);
  if (shares == NULL || drawn == NULL) {
    Py_XDECREF(shares);
    Py_XDECREF(drawn);
    return NULL;
  }
  return Py_BuildValue("NN", shares, drawn);
}

PyObject* etx_py_sample(PyObject* module, PyObject* args) {
  PyObject *options = NULL, *ids = NULL;
  const char* data = NULL;
  Py_ssize_t size = 0, prompt_count = 0, max_length = 0, first = 0, draws = 0;
  etx_token_list list;
  etx_generation_config config;
  option_lists lists = {NULL, NULL, NULL};
  (void)module;
  if (!PyArg_ParseTuple(args, "O!y#Snnnn", &PyDict_Type, &options, &data, &size,
                        &ids, &prompt_count, &max_length, &first, &draws) ||
      !read_list(ids, &list)) {
    return NULL;
  }
  const size_t vocab = (size_t)size / sizeof(float);
  const etx_text_so_far text = {.ids = list.ids,
                                .count = list.count,
                                .prompt_count = (size_t)prompt_count,
                                .max_length = (size_t)max_length};
  const size_t bytes = vocab * (sizeof(etx_candidate_token) + sizeof(float)) +
                       etx_logits_process_needed(vocab);
  uint8_t* const memory = (uint8_t*)PyMem_Malloc(bytes);
  if (memory == NULL) return PyErr_NoMemory();
  float* const logits =
      (float*)(void*)(memory + vocab * sizeof(etx_candidate_token));
  memcpy(logits, data, vocab * sizeof *logits);
  etx_generation_config_init(&config);
  PyObject* found = NULL;
  if (read_options(options, &config, &lists)) {
    found = sample(&config, &text, logits, vocab,
                   (draw_range){(uint64_t)first, (size_t)draws}, memory);
  }
  free_lists(&lists);
  PyMem_Free(memory);
  return found;
}
