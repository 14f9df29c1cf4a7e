// Parts that a build may leave out to save flash (docs/size.md). All are in by
// default. The compiler still sees the code of a part that is left out, so that
// errors in it are found, and then removes it as dead code.

#ifndef ETX_FORMAT_BASE_BUILD_PARTS_H
#define ETX_FORMAT_BASE_BUILD_PARTS_H

// ETX_MESSAGES: texts of errors. Without them an error has its status and its
// position (byte of a file, instruction of a method), and its text is empty.
// The texts are a third of a small runtime. To learn why a file is refused,
// open it with a build that has messages, on any machine.
#ifndef ETX_MESSAGES
#define ETX_MESSAGES 1
#endif

// ETX_VERIFIER: the checks that refuse damaged or malicious files. Without it
// only the file identifier is checked, and a malicious file can run arbitrary
// code. Leave it out only in images that contain their own programs, which a
// full build of the same version has opened and loaded.
#ifndef ETX_VERIFIER
#define ETX_VERIFIER 1
#endif

// ETX_DYNAMIC: methods with dynamic sizes or control flow, and outputs that the
// file plans no memory for. Without it they are refused when they are loaded.
#ifndef ETX_DYNAMIC
#define ETX_DYNAMIC 1
#endif

// ETX_CONTROL_FLOW: branches, loops, and methods whose elements decide numbers
// or sizes. Without it they are refused when they are loaded; other methods of
// dynamic sizes work as ever. Goes with ETX_DYNAMIC.
#ifndef ETX_CONTROL_FLOW
#define ETX_CONTROL_FLOW ETX_DYNAMIC
#endif

// ETX_SIZE_PROGRAMS: sizes as expressions over symbols, which make a change of
// sizes several times as fast. Without it every change calls the shape
// functions, and every call has the same results. Goes with ETX_DYNAMIC.
#ifndef ETX_SIZE_PROGRAMS
#define ETX_SIZE_PROGRAMS ETX_DYNAMIC
#endif
#if !ETX_DYNAMIC && (ETX_CONTROL_FLOW || ETX_SIZE_PROGRAMS)
#error "ETX_CONTROL_FLOW and ETX_SIZE_PROGRAMS need ETX_DYNAMIC"
#endif

// ETX_VIEWS: operators that the runtime itself runs, whose results are other
// names of a value's bytes (etx_op_makes_view). Without it a method that calls
// one is refused when it is loaded, as for a missing kernel.
#ifndef ETX_VIEWS
#define ETX_VIEWS 1
#endif

// ETX_DATA_FILES: modules open files (.ptd) with data of the program. Without it
// they refuse such files.
#ifndef ETX_DATA_FILES
#define ETX_DATA_FILES 1
#endif

// ETX_INDEX_CHECKS: indices out of range are refused before the first write of
// state (runtime/run/state_checks.h). Without it the kernel that reads an index
// refuses it, as always, and state that was written before is torn.
#ifndef ETX_INDEX_CHECKS
#define ETX_INDEX_CHECKS 1
#endif

// ETX_CELLS: the check that a program calls operators only with the element
// types that a selected kernel table states (runtime/kernel.h). A build that
// has all loops of its types needs no such check, so that small builds leave it
// out unless 'etx select' describes them.
#ifndef ETX_CELLS
#define ETX_CELLS ETX_MESSAGES
#endif

#endif
