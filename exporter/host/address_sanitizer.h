// Whether AddressSanitizer is there (ETX_HAS_ADDRESS_SANITIZER), and what to
// tell it about parts of one block of memory, of which it knows only the ends.

#ifndef ETX_EXPORTER_HOST_ADDRESS_SANITIZER_H
#define ETX_EXPORTER_HOST_ADDRESS_SANITIZER_H

#include <stddef.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ETX_HAS_ADDRESS_SANITIZER
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) && !defined(ETX_HAS_ADDRESS_SANITIZER)
#define ETX_HAS_ADDRESS_SANITIZER
#endif

#ifdef ETX_HAS_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#endif

// From now on, an access to these bytes is reported.
static inline void etx_forbid_bytes(void* bytes, size_t size) {
#ifdef ETX_HAS_ADDRESS_SANITIZER
  __asan_poison_memory_region(bytes, size);
#else
  (void)bytes, (void)size;
#endif
}

// From now on, an access to these bytes is allowed again.
static inline void etx_permit_bytes(void* bytes, size_t size) {
#ifdef ETX_HAS_ADDRESS_SANITIZER
  __asan_unpoison_memory_region(bytes, size);
#else
  (void)bytes, (void)size;
#endif
}

#endif
