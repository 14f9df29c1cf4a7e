// Conditions of the preprocessor: decided by what is known, or left.

#ifndef ETX_CLI_AMALGAMATE_SOURCE_CONDITIONS_H
#define ETX_CLI_AMALGAMATE_SOURCE_CONDITIONS_H

#include "cli/amalgamate/c/c_scan.h"

// The value of the tokens behind #if or #elif. Macros that it expands are
// appended to `expansion`.
ETX_MUST_USE etx_status etx_condition_value(etx_c_expansion* expansion,
                                            const etx_c_tokens* condition,
                                            etx_c_value* out);

// Whether a macro is defined, as #ifdef asks. Its definitions are appended to
// `expansion`, too.
ETX_MUST_USE etx_status etx_condition_defined(etx_c_expansion* expansion,
                                              const etx_c_token* name,
                                              etx_c_value* out);

#endif
