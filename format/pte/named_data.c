#include "format/pte/named_data.h"

#include "format/base/arena.h"
#include "format/flatbuffers/fb_reader.h"

etx_status etx_named_data_open(const etx_pte* pte, const char* key,
                               const etx_fb_schema* schema,
                               etx_fb_buffer* out_fb, uint32_t* out_root,
                               etx_diag* diag) {
  etx_bytes bytes;
  if (!etx_pte_named_data_find(pte, key, &bytes)) return ETX_NOT_FOUND;
  if (bytes.size > INT32_MAX ||
      (uintptr_t)bytes.data % ETX_ARENA_ALIGNMENT != 0) {
    return etx_diag_fail(diag, ETX_BAD_FILE,
                         "'%s' has %z bytes at byte %z of the file, expected "
                         "a multiple of %u",
                         key, bytes.size, (size_t)(bytes.data - pte->file.data),
                         (uint64_t)ETX_ARENA_ALIGNMENT);
  }
  const etx_fb_buffer fb = {bytes.data, (uint32_t)bytes.size};
  if (ETX_VERIFIER) ETX_TRY(etx_fb_verify(&fb, schema, 0, diag));
  *out_fb = fb;
  *out_root = etx_fb_root(&fb);
  return ETX_OK;
}
