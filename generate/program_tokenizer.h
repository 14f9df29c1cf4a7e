// The tokenizer that a program carries: the bytes that etx_tokenizer_needed and
// etx_tokenizer_init (tokenizer/tokenizer.h) read. Programs of `etx.hf` have
// them as the constant method `tokenizer_blob`.
//
//   etx_bytes file;
//   etx_program_tokenizer_file(&module.program, &file, &diag);
//   etx_tokenizer_needed(file, &bytes, &diag);

#ifndef ETX_GENERATE_PROGRAM_TOKENIZER_H
#define ETX_GENERATE_PROGRAM_TOKENIZER_H

#include "format/base/span.h"
#include "runtime/program.h"

// Finds the file, which lies in the program and stays as long as it.
// ETX_NOT_FOUND: the program carries none. ETX_BAD_ARGUMENT: `tokenizer_blob`
// is not uint8 [n], or `tokenizer_format` names a format other than
// `tokenizer.json` and `sentencepiece`.
ETX_MUST_USE etx_status etx_program_tokenizer_file(const etx_program* program,
                                                   etx_bytes* out_file,
                                                   etx_diag* diag);

#endif
