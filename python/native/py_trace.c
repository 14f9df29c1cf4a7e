// Records what methods use while they run, as observers of their runs.

#include <stdlib.h>

#include "python/native/native_internal.h"

// Runs do not need Python's memory, so neither do traces of them.
bool etx_py_trace_start(etx_py_method* self) {
  const size_t bytes = etx_call_trace_needed(self->method);
  etx_bytes_mut marks = {malloc(bytes), bytes};
  etx_diag diag;
  etx_diag_init(&diag);
  if (marks.data == NULL) {
    PyErr_NoMemory();
    return false;
  }
  const etx_status status =
      etx_call_trace_start(&self->trace, self->method, marks, &diag);
  if (status == ETX_OK) return true;
  free(marks.data);
  etx_py_fail(status, &diag, self->place);
  return false;
}

void etx_py_trace_stop(etx_py_method* self, bool is_loaded) {
  if (self->trace.marks == NULL) return;
  if (is_loaded) etx_call_trace_stop(&self->trace);
  free(self->trace.marks);
  self->trace.marks = NULL;
}

// ---- the text of several traces ----

typedef struct text_buffer {
  char* bytes;
  size_t size;
  size_t capacity;
} text_buffer;

static etx_status append(void* context, etx_bytes bytes) {
  text_buffer* const text = context;
  if (bytes.size > text->capacity - text->size) {
    const size_t capacity = 2 * (text->size + bytes.size) + 1024;
    char* const larger = realloc(text->bytes, capacity);
    if (larger == NULL) return ETX_OUT_OF_MEMORY;
    text->bytes = larger;
    text->capacity = capacity;
  }
  memcpy(text->bytes + text->size, bytes.data, bytes.size);
  text->size += bytes.size;
  return ETX_OK;
}

static PyObject* write_traces(const etx_call_trace* const* traces, size_t count,
                              const char* file) {
  text_buffer text = {NULL, 0, 0};
  etx_diag diag;
  const etx_sink sink = {append, &text};
  etx_diag_init(&diag);
  const etx_status status =
      etx_call_trace_write(traces, count, etx_text_of(file), &sink);
  PyObject* const result = status == ETX_OK
                               ? etx_py_text((etx_text){text.bytes, text.size})
                               : etx_py_fail(status, &diag, file);
  free(text.bytes);
  return result;
}

// The trace of a method, or NULL with an exception.
static const etx_call_trace* trace_of(PyObject* object) {
  if (Py_TYPE(object) != etx_py_method_type) {
    PyErr_SetString(PyExc_TypeError, "expected a list of methods");
    return NULL;
  }
  const etx_py_method* const self = (etx_py_method*)object;
  if (!etx_py_session_is_free(self->session)) return NULL;
  if (self->trace.marks != NULL) return &self->trace;
  etx_py_refuse(ETX_BAD_STATE, self->place, "method '%s' is not being traced",
                self->name);
  return NULL;
}

PyObject* etx_py_trace_text(PyObject* module, PyObject* args) {
  (void)module;
  PyObject* methods = NULL;
  const char* file = NULL;
  if (!PyArg_ParseTuple(args, "O!s", &PyList_Type, &methods, &file)) {
    return NULL;
  }
  const size_t count = (size_t)PyList_Size(methods);
  const etx_call_trace** const traces = malloc((count + 1) * sizeof *traces);
  if (traces == NULL) return PyErr_NoMemory();
  PyObject* text = NULL;
  size_t found = 0;
  while (found < count) {
    traces[found] = trace_of(PyList_GetItem(methods, (Py_ssize_t)found));
    if (traces[found] == NULL) break;
    ++found;
  }
  if (found == count) text = write_traces(traces, count, file);
  free(traces);
  return text;
}
