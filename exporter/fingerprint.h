// SHA-256 over a module as it was read: the same for an archive, for its dump,
// and on every machine. Files, lines and memory addresses are no part of it.

#ifndef ETX_EXPORTER_FINGERPRINT_H
#define ETX_EXPORTER_FINGERPRINT_H

#include "exporter/ir/ir.h"
#include "exporter/host/sha256.h"

// To be taken before any pass has run.
ETX_MUST_USE etx_status etx_ir_fingerprint(
    const etx_ir_module* module, uint8_t out_fingerprint[ETX_SHA256_BYTES]);

#endif
