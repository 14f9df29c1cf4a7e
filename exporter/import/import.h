// What the readers of methods share: a list of problems, and what each file
// says about each named buffer.
//
//   read each file        methods, and claims: "in decode.pt2, buffer `cache`
//                         is float32[4, 8] and starts as these bytes"
//   etx_import_settle     claims of all files joined by name; what is state;
//                         one initial value each; unused ones dropped; tables
//                         in an order that does not depend on the files
//
// Whether a buffer matters is known only when all methods are read, so values
// are loaded late, by the callback that stands in the claim.

#ifndef ETX_EXPORTER_IMPORT_IMPORT_H
#define ETX_EXPORTER_IMPORT_IMPORT_H

#include "exporter/ir/ir.h"

struct etx_import_source;

// Loads the initial value that a source stands for: a tensor of exactly
// `type`'s dtype and sizes (its data is not looked at).
typedef etx_status etx_import_load(const struct etx_import_source* source,
                                   etx_ir_module* module,
                                   const etx_ir_constant* type,
                                   uint32_t* out_constant, etx_diag* diag);

typedef struct etx_import_source {
  etx_import_load* load;  // NULL: the file gives no value
  void* context;          // the reader's
  const void* item;       // the reader's
  etx_text name;          // of the buffer
} etx_import_source;

typedef struct etx_import_claim {
  uint32_t method;
  uint32_t buffer;
  etx_ir_constant type;  // dtype and sizes; data is not used
  bool is_used;          // some node, output or mutation of the method needs it
  etx_import_source source;
  etx_source_location place;
} etx_import_claim;

typedef struct etx_import {
  etx_ir_module* module;
  etx_problems* problems;  // may be NULL
  etx_diag* diag;          // gets the first problem; may be NULL
  etx_status status;       // of the first problem, or ETX_OK
  size_t problem_count;
  etx_text* faulty_files;  // files that some problem names
  size_t faulty_count, faulty_capacity;
  etx_import_claim* claims;
  size_t claim_count, claim_capacity;
} etx_import;

void etx_import_init(etx_import* import, etx_ir_module* module,
                     etx_problems* problems, etx_diag* diag);

// Reports one problem of the user's files and goes on.
void etx_import_problem(etx_import* import, etx_status status,
                        const etx_source_location* place, const char* format,
                        ...);

// The same with what a failed call left in `diag`; its line and column,
// if it has some, win over those of `place`.
void etx_import_problem_of(etx_import* import, const etx_source_location* place,
                           etx_status status, const etx_diag* diag);

// Finds or adds the buffer and records what one method says about it.
ETX_MUST_USE etx_status etx_import_add_claim(etx_import* import, etx_text name,
                                             const etx_import_claim* claim,
                                             uint32_t* out_buffer);

// Marks buffers that some method mutates as state.
void etx_import_mark_mutated(etx_import* import);

// Joins the claims and loads initial values. `settled` holds, by buffer, the
// constant that program.yaml gives as its initial value, or ETX_IR_NONE; NULL
// if it gives none. Problems are reported.
ETX_MUST_USE etx_status etx_import_settle(etx_import* import,
                                          const uint32_t* settled);

// Drops buffers and constants that nothing needs and puts methods, buffers and
// constants into their final order: by name, by name, by first use.
ETX_MUST_USE etx_status etx_import_compact(etx_ir_module* module);

// Reports the operators that cannot be lowered of the methods whose files have
// other problems: nobody will come to lower them.
void etx_import_report_unsupported(etx_import* import);

// Takes out the methods whose files have problems, so that the others can be
// looked at further.
void etx_import_drop_faulty(etx_import* import);

// "float32[4, 8]", for messages.
etx_text etx_import_type_text(etx_pool* pool, const etx_ir_constant* type);

#endif
