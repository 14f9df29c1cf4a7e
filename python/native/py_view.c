// A View exposes the memory of a tensor through the buffer protocol. An array
// made from it needs no copy and keeps the memory alive.

#include "python/native/native_internal.h"

PyTypeObject* etx_py_view_type;

typedef struct etx_py_view {
  PyObject_HEAD etx_py_session* session;  // a reference, or NULL
  PyObject* owner;                        // a reference, or NULL
  void* data;
  etx_dtype dtype;
  bool is_writable;
  int rank;
  Py_ssize_t bytes;
  Py_ssize_t sizes[ETX_MAX_RANK];
  Py_ssize_t strides[ETX_MAX_RANK];  // in bytes
} etx_py_view;

// Format letters of the struct module. Dtypes without a letter are exposed as
// integers of their size; the package knows their dtype.
static const char* format_of(etx_dtype dtype) {
  switch (dtype) {
    case ETX_DTYPE_BOOL:
      return "?";
    case ETX_DTYPE_INT8:
      return "b";
    case ETX_DTYPE_INT16:
      return "h";
    case ETX_DTYPE_INT32:
      return "i";
    case ETX_DTYPE_INT64:
      return "q";
    case ETX_DTYPE_UINT32:
      return "I";
    case ETX_DTYPE_UINT64:
      return "Q";
    case ETX_DTYPE_FLOAT16:
      return "e";
    case ETX_DTYPE_FLOAT32:
      return "f";
    case ETX_DTYPE_FLOAT64:
      return "d";
    case ETX_DTYPE_COMPLEX64:
      return "Zf";
    case ETX_DTYPE_COMPLEX128:
      return "Zd";
    default:
      break;
  }
  switch (etx_dtype_bytes(dtype)) {
    case 1:
      return "B";
    case 2:
      return "H";
    default:
      return "I";
  }
}

PyObject* etx_py_view_of(etx_py_session* session, PyObject* owner,
                         const etx_tensor* tensor, bool is_writable) {
  static uint64_t nothing;  // the address of tensors without elements
  etx_py_view* const view = PyObject_New(etx_py_view, etx_py_view_type);
  if (view == NULL) return NULL;
  view->session = session;
  view->owner = owner;
  Py_XINCREF((PyObject*)session);
  Py_XINCREF(owner);
  if (session != NULL) ++session->view_count;
  view->data = tensor->data == NULL ? &nothing : tensor->data;
  view->dtype = tensor->dtype;
  view->is_writable = is_writable;
  view->rank = tensor->rank;
  const Py_ssize_t item = (Py_ssize_t)etx_dtype_bytes(tensor->dtype);
  Py_ssize_t dense = item;
  for (int i = view->rank; i-- > 0;) {
    view->sizes[i] = tensor->sizes[i];
    view->strides[i] =
        tensor->strides == NULL ? dense : tensor->strides[i] * item;
    dense *= view->sizes[i];
  }
  view->bytes = dense;
  return (PyObject*)view;
}

static void view_dealloc(PyObject* self) {
  etx_py_view* const view = (etx_py_view*)self;
  if (view->session != NULL) --view->session->view_count;
  Py_XDECREF((PyObject*)view->session);
  Py_XDECREF(view->owner);
  etx_py_free(self);
}

// True if the memory has the order that the flags request. Without
// PyBUF_STRIDES that is row-major order.
static bool has_order(const Py_buffer* all, int flags) {
  const bool is_any = (flags & PyBUF_ANY_CONTIGUOUS) == PyBUF_ANY_CONTIGUOUS;
  const bool is_fortran = (flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS;
  const bool is_c = (flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS ||
                    (flags & PyBUF_STRIDES) != PyBUF_STRIDES;
  return (!is_any || PyBuffer_IsContiguous(all, 'A')) &&
         (!is_fortran || PyBuffer_IsContiguous(all, 'F')) &&
         (!is_c || PyBuffer_IsContiguous(all, 'C'));
}

static int view_get_buffer(PyObject* self, Py_buffer* out, int flags) {
  etx_py_view* const view = (etx_py_view*)self;
  out->obj = NULL;
  if ((flags & PyBUF_WRITABLE) == PyBUF_WRITABLE && !view->is_writable) {
    PyErr_SetString(PyExc_BufferError, "this memory is read-only");
    return -1;
  }
  out->buf = view->data;
  out->len = view->bytes;
  out->itemsize = (Py_ssize_t)etx_dtype_bytes(view->dtype);
  out->readonly = !view->is_writable;
  out->ndim = view->rank;
  out->format = (flags & PyBUF_FORMAT) != 0
                    ? (char*)(uintptr_t)format_of(view->dtype)
                    : NULL;
  out->shape = view->sizes;
  out->strides = view->strides;
  out->suboffsets = NULL;
  out->internal = NULL;
  if (!has_order(out, flags)) {
    PyErr_SetString(PyExc_BufferError,
                    "this memory does not have the requested order");
    return -1;
  }
  if ((flags & PyBUF_ND) != PyBUF_ND) out->shape = NULL;
  if ((flags & PyBUF_STRIDES) != PyBUF_STRIDES) out->strides = NULL;
  out->obj = Py_NewRef(self);
  return 0;
}

static PyObject* view_dtype(PyObject* self, void* closure) {
  (void)closure;
  return PyUnicode_FromString(etx_dtype_name(((etx_py_view*)self)->dtype));
}

static PyGetSetDef fields[] = {
    {"dtype", view_dtype, NULL, "Name of the element type.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_dealloc, (void*)view_dealloc},
    {Py_tp_getset, fields},
    {Py_bf_getbuffer, (void*)view_get_buffer},
    {0, NULL},
};

static PyType_Spec spec = {
    "etx._runtime.View", sizeof(etx_py_view), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

bool etx_py_view_ready(PyObject* module) {
  etx_py_view_type = (PyTypeObject*)PyType_FromSpec(&spec);
  return etx_py_view_type != NULL &&
         PyModule_AddObjectRef(module, "View", (PyObject*)etx_py_view_type) ==
             0;
}
