// Reading one schema of a list of operators. Only format/own_ops includes it.

#ifndef ETX_FORMAT_OWN_OPS_OWN_SCHEMA_INTERNAL_H
#define ETX_FORMAT_OWN_OPS_OWN_SCHEMA_INTERNAL_H

#include "format/base/diag.h"
#include "format/base/size_limits.h"
#include "format/ops/op_schema.h"
#include "format/own_ops/own_limits.h"

// A line of the text, and the next byte of it to read.
typedef struct etx_own_line {
  etx_text text;
  size_t at;
  uint32_t number;  // 1-based
  size_t before;    // bytes of the line before the text: parts are separated
                    // by ';'
  etx_diag* diag;
} etx_own_line;

// A text that is built: too long if it did not fit.
typedef struct etx_own_text {
  char data[ETX_OWN_MAX_TEXT];  // terminated
  size_t size;
  bool is_too_long;
} etx_own_text;

// What a schema states, as texts in the forms of etx_own_entry.
typedef struct etx_own_schema {
  etx_text name;          // "my::scale"
  etx_text overload;      // of the functional form, may be empty
  etx_own_text row;       // arguments
  etx_own_text node;      // arguments
  etx_own_text graph;     // arguments
  etx_own_text changed;   // names of changed arguments, joined by ", "
  etx_text first_tensor;  // name of the first tensor that is not optional
  size_t argument_count;
  size_t out_count;  // out arguments that the schema itself has
  bool has_star;
  size_t result_count;
  size_t changed_count;
  uint8_t changed_at[ETX_OWN_MAX_CHANGED];
} etx_own_schema;

// Fails with the line and column of the next byte. `format` as in diag.h with
// one %t for `subject`.
etx_status etx_own_line_refuse(const etx_own_line* line, const char* format,
                               etx_text subject);
void etx_own_line_skip(etx_own_line* line);
bool etx_own_line_take(etx_own_line* line, const char* text);
// A name: letters, digits and '_', not starting with a digit.
etx_text etx_own_line_word(etx_own_line* line);

// Appends up to three texts.
void etx_own_text_put(etx_own_text* text, const char* before, etx_text middle,
                      const char* after);

// Reads a whole line as a schema.
etx_status etx_own_schema_read(etx_own_line* line, etx_own_schema* out);

#endif
