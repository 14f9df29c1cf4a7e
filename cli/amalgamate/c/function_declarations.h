// The declarations of functions, taken from their definitions.

#ifndef ETX_CLI_AMALGAMATE_C_FUNCTION_DECLARATIONS_H
#define ETX_CLI_AMALGAMATE_C_FUNCTION_DECLARATIONS_H

#include "cli/amalgamate/c/c_tokens.h"
#include "exporter/host/text_buffer.h"

// Writes a declaration, one a line, for each function that the expanded tokens
// declare or define: without the body, and without the words that ask for one
// (static, inline, attributes). False if the tokens have something else.
bool etx_c_declare_functions(const etx_c_tokens* tokens, etx_text_buffer* out);

#endif
