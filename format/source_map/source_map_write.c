#include "format/flatbuffers/fb_builder.h"
#include "format/source_map/source_map.h"
#include "format/source_map/source_map_schema_internal.h"

static etx_fb_ref build_names(etx_fb_builder* b, const etx_text* names,
                              size_t count) {
  const size_t refs = etx_fb_builder_reserve_refs(b, count);
  for (size_t i = 0; i < count; ++i) {
    const etx_fb_ref text = etx_fb_builder_string(b, names[i]);
    etx_fb_builder_start(b);
    etx_fb_builder_add_ref(b, ETX_SOURCE_Name_text, text);
    etx_fb_builder_set_ref(b, refs, i, etx_fb_builder_end(b));
  }
  return etx_fb_builder_table_vector(b, refs, count);
}

static etx_fb_ref build_method(etx_fb_builder* b,
                               const etx_source_map_method* method) {
  const size_t count = method->instruction_count;
  const etx_fb_ref lines = etx_fb_builder_vector(
      b, method->lines, (size_t)method->starts[count], 4, 4);
  const etx_fb_ref starts =
      etx_fb_builder_vector(b, method->starts, count + 1, 4, 4);
  const etx_fb_ref name = etx_fb_builder_string(b, method->name);
  etx_fb_builder_start(b);
  etx_fb_builder_add_ref(b, ETX_SOURCE_Method_lines, lines);
  etx_fb_builder_add_ref(b, ETX_SOURCE_Method_starts, starts);
  etx_fb_builder_add_ref(b, ETX_SOURCE_Method_name, name);
  return etx_fb_builder_end(b);
}

static etx_fb_ref build_methods(etx_fb_builder* b,
                                const etx_source_map_content* content) {
  const size_t refs = etx_fb_builder_reserve_refs(b, content->method_count);
  for (size_t i = 0; i < content->method_count; ++i) {
    etx_fb_builder_set_ref(b, refs, i, build_method(b, &content->methods[i]));
  }
  return etx_fb_builder_table_vector(b, refs, content->method_count);
}

static etx_status build(etx_fb_builder* b,
                        const etx_source_map_content* content,
                        etx_bytes_mut* out_data) {
  const etx_fb_ref methods = build_methods(b, content);
  const etx_fb_ref lines =
      etx_fb_builder_vector(b, content->lines, 3 * content->line_count, 4, 4);
  const etx_fb_ref modules =
      build_names(b, content->modules, content->module_count);
  const etx_fb_ref files = build_names(b, content->files, content->file_count);
  etx_fb_builder_start(b);
  etx_fb_builder_add_ref(b, ETX_SOURCE_Source_methods, methods);
  etx_fb_builder_add_ref(b, ETX_SOURCE_Source_lines, lines);
  etx_fb_builder_add_ref(b, ETX_SOURCE_Source_modules, modules);
  etx_fb_builder_add_ref(b, ETX_SOURCE_Source_files, files);
  const etx_fb_ref root = etx_fb_builder_end(b);
  return etx_fb_builder_finish(b, root, etx_source_map_schema.identifier,
                               out_data);
}

etx_status etx_source_map_write_needed(const etx_source_map_content* content,
                                       size_t* out_bytes) {
  etx_fb_builder b;
  etx_bytes_mut none = {NULL, 0};
  etx_fb_builder_init_counting(&b);
  if (build(&b, content, &none) != ETX_OK) return ETX_OUT_OF_RANGE;
  *out_bytes = etx_fb_builder_peak(&b);
  return ETX_OK;
}

etx_status etx_source_map_write(const etx_source_map_content* content,
                                etx_bytes_mut work, etx_bytes* out_data,
                                etx_diag* diag) {
  etx_fb_builder b;
  etx_bytes_mut data = {NULL, 0};
  etx_fb_builder_init(&b, work);
  if (build(&b, content, &data) != ETX_OK) {
    return etx_diag_fail(diag, ETX_OUT_OF_MEMORY,
                         "writing '%s' needs more than %z bytes of working "
                         "memory",
                         ETX_SOURCE_MAP_KEY, work.size);
  }
  out_data->data = data.data;
  out_data->size = data.size;
  return ETX_OK;
}
