#include "cli/plan/plan_progress.h"

#include <inttypes.h>

// Bytes between two lines: a disk takes a fraction of a second for them.
enum { PIECE_BYTES = 64 << 20 };

void etx_plan_progress_show(void* progress, const char* stage, size_t done,
                            size_t total) {
  const etx_plan_progress* const self = progress;
  if (self->out == NULL) return;
  if (total == 0) {
    fprintf(self->out, "\r\033[K%s", stage);
  } else {
    fprintf(self->out, "\r\033[K%s %zu of %zu", stage, done, total);
  }
  fflush(self->out);
}

static void show_bytes(const etx_plan_progress* self, uint64_t before) {
  if (self->out == NULL) return;
  if (before / PIECE_BYTES == self->bytes / PIECE_BYTES) return;
  fprintf(self->out, "\r\033[Kfile: %" PRIu64 " MB written",
          self->bytes / 1000000);
  fflush(self->out);
}

static etx_status write_and_show(void* context, etx_bytes bytes) {
  etx_plan_progress* const self = context;
  for (size_t at = 0; at < bytes.size;) {
    const size_t left = bytes.size - at;
    const size_t size = left < PIECE_BYTES ? left : PIECE_BYTES;
    const uint64_t before = self->bytes;
    ETX_TRY(etx_sink_write(&self->target, bytes.data + at, size));
    self->bytes += size;
    at += size;
    show_bytes(self, before);
  }
  return ETX_OK;
}

etx_sink etx_plan_progress_sink(etx_plan_progress* progress,
                                const etx_sink* target) {
  progress->target = *target;
  progress->bytes = 0;
  return (etx_sink){write_and_show, progress};
}

void etx_plan_progress_end(const etx_plan_progress* progress) {
  if (progress->out != NULL) fputs("\r\033[K", progress->out);
}
