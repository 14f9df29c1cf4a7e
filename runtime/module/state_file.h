// The state of a session in a file that stays whole: also if the process is
// killed or the power fails while it is written.
//
//   etx_status status = etx_state_file_restore(&shared, "chat.state", &diag);
//   if (status == ETX_NOT_FOUND) ...            // nothing was saved so far
//   ...                                         // calls of methods
//   status = etx_state_file_save(&shared, "chat.state", &diag);
//
// A file has room for two states. A save writes over the older one, and is on
// the disk when it returns; a restore takes the newest one that is whole. The
// file belongs to one program and one layout of state, as snapshots do. A
// CRC-32 protects it against damage; it is not signed.
//
// Memory     both functions take the bytes of one snapshot, and 64, from malloc
//            while they run.
// Threads    a file is locked while it is used: a second save or restore of the
//            same file, also of another process, gets ETX_BAD_STATE. File
//            systems without locks leave that to the caller.

#ifndef ETX_RUNTIME_MODULE_STATE_FILE_H
#define ETX_RUNTIME_MODULE_STATE_FILE_H

#include "shared_memory/shared_memory.h"

// Saves all states of the session in the file `path`, which is made if there is
// none. If it fails, the file has the state that it had, or the new one.
// ETX_BAD_ARGUMENT: the file is something else, or has the state of another
// program; it stays as it was. ETX_TORN_STATE: the state is torn.
// ETX_BAD_STATE: the file is in use. ETX_OUT_OF_MEMORY. ETX_HOST_FAILED: the
// reason of the system is in `diag`.
ETX_MUST_USE etx_status etx_state_file_save(const etx_shared_memory* shared,
                                            const char* path, etx_diag* diag);

// Takes the state that the last completed save left. If it fails, the session
// stays as it was. ETX_NOT_FOUND: there is no such file, or no save into it was
// completed. Otherwise as above.
ETX_MUST_USE etx_status etx_state_file_restore(etx_shared_memory* shared,
                                               const char* path,
                                               etx_diag* diag);

#endif
