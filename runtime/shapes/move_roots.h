// Calls on tensors that moves bind to other memory, as the carried values of
// loops and the results of choices in stock files are.

#ifndef ETX_RUNTIME_SHAPES_MOVE_ROOTS_H
#define ETX_RUNTIME_SHAPES_MOVE_ROOTS_H

#include "runtime/method/method_types.h"

// True if a call of a kernel passes etx_method_check_arguments with every root
// that its moved tensors can have, so that it need not be checked when it runs.
// Sets `writes_state` if it may write state. False if there are too many roots
// to try, or if some are not known ahead.
bool etx_move_roots_fit(etx_method* method, etx_method_record* record);

#endif
