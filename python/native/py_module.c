// The extension module `etx._runtime`: its types, hooks and errors.

#include "python/native/native_internal.h"

etx_py_hooks etx_py_hook;

PyObject* etx_py_text(etx_text text) {
  return PyUnicode_DecodeUTF8(text.size == 0 ? "" : text.data,
                              (Py_ssize_t)text.size, "replace");
}

void etx_py_free(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  const freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
  release(self);
  Py_DECREF(type);
}

PyObject* etx_py_fail(etx_status status, const etx_diag* diag,
                      const char* place) {
  if (PyErr_Occurred() != NULL) return NULL;
  if (etx_py_hook.fail == NULL) {
    PyErr_SetString(PyExc_RuntimeError, diag->text);
    return NULL;
  }
  const char* const text =
      diag->text_size > 0 ? diag->text : etx_status_text(status);
  // Decoded with replacement: file names are bytes, and a text that was cut may
  // end within a character.
  PyObject* const exception = PyObject_CallFunction(
      etx_py_hook.fail, "sNIIKz", etx_status_name(status),
      etx_py_text(etx_text_of(text)), (unsigned)diag->line,
      (unsigned)diag->column, (unsigned long long)diag->offset, place);
  if (exception == NULL) return NULL;
  PyErr_SetObject((PyObject*)Py_TYPE(exception), exception);
  Py_DECREF(exception);
  return NULL;
}

PyObject* etx_py_refuse(etx_status status, const char* place,
                        const char* format, ...) {
  etx_diag diag;
  etx_diag_init(&diag);
  va_list list;
  va_start(list, format);
  diag.text_size =
      etx_format_text_list(diag.text, sizeof diag.text, format, list);
  va_end(list);
  return etx_py_fail(status, &diag, place);
}

// connect(fail, wrap, coerce, flatten): stores the package's functions, which
// are never freed.
static PyObject* connect(PyObject* module, PyObject* args) {
  (void)module;
  PyObject* fail = NULL;
  PyObject* wrap = NULL;
  PyObject* coerce = NULL;
  PyObject* flatten = NULL;
  if (!PyArg_ParseTuple(args, "OOOO", &fail, &wrap, &coerce, &flatten)) {
    return NULL;
  }
  etx_py_hook = (etx_py_hooks){
      .fail = Py_NewRef(fail),
      .wrap = Py_NewRef(wrap),
      .flatten = Py_NewRef(flatten),
      .coerce = Py_NewRef(coerce),
  };
  Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"connect", connect, METH_VARARGS, "Gives the package's functions."},
    {"trace_text", etx_py_trace_text, METH_VARARGS,
     "What methods have used, as YAML."},
    {"generate", etx_py_generate, METH_VARARGS, "Generates text."},
    {"sample", etx_py_sample, METH_VARARGS, "Draws tokens from logits."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    "etx._runtime",
    "The runtime of etx; the package etx is what users import.",
    -1,
    functions,
    NULL,
    NULL,
    NULL,
    NULL,
};

PyMODINIT_FUNC PyInit__runtime(void);

PyMODINIT_FUNC PyInit__runtime(void) {
  PyObject* const module = PyModule_Create(&definition);
  if (module == NULL) return NULL;
  if (etx_py_file_ready(module) && etx_py_pool_ready(module) &&
      etx_py_session_ready(module) && etx_py_method_ready(module) &&
      etx_py_view_ready(module)) {
    return module;
  }
  Py_DECREF(module);
  return NULL;
}
