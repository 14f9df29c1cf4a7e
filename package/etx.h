// Everything public, for applications in C and C++: this file and the headers
// that it leads to are what an installation holds.
//
// runtime/module/module.h is the comfortable layer. Applications without a
// heap use runtime/method.h and shared_memory/shared_memory.h below it, which
// module.h leads to, and may take one of these alone.

#ifndef ETX_PACKAGE_ETX_H
#define ETX_PACKAGE_ETX_H

// The options of this installation: filled in when the header is installed.
#define ETX_VERSION "@PROJECT_VERSION@"

// Their own declarations for C++ must not become C names.
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#include "generate/assistant.h"
#include "generate/beam_group.h"
#include "generate/generator.h"
#include "generate/program_tokenizer.h"
#include "generate/program_tokens.h"
#include "generate/prompt_lookup.h"
#include "runtime/future.h"
#include "runtime/kernel_library.h"
#include "runtime/memories.h"
#include "runtime/module/module.h"
#include "runtime/module/module_ffi.h"
#include "runtime/module/state_file.h"
#include "runtime/pool/instance_pool.h"
#include "runtime/regions.h"
#include "runtime/size_values.h"
#include "runtime/threads/thread_pool.h"
#include "runtime/trace/call_trace.h"
#include "runtime/variants.h"

#ifdef __cplusplus
}
#endif

#endif
