// Converts Python values to inputs of the runtime. A value with memory of the
// right dtype is borrowed without a copy, by the buffer protocol or by DLPack.
// Other values go to the package's `coerce`, which makes an array or raises an
// exception.

#include "python/native/native_internal.h"

static bool refuse(const char* place, const etx_py_port* port,
                   const char* why) {
  Py_ssize_t size = 0;
  const char* const name = PyUnicode_AsUTF8AndSize(port->name, &size);
  etx_py_refuse(ETX_BAD_ARGUMENT, place, "input '%s' %s",
                name == NULL ? "?" : name, why);
  return false;
}

bool etx_py_type_of_letter(char letter, Py_ssize_t bytes, etx_dtype* out) {
  const etx_dtype integers[] = {ETX_DTYPE_INT8, ETX_DTYPE_INT16,
                                ETX_DTYPE_INT32, ETX_DTYPE_INT64};
  const etx_dtype naturals[] = {ETX_DTYPE_UINT8, ETX_DTYPE_UINT16,
                                ETX_DTYPE_UINT32, ETX_DTYPE_UINT64};
  const int log2 = bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : 3;
  switch (letter) {
    case '?':
      *out = ETX_DTYPE_BOOL;
      return true;
    case 'e':
      *out = ETX_DTYPE_FLOAT16;
      return true;
    case 'f':
      *out = ETX_DTYPE_FLOAT32;
      return true;
    case 'd':
      *out = ETX_DTYPE_FLOAT64;
      return true;
    case 'b':
    case 'h':
    case 'i':
    case 'l':
    case 'q':
      *out = integers[log2];
      return true;
    case 'B':
    case 'H':
    case 'I':
    case 'L':
    case 'Q':
      *out = naturals[log2];
      return true;
    default:
      return false;
  }
}

static bool type_of_format(const char* format, Py_ssize_t bytes,
                           etx_dtype* out) {
  if (format == NULL) {
    *out = ETX_DTYPE_UINT8;
    return true;
  }
  if (*format == '@' || *format == '=' || *format == '<') ++format;
  if (format[0] == 'Z' && format[1] != '\0' && format[2] == '\0') {
    *out = format[1] == 'f' ? ETX_DTYPE_COMPLEX64 : ETX_DTYPE_COMPLEX128;
    return format[1] == 'f' || format[1] == 'd';
  }
  return format[0] != '\0' && format[1] == '\0' &&
         etx_py_type_of_letter(format[0], bytes, out);
}

// Dtypes without a letter in the struct module arrive as integers of their
// size.
static etx_dtype seen_as(etx_dtype found, etx_dtype wanted) {
  const bool is_bits = found == ETX_DTYPE_UINT16 || found == ETX_DTYPE_UINT8;
  const bool has_letter = wanted != ETX_DTYPE_BFLOAT16 &&
                          etx_dtype_category_of(wanted) != ETX_CATEGORY_OPAQUE;
  if (!is_bits || has_letter ||
      etx_dtype_bytes(found) != etx_dtype_bytes(wanted)) {
    return found;
  }
  return wanted;
}

bool etx_py_input_set_dimension(etx_py_input* input, int i, int64_t size,
                                int64_t stride) {
  if (size < 0 || size > INT32_MAX || stride > INT32_MAX ||
      stride < INT32_MIN) {
    return false;
  }
  input->sizes[i] = (int32_t)size;
  input->strides[i] = (int32_t)stride;
  return true;
}

void etx_py_input_set_tensor(etx_py_input* input, void* data, etx_dtype dtype,
                             int rank) {
  input->value.kind = ETX_VALUE_TENSOR;
  input->value.as.tensor = (etx_tensor){
      .data = data,
      .sizes = input->sizes,
      .strides = input->strides,
      .rank = (uint8_t)rank,
      .dtype = dtype,
  };
}

// Borrows a row-major buffer of a dtype with a letter.
static bool take_buffer(etx_py_input* input, const etx_py_port* port,
                        PyObject* object) {
  const int flags =
      PyBUF_FORMAT | PyBUF_STRIDES | (port->is_mutable ? PyBUF_WRITABLE : 0);
  if (PyObject_GetBuffer(object, &input->view, flags) != 0) {
    input->view.obj = NULL;
    PyErr_Clear();
    return false;
  }
  const Py_buffer* const view = &input->view;
  etx_dtype found = ETX_DTYPE_COUNT;
  bool fits = view->ndim <= ETX_MAX_RANK &&
              type_of_format(view->format, view->itemsize, &found);
  int64_t dense = view->itemsize;
  for (int i = view->ndim; fits && i-- > 0;) {
    const int64_t size = view->shape[i];
    // Arrays of ctypes have no strides, asked for or not: they are dense.
    fits = (size <= 1 || view->len == 0 || view->strides == NULL ||
            view->strides[i] == dense) &&
           etx_py_input_set_dimension(input, i, size, dense / view->itemsize);
    dense *= size;
  }
  if (!fits) {
    PyBuffer_Release(&input->view);
    input->view.obj = NULL;
    return false;
  }
  etx_py_input_set_tensor(input, view->buf, seen_as(found, port->dtype),
                          view->ndim);
  return true;
}

static bool take_converted(etx_py_input* input, const etx_py_port* port,
                           PyObject* object, const char* place) {
  PyObject* const made =
      PyObject_CallFunction(etx_py_hook.coerce, "OOsiOz", object, port->name,
                            etx_dtype_name(port->dtype), (int)port->rank,
                            port->is_mutable ? Py_True : Py_False, place);
  if (made == NULL) return false;
  if (take_buffer(input, port, made)) {
    input->owner = made;
    return true;
  }
  Py_DECREF(made);
  return refuse(place, port, "must be an array, or a value that becomes one");
}

static bool take_tensor(etx_py_input* input, const etx_py_port* port,
                        PyObject* object, const char* place) {
  if (PyObject_CheckBuffer(object)) {
    if (take_buffer(input, port, object)) return true;
  } else if (etx_py_input_take_dlpack(input, port, object)) {
    return true;
  }
  return take_converted(input, port, object, place);
}

static bool take_integer(etx_py_input* input, const etx_py_port* port,
                         PyObject* object, const char* place) {
  PyObject* const index = PyNumber_Index(object);
  if (index == NULL) {
    PyErr_Clear();
    return refuse(place, port, "must be an int");
  }
  const long long value = PyLong_AsLongLong(index);
  Py_DECREF(index);
  if (value == -1 && PyErr_Occurred() != NULL) {
    PyErr_Clear();
    return refuse(place, port, "must be an int that fits in 64 bits");
  }
  input->value.kind = ETX_VALUE_INT;
  input->value.as.integer = value;
  return true;
}

static bool take_real(etx_py_input* input, const etx_py_port* port,
                      PyObject* object, const char* place) {
  const double value = PyFloat_AsDouble(object);
  if (value == -1.0 && PyErr_Occurred() != NULL) {
    PyErr_Clear();
    return refuse(place, port, "must be a float");
  }
  input->value.kind = ETX_VALUE_DOUBLE;
  input->value.as.real = value;
  return true;
}

static bool take_string(etx_py_input* input, const etx_py_port* port,
                        PyObject* object, const char* place) {
  Py_ssize_t size = 0;
  const char* const text =
      PyUnicode_Check(object) ? PyUnicode_AsUTF8AndSize(object, &size) : NULL;
  if (text == NULL) {
    PyErr_Clear();
    return refuse(place, port, "must be a str");
  }
  input->value.kind = ETX_VALUE_STRING;
  input->value.as.string = (etx_text){text, (size_t)size};
  return true;
}

bool etx_py_input_borrow(etx_py_input* input, const etx_py_port* port,
                         PyObject* object, const char* place) {
  input->view.obj = NULL;
  input->owner = NULL;
  input->exported = NULL;
  switch (port->kind) {
    case ETX_PTE_TENSOR:
      return take_tensor(input, port, object, place);
    case ETX_PTE_INT:
      return take_integer(input, port, object, place);
    case ETX_PTE_DOUBLE:
      return take_real(input, port, object, place);
    case ETX_PTE_STRING:
      return take_string(input, port, object, place);
    case ETX_PTE_BOOL:
      if (!PyBool_Check(object)) {
        return refuse(place, port, "must be a bool");
      }
      input->value.kind = ETX_VALUE_BOOL;
      input->value.as.boolean = object == Py_True;
      return true;
    case ETX_PTE_NULL:
      if (object != Py_None) {
        return refuse(place, port, "must be None");
      }
      input->value.kind = ETX_VALUE_NONE;
      return true;
    default:
      return refuse(place, port, "is a list, which is not supported");
  }
}

void etx_py_input_give_back(etx_py_input* input) {
  if (input->view.obj != NULL) PyBuffer_Release(&input->view);
  Py_XDECREF(input->owner);
  if (input->exported != NULL) etx_py_dlpack_give_back(input->exported);
}
