#include "python/native/py_drafts.h"

// ---- an assistant ----

static bool init_assistant(etx_py_drafts* drafts, etx_py_method* prefill,
                           etx_py_method* decode,
                           const etx_generation_config* config) {
  etx_diag diag;
  size_t bytes = 0;
  etx_diag_init(&diag);
  etx_status status = etx_generator_init(
      &drafts->generator, prefill == NULL ? NULL : prefill->method,
      decode->method, &diag);
  if (status == ETX_OK) {
    status = etx_assistant_needed(&drafts->generator, config, &bytes, &diag);
  }
  if (status == ETX_OK) {
    drafts->block = PyMem_Malloc(bytes + ETX_MEMORY_ALIGNMENT);
    if (drafts->block == NULL) {
      PyErr_NoMemory();
      return false;
    }
    status = etx_assistant_init(&drafts->assistant, &drafts->generator, config,
                                etx_py_aligned(drafts->block, bytes), &diag);
  }
  if (status != ETX_OK) etx_py_fail(status, &diag, decode->place);
  return status == ETX_OK;
}

static bool open_assistant(etx_py_drafts* drafts, PyObject* tuple,
                           const etx_generation_config* config) {
  const char* kind = NULL;
  PyObject *prefill = NULL, *decode = NULL;
  Py_ssize_t most = 0;
  if (!PyArg_ParseTuple(tuple, "sOO!n", &kind, &prefill, etx_py_method_type,
                        &decode, &most)) {
    return false;
  }
  const bool has_prefill = PyObject_TypeCheck(prefill, etx_py_method_type) != 0;
  etx_py_method* const method = (etx_py_method*)decode;
  if (!etx_py_session_is_free(method->session)) return false;
  if (!init_assistant(drafts, has_prefill ? (etx_py_method*)prefill : NULL,
                      method, config)) {
    return false;
  }
  drafts->assistant.num_assistant_tokens = (size_t)most;
  drafts->session = method->session;
  drafts->session->runs = method->name;
  drafts->source = etx_assistant_source(&drafts->assistant);
  return true;
}

// ---- a function ----

static bool call_function(etx_py_drafts* drafts, const etx_text_so_far* text,
                          size_t most, int64_t* out_ids, size_t* out_count) {
  char* data = NULL;
  Py_ssize_t size = 0;
  PyObject* const answer = PyObject_CallFunction(
      drafts->function, "y#n", (const char*)text->ids,
      (Py_ssize_t)(text->count * sizeof *text->ids), (Py_ssize_t)most);
  const bool is_read =
      answer != NULL && PyBytes_AsStringAndSize(answer, &data, &size) == 0;
  if (is_read) {
    const size_t count = (size_t)size / sizeof *out_ids;
    *out_count = count < most ? count : most;
    memcpy(out_ids, data, *out_count * sizeof *out_ids);
  }
  Py_XDECREF(answer);
  return is_read;
}

// of etx_draft_source
static etx_status propose(void* context, const etx_text_so_far* text,
                          size_t most, int64_t* out_ids, size_t* out_count,
                          etx_diag* diag) {
  etx_py_drafts* const drafts = context;
  *out_count = 0;
  PyEval_RestoreThread(*drafts->thread);
  const bool is_called = PyErr_Occurred() == NULL &&
                         call_function(drafts, text, most, out_ids, out_count);
  *drafts->thread = PyEval_SaveThread();
  if (is_called) return ETX_OK;
  // The caller finds the exception.
  return etx_diag_fail(diag, ETX_BAD_ARGUMENT, "draft_tokens failed");
}

static bool open_function(etx_py_drafts* drafts, PyObject* tuple) {
  const char* kind = NULL;
  drafts->source = (etx_draft_source){propose, drafts};
  return PyArg_ParseTuple(tuple, "sO", &kind, &drafts->function) != 0;
}

// ---- all ----

static bool open_lookup(etx_py_drafts* drafts, PyObject* tuple) {
  const char* kind = NULL;
  Py_ssize_t tokens = 0, ngram = 0;
  if (!PyArg_ParseTuple(tuple, "snn", &kind, &tokens, &ngram)) return false;
  drafts->lookup = (etx_prompt_lookup){(size_t)tokens, (size_t)ngram};
  drafts->source = etx_prompt_lookup_source(&drafts->lookup);
  return true;
}

bool etx_py_drafts_open(etx_py_drafts* drafts, PyObject* tuple,
                        const etx_generation_config* config,
                        PyThreadState** thread) {
  *drafts = (etx_py_drafts){.thread = thread};
  if (PyTuple_Size(tuple) <= 0) return PyErr_Occurred() == NULL;
  PyObject* const kind = PyTuple_GetItem(tuple, 0);
  if (PyUnicode_CompareWithASCIIString(kind, "lookup") == 0) {
    return open_lookup(drafts, tuple);
  }
  if (PyUnicode_CompareWithASCIIString(kind, "function") == 0) {
    return open_function(drafts, tuple);
  }
  return open_assistant(drafts, tuple, config);
}

void etx_py_drafts_close(etx_py_drafts* drafts) {
  if (drafts->session != NULL) drafts->session->runs = NULL;
  PyMem_Free(drafts->block);
}
