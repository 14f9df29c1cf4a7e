// The texts of error messages, which a build without messages does not need in
// its sources either.

#ifndef ETX_CLI_AMALGAMATE_MESSAGE_TEXTS_H
#define ETX_CLI_AMALGAMATE_MESSAGE_TEXTS_H

#include "cli/amalgamate/source_items.h"

// Empties the texts that are written in calls of etx_diag_fail and the like;
// the other arguments stay, since they may be all that uses a variable.
ETX_MUST_USE etx_status etx_message_texts_empty(etx_source* source);

#endif
