// Tokens that a program states as a constant method, such as `get_eos_ids`: an
// integer, several integers as one output each, as ExecuTorch's exporter writes
// a list, or one tensor int64 [n].

#ifndef ETX_GENERATE_PROGRAM_TOKENS_H
#define ETX_GENERATE_PROGRAM_TOKENS_H

#include "generate/generation_config.h"
#include "runtime/program.h"

enum { ETX_PROGRAM_TOKENS_MAX = 32 };  // outputs of one constant method

// Finds the tokens of the constant method `name`. The list borrows `memory`
// [ETX_PROGRAM_TOKENS_MAX], or the program if it has a tensor. The list is
// written only on success. ETX_NOT_FOUND: there is no such method.
// ETX_BAD_ARGUMENT: it states something else. ETX_OUT_OF_RANGE: it has more
// outputs than that.
ETX_MUST_USE etx_status etx_program_tokens(const etx_program* program,
                                           const char* name, int64_t* memory,
                                           etx_token_list* out_list,
                                           etx_diag* diag);

#endif
