#include "format/pte/pte_header.h"

#include "format/base/checked_math.h"

// Places of the fields, counted from the start of the file.
enum {
  MAGIC = 8,
  LENGTH = 12,
  PROGRAM_BYTES = 16,
  SEGMENT_BASE = 24,
  SEGMENT_BYTES = 32
};

static const char magic[4] = {'e', 'h', '0', '0'};

static uint64_t read_u64(etx_bytes file, size_t position) {
  uint64_t value = 0;
  memcpy(&value, file.data + position, sizeof value);
  return value;
}

static etx_status check_segments(etx_bytes file, const etx_pte_header* header,
                                 etx_diag* diag) {
  uint64_t end = 0;
  if (header->segment_base == 0) {
    if (header->segment_bytes == 0) return ETX_OK;
    return etx_diag_fail_at(diag, ETX_BAD_FILE, SEGMENT_BASE,
                            "the header states %u bytes of segments, but no "
                            "place for them",
                            header->segment_bytes);
  }
  if (header->segment_base < header->program_bytes) {
    return etx_diag_fail_at(diag, ETX_BAD_FILE, SEGMENT_BASE,
                            "segments start at byte %u, inside the program "
                            "of %u bytes",
                            header->segment_base, header->program_bytes);
  }
  if (!etx_add_u64(header->segment_base, header->segment_bytes, &end) ||
      end > file.size) {
    return etx_diag_fail_at(diag, ETX_BAD_FILE, SEGMENT_BASE,
                            "segments take %u bytes from byte %u on, the file "
                            "has %u bytes",
                            header->segment_bytes, header->segment_base,
                            (uint64_t)file.size);
  }
  return ETX_OK;
}

static etx_status read_present(etx_bytes file, etx_pte_header* header,
                               etx_diag* diag) {
  memcpy(&header->length, file.data + LENGTH, sizeof header->length);
  if (header->length < ETX_PTE_HEADER_LEAST) {
    return etx_diag_fail_at(diag, ETX_BAD_FILE, LENGTH,
                            "the extended header has %u bytes, at least %u "
                            "are needed",
                            (uint64_t)header->length,
                            (uint64_t)ETX_PTE_HEADER_LEAST);
  }
  header->program_bytes = read_u64(file, PROGRAM_BYTES);
  header->segment_base = read_u64(file, SEGMENT_BASE);
  if (header->program_bytes > file.size ||
      header->program_bytes < (uint64_t)MAGIC + header->length) {
    return etx_diag_fail_at(diag, ETX_BAD_FILE, PROGRAM_BYTES,
                            "the header states a program of %u bytes, the "
                            "file has %u bytes and the header ends at %u",
                            header->program_bytes, (uint64_t)file.size,
                            (uint64_t)MAGIC + header->length);
  }
  if (header->length >= ETX_PTE_HEADER_BYTES) {
    header->segment_bytes = read_u64(file, SEGMENT_BYTES);
  } else if (header->segment_base != 0 && header->segment_base <= file.size) {
    header->segment_bytes = file.size - header->segment_base;
  }
  return check_segments(file, header, diag);
}

etx_status etx_pte_header_read(etx_bytes file, etx_pte_header* out_header,
                               etx_diag* diag) {
  etx_pte_header header = {false, 0, file.size, 0, 0};
  if (file.size < ETX_PTE_LEAST_FILE) {
    return etx_diag_fail_at(diag, ETX_BAD_FILE, 0,
                            "the file has %u bytes, a program at least %u",
                            (uint64_t)file.size, (uint64_t)ETX_PTE_LEAST_FILE);
  }
  header.is_present = memcmp(file.data + MAGIC, magic, sizeof magic) == 0;
  if (header.is_present) ETX_TRY(read_present(file, &header, diag));
  *out_header = header;
  return ETX_OK;
}

void etx_pte_header_write(const etx_pte_header* header,
                          uint8_t out_bytes[ETX_PTE_HEADER_BYTES]) {
  const uint32_t length = ETX_PTE_HEADER_BYTES;
  memcpy(out_bytes, magic, sizeof magic);
  memcpy(out_bytes + LENGTH - MAGIC, &length, sizeof length);
  memcpy(out_bytes + PROGRAM_BYTES - MAGIC, &header->program_bytes,
         sizeof header->program_bytes);
  memcpy(out_bytes + SEGMENT_BASE - MAGIC, &header->segment_base,
         sizeof header->segment_base);
  memcpy(out_bytes + SEGMENT_BYTES - MAGIC, &header->segment_bytes,
         sizeof header->segment_bytes);
}
