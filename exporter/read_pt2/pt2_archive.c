// Reads the zip file. libzip checks the consistency of its directory and the
// CRCs of members; this file checks names, the root folder, and that members
// are not compressed or encrypted. torch.export.save never compresses, and
// without compression a small file cannot claim huge contents (a zip bomb).

#include "exporter/read_pt2/pt2_archive.h"

#include <errno.h>
#include <stdlib.h>
#include <zip.h>

#include "exporter/host/host_file.h"

enum { MAX_MEMBERS = 200000, MAX_ROOT = 1024 };

static etx_status fail_member(etx_diag* diag, etx_text member,
                              const char* problem) {
  return etx_diag_fail(diag, ETX_BAD_FILE, "member '%t': %s", member, problem);
}

// libzip may report a damaged archive when it got no memory or when a read
// failed. errno, which was 0 before the call, states it.
static bool is_machine_error(int error) {
  return error == ENOMEM || error == EIO || error == EINTR;
}

// The status for an error code of libzip: an error of the machine or of the
// archive.
static etx_status zip_status(int code) {
  if (is_machine_error(errno)) {
    return errno == ENOMEM ? ETX_OUT_OF_MEMORY : ETX_HOST_FAILED;
  }
  switch (code) {
    case ZIP_ER_MEMORY:
      return ETX_OUT_OF_MEMORY;
    case ZIP_ER_OPEN:
    case ZIP_ER_NOENT:
      return errno == 0 ? ETX_NOT_FOUND : etx_host_status(errno);
    case ZIP_ER_READ:
    case ZIP_ER_SEEK:
    case ZIP_ER_TELL:
      return ETX_HOST_FAILED;
    default:
      return ETX_BAD_FILE;
  }
}

static etx_status fail_libzip(etx_diag* diag, etx_text member, int code,
                              const char* problem) {
  const etx_status status = zip_status(code);
  return etx_diag_fail(diag, status, "member '%t': %s", member,
                       is_machine_error(errno) ? strerror(errno) : problem);
}

static int by_member_name(const void* a, const void* b) {
  const etx_pt2_member* const x = a;
  const etx_pt2_member* const y = b;
  return etx_text_compare(x->name, y->name);
}

// True for a relative path without empty parts, ".", ".." and backslashes.
static bool is_plain_path(etx_text name) {
  size_t start = 0;
  for (size_t i = 0; i <= name.size; ++i) {
    if (i < name.size && name.data[i] != '/') {
      if (name.data[i] == '\\' || name.data[i] == '\0') return false;
      continue;
    }
    const etx_text part = {name.data + start, i - start};
    if (part.size == 0 || etx_text_is(part, ".") || etx_text_is(part, "..")) {
      return false;
    }
    start = i + 1;
  }
  return true;
}

// Splits "root/rest". All members must have the root of the first one.
static etx_status split_root(etx_text full, etx_text* root, etx_text* out_rest,
                             etx_diag* diag) {
  const char* const slash = memchr(full.data, '/', full.size);
  if (slash == NULL || slash == full.data || !is_plain_path(full)) {
    return fail_member(diag, full, "expected a path under one root folder");
  }
  const etx_text own_root = {full.data, (size_t)(slash - full.data) + 1};
  if (root->size == 0) *root = own_root;
  if (!etx_text_equal(*root, own_root)) {
    return etx_diag_fail(diag, ETX_BAD_FILE,
                         "member '%t' is not under the root folder '%t'", full,
                         *root);
  }
  out_rest->data = slash + 1;
  out_rest->size = full.size - own_root.size;
  return ETX_OK;
}

static etx_status list_member(etx_pt2_archive* archive, zip_uint64_t index,
                              etx_text* root, etx_diag* diag) {
  zip_stat_t info;
  if (zip_stat_index(archive->zip, index, ZIP_FL_ENC_RAW, &info) != 0) {
    return etx_diag_fail(diag, ETX_BAD_FILE, "member %u cannot be read", index);
  }
  const etx_text full =
      etx_pool_copy_text(archive->pool, etx_text_of(info.name));
  if (full.data == NULL) return ETX_OUT_OF_MEMORY;
  const zip_uint64_t needed = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE |
                              ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
  if ((info.valid & needed) != needed) {
    return fail_member(diag, full, "its zip entry is incomplete");
  }
  if (info.encryption_method != ZIP_EM_NONE) {
    return fail_member(diag, full, "it is encrypted");
  }
  if (info.comp_method != ZIP_CM_STORE || info.size != info.comp_size) {
    return fail_member(
        diag, full,
        "it is compressed: load the archive in PyTorch and save it again");
  }
  etx_pt2_member* const member = &archive->members[archive->member_count];
  ETX_TRY(split_root(full, root, &member->name, diag));
  member->index = index;
  member->bytes = info.size;
  ++archive->member_count;
  return ETX_OK;
}

static etx_status list_members(etx_pt2_archive* archive, etx_diag* diag) {
  const zip_int64_t count = zip_get_num_entries(archive->zip, 0);
  if (count <= 0 || count > MAX_MEMBERS) {
    return etx_diag_fail(diag, ETX_BAD_FILE,
                         "the archive has %i members, expected 1 to %i",
                         (int64_t)count, (int64_t)MAX_MEMBERS);
  }
  archive->members =
      etx_pool_take(archive->pool, (size_t)count * sizeof *archive->members);
  if (archive->members == NULL) return ETX_OUT_OF_MEMORY;
  etx_text root = {NULL, 0};
  for (zip_uint64_t i = 0; i < (zip_uint64_t)count; ++i) {
    ETX_TRY(list_member(archive, i, &root, diag));
  }
  qsort(archive->members, archive->member_count, sizeof *archive->members,
        by_member_name);
  for (size_t i = 1; i < archive->member_count; ++i) {
    if (!etx_text_equal(archive->members[i - 1].name,
                        archive->members[i].name)) {
      continue;
    }
    return fail_member(diag, archive->members[i].name,
                       "the archive has two members of this name");
  }
  return ETX_OK;
}

static const etx_pt2_member* find_member(const etx_pt2_archive* archive,
                                         etx_text name) {
  const etx_pt2_member key = {name, 0, 0};
  return bsearch(&key, archive->members, archive->member_count,
                 sizeof *archive->members, by_member_name);
}

// libzip compares the CRC when it reaches the end of the member, so one byte
// more is requested.
static etx_status read_bytes(const etx_pt2_archive* archive,
                             const etx_pt2_member* member, uint8_t* out,
                             etx_diag* diag) {
  errno = 0;
  zip_file_t* const file = zip_fopen_index(archive->zip, member->index, 0);
  if (file == NULL) {
    const int code = zip_error_code_zip(zip_get_error(archive->zip));
    return fail_libzip(diag, member->name, code, zip_strerror(archive->zip));
  }
  uint64_t done = 0;
  zip_int64_t got = 0;
  do {
    uint8_t extra = 0;
    got = done < member->bytes
              ? zip_fread(file, out + done, member->bytes - done)
              : zip_fread(file, &extra, 1);
    if (got > 0) done += (uint64_t)got;
  } while (got > 0 && done <= member->bytes);
  etx_status status = ETX_OK;
  if (got < 0) {
    const int code = zip_error_code_zip(zip_file_get_error(file));
    status = fail_libzip(diag, member->name, code, zip_file_strerror(file));
  } else if (done != member->bytes) {
    status = etx_diag_fail(diag, ETX_BAD_FILE,
                           "member '%t' has %u bytes, its zip entry states %u",
                           member->name, done, member->bytes);
  }
  (void)zip_fclose(file);
  return status;
}

etx_status etx_pt2_member_read(etx_pt2_archive* archive, etx_text name,
                               etx_pool* pool, etx_bytes* out_bytes,
                               etx_diag* diag) {
  const etx_pt2_member* const member = find_member(archive, name);
  if (member == NULL) return ETX_NOT_FOUND;
  if (member->bytes > SIZE_MAX - 1) return ETX_OUT_OF_MEMORY;
  uint8_t* const bytes = etx_pool_take(pool, (size_t)member->bytes + 1);
  if (bytes == NULL) {
    return etx_diag_fail(diag, ETX_OUT_OF_MEMORY,
                         "not enough memory for the %u bytes of member '%t'",
                         member->bytes, name);
  }
  ETX_TRY(read_bytes(archive, member, bytes, diag));
  out_bytes->data = bytes;
  out_bytes->size = (size_t)member->bytes;
  return ETX_OK;
}

bool etx_pt2_has_member(const etx_pt2_archive* archive, const char* name) {
  return find_member(archive, etx_text_of(name)) != NULL;
}

static bool looks_like_old_layout(zip_t* zip) {
  return zip_name_locate(zip, "serialized_exported_program.json", 0) >= 0;
}

etx_status etx_pt2_archive_open(etx_pt2_archive* archive, etx_diag* diag) {
  int code = 0;
  errno = 0;
  archive->zip =
      zip_open(archive->path.data, ZIP_RDONLY | ZIP_CHECKCONS, &code);
  if (archive->zip != NULL) {
    if (!looks_like_old_layout(archive->zip)) {
      return list_members(archive, diag);
    }
    return etx_diag_fail(diag, ETX_UNSUPPORTED,
                         "the archive was saved by an older PyTorch: export "
                         "and save it again with PyTorch 2.13 or later");
  }
  const int reason = errno;
  const etx_status status = zip_status(code);
  if (status == ETX_OUT_OF_MEMORY) return status;
  if (is_machine_error(reason)) {
    return etx_diag_fail(diag, status, "cannot be read: %s", strerror(reason));
  }
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  (void)etx_diag_fail(diag, status, "%s%s",
                      status == ETX_BAD_FILE ? "not a valid zip archive: " : "",
                      zip_error_strerror(&error));
  zip_error_fini(&error);
  return status;
}

void etx_pt2_close(etx_pt2_archive* archive) {
  if (archive->zip != NULL) zip_discard(archive->zip);
  archive->zip = NULL;
  etx_pool_close(&archive->payloads);
}
