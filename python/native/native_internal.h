// What the files of the extension module `etx._runtime` share.
//
//   File     a program file, mapped, and its threads        py_file.c
//   Session  one set of state, and methods that run on it   py_session.c
//   Method   a method of a session: made in py_load.c, called in py_method.c;
//            what goes in is in py_inputs.c and py_dlpack.c, what comes out in
//            py_outputs.c
//   View     memory of a session, as a buffer               py_view.c
//
// A View keeps its Session alive, a Session its File; a Method keeps the arrays
// that it handed out last, so `forget` is called before a Session is closed.
//
// Threads  every function is called with the interpreter's lock but for the
//          run of a method, which gives it up. `Session.runs` says who is
//          inside.

#ifndef ETX_PYTHON_NATIVE_NATIVE_INTERNAL_H
#define ETX_PYTHON_NATIVE_NATIVE_INTERNAL_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000  // one binary for Python 3.11 and later
#include <Python.h>

#include "runtime/module/module.h"
#include "runtime/threads/thread_pool.h"

enum { ETX_PY_LOCAL_INPUTS = 16 };

typedef struct etx_py_file {
  PyObject_HEAD etx_module module;  // the mapped file; runs nothing itself
  etx_thread_pool pool;
  void* pool_memory;  // NULL: no threads
  long pool_process;  // that started the threads
  size_t session_count;
  size_t reader_count;  // calls that make arrays of its constants now
  bool is_open;
} etx_py_file;

typedef struct etx_py_session {
  PyObject_HEAD etx_py_file* file;  // a reference
  etx_module module;                // shares the file's
  etx_shared_memory shared;
  void* block;        // of `shared`
  size_t view_count;  // Views that show its memory
  const char* runs;   // method that a thread runs now, or NULL
  bool is_open;
} etx_py_session;

// Functions of the package that the extension calls, set once by `connect`.
typedef struct etx_py_hooks {
  PyObject* fail;     // (status, text, line, column, offset, place): exception
  PyObject* wrap;     // (View): the array that users see
  PyObject* flatten;  // (args, kwargs or None): the same without structures
  PyObject* coerce;  // (value, type, rank, is_mutable): something with a buffer
} etx_py_hooks;

extern etx_py_hooks etx_py_hook;
extern PyTypeObject* etx_py_file_type;
extern PyTypeObject* etx_py_session_type;
extern PyTypeObject* etx_py_method_type;
extern PyTypeObject* etx_py_view_type;

// Raises the exception for a diag; `place` is a method's signature or NULL.
// Always NULL.
PyObject* etx_py_fail(etx_status status, const etx_diag* diag,
                      const char* place);
// The same for a message of the binding's own (formats as diag.h does).
PyObject* etx_py_refuse(etx_status status, const char* place,
                        const char* format, ...);

// Text of a file as str; bytes that are no UTF-8 are replaced.
PyObject* etx_py_text(etx_text text);

// Frees an object of one of the heap types, whose fields are cleared already.
void etx_py_free(PyObject* self);

// What methods, constants, states and ports are in a file: see py_describe.c.
PyObject* etx_py_describe(const etx_program* program);

// A constant method's value, or a scalar output: int, float, bool, str, None,
// or for a tensor an array of its own.
PyObject* etx_py_value(const etx_value* value);

// The session that a call is for, if it may be used now: open, and no other
// call runs in it. False with an exception otherwise.
bool etx_py_session_is_free(const etx_py_session* session);

// A View over a tensor's bytes. `session` may be NULL: `owner` keeps them then.
PyObject* etx_py_view_of(etx_py_session* session, PyObject* owner,
                         const etx_tensor* tensor, bool is_writable);

// Loads the method `name` (str) and makes a Method of it. `signature` (str) is
// what errors say of it: "decode(token: int64[1])".
PyObject* etx_py_method_of(etx_py_session* session, PyObject* name,
                           PyObject* signature);

// An argument of a call, borrowed until it is given back.
typedef struct etx_py_input {
  etx_value value;
  Py_buffer view;   // view.obj NULL: none
  PyObject* owner;  // of a DLPack tensor or a converted value, or NULL
  struct etx_py_dlpack* exported;  // what holds its memory, or NULL
  int32_t sizes[ETX_MAX_RANK];
  int32_t strides[ETX_MAX_RANK];
} etx_py_input;

// What an input has to be, known when the method is loaded.
typedef struct etx_py_port {
  PyObject* name;
  etx_pte_kind kind;
  etx_dtype dtype;
  uint8_t rank;
  bool is_mutable;
} etx_py_port;

// Borrows `object` for a port. False with an exception; nothing is held then.
bool etx_py_input_borrow(etx_py_input* input, const etx_py_port* port,
                         PyObject* object, const char* place);
void etx_py_input_give_back(etx_py_input* input);

// Parts of borrowing: the tensor of an object with DLPack. False without an
// exception if it has none that can be read as it is.
bool etx_py_input_take_dlpack(etx_py_input* input, const etx_py_port* port,
                              PyObject* object);
void etx_py_dlpack_give_back(struct etx_py_dlpack* exported);
// Says what dimension `i` is, and then what the tensor is. False if a number is
// too large.
bool etx_py_input_set_dimension(etx_py_input* input, int i, int64_t size,
                                int64_t stride);
void etx_py_input_set_tensor(etx_py_input* input, void* data, etx_dtype dtype,
                             int rank);
// The type that a letter of the struct module and a size make.
bool etx_py_type_of_letter(char letter, Py_ssize_t bytes, etx_dtype* out);

// What an instruction took, summed over runs.
typedef struct etx_py_profile_row {
  const etx_op* op;
  uint64_t calls;  // 0: it did not run
  uint64_t ns;
} etx_py_profile_row;

// Times of a method's instructions, while it is observed.
typedef struct etx_py_profile {
  etx_run_observer observer;
  etx_py_profile_row* rows;  // by instruction
  size_t row_count;
  uint64_t started_ns;  // of the instruction that runs
} etx_py_profile;

void etx_py_profile_start(etx_py_profile* profile, etx_method* method);
// Ends the measuring and forgets it. `method` may be NULL: it is gone.
void etx_py_profile_stop(etx_py_profile* profile, etx_method* method);
// [(instruction, operator, overload, calls, ns)].
PyObject* etx_py_profile_rows(const etx_py_profile* profile);

// An output and the array that shows it.
typedef struct etx_py_output {
  size_t index;
  PyObject* array;  // over the memory below, or NULL
  PyObject* copy;   // array.copy
  const void* data;
  uint8_t rank;
  int32_t sizes[ETX_MAX_RANK];
  int32_t strides[ETX_MAX_RANK];
} etx_py_output;

// A method of a session.
typedef struct etx_py_method {
  PyObject_HEAD etx_py_session* session;  // a reference
  etx_method* method;                     // in the session's module
  PyObject* signature;                    // str: "decode(token: int64[1])"
  const char* place;                      // its text
  const char* name;
  etx_py_port* inputs;
  size_t input_count;
  etx_py_output* outputs;  // but those that show a written input
  size_t output_count;
  PyObject* name_object;  // holds `name`
  etx_py_profile profile;
} etx_py_method;

// What a call returns: None, the one output or a tuple of them. With `copies`
// arrays are the caller's own, else they show the session's memory. `inputs`
// are still borrowed.
PyObject* etx_py_outputs_of(etx_py_method* self, const etx_py_input* inputs,
                            bool copies);
// Lets go of the array that shows an output.
void etx_py_output_forget(etx_py_output* out);

// Makes the types and puts them into the module. False with an exception.
bool etx_py_file_ready(PyObject* module);
bool etx_py_session_ready(PyObject* module);
bool etx_py_method_ready(PyObject* module);
bool etx_py_view_ready(PyObject* module);

#endif
