// Reads modules in tests: a module with its problems as text, temporary
// directories, and archives with one changed member.

#ifndef ETX_TESTS_EXPORTER_READING_H
#define ETX_TESTS_EXPORTER_READING_H

#include "exporter/export.h"

typedef struct reading {
  etx_pool pool;
  etx_ir_module module;
  etx_problems problems;
  etx_diag diag;
  etx_status status;
  // "file.yaml:3:7: message" lines, directories cut off.
  char text[8192];
  size_t text_size;
} reading;

// Reads a directory or file. The result must be closed.
void reading_open(reading* r, const char* path);
// The same with the weights of a GGUF file; `names` may be NULL.
void reading_open_with_weights(reading* r, const char* path,
                               const char* weights, const char* names);
void reading_close(reading* r);

// Fails the test unless the module was read and passes the verifier.
void assert_reads(reading* r);

// Fails the test unless reading failed with a problem that contains `part`.
void assert_problem(const reading* r, const char* part);

// A temporary directory for one test.
typedef struct scratch_directory {
  char path[256];
} scratch_directory;

void scratch_directory_make(scratch_directory* directory);
void scratch_directory_remove(const scratch_directory* directory);

// Writes a file into the directory.
void scratch_write(const scratch_directory* directory, const char* name,
                   const void* data, size_t size);
void scratch_write_text(const scratch_directory* directory, const char* name,
                        const char* text);
// Copies a file of the test data.
void scratch_copy(const scratch_directory* directory, const char* name,
                  const char* from);

// A file's bytes; to be freed.
uint8_t* file_bytes(const char* path, size_t* out_size);

// Copies the archive at `from` and replaces, in the member whose name ends with
// `member`, the first occurrence of `old` by `fresh`. Fails the test if `old`
// does not occur. A NULL `old` replaces the whole content; a NULL `fresh`
// removes the member.
void scratch_archive(const scratch_directory* directory, const char* name,
                     const char* from, const char* member, const char* old,
                     const char* fresh);

// Copies the archive at `from` and replaces the content of a member.
void scratch_archive_bytes(const scratch_directory* directory, const char* name,
                           const char* from, const char* member,
                           const void* data, size_t size);

// Copies an archive with another root folder ("" for none), compressed or not.
// If `is_mixed`, the first member keeps its root folder.
typedef struct repacking {
  const char* root;
  bool is_compressed;
  bool is_mixed;
} repacking;
void scratch_archive_repacked(const scratch_directory* directory,
                              const char* name, const char* from,
                              repacking how);

// The content of the member whose name ends with `member`; to be freed.
uint8_t* archive_member(const char* from, const char* member, size_t* out_size);

#endif
