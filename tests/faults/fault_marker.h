// An option that prctl does not have: a call of it marks where the program
// begins, for whoever traces its system calls.

#ifndef ETX_TESTS_FAULTS_FAULT_MARKER_H
#define ETX_TESTS_FAULTS_FAULT_MARKER_H

enum { ETX_FAULT_MARKER = 0x65747866 };

#endif
