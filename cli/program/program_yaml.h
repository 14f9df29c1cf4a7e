// A program file as YAML, for people: every value, every instruction, where
// everything lies. It is not an input of `etx plan`.

#ifndef ETX_CLI_PROGRAM_PROGRAM_YAML_H
#define ETX_CLI_PROGRAM_PROGRAM_YAML_H

#include <stdio.h>

#include "format/pte/etx_blob.h"
#include "format/pte/pte_program.h"

// `blob` is NULL for a stock file, which does not say what shares bytes.
void etx_program_yaml_print(const etx_pte* pte, const etx_blob* blob,
                            FILE* out);

#endif
