// What a kernel is, what it is called with, and how it reads its arguments.
//
// A kernel has two phases. `prepare` is called with the current sizes; the
// shape function has set those of outputs. It checks types and everything that
// the shape function cannot, chooses `run`, may store numbers in `prepared`,
// and states temporary bytes. It may depend only on numbers, types, sizes and
// strides, because its results are reused for equal calls; it never reads
// elements, and data pointers may be NULL. `run` does the work; it checks only
// elements of tensors (indices, divisors).
//
// An operator that computes a number is prepared once, whatever numbers and
// sizes it reads later.
//
// prepare is called again when sizes change, and never between two runs of
// equal sizes. Data pointers may change between prepare and run. What does not
// depend on sizes need not be done again (etx_call_is_again).
//
// Rows without temporaries leave `temporary_bytes` NULL in the table. Those
// with them state the maximum over all sizes up to the bound, from a call
// whose tensors have their upper-bound sizes and no data.

#ifndef ETX_RUNTIME_KERNEL_H
#define ETX_RUNTIME_KERNEL_H

#include "format/base/build_parts.h"
#include "format/base/diag.h"
#include "format/ops/op_schema.h"
#include "runtime/built_types.h"
#include "runtime/instruction_set.h"
#include "runtime/value.h"

// The most threads of a program. Kernels take memory for each.
enum { ETX_MAX_THREADS = 1024 };

// What kernels may use of the machine: more than one core (the default is a
// loop), and which instructions. Work is split by output elements, never along
// a sum, so that results do not depend on it.
typedef struct etx_parallel {
  // Calls task(argument, i) once for every i below count, on any threads, and
  // returns when all have returned. With a task left out or repeated, results
  // are wrong: builds without NDEBUG trap then. Numbers from count on are
  // ignored.
  void (*parallel_for)(void* context, void (*task)(void* argument, size_t i),
                       void* argument, size_t count);
  void* context;        // handed to parallel_for unchanged
  size_t thread_count;  // threads that may run at once, 1 to ETX_MAX_THREADS
  // The widest instruction set that products may use; 0: any. Results do not
  // depend on it.
  etx_instruction_set instruction_set;
} etx_parallel;

// What random operators draw from: block number `drawn` of a counter-based
// generator is a function of the seed and that number alone, so a method that
// starts from the same seed draws the same numbers on every machine.
typedef struct etx_random_stream {
  uint64_t seed;   // the seed of the random numbers
  uint64_t drawn;  // blocks that were drawn so far
} etx_random_stream;

typedef struct etx_call etx_call;

// A kernel's phase: prepare or run. A failure leaves a message in call->diag.
typedef etx_status (*etx_kernel_function)(etx_call* call);

// The function that gives an output tensor its sizes while a kernel runs.
typedef struct etx_resizer {
  // Gives `output` the sizes, as many as its rank. Refuses sizes
  // beyond its bounds.
  etx_status (*resize)(void* context, const etx_value* output,
                       const int32_t* sizes);
  void* context;  // handed to resize unchanged
} etx_resizer;

// One call of an operator: what a kernel is given.
struct etx_call {
  const etx_op* op;                   // the row of the operator
  etx_kernel_function run;            // chosen by prepare
  const etx_value* const* arguments;  // one for each schema argument, in order;
                                      // out arguments and scalar results are
                                      // written through etx_call_out
  size_t argument_count;              // return slot of scalar results included
  void* temporary;                    // at least the stated bytes, 16-aligned
  size_t temporary_bytes;             // stated by prepare
  const etx_parallel* parallel;       // never NULL
  const etx_resizer* resizer;         // NULL while all sizes are known
  etx_random_stream* random;          // the method's; NULL where nothing
                                      // random may be computed (constants)
  etx_diag* diag;                     // may be NULL
  int64_t prepared[6];                // whatever prepare leaves for run
};

// What `run` of a prepared call may refuse because of elements or numbers that
// it reads, such as an index out of range. A method asks this before it writes
// state, as far as these values are known then, so that a refused run leaves
// the state as it was.
typedef struct etx_kernel_check {
  uint64_t reads;  // a bit for each argument that `refuse` reads
  // Refuses what `run` would refuse. Writes nothing, and uses neither temporary
  // memory nor `prepared`.
  etx_status (*refuse)(const etx_call* call);
} etx_kernel_check;

// The kernel of an operator.
typedef struct etx_kernel {
  const etx_op* op;             // which it computes: a row of op_schema.h, or
                                // an application's own
  etx_kernel_function prepare;  // chooses the call's `run`
  // NULL, or states the bytes of temporary memory for the sizes of `call`.
  etx_status (*temporary_bytes)(const etx_call* call, size_t* out_bytes);
  // NULL: `run` refuses nothing that it reads from an argument, or only while
  // it writes.
  const etx_kernel_check* check;
} etx_kernel;

struct etx_method;
struct etx_operator_cache;
struct etx_missing_sink;

// Which calls a selected build is for. A cell is an operator with an element
// type of a tensor among its arguments or results. `etx select` writes them; a
// method that needs another cell is refused when it is loaded.
typedef struct etx_cells {
  const uint32_t* dtypes;  // for each kernel of the table: a bit for each code
                           // of dtype.def
  uint32_t features;       // a bit for each row of build_features.def
  const char* advice;  // what to do about a cell that is missing, for messages;
                       // NULL: nothing
  // etx_missing_cells_check (method.h), or NULL: methods are refused without a
  // list of what they lack. A pointer, so that only images with such a table
  // link it.
  etx_status (*check)(const struct etx_method* method,
                      struct etx_operator_cache* operators,
                      const struct etx_missing_sink* missing, etx_diag* diag);
} etx_cells;

// The kernels of a build: what etx_program_open is given. An application may
// pass fewer rows, in any order, and rows of its own; the linker drops the
// rest. The operators of a program are looked up in this table alone.
typedef struct etx_kernel_table {
  const etx_kernel* kernels;  // each operator at most once
  size_t count;               // of kernels
  const etx_cells* cells;     // NULL: each kernel has all types of the build
} etx_kernel_table;

// Every kernel of this library, one row per row of op_schema.def, in order.
extern const etx_kernel_table etx_all_kernels;

// Finds the kernel of a row of op_schema.def; NULL if the table does not have
// it.
const etx_kernel* etx_kernel_find(const etx_kernel_table* table, etx_op_id op);

// True in a `prepare` that has succeeded before with this call, if only sizes
// and strides have changed since: types, ranks, numbers, texts and which
// arguments are None are the same. `run` and `prepared` have what it left then,
// so checks and choices that depend on nothing else need not be made again.
// `temporary_bytes` need not be stated again, either: where they matter, the
// runtime asks the kernel's row. Ask before `run` is set.
static inline bool etx_call_is_again(const etx_call* call) {
  return ETX_DYNAMIC && call->run != NULL;
}

// Finds a kernel by the name that a file states; NULL if the table does not
// have it.
const etx_kernel* etx_kernel_find_named(const etx_kernel_table* table,
                                        const etx_op_name* name);

// Prepares a call that does not come from a loaded method, so its types are not
// checked yet: refuses those that this build leaves out (built_types.h).
etx_status etx_kernel_prepare(const etx_kernel* kernel, etx_call* call);

// True for a row of etx_all_kernels whose types are all left out of this build.
// Such a row has no kernel; its prepare only refuses the call.
bool etx_kernel_is_left_out(const etx_kernel* kernel);

// Refuses a type that this build leaves out (ETX_UNSUPPORTED), with the name of
// the argument that has it and what to build with.
etx_status etx_argument_refuse_dtype(etx_text argument, etx_dtype dtype,
                                     const etx_op* op, etx_diag* diag);

// Arguments by schema position. The kind was checked against the schema when
// the method was loaded, so these assert.

// The argument at `index`, of any kind.
static inline const etx_value* etx_call_value(const etx_call* call,
                                              size_t index) {
  return call->arguments[index];
}
// True if the argument is None.
static inline bool etx_call_is_none(const etx_call* call, size_t index) {
  return call->arguments[index]->kind == ETX_VALUE_NONE;
}
// The argument as a tensor.
static inline const etx_tensor* etx_call_tensor(const etx_call* call,
                                                size_t index) {
  return &call->arguments[index]->as.tensor;
}
// Gives out argument `index`, whose sizes depend on elements, the sizes that it
// has (as many as its rank). Its shape rule has only bounded them, so `run`
// calls this before it writes the first element; the tensor's header has the
// new sizes afterwards. Refuses sizes beyond these bounds.
etx_status etx_call_resize_out(const etx_call* call, size_t index,
                               const int32_t* sizes);
// A slot that the kernel may write: an out tensor's data, a scalar result.
static inline etx_value* etx_call_out(const etx_call* call, size_t index) {
  return (etx_value*)(uintptr_t)call->arguments[index];
}
// The argument as an integer.
static inline int64_t etx_call_integer(const etx_call* call, size_t index) {
  return call->arguments[index]->as.integer;
}
// The argument as a truth value.
static inline bool etx_call_boolean(const etx_call* call, size_t index) {
  return call->arguments[index]->as.boolean;
}
// An Int, Double or Bool as a double.
double etx_call_real(const etx_call* call, size_t index);
// Item of an IntList.
static inline int64_t etx_call_item(const etx_call* call, size_t index,
                                    size_t item) {
  return call->arguments[index]->as.integers.items[item]->as.integer;
}

// Refuses with a message (formats as diag.h does) that ends in the operator's
// name; returns `status`.
etx_status etx_call_refuse(const etx_call* call, etx_status status,
                           const char* format, ...);
#if !ETX_MESSAGES
#define etx_call_refuse(call, status, ...) \
  (0 ? (etx_call_refuse)((call), (status), __VA_ARGS__) : (etx_status)(status))
#endif
// Errors of a call. The message has the operator, the argument, what was
// expected and what was found.

// Refuses the type of argument `index` with ETX_UNSUPPORTED; `expected` names
// the types that the kernel takes.
etx_status etx_call_refuse_dtype(const etx_call* call, size_t index,
                                 const char* expected);
// ETX_BAD_ARGUMENT unless the tensor at `index` has the type.
etx_status etx_call_check_dtype(const etx_call* call, size_t index,
                                etx_dtype expected);
// ETX_BAD_ARGUMENT unless the tensors at `a` and `b` have the same type.
etx_status etx_call_check_same_dtype(const etx_call* call, size_t a, size_t b);
// ETX_UNSUPPORTED unless the tensor at `index` is dense in default order: for
// kernels that do not follow strides.
etx_status etx_call_check_contiguous(const etx_call* call, size_t index);

#endif
