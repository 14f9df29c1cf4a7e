#include "format/base/status.h"

#include <stddef.h>

const char* etx_status_text(etx_status status) {
  switch (status) {
#define STATUS(name, text) \
  case ETX_##name:         \
    return text;
#include "format/base/status.def"
#undef STATUS
    case ETX_STATUS_COUNT:
      break;
  }
  return "unknown status";
}

const char* etx_status_name(etx_status status) {
  // One object, which a linker drops if nothing asks for a name; compilers put
  // the texts of a switch among those of all functions.
  static const char names[ETX_STATUS_COUNT][20] = {
#define STATUS(name, text) [ETX_##name] = #name,
#include "format/base/status.def"
#undef STATUS
  };
  const size_t index = (size_t)status;
  return index < ETX_STATUS_COUNT ? names[index] : "UNKNOWN";
}
