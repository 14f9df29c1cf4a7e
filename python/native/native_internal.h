// Declarations that the files of the extension module `etx._runtime` share.
//
//   File     a program file, mapped, and its threads        py_file.c
//   Session  one set of state, and methods that run on it   py_session.c
//   Pool     instances that Sessions have for a while       py_pool.c
//   Method   a method of a session: loaded in py_load.c, called in py_method.c;
//            its inputs are converted in py_inputs.c and py_dlpack.c, its
//            outputs in py_outputs.c; observed in py_profile.c and py_trace.c
//   View     memory of a session, as a buffer               py_view.c
//
// py_generate.c generates text with two Methods.
//
// A View keeps its Session alive, and a Session its File and its Pool. A Method
// keeps the arrays of its last outputs; `forget` releases them before a Session
// is closed.
//
// Threads: all functions are called with the GIL held. The run of a method
// releases it, and meanwhile `Session.runs` has the name of that method; so do
// opening a file or a pool, and giving an instance back to a pool, when nothing
// else can reach the object.

#ifndef ETX_PYTHON_NATIVE_NATIVE_INTERNAL_H
#define ETX_PYTHON_NATIVE_NATIVE_INTERNAL_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000  // one binary for Python 3.11 and later
#include <Python.h>

#include "cli/kernels/kernel_set.h"
#include "runtime/module/module.h"
#include "runtime/module/module_regions.h"
#include "runtime/pool/instance_pool.h"
#include "runtime/threads/thread_pool.h"
#include "runtime/trace/call_trace.h"

enum { ETX_PY_LOCAL_INPUTS = 16 };

typedef struct etx_py_file {
  PyObject_HEAD etx_module module;  // the mapped file; runs nothing itself
  etx_kernel_set kernels;           // of this build and of libraries
  etx_thread_pool pool;
  void* pool_memory;    // NULL: no threads
  long pool_process;    // that started the threads
  size_t region_limit;  // parallel regions at a time; 0: methods use none
  size_t session_count;
  size_t reader_count;  // calls that are reading its bytes
  bool is_open;
} etx_py_file;

typedef struct etx_py_pool {
  PyObject_HEAD etx_py_file* file;  // a reference
  etx_module module;                // shares the file's
  etx_instance_pool pool;
  void* block;          // memory of `pool`
  size_t lease_count;   // Sessions that have an instance
  PyObject* after_put;  // function that is called when an instance is back
  bool is_open;
} etx_py_pool;

typedef struct etx_py_session {
  PyObject_HEAD etx_py_file* file;  // a reference
  etx_module module;                // shares the file's
  etx_shared_memory shared;
  void* block;                 // memory of `shared`
  etx_module_regions regions;  // of its methods
  etx_py_pool* pool;  // a reference; NULL: the session has memory of its own
  etx_instance_lease lease;  // of the pool
  size_t view_count;         // Views of its memory
  const char* runs;          // the method that is running, or NULL
  bool is_open;
} etx_py_session;

// Functions of the package that the extension calls, set once by `connect`.
typedef struct etx_py_hooks {
  PyObject* fail;  // (status, text, line, column, offset, place): exception
  PyObject* wrap;  // (View): the array that users get
  PyObject*
      flatten;       // (args, kwargs or None): the arguments without structures
  PyObject* coerce;  // (value, name, dtype, rank, is_mutable, place): an object
                     // with a buffer
} etx_py_hooks;

extern etx_py_hooks etx_py_hook;
extern PyTypeObject* etx_py_file_type;
extern PyTypeObject* etx_py_pool_type;
extern PyTypeObject* etx_py_session_type;
extern PyTypeObject* etx_py_method_type;
extern PyTypeObject* etx_py_view_type;

// Raises the exception for a diag; `place` is a method's signature or NULL.
// Always NULL.
PyObject* etx_py_fail(etx_status status, const etx_diag* diag,
                      const char* place);
// The same for a message of the binding, with the formats of diag.h.
PyObject* etx_py_refuse(etx_status status, const char* place,
                        const char* format, ...);

// A text of a file as str; bytes that are not UTF-8 are replaced.
PyObject* etx_py_text(etx_text text);

// Frees an object of one of the heap types, whose fields are cleared already.
void etx_py_free(PyObject* self);

// The methods, constants, states and ports of a file, as py_describe.c lists.
PyObject* etx_py_describe(const etx_program* program);

// The bytes that a method needs at the sizes of a tuple of (symbol, size):
// (structures, scratch, state, temporary). NULL with an exception on failure.
PyObject* etx_py_needed(const etx_program* program, const char* name,
                        PyObject* sizes);

// The value of a constant method, or a scalar output: int, float, bool, str,
// None, or a new array for a tensor.
PyObject* etx_py_value(const etx_value* value);

// True if the session is open and no thread runs a method of it. Otherwise
// false, with an exception.
bool etx_py_session_is_free(const etx_py_session* session);

// A Session on an instance of the pool, which it gives back when it is closed.
PyObject* etx_py_session_of(etx_py_pool* pool, const etx_instance_lease* lease);
// Gives the session's instance back to its pool. False, with an exception: it
// stays out, or the function `after_put` failed.
bool etx_py_pool_put(etx_py_session* session, bool lets_others_run);

// A View of a tensor's bytes. If `session` is NULL, `owner` keeps them alive.
PyObject* etx_py_view_of(etx_py_session* session, PyObject* owner,
                         const etx_tensor* tensor, bool is_writable);

// Loads the method `name` (str) as a Method. Errors show `signature` (str),
// such as "decode(token: int64[1])".
PyObject* etx_py_method_of(etx_py_session* session, PyObject* name,
                           PyObject* signature);

// An argument of a call, borrowed until etx_py_input_give_back.
typedef struct etx_py_input {
  etx_value value;
  Py_buffer view;   // view.obj is NULL if there is none
  PyObject* owner;  // of a DLPack tensor or a converted value, or NULL
  struct etx_py_dlpack* exported;  // the DLPack tensor that has its memory, or
                                   // NULL
  int32_t sizes[ETX_MAX_RANK];
  int32_t strides[ETX_MAX_RANK];
} etx_py_input;

// The requirements of an input, known when the method is loaded.
typedef struct etx_py_port {
  PyObject* name;
  etx_pte_kind kind;
  etx_dtype dtype;
  uint8_t rank;
  bool is_mutable;
} etx_py_port;

// Borrows `object` for a port. On failure it returns false with an exception,
// and borrows nothing.
bool etx_py_input_borrow(etx_py_input* input, const etx_py_port* port,
                         PyObject* object, const char* place);
void etx_py_input_give_back(etx_py_input* input);

// Borrows the tensor of an object with DLPack. False without an exception if it
// has none, or one that must be converted.
bool etx_py_input_take_dlpack(etx_py_input* input, const etx_py_port* port,
                              PyObject* object);
void etx_py_dlpack_give_back(struct etx_py_dlpack* exported);
// Sets dimension `i` (false if a number is too large), and then the tensor.
bool etx_py_input_set_dimension(etx_py_input* input, int i, int64_t size,
                                int64_t stride);
void etx_py_input_set_tensor(etx_py_input* input, void* data, etx_dtype dtype,
                             int rank);
// The dtype for a format letter of the struct module and a size.
bool etx_py_type_of_letter(char letter, Py_ssize_t bytes, etx_dtype* out);

// The time of an instruction, summed over runs.
typedef struct etx_py_profile_row {
  const etx_op* op;
  uint64_t calls;  // 0: it did not run
  uint64_t ns;
} etx_py_profile_row;

// Times of a method's instructions while it is profiled.
typedef struct etx_py_profile {
  etx_run_observer observer;
  etx_py_profile_row* rows;  // by instruction
  size_t row_count;
  uint64_t started_ns;  // start of the running instruction
} etx_py_profile;

void etx_py_profile_start(etx_py_profile* profile, etx_method* method);
// Stops profiling and frees the rows. `method` is NULL if it no longer exists.
void etx_py_profile_stop(etx_py_profile* profile, etx_method* method);
// [(instruction, operator, overload, calls, ns)].
PyObject* etx_py_profile_rows(const etx_py_profile* profile);

// An output and its array.
typedef struct etx_py_output {
  size_t index;
  PyObject* array;  // over the memory below, or NULL
  PyObject* copy;   // array.copy
  const void* data;
  uint8_t rank;
  int32_t sizes[ETX_MAX_RANK];
  int32_t strides[ETX_MAX_RANK];
} etx_py_output;

// The `bytes` of a block of ETX_MEMORY_ALIGNMENT more that begin where memory
// of the runtime may.
static inline etx_bytes_mut etx_py_aligned(void* block, size_t bytes) {
  const size_t skip = -(uintptr_t)block % ETX_MEMORY_ALIGNMENT;
  return (etx_bytes_mut){(uint8_t*)block + skip, bytes};
}

// A method of a session.
typedef struct etx_py_method {
  PyObject_HEAD etx_py_session* session;  // a reference
  etx_method* method;                     // in the session's module
  PyObject* signature;                    // str: "decode(token: int64[1])"
  const char* place;                      // its text
  const char* name;
  etx_py_port* inputs;
  size_t input_count;
  etx_py_output* outputs;  // without those that are changed inputs
  size_t output_count;
  PyObject* name_object;  // holds `name`
  etx_py_profile profile;
  etx_call_trace trace;  // its marks are NULL unless the method is traced
} etx_py_method;

// Starts a trace; false with an exception.
bool etx_py_trace_start(etx_py_method* self);
// Stops it, if there is one, and frees its memory. `is_loaded`: the method
// still exists.
void etx_py_trace_stop(etx_py_method* self, bool is_loaded);
// trace_text(methods, file): what these methods have used, as YAML.
PyObject* etx_py_trace_text(PyObject* module, PyObject* args);

// The result of a call: None, the only output, or a tuple of outputs. With
// `copies` the arrays have their own memory; otherwise they are views of the
// session's memory. `inputs` must still be borrowed.
PyObject* etx_py_outputs_of(etx_py_method* self, const etx_py_input* inputs,
                            bool copies);
// Releases the array of an output.
void etx_py_output_forget(etx_py_output* out);

// generate((prefill or None, decode, verify or None), prompt, options, token,
// text_of, drafts): a list of (ids, score, end), tokens of drafts, and how many
// of them were accepted. prompt is (ids, rows, padding, cached, row stride);
// `token` is called with (text, id) for each new token, `text_of` with (id) for
// its bytes; both may be None. drafts is that of etx_py_drafts_open. Ids are
// bytes of int64.
PyObject* etx_py_generate(PyObject* module, PyObject* args);
// sample(options, logits, ids, prompt count, longest, draws): probabilities of
// the next token (bytes of float32), and draws of it (bytes of int64).
PyObject* etx_py_sample(PyObject* module, PyObject* args);

// Create the types and add them to the module. False with an exception.
bool etx_py_file_ready(PyObject* module);
bool etx_py_pool_ready(PyObject* module);
bool etx_py_session_ready(PyObject* module);
bool etx_py_method_ready(PyObject* module);
bool etx_py_view_ready(PyObject* module);

#endif
