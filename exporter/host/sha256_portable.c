#include "exporter/host/sha256_internal.h"

etx_sha256_blocks* etx_sha256_instructions(void) { return NULL; }
