// Tests of archives of torch.export.save as zip files: damaged and foreign ones
// are refused.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "tests/exporter/reading.h"

#define PT2 ETX_TEST_DATA "/pt2/"

static reading r;
static scratch_directory directory;

static void wrong_checksums_are_refused(void** state) {
  (void)state;
  size_t size = 0;
  uint8_t* const bytes = file_bytes(PT2 "tiny/step.pt2", &size);
  scratch_directory_make(&directory);
  bytes[0x40] ^= 1;  // the first weight
  scratch_write(&directory, "step.pt2", bytes, size);
  reading_open(&r, directory.path);
  assert_problem(&r, "member 'data/weights/weight_0': CRC error");
  reading_close(&r);
  bytes[0x40] ^= 1;
  bytes[0x740 + 100] ^= 1;  // the program
  scratch_write(&directory, "step.pt2", bytes, size);
  reading_open(&r, directory.path);
  assert_problem(&r, "member 'models/model.json'");
  reading_close(&r);
  scratch_directory_remove(&directory);
  free(bytes);
}

static void cut_archives_are_refused(void** state) {
  (void)state;
  size_t size = 0;
  uint8_t* const bytes = file_bytes(PT2 "tiny/step.pt2", &size);
  scratch_directory_make(&directory);
  for (size_t cut = 1; cut <= size; cut += cut < 400 ? 1 : 97) {
    scratch_write(&directory, "step.pt2", bytes, size - cut);
    reading_open(&r, directory.path);
    assert_problem(&r, "step.pt2:");
    reading_close(&r);
  }
  scratch_directory_remove(&directory);
  free(bytes);
}

static void foreign_files_are_refused(void** state) {
  (void)state;
  scratch_directory_make(&directory);
  scratch_write_text(&directory, "step.pt2", "not a zip at all");
  reading_open(&r, directory.path);
  assert_problem(&r, "not a valid zip archive");
  reading_close(&r);
  scratch_write_text(&directory, "step.pt2", "");
  reading_open(&r, directory.path);
  assert_problem(&r, "step.pt2:");
  reading_close(&r);
  scratch_directory_remove(&directory);
}

static void repack(const char* root, bool is_compressed, bool is_mixed) {
  scratch_directory_make(&directory);
  const repacking how = {root, is_compressed, is_mixed};
  scratch_archive_repacked(&directory, "step.pt2", PT2 "tiny/step.pt2", how);
  reading_open(&r, directory.path);
}

static void close_repacked(void) {
  reading_close(&r);
  scratch_directory_remove(&directory);
}

static void only_the_root_folder_may_differ(void** state) {
  (void)state;
  repack("archive/", false, false);
  assert_reads(&r);
  close_repacked();
  repack("we.ird-n\xc3\xa4me/", false, false);
  assert_reads(&r);
  close_repacked();
  repack("", false, false);
  assert_problem(&r, "not under the root folder");
  close_repacked();
  repack("other/", false, true);
  assert_problem(&r, "is not under the root folder 'step/'");
  close_repacked();
  repack("step/../step/", false, false);
  assert_problem(&r, "expected a path under one root folder");
  close_repacked();
  repack("step/", true, false);
  assert_problem(&r, "it is compressed: load the archive in PyTorch");
  close_repacked();
}

// Replaces every occurrence of a name, in local headers and in the directory.
static void rename_bytes(uint8_t* bytes, size_t size, const char* old,
                         const char* fresh) {
  const size_t length = strlen(old);
  for (size_t i = 0; i + length <= size; ++i) {
    if (memcmp(bytes + i, old, length) == 0) memcpy(bytes + i, fresh, length);
  }
}

static void members_of_one_name_are_refused(void** state) {
  (void)state;
  size_t size = 0;
  uint8_t* const bytes = file_bytes(PT2 "tiny/step.pt2", &size);
  rename_bytes(bytes, size, "/weight_1", "/weight_0");
  scratch_directory_make(&directory);
  scratch_write(&directory, "step.pt2", bytes, size);
  reading_open(&r, directory.path);
  assert_problem(&r, "step.pt2:");
  close_repacked();
  free(bytes);
}

static void bytes_around_an_archive_are_refused(void** state) {
  (void)state;
  size_t size = 0;
  uint8_t* const bytes = file_bytes(PT2 "tiny/step.pt2", &size);
  uint8_t* const longer = calloc(1, size + 16);
  assert_non_null(longer);
  scratch_directory_make(&directory);
  memcpy(longer, bytes, size);
  scratch_write(&directory, "step.pt2", longer, size + 10);
  reading_open(&r, directory.path);
  assert_problem(&r, "step.pt2:");
  reading_close(&r);
  memset(longer, 0, 4);
  memcpy(longer + 4, bytes, size);
  scratch_write(&directory, "step.pt2", longer, size + 4);
  reading_open(&r, directory.path);
  assert_problem(&r, "step.pt2:");
  close_repacked();
  free(longer);
  free(bytes);
}

static void archives_of_older_versions_are_reported(void** state) {
  (void)state;
  size_t size = 0;
  uint8_t* const bytes = file_bytes(PT2 "tiny/step.pt2", &size);
  rename_bytes(bytes, size, "data/weights/weight_0", "data/weights/model.pt");
  scratch_directory_make(&directory);
  scratch_write(&directory, "step.pt2", bytes, size);
  reading_open(&r, directory.path);
  assert_problem(&r, "saved by an older PyTorch");
  close_repacked();
  free(bytes);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(wrong_checksums_are_refused),
      cmocka_unit_test(cut_archives_are_refused),
      cmocka_unit_test(foreign_files_are_refused),
      cmocka_unit_test(only_the_root_folder_may_differ),
      cmocka_unit_test(members_of_one_name_are_refused),
      cmocka_unit_test(bytes_around_an_archive_are_refused),
      cmocka_unit_test(archives_of_older_versions_are_reported),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
