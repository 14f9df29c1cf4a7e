// Suggestions for an operator that is not supported or does not exist.

#ifndef ETX_EXPORTER_LOWER_NEAREST_OPERATOR_H
#define ETX_EXPORTER_LOWER_NEAREST_OPERATOR_H

#include "format/base/span.h"

// True if `aten` ("aten.add.Tensor") can be imported.
bool etx_operator_is_importable(etx_text aten);

// True if the name of `aten` ("aten.add_.Tensor") says that it writes into its
// argument.
bool etx_operator_is_in_place(etx_text aten);

// Buffer size that is enough for any hint.
#define ETX_NEAREST_OPERATOR_BYTES 128

// The importable operator that `aten` ("aten.add_.Tensor") most likely stands
// for: another overload, the functional form of an in-place operator, the view
// instead of its copying form, or a name with one or two letters different.
// NULL if there is none: a distant name would mislead.
const char* etx_nearest_operator(etx_text aten);

// "; the nearest supported form is 'aten.add.Tensor'" or an empty text,
// written into `out`.
const char* etx_nearest_operator_hint(etx_text aten, char* out,
                                      size_t capacity);

// The same for a name that a program wrote, as in a .pt2 archive: overloads and
// variants are suggested, but no other spelling.
const char* etx_nearest_form_hint(etx_text aten, char* out, size_t capacity);

enum { ETX_NEAREST_OPERATORS = 5 };

// The importable operators whose names resemble `word`, nearest first, one
// overload each: "reelu", "aten.reelu.default", "pool" or "aten::pool.out". The
// same name and its variants come first, then names with one or two letters
// different, then names that contain the word. Returns how many were written.
size_t etx_nearest_operators(etx_text word,
                             const char* out_names[ETX_NEAREST_OPERATORS]);

#endif
