#include "cli/text/prompt_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static etx_status failed(etx_diag* diag) {
  return etx_diag_fail(diag, ETX_HOST_FAILED, "standard input: %s",
                       strerror(errno));
}

etx_status etx_stream_read(FILE* stream, etx_pool* pool, etx_text* out,
                           etx_diag* diag) {
  char* bytes = NULL;
  size_t capacity = 0;
  size_t size = 0;
  for (;;) {
    ETX_TRY(etx_pool_grow(pool, &bytes, size, &capacity, 1));
    const size_t count = fread(bytes + size, 1, capacity - size, stream);
    if (count == 0) break;
    size += count;
  }
  *out = (etx_text){bytes, size};
  return ferror(stream) ? failed(diag) : ETX_OK;
}

bool etx_line_read(FILE* stream, etx_pool* pool, etx_text* out,
                   etx_status* status, etx_diag* diag) {
  char* line = NULL;
  size_t capacity = 0;
  errno = 0;
  const ssize_t got = getline(&line, &capacity, stream);
  *status = ETX_OK;
  if (got < 0) {
    free(line);
    if (ferror(stream) && errno != EINTR) *status = failed(diag);
    return false;
  }
  size_t size = (size_t)got;
  if (size > 0 && line[size - 1] == '\n') --size;
  if (size > 0 && line[size - 1] == '\r') --size;
  *out = etx_pool_copy_text(pool, (etx_text){line, size});
  free(line);
  if (out->data != NULL) return true;
  *status = etx_diag_fail(diag, ETX_HOST_FAILED, "no memory for a line");
  return false;
}
