// A session has its own state, scratch and methods on a shared file, so each
// thread can have one. They are in memory of its own, or those of an instance
// of a pool.

#include "python/native/native_internal.h"

#include <stdlib.h>

#include "runtime/module/state_file.h"

PyTypeObject* etx_py_session_type;

bool etx_py_session_is_free(const etx_py_session* session) {
  if (!session->is_open) {
    etx_py_refuse(ETX_BAD_STATE, NULL, "this session is closed");
    return false;
  }
  if (session->runs != NULL) {
    etx_py_refuse(ETX_BAD_STATE, NULL,
                  "another thread runs method '%s' of this session; only one "
                  "thread at a time can use a session",
                  session->runs);
    return false;
  }
  return true;
}

// Allocates zeroed memory, so that the session need not clear it.
static etx_status take_block(etx_py_session* session, etx_bytes_mut* out,
                             etx_diag* diag) {
  enum { SPARE = ETX_SHARED_MEMORY_ALIGNMENT - 1 };
  size_t bytes = 0;
  ETX_TRY(etx_shared_memory_needed(&session->module.program, &bytes));
  session->block = bytes > SIZE_MAX - SPARE ? NULL : calloc(bytes + SPARE, 1);
  if (session->block == NULL) {
    return etx_diag_fail(diag, ETX_OUT_OF_MEMORY,
                         "not enough memory for a session of %z bytes", bytes);
  }
  *out = (etx_bytes_mut){
      (uint8_t*)session->block + (-(uintptr_t)session->block & SPARE), bytes};
  return ETX_OK;
}

static etx_status start(etx_py_session* session, const etx_py_session* from,
                        etx_diag* diag) {
  etx_bytes_mut block = {NULL, 0};
  ETX_TRY(take_block(session, &block, diag));
  if (from == NULL) {
    return etx_shared_memory_init_zeroed(&session->shared,
                                         &session->module.program, block, diag);
  }
  ETX_TRY(etx_shared_memory_fork(&from->shared, &session->shared, block, diag));
  session->shared.program = &session->module.program;
  return ETX_OK;
}

// Creates a session on `file`, with a copy of the state of `from` unless it is
// NULL.
static PyObject* make(PyTypeObject* type, etx_py_file* file,
                      const etx_py_session* from) {
  etx_diag diag;
  etx_diag_init(&diag);
  const allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
  etx_py_session* const session = (etx_py_session*)allocate(type, 0);
  if (session == NULL) return NULL;
  etx_module_share(&session->module, &file->module);
  const etx_status status = start(session, from, &diag);
  if (status != ETX_OK) {
    free(session->block);
    session->block = NULL;
    Py_DECREF((PyObject*)session);
    return etx_py_fail(status, &diag, NULL);
  }
  session->file = (etx_py_file*)Py_NewRef((PyObject*)file);
  ++file->session_count;
  session->is_open = true;
  return (PyObject*)session;
}

PyObject* etx_py_session_of(etx_py_pool* pool,
                            const etx_instance_lease* lease) {
  const allocfunc allocate =
      (allocfunc)PyType_GetSlot(etx_py_session_type, Py_tp_alloc);
  etx_py_session* const session =
      (etx_py_session*)allocate(etx_py_session_type, 0);
  if (session == NULL) return NULL;
  etx_module_share(&session->module, &pool->file->module);
  session->file = (etx_py_file*)Py_NewRef((PyObject*)pool->file);
  session->pool = (etx_py_pool*)Py_NewRef((PyObject*)pool);
  session->lease = *lease;
  session->shared = *lease->session;
  session->is_open = true;
  return (PyObject*)session;
}

// Session(file)
static PyObject* session_new(PyTypeObject* type, PyObject* args,
                             PyObject* kwargs) {
  PyObject* file = NULL;
  (void)kwargs;
  if (!PyArg_ParseTuple(args, "O!", etx_py_file_type, &file)) return NULL;
  if (!((etx_py_file*)file)->is_open) {
    return etx_py_refuse(ETX_BAD_STATE, NULL, "this program is closed");
  }
  return make(type, (etx_py_file*)file, NULL);
}

// Returns false, with an exception, if the instance of a pool did not go back.
static bool close_session(etx_py_session* session, bool lets_others_run) {
  if (!session->is_open) return true;
  session->is_open = false;
  etx_module_regions_release(&session->regions);
  if (session->pool != NULL) return etx_py_pool_put(session, lets_others_run);
  etx_module_close(&session->module);
  free(session->block);
  session->block = NULL;
  --session->file->session_count;
  return true;
}

static void session_dealloc(PyObject* self) {
  etx_py_session* const session = (etx_py_session*)self;
  PyObject *type = NULL, *value = NULL, *trace = NULL;
  PyErr_Fetch(&type, &value, &trace);
  if (!close_session(session, false)) PyErr_WriteUnraisable(NULL);
  PyErr_Restore(type, value, trace);
  Py_XDECREF((PyObject*)session->pool);
  Py_XDECREF((PyObject*)session->file);
  etx_py_free(self);
}

static PyObject* session_close(PyObject* self, PyObject* ignored) {
  (void)ignored;
  etx_py_session* const session = (etx_py_session*)self;
  if (!session->is_open) Py_RETURN_NONE;
  if (!etx_py_session_is_free(session)) return NULL;
  if (session->view_count > 0) {
    return etx_py_refuse(ETX_BAD_STATE, NULL,
                         "%z arrays still use memory of this session; delete "
                         "or copy them first",
                         session->view_count);
  }
  if (!close_session(session, true)) return NULL;
  Py_RETURN_NONE;
}

static PyObject* session_fork(PyObject* self, PyObject* ignored) {
  (void)ignored;
  etx_py_session* const session = (etx_py_session*)self;
  if (!etx_py_session_is_free(session)) return NULL;
  return make(Py_TYPE(self), session->file, session);
}

// method(name, signature)
static PyObject* session_method(PyObject* self, PyObject* args) {
  PyObject* name = NULL;
  PyObject* signature = NULL;
  etx_py_session* const session = (etx_py_session*)self;
  if (!PyArg_ParseTuple(args, "UU", &name, &signature)) return NULL;
  return etx_py_session_is_free(session)
             ? etx_py_method_of(session, name, signature)
             : NULL;
}

static PyObject* session_state_names(PyObject* self, PyObject* ignored) {
  (void)ignored;
  etx_py_session* const session = (etx_py_session*)self;
  if (!etx_py_session_is_free(session)) return NULL;
  const size_t count = etx_shared_memory_count(&session->shared);
  PyObject* const names = PyTuple_New((Py_ssize_t)count);
  if (names != NULL && !etx_py_session_is_free(session)) {
    Py_DECREF(names);  // garbage that was collected here closed the session
    return NULL;
  }
  for (size_t i = 0; names != NULL && i < count; ++i) {
    PyObject* const name =
        etx_py_text(etx_shared_memory_name_at(&session->shared, i));
    if (name == NULL || PyTuple_SetItem(names, (Py_ssize_t)i, name) != 0) {
      Py_DECREF(names);
      return NULL;
    }
  }
  return names;
}

// state(name): a View over it.
static PyObject* session_state(PyObject* self, PyObject* args) {
  const char* name = NULL;
  Py_ssize_t size = 0;
  etx_diag diag;
  etx_tensor tensor;
  etx_state_hold hold;
  etx_py_session* const session = (etx_py_session*)self;
  if (!PyArg_ParseTuple(args, "s#", &name, &size)) return NULL;
  if (!etx_py_session_is_free(session)) return NULL;
  etx_diag_init(&diag);
  const etx_status status = etx_shared_memory_find(
      &session->shared, (etx_text){name, (size_t)size}, &tensor, &hold, &diag);
  return status == ETX_OK ? etx_py_view_of(session, NULL, &tensor, true)
                          : etx_py_fail(status, &diag, NULL);
}

// reset(name or prefix; "" for all)
static PyObject* session_reset(PyObject* self, PyObject* args) {
  const char* name = NULL;
  Py_ssize_t size = 0;
  etx_diag diag;
  etx_py_session* const session = (etx_py_session*)self;
  if (!PyArg_ParseTuple(args, "s#", &name, &size)) return NULL;
  if (!etx_py_session_is_free(session)) return NULL;
  etx_diag_init(&diag);
  const etx_status status = etx_shared_memory_reset(
      &session->shared, (etx_text){name, (size_t)size}, &diag);
  if (status != ETX_OK) return etx_py_fail(status, &diag, NULL);
  Py_RETURN_NONE;
}

// truncate(name or prefix, length)
static PyObject* session_truncate(PyObject* self, PyObject* args) {
  const char* name = NULL;
  Py_ssize_t size = 0;
  long long length = 0;
  etx_diag diag;
  etx_py_session* const session = (etx_py_session*)self;
  if (!PyArg_ParseTuple(args, "s#L", &name, &size, &length)) return NULL;
  if (!etx_py_session_is_free(session)) return NULL;
  etx_diag_init(&diag);
  const etx_status status = etx_shared_memory_truncate(
      &session->shared, (etx_text){name, (size_t)size}, (uint64_t)length,
      &diag);
  if (status != ETX_OK) return etx_py_fail(status, &diag, NULL);
  Py_RETURN_NONE;
}

// length(name or prefix)
static PyObject* session_length(PyObject* self, PyObject* args) {
  const char* name = NULL;
  Py_ssize_t size = 0;
  uint64_t length = 0;
  etx_diag diag;
  etx_py_session* const session = (etx_py_session*)self;
  if (!PyArg_ParseTuple(args, "s#", &name, &size)) return NULL;
  if (!etx_py_session_is_free(session)) return NULL;
  etx_diag_init(&diag);
  const etx_status status = etx_shared_memory_length(
      &session->shared, (etx_text){name, (size_t)size}, &length, &diag);
  if (status != ETX_OK) return etx_py_fail(status, &diag, NULL);
  return PyLong_FromUnsignedLongLong(length);
}

// save_prefix(length): a snapshot of the first rows of all caches.
static PyObject* session_save_prefix(PyObject* self, PyObject* args) {
  long long length = 0;
  size_t size = 0;
  etx_diag diag;
  etx_py_session* const session = (etx_py_session*)self;
  if (!PyArg_ParseTuple(args, "L", &length)) return NULL;
  if (!etx_py_session_is_free(session)) return NULL;
  etx_diag_init(&diag);
  etx_status status = etx_shared_memory_save_prefix_needed(
      &session->shared, (uint64_t)length, &size, &diag);
  if (status != ETX_OK) return etx_py_fail(status, &diag, NULL);
  PyObject* const bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)size);
  if (bytes == NULL) return NULL;
  const etx_bytes_mut out = {(uint8_t*)PyBytes_AsString(bytes), size};
  status = etx_shared_memory_save_prefix(&session->shared, (uint64_t)length,
                                         out, &size, &diag);
  if (status == ETX_OK) return bytes;
  Py_DECREF(bytes);
  return etx_py_fail(status, &diag, NULL);
}

static PyObject* session_save(PyObject* self, PyObject* ignored) {
  (void)ignored;
  etx_diag diag;
  etx_py_session* const session = (etx_py_session*)self;
  if (!etx_py_session_is_free(session)) return NULL;
  const size_t needed = etx_shared_memory_save_needed(&session->shared);
  PyObject* const bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)needed);
  if (bytes == NULL) return NULL;
  size_t size = 0;
  const etx_bytes_mut out = {(uint8_t*)PyBytes_AsString(bytes), needed};
  etx_diag_init(&diag);
  const etx_status status =
      etx_shared_memory_save(&session->shared, out, &size, &diag);
  if (status == ETX_OK) return bytes;
  Py_DECREF(bytes);
  return etx_py_fail(status, &diag, NULL);
}

static PyObject* session_restore(PyObject* self, PyObject* args) {
  Py_buffer snapshot;
  etx_diag diag;
  etx_py_session* const session = (etx_py_session*)self;
  if (!PyArg_ParseTuple(args, "y*", &snapshot)) return NULL;
  if (!etx_py_session_is_free(session)) {
    PyBuffer_Release(&snapshot);
    return NULL;
  }
  etx_diag_init(&diag);
  const etx_bytes bytes = {snapshot.buf, (size_t)snapshot.len};
  const etx_status status =
      etx_shared_memory_restore(&session->shared, bytes, &diag);
  PyBuffer_Release(&snapshot);
  if (status != ETX_OK) return etx_py_fail(status, &diag, NULL);
  Py_RETURN_NONE;
}

typedef etx_status (*state_file_function)(etx_shared_memory* shared,
                                          const char* path, etx_diag* diag);

static etx_status save_file(etx_shared_memory* shared, const char* path,
                            etx_diag* diag) {
  return etx_state_file_save(shared, path, diag);
}

// Calls a function of state_file.h with `path`, bytes, and without the lock of
// the interpreter, because a disk is slow. The session counts as in use.
static PyObject* use_state_file(PyObject* self, PyObject* args,
                                const char* name, state_file_function use) {
  const char* path = NULL;
  etx_diag diag;
  etx_status status = ETX_OK;
  etx_py_session* const session = (etx_py_session*)self;
  if (!PyArg_ParseTuple(args, "y", &path)) return NULL;
  if (!etx_py_session_is_free(session)) return NULL;
  etx_diag_init(&diag);
  session->runs = name;
  Py_BEGIN_ALLOW_THREADS status = use(&session->shared, path, &diag);
  Py_END_ALLOW_THREADS session->runs = NULL;
  if (status != ETX_OK) return etx_py_fail(status, &diag, NULL);
  Py_RETURN_NONE;
}

static PyObject* session_save_to(PyObject* self, PyObject* args) {
  return use_state_file(self, args, "save_to", save_file);
}

static PyObject* session_restore_from(PyObject* self, PyObject* args) {
  return use_state_file(self, args, "restore_from", etx_state_file_restore);
}

static PyObject* session_is_torn(PyObject* self, void* closure) {
  (void)closure;
  const etx_py_session* const session = (etx_py_session*)self;
  return PyBool_FromLong(session->is_open &&
                         etx_shared_memory_is_torn(&session->shared));
}

static PyObject* session_is_open(PyObject* self, void* closure) {
  (void)closure;
  return PyBool_FromLong(((etx_py_session*)self)->is_open);
}

static PyMethodDef methods[] = {
    {"method", session_method, METH_VARARGS, "Loads a method."},
    {"state_names", session_state_names, METH_NOARGS, "Names of all states."},
    {"state", session_state, METH_VARARGS, "A state's memory."},
    {"reset", session_reset, METH_VARARGS, "Writes initial values again."},
    {"truncate", session_truncate, METH_VARARGS, "Keeps rows of caches."},
    {"length", session_length, METH_VARARGS, "Rows of caches."},
    {"save", session_save, METH_NOARGS, "A snapshot of all state."},
    {"save_prefix", session_save_prefix, METH_VARARGS,
     "A snapshot of the first rows of caches."},
    {"restore", session_restore, METH_VARARGS, "State from a snapshot."},
    {"save_to", session_save_to, METH_VARARGS, "State into a file."},
    {"restore_from", session_restore_from, METH_VARARGS, "State from a file."},
    {"fork", session_fork, METH_NOARGS, "A session with a copy of the state."},
    {"close", session_close, METH_NOARGS, "Gives the memory back."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef fields[] = {
    {"is_torn", session_is_torn, NULL, "A run left state half-written.", NULL},
    {"is_open", session_is_open, NULL, "It was not closed.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, (void*)session_new},
    {Py_tp_dealloc, (void*)session_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_getset, fields},
    {0, NULL},
};

static PyType_Spec spec = {"etx._runtime.Session", sizeof(etx_py_session), 0,
                           Py_TPFLAGS_DEFAULT, slots};

bool etx_py_session_ready(PyObject* module) {
  etx_py_session_type = (PyTypeObject*)PyType_FromSpec(&spec);
  return etx_py_session_type != NULL &&
         PyModule_AddObjectRef(module, "Session",
                               (PyObject*)etx_py_session_type) == 0;
}
