// A text that grows in a pool. An allocation failure is kept in `status`, so
// callers check once, at the end.

#ifndef ETX_EXPORTER_HOST_TEXT_BUFFER_H
#define ETX_EXPORTER_HOST_TEXT_BUFFER_H

#include "exporter/host/host_memory.h"
#include "format/base/diag.h"

typedef struct etx_text_buffer {
  etx_pool* pool;
  char* data;  // NULL until something was put
  size_t size;
  size_t capacity;
  etx_status status;  // ETX_OUT_OF_MEMORY once a put failed
} etx_text_buffer;

void etx_text_buffer_init(etx_text_buffer* buffer, etx_pool* pool);
void etx_text_put(etx_text_buffer* buffer, const char* data, size_t size);
void etx_text_put_text(etx_text_buffer* buffer, etx_text text);
void etx_text_put_string(etx_text_buffer* buffer, const char* string);

// Formats as diag.h does. The result is cut at 255 bytes and loses control
// characters, so this is not for names that must be read back exactly.
void etx_text_put_format(etx_text_buffer* buffer, const char* format, ...);

#endif
