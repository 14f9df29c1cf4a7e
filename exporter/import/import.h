// State that is shared by the readers of methods: a list of problems, and the
// declarations of each named buffer.
//
//   1. Each file is read: it adds a method and declarations, such as "in
//      decode.pt2, buffer `cache` is float32[4, 8] and starts as these bytes".
//   2. etx_import_merge_buffers merges the declarations of all files by name
//      and loads one initial value for each buffer.
//   3. etx_import_compact drops unused buffers and constants and sorts the
//      tables, so that their order does not depend on the files.
//
// Only after step 1 is it known which buffers are used. Values are therefore
// loaded late, through the callback in the declaration.

#ifndef ETX_EXPORTER_IMPORT_IMPORT_H
#define ETX_EXPORTER_IMPORT_IMPORT_H

#include "exporter/ir/ir.h"

struct etx_initial_source;

// Loads the initial value of `source` as a tensor with exactly the dtype and
// sizes of `type` (type->data is not read). ETX_IR_NONE in `*out_constant` if
// the source has no value.
typedef etx_status etx_initial_load(const struct etx_initial_source* source,
                                    etx_ir_module* module,
                                    const etx_ir_constant* type,
                                    uint32_t* out_constant, etx_diag* diag);

typedef struct etx_initial_source {
  etx_initial_load* load;  // NULL: the file has no value
  void* context;           // owned by the reader
  const void* item;        // owned by the reader
  etx_text name;           // of the buffer
} etx_initial_source;

// What one method says about a buffer.
typedef struct etx_buffer_declaration {
  uint32_t method;
  uint32_t buffer;
  etx_ir_constant type;  // dtype and sizes; data is not used
  bool is_used;          // some node, output or mutation of the method needs it
  bool is_parameter;     // a torch.nn.Parameter; false if that is not known
  etx_initial_source source;
  etx_source_location place;
} etx_buffer_declaration;

typedef struct etx_import {
  etx_ir_module* module;
  etx_problems* problems;  // may be NULL
  etx_diag* diag;          // gets the first problem; may be NULL
  etx_status status;       // of the first problem, or ETX_OK
  size_t problem_count;
  etx_text* failed_files;  // files that some problem names
  size_t failed_count, failed_capacity;
  etx_buffer_declaration* declarations;
  size_t declaration_count, declaration_capacity;
} etx_import;

void etx_import_init(etx_import* import, etx_ir_module* module,
                     etx_problems* problems, etx_diag* diag);

// Reports one problem of the user's files. Reading continues.
void etx_import_problem(etx_import* import, etx_status status,
                        const etx_source_location* place, const char* format,
                        ...);

// The same, with the message that a failed call left in `diag`. The line and
// column of `diag`, if it has them, replace those of `place`.
void etx_import_problem_of(etx_import* import, const etx_source_location* place,
                           etx_status status, const etx_diag* diag);

// Finds or adds the buffer `name` and records one method's declaration of it.
ETX_MUST_USE etx_status etx_import_declare_buffer(
    etx_import* import, etx_text name,
    const etx_buffer_declaration* declaration, uint32_t* out_buffer);

// Marks buffers that some method mutates as state.
void etx_import_mark_mutated(etx_import* import);

// Merges the declarations and loads initial values. `overrides` has for each
// buffer the constant that program.yaml states as its initial value, or
// ETX_IR_NONE; NULL if it states none. Problems are reported.
ETX_MUST_USE etx_status etx_import_merge_buffers(etx_import* import,
                                                 const uint32_t* overrides);

// Drops unused buffers and constants and sorts the tables: methods and buffers
// by name, constants by first use.
ETX_MUST_USE etx_status etx_import_compact(etx_ir_module* module);

// Reports unsupported operators of methods whose files have other problems.
// Those methods are dropped before the pass `lower`, which reports the
// unsupported operators of all other methods.
void etx_import_report_unsupported(etx_import* import);

// Removes the methods whose files have problems, so that the others can be
// checked further.
void etx_import_drop_failed(etx_import* import);

// "float32[4, 8]", for messages.
etx_text etx_import_type_text(etx_pool* pool, const etx_ir_constant* type);

#endif
