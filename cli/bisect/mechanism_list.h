// What may be switched on one after the other between a model and its results:
// the optional passes in the order in which they run, the choice of the best
// memory plan, wider instruction sets, and threads.

#ifndef ETX_CLI_BISECT_MECHANISM_LIST_H
#define ETX_CLI_BISECT_MECHANISM_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime/instruction_set.h"

enum {
  ETX_MECHANISM_MOST = 128,
  ETX_MECHANISM_PASSES_BYTES = 4096,  // names of all passes, as an option
};

typedef enum etx_mechanism_kind {
  ETX_MECHANISM_PASS,
  ETX_MECHANISM_MEMORY_PLAN,
  ETX_MECHANISM_INSTRUCTION_SET,
  ETX_MECHANISM_THREADS,
} etx_mechanism_kind;

typedef struct etx_mechanism {
  etx_mechanism_kind kind;
  const char* name;
  etx_instruction_set set;  // of a mechanism of that kind
} etx_mechanism;

typedef struct etx_mechanism_list {
  etx_mechanism items[ETX_MECHANISM_MOST];
  size_t count;
  const char* off;  // passes that are always off, "-name,-name"; or NULL
} etx_mechanism_list;

// How a model is planned and run with some of the mechanisms.
typedef struct etx_mechanism_setting {
  char passes[ETX_MECHANISM_PASSES_BYTES];  // etx_export_options.passes; ""
  const char* algorithm;                    // the same; NULL: the best
  etx_instruction_set set;
  bool has_threads;
} etx_mechanism_setting;

// All mechanisms of this build and machine, but for passes that `off` names.
// Without `packs`, weights are never packed, so that pass is left out.
void etx_mechanism_list_init(etx_mechanism_list* list, bool packs,
                             const char* off);

// The word for a kind, such as "pass".
const char* etx_mechanism_kind_name(etx_mechanism_kind kind);

// The setting with the first `count` mechanisms on and all others off.
void etx_mechanism_list_setting(const etx_mechanism_list* list, size_t count,
                                etx_mechanism_setting* out);

#endif
