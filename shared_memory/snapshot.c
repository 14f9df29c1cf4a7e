// Saves, restores and forks the state of a session.
//
//   byte  content of a snapshot; integers are little-endian
//   0     "ETXSNAP1"
//   8     u32 version of the format: 1
//   12    u32 checksum of the layout: every state's name, type, sizes, offset
//   16    fingerprint of the program, 32 bytes
//   48    u64 bytes of state
//   56    u32 zero
//   60    u32 checksum of bytes 0 to 59 and of the state
//   64    the bytes of arena 2

#include "shared_memory/checksum.h"
#include "shared_memory/session_header.h"
#include "shared_memory/shared_plan.h"

enum {
  SNAPSHOT_VERSION = 1,
  SNAPSHOT_HEADER = 64,
  AT_VERSION = 8,
  AT_LAYOUT = 12,
  AT_FINGERPRINT = 16,
  AT_STATE_BYTES = 48,
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
                         uint8_t header[SNAPSHOT_HEADER]) {
  memset(header, 0, SNAPSHOT_HEADER);
  memcpy(header, magic, sizeof magic);
  write_number(header + AT_VERSION, SNAPSHOT_VERSION, 4);
  write_number(header + AT_LAYOUT, layout_checksum(shared->program), 4);
  fingerprint(shared->program, header + AT_FINGERPRINT);
  write_number(header + AT_STATE_BYTES, shared->planned.size, 8);
}

static uint32_t checksum(const uint8_t* header, const uint8_t* state,
                         size_t bytes) {
  const uint32_t crc = etx_crc32(0, (etx_bytes){header, AT_CHECKSUM});
  return etx_crc32(crc, (etx_bytes){state, bytes});
}

size_t etx_shared_memory_save_needed(const etx_shared_memory* shared) {
  return SNAPSHOT_HEADER + shared->planned.size;
}

static etx_status save(const etx_shared_memory* shared, etx_bytes_mut out,
                       size_t* out_size, etx_diag* diag) {
  const size_t needed = etx_shared_memory_save_needed(shared);
  if (*shared->planned.torn != 0) {
    return etx_diag_fail(diag, ETX_TORN_STATE,
                         "torn state cannot be saved; reset it first");
  }
  if (out.size < needed) {
    return etx_diag_fail(diag, ETX_OUT_OF_MEMORY,
                         "a snapshot needs %z bytes, %z were given", needed,
                         out.size);
  }
  const uint8_t* state = shared->planned.data;
  const size_t bytes = shared->planned.size;
  write_header(shared, out.data);
  write_number(out.data + AT_CHECKSUM, checksum(out.data, state, bytes), 4);
  if (bytes > 0) memcpy(out.data + SNAPSHOT_HEADER, state, bytes);
  *out_size = needed;
  return ETX_OK;
}

etx_status etx_shared_memory_save(const etx_shared_memory* shared,
                                  etx_bytes_mut out, size_t* out_size,
                                  etx_diag* diag) {
  return etx_diag_seal(diag, save(shared, out, out_size, diag));
}

// Checks that a snapshot belongs to the session's program.
static etx_status check_header(const etx_shared_memory* shared,
                               etx_bytes snapshot, etx_diag* diag) {
  uint8_t expected[SNAPSHOT_HEADER];
  const uint8_t* found = snapshot.data;
  if (snapshot.size < SNAPSHOT_HEADER ||
      memcmp(found, magic, sizeof magic) != 0) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT, "not a snapshot");
  }
  write_header(shared, expected);
  const uint64_t version = read_number(found + AT_VERSION, 4);
  if (version != SNAPSHOT_VERSION) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "the snapshot has version %u, expected %u", version,
                         (uint64_t)SNAPSHOT_VERSION);
  }
  if (memcmp(found + AT_FINGERPRINT, expected + AT_FINGERPRINT,
             ETX_FINGERPRINT_BYTES) != 0) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "the snapshot is of another program");
  }
  if (memcmp(found + AT_LAYOUT, expected + AT_LAYOUT, 4) != 0) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "the snapshot has another layout of state");
  }
  const uint64_t bytes = read_number(found + AT_STATE_BYTES, 8);
  if (bytes != shared->planned.size ||
      snapshot.size - SNAPSHOT_HEADER != shared->planned.size) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "the snapshot has %u bytes of state in its header and "
                         "%z in fact, expected %z",
                         bytes, snapshot.size - SNAPSHOT_HEADER,
                         shared->planned.size);
  }
  return ETX_OK;
}

static etx_status restore(etx_shared_memory* shared, etx_bytes snapshot,
                          etx_diag* diag) {
  ETX_TRY(check_header(shared, snapshot, diag));
  const uint8_t* state = snapshot.data + SNAPSHOT_HEADER;
  const size_t bytes = shared->planned.size;
  const uint64_t expected_checksum =
      read_number(snapshot.data + AT_CHECKSUM, 4);
  const uint32_t found = checksum(snapshot.data, state, bytes);
  if (expected_checksum != found) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "the snapshot is damaged: checksum %x, expected %x",
                         (uint64_t)found, expected_checksum);
  }
  if (bytes > 0) memcpy(shared->planned.data, state, bytes);
  *shared->planned.torn = 0;
  return ETX_OK;
}

etx_status etx_shared_memory_restore(etx_shared_memory* shared,
                                     etx_bytes snapshot, etx_diag* diag) {
  return etx_diag_seal(diag, restore(shared, snapshot, diag));
}

static etx_status fork_block(const etx_shared_memory* from,
                             etx_shared_memory* out_fork, etx_bytes_mut block,
                             etx_diag* diag) {
  ETX_TRY(etx_session_check_block(from->program, block, diag));
  const uint32_t torn = *from->planned.torn;
  if (from->planned.size > 0) {
    memcpy(block.data + ETX_SHARED_MEMORY_HEADER, from->planned.data,
           from->planned.size);
  }
  etx_session_start(out_fork, from->program, block);
  *out_fork->planned.torn = torn;
  return ETX_OK;
}

etx_status etx_shared_memory_fork(const etx_shared_memory* from,
                                  etx_shared_memory* out_fork,
                                  etx_bytes_mut block, etx_diag* diag) {
  return etx_diag_seal(diag, fork_block(from, out_fork, block, diag));
}
