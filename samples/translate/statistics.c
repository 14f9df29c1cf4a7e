#include "samples/translate/statistics.h"

#include <stdio.h>
#include <string.h>

void etx_statistics_add(etx_statistics* statistics,
                        const etx_search_counts* counts, size_t sentences,
                        double seconds) {
  etx_search_counts* const to = &statistics->counts;
  to->tokens += counts->tokens;
  to->encode_calls += counts->encode_calls;
  to->decode_calls += counts->decode_calls;
  to->decode_rows += counts->decode_rows;
  to->moved_bytes += counts->moved_bytes;
  to->avoided_copies += counts->avoided_copies;
  statistics->sentences += sentences;
  statistics->seconds += seconds;
}

// Bytes of one position: half of the state is the decoder's own cache, half the
// cross-attention cache.
static size_t cache_entry_bytes(const etx_translator* translator) {
  const size_t entries = translator->rows * translator->positions;
  return translator->shared.memory.block_size / 2 / entries;
}

// This process's private memory as the host counts it; 0 if it does not.
static size_t own_bytes(void) {
  char line[256];
  size_t found = 0;
  FILE* const file = fopen("/proc/self/status", "r");
  if (file == NULL) return 0;
  while (fgets(line, sizeof line, file) != NULL) {
    if (sscanf(line, "RssAnon: %zu", &found) == 1) break;
  }
  fclose(file);
  return 1024 * found;  // a kB of that file has 1024 bytes
}

static const char* plural(size_t count) { return count == 1 ? "" : "s"; }

static double kilobytes(size_t bytes) { return 1e-3 * (double)bytes; }

void etx_statistics_print(const etx_statistics* statistics,
                          const etx_translator* translator) {
  const etx_search_counts* const counts = &statistics->counts;
  const double seconds = statistics->seconds;
  const double calls = (double)counts->decode_calls;
  fprintf(stderr,
          "opened in %.1f ms; %zu sentence%s, %zu tokens in %.3f s: %.0f "
          "tokens/s\n",
          1e3 * statistics->open_seconds, statistics->sentences,
          plural(statistics->sentences), counts->tokens, seconds,
          seconds > 0 ? (double)counts->tokens / seconds : 0.0);
  fprintf(stderr, "%zu call%s of encode, %zu of decode with %.1f rows each\n",
          counts->encode_calls, plural(counts->encode_calls),
          counts->decode_calls,
          calls > 0 ? (double)counts->decode_rows / calls : 0.0);
  if (counts->moved_bytes != 0) {
    fprintf(stderr,
            "beams moved %zu bytes of tables, no cache; copying caches would "
            "have moved %zu\n",
            counts->moved_bytes,
            counts->avoided_copies * cache_entry_bytes(translator));
  }
  const size_t arenas = translator->shared.memory.block_size +
                        translator->module.scratch_size +
                        translator->module.temporary_size;
  fprintf(stderr, "memory: %.0f KB of arenas", kilobytes(arenas));
  const size_t own = own_bytes();
  if (own != 0) fprintf(stderr, ", %.0f KB private in all", kilobytes(own));
  fputc('\n', stderr);
}
