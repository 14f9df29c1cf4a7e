// The optional passes as `etx plan --passes` takes them, all switched off.

#ifndef ETX_TESTS_CLI_PASSES_OFF_H
#define ETX_TESTS_CLI_PASSES_OFF_H

// ",-fold_constants,-..": starts with a comma.
#define PASS(name, function, kind, ir, sentence) PASS_##kind(#name)
#define PASS_OPTIONAL(name) ",-" name
#define PASS_REQUIRED(name)
static const char passes_off[] =
#include "exporter/passes/pass_list.def"
    ;
#undef PASS
#undef PASS_OPTIONAL
#undef PASS_REQUIRED

#endif
