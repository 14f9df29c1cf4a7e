// Saved state on a disk that loses power. The disk of this test keeps what was
// written since the last flush apart; a cut puts any part of it on the disk, in
// any order, and loses the rest. After each cut, a restore must give the state
// of the last completed save or that of the interrupted one, whole. Restores
// after a cut, and saves that follow one, are cut as well.
//
// Writes are torn into pieces of 16 bytes. A slot has 176 bytes, so that is as
// if one of 5.5 KB were torn into sectors of 512. ETX_POWER_CUTS is the number
// of cuts, 100000 if it is not set.

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/module/state_file.h"
#include "runtime/module/state_slots.h"
#include "tests/support/assert_status.h"
#include "tests/support/counter_program.h"
#include "tests/support/guarded_memory.h"
#include "tests/support/short_kernel_table.h"

enum {
  PIECE = 16,
  DISK = 3 * 4096,
  MOST_WRITES = 512,
  BLOCK = ETX_SHARED_MEMORY_HEADER + COUNTER_STATE_BYTES,
  NEVER = 1000
};

static etx_diag diag;
static uint32_t random_state = 1;

static uint32_t draw(uint32_t bound) {
  random_state = random_state * 1664525u + 1013904223u;
  return (uint32_t)((uint64_t)random_state * bound >> 32);
}

// ---------------------------------------------------------------- the disk

// A piece that was written since the last flush.
typedef struct lost_piece {
  size_t index;
  uint8_t bytes[PIECE];
} lost_piece;

typedef struct test_disk {
  uint8_t stable[DISK];  // what stays without power
  size_t stable_bytes;
  uint8_t seen[DISK];  // what a read gives
  size_t seen_bytes;
  lost_piece pieces[MOST_WRITES];
  size_t piece_count;
  size_t cut_at;       // the operation that is interrupted, from 0
  size_t operations;   // so far
  bool flush_fails;    // instead of the cut, if that operation is a flush
  bool is_cut;
} test_disk;

// Puts some of the pieces on the disk, in any order.
static void settle(test_disk* disk, bool all) {
  for (size_t i = disk->piece_count; i > 1 && !all; --i) {
    const size_t other = draw((uint32_t)i);
    const lost_piece piece = disk->pieces[i - 1];
    disk->pieces[i - 1] = disk->pieces[other];
    disk->pieces[other] = piece;
  }
  const uint32_t share = draw(5);
  for (size_t i = 0; i < disk->piece_count; ++i) {
    const size_t end = (disk->pieces[i].index + 1) * PIECE;
    if (!all && draw(4) >= share) continue;
    memcpy(disk->stable + end - PIECE, disk->pieces[i].bytes, PIECE);
    if (end > disk->stable_bytes) disk->stable_bytes = end;
  }
  disk->piece_count = 0;
  if (all) disk->stable_bytes = disk->seen_bytes;
  // A size may also be on the disk without what lies below it.
  if (disk->stable_bytes > disk->seen_bytes || draw(4) == 0) {
    disk->stable_bytes = disk->seen_bytes;
  }
}

static void cut_power(test_disk* disk) {
  settle(disk, false);
  memcpy(disk->seen, disk->stable, DISK);
  disk->seen_bytes = disk->stable_bytes;
}

static bool is_interrupted(test_disk* disk) {
  if (disk->operations++ == disk->cut_at) disk->is_cut = true;
  return disk->is_cut;
}

static etx_status read_disk(void* context, uint64_t offset, etx_bytes_mut out,
                            etx_diag* unused) {
  test_disk* const disk = context;
  (void)unused;
  if (is_interrupted(disk)) return ETX_HOST_FAILED;
  assert_true(offset + out.size <= disk->seen_bytes);
  memcpy(out.data, disk->seen + offset, out.size);
  return ETX_OK;
}

// Writes up to `count` pieces.
static void write_pieces(test_disk* disk, size_t offset, etx_bytes bytes,
                         size_t count) {
  assert_int_equal(offset % PIECE, 0);
  for (size_t at = 0; at < bytes.size && count > 0; at += PIECE, --count) {
    const size_t size = bytes.size - at < PIECE ? bytes.size - at : PIECE;
    uint8_t* const seen = disk->seen + offset + at;
    memcpy(seen, bytes.data + at, size);
    assert_true(disk->piece_count < MOST_WRITES);
    lost_piece* const piece = &disk->pieces[disk->piece_count++];
    piece->index = (offset + at) / PIECE;
    memcpy(piece->bytes, seen, PIECE);
    const size_t end = offset + at + size;
    if (end > disk->seen_bytes) disk->seen_bytes = end;
  }
}

static etx_status write_disk(void* context, uint64_t offset, etx_bytes bytes,
                             etx_diag* unused) {
  test_disk* const disk = context;
  (void)unused;
  const bool is_cut = is_interrupted(disk);
  write_pieces(disk, (size_t)offset, bytes,
               is_cut ? draw((uint32_t)bytes.size / PIECE + 2) : SIZE_MAX);
  return is_cut ? ETX_HOST_FAILED : ETX_OK;
}

static etx_status flush_disk(void* context, etx_diag* unused) {
  test_disk* const disk = context;
  (void)unused;
  if (is_interrupted(disk)) {
    if (disk->flush_fails) settle(disk, false);
    return ETX_HOST_FAILED;
  }
  settle(disk, true);
  memcpy(disk->seen, disk->stable, DISK);
  return ETX_OK;
}

static etx_state_storage storage_of(test_disk* disk) {
  return (etx_state_storage){disk,      "disk",     disk->seen_bytes,
                             read_disk, write_disk, flush_disk};
}

// ---------------------------------------------------------------- sessions

typedef struct state_fixture {
  test_program* p;
  etx_program program;
  test_block block;
  etx_shared_memory shared;
  uint8_t memory[1024];
} state_fixture;

static void start_program(state_fixture* f, test_program* p) {
  f->p = p;
  f->block = test_block_new(BLOCK, ETX_SHARED_MEMORY_ALIGNMENT);
  assert_ok(etx_program_open(&f->program, test_file(f->p), &test_few_kernels,
                             NULL, &diag));
  assert_ok(
      etx_shared_memory_init(&f->shared, &f->program, f->block.bytes, &diag));
}

static void end(state_fixture* f) {
  assert_true(test_block_end(&f->block));
  test_program_end(f->p);
}

// The state of save `number`: bytes that differ from those of other saves.
static uint8_t state_byte(uint32_t number, size_t i) {
  const uint32_t mixed = (number + 1) * 2654435761u + (uint32_t)i * 40503u;
  return (uint8_t)(mixed >> 16);
}

static void set_state(state_fixture* f, uint32_t number) {
  for (size_t i = 0; i < f->shared.planned.size; ++i) {
    ((uint8_t*)f->shared.planned.data)[i] = state_byte(number, i);
  }
}

static bool has_state(const state_fixture* f, uint32_t number) {
  for (size_t i = 0; i < f->shared.planned.size; ++i) {
    if (((const uint8_t*)f->shared.planned.data)[i] != state_byte(number, i)) {
      return false;
    }
  }
  return true;
}

static etx_status save(state_fixture* f, test_disk* disk, size_t cut_at) {
  const etx_bytes_mut memory = {f->memory,
                                etx_state_slots_needed(&f->shared)};
  const etx_state_storage storage = storage_of(disk);
  disk->cut_at = cut_at;
  disk->operations = 0;
  disk->is_cut = false;
  return etx_state_slots_save(&storage, &f->shared, memory, NULL);
}

static etx_status restore_until(state_fixture* f, test_disk* disk,
                                size_t cut_at) {
  const etx_bytes_mut memory = {f->memory,
                                etx_state_slots_needed(&f->shared)};
  const etx_state_storage storage = storage_of(disk);
  disk->cut_at = cut_at;
  disk->operations = 0;
  disk->is_cut = false;
  memset(f->shared.planned.data, 0x55, f->shared.planned.size);
  return etx_state_slots_restore(&storage, &f->shared, memory, NULL);
}

static etx_status restore(state_fixture* f, test_disk* disk) {
  return restore_until(f, disk, NEVER);
}

typedef enum interruption {
  POWER_CUT,     // what was not flushed is lost in part
  KILL,          // the system goes on, and has not flushed yet
  FAILED_FLUSH,  // lost in part, but a read still shows it
} interruption;

// What a history of saves knows. The states that may be there are those from
// `completed` to `attempted`: two, unless a process was killed and nobody looked
// at the disk before the next save.
typedef struct save_history {
  uint32_t completed;  // 0: none
  uint32_t attempted;
  size_t cuts;
  size_t second_cuts;  // before anything was read or saved whole after a cut
  size_t seen_new;  // cuts after which the interrupted save was whole
} save_history;

static uint32_t find_state(const state_fixture* f, const save_history* h) {
  for (uint32_t n = h->attempted; n > 0 && n >= h->completed; --n) {
    if (has_state(f, n)) return n;
  }
  return 0;
}

// What is found stays: it is on the disk.
static void check(state_fixture* f, test_disk* disk, save_history* h) {
  const etx_status status = restore(f, disk);
  if (status == ETX_NOT_FOUND && h->completed == 0) return;
  assert_int_equal(status, ETX_OK);
  const uint32_t found = find_state(f, h);
  if (found == 0) {
    fail_msg("cut %zu: no state from %u to %u", h->cuts, h->completed,
             h->attempted);
  }
  h->seen_new += found == h->attempted && found != h->completed;
  h->completed = found;
}

// A second cut, while the state is restored or saved after the first one.
static void cut_recovery(state_fixture* f, test_disk* disk, save_history* h) {
  disk->flush_fails = false;
  if (draw(2) == 0) {
    const etx_status status = restore_until(f, disk, draw(4));
    if (!disk->is_cut) assert_true(status == ETX_OK || h->completed == 0);
  } else {
    set_state(f, ++h->attempted);
    if (save(f, disk, draw(10)) == ETX_OK) h->completed = h->attempted;
  }
  h->second_cuts += disk->is_cut;
  cut_power(disk);
}

static void interrupt(state_fixture* f, test_disk* disk, save_history* h) {
  const interruption kind = (interruption)draw(3);
  set_state(f, ++h->attempted);
  disk->flush_fails = kind == FAILED_FLUSH;
  const etx_status status = save(f, disk, draw(10));
  ++h->cuts;
  if (status == ETX_OK) h->completed = h->attempted;
  if (kind != POWER_CUT && draw(2) == 0) return;
  cut_power(disk);
  while (draw(3) == 0) cut_recovery(f, disk, h);
  check(f, disk, h);
}

static size_t cuts_wanted(void) {
  const char* const text = getenv("ETX_POWER_CUTS");
  return text == NULL ? 100000 : strtoul(text, NULL, 10);
}

// Histories of 1 to 40 saves, each of which is interrupted at any operation.
static void a_cut_leaves_the_old_state_or_the_new_one(void** state) {
  (void)state;
  static test_disk disk;
  state_fixture f;
  save_history total = {0};
  const size_t wanted = cuts_wanted();
  start_program(&f, counter_program(true, false));
  while (total.cuts < wanted) {
    save_history h = {0};
    memset(&disk, 0, sizeof disk);
    for (uint32_t i = 1 + draw(40); i > 0; --i) interrupt(&f, &disk, &h);
    total.cuts += h.cuts;
    total.second_cuts += h.second_cuts;
    total.seen_new += h.seen_new;
  }
  printf(
      "%zu interrupted saves, the new state was there after %zu; %zu second "
      "cuts\n",
      total.cuts, total.seen_new, total.second_cuts);
  assert_true(total.second_cuts >= wanted / 10);
  assert_in_range(total.seen_new, wanted / 100, wanted);
  end(&f);
}

// Without its flushes, the same disk loses states: the test sees that.
static etx_status do_not_flush(void* context, etx_diag* unused) {
  (void)context;
  (void)unused;
  return ETX_OK;
}

static void a_save_without_flushes_loses_states(void** state) {
  (void)state;
  static test_disk disk;
  state_fixture f;
  size_t lost = 0;
  start_program(&f, counter_program(true, false));
  for (int round = 0; round < 1000; ++round) {
    memset(&disk, 0, sizeof disk);
    for (uint32_t i = 1; i <= 3; ++i) {
      etx_state_storage storage = storage_of(&disk);
      storage.flush = do_not_flush;
      disk.cut_at = NEVER;
      set_state(&f, i);
      assert_int_equal(
          etx_state_slots_save(&storage, &f.shared,
                               (etx_bytes_mut){f.memory, sizeof f.memory},
                               NULL),
          ETX_OK);
    }
    cut_power(&disk);
    lost += restore(&f, &disk) != ETX_OK || !has_state(&f, 3);
  }
  assert_true(lost > 300);
  end(&f);
}

// ---------------------------------------------------------------- files

static char path[] = "/tmp/etx_state_XXXXXX";

static void write_file(const char* text) {
  FILE* const file = fopen(path, "w");
  assert_non_null(file);
  fputs(text, file);
  fclose(file);
}

static int set_up(void** state) {
  (void)state;
  strcpy(path, "/tmp/etx_state_XXXXXX");
  const int file = mkstemp(path);
  if (file >= 0) close(file);
  return file < 0 ? -1 : 0;
}

static int tear_down(void** state) {
  (void)state;
  return unlink(path);
}

static void a_file_gives_back_the_last_state(void** state) {
  (void)state;
  state_fixture f;
  start_program(&f, counter_program(true, false));
  assert_int_equal(unlink(path), 0);
  assert_int_equal(etx_state_file_restore(&f.shared, path, NULL),
                   ETX_NOT_FOUND);
  for (uint32_t i = 1; i < 6; ++i) {
    set_state(&f, i);
    assert_ok(etx_state_file_save(&f.shared, path, &diag));
    set_state(&f, 100);
    assert_ok(etx_state_file_restore(&f.shared, path, &diag));
    assert_true(has_state(&f, i));
  }
  struct stat facts;
  assert_int_equal(stat(path, &facts), 0);
  assert_in_range(facts.st_size, 8192, 3 * 4096);
  end(&f);
}

static void assert_both_refused(state_fixture* f, etx_status expected,
                           const char* words) {
  struct stat before, after;
  assert_int_equal(stat(path, &before), 0);
  set_state(f, 7);
  for (int saves = 0; saves < 2; ++saves) {
    etx_diag_init(&diag);
    const etx_status status =
        saves == 1 ? etx_state_file_save(&f->shared, path, &diag)
                   : etx_state_file_restore(&f->shared, path, &diag);
    assert_int_equal(status, expected);
    if (ETX_MESSAGES && strstr(diag.text, words) == NULL) {
      fail_msg("'%s', not '%s'", diag.text, words);
    }
  }
  assert_true(has_state(f, 7));
  assert_int_equal(stat(path, &after), 0);
  assert_int_equal(before.st_size, after.st_size);
}

static void other_files_are_refused_and_stay(void** state) {
  (void)state;
  state_fixture f, other;
  start_program(&f, counter_program(true, false));
  write_file("important notes, which are no saved state\n");
  assert_both_refused(&f, ETX_BAD_ARGUMENT, "is not a file of saved state");
  assert_int_equal(unlink(path), 0);
  assert_ok(etx_state_file_save(&f.shared, path, &diag));
  start_program(&other, counter_program(false, false));
  assert_both_refused(&other, ETX_BAD_ARGUMENT, "another program: fingerprint");
  assert_ok(etx_state_file_restore(&f.shared, path, &diag));
  end(&other);
  end(&f);
}

static void torn_state_makes_no_file(void** state) {
  (void)state;
  state_fixture f;
  start_program(&f, counter_program(true, false));
  assert_int_equal(unlink(path), 0);
  *f.shared.planned.torn = 1;
  assert_int_equal(etx_state_file_save(&f.shared, path, NULL), ETX_TORN_STATE);
  assert_int_equal(access(path, F_OK), -1);
  write_file("");  // for tear_down
  end(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_cut_leaves_the_old_state_or_the_new_one),
      cmocka_unit_test(a_save_without_flushes_loses_states),
      cmocka_unit_test_setup_teardown(a_file_gives_back_the_last_state, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(other_files_are_refused_and_stay, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(torn_state_makes_no_file, set_up,
                                      tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
