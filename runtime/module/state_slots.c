#include "runtime/module/state_slots.h"

#include "shared_memory/checksum.h"

enum {
  HEADER = 64,
  FIRST_SLOT = 4096,
  AT_BYTES = 8,      // in the header of the file
  AT_NUMBER = 8,     // in a slot
  AT_SIZE = 16,      // in a slot
  AT_CHECKSUM = 60,  // in both
  // In a snapshot: what identifies the program and the layout of its state.
  IDENTITY = 12,
  IDENTITY_BYTES = 36,
};

static const char file_magic[8] = {'E', 'T', 'X', 'S', 'T', 'A', 'T', '1'};
static const char slot_magic[8] = {'E', 'T', 'X', 'S', 'L', 'O', 'T', '1'};

static void write_number(uint8_t* out, uint64_t number, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) out[i] = (uint8_t)(number >> (8 * i));
}

static uint64_t read_number(const uint8_t* in, size_t bytes) {
  uint64_t number = 0;
  for (size_t i = bytes; i-- > 0;) number = number << 8 | in[i];
  return number;
}

// One call on a storage.
typedef struct state_slots {
  const etx_state_storage* storage;
  etx_diag* diag;
  etx_bytes_mut slot;  // memory for a whole slot
  uint64_t stride;     // bytes from one slot to the next
  bool has_header;     // false: nothing was saved here so far
  bool has_newest;     // false: no slot is whole
  size_t newest;       // index of the newest whole slot
  uint64_t number;     // of its save; 0: none
} state_slots;

size_t etx_state_slots_needed(const etx_shared_memory* shared) {
  return HEADER + etx_shared_memory_save_needed(shared);
}

static etx_status begin(state_slots* s, const etx_state_storage* storage,
                        const etx_shared_memory* shared, etx_bytes_mut memory,
                        etx_diag* diag) {
  const size_t needed = etx_state_slots_needed(shared);
  *s = (state_slots){.storage = storage, .diag = diag};
  if (memory.size < needed) {
    return etx_diag_fail(diag, ETX_OUT_OF_MEMORY,
                         "saved state needs %z bytes of memory, %z were given",
                         needed, memory.size);
  }
  s->slot = (etx_bytes_mut){memory.data, needed};
  s->stride = ((uint64_t)needed + FIRST_SLOT - 1) / FIRST_SLOT * FIRST_SLOT;
  return ETX_OK;
}

static uint64_t offset_of(const state_slots* s, size_t slot) {
  return FIRST_SLOT + slot * s->stride;
}

// ---------------------------------------------------------------- reading

static uint32_t checksum(etx_bytes slot) {
  const uint32_t crc = etx_crc32(0, (etx_bytes){slot.data, AT_CHECKSUM});
  return etx_crc32(crc,
                   (etx_bytes){slot.data + HEADER, slot.size - HEADER});
}

static void make_header(const state_slots* s, uint8_t header[HEADER]) {
  const etx_bytes all = {header, HEADER};
  memset(header, 0, HEADER);
  memcpy(header, file_magic, sizeof file_magic);
  write_number(header + AT_BYTES, s->slot.size - HEADER, 8);
  write_number(header + AT_CHECKSUM, checksum(all), 4);
}

// True for what an interrupted first save leaves: the header is on the disk
// before anything follows, so that is some of its bytes, and zeros for others.
static bool is_begun(const state_slots* s, const uint8_t* found, size_t size) {
  uint8_t header[HEADER];
  size_t missing = HEADER - size;
  make_header(s, header);
  for (size_t i = 0; i < size; ++i) {
    if (found[i] == header[i]) continue;
    if (found[i] != 0) return false;
    ++missing;
  }
  return missing > 0;
}

static etx_status read_header(state_slots* s) {
  uint8_t header[HEADER] = {0};
  const etx_state_storage* const storage = s->storage;
  const size_t size =
      storage->bytes < HEADER ? (size_t)storage->bytes : HEADER;
  const etx_bytes_mut out = {header, size};
  if (size > 0) ETX_TRY(storage->read(storage->context, 0, out, s->diag));
  if (storage->bytes <= HEADER && is_begun(s, header, size)) return ETX_OK;
  const etx_bytes all = {header, HEADER};
  if (size < HEADER || memcmp(header, file_magic, sizeof file_magic) != 0 ||
      read_number(header + AT_CHECKSUM, 4) != checksum(all)) {
    return etx_diag_fail(s->diag, ETX_BAD_ARGUMENT,
                         "'%s' is not a file of saved state", storage->name);
  }
  const uint64_t expected = s->slot.size - HEADER;
  const uint64_t found = read_number(header + AT_BYTES, 8);
  if (found != expected) {
    return etx_diag_fail(s->diag, ETX_BAD_ARGUMENT,
                         "'%s' has the state of another program: %u bytes, "
                         "expected %u",
                         storage->name, found, expected);
  }
  s->has_header = true;
  return ETX_OK;
}

// Reads the number of a slot; 0 if it cannot be whole.
static etx_status read_number_of(const state_slots* s, size_t slot,
                                 uint64_t* out_number) {
  uint8_t header[HEADER];
  const etx_state_storage* const storage = s->storage;
  const uint64_t offset = offset_of(s, slot);
  *out_number = 0;
  if (storage->bytes < offset || storage->bytes - offset < s->slot.size) {
    return ETX_OK;
  }
  ETX_TRY(storage->read(storage->context, offset,
                        (etx_bytes_mut){header, sizeof header}, s->diag));
  if (memcmp(header, slot_magic, sizeof slot_magic) == 0 &&
      read_number(header + AT_SIZE, 8) == s->slot.size - HEADER) {
    *out_number = read_number(header + AT_NUMBER, 8);
  }
  return ETX_OK;
}

static etx_status read_slot(state_slots* s, size_t slot, uint64_t number) {
  const etx_state_storage* const storage = s->storage;
  if (number == 0) return ETX_OK;
  ETX_TRY(storage->read(storage->context, offset_of(s, slot), s->slot,
                        s->diag));
  const etx_bytes bytes = {s->slot.data, s->slot.size};
  if (read_number(bytes.data + AT_CHECKSUM, 4) != checksum(bytes)) {
    return ETX_OK;
  }
  s->has_newest = true;
  s->newest = slot;
  s->number = number;
  return ETX_OK;
}

// Reads the newest whole slot into the memory.
static etx_status read_newest(state_slots* s) {
  uint64_t numbers[2] = {0, 0};
  ETX_TRY(read_header(s));
  if (!s->has_header) return ETX_OK;
  for (size_t i = 0; i < 2; ++i) ETX_TRY(read_number_of(s, i, &numbers[i]));
  const size_t first = numbers[1] > numbers[0] ? 1 : 0;
  ETX_TRY(read_slot(s, first, numbers[first]));
  if (s->has_newest) return ETX_OK;
  return read_slot(s, 1 - first, numbers[1 - first]);
}

static etx_status restore(const etx_state_storage* storage,
                          etx_shared_memory* shared, etx_bytes_mut memory,
                          etx_diag* diag) {
  state_slots s;
  ETX_TRY(begin(&s, storage, shared, memory, diag));
  ETX_TRY(read_newest(&s));
  if (!s.has_newest) {
    return etx_diag_fail(diag, ETX_NOT_FOUND,
                         "'%s' has no whole state: no save was completed",
                         storage->name);
  }
  const etx_bytes snapshot = {s.slot.data + HEADER, s.slot.size - HEADER};
  const etx_status status = etx_shared_memory_restore(shared, snapshot, diag);
  if (status != ETX_OK) etx_diag_append(diag, ", in '%s'", storage->name);
  return status;
}

etx_status etx_state_slots_restore(const etx_state_storage* storage,
                                   etx_shared_memory* shared,
                                   etx_bytes_mut memory, etx_diag* diag) {
  return etx_diag_seal(diag, restore(storage, shared, memory, diag));
}

// ---------------------------------------------------------------- writing

static etx_status write_header(const state_slots* s) {
  uint8_t header[HEADER];
  const etx_bytes all = {header, HEADER};
  const etx_state_storage* const storage = s->storage;
  make_header(s, header);
  ETX_TRY(storage->write(storage->context, 0, all, s->diag));
  return storage->flush(storage->context, s->diag);
}

static etx_status write_slot(const state_slots* s, size_t slot) {
  uint8_t* const header = s->slot.data;
  const etx_bytes all = {header, s->slot.size};
  const etx_state_storage* const storage = s->storage;
  memset(header, 0, HEADER);
  memcpy(header, slot_magic, sizeof slot_magic);
  write_number(header + AT_NUMBER, s->number + 1, 8);
  write_number(header + AT_SIZE, s->slot.size - HEADER, 8);
  write_number(header + AT_CHECKSUM, checksum(all), 4);
  ETX_TRY(storage->write(storage->context, offset_of(s, slot), all, s->diag));
  return storage->flush(storage->context, s->diag);
}

// The state of another program of the same size is not written over, either.
static etx_status check_owner(const state_slots* s,
                              const uint8_t identity[IDENTITY_BYTES]) {
  const uint8_t* const mine = s->slot.data + HEADER + IDENTITY;
  if (!s->has_newest || memcmp(identity, mine, IDENTITY_BYTES) == 0) {
    return ETX_OK;
  }
  return etx_diag_fail(s->diag, ETX_BAD_ARGUMENT,
                       "'%s' has the state of another program: fingerprint "
                       "%x, expected %x",
                       s->storage->name, read_number(identity + 4, 8),
                       read_number(mine + 4, 8));
}

static etx_status save(const etx_state_storage* storage,
                       const etx_shared_memory* shared, etx_bytes_mut memory,
                       etx_diag* diag) {
  state_slots s;
  uint8_t identity[IDENTITY_BYTES];
  size_t size = 0;
  ETX_TRY(begin(&s, storage, shared, memory, diag));
  if (storage->bytes > 0) ETX_TRY(storage->flush(storage->context, diag));
  ETX_TRY(read_newest(&s));
  memcpy(identity, s.slot.data + HEADER + IDENTITY, sizeof identity);
  ETX_TRY(etx_shared_memory_save(
      shared, (etx_bytes_mut){s.slot.data + HEADER, s.slot.size - HEADER},
      &size, diag));
  ETX_TRY(check_owner(&s, identity));
  if (!s.has_header) ETX_TRY(write_header(&s));
  return write_slot(&s, s.has_newest ? 1 - s.newest : 0);
}

etx_status etx_state_slots_save(const etx_state_storage* storage,
                                const etx_shared_memory* shared,
                                etx_bytes_mut memory, etx_diag* diag) {
  return etx_diag_seal(diag, save(storage, shared, memory, diag));
}
