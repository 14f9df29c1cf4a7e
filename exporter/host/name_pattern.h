// Patterns of fully qualified names.

#ifndef ETX_EXPORTER_HOST_NAME_PATTERN_H
#define ETX_EXPORTER_HOST_NAME_PATTERN_H

#include "format/base/span.h"

// '*' stands for any letters, '?' for one.
bool etx_name_matches_glob(etx_text pattern, etx_text name);

// True if the glob matches the name or that of a module which holds it:
// "decoder.layers.?" the name "decoder.layers.0.fc1.weight". "*." in front also
// stands for nothing: "*.head" matches "head.weight".
bool etx_name_matches_module(etx_text pattern, etx_text name);

#endif
