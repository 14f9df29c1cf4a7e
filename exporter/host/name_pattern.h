// Glob patterns over fully qualified names: '*' matches any number of
// characters, dots included; '?' matches one.

#ifndef ETX_EXPORTER_HOST_NAME_PATTERN_H
#define ETX_EXPORTER_HOST_NAME_PATTERN_H

#include "format/base/span.h"

// True if the glob matches the name, or the name of a module that contains it:
// "decoder.layers.?" matches "decoder.layers.0.fc1.weight". A leading "*." may
// also match nothing: "*.head" matches "head.weight".
bool etx_name_matches_module(etx_text pattern, etx_text name);

// True if `pattern` is the name, the name of a module that contains it, or a
// glob that the name matches. An empty pattern matches nothing.
bool etx_name_matches_pattern(etx_text pattern, etx_text name);

#endif
