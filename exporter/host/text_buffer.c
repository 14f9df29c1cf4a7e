// The capacity doubles; old blocks stay in the pool.

#include "exporter/host/text_buffer.h"

#include <stdarg.h>

enum { FIRST_BYTES = 64 };

void etx_text_buffer_init(etx_text_buffer* buffer, etx_pool* pool) {
  memset(buffer, 0, sizeof *buffer);
  buffer->pool = pool;
  buffer->status = ETX_OK;
}

void etx_text_put(etx_text_buffer* buffer, const char* data, size_t size) {
  if (buffer->status != ETX_OK || size == 0) return;
  if (buffer->capacity - buffer->size < size) {
    size_t wanted = buffer->capacity == 0 ? FIRST_BYTES : 2 * buffer->capacity;
    if (wanted < buffer->size + size) wanted = buffer->size + size;
    char* const bigger = etx_pool_take(buffer->pool, wanted);
    if (bigger == NULL) {
      buffer->status = ETX_OUT_OF_MEMORY;
      return;
    }
    if (buffer->size != 0) memcpy(bigger, buffer->data, buffer->size);
    buffer->data = bigger;
    buffer->capacity = wanted;
  }
  memcpy(buffer->data + buffer->size, data, size);
  buffer->size += size;
}

void etx_text_put_text(etx_text_buffer* buffer, etx_text text) {
  etx_text_put(buffer, text.data, text.size);
}

void etx_text_put_string(etx_text_buffer* buffer, const char* string) {
  etx_text_put(buffer, string, strlen(string));
}

void etx_text_put_format(etx_text_buffer* buffer, const char* format, ...) {
  char text[256];
  va_list list;
  va_start(list, format);
  const size_t size = etx_format_text_list(text, sizeof text, format, list);
  va_end(list);
  etx_text_put(buffer, text, size);
}
