// Reads the zip file. libzip checks the consistency of its directory and the
// CRCs of members; this file checks names, the root folder, and that members
// are not compressed or encrypted. torch.export.save never compresses, and
// without compression a small file cannot claim huge contents (a zip bomb).
//
// libzip reads the mapped file through a callback, which also tells where the
// bytes of a member begin: libzip has no call for that.

#include "exporter/read_pt2/pt2_archive.h"

#include <errno.h>
#include <stdlib.h>
#include <zip.h>

#include "exporter/host/host_file.h"

enum { MAX_MEMBERS = 200000, MAX_ROOT = 1024 };

// Members are checked in pieces that stay in the processor's cache.
enum { PIECE_BYTES = 256 * 1024 };

typedef struct etx_pt2_mapping {
  etx_bytes bytes;      // of the file
  uint64_t position;    // of libzip, at most bytes.size
  uint64_t first_read;  // where it first read after `is_read` was cleared
  bool is_read;
  zip_error_t error;  // of a seek
  uint8_t piece[PIECE_BYTES];
} etx_pt2_mapping;

static etx_status fail_member(etx_diag* diag, etx_text member,
                              const char* problem) {
  return etx_diag_fail(diag, ETX_BAD_FILE, "member '%t': %s", member, problem);
}

// The status for an error code of libzip, which reads from memory. It may report
// a damaged archive when it got no memory: errno, which was 0 before the call,
// states that.
static etx_status zip_status(int code) {
  return code == ZIP_ER_MEMORY || errno == ENOMEM ? ETX_OUT_OF_MEMORY
                                                  : ETX_BAD_FILE;
}

static etx_status fail_libzip(etx_diag* diag, etx_text member, int code,
                              const char* problem) {
  return etx_diag_fail(diag, zip_status(code), "member '%t': %s", member,
                       problem);
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

static etx_pt2_member* find_member(const etx_pt2_archive* archive,
                                   etx_text name) {
  const etx_pt2_member key = {name, 0, 0, NULL};
  return bsearch(&key, archive->members, archive->member_count,
                 sizeof *archive->members, by_member_name);
}

// True if the bytes that libzip read are those at `at` of the file.
static bool is_piece_of_file(const etx_pt2_mapping* mapping, uint64_t at,
                             uint64_t size) {
  return at <= mapping->bytes.size && size <= mapping->bytes.size - at &&
         memcmp(mapping->bytes.data + at, mapping->piece, (size_t)size) == 0;
}

// libzip compares the CRC when it reaches the end of the member, so it is asked
// for bytes until there are none.
static etx_status check_bytes(etx_pt2_mapping* mapping, zip_file_t* file,
                              etx_pt2_member* member, etx_diag* diag) {
  uint64_t begin = 0, done = 0;
  zip_int64_t got = 0;
  do {
    mapping->is_read = false;
    got = zip_fread(file, mapping->piece, PIECE_BYTES);
    if (got <= 0) break;
    if (done == 0) begin = mapping->first_read;
    if (!is_piece_of_file(mapping, begin + done, (uint64_t)got)) {
      return fail_member(diag, member->name, "it changed while it was read");
    }
    done += (uint64_t)got;
  } while (done <= member->bytes);
  if (got < 0) {
    const int code = zip_error_code_zip(zip_file_get_error(file));
    return fail_libzip(diag, member->name, code, zip_file_strerror(file));
  }
  if (done != member->bytes) {
    return etx_diag_fail(diag, ETX_BAD_FILE,
                         "member '%t' has %u bytes, its zip entry states %u",
                         member->name, done, member->bytes);
  }
  member->data = mapping->bytes.data + begin;
  return ETX_OK;
}

static etx_status check_member(etx_pt2_archive* archive, etx_pt2_member* member,
                               etx_diag* diag) {
  errno = 0;
  zip_file_t* const file = zip_fopen_index(archive->zip, member->index, 0);
  if (file == NULL) {
    const int code = zip_error_code_zip(zip_get_error(archive->zip));
    return fail_libzip(diag, member->name, code, zip_strerror(archive->zip));
  }
  const etx_status status = check_bytes(archive->mapping, file, member, diag);
  (void)zip_fclose(file);
  return status;
}

etx_status etx_pt2_member_find(etx_pt2_archive* archive, etx_text name,
                               etx_bytes* out_bytes, etx_diag* diag) {
  etx_pt2_member* const member = find_member(archive, name);
  if (member == NULL) return ETX_NOT_FOUND;
  if (member->data == NULL) ETX_TRY(check_member(archive, member, diag));
  *out_bytes = (etx_bytes){member->data, (size_t)member->bytes};
  return ETX_OK;
}

bool etx_pt2_has_member(const etx_pt2_archive* archive, const char* name) {
  return find_member(archive, etx_text_of(name)) != NULL;
}

static bool looks_like_old_layout(zip_t* zip) {
  return zip_name_locate(zip, "serialized_exported_program.json", 0) >= 0;
}

// libzip's source of the archive.
static zip_int64_t read_mapping(void* context, void* data, zip_uint64_t size,
                                zip_source_cmd_t command) {
  etx_pt2_mapping* const mapping = context;
  const uint64_t left = mapping->bytes.size - mapping->position;
  zip_stat_t* const stat = data;
  zip_int64_t position = 0;
  switch (command) {
    case ZIP_SOURCE_OPEN:
      mapping->position = 0;
      return 0;
    case ZIP_SOURCE_READ:
      if (size > left) size = left;
      if (!mapping->is_read) mapping->first_read = mapping->position;
      mapping->is_read = true;
      memcpy(data, mapping->bytes.data + mapping->position, (size_t)size);
      mapping->position += size;
      return (zip_int64_t)size;
    case ZIP_SOURCE_SEEK:
      position = zip_source_seek_compute_offset(
          mapping->position, mapping->bytes.size, data, size, &mapping->error);
      if (position < 0) return -1;
      mapping->position = (uint64_t)position;
      return 0;
    case ZIP_SOURCE_TELL:
      return (zip_int64_t)mapping->position;
    case ZIP_SOURCE_STAT:
      zip_stat_init(stat);
      stat->size = mapping->bytes.size;
      stat->valid = ZIP_STAT_SIZE;
      return sizeof *stat;
    case ZIP_SOURCE_ERROR:
      return zip_error_to_data(&mapping->error, data, size);
    case ZIP_SOURCE_SUPPORTS:
      return ZIP_SOURCE_SUPPORTS_SEEKABLE;
    default:  // closing; the mapping belongs to the pool
      return 0;
  }
}

static etx_status fail_open(zip_error_t* error, etx_diag* diag) {
  const etx_status status = zip_status(zip_error_code_zip(error));
  if (status == ETX_OUT_OF_MEMORY) return status;
  return etx_diag_fail(diag, status, "not a valid zip archive: %s",
                       zip_error_strerror(error));
}

static etx_status open_zip(etx_pt2_archive* archive, zip_error_t* error,
                           etx_diag* diag) {
  errno = 0;
  zip_source_t* const source =
      zip_source_function_create(read_mapping, archive->mapping, error);
  if (source == NULL) return fail_open(error, diag);
  archive->zip =
      zip_open_from_source(source, ZIP_RDONLY | ZIP_CHECKCONS, error);
  if (archive->zip != NULL) return ETX_OK;
  zip_source_free(source);
  return fail_open(error, diag);
}

etx_status etx_pt2_archive_open(etx_pt2_archive* archive, etx_diag* diag) {
  archive->mapping = etx_pool_take(archive->pool, sizeof *archive->mapping);
  if (archive->mapping == NULL) return ETX_OUT_OF_MEMORY;
  ETX_TRY(etx_file_map(archive->pool, archive->path.data,
                       &archive->mapping->bytes, diag));
  zip_error_t error;
  zip_error_init(&error);
  zip_error_init(&archive->mapping->error);
  const etx_status status = open_zip(archive, &error, diag);
  zip_error_fini(&error);
  ETX_TRY(status);
  if (!looks_like_old_layout(archive->zip)) return list_members(archive, diag);
  return etx_diag_fail(diag, ETX_UNSUPPORTED,
                       "the archive was saved by an older PyTorch: export "
                       "and save it again with PyTorch 2.13 or later");
}

void etx_pt2_close(etx_pt2_archive* archive) {
  if (archive->zip != NULL) zip_discard(archive->zip);
  archive->zip = NULL;
}
