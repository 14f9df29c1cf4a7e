// The interface for other languages: Rust, Go, C#, Julia, Python's ctypes and
// whatever else calls C functions of a shared library (a foreign function
// interface, FFI). Programs, sessions, methods, values and errors are opaque
// pointers, and everything else is a number, a pointer or a text, so a binding
// declares functions and no structs.
//
//   etx_ffi_error* error = etx_ffi_error_open();
//   etx_ffi_program* program;
//   etx_ffi_session* session;
//   etx_ffi_method* decode;
//   const etx_ffi_value* logits;
//   etx_ffi_program_open("model.pte", &program, error);
//   etx_ffi_session_open(program, &session, error);
//   etx_ffi_session_method(session, "decode", &decode, error);
//   etx_ffi_method_set_tensor(decode, 0, token, 4, 2, sizes, error);
//   etx_ffi_method_run(decode, error);
//   etx_ffi_method_output(decode, 0, &logits, error);
//
// Versions   Functions of one ETX_FFI_VERSION keep their names, parameters and
//            meaning in all later releases; new functions may be added. A
//            binding compares the version that it was written for with
//            etx_ffi_version() and refuses another one.
// Errors     A function that can fail returns 0 if it succeeded, and otherwise
//            a status, whose name etx_ffi_status_name gives: numbers other than
//            0 may change between releases, names do not. Outputs are written
//            on success only. The reason is in `error`, which may be NULL. A
//            pointer that must not be NULL and is gets BAD_ARGUMENT. Pointers
//            to what was closed are not recognised.
// Ownership  `open` makes an object and `close` ends it; NULL may be closed. A
//            session keeps its program: the two may be closed in either order,
//            on any thread, as finalisers of a garbage collector do. Methods
//            and values are their session's, and end with it. The library frees
//            nothing that it was given.
// Texts      Texts that are given end with NUL. Texts that are returned are
//            UTF-8; if a function returns their length, they do not end with
//            NUL.
// Numbers    Types of elements are those of PyTorch and of the file: uint8 0,
//            int8 1, int16 2, int32 3, int64 4, float16 5, float32 6, float64
//            7, bool 11, bfloat16 15 (format/tensor/dtype.def has all). Sizes,
//            indices and counts are int64_t, bytes are size_t. Inputs are dense
//            in row-major order.
// Threads    All threads may use a program, and one thread at a time a session
//            with its methods and values, or an error.

#ifndef ETX_RUNTIME_MODULE_MODULE_FFI_H
#define ETX_RUNTIME_MODULE_MODULE_FFI_H

#include <stddef.h>
#include <stdint.h>

enum {
  ETX_FFI_VERSION = 1,   // of this header
  ETX_FFI_MAX_RANK = 16  // dimensions of a tensor, at most
};

// What a value holds. The numbers do not change.
enum {
  ETX_FFI_NONE = 0,    // Python's None
  ETX_FFI_INT = 1,     // etx_ffi_value_int
  ETX_FFI_BOOL = 2,    // etx_ffi_value_int: 0 or 1
  ETX_FFI_DOUBLE = 3,  // etx_ffi_value_double
  ETX_FFI_TENSOR = 4,  // etx_ffi_value_dtype, _rank, _size, _data, _bytes
  ETX_FFI_STRING = 5,  // etx_ffi_value_data, _bytes
  ETX_FFI_LIST = 6     // a list, which this interface does not read
};

typedef struct etx_ffi_error etx_ffi_error;      // why a call failed
typedef struct etx_ffi_program etx_ffi_program;  // an opened file
typedef struct etx_ffi_session etx_ffi_session;  // one copy of its state
typedef struct etx_ffi_method etx_ffi_method;    // a method of a session
typedef struct etx_ffi_value etx_ffi_value;      // a tensor, a number or a text

// ---- versions and errors ----

// ETX_FFI_VERSION of the library.
int32_t etx_ffi_version(void);
// The name of a status in capitals, such as "BAD_FILE"; "OK" for 0. It ends
// with NUL, is never NULL, and valid as long as the library is loaded.
const char* etx_ffi_status_name(int32_t status);

// An error for any number of calls; NULL if there is no memory.
etx_ffi_error* etx_ffi_error_open(void);
// Ends an error.
void etx_ffi_error_close(etx_ffi_error* error);
// The reason why the last call that got this error failed; an empty text if it
// succeeded. It ends with NUL, is never NULL, and valid until the next such
// call.
const char* etx_ffi_error_text(const etx_ffi_error* error);

// ---- programs ----

// Maps and verifies the file at `path`, which must not change as long as the
// program is open. HOST_FAILED: it cannot be read; BAD_FILE and its kin: it is
// no program; OUT_OF_MEMORY.
int32_t etx_ffi_program_open(const char* path, etx_ffi_program** out_program,
                             etx_ffi_error* error);
// The same for `file_bytes` bytes of a file in memory, which are borrowed until
// the program and its last session are closed, and must not change.
// BAD_ARGUMENT: the address is not a multiple of 16.
int32_t etx_ffi_program_open_bytes(const void* file, size_t file_bytes,
                                   etx_ffi_program** out_program,
                                   etx_ffi_error* error);
// Ends the program. The file stays mapped until its last session is closed.
void etx_ffi_program_close(etx_ffi_program* program);

// The number of methods, those of constants among them; 0 for NULL.
int64_t etx_ffi_program_method_count(const etx_ffi_program* program);
// The name of the method at `index` and its length in bytes; NULL if there are
// not that many. It is borrowed until the program and its sessions are closed.
const char* etx_ffi_program_method_name(const etx_ffi_program* program,
                                        int64_t index, size_t* out_bytes);

// ---- sessions ----

// Starts a session with the initial values of all states. OUT_OF_MEMORY.
int32_t etx_ffi_session_open(etx_ffi_program* program,
                             etx_ffi_session** out_session,
                             etx_ffi_error* error);
// Ends the session, its methods and its values. None of its methods runs.
void etx_ffi_session_close(etx_ffi_session* session);

// A method by its name, which is loaded when it is first asked for. Loading
// never changes state. Equal names give the same method. NOT_FOUND: there is no
// such method; MISSING_OPERATOR, UNSUPPORTED: this build cannot run it;
// OUT_OF_MEMORY.
int32_t etx_ffi_session_method(etx_ffi_session* session, const char* name,
                               etx_ffi_method** out_method,
                               etx_ffi_error* error);

// The value of a constant method, which is read without running anything. The
// value is valid until the next call with this session that gives one, its data
// until the session is closed; the data must not be written. NOT_FOUND: there
// is no such method; BAD_ARGUMENT, BAD_STATE, UNSUPPORTED: it is not constant,
// or a list.
int32_t etx_ffi_session_constant(etx_ffi_session* session, const char* name,
                                 const etx_ffi_value** out_value,
                                 etx_ffi_error* error);

// The number of states; 0 for NULL.
int64_t etx_ffi_session_state_count(const etx_ffi_session* session);
// The name of the state at `index` and its length in bytes, borrowed until the
// session is closed; NULL if there are not that many.
const char* etx_ffi_session_state_name(const etx_ffi_session* session,
                                       int64_t index, size_t* out_bytes);
// A state by its name. The value is valid until the next call with this session
// that gives one. Its data is the state itself until the session is closed, and
// may be read and written between runs. NOT_FOUND: there is no such state.
int32_t etx_ffi_session_state(etx_ffi_session* session, const char* name,
                              const etx_ffi_value** out_value,
                              etx_ffi_error* error);
// Writes initial values again: of the state of that name, of all below a module
// of that name, or of all if `name` is NULL or empty. NOT_FOUND: nothing has
// this name.
int32_t etx_ffi_session_reset(etx_ffi_session* session, const char* name,
                              etx_ffi_error* error);
// Bytes that etx_ffi_session_save writes; 0 for NULL.
size_t etx_ffi_session_save_bytes(const etx_ffi_session* session);
// Writes all states to `out`, which has room for `out_bytes` bytes.
// OUT_OF_MEMORY: they are fewer than etx_ffi_session_save_bytes; TORN_STATE: a
// run failed while it wrote state.
int32_t etx_ffi_session_save(const etx_ffi_session* session, void* out,
                             size_t out_bytes, etx_ffi_error* error);
// Takes all states from what etx_ffi_session_save wrote, in any session of the
// same program. BAD_ARGUMENT: it is of another program, or damaged; then
// nothing changes.
int32_t etx_ffi_session_restore(etx_ffi_session* session, const void* saved,
                                size_t saved_bytes, etx_ffi_error* error);

// ---- methods ----

// The number of inputs; 0 for NULL.
int64_t etx_ffi_method_input_count(const etx_ffi_method* method);
// The number of outputs; 0 for NULL.
int64_t etx_ffi_method_output_count(const etx_ffi_method* method);
// The name of an input and its length in bytes, borrowed until the session is
// closed; NULL if there is no such input. Files of other exporters have no
// names: then the length is 0.
const char* etx_ffi_method_input_name(const etx_ffi_method* method,
                                      int64_t index, size_t* out_bytes);
// The same for an output.
const char* etx_ffi_method_output_name(const etx_ffi_method* method,
                                       int64_t index, size_t* out_bytes);
// Describes an input: its kind, type and largest sizes, as a value without
// data, which is valid until the next call that describes an input or output of
// this method. OUT_OF_RANGE: there is no such input.
int32_t etx_ffi_method_describe_input(etx_ffi_method* method, int64_t index,
                                      const etx_ffi_value** out_value,
                                      etx_ffi_error* error);
// The same for an output.
int32_t etx_ffi_method_describe_output(etx_ffi_method* method, int64_t index,
                                       const etx_ffi_value** out_value,
                                       etx_ffi_error* error);

// Sets an input to a tensor with elements of type `dtype` and `rank` sizes.
// `data` is borrowed until the next run of the method has ended. It lies at a
// multiple of an element's bytes, and methods that change the input write it.
// It may be NULL if the tensor has no elements; `sizes` may be NULL if the rank
// is 0. OUT_OF_RANGE: there is no such input, or a size is out of its bounds;
// BAD_ARGUMENT: type, rank or a fixed size are wrong.
int32_t etx_ffi_method_set_tensor(etx_ffi_method* method, int64_t index,
                                  void* data, int32_t dtype, int32_t rank,
                                  const int64_t* sizes, etx_ffi_error* error);
// Sets an input that is an integer, or a bool: 0 or 1. Statuses as above; a
// number that was fixed when the program was made accepts only its value.
int32_t etx_ffi_method_set_int(etx_ffi_method* method, int64_t index,
                               int64_t value, etx_ffi_error* error);
// Sets an input that is a floating-point number. Statuses as above.
int32_t etx_ffi_method_set_double(etx_ffi_method* method, int64_t index,
                                  double value, etx_ffi_error* error);

// Runs the method. Whether it succeeds or not, tensors and integers must be set
// again for the next run. BAD_STATE: an input was not set; TORN_STATE: an
// earlier run failed while it wrote state, so that etx_ffi_session_reset of all
// or etx_ffi_session_restore must come first; or the status of an operator.
int32_t etx_ffi_method_run(etx_ffi_method* method, etx_ffi_error* error);
// An output of the last run. The value and its data are valid until a method of
// the session runs, or the next one is loaded. OUT_OF_RANGE: there is no such
// output.
int32_t etx_ffi_method_output(const etx_ffi_method* method, int64_t index,
                              const etx_ffi_value** out_value,
                              etx_ffi_error* error);

// ---- values ----
//
// NULL is read as a value of kind ETX_FFI_NONE.

// One of the kinds above.
int32_t etx_ffi_value_kind(const etx_ffi_value* value);
// The number of an INT or BOOL; 0 of any other value.
int64_t etx_ffi_value_int(const etx_ffi_value* value);
// The number of a DOUBLE; 0 of any other value.
double etx_ffi_value_double(const etx_ffi_value* value);
// The type of a tensor's elements; -1 of any other value.
int32_t etx_ffi_value_dtype(const etx_ffi_value* value);
// The number of a tensor's dimensions; 0 of any other value.
int32_t etx_ffi_value_rank(const etx_ffi_value* value);
// The size of a tensor in a dimension; 0 if it has no such dimension.
int64_t etx_ffi_value_size(const etx_ffi_value* value, int32_t dimension);
// Elements from one index of a dimension to the next; 0 if there is no such
// dimension. Those of a dense tensor are the products of the later sizes.
int64_t etx_ffi_value_stride(const etx_ffi_value* value, int32_t dimension);
// The first element of a tensor, or byte of a string; NULL if there is none.
void* etx_ffi_value_data(const etx_ffi_value* value);
// Bytes of a tensor's elements or of a string; 0 of any other value.
size_t etx_ffi_value_bytes(const etx_ffi_value* value);

#endif
