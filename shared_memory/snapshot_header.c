#include "shared_memory/snapshot_header.h"

#include "shared_memory/checksum.h"
#include "shared_memory/shared_plan.h"

enum {
  AT_VERSION = 8,
  AT_LAYOUT = 12,
  AT_FINGERPRINT = 16,
  AT_NUMBER = 48,
  AT_CHECKSUM = 60,
};

static const char magic[8] = {'E', 'T', 'X', 'S', 'N', 'A', 'P', '1'};

static void write_number(uint8_t* out, uint64_t number, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) out[i] = (uint8_t)(number >> (8 * i));
}

static uint64_t read_number(const uint8_t* in, size_t bytes) {
  uint64_t number = 0;
  for (size_t i = bytes; i-- > 0;) number = number << 8 | in[i];
  return number;
}

// Identifies the program that a snapshot belongs to: the blob's fingerprint, or
// for a stock file its size and checksum.
static void fingerprint(const etx_program* program,
                        uint8_t out_fingerprint[ETX_FINGERPRINT_BYTES]) {
  if (program->has_blob) {
    etx_blob_fingerprint(&program->blob, out_fingerprint);
    return;
  }
  memset(out_fingerprint, 0, ETX_FINGERPRINT_BYTES);
  const etx_bytes file = program->pte.file;
  write_number(out_fingerprint, file.size, 8);
  write_number(out_fingerprint + 8, etx_crc32(0, file), 4);
}

static uint32_t add_number(uint32_t crc, uint64_t number) {
  uint8_t bytes[8];
  write_number(bytes, number, sizeof bytes);
  return etx_crc32(crc, (etx_bytes){bytes, sizeof bytes});
}

static uint32_t layout_checksum(const etx_program* program) {
  uint32_t crc = 0;
  etx_shared_state state;
  etx_shared_cursor cursor = {0, 0};
  while (etx_shared_plan_next(program, &cursor, &state)) {
    crc = add_number(crc, state.row.name.size);
    crc = etx_crc32(crc, (etx_bytes){(const uint8_t*)state.row.name.data,
                                     state.row.name.size});
    crc = add_number(crc, (uint64_t)state.row.dtype);
    crc = add_number(crc, state.row.rank);
    for (size_t i = 0; i < state.row.rank; ++i) {
      crc = add_number(crc, (uint64_t)state.row.sizes[i]);
    }
    crc = add_number(crc, state.row.offset);
  }
  return crc;
}

static void write_header(const etx_shared_memory* shared,
                         etx_snapshot_kind kind, uint64_t number,
                         uint8_t header[ETX_SNAPSHOT_HEADER]) {
  memset(header, 0, ETX_SNAPSHOT_HEADER);
  memcpy(header, magic, sizeof magic);
  write_number(header + AT_VERSION, (uint64_t)kind, 4);
  write_number(header + AT_LAYOUT, layout_checksum(shared->program), 4);
  fingerprint(shared->program, header + AT_FINGERPRINT);
  write_number(header + AT_NUMBER, number, 8);
}

static uint32_t checksum(etx_bytes snapshot) {
  const uint32_t crc = etx_crc32(0, (etx_bytes){snapshot.data, AT_CHECKSUM});
  return etx_crc32(crc, (etx_bytes){snapshot.data + ETX_SNAPSHOT_HEADER,
                                    snapshot.size - ETX_SNAPSHOT_HEADER});
}

void etx_snapshot_finish(const etx_shared_memory* shared,
                         etx_snapshot_kind kind, uint64_t number,
                         etx_bytes_mut snapshot) {
  const etx_bytes all = {snapshot.data, snapshot.size};
  write_header(shared, kind, number, snapshot.data);
  write_number(snapshot.data + AT_CHECKSUM, checksum(all), 4);
}

etx_status etx_snapshot_check(const etx_shared_memory* shared,
                              etx_bytes snapshot, etx_snapshot_kind* out_kind,
                              uint64_t* out_number, etx_diag* diag) {
  uint8_t expected[ETX_SNAPSHOT_HEADER];
  const uint8_t* found = snapshot.data;
  if (snapshot.size < ETX_SNAPSHOT_HEADER ||
      memcmp(found, magic, sizeof magic) != 0) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT, "not a snapshot");
  }
  write_header(shared, ETX_SNAPSHOT_WHOLE, 0, expected);
  const uint64_t version = read_number(found + AT_VERSION, 4);
  if (version != ETX_SNAPSHOT_WHOLE && version != ETX_SNAPSHOT_PREFIX) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "the snapshot has version %u, expected %u or %u",
                         version, (uint64_t)ETX_SNAPSHOT_WHOLE,
                         (uint64_t)ETX_SNAPSHOT_PREFIX);
  }
  if (memcmp(found + AT_FINGERPRINT, expected + AT_FINGERPRINT,
             ETX_FINGERPRINT_BYTES) != 0) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "the snapshot is of another program: fingerprint "
                         "%x, expected %x",
                         read_number(found + AT_FINGERPRINT, 8),
                         read_number(expected + AT_FINGERPRINT, 8));
  }
  if (memcmp(found + AT_LAYOUT, expected + AT_LAYOUT, 4) != 0) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "the snapshot has another layout of state");
  }
  *out_kind = (etx_snapshot_kind)version;
  *out_number = read_number(found + AT_NUMBER, 8);
  return ETX_OK;
}

etx_status etx_snapshot_check_content(etx_bytes snapshot, etx_diag* diag) {
  const uint64_t expected = read_number(snapshot.data + AT_CHECKSUM, 4);
  const uint64_t found = checksum(snapshot);
  if (expected == found) return ETX_OK;
  return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                       "the snapshot is damaged: checksum %x, expected %x",
                       found, expected);
}
