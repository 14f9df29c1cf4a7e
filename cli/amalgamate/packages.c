#include "cli/amalgamate/packages.h"

#include <string.h>

#include "cli/amalgamate/embedded_sources.h"
#include "exporter/host/text_buffer.h"

enum { ETX_PACKAGE_ALL = ETX_PACKAGE_KINDS, BYTES_A_LINE = 16 };

static const char program_header[] =
    "// A program for etx_program_open. Written by 'etx select'; do not edit.\n"
    "\n#ifndef ETX_PROGRAM_H\n#define ETX_PROGRAM_H\n\n"
    "#include <stddef.h>\n#include <stdint.h>\n\n"
    "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"
    "extern const uint8_t etx_program_bytes[];  // aligned to 16\n"
    "extern const size_t etx_program_size;\n\n"
    "#ifdef __cplusplus\n}\n#endif\n\n#endif\n";

etx_package_kind etx_package_find(const char* name) {
  static const char* const names[ETX_PACKAGE_KINDS] = {"zephyr", "esp-idf",
                                                       "arduino", "cmsis"};
  size_t kind = 0;
  while (kind < ETX_PACKAGE_KINDS && strcmp(names[kind], name) != 0) ++kind;
  return (etx_package_kind)kind;
}

// The version that the embedded etx.h states.
static etx_text version(void) {
  static const char before[] = "#define ETX_VERSION \"";
  const char* const found = strstr(etx_embedded_header, before);
  if (found == NULL) return etx_text_of("0.0.0");
  const char* const start = found + sizeof before - 1;
  return (etx_text){start, strcspn(start, "\"")};
}

// Puts a text with the version in the place of @VERSION@.
static etx_status with_version(etx_pool* pool, etx_text text, etx_text* out) {
  static const char mark[] = "@VERSION@";
  etx_text_buffer buffer;
  etx_text_buffer_init(&buffer, pool);
  for (const char* found; (found = strstr(text.data, mark)) != NULL;) {
    const size_t before = (size_t)(found - text.data);
    const size_t taken = before + sizeof mark - 1;
    etx_text_put(&buffer, text.data, before);
    etx_text_put_text(&buffer, version());
    text = (etx_text){text.data + taken, text.size - taken};
  }
  etx_text_put_text(&buffer, text);
  *out = (etx_text){buffer.data, buffer.size};
  return buffer.status;
}

static etx_status program_source(etx_pool* pool, etx_bytes program,
                                 etx_text* out) {
  static const char digits[] = "0123456789abcdef";
  etx_text_buffer buffer;
  etx_text_buffer_init(&buffer, pool);
  etx_text_put_string(&buffer,
                      "#include \"etx_program.h\"\n\n"
                      "_Alignas(16) const uint8_t etx_program_bytes[] = {");
  for (size_t i = 0; i < program.size; ++i) {
    const char text[] = {'0', 'x', digits[program.data[i] >> 4],
                         digits[program.data[i] & 15], ','};
    if (i % BYTES_A_LINE == 0) etx_text_put_string(&buffer, "\n    ");
    etx_text_put(&buffer, text, sizeof text);
  }
  etx_text_put_string(&buffer,
                      "\n};\nconst size_t etx_program_size = "
                      "sizeof etx_program_bytes;\n");
  *out = (etx_text){buffer.data, buffer.size};
  return buffer.status;
}

static etx_status add_layout(etx_package_kind kind, etx_text_files* files) {
  etx_text text;
#define PACKAGE_FILE(kinds, path, symbol)                                      \
  if ((int)ETX_PACKAGE_##kinds == ETX_PACKAGE_ALL ||                           \
      (int)ETX_PACKAGE_##kinds == (int)kind) {                                 \
    ETX_TRY(                                                                   \
        with_version(files->pool, (etx_text){symbol, symbol##_bytes}, &text)); \
    ETX_TRY(etx_text_files_add(files, path, text));                            \
  }
#include "cli/amalgamate/package_files.def"
#undef PACKAGE_FILE
  return ETX_OK;
}

etx_status etx_package_make(etx_package_kind kind,
                            const etx_text_files* sources, etx_bytes program,
                            etx_text_files* files) {
  etx_text source;
  for (size_t i = 0; i < sources->count; ++i) {
    const etx_text path =
        etx_pool_format(files->pool, "src/%s", sources->items[i].path);
    if (path.data == NULL) return ETX_OUT_OF_MEMORY;
    ETX_TRY(etx_text_files_add(files, path.data, sources->items[i].text));
  }
  ETX_TRY(program_source(files->pool, program, &source));
  ETX_TRY(etx_text_files_add(files, "src/etx_program.h",
                             etx_text_of(program_header)));
  ETX_TRY(etx_text_files_add(files, "src/etx_program.c", source));
  return add_layout(kind, files);
}
