#define _POSIX_C_SOURCE 200809L

#include "tests/hostile/hostile_memory.h"

#include <stdlib.h>
#include <sys/resource.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ADDRESS_SANITIZER
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define HAS_ADDRESS_SANITIZER
#endif

#ifdef HAS_ADDRESS_SANITIZER
// AddressSanitizer reserves most of the address space and has limits of its
// own.
const char* __asan_default_options(void);
const char* __asan_default_options(void) {
  return "allocator_may_return_null=1:max_allocation_size_mb=256";
}
void hostile_limit_memory(void) {}
#else
void hostile_limit_memory(void) {
  const struct rlimit limit = {(rlim_t)1 << 30, (rlim_t)1 << 30};
  if (setrlimit(RLIMIT_AS, &limit) != 0) abort();
}
#endif
