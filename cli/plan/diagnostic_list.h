// Collects the problems that readers and passes report: printed in order, in
// the format of compiler messages, so that editors can jump to them, and
// optionally kept as JSON.
//
//   methods/decode.yaml:12:9: node 'scores': unknown operator 'aten.bm'
//     from the source line: x = torch.bm(q, k)

#ifndef ETX_CLI_PLAN_DIAGNOSTIC_LIST_H
#define ETX_CLI_PLAN_DIAGNOSTIC_LIST_H

#include <jansson.h>

#include "exporter/ir/ir.h"

typedef struct etx_diagnostic_list {
  etx_problems problems;  // the sink for readers and passes
  json_t* list;           // all problems; NULL without JSON
} etx_diagnostic_list;

// Problems are printed to standard error; with `as_json` they are also
// collected.
void etx_diagnostic_list_init(etx_diagnostic_list* list, bool as_json);

// Adds a failure without a location to the collected problems. It is not
// printed; the caller reports it.
void etx_diagnostic_list_add(etx_diagnostic_list* list, const char* path,
                             etx_status status, const etx_diag* diag);

// Moves the collected problems out; the caller owns the reference. NULL without
// JSON.
json_t* etx_diagnostic_list_take(etx_diagnostic_list* list);

#endif
