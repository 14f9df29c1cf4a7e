// A pool of instances on one file. A lease is a Session, which goes back to the
// pool when it is closed or when nothing refers to it any more.

#include "python/native/native_internal.h"

#include <stdlib.h>

PyTypeObject* etx_py_pool_type;

// Allocates zeroed memory, so that states that start with zeros take no memory
// until they are written.
static etx_status take_block(etx_py_pool* pool,
                             const etx_instance_pool_options* options,
                             etx_bytes_mut* out, etx_diag* diag) {
  enum { SPARE = ETX_INSTANCE_POOL_ALIGNMENT - 1 };
  size_t bytes = 0;
  ETX_TRY(
      etx_instance_pool_needed(&pool->module.program, options, &bytes, diag));
  pool->block = bytes > SIZE_MAX - SPARE ? NULL : calloc(bytes + SPARE, 1);
  if (pool->block == NULL) {
    return etx_diag_fail(diag, ETX_OUT_OF_MEMORY,
                         "not enough memory for a pool of %z bytes", bytes);
  }
  *out = (etx_bytes_mut){
      (uint8_t*)pool->block + (-(uintptr_t)pool->block & SPARE), bytes};
  return ETX_OK;
}

static etx_status start(etx_py_pool* pool,
                        const etx_instance_pool_options* options,
                        etx_diag* diag) {
  etx_bytes_mut block = {NULL, 0};
  ETX_TRY(take_block(pool, options, &block, diag));
  return etx_instance_pool_init(&pool->pool, &pool->module.program, options,
                                block, NULL, diag);
}

// The names of a tuple of str, borrowed from it; the caller frees the array.
// NULL with an exception on failure.
static etx_text* names_of(PyObject* tuple, size_t* out_count) {
  const Py_ssize_t count = PyTuple_Size(tuple);
  if (count < 0) return NULL;
  etx_text* const names = PyMem_Calloc((size_t)count + 1, sizeof *names);
  if (names == NULL) {
    PyErr_NoMemory();
    return NULL;
  }
  for (Py_ssize_t i = 0; i < count; ++i) {
    Py_ssize_t size = 0;
    names[i].data = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(tuple, i), &size);
    names[i].size = (size_t)size;
    if (names[i].data != NULL) continue;
    PyMem_Free(names);
    return NULL;
  }
  *out_count = (size_t)count;
  return names;
}

static PyObject* make(PyTypeObject* type, etx_py_file* file,
                      const etx_instance_pool_options* options,
                      PyObject* after_put) {
  etx_diag diag;
  etx_status status = ETX_OK;
  const allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
  etx_py_pool* const pool = (etx_py_pool*)allocate(type, 0);
  if (pool == NULL) return NULL;
  // Counted first: the file stays open while the methods are loaded.
  pool->file = (etx_py_file*)Py_NewRef((PyObject*)file);
  pool->after_put = Py_NewRef(after_put);
  pool->is_open = true;
  ++file->session_count;
  etx_module_share(&pool->module, &file->module);
  etx_diag_init(&diag);
  Py_BEGIN_ALLOW_THREADS status = start(pool, options, &diag);
  Py_END_ALLOW_THREADS if (status == ETX_OK) return (PyObject*)pool;
  Py_DECREF((PyObject*)pool);
  return etx_py_fail(status, &diag, NULL);
}

// Pool(file, count, names, keeps_state, after_put)
static PyObject* pool_new(PyTypeObject* type, PyObject* args,
                          PyObject* kwargs) {
  PyObject* file = NULL;
  PyObject* tuple = NULL;
  PyObject* after_put = NULL;
  Py_ssize_t count = 0;
  int keeps_state = 0;
  size_t name_count = 0;
  (void)kwargs;
  if (!PyArg_ParseTuple(args, "O!nO!pO", etx_py_file_type, &file, &count,
                        &PyTuple_Type, &tuple, &keeps_state, &after_put)) {
    return NULL;
  }
  if (!((etx_py_file*)file)->is_open) {
    return etx_py_refuse(ETX_BAD_STATE, NULL, "this program is closed");
  }
  etx_text* const names = names_of(tuple, &name_count);
  if (names == NULL) return NULL;
  const etx_instance_pool_options options = {
      .instance_count = count < 0 ? 0 : (size_t)count,
      .methods = names,
      .method_count = name_count,
      .keeps_state = keeps_state != 0,
      .is_zeroed = true,
  };
  PyObject* const pool = make(type, (etx_py_file*)file, &options, after_put);
  PyMem_Free(names);
  return pool;
}

static void close_pool(etx_py_pool* pool) {
  if (!pool->is_open) return;
  pool->is_open = false;
  free(pool->block);
  pool->block = NULL;
  --pool->file->session_count;
}

// No lease is out: each has a reference to its pool.
static void pool_dealloc(PyObject* self) {
  etx_py_pool* const pool = (etx_py_pool*)self;
  close_pool(pool);
  Py_XDECREF((PyObject*)pool->file);
  Py_XDECREF(pool->after_put);
  etx_py_free(self);
}

static PyObject* pool_close(PyObject* self, PyObject* ignored) {
  (void)ignored;
  etx_py_pool* const pool = (etx_py_pool*)self;
  if (pool->is_open && pool->lease_count > 0) {
    return etx_py_refuse(ETX_BAD_STATE, NULL,
                         "%z sessions of this pool are open: close them first",
                         pool->lease_count);
  }
  close_pool(pool);
  Py_RETURN_NONE;
}

// get(): a Session, or None if all instances are out.
static PyObject* pool_get(PyObject* self, PyObject* ignored) {
  (void)ignored;
  etx_py_pool* const pool = (etx_py_pool*)self;
  etx_instance_lease lease;
  if (!pool->is_open) {
    return etx_py_refuse(ETX_BAD_STATE, NULL, "this pool is closed");
  }
  if (etx_instance_pool_get(&pool->pool, &lease) != ETX_OK) Py_RETURN_NONE;
  ++pool->lease_count;
  PyObject* const session = etx_py_session_of(pool, &lease);
  if (session != NULL) return session;
  const etx_status status = etx_instance_pool_put(&pool->pool, &lease, NULL);
  if (status == ETX_OK) --pool->lease_count;
  return NULL;
}

bool etx_py_pool_put(etx_py_session* session, bool lets_others_run) {
  etx_diag diag;
  etx_status status = ETX_OK;
  etx_py_pool* const pool = session->pool;
  etx_diag_init(&diag);
  if (lets_others_run) {
    // Resetting a large state takes a while.
    Py_BEGIN_ALLOW_THREADS status =
        etx_instance_pool_put(&pool->pool, &session->lease, &diag);
    Py_END_ALLOW_THREADS
  } else {
    status = etx_instance_pool_put(&pool->pool, &session->lease, &diag);
  }
  if (status != ETX_OK) {
    etx_py_fail(status, &diag, NULL);
    return false;
  }
  --pool->lease_count;
  PyObject* const told = PyObject_CallNoArgs(pool->after_put);
  Py_XDECREF(told);
  return told != NULL;
}

// counts(): in use, most in use, gets, empties
static PyObject* pool_counts(PyObject* self, PyObject* ignored) {
  (void)ignored;
  const etx_py_pool* const pool = (etx_py_pool*)self;
  if (!pool->is_open) {
    return etx_py_refuse(ETX_BAD_STATE, NULL, "this pool is closed");
  }
  const etx_instance_pool_statistics counts =
      etx_instance_pool_count(&pool->pool);
  return Py_BuildValue(
      "(nnKK)", (Py_ssize_t)counts.in_use, (Py_ssize_t)counts.most_in_use,
      (unsigned long long)counts.gets, (unsigned long long)counts.empties);
}

static PyMethodDef methods[] = {
    {"get", pool_get, METH_NOARGS, "A session of a free instance, or None."},
    {"counts", pool_counts, METH_NOARGS, "What the pool has counted."},
    {"close", pool_close, METH_NOARGS, "Gives the memory back."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, (void*)pool_new},
    {Py_tp_dealloc, (void*)pool_dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};

static PyType_Spec spec = {"etx._runtime.Pool", sizeof(etx_py_pool), 0,
                           Py_TPFLAGS_DEFAULT, slots};

bool etx_py_pool_ready(PyObject* module) {
  etx_py_pool_type = (PyTypeObject*)PyType_FromSpec(&spec);
  return etx_py_pool_type != NULL &&
         PyModule_AddObjectRef(module, "Pool", (PyObject*)etx_py_pool_type) ==
             0;
}
