// A limit on how much of a program file is in memory.
//
// Weights are read in place, in the mapped file, so in time all of them are
// resident. With a limit, the first bytes of the file stay, and the pages
// behind them leave the process after the instruction that read them. The next
// call reads these again, from the system's cache of files or from the disk.
// Without a limit, a system that has too little memory evicts the pages that
// were used longest ago. Each call reads the weights in the same order, so
// those are the pages that it needs next, and every call reads all of the file
// from the disk.
//
//   etx_resident_limit limit;
//   etx_resident_limit_init(&limit, mapped_file, 256 << 20);
//   etx_resident_limit_observe(&limit, &method);
//   etx_method_run(&method, &diag);
//
// etx_module_limit_resident does the same for the methods of a module.
//
// Memory   resident is what is kept, and the weights that one instruction reads
// Results  bit-equal. Parallel regions are not used (runtime/regions.h)
// Threads  one limit may observe methods of several threads

#ifndef ETX_RUNTIME_MODULE_RESIDENT_LIMIT_H
#define ETX_RUNTIME_MODULE_RESIDENT_LIMIT_H

#include "runtime/method.h"

// What of a mapped file stays. All zero: all of it.
typedef struct etx_resident_limit etx_resident_limit;
struct etx_resident_limit {
  etx_run_observer observer;      // that lets go of weights; private
  etx_bytes released;             // the end of the file, which does not stay
  const etx_run_observer* inner;  // called for each instruction too, such as a
                                  // profile's; NULL: none
  // etx_resident_limit_observe; NULL: there is no limit. A pointer, so that an
  // image that never limits anything does not link it.
  void (*observe)(etx_resident_limit* limit, etx_method* method);
};

// `file` is a read-only mapping of a file: memory of another kind would lose
// its content. Its first `kept_bytes` stay. File and limit stay where they are
// while methods are observed.
void etx_resident_limit_init(etx_resident_limit* limit, etx_bytes file,
                             size_t kept_bytes);

// Observes the following runs of a method, unless all of the file stays or the
// method has an observer, such as that of a profile.
void etx_resident_limit_observe(etx_resident_limit* limit, etx_method* method);

#endif
