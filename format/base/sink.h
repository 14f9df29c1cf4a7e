// An output stream: one callback and its context. Writers do not depend on a
// file system; the application decides where the bytes go.

#ifndef ETX_FORMAT_BASE_SINK_H
#define ETX_FORMAT_BASE_SINK_H

#include "format/base/span.h"
#include "format/base/status.h"

// A callback that takes bytes, and its context.
typedef struct etx_sink {
  // Takes all of `bytes`, which it may read until it returns, or fails; called
  // in order, from one thread.
  etx_status (*write)(void* context, etx_bytes bytes);
  void* context;  // handed to `write` unchanged
} etx_sink;

// Writes `size` bytes from `data` to the sink and returns its status. For 0
// bytes the sink is not called.
static inline etx_status etx_sink_write(const etx_sink* sink, const void* data,
                                        size_t size) {
  const etx_bytes bytes = {(const uint8_t*)data, size};
  return size == 0 ? ETX_OK : sink->write(sink->context, bytes);
}

#endif
