#include "format/pte/pte_header.h"

#include "format/base/checked_math.h"

// Offsets of the fields from the start of the file.
enum {
  MAGIC = 8,
  LENGTH = 12,
  PROGRAM_BYTES = 16,
  SEGMENT_BASE = 24,
  SEGMENT_BYTES = 32
};

// The extended header as it is in the file.
typedef struct splice {
  uint32_t magic;
  uint32_t length;
  uint64_t program_bytes;
  uint64_t segment_base;
  uint64_t segment_bytes;
} splice;

_Static_assert(sizeof(splice) == ETX_PTE_HEADER_BYTES, "no gaps");

static const uint32_t magic = 0x30306865;  // "eh00"

static etx_status check_segments(etx_bytes file, const etx_pte_header* header,
                                 etx_diag* diag) {
  if (header->segment_base == 0) {
    if (header->segment_bytes == 0) return ETX_OK;
    return etx_diag_fail_at(diag, ETX_BAD_FILE, SEGMENT_BASE,
                            "the header states %u bytes of segments, but no "
                            "base offset",
                            header->segment_bytes);
  }
  if (header->segment_base < header->program_bytes) {
    return etx_diag_fail_at(diag, ETX_BAD_FILE, SEGMENT_BASE,
                            "segments start at byte %u, inside the program "
                            "of %u bytes",
                            header->segment_base, header->program_bytes);
  }
  if (!etx_fits_within(header->segment_base, header->segment_bytes,
                       file.size)) {
    return etx_diag_fail_at(diag, ETX_BAD_FILE, SEGMENT_BASE,
                            "segments take %u bytes from byte %u on, the file "
                            "has %u bytes",
                            header->segment_bytes, header->segment_base,
                            (uint64_t)file.size);
  }
  return ETX_OK;
}

static etx_status check_present(etx_bytes file, const splice* found,
                                etx_pte_header* header, etx_diag* diag) {
  header->length = found->length;
  header->program_bytes = found->program_bytes;
  header->segment_base = found->segment_base;
  if (header->length < ETX_PTE_HEADER_LEAST) {
    return etx_diag_fail_at(diag, ETX_BAD_FILE, LENGTH,
                            "the extended header has %u bytes, at least %u "
                            "are needed",
                            (uint64_t)header->length,
                            (uint64_t)ETX_PTE_HEADER_LEAST);
  }
  if (header->program_bytes > file.size ||
      header->program_bytes < (uint64_t)MAGIC + header->length) {
    return etx_diag_fail_at(diag, ETX_BAD_FILE, PROGRAM_BYTES,
                            "the header states a program of %u bytes, the "
                            "file has %u bytes and the header ends at %u",
                            header->program_bytes, (uint64_t)file.size,
                            (uint64_t)MAGIC + header->length);
  }
  if (header->length >= ETX_PTE_HEADER_BYTES) {
    header->segment_bytes = found->segment_bytes;
  } else if (header->segment_base != 0 && header->segment_base <= file.size) {
    header->segment_bytes = file.size - header->segment_base;
  }
  return check_segments(file, header, diag);
}

etx_status etx_pte_header_read(etx_bytes file, etx_pte_header* out_header,
                               etx_diag* diag) {
  etx_pte_header header = {false, 0, file.size, 0, 0};
  splice found;
  if (file.size < ETX_PTE_LEAST_FILE) {
    return etx_diag_fail_at(diag, ETX_BAD_FILE, 0,
                            "the file has %u bytes, a program at least %u",
                            (uint64_t)file.size, (uint64_t)ETX_PTE_LEAST_FILE);
  }
  memcpy(&found, file.data + MAGIC, sizeof found);
  header.is_present = found.magic == magic;
  if (header.is_present) {
    ETX_TRY(check_present(file, &found, &header, diag));
  }
  *out_header = header;
  return ETX_OK;
}

void etx_pte_header_write(const etx_pte_header* header,
                          uint8_t out_bytes[ETX_PTE_HEADER_BYTES]) {
  const splice written = {magic, ETX_PTE_HEADER_BYTES, header->program_bytes,
                          header->segment_base, header->segment_bytes};
  memcpy(out_bytes, &written, sizeof written);
}
