// Reads JSON in place. Internal to tokenizer/.
//
// etx_cursor_check reads the whole text once; after it, values are spans of
// valid JSON, and walking needs neither memory nor checks of syntax.

#ifndef ETX_TOKENIZER_JSON_CURSOR_H
#define ETX_TOKENIZER_JSON_CURSOR_H

#include "format/base/diag.h"
#include "format/base/span.h"

enum { ETX_CURSOR_DEPTH_MAX = 64 };  // arrays and objects within each other

// A value of a checked text, from its first byte to the end of the text.
typedef struct etx_cursor_value {
  const uint8_t* at;   // NULL: there is no such value
  const uint8_t* end;  // of the whole text
} etx_cursor_value;

// A place within an array or object.
typedef struct etx_cursor_walk {
  etx_cursor_value next;
  bool object;
} etx_cursor_walk;

// Checks syntax, depth and UTF-8, and gives the outermost value.
ETX_MUST_USE etx_status etx_cursor_check(etx_bytes text, etx_cursor_value* out,
                                         etx_diag* diag);

// Starts at the first item of an array or object; other values have none.
etx_cursor_walk etx_cursor_items(etx_cursor_value value);
// Gives the next item, and its key (a string value) if out_key is not NULL.
bool etx_cursor_next(etx_cursor_walk* walk, etx_cursor_value* out_key,
                     etx_cursor_value* out_value);
// The member of an object; `at` is NULL if there is none or it is null.
etx_cursor_value etx_cursor_get(etx_cursor_value object, const char* key);

// The same for several keys in one walk, which saves time in large objects.
void etx_cursor_get_all(etx_cursor_value object, const char* const* keys,
                        size_t count, etx_cursor_value* out_values);

// First byte of the value: '{', '[', '"', 't', 'f', 'n', '-' or a digit; 0:
// none.
char etx_cursor_kind(etx_cursor_value value);
// True if the value is a string with the content `text`.
bool etx_cursor_string_is(etx_cursor_value value, const char* text);
// Bytes of a string once its escapes are replaced, and the string itself.
size_t etx_cursor_string_size(etx_cursor_value value);
size_t etx_cursor_string_copy(etx_cursor_value value, uint8_t* out);
// True only for `true`; `otherwise` if there is no value.
bool etx_cursor_bool(etx_cursor_value value, bool otherwise);
// A number; 0 for other values.
double etx_cursor_real(etx_cursor_value value);
// An integer from 0 to `most`. False: the value is something else.
bool etx_cursor_unsigned_at(etx_cursor_value value, uint32_t most,
                            uint32_t* out);

#endif
