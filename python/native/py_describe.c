// The content of a file as dictionaries, from which the package makes its
// classes:
//
//   {"methods": [{"name", "constant", "inputs": [port], "outputs": [port],
//                 "instructions", "scratch", "needed"}],
//    "states": [{"name", "dtype", "sizes", "offset"}], "state_bytes",
//    "target", "options", "fingerprint", "is_stock"}
//   port: {"name", "kind", "dtype", "sizes", "dims", "mutable", "varies",
//          "fixed", "shows", "expressions"}
//
// `sizes` are the largest sizes. `dims` are (dimension, symbol, factor, offset,
// minimum, maximum). `shows` is the input whose changed content an output
// returns, or -1. `expressions` are the sizes of an output, "b, 2*t + 1, 8", or
// an empty text.

#include "python/native/native_internal.h"

static const char* kind_name(etx_pte_kind kind) {
  switch (kind) {
    case ETX_PTE_NULL:
      return "none";
    case ETX_PTE_INT:
      return "int";
    case ETX_PTE_BOOL:
      return "bool";
    case ETX_PTE_DOUBLE:
      return "float";
    case ETX_PTE_TENSOR:
      return "tensor";
    case ETX_PTE_STRING:
      return "str";
    default:
      return "list";
  }
}

// Steals the reference `value`. If it is NULL, an exception is already set.
static bool set(PyObject* dict, const char* key, PyObject* value) {
  if (value == NULL) return false;
  const int failed = PyDict_SetItemString(dict, key, value);
  Py_DECREF(value);
  return failed == 0;
}

static bool append(PyObject* list, PyObject* value) {
  if (value == NULL) return false;
  const int failed = PyList_Append(list, value);
  Py_DECREF(value);
  return failed == 0;
}

static PyObject* sizes_of(const int32_t* sizes, size_t rank) {
  PyObject* const tuple = PyTuple_New((Py_ssize_t)rank);
  for (size_t i = 0; tuple != NULL && i < rank; ++i) {
    PyTuple_SetItem(tuple, (Py_ssize_t)i, PyLong_FromLong(sizes[i]));
  }
  return tuple;
}

static PyObject* fixed_of(const etx_pte_value* value) {
  switch (value->kind) {
    case ETX_PTE_INT:
      return PyLong_FromLongLong(value->as.integer);
    case ETX_PTE_BOOL:
      return PyBool_FromLong(value->as.boolean);
    case ETX_PTE_DOUBLE:
      return PyFloat_FromDouble(value->as.real);
    case ETX_PTE_STRING:
      return etx_py_text(value->as.string);
    default:
      return Py_NewRef(Py_None);
  }
}

// A port: its method and its position.
typedef struct storage_location {
  const etx_program* program;
  etx_text method;
  size_t index;
  bool is_input;
} storage_location;

static PyObject* dims_of(const storage_location* at) {
  PyObject* const list = PyList_New(0);
  size_t method = 0;
  if (list == NULL || !at->is_input || !at->program->has_blob) return list;
  const etx_blob* const blob = &at->program->blob;
  if (!etx_blob_method_find(blob, at->method, &method)) return list;
  for (size_t i = 0; i < etx_blob_input_dim_count(blob, method); ++i) {
    const etx_blob_input_dim dim = etx_blob_input_dim_at(blob, method, i);
    if (dim.input != at->index) continue;
    const etx_blob_symbol symbol = etx_blob_symbol_at(blob, method, dim.symbol);
    PyObject* const row =
        Py_BuildValue("iNLLLL", (int)dim.dim, etx_py_text(symbol.name),
                      (long long)dim.factor, (long long)dim.offset,
                      (long long)symbol.minimum, (long long)symbol.maximum);
    if (!append(list, row)) {
      Py_DECREF(list);
      return NULL;
    }
  }
  return list;
}

static PyObject* name_of(const storage_location* at,
                         const etx_port_info* info) {
  if (info->name.size > 0) return etx_py_text(info->name);
  return PyUnicode_FromFormat(at->is_input ? "input_%zu" : "output_%zu",
                              at->index);
}

static bool fill_port(PyObject* port, const storage_location* at,
                      const etx_port_info* info) {
  if (info->kind == ETX_PTE_TENSOR) {
    const etx_pte_tensor* const tensor = &info->value.as.tensor;
    if (!set(port, "dtype",
             PyUnicode_FromString(etx_dtype_name(tensor->dtype))) ||
        !set(port, "sizes", sizes_of(tensor->sizes, tensor->rank)) ||
        !set(port, "dynamic",
             PyBool_FromLong(tensor->dynamism != ETX_PTE_STATIC))) {
      return false;
    }
  }
  return set(port, "name", name_of(at, info)) &&
         set(port, "kind", PyUnicode_FromString(kind_name(info->kind))) &&
         set(port, "mutable", PyBool_FromLong(info->is_mutable)) &&
         set(port, "varies", PyBool_FromLong(info->varies)) &&
         set(port, "fixed", fixed_of(&info->value)) &&
         set(port, "shows", PyLong_FromLong(info->mutated_input)) &&
         set(port, "expressions", etx_py_text(info->sizes)) &&
         set(port, "dims", dims_of(at));
}

static PyObject* port_of(const storage_location* at) {
  etx_diag diag;
  etx_port_info info;
  etx_diag_init(&diag);
  const etx_status status =
      at->is_input ? etx_program_input_at(at->program, at->method, at->index,
                                          &info, &diag)
                   : etx_program_output_at(at->program, at->method, at->index,
                                           &info, &diag);
  if (status != ETX_OK) return etx_py_fail(status, &diag, NULL);
  PyObject* const port = PyDict_New();
  if (port != NULL && fill_port(port, at, &info)) return port;
  Py_XDECREF(port);
  return NULL;
}

static PyObject* ports_of(const etx_program* program, etx_text method,
                          bool is_input, size_t count) {
  PyObject* const list = PyList_New(0);
  for (size_t i = 0; list != NULL && i < count; ++i) {
    const storage_location at = {program, method, i, is_input};
    if (append(list, port_of(&at))) continue;
    Py_DECREF(list);
    return NULL;
  }
  return list;
}

// (structures, scratch, state, temporary) in bytes, or None if the method
// cannot be loaded.
static PyObject* needed_of(const etx_program* program, etx_text name) {
  etx_memory_needed needed;
  if (etx_method_needed(program, name, &needed, NULL) != ETX_OK) {
    Py_RETURN_NONE;
  }
  return Py_BuildValue("nnnn", (Py_ssize_t)needed.structure_bytes,
                       (Py_ssize_t)needed.scratch_bytes,
                       (Py_ssize_t)needed.state_bytes,
                       (Py_ssize_t)needed.temporary_bytes);
}

static PyObject* method_of(const etx_program* program,
                           const etx_method_info* info) {
  PyObject* const method = PyDict_New();
  if (method != NULL && set(method, "name", etx_py_text(info->name)) &&
      set(method, "constant", PyBool_FromLong(info->is_constant)) &&
      set(method, "instructions", PyLong_FromSize_t(info->instruction_count)) &&
      set(method, "scratch",
          PyLong_FromUnsignedLongLong(info->scratch_bytes)) &&
      set(method, "needed", needed_of(program, info->name)) &&
      set(method, "inputs",
          ports_of(program, info->name, true, info->input_count)) &&
      set(method, "outputs",
          ports_of(program, info->name, false, info->output_count))) {
    return method;
  }
  Py_XDECREF(method);
  return NULL;
}

static PyObject* methods_of(const etx_program* program) {
  PyObject* const list = PyList_New(0);
  for (size_t i = 0; list != NULL && i < etx_program_method_count(program);
       ++i) {
    etx_method_info info;
    if (etx_program_method_at(program, i, &info) == ETX_OK &&
        append(list, method_of(program, &info))) {
      continue;
    }
    Py_DECREF(list);
    return NULL;
  }
  return list;
}

static PyObject* states_of(const etx_program* program) {
  PyObject* const list = PyList_New(0);
  if (!program->has_blob) return list;
  for (size_t i = 0; list != NULL && i < etx_blob_state_count(&program->blob);
       ++i) {
    const etx_blob_state state = etx_blob_state_at(&program->blob, i);
    PyObject* const row = Py_BuildValue(
        "{sNsssNsK}", "name", etx_py_text(state.name), "dtype",
        etx_dtype_name(state.dtype), "sizes", sizes_of(state.sizes, state.rank),
        "offset", (unsigned long long)state.offset);
    if (append(list, row)) continue;
    Py_DECREF(list);
    return NULL;
  }
  return list;
}

static bool fill_origin(PyObject* dict, const etx_program* program) {
  uint8_t fingerprint[ETX_FINGERPRINT_BYTES];
  if (!program->has_blob) return true;
  etx_blob_fingerprint(&program->blob, fingerprint);
  return set(dict, "target", etx_py_text(etx_blob_target(&program->blob))) &&
         set(dict, "options", etx_py_text(etx_blob_options(&program->blob))) &&
         set(dict, "fingerprint",
             PyBytes_FromStringAndSize((const char*)fingerprint,
                                       ETX_FINGERPRINT_BYTES));
}

PyObject* etx_py_describe(const etx_program* program) {
  PyObject* const dict = PyDict_New();
  if (dict != NULL && set(dict, "methods", methods_of(program)) &&
      set(dict, "states", states_of(program)) &&
      set(dict, "state_bytes",
          PyLong_FromUnsignedLongLong(program->state_bytes)) &&
      set(dict, "file_bytes", PyLong_FromSize_t(program->pte.file.size)) &&
      set(dict, "is_stock", PyBool_FromLong(!program->has_blob)) &&
      fill_origin(dict, program)) {
    return dict;
  }
  Py_XDECREF(dict);
  return NULL;
}
