// Outputs as Python values. What numpy needs long for, an array over given
// memory, is made once for each output and made again only if the output moves
// or changes its sizes; what users get is a copy of it.

#include "python/native/native_internal.h"

static PyObject* list_of(const etx_value* value);

PyObject* etx_py_value(const etx_value* value) {
  switch (value->kind) {
    case ETX_VALUE_NONE:
      Py_RETURN_NONE;
    case ETX_VALUE_INT:
      return PyLong_FromLongLong(value->as.integer);
    case ETX_VALUE_BOOL:
      return PyBool_FromLong(value->as.boolean);
    case ETX_VALUE_DOUBLE:
      return PyFloat_FromDouble(value->as.real);
    case ETX_VALUE_STRING:
      return etx_py_text(value->as.string);
    case ETX_VALUE_TENSOR:
      break;
    default:
      return list_of(value);
  }
  PyObject* const view = etx_py_view_of(NULL, NULL, &value->as.tensor, false);
  if (view == NULL) return NULL;
  PyObject* const array =
      PyObject_CallFunctionObjArgs(etx_py_hook.wrap, view, NULL);
  Py_DECREF(view);
  if (array == NULL) return NULL;
  PyObject* const copy = PyObject_CallMethod(array, "copy", NULL);
  Py_DECREF(array);
  return copy;
}

static size_t count_of(const etx_value* value) {
  switch (value->kind) {
    case ETX_VALUE_INTS:
      return value->as.integers.count;
    case ETX_VALUE_DOUBLES:
      return value->as.reals.count;
    case ETX_VALUE_BOOLS:
      return value->as.booleans.count;
    default:
      return value->as.tensors.count;
  }
}

static PyObject* item_of(const etx_value* value, size_t i) {
  switch (value->kind) {
    case ETX_VALUE_INTS:
      return etx_py_value(value->as.integers.items[i]);
    case ETX_VALUE_DOUBLES:
      return PyFloat_FromDouble(value->as.reals.items[i]);
    case ETX_VALUE_BOOLS:
      return PyBool_FromLong(value->as.booleans.items[i]);
    default:
      break;
  }
  const etx_value* const tensor = value->as.tensors.items[i];
  return tensor == NULL ? Py_NewRef(Py_None) : etx_py_value(tensor);
}

// Lists hold no lists.
static PyObject* list_of(const etx_value* value) {
  const size_t count = count_of(value);
  PyObject* const list = PyList_New(0);
  for (size_t i = 0; list != NULL && i < count; ++i) {
    PyObject* const item = item_of(value, i);
    const int failed = item == NULL ? -1 : PyList_Append(list, item);
    Py_XDECREF(item);
    if (failed == 0) continue;
    Py_DECREF(list);
    return NULL;
  }
  return list;
}

void etx_py_output_forget(etx_py_output* out) {
  Py_CLEAR(out->copy);
  Py_CLEAR(out->array);
}

static bool is_shown(const etx_py_output* out, const etx_tensor* tensor) {
  const size_t bytes = tensor->rank * sizeof *tensor->sizes;
  return out->array != NULL && out->data == tensor->data &&
         out->rank == tensor->rank &&
         memcmp(out->sizes, tensor->sizes, bytes) == 0 &&
         memcmp(out->strides, tensor->strides, bytes) == 0;
}

static bool is_within(etx_bytes bytes, const void* data) {
  return (uintptr_t)data - (uintptr_t)bytes.data < bytes.size;
}

// An output may be a constant of the program, in a file that is mapped to be
// read only.
static bool is_in_file(const etx_program* program, const void* data) {
  bool found = is_within(program->pte.file, data);
  for (size_t i = 0; !found && i < program->data_file_count; ++i) {
    found = is_within(program->data_files[i].file, data);
  }
  return found;
}

static bool show(etx_py_method* self, etx_py_output* out,
                 const etx_tensor* tensor) {
  if (is_shown(out, tensor)) return true;
  etx_py_output_forget(out);
  PyObject* const view =
      etx_py_view_of(self->session, NULL, tensor,
                     !is_in_file(&self->session->module.program, tensor->data));
  if (view == NULL) return false;
  out->array = PyObject_CallFunctionObjArgs(etx_py_hook.wrap, view, NULL);
  Py_DECREF(view);
  if (out->array == NULL) return false;
  out->copy = PyObject_GetAttrString(out->array, "copy");
  if (out->copy == NULL) return false;
  out->data = tensor->data;
  out->rank = tensor->rank;
  memcpy(out->sizes, tensor->sizes, tensor->rank * sizeof *tensor->sizes);
  memcpy(out->strides, tensor->strides, tensor->rank * sizeof *tensor->strides);
  return true;
}

// An output may be an input as it was passed, or a part of it: memory that may
// be freed when the call ends.
static bool is_in_input(const etx_py_method* self, const etx_py_input* inputs,
                        const etx_tensor* tensor) {
  const uintptr_t at = (uintptr_t)tensor->data;
  for (size_t i = 0; i < self->input_count; ++i) {
    if (inputs[i].value.kind != ETX_VALUE_TENSOR) continue;
    const etx_tensor* const input = &inputs[i].value.as.tensor;
    size_t bytes = etx_dtype_bytes(input->dtype);
    for (size_t d = 0; d < input->rank; ++d) bytes *= (size_t)input->sizes[d];
    if (at - (uintptr_t)input->data < bytes) return true;
  }
  return false;
}

// Users may change the shape or type of an array that they get, so it is never
// the one that is kept for the next call.
static PyObject* output_of(etx_py_method* self, const etx_py_input* inputs,
                           etx_py_output* out, bool copies) {
  const etx_value* value = NULL;
  if (etx_method_output(self->method, out->index, &value) != ETX_OK) {
    Py_RETURN_NONE;
  }
  if (value->kind != ETX_VALUE_TENSOR ||
      is_in_input(self, inputs, &value->as.tensor)) {
    return etx_py_value(value);
  }
  if (!show(self, out, &value->as.tensor)) return NULL;
  return copies ? PyObject_CallNoArgs(out->copy)
                : PyObject_CallMethod(out->array, "view", NULL);
}

PyObject* etx_py_outputs_of(etx_py_method* self, const etx_py_input* inputs,
                            bool copies) {
  if (self->output_count == 0) Py_RETURN_NONE;
  if (self->output_count == 1) {
    return output_of(self, inputs, self->outputs, copies);
  }
  PyObject* const tuple = PyTuple_New((Py_ssize_t)self->output_count);
  for (size_t i = 0; tuple != NULL && i < self->output_count; ++i) {
    PyObject* const item = output_of(self, inputs, &self->outputs[i], copies);
    if (item == NULL || PyTuple_SetItem(tuple, (Py_ssize_t)i, item) != 0) {
      Py_DECREF(tuple);
      return NULL;
    }
  }
  return tuple;
}
