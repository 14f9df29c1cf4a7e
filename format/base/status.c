#include "format/base/status.h"

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
  switch (status) {
#define STATUS(name, text) \
  case ETX_##name:         \
    return #name;
#include "format/base/status.def"
#undef STATUS
    case ETX_STATUS_COUNT:
      break;
  }
  return "UNKNOWN";
}
