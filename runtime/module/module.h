// The comfortable layer for applications on a hosted system: opens a file by
// path, takes memory from malloc (or an allocator of the caller's), loads
// methods by name and executes them.
//
//   etx_module module;
//   etx_module_shared shared;             // one session's state and its block
//   etx_planned_memory allocator;
//   etx_module_open(&module, "stateful_model.pte", NULL, &diag);
//   etx_module_shared_open(&shared, &module, &diag);
//   etx_module_shared_allocator(&shared, "set_cache", &allocator, &diag);
//   etx_module_load_method(&module, "set_cache", &allocator, &diag);
//   etx_module_execute(&module, "set_cache", inputs, 1, &diag);
//
// Scratch and temporary memory are one block each for all methods of a file of
// etx's own, as large as the largest method needs, taken at the first load.
//
// Ownership  a module owns the mapped file and the memory of its methods;
//            whatever was opened is closed by the matching `close`. Its
//            methods point into it, so a module stays where it was opened.
//            Sessions are closed before their module.
// Threads    one module, one thread; more of them over one file are made by
//            etx_module_share.

#ifndef ETX_RUNTIME_MODULE_MODULE_H
#define ETX_RUNTIME_MODULE_MODULE_H

#include "runtime/method.h"
#include "runtime/module/module_memory.h"
#include "runtime/module/resident_limit.h"
#include "shared_memory/shared_memory.h"

// The kernels of a module whose options name none: all of the library. An
// application makes its program smaller by defining this object itself:
//
//   const etx_kernel_table* const etx_default_kernels = &my_kernels;
//
// The linker then drops all kernels that the application's table does not have.
// Naming a table in the options alone does not have this effect.
extern const etx_kernel_table* const etx_default_kernels;

// How a module is opened. All zero means the defaults.
typedef struct etx_module_options {
  const etx_kernel_table* kernels;  // NULL: etx_default_kernels
  const etx_limits* limits;         // NULL: defaults
  const etx_module_memory* memory;  // NULL: malloc
  const char* const* data_paths;    // files (.ptd) with data of the program
  size_t data_path_count;           // of data_paths
  // Threads for its kernels, such as a pool's (runtime/threads/), which must
  // outlive the module. NULL: what the limits say, or one.
  const etx_parallel* parallel;
  // Reads the files into memory instead of mapping them: changes of the files
  // afterwards have no effect. The bytes come from `memory`, and processes do
  // not share them.
  bool in_memory;
} etx_module_options;

struct etx_module_method;  // one loaded method and its memory

// A program file and its loaded methods. Fields may be read; only functions
// here write them.
typedef struct etx_module {
  etx_program program;                // the opened file
  etx_module_memory memory;           // the functions that allocate its memory
  struct etx_module_method* methods;  // list of loaded ones
  etx_bytes file;                     // its bytes
  bool owns_file;                     // else the caller keeps it
  bool in_memory;                     // what is ours is read, else mapped
  bool is_locked;                     // by etx_module_mlock
  etx_ptd* data;                      // data files, ours
  size_t data_count;                  // of data
  // One block for all methods, as large as the largest needs; NULL for a stock
  // file, whose methods have one each.
  void* scratch;
  size_t scratch_size;          // bytes
  void* temporary;              // one block for all methods
  size_t temporary_size;        // bytes
  etx_resident_limit resident;  // observes its methods; all zero: none
} etx_module;

// One session of state over a module, in memory of its own.
typedef struct etx_module_shared {
  etx_shared_memory memory;  // the session: for the functions of that header
  etx_module* module;        // which outlives it
  void* block;               // of the module's memory
} etx_module_shared;

// Maps and verifies the file, and the data files of the options. `options` may
// be NULL; of what it points to, kernels and threads outlive the module. Mapped
// files must not change until the module is closed: a file that becomes shorter
// ends the process (SIGBUS), and one that is written over may do so, too.
// Replacing it by a rename is safe. Where that cannot be ruled out, `in_memory`
// of the options reads the files instead. A
// module that failed to open has nothing to close, and may be closed.
// ETX_HOST_FAILED: a file cannot be read; ETX_BAD_FILE and its kin: it is no
// program, or a hostile one.
ETX_MUST_USE etx_status etx_module_open(etx_module* module, const char* path,
                                        const etx_module_options* options,
                                        etx_diag* diag);
// The same for bytes that the caller keeps (aligned to 16).
ETX_MUST_USE etx_status etx_module_open_bytes(etx_module* module,
                                              etx_bytes file,
                                              const etx_module_options* options,
                                              etx_diag* diag);
// A second module over what `owner` opened, which stays where it is and is
// closed last: methods, scratch and temporary memory of its own, so that
// another thread may run them.
void etx_module_share(etx_module* module, const etx_module* owner);

// Keeps only the first bytes of the file in memory, at least one, while its
// methods run (resident_limit.h): those loaded afterwards, and those of modules
// that share the file afterwards. ETX_BAD_ARGUMENT: the file is not mapped, but
// was given as bytes or read into memory, or `kept_bytes` is 0. ETX_BAD_STATE:
// it is locked.
ETX_MUST_USE etx_status etx_module_limit_resident(etx_module* module,
                                                  size_t kept_bytes,
                                                  etx_diag* diag);

// Reads the files into physical memory now, so that the first run does not wait
// for the disk. ETX_HOST_FAILED: a file cannot be read, or became shorter.
ETX_MUST_USE etx_status etx_module_prefault(etx_module* module, etx_diag* diag);

// Reads the files into physical memory and keeps them there until the module is
// closed, so that no run waits for the disk after the host was short of memory.
// State and scratch are not locked. Closing unlocks the bytes, also those that
// the caller gave. ETX_HOST_FAILED: the host refuses, mostly because of its
// limit for a process; nothing is locked then. ETX_UNSUPPORTED: it locks no
// memory; ETX_BAD_STATE: the resident bytes are limited.
ETX_MUST_USE etx_status etx_module_mlock(etx_module* module, etx_diag* diag);

// Gives all memory back and unmaps the files. The module's sessions are closed
// before.
void etx_module_close(etx_module* module);

// Starts a session with initial values in memory of its own. ETX_OUT_OF_MEMORY:
// there is none; ETX_BAD_FILE: see etx_shared_memory_init.
ETX_MUST_USE etx_status etx_module_shared_open(etx_module_shared* shared,
                                               etx_module* module,
                                               etx_diag* diag);

// Gives the session's memory back. No method runs on it any more.
void etx_module_shared_close(etx_module_shared* shared);

// The session's memory, with which a method is loaded to work on this session.
// The name is that of ExecuTools; nothing is allocated. ETX_NOT_FOUND: the
// program has no such method.
ETX_MUST_USE etx_status
etx_module_shared_allocator(etx_module_shared* shared, const char* method,
                            etx_planned_memory* out_planned, etx_diag* diag);

// Loads a method. A NULL allocator gives it private state with initial values;
// else the allocator is copied, and the session behind it outlives the method's
// runs. Loading a loaded method again binds it to the allocator, or to private
// state. What fails leaves the module as it was. ETX_NOT_FOUND: there is no
// such method; ETX_MISSING_OPERATOR, ETX_UNSUPPORTED: this build cannot run it;
// ETX_OUT_OF_MEMORY.
ETX_MUST_USE etx_status
etx_module_load_method(etx_module* module, const char* name,
                       const etx_planned_memory* allocator, etx_diag* diag);

// The loaded method, or NULL.
etx_method* etx_module_method(etx_module* module, const char* name);

// Sets the first `input_count` inputs (tensors or scalars), runs. Loads the
// method with private memory if it is not loaded. The inputs' data is borrowed
// until other data is set (etx_method_set_input), and statuses are those of
// etx_method_set_input and etx_method_run.
ETX_MUST_USE etx_status etx_module_execute(etx_module* module, const char* name,
                                           const etx_value* inputs,
                                           size_t input_count, etx_diag* diag);

// Loads as etx_module_load_method does and hands every operator that is missing
// to `missing`, which may be NULL.
ETX_MUST_USE etx_status etx_module_load_method_telling(
    etx_module* module, const char* name, const etx_planned_memory* allocator,
    const etx_missing_sink* missing, etx_diag* diag);

// An output of the last execution; the method owns it, and its data stays as
// etx_method_output says. ETX_BAD_STATE: the method is not loaded;
// ETX_OUT_OF_RANGE: it has no such output.
ETX_MUST_USE etx_status etx_module_output(etx_module* module, const char* name,
                                          size_t index,
                                          const etx_value** out_value,
                                          etx_diag* diag);

// A tensor value over the caller's data, contiguous: for inputs. Borrows both,
// data and sizes.
etx_value etx_module_tensor(void* data, etx_dtype dtype, const int32_t* sizes,
                            uint8_t rank);

#endif
