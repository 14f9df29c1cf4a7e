#include "cli/program/pte_file.h"

#include "format/ptd/ptd_file.h"

// True if the file identifier is wrong. etx_pte_open refuses files that are too
// short to have one.
static bool has_wrong_identifier(etx_bytes bytes) {
  static const char mark[] = "ET12";
  enum { AT = 4, SIZE = sizeof mark - 1 };
  return bytes.size >= AT + SIZE && memcmp(bytes.data + AT, mark, SIZE) != 0;
}

static etx_status find_program(etx_pte_file* file, etx_diag* diag) {
  const etx_bytes bytes = file->file.bytes;
  if (etx_ptd_looks_like(bytes)) {
    return etx_diag_fail(
        diag, ETX_BAD_ARGUMENT,
        "this is a data file (.ptd), not a program; pass it to "
        "'etx run' with --data, together with its program");
  }
  file->program = bytes;
  file->is_bundle = etx_bundle_looks_like(bytes);
  if (!file->is_bundle && has_wrong_identifier(bytes)) {
    return etx_diag_fail(diag, ETX_BAD_FILE,
                         "this is not a program: expected 'ET12' at byte 4; "
                         "'etx plan' makes programs from methods");
  }
  if (!file->is_bundle) return ETX_OK;
  ETX_TRY(etx_bundle_open(&file->bundle, bytes, diag));
  file->program = etx_bundle_program(&file->bundle);
  return ETX_OK;
}

static etx_status find_or_close(etx_pte_file* file, etx_diag* diag) {
  const etx_status status = find_program(file, diag);
  if (status != ETX_OK) etx_pte_file_close(file);
  return status;
}

etx_status etx_pte_file_open(etx_pte_file* file, const char* path,
                             etx_diag* diag) {
  memset(file, 0, sizeof *file);
  ETX_TRY(etx_mapped_file_open(&file->file, path, diag));
  return find_or_close(file, diag);
}

etx_status etx_pte_file_read(etx_pte_file* file, const char* path,
                             etx_diag* diag) {
  memset(file, 0, sizeof *file);
  ETX_TRY(etx_mapped_file_read(&file->file, path, diag));
  return find_or_close(file, diag);
}

void etx_pte_file_close(etx_pte_file* file) {
  etx_mapped_file_close(&file->file);
  memset(file, 0, sizeof *file);
}
