// The pool and the diagnostics of each test of a file; included once by it.

#ifndef ETX_TESTS_EXPORTER_POOL_AND_DIAG_H
#define ETX_TESTS_EXPORTER_POOL_AND_DIAG_H

#include "exporter/host/host_memory.h"
#include "format/base/diag.h"

static etx_pool pool;
static etx_diag diag;

static inline int set_up(void** state) {
  (void)state;
  etx_pool_init(&pool);
  etx_diag_init(&diag);
  return 0;
}

static inline int tear_down(void** state) {
  (void)state;
  etx_pool_close(&pool);
  return 0;
}

#endif
