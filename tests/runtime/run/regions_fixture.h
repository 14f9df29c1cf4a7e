// A loaded method whose regions are found, and a launcher that counts.

#ifndef ETX_TESTS_RUNTIME_RUN_REGIONS_FIXTURE_H
#define ETX_TESTS_RUNTIME_RUN_REGIONS_FIXTURE_H

#include "runtime/regions.h"
#include "tests/support/loaded_method.h"
#include "tests/support/test_program.h"

enum { COUNT = 65536, BYTES = COUNT * 4 };

typedef struct regions_fixture {
  test_program* p;
  etx_program program;
  test_loaded loaded;
  test_block block;
  size_t submitted;
  etx_launcher launcher;
  _Alignas(16) uint8_t state[64];
  uint32_t torn;
} regions_fixture;

// Runs a work at once, and counts it in the size_t `context`.
bool regions_count_work(void* context, etx_work* work);
// Loads "forward" of `p` with all kernels, and takes memory for its regions.
void regions_start(regions_fixture* f, test_program* p);
// Finds the regions.
etx_status regions_use(regions_fixture* f, etx_diag* message);
// Ends the program, too.
void regions_end(regions_fixture* f);
// u = cat(x), v = neg(x), y = u + 2 * v for n elements.
void regions_add_dynamic(test_program* p, const char* name, bool has_blob);

#endif
