// Lets allocations fail in copies of the process, so that what the program does up
// to an allocation is done once for all that fail.

#ifndef ETX_TESTS_FAULTS_FORKED_FAULTS_H
#define ETX_TESTS_FAULTS_FORKED_FAULTS_H

#include <stdbool.h>

// Asks the program at the other end of the socket ETX_FAULT_SOCKET whether
// allocation `call` has to fail, in a copy of this process. Returns true in the
// copy, with `*stays` if all later ones fail, too; false in the process itself,
// after the copy has ended, and without a socket. A copy has neither the other
// threads of the process nor file positions of its own: who answers must see that
// there are no threads and open files.
bool etx_fault_forked(unsigned long call, bool* stays);

#endif
