// Names of inputs. A stock file has none, so they are numbered.

#ifndef ETX_RUNTIME_METHOD_METHOD_NAMES_H
#define ETX_RUNTIME_METHOD_METHOD_NAMES_H

#include "runtime/method.h"

enum { ETX_INPUT_NAME_BYTES = 24 };

// The name of an input, or "input_3", which is written to `name_buffer`.
etx_text etx_method_input_name(const etx_method* method, size_t index,
                               char name_buffer[ETX_INPUT_NAME_BYTES]);

#endif
