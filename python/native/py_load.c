// Loads a method: its memory, its ports, and the error for operators that this
// build does not have.

#include "python/native/native_internal.h"

static PyObject* port_name(const etx_port_info* info, size_t index) {
  PyObject* name = info->name.size > 0
                       ? etx_py_text(info->name)
                       : PyUnicode_FromFormat("input_%zu", index);
  if (name != NULL) PyUnicode_InternInPlace(&name);
  return name;
}

static etx_status read_input(etx_py_method* self, size_t index,
                             etx_diag* diag) {
  etx_port_info info;
  etx_py_port* const port = &self->inputs[index];
  ETX_TRY(etx_program_input_at(&self->session->module.program,
                               etx_text_of(self->name), index, &info, diag));
  *port = (etx_py_port){.name = port_name(&info, index), .kind = info.kind};
  if (info.kind == ETX_PTE_TENSOR) {
    port->dtype = info.value.as.tensor.dtype;
    port->rank = info.value.as.tensor.rank;
    port->is_mutable = info.is_mutable;
  }
  ++self->input_count;
  return port->name == NULL ? ETX_OUT_OF_MEMORY : ETX_OK;
}

static etx_status read_output(etx_py_method* self, size_t index,
                              etx_diag* diag) {
  etx_port_info info;
  ETX_TRY(etx_program_output_at(&self->session->module.program,
                                etx_text_of(self->name), index, &info, diag));
  if (info.mutated_input < 0) self->outputs[self->output_count++].index = index;
  return ETX_OK;
}

static etx_status read_ports(etx_py_method* self, etx_diag* diag) {
  const size_t inputs = self->method->input_count;
  const size_t outputs = self->method->output_count;
  self->inputs = PyMem_Calloc(inputs + 1, sizeof *self->inputs);
  self->outputs = PyMem_Calloc(outputs + 1, sizeof *self->outputs);
  if (self->inputs == NULL || self->outputs == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < inputs; ++i) ETX_TRY(read_input(self, i, diag));
  for (size_t i = 0; i < outputs; ++i) ETX_TRY(read_output(self, i, diag));
  return ETX_OK;
}

// The names of missing operators as one text.
typedef struct missing_operators {
  PyObject* names;
} missing_operators;

static void add_missing(void* context, etx_text name, etx_text overload,
                        size_t instruction) {
  missing_operators* const list = context;
  char text[256];
  (void)instruction;
  etx_format_text(text, sizeof text, "%t%s%t", name,
                  overload.size == 0 ? "" : ".", overload);
  PyObject* const word = PyUnicode_FromString(text);
  if (word == NULL || PyList_Append(list->names, word) != 0) PyErr_Clear();
  Py_XDECREF(word);
}

// A type in calls of an operator, or a feature, that a selected build lacks.
static void add_cell(void* context, etx_text name, etx_text overload,
                     const char* missing) {
  missing_operators* const list = context;
  char text[256];
  etx_format_text(text, sizeof text, "%t%s%t%s%s", name,
                  overload.size == 0 ? "" : ".", overload,
                  name.size == 0 ? "" : " with ", missing);
  PyObject* const word = PyUnicode_FromString(text);
  if (word == NULL || PyList_Append(list->names, word) != 0) PyErr_Clear();
  Py_XDECREF(word);
}

static PyObject* refuse_missing(const missing_operators* list,
                                etx_status status, const char* place) {
  PyObject* const comma = PyUnicode_FromString(", ");
  PyObject* const names =
      comma == NULL ? NULL : PyUnicode_Join(comma, list->names);
  Py_ssize_t size = 0;
  const char* const text =
      names == NULL ? NULL : PyUnicode_AsUTF8AndSize(names, &size);
  if (text != NULL) {
    etx_py_refuse(status, place, "this build does not have the operators %s",
                  text);
  }
  Py_XDECREF(comma);
  Py_XDECREF(names);
  return NULL;
}

static PyObject* load(etx_py_session* session, const char* name,
                      const char* place) {
  etx_diag diag;
  etx_planned_memory state;
  etx_diag_init(&diag);
  missing_operators missing = {PyList_New(0)};
  if (missing.names == NULL) return NULL;
  // Creating a list may run Python's garbage collector, which may have closed
  // the session.
  if (!etx_py_session_is_free(session)) {
    Py_DECREF(missing.names);
    return NULL;
  }
  const etx_missing_sink sink = {add_missing, &missing, add_cell};
  etx_status status = etx_shared_memory_allocator(
      &session->shared, etx_text_of(name), &state, &diag);
  if (status == ETX_OK) {
    status = etx_module_load_method_telling(&session->module, name, &state,
                                            &sink, &diag);
  }
  if (status == ETX_OK) {
    Py_DECREF(missing.names);
    Py_RETURN_NONE;
  }
  if (PyList_Size(missing.names) > 0) {
    refuse_missing(&missing, status, place);
  } else {
    etx_py_fail(status, &diag, place);
  }
  Py_DECREF(missing.names);
  return NULL;
}

// Finds the method among those of the session's pool, or loads it. NULL with an
// exception on failure.
static etx_method* find_or_load(etx_py_session* session, const char* name,
                                const char* place) {
  if (session->pool != NULL) {
    etx_method* const found =
        etx_instance_pool_method(&session->lease, etx_text_of(name));
    if (found == NULL) {
      etx_py_refuse(ETX_NOT_FOUND, place,
                    "this pool was made without method '%s'", name);
    }
    return found;
  }
  PyObject* const loaded = load(session, name, place);
  if (loaded == NULL) return NULL;
  Py_DECREF(loaded);
  return etx_module_method(&session->module, name);
}

PyObject* etx_py_method_of(etx_py_session* session, PyObject* name,
                           PyObject* signature) {
  Py_ssize_t size = 0;
  const char* const text = PyUnicode_AsUTF8AndSize(name, &size);
  const char* const place = PyUnicode_AsUTF8AndSize(signature, &size);
  if (text == NULL || place == NULL) return NULL;
  etx_method* const method = find_or_load(session, text, place);
  if (method == NULL) return NULL;
  const allocfunc allocate =
      (allocfunc)PyType_GetSlot(etx_py_method_type, Py_tp_alloc);
  etx_py_method* const self = (etx_py_method*)allocate(etx_py_method_type, 0);
  if (self == NULL) return NULL;
  self->session = (etx_py_session*)Py_NewRef((PyObject*)session);
  self->method = method;
  self->name_object = Py_NewRef(name);
  self->name = text;
  self->signature = Py_NewRef(signature);
  self->place = place;
  etx_diag diag;
  etx_diag_init(&diag);
  const etx_status status = read_ports(self, &diag);
  if (status == ETX_OK) return (PyObject*)self;
  Py_DECREF((PyObject*)self);
  return etx_py_fail(status, &diag, place);
}
