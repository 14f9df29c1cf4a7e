// A program file that is mapped and verified once and shared by sessions. It
// owns the kernels' threads. They do not exist in a forked child, which runs
// without them.

#include "python/native/native_internal.h"

#include <stdlib.h>
#include <unistd.h>

PyTypeObject* etx_py_file_type;

static bool open_threads(etx_py_file* file, size_t count, etx_diag* diag) {
  enum { ALIGNMENT = 64 };
  if (count <= 1) return true;
  const size_t size =
      (etx_thread_pool_needed(count) / ALIGNMENT + 1) * ALIGNMENT;
  file->pool_memory = aligned_alloc(ALIGNMENT, size);
  if (file->pool_memory == NULL) {
    PyErr_NoMemory();
    return false;
  }
  const etx_bytes_mut memory = {file->pool_memory, size};
  const etx_status status =
      etx_thread_pool_init(&file->pool, count, memory, diag);
  if (status == ETX_OK) {
    file->pool_process = (long)getpid();
    return true;
  }
  free(file->pool_memory);
  file->pool_memory = NULL;
  etx_py_fail(status, diag, NULL);
  return false;
}

static void close_threads(etx_py_file* file) {
  if (file->pool_memory == NULL) return;
  if (file->pool_process == (long)getpid()) {
    etx_thread_pool_close(&file->pool);
    free(file->pool_memory);
  }
  file->pool_memory = NULL;
}

static void close_file(etx_py_file* file) {
  if (!file->is_open) return;
  file->is_open = false;
  etx_module_close(&file->module);
  etx_kernel_set_close(&file->kernels);
  close_threads(file);
}

// Paths, borrowed from a tuple of bytes.
static bool paths_of(PyObject* data, const char*** out_paths, size_t* out) {
  const Py_ssize_t count = PyTuple_Size(data);
  if (count < 0) return false;
  const char** const paths =
      (const char**)PyMem_Calloc((size_t)count + 1, sizeof *paths);
  if (paths == NULL) {
    PyErr_NoMemory();
    return false;
  }
  for (Py_ssize_t i = 0; i < count; ++i) {
    paths[i] = PyBytes_AsString(PyTuple_GetItem(data, i));
    if (paths[i] != NULL) continue;
    PyMem_Free((void*)paths);
    return false;
  }
  *out_paths = paths;
  *out = (size_t)count;
  return true;
}

// Opens shared libraries of kernels. Without any, the kernels are those of the
// build.
static bool open_kernels(etx_py_file* file, PyObject* libraries,
                         etx_diag* diag) {
  const char** paths = NULL;
  size_t count = 0;
  if (PyTuple_Size(libraries) == 0) return true;
  if (!paths_of(libraries, &paths, &count)) return false;
  const etx_status status =
      etx_kernel_set_open(&file->kernels, paths, count, diag);
  PyMem_Free((void*)paths);
  if (status == ETX_OK) return true;
  etx_py_fail(status, diag, NULL);
  return false;
}

static etx_status open_checked(etx_py_file* file, const char* path,
                               const etx_module_options* options,
                               etx_diag* diag) {
  ETX_TRY(etx_module_open(&file->module, path, options, diag));
  if (options->kernels == NULL) return ETX_OK;
  const etx_status status =
      etx_kernel_set_check(&file->kernels, &file->module.program.pte, diag);
  if (status != ETX_OK) etx_module_close(&file->module);
  return status;
}

// Opens with the options, to which it adds kernels, data files and threads.
static bool open_module(etx_py_file* file, const char* path, PyObject* data,
                        etx_module_options options, etx_diag* diag) {
  const char** paths = NULL;
  etx_status status = ETX_OK;
  if (!paths_of(data, &paths, &options.data_path_count)) return false;
  options.data_paths = paths;
  if (file->kernels.rows != NULL) options.kernels = &file->kernels.table;
  if (file->pool_memory != NULL) options.parallel = &file->pool.parallel;
  Py_BEGIN_ALLOW_THREADS status = open_checked(file, path, &options, diag);
  Py_END_ALLOW_THREADS PyMem_Free((void*)paths);
  if (status == ETX_OK) return true;
  etx_py_fail(status, diag, NULL);
  return false;
}

static bool limit_resident(etx_py_file* file, Py_ssize_t bytes,
                           etx_diag* diag) {
  if (bytes <= 0) return true;
  const etx_status status =
      etx_module_limit_resident(&file->module, (size_t)bytes, diag);
  if (status == ETX_OK) return true;
  etx_module_close(&file->module);
  etx_py_fail(status, diag, NULL);
  return false;
}

// File(path: bytes, threads: int, data: tuple[bytes, ...], regions: bool,
//      keeps_plan: bool, kernels: tuple[bytes, ...], resident_bytes: int,
//      in_memory: bool)
// Without `resident_bytes`, 0, all of the file stays in memory.
static PyObject* file_new(PyTypeObject* type, PyObject* args,
                          PyObject* kwargs) {
  const char* path = NULL;
  Py_ssize_t threads = 1;
  int regions = 0;
  int keeps_plan = 0;
  Py_ssize_t resident = 0;
  int in_memory = 0;
  PyObject* data = NULL;
  PyObject* kernels = NULL;
  etx_diag diag;
  (void)kwargs;
  if (!PyArg_ParseTuple(args, "ynO!ppO!np", &path, &threads, &PyTuple_Type,
                        &data, &regions, &keeps_plan, &PyTuple_Type, &kernels,
                        &resident, &in_memory)) {
    return NULL;
  }
  const allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
  etx_py_file* const file = (etx_py_file*)allocate(type, 0);
  if (file == NULL) return NULL;
  etx_diag_init(&diag);
  if (!open_kernels(file, kernels, &diag)) {
    Py_DECREF((PyObject*)file);
    return NULL;
  }
  const etx_limits limits = {.keeps_plan = keeps_plan != 0};
  const etx_module_options options = {.limits = &limits,
                                      .in_memory = in_memory != 0};
  if (!open_threads(file, threads < 1 ? 1 : (size_t)threads, &diag) ||
      !open_module(file, path, data, options, &diag) ||
      !limit_resident(file, resident, &diag)) {
    close_threads(file);
    etx_kernel_set_close(&file->kernels);
    Py_DECREF((PyObject*)file);
    return NULL;
  }
  if (regions != 0 && file->pool_memory != NULL) {
    file->region_limit = (size_t)threads;
  }
  file->is_open = true;
  return (PyObject*)file;
}

static void file_dealloc(PyObject* self) {
  close_file((etx_py_file*)self);
  etx_py_free(self);
}

static bool is_open(const etx_py_file* file) {
  if (file->is_open) return true;
  etx_py_refuse(ETX_BAD_STATE, NULL, "this program is closed");
  return false;
}

static PyObject* file_describe(PyObject* self, PyObject* ignored) {
  (void)ignored;
  const etx_py_file* const file = (etx_py_file*)self;
  return is_open(file) ? etx_py_describe(&file->module.program) : NULL;
}

static PyObject* constant_at(etx_py_file* file, const char* name,
                             size_t index) {
  etx_diag diag;
  etx_value value;
  etx_constant_hold hold;
  etx_diag_init(&diag);
  const etx_status status = etx_program_constant_at(
      &file->module.program, etx_text_of(name), index, &value, &hold, &diag);
  if (status != ETX_OK) return etx_py_fail(status, &diag, NULL);
  ++file->reader_count;  // an array is made of the file's memory by Python code
  PyObject* const made = etx_py_value(&value);
  --file->reader_count;
  return made;
}

// constant(name, index): output `index` of a constant method.
static PyObject* file_constant(PyObject* self, PyObject* args) {
  const char* name = NULL;
  Py_ssize_t index = 0;
  etx_py_file* const file = (etx_py_file*)self;
  if (!PyArg_ParseTuple(args, "sn", &name, &index)) return NULL;
  return is_open(file) ? constant_at(file, name, (size_t)index) : NULL;
}

// needed(name, sizes): the bytes of a method's blocks at these sizes.
static PyObject* file_needed(PyObject* self, PyObject* args) {
  const char* name = NULL;
  PyObject* sizes = NULL;
  etx_py_file* const file = (etx_py_file*)self;
  if (!PyArg_ParseTuple(args, "sO!", &name, &PyTuple_Type, &sizes)) return NULL;
  return is_open(file) ? etx_py_needed(&file->module.program, name, sizes)
                       : NULL;
}

// Other threads run while the disk is read, and cannot close the file.
static PyObject* read_ahead(PyObject* self,
                            etx_status (*read)(etx_module* module,
                                               etx_diag* diag)) {
  etx_py_file* const file = (etx_py_file*)self;
  etx_status status = ETX_OK;
  etx_diag diag;
  etx_diag_init(&diag);
  if (!is_open(file)) return NULL;
  ++file->reader_count;
  Py_BEGIN_ALLOW_THREADS status = read(&file->module, &diag);
  Py_END_ALLOW_THREADS-- file->reader_count;
  if (status != ETX_OK) return etx_py_fail(status, &diag, NULL);
  Py_RETURN_NONE;
}

static PyObject* file_prefault(PyObject* self, PyObject* ignored) {
  (void)ignored;
  return read_ahead(self, etx_module_prefault);
}

static PyObject* file_mlock(PyObject* self, PyObject* ignored) {
  (void)ignored;
  return read_ahead(self, etx_module_mlock);
}

static PyObject* file_close(PyObject* self, PyObject* ignored) {
  (void)ignored;
  etx_py_file* const file = (etx_py_file*)self;
  if (file->session_count > 0) {
    return etx_py_refuse(ETX_BAD_STATE, NULL,
                         "%z sessions of this program are open: close them "
                         "first",
                         file->session_count);
  }
  if (file->reader_count > 0) {
    return etx_py_refuse(ETX_BAD_STATE, NULL, "this program is being read");
  }
  close_file(file);
  Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"describe", file_describe, METH_NOARGS, "What is in the file."},
    {"constant", file_constant, METH_VARARGS, "A constant method's value."},
    {"needed", file_needed, METH_VARARGS, "A method's memory at some sizes."},
    {"prefault", file_prefault, METH_NOARGS, "Reads it into memory."},
    {"mlock", file_mlock, METH_NOARGS, "Keeps it in memory."},
    {"close", file_close, METH_NOARGS, "Unmaps the file."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, (void*)file_new},
    {Py_tp_dealloc, (void*)file_dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};

static PyType_Spec spec = {"etx._runtime.File", sizeof(etx_py_file), 0,
                           Py_TPFLAGS_DEFAULT, slots};

bool etx_py_file_ready(PyObject* module) {
  etx_py_file_type = (PyTypeObject*)PyType_FromSpec(&spec);
  return etx_py_file_type != NULL &&
         PyModule_AddObjectRef(module, "File", (PyObject*)etx_py_file_type) ==
             0;
}
