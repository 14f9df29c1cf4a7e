// Operators of an application as a text: schemas as PyTorch prints them, and
// the rules of their sizes (format/shapes/own_operator.h).
//
//   # comments start with '#'
//   my::scale(Tensor x, float factor) -> Tensor
//       sizes: x
//   my::step(Tensor(a0!) state, Tensor x) -> (Tensor, Tensor)
//       sizes: x, [x.0]
//       dtypes: x, int64
//   my::halve(Tensor x) -> Tensor; sizes: [x.0 // 2]
//
// A line that is not indented has a schema; the lines below it that are, and
// the parts of the line behind ';', have its rules: `sizes` and `dtypes` (one
// for each result; without `dtypes`, results have the type of the first
// tensor), and `in_place: elementwise` if the kernel reads element i of all
// arguments before it writes element i, so that its result may take the place
// of an argument.
//
// Program files name an operator that returns tensors by its out variant, as
// ExecuTorch does: my::scale.out. One that only changes arguments has no other
// variant: my::add_to.
//
// A program file contains the text of the operators that it uses, as named data
// with the key "etx.operators.v1", so that tools know what they read and write.
// Running a method does not read it.

#ifndef ETX_FORMAT_OWN_OPS_OWN_OPERATOR_LIST_H
#define ETX_FORMAT_OWN_OPS_OWN_OPERATOR_LIST_H

#include "format/base/arena.h"
#include "format/own_ops/own_limits.h"
#include "format/shapes/own_operator.h"

#define ETX_OWN_OPERATORS_KEY "etx.operators.v1"

// One operator. Its strings are in the arena.
typedef struct etx_own_entry {
  etx_own_operator row;   // as a file calls it: the row of a kernel table
  etx_own_operator node;  // changes nothing: the new contents of arguments
                          // that `row` changes, then the results, are out
                          // arguments
  const char* name;       // in a graph: "my.scale.default"
  const char* arguments;  // in a graph, without results and marks of changes
  size_t result_count;    // tensors that it returns
  size_t changed_count;   // arguments that it changes
  uint8_t changed[ETX_OWN_MAX_CHANGED];  // their positions
  etx_text source;                       // its lines, in the text
  uint32_t line;                         // of its schema, 1-based
} etx_own_entry;

// The operators of a text, in its order.
typedef struct etx_own_list {
  etx_own_entry* entries;
  size_t count;
} etx_own_list;

// Bytes of memory that reading `text` takes at most.
size_t etx_own_list_needed(etx_text text);

// Reads `text`, which must outlive the list. Nothing of it is trusted.
// ETX_BAD_FILE with line and column; ETX_OUT_OF_MEMORY.
ETX_MUST_USE etx_status etx_own_list_read(etx_text text, etx_arena* arena,
                                          etx_own_list* out_list,
                                          etx_diag* diag);

// Finds an operator by the name that a file states; NULL if there is none.
const etx_own_entry* etx_own_list_find(const etx_own_list* list, etx_text name,
                                       etx_text overload);

#endif
