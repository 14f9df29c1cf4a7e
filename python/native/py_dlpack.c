// Tensors of other libraries through DLPack. A type may have a table of C
// functions, `__dlpack_c_exchange_api__`, which is much faster than the Python
// method `__dlpack__()`, which all types have.

#include "python/native/native_internal.h"

// DLTensor of the specification; a capsule "dltensor" begins with one.
typedef struct dlpack_tensor {
  void* data;
  int32_t device_type;
  int32_t device_index;
  int32_t rank;
  uint8_t type_code;
  uint8_t type_bits;
  uint16_t type_lanes;
  int64_t* sizes;
  int64_t* strides;  // in elements; NULL: dense
  uint64_t byte_offset;
} dlpack_tensor;

enum {
  DLPACK_CPU = 1,
  DLPACK_INT = 0,
  DLPACK_UINT = 1,
  DLPACK_FLOAT = 2,
  DLPACK_BFLOAT = 4,
  DLPACK_COMPLEX = 5,
  DLPACK_BOOL = 6,
};

// DLManagedTensorVersioned
typedef struct etx_py_dlpack {
  uint32_t major;
  uint32_t minor;
  void* context;
  void (*give_back)(struct etx_py_dlpack* self);
  uint64_t flags;
  dlpack_tensor tensor;
} etx_py_dlpack;

// DLPackExchangeAPI, of version 1
typedef struct exchange_table {
  uint32_t major;
  uint32_t minor;
  struct exchange_table* older;
  void* allocate;
  // The exported tensor keeps its memory alive, independent of the object.
  int (*export_tensor)(PyObject* object, etx_py_dlpack** out);
} exchange_table;

// A cache of the last type: the next call usually has the same one.
typedef struct known_type {
  PyTypeObject* type;           // a reference, or NULL
  const exchange_table* table;  // NULL: it has none
  bool is_lazy;                 // it is PyTorch's: see is_pending
} known_type;

enum { READ_ONLY = 1 };  // of etx_py_dlpack.flags

static known_type known;

static bool type_of_dlpack(const dlpack_tensor* from, etx_dtype* out) {
  static const char letters[] = {[DLPACK_INT] = 'b', [DLPACK_UINT] = 'B'};
  if (from->type_lanes != 1) return false;
  const int bytes = from->type_bits / 8;
  if (from->type_bits % 8 != 0 || bytes == 0 || (bytes & (bytes - 1)) != 0) {
    return false;
  }
  switch (from->type_code) {
    case DLPACK_BFLOAT:
      *out = ETX_DTYPE_BFLOAT16;
      return bytes == 2;
    case DLPACK_COMPLEX:
      *out = bytes == 8 ? ETX_DTYPE_COMPLEX64 : ETX_DTYPE_COMPLEX128;
      return bytes == 8 || bytes == 16;
    case DLPACK_FLOAT:
      *out = bytes == 2   ? ETX_DTYPE_FLOAT16
             : bytes == 4 ? ETX_DTYPE_FLOAT32
                          : ETX_DTYPE_FLOAT64;
      return bytes >= 2 && bytes <= 8;
    case DLPACK_INT:
    case DLPACK_UINT:
      return bytes <= 8 &&
             etx_py_type_of_letter(letters[from->type_code], bytes, out);
    case DLPACK_BOOL:
      *out = ETX_DTYPE_BOOL;
      return bytes == 1;
    default:
      return false;
  }
}

// False without an exception if the tensor must be converted.
static bool take_tensor(etx_py_input* input, const dlpack_tensor* from) {
  etx_dtype found = ETX_DTYPE_COUNT;
  if (from->device_type != DLPACK_CPU || from->rank < 0 ||
      from->rank > ETX_MAX_RANK || !type_of_dlpack(from, &found)) {
    return false;
  }
  int64_t dense = 1;
  for (int i = from->rank; i-- > 0;) {
    const int64_t size = from->sizes[i];
    if (size > 1 && from->strides != NULL && from->strides[i] != dense) {
      return false;
    }
    if (!etx_py_input_set_dimension(input, i, size, dense)) return false;
    dense *= size;
  }
  etx_py_input_set_tensor(input, (uint8_t*)from->data + from->byte_offset,
                          found, from->rank);
  return true;
}

static const exchange_table* table_of(PyTypeObject* type) {
  PyObject* const capsule =
      PyObject_GetAttrString((PyObject*)type, "__dlpack_c_exchange_api__");
  const exchange_table* table =
      capsule == NULL ? NULL
                      : PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
  PyErr_Clear();
  Py_XDECREF(capsule);  // its type keeps it
  while (table != NULL && table->major > 1) table = table->older;
  return table != NULL && table->major == 1 ? table : NULL;
}

static const known_type* know(PyTypeObject* type) {
  if (known.type == type) return &known;
  const known_type found = {
      .type = (PyTypeObject*)Py_NewRef((PyObject*)type),
      .table = table_of(type),
      .is_lazy = PyObject_HasAttrString((PyObject*)type, "is_neg") != 0,
  };
  PyTypeObject* const earlier = known.type;
  known = found;
  Py_XDECREF((PyObject*)earlier);
  return &known;
}

static bool is_so(PyObject* object, PyObject* name) {
  PyObject* const answer =
      name == NULL ? NULL : PyObject_CallMethodObjArgs(object, name, NULL);
  const bool is_true = answer != Py_False;
  if (answer == NULL) PyErr_Clear();
  Py_XDECREF(answer);
  return is_true;
}

// A lazy negation or conjugation: the memory of such a PyTorch tensor has the
// value before it, and DLPack does not tell.
static bool is_pending(PyObject* object, const etx_py_input* input) {
  static PyObject* is_neg;
  static PyObject* is_conj;
  if (is_neg == NULL) is_neg = PyUnicode_InternFromString("is_neg");
  if (is_conj == NULL) is_conj = PyUnicode_InternFromString("is_conj");
  return is_so(object, is_neg) ||
         (etx_dtype_category_of(input->value.as.tensor.dtype) ==
              ETX_CATEGORY_COMPLEX &&
          is_so(object, is_conj));
}

static bool take_exported(etx_py_input* input, const exchange_table* table,
                          PyObject* object, bool is_mutable) {
  etx_py_dlpack* exported = NULL;
  if (table->export_tensor(object, &exported) != 0 || exported == NULL) {
    return false;
  }
  const bool is_fit = exported->major == 1 &&
                      !(is_mutable && (exported->flags & READ_ONLY) != 0);
  if (!is_fit || !take_tensor(input, &exported->tensor)) {
    etx_py_dlpack_give_back(exported);
    return false;
  }
  input->exported = exported;
  return true;
}

static bool take_capsule(etx_py_input* input, PyObject* object) {
  PyObject* const capsule = PyObject_CallMethod(object, "__dlpack__", NULL);
  if (capsule == NULL) return false;
  const dlpack_tensor* const from = PyCapsule_GetPointer(capsule, "dltensor");
  if (from == NULL || !take_tensor(input, from)) {
    Py_DECREF(capsule);
    return false;
  }
  input->owner = capsule;
  return true;
}

bool etx_py_input_take_dlpack(etx_py_input* input, const etx_py_port* port,
                              PyObject* object) {
  const known_type type = *know(Py_TYPE(object));
  if (type.table != NULL
          ? take_exported(input, type.table, object, port->is_mutable)
          : take_capsule(input, object)) {
    if (!type.is_lazy || !is_pending(object, input)) return true;
    etx_py_input_give_back(input);
    input->owner = NULL;
    input->exported = NULL;
  }
  PyErr_Clear();  // `coerce` says why
  return false;
}

void etx_py_dlpack_give_back(etx_py_dlpack* exported) {
  if (exported->give_back != NULL) exported->give_back(exported);
}
