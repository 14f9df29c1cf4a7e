#include "cli/amalgamate/text_files.h"

#include <string.h>

#include "cli/base/output_file.h"
#include "exporter/host/host_file.h"

etx_status etx_text_files_add(etx_text_files* files, const char* path,
                              etx_text text) {
  ETX_TRY(etx_pool_grow(files->pool, &files->items, files->count,
                        &files->capacity, sizeof *files->items));
  files->items[files->count++] = (etx_text_file){path, text};
  return ETX_OK;
}

// Makes the folders of a path below `folder`, which exists.
static etx_status make_folders(const char* folder, const char* path,
                               etx_pool* pool, etx_diag* diag) {
  const char* slash = path;
  while ((slash = strchr(slash, '/')) != NULL) {
    const etx_text part = {path, (size_t)(slash - path)};
    const etx_text full = etx_path_join(pool, etx_text_of(folder), part);
    if (full.data == NULL) return ETX_OUT_OF_MEMORY;
    ETX_TRY(etx_directory_make(full.data, diag));
    ++slash;
  }
  return ETX_OK;
}

static etx_status write_file(const etx_text_file* file, const char* folder,
                             etx_pool* pool, etx_output_file* output,
                             etx_diag* diag) {
  const etx_text path =
      etx_path_join(pool, etx_text_of(folder), etx_text_of(file->path));
  if (path.data == NULL) return ETX_OUT_OF_MEMORY;
  ETX_TRY(make_folders(folder, file->path, pool, diag));
  ETX_TRY(etx_output_file_open(output, path.data, diag));
  const etx_sink sink = etx_output_file_sink(output);
  etx_status status = etx_sink_write(&sink, file->text.data, file->text.size);
  if (status == ETX_OK) status = etx_output_file_finish(output);
  if (status != ETX_OK) etx_output_file_discard(output);
  return status;
}

etx_status etx_text_files_write(const etx_text_files* files, const char* folder,
                                etx_diag* diag) {
  etx_output_file* const outputs =
      etx_pool_take(files->pool, files->count * sizeof *outputs);
  size_t written = 0;
  if (outputs == NULL) return ETX_OUT_OF_MEMORY;
  etx_status status = etx_directory_make(folder, diag);
  while (status == ETX_OK && written < files->count) {
    status = write_file(&files->items[written], folder, files->pool,
                        &outputs[written], diag);
    if (status == ETX_OK) ++written;
  }
  if (status == ETX_OK) status = etx_output_files_keep(outputs, written);
  for (size_t i = 0; i < written; ++i) etx_output_file_discard(&outputs[i]);
  return status;
}
