// What declarations of C define and refer to.
//
// Constant conditions are evaluated: what stands behind `0 &&`, in the branch
// of a condition that is never true, or behind a return that is always taken is
// referred to by dead code only. Such code must compile, so it needs
// declarations, but the compiler drops its calls before the linker sees them.

#ifndef ETX_CLI_AMALGAMATE_C_C_SCAN_H
#define ETX_CLI_AMALGAMATE_C_C_SCAN_H

#include "cli/amalgamate/c/c_macros.h"

// Who is told what the tokens say.
typedef struct etx_c_listener {
  etx_status (*refer)(void* context, uint32_t name, bool is_live);
  // `has_body`: a function with its body or a variable that other source files
  // may see, so that there may be a declaration of it elsewhere, too.
  etx_status (*define)(void* context, uint32_t name, bool has_body);
  void (*begin_body)(void* context);  // of a function
  // A declaration of a function, or its definition, was read.
  void (*function)(void* context, bool is_static);
  void* context;
} etx_c_listener;

// A number, if it is known.
typedef struct etx_c_value {
  bool is_known;
  int64_t number;
} etx_c_value;

enum { ETX_C_LOCALS = 128 };

typedef struct etx_c_scan {
  const etx_c_token* items;
  size_t count;
  size_t next;
  etx_c_macros* macros;  // values of enumeration constants
  const etx_c_listener* listener;
  etx_status status;  // of the listener, kept until the end
  // Names of parameters and variables of the function that is read; those that
  // do not fit count as references.
  uint32_t locals[ETX_C_LOCALS];
  size_t local_count;
} etx_c_scan;

// Reads an expression up to what ends it: , ; : or a closing bracket.
etx_c_value etx_c_scan_expression(etx_c_scan* scan, bool is_live);

// Reads what stands between brackets, and the closing one. The value is that of
// the only expression.
etx_c_value etx_c_scan_group(etx_c_scan* scan, bool is_live);

// Reads all tokens as declarations of file scope. Enumeration constants get
// their values.
void etx_c_scan_declarations(etx_c_scan* scan);

#endif
