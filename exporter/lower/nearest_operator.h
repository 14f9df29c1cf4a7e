// The supported operator nearest to one that is not, for messages.

#ifndef ETX_EXPORTER_LOWER_NEAREST_OPERATOR_H
#define ETX_EXPORTER_LOWER_NEAREST_OPERATOR_H

#include "format/base/span.h"

// True if `aten` ("aten.add.Tensor") can be imported.
bool etx_operator_is_importable(etx_text aten);

// True if its name says that `aten` ("aten.add_.Tensor") writes into its
// argument.
bool etx_operator_is_in_place(etx_text aten);

// Room for any hint.
#define ETX_NEAREST_OPERATOR_BYTES 128

// The importable operator that `aten` ("aten.add_.Tensor") most likely stands
// for: another overload, the functional form of one that writes in place, a
// view instead of its copying form, or a name with a letter or two different.
// NULL if none is near: a far one would mislead.
const char* etx_nearest_operator(etx_text aten);

// "; the nearest supported form is 'aten.add.Tensor'" or an empty text,
// written into `out`.
const char* etx_nearest_operator_hint(etx_text aten, char* out,
                                      size_t capacity);

// The same of a name that no hand has written: it is not misspelled.
const char* etx_nearest_form_hint(etx_text aten, char* out, size_t capacity);

#endif
