// Calls a method: borrows the inputs, runs without the GIL, and returns the
// outputs as arrays. For small tensors this must cost little more than the run
// itself.

#include "python/native/native_internal.h"

#include <unistd.h>

#include "runtime/regions.h"

PyTypeObject* etx_py_method_type;

static bool place_named(etx_py_method* self, PyObject* kwargs,
                        PyObject** objects) {
  PyObject* key = NULL;
  PyObject* value = NULL;
  Py_ssize_t at = 0;
  while (PyDict_Next(kwargs, &at, &key, &value)) {
    size_t i = 0;
    while (i < self->input_count && self->inputs[i].name != key &&
           PyUnicode_Compare(self->inputs[i].name, key) != 0) {
      ++i;
    }
    Py_ssize_t size = 0;
    const char* const text = PyUnicode_AsUTF8AndSize(key, &size);
    if (text == NULL) return false;
    if (i == self->input_count) {
      etx_py_refuse(ETX_NOT_FOUND, self->place, "the method has no input '%s'",
                    text);
      return false;
    }
    if (objects[i] != NULL) {
      etx_py_refuse(ETX_BAD_ARGUMENT, self->place, "input '%s' is given twice",
                    text);
      return false;
    }
    objects[i] = value;
  }
  return true;
}

// Assigns each argument to its input. Every input needs exactly one.
static bool place_arguments(etx_py_method* self, PyObject* args,
                            PyObject* kwargs, PyObject** objects) {
  const size_t count = (size_t)PyTuple_Size(args);
  if (count > self->input_count) {
    etx_py_refuse(ETX_BAD_ARGUMENT, self->place, "found %z inputs, expected %z",
                  count, self->input_count);
    return false;
  }
  for (size_t i = 0; i < self->input_count; ++i) {
    objects[i] = i < count ? PyTuple_GetItem(args, (Py_ssize_t)i) : NULL;
  }
  if (kwargs != NULL && !place_named(self, kwargs, objects)) return false;
  for (size_t i = 0; i < self->input_count; ++i) {
    if (objects[i] != NULL) continue;
    Py_ssize_t size = 0;
    const char* const name =
        PyUnicode_AsUTF8AndSize(self->inputs[i].name, &size);
    etx_py_refuse(ETX_BAD_ARGUMENT, self->place, "input '%s' is missing",
                  name == NULL ? "?" : name);
    return false;
  }
  return true;
}

// A forked child has no threads of the pool, so it runs without regions.
static etx_status use_regions(etx_py_method* self, etx_diag* diag) {
  etx_py_file* const file = self->session->file;
  etx_module_regions* const regions = &self->session->regions;
  if (file->region_limit == 0) return ETX_OK;
  if (file->pool_process != (long)getpid()) {
    etx_module_regions_release(regions);
    return ETX_OK;
  }
  return etx_module_regions_use(regions, self->method, &file->pool.launcher,
                                file->region_limit, diag);
}

static etx_status run(etx_py_method* self, const etx_py_input* inputs,
                      etx_diag* diag) {
  for (size_t i = 0; i < self->input_count; ++i) {
    ETX_TRY(etx_method_set_value(self->method, i, &inputs[i].value, diag));
  }
  ETX_TRY(use_regions(self, diag));
  etx_resident_limit_observe(&self->session->file->module.resident,
                             self->method);
  return etx_method_run(self->method, diag);
}

static bool borrow_all(etx_py_method* self, PyObject* const* objects,
                       etx_py_input* inputs) {
  for (size_t i = 0; i < self->input_count; ++i) {
    if (etx_py_input_borrow(&inputs[i], &self->inputs[i], objects[i],
                            self->place)) {
      continue;
    }
    while (i-- > 0) etx_py_input_give_back(&inputs[i]);
    return false;
  }
  return true;
}

static PyObject* call_on(etx_py_method* self, PyObject* args, PyObject* kwargs,
                         PyObject** objects, etx_py_input* inputs,
                         bool copies) {
  etx_diag diag;
  etx_status status = ETX_OK;
  if (!place_arguments(self, args, kwargs, objects) ||
      !borrow_all(self, objects, inputs)) {
    return NULL;
  }
  etx_diag_init(&diag);
  Py_BEGIN_ALLOW_THREADS status = run(self, inputs, &diag);
  Py_END_ALLOW_THREADS PyObject* const result =
      status == ETX_OK ? etx_py_outputs_of(self, inputs, copies)
                       : etx_py_fail(status, &diag, self->place);
  // After the outputs were made, because an output may be in an input's memory.
  for (size_t i = 0; i < self->input_count; ++i) {
    etx_py_input_give_back(&inputs[i]);
  }
  return result;
}

// Uses arrays on the stack for few inputs, and allocates for more.
static PyObject* call_with(etx_py_method* self, PyObject* args,
                           PyObject* kwargs, bool copies) {
  PyObject* local_objects[ETX_PY_LOCAL_INPUTS];
  etx_py_input local_inputs[ETX_PY_LOCAL_INPUTS];
  if (self->input_count <= ETX_PY_LOCAL_INPUTS) {
    return call_on(self, args, kwargs, local_objects, local_inputs, copies);
  }
  PyObject* result = NULL;
  PyObject** const objects =
      (PyObject**)PyMem_Calloc(self->input_count, sizeof *objects);
  etx_py_input* const inputs =
      (etx_py_input*)PyMem_Calloc(self->input_count, sizeof *inputs);
  if (objects != NULL && inputs != NULL) {
    result = call_on(self, args, kwargs, objects, inputs, copies);
  } else {
    PyErr_NoMemory();
  }
  PyMem_Free((void*)objects);
  PyMem_Free(inputs);
  return result;
}

// A structure (such as a tuple) of the exported method has an input for each
// leaf. True if the caller passes such a structure: there are fewer arguments
// than inputs, or one is a dictionary, which no input accepts.
static bool has_structures(const etx_py_method* self, PyObject* args,
                           PyObject* kwargs) {
  const Py_ssize_t placed = PyTuple_Size(args);
  const Py_ssize_t named = kwargs == NULL ? 0 : PyDict_Size(kwargs);
  if ((size_t)(placed + named) < self->input_count) return true;
  for (Py_ssize_t i = 0; i < placed; ++i) {
    if (PyDict_Check(PyTuple_GetItem(args, i))) return true;
  }
  PyObject* value = NULL;
  Py_ssize_t at = 0;
  while (named > 0 && PyDict_Next(kwargs, &at, NULL, &value)) {
    if (PyDict_Check(value)) return true;
  }
  return false;
}

static PyObject* call_flat(etx_py_method* self, PyObject* args,
                           PyObject* kwargs, bool copies) {
  PyObject* const flat = PyObject_CallFunctionObjArgs(
      etx_py_hook.flatten, args, kwargs == NULL ? Py_None : kwargs, NULL);
  if (flat == NULL) return NULL;
  PyObject* result = NULL;
  PyObject* flat_args = NULL;
  PyObject* flat_kwargs = NULL;
  if (PyArg_ParseTuple(flat, "O!O!", &PyTuple_Type, &flat_args, &PyDict_Type,
                       &flat_kwargs)) {
    result = call_with(self, flat_args, flat_kwargs, copies);
  }
  Py_DECREF(flat);
  return result;
}

static PyObject* call(PyObject* object, PyObject* args, PyObject* kwargs,
                      bool copies) {
  etx_py_method* const self = (etx_py_method*)object;
  etx_py_session* const session = self->session;
  if (!etx_py_session_is_free(session)) return NULL;
  session->runs = self->name;  // first: what follows calls code of the user
  PyObject* const result = has_structures(self, args, kwargs)
                               ? call_flat(self, args, kwargs, copies)
                               : call_with(self, args, kwargs, copies);
  session->runs = NULL;
  return result;
}

static PyObject* method_call(PyObject* self, PyObject* args, PyObject* kwargs) {
  return call(self, args, kwargs, true);
}

static PyObject* method_view(PyObject* self, PyObject* args, PyObject* kwargs) {
  return call(self, args, kwargs, false);
}

static PyObject* method_seed(PyObject* object, PyObject* argument) {
  const etx_py_method* const self = (etx_py_method*)object;
  const unsigned long long seed = PyLong_AsUnsignedLongLongMask(argument);
  if (PyErr_Occurred() != NULL) return NULL;
  if (!etx_py_session_is_free(self->session)) return NULL;
  etx_method_seed(self->method, seed);
  Py_RETURN_NONE;
}

static PyObject* method_forget(PyObject* object, PyObject* ignored) {
  (void)ignored;
  etx_py_method* const self = (etx_py_method*)object;
  if (!etx_py_session_is_free(self->session)) return NULL;
  for (size_t i = 0; i < self->output_count; ++i)
    etx_py_output_forget(&self->outputs[i]);
  Py_RETURN_NONE;
}

// A method has one observer. False with an exception if it has it already.
static bool may_observe(const etx_py_method* self) {
  const bool is_profiled = self->profile.observer.context != NULL;
  if (!is_profiled && self->trace.marks == NULL) return true;
  etx_py_refuse(ETX_BAD_STATE, self->place, "method '%s' is already being %s",
                self->name, is_profiled ? "profiled" : "traced");
  return false;
}

// profile_start(), profile_rows(), profile_stop()
static PyObject* method_profile_start(PyObject* object, PyObject* ignored) {
  (void)ignored;
  etx_py_method* const self = (etx_py_method*)object;
  if (!etx_py_session_is_free(self->session)) return NULL;
  if (!may_observe(self)) return NULL;
  etx_py_profile_start(&self->profile, self->method);
  Py_RETURN_NONE;
}

static PyObject* method_profile_rows(PyObject* object, PyObject* ignored) {
  (void)ignored;
  const etx_py_method* const self = (etx_py_method*)object;
  if (!etx_py_session_is_free(self->session)) return NULL;
  return etx_py_profile_rows(&self->profile);
}

static PyObject* method_profile_stop(PyObject* object, PyObject* ignored) {
  (void)ignored;
  etx_py_method* const self = (etx_py_method*)object;
  if (!etx_py_session_is_free(self->session)) return NULL;
  etx_py_profile_stop(&self->profile, self->method);
  Py_RETURN_NONE;
}

// trace_start(), trace_stop()
static PyObject* method_trace_start(PyObject* object, PyObject* ignored) {
  (void)ignored;
  etx_py_method* const self = (etx_py_method*)object;
  if (!etx_py_session_is_free(self->session)) return NULL;
  if (!may_observe(self) || !etx_py_trace_start(self)) return NULL;
  Py_RETURN_NONE;
}

static PyObject* method_trace_stop(PyObject* object, PyObject* ignored) {
  (void)ignored;
  etx_py_method* const self = (etx_py_method*)object;
  if (!etx_py_session_is_free(self->session)) return NULL;
  etx_py_trace_stop(self, true);
  Py_RETURN_NONE;
}

static void method_dealloc(PyObject* object) {
  etx_py_method* const self = (etx_py_method*)object;
  const bool is_loaded = self->session != NULL && self->session->is_open;
  etx_py_profile_stop(&self->profile, is_loaded ? self->method : NULL);
  etx_py_trace_stop(self, is_loaded);
  for (size_t i = 0; i < self->output_count; ++i)
    etx_py_output_forget(&self->outputs[i]);
  for (size_t i = 0; i < self->input_count; ++i) {
    Py_XDECREF(self->inputs[i].name);
  }
  PyMem_Free(self->inputs);
  PyMem_Free(self->outputs);
  Py_XDECREF(self->signature);
  Py_XDECREF(self->name_object);
  Py_XDECREF((PyObject*)self->session);
  etx_py_free(object);
}

static PyObject* method_signature(PyObject* self, void* closure) {
  (void)closure;
  return Py_NewRef(((etx_py_method*)self)->signature);
}

// Instructions of a run that run beside others; 0 before the first call.
static PyObject* method_region_steps(PyObject* object, void* closure) {
  (void)closure;
  const etx_py_method* const self = (etx_py_method*)object;
  if (!etx_py_session_is_free(self->session)) return NULL;
  return PyLong_FromSize_t(etx_method_region_steps(self->method));
}

static PyObject* method_repr(PyObject* self) {
  return PyUnicode_FromFormat("<etx method %S>",
                              ((etx_py_method*)self)->signature);
}

static PyMethodDef methods[] = {
    {"view", (PyCFunction)(void (*)(void))method_view,
     METH_VARARGS | METH_KEYWORDS,
     "Calls the method; arrays show its memory until the next call."},
    {"seed", method_seed, METH_O, "Restarts its sequence of random numbers."},
    {"profile_start", method_profile_start, METH_NOARGS, "Measures runs."},
    {"profile_rows", method_profile_rows, METH_NOARGS, "What was measured."},
    {"profile_stop", method_profile_stop, METH_NOARGS, "Measures no more."},
    {"trace_start", method_trace_start, METH_NOARGS, "Records what runs use."},
    {"trace_stop", method_trace_stop, METH_NOARGS, "Records no more."},
    {"forget", method_forget, METH_NOARGS, "Lets go of arrays of outputs."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef fields[] = {
    {"signature", method_signature, NULL, "Its inputs and their types.", NULL},
    {"region_steps", method_region_steps, NULL,
     "Instructions that runs do beside others.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_dealloc, (void*)method_dealloc},
    {Py_tp_call, (void*)method_call},
    {Py_tp_repr, (void*)method_repr},
    {Py_tp_methods, methods},
    {Py_tp_getset, fields},
    {0, NULL},
};

static PyType_Spec spec = {
    "etx._runtime.Method", sizeof(etx_py_method), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

bool etx_py_method_ready(PyObject* module) {
  etx_py_method_type = (PyTypeObject*)PyType_FromSpec(&spec);
  return etx_py_method_type != NULL &&
         PyModule_AddObjectRef(module, "Method",
                               (PyObject*)etx_py_method_type) == 0;
}
