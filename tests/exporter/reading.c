#define _POSIX_C_SOURCE 200809L

#include "tests/exporter/reading.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <zip.h>

#include <cmocka.h>

#include "exporter/host/host_file.h"

static void report(void* context, const etx_source_location* place,
                   etx_text message) {
  reading* const r = context;
  const etx_text file = etx_path_name(place->file);
  r->text_size += etx_format_text(
      r->text + r->text_size, sizeof r->text - r->text_size, "%t:%u:%u: %t",
      file, (uint64_t)place->line, (uint64_t)place->column, message);
  if (r->text_size + 2 < sizeof r->text) {
    r->text[r->text_size++] = '\n';
    r->text[r->text_size] = '\0';
  }
}

void reading_open(reading* r, const char* path) {
  reading_open_with_weights(r, path, NULL, NULL);
}

void reading_open_with_weights(reading* r, const char* path,
                               const char* weights, const char* names) {
  memset(r, 0, sizeof *r);
  etx_pool_init(&r->pool);
  etx_ir_module_init(&r->module, &r->pool);
  etx_diag_init(&r->diag);
  r->problems.report = report;
  r->problems.context = r;
  if (weights != NULL) {
    assert_int_equal(etx_export_weights(&r->module, weights, names), ETX_OK);
  }
  r->status = etx_export_read(&r->module, path, &r->problems, &r->diag);
}

void reading_close(reading* r) { etx_pool_close(&r->pool); }

void assert_reads(reading* r) {
  if (r->status != ETX_OK) fail_msg("%s", r->text);
  assert_int_equal(r->problems.count, 0);
  if (etx_ir_verify(&r->module, false, &r->diag) != ETX_OK) {
    fail_msg("%s", r->diag.text);
  }
}

void assert_problem(const reading* r, const char* part) {
  if (r->status == ETX_OK || strstr(r->text, part) == NULL) {
    fail_msg("expected '%s' in:\n%s", part, r->text);
  }
  assert_true(r->problems.count > 0);
  assert_true(r->diag.status != ETX_OK);
}

// ---------------------------------------------------------------- directories

void scratch_directory_make(scratch_directory* directory) {
  snprintf(directory->path, sizeof directory->path, "%s",
           "/tmp/etx-test-XXXXXX");
  assert_non_null(mkdtemp(directory->path));
}

void scratch_directory_remove(const scratch_directory* directory) {
  etx_pool pool;
  etx_text* names = NULL;
  size_t count = 0;
  etx_pool_init(&pool);
  assert_int_equal(
      etx_directory_list(&pool, directory->path, &names, &count, NULL), ETX_OK);
  for (size_t i = 0; i < count; ++i) {
    const etx_text path =
        etx_path_join(&pool, etx_text_of(directory->path), names[i]);
    assert_int_equal(remove(path.data), 0);
  }
  assert_int_equal(rmdir(directory->path), 0);
  etx_pool_close(&pool);
}

static void path_in(const scratch_directory* directory, const char* name,
                    char out[512]) {
  snprintf(out, 512, "%s/%s", directory->path, name);
}

void scratch_write(const scratch_directory* directory, const char* name,
                   const void* data, size_t size) {
  char path[512];
  path_in(directory, name, path);
  FILE* const file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(data, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
}

void scratch_write_text(const scratch_directory* directory, const char* name,
                        const char* text) {
  scratch_write(directory, name, text, strlen(text));
}

uint8_t* file_bytes(const char* path, size_t* out_size) {
  etx_pool pool;
  etx_bytes bytes = {NULL, 0};
  etx_pool_init(&pool);
  assert_int_equal(etx_file_read(&pool, path, &bytes, NULL), ETX_OK);
  uint8_t* const copy = malloc(bytes.size + 1);
  assert_non_null(copy);
  memcpy(copy, bytes.data, bytes.size);
  *out_size = bytes.size;
  etx_pool_close(&pool);
  return copy;
}

void scratch_copy(const scratch_directory* directory, const char* name,
                  const char* from) {
  size_t size = 0;
  uint8_t* const bytes = file_bytes(from, &size);
  scratch_write(directory, name, bytes, size);
  free(bytes);
}

// ---------------------------------------------------------------- archives

static uint8_t* read_member(zip_t* zip, zip_uint64_t index, size_t* out_size) {
  zip_stat_t info;
  assert_int_equal(zip_stat_index(zip, index, 0, &info), 0);
  uint8_t* const bytes = malloc(info.size + 1);
  assert_non_null(bytes);
  zip_file_t* const file = zip_fopen_index(zip, index, 0);
  assert_non_null(file);
  assert_int_equal(zip_fread(file, bytes, info.size), info.size);
  zip_fclose(file);
  *out_size = info.size;
  return bytes;
}

static bool ends_with(const char* text, const char* end) {
  const size_t size = strlen(text), end_size = strlen(end);
  return size >= end_size && strcmp(text + size - end_size, end) == 0;
}

uint8_t* archive_member(const char* from, const char* member,
                        size_t* out_size) {
  uint8_t* found = NULL;
  zip_t* const zip = zip_open(from, ZIP_RDONLY, NULL);
  assert_non_null(zip);
  for (zip_int64_t i = 0; i < zip_get_num_entries(zip, 0); ++i) {
    if (ends_with(zip_get_name(zip, i, 0), member)) {
      found = read_member(zip, i, out_size);
    }
  }
  zip_discard(zip);
  assert_non_null(found);
  return found;
}

static void add_member(zip_t* zip, const char* name, uint8_t* bytes,
                       size_t size) {
  if (size == 0) {  // libzip would not free it
    free(bytes);
    bytes = NULL;
  }
  zip_source_t* const source = zip_source_buffer(zip, bytes, size, 1);
  assert_non_null(source);
  const zip_int64_t index = zip_file_add(zip, name, source, ZIP_FL_ENC_UTF_8);
  assert_true(index >= 0);
  assert_int_equal(zip_set_file_compression(zip, index, ZIP_CM_STORE, 0), 0);
}

// Copies all members, with `data` for the one that ends with `member` (NULL:
// left out).
void scratch_archive_bytes(const scratch_directory* directory, const char* name,
                           const char* from, const char* member,
                           const void* data, size_t size) {
  char path[512];
  path_in(directory, name, path);
  zip_t* const source = zip_open(from, ZIP_RDONLY, NULL);
  zip_t* const target = zip_open(path, ZIP_CREATE | ZIP_TRUNCATE, NULL);
  assert_non_null(source);
  assert_non_null(target);
  for (zip_int64_t i = 0; i < zip_get_num_entries(source, 0); ++i) {
    const char* const own = zip_get_name(source, i, 0);
    size_t own_size = 0;
    if (!ends_with(own, member)) {
      uint8_t* const bytes = read_member(source, i, &own_size);
      add_member(target, own, bytes, own_size);
    } else if (data != NULL) {
      uint8_t* const copy = malloc(size + 1);
      memcpy(copy, data, size);
      add_member(target, own, copy, size);
    }
  }
  assert_int_equal(zip_close(target), 0);
  zip_discard(source);
}

void scratch_archive_repacked(const scratch_directory* directory,
                              const char* name, const char* from,
                              repacking how) {
  char path[512];
  path_in(directory, name, path);
  zip_t* const source = zip_open(from, ZIP_RDONLY, NULL);
  zip_t* const target = zip_open(path, ZIP_CREATE | ZIP_TRUNCATE, NULL);
  assert_non_null(source);
  assert_non_null(target);
  for (zip_int64_t i = 0; i < zip_get_num_entries(source, 0); ++i) {
    char renamed[512];
    const char* const own = zip_get_name(source, i, 0);
    size_t size = 0;
    uint8_t* const bytes = read_member(source, i, &size);
    snprintf(renamed, sizeof renamed, "%s%s", how.root, strchr(own, '/') + 1);
    add_member(target, how.is_mixed && i == 0 ? own : renamed, bytes, size);
    if (how.is_compressed) {
      assert_int_equal(zip_set_file_compression(target, i, ZIP_CM_DEFLATE, 0),
                       0);
    }
  }
  assert_int_equal(zip_close(target), 0);
  zip_discard(source);
}

void scratch_archive(const scratch_directory* directory, const char* name,
                     const char* from, const char* member, const char* old,
                     const char* fresh) {
  if (old == NULL || fresh == NULL) {
    scratch_archive_bytes(directory, name, from, member, fresh,
                          fresh == NULL ? 0 : strlen(fresh));
    return;
  }
  size_t size = 0;
  char* const text = (char*)archive_member(from, member, &size);
  text[size] = '\0';
  char* const at = strstr(text, old);
  if (at == NULL) fail_msg("no '%s' in '%s'", old, member);
  const size_t before = (size_t)(at - text), rest = size - before - strlen(old);
  char* const changed = malloc(size + strlen(fresh) + 1);
  assert_non_null(changed);
  memcpy(changed, text, before);
  memcpy(changed + before, fresh, strlen(fresh));
  memcpy(changed + before + strlen(fresh), at + strlen(old), rest);
  scratch_archive_bytes(directory, name, from, member, changed,
                        before + strlen(fresh) + rest);
  free(changed);
  free(text);
}
