// Checks sizes of inputs against the symbols of the file.

#ifndef ETX_RUNTIME_SHAPES_METHOD_SYMBOLS_H
#define ETX_RUNTIME_SHAPES_METHOD_SYMBOLS_H

#include "runtime/method/method_types.h"

// Copies the symbols of the file, and how inputs depend on them, into the
// memory of the method. Symbols have no value yet.
void etx_method_read_symbols(etx_method* method);
// Checks the sizes (or the integer) of one input before it is accepted.
ETX_MUST_USE etx_status etx_method_check_input_sizes(const etx_method* method,
                                                     size_t input,
                                                     const int32_t* sizes,
                                                     etx_diag* diag);
ETX_MUST_USE etx_status etx_method_check_input_integer(const etx_method* method,
                                                       size_t input,
                                                       int64_t integer,
                                                       etx_diag* diag);
// All inputs together: solves the symbols.
ETX_MUST_USE etx_status etx_method_solve_symbols(etx_method* method,
                                                 etx_diag* diag);

#endif
