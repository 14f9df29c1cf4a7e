#include "format/cache_table/cache_table.h"
#include "format/cache_table/cache_table_schema_internal.h"
#include "format/flatbuffers/fb_builder.h"

_Static_assert(sizeof(etx_cache) == 4 * ETX_CACHE_ROW_NUMBERS,
               "a cache is written as its four numbers");

static etx_status build(etx_fb_builder* b, const etx_cache* caches,
                        size_t count, etx_bytes_mut* out_data) {
  const etx_fb_ref rows =
      etx_fb_builder_vector(b, caches, ETX_CACHE_ROW_NUMBERS * count, 4, 4);
  etx_fb_builder_start(b);
  etx_fb_builder_add_ref(b, ETX_CACHES_Caches_rows, rows);
  const etx_fb_ref root = etx_fb_builder_end(b);
  return etx_fb_builder_finish(b, root, etx_cache_table_schema.identifier,
                               out_data);
}

etx_status etx_cache_table_write_needed(const etx_cache* caches, size_t count,
                                        size_t* out_bytes) {
  etx_fb_builder b;
  etx_bytes_mut none = {NULL, 0};
  etx_fb_builder_init_counting(&b);
  if (build(&b, caches, count, &none) != ETX_OK) return ETX_OUT_OF_RANGE;
  *out_bytes = etx_fb_builder_peak(&b);
  return ETX_OK;
}

etx_status etx_cache_table_write(const etx_cache* caches, size_t count,
                                 etx_bytes_mut work, etx_bytes* out_data,
                                 etx_diag* diag) {
  etx_fb_builder b;
  etx_bytes_mut data = {NULL, 0};
  etx_fb_builder_init(&b, work);
  if (build(&b, caches, count, &data) != ETX_OK) {
    return etx_diag_fail(diag, ETX_OUT_OF_MEMORY,
                         "writing '%s' needs more than %z bytes of working "
                         "memory",
                         ETX_CACHE_TABLE_KEY, work.size);
  }
  out_data->data = data.data;
  out_data->size = data.size;
  return ETX_OK;
}
