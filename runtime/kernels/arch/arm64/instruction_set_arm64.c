#include "runtime/instruction_set.h"

#include <stdbool.h>
#include <stddef.h>

// Only the operating system can tell. Elsewhere the compiler's target decides.
// Declared here because the system's headers need more than standard C.
#ifdef __linux__
unsigned long getauxval(unsigned long type);

static bool has_dotprod(void) {
  enum { HWCAP = 16, ASIMDDP = 1 << 20 };
  return (getauxval(HWCAP) & ASIMDDP) != 0;
}
#elif defined(__APPLE__)
int sysctlbyname(const char* name, void* old, size_t* old_bytes, void* new,
                 size_t new_bytes);

static bool has_dotprod(void) {
  const char* const name = "hw.optional.arm.FEAT_DotProd";
  int has = 0;
  size_t bytes = sizeof has;
  return sysctlbyname(name, &has, &bytes, NULL, 0) == 0 && has != 0;
}
#else
static bool has_dotprod(void) {
#ifdef __ARM_FEATURE_DOTPROD
  return true;
#else
  return false;
#endif
}
#endif

etx_instruction_set etx_instruction_set_within(etx_instruction_set limit) {
  const bool is_below = limit != ETX_SET_ANY && limit < ETX_SET_DOTPROD;
  return ETX_HAS_SET(DOTPROD) && !is_below && has_dotprod() ? ETX_SET_DOTPROD
                                                            : ETX_SET_BASE;
}
