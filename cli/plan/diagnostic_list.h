// All problems of all methods, as a reader of methods reports them: printed in
// order, the form of a compiler's messages so that editors can
// jump to them.
//
//   methods/decode.yaml:12:9: node 'scores': unknown operator 'aten.bm'
//     from the source line: x = torch.bm(q, k)

#ifndef ETX_CLI_PLAN_DIAGNOSTIC_LIST_H
#define ETX_CLI_PLAN_DIAGNOSTIC_LIST_H

#include <jansson.h>

#include "exporter/ir/ir.h"

typedef struct etx_diagnostic_list {
  etx_problems problems;  // what readers are given
  json_t* list;           // of all of them, or NULL
} etx_diagnostic_list;

// Problems are printed to standard error, and with `as_json` collected too.
void etx_diagnostic_list_init(etx_diagnostic_list* list, bool as_json);

// Collects what failed without being a problem of one place, which has been
// told otherwise.
void etx_diagnostic_list_add(etx_diagnostic_list* list, const char* path,
                             etx_status status, const etx_diag* diag);

// The collected problems; the caller owns the reference. NULL without JSON.
json_t* etx_diagnostic_list_take(etx_diagnostic_list* list);

#endif
