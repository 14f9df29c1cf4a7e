// The SHA-256 of a module as it was read. It is the same for an archive and for
// its dump, and on every machine: file names, lines and addresses do not enter.

#ifndef ETX_EXPORTER_FINGERPRINT_H
#define ETX_EXPORTER_FINGERPRINT_H

#include "exporter/ir/ir.h"
#include "exporter/host/sha256.h"
#include "exporter/host/workers.h"

// Computes the fingerprint. To be called before any pass has run. `workers`,
// which may be NULL, share the constants.
ETX_MUST_USE etx_status
etx_ir_fingerprint(const etx_ir_module* module, const etx_workers* workers,
                   uint8_t out_fingerprint[ETX_SHA256_BYTES]);

#endif
