// Parts that a build may leave out, to be as small as a board wants it. All are
// in unless CMake says otherwise (docs/size.md). What is left out is compiled
// all the same, so that mistakes in it show, and dropped.

#ifndef ETX_FORMAT_BASE_BUILD_PARTS_H
#define ETX_FORMAT_BASE_BUILD_PARTS_H

// ETX_MESSAGES: words. Without them a refusal keeps its status and its position
// (byte of a file, instruction of a method), and its text is empty: the words,
// a third of a small runtime, are not in the image. What a file is refused for
// is told by a build with messages, on any machine.
#ifndef ETX_MESSAGES
#define ETX_MESSAGES 1
#endif

// ETX_VERIFIER: what refuses damaged or forged files. Without it a file is only
// looked at for being a program at all, and the rest is believed: one that was
// tampered with does what its author likes. It is for images that hold their
// own programs, which a full build of the same version has opened and loaded.
#ifndef ETX_VERIFIER
#define ETX_VERIFIER 1
#endif

// ETX_DYNAMIC: methods whose sizes or course are known only when they run, and
// outputs that the file plans no memory for. Without it they are refused when
// they are loaded.
#ifndef ETX_DYNAMIC
#define ETX_DYNAMIC 1
#endif

#endif
