// Output files on a machine that loses power. durable_file.c is compiled here
// over a file system in memory that knows what is on the disk. A cut, at any
// operation, leaves of what was not flushed any part: pieces of 512 bytes of
// files, and entries of the directory, in order or not. Afterwards each file
// must be the old one or the new one, whole, and the next run must remove what
// the interrupted one left. That run is interrupted as well, now and then.
//
// Sets of one to five files are written as `etx plan -o`, `plan --header`,
// `dump` and `select -o` write theirs: all of these use durable_file.h alone.
//
// ETX_POWER_CUTS is the number of cuts, 20000 if it is not set.

#define _DEFAULT_SOURCE  // as durable_file.c

#include "format/base/diag.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "exporter/host/durable_file.h"
#include "exporter/host/host_file.h"

enum {
  SECTOR = 512,
  MOST_BYTES = 5 * SECTOR,
  MOST_PIECES = 5,
  MOST_FILES = 5,
  MOST_NODES = 64,
  MOST_NAMES = 64,
  MOST_CHANGES = 256,
  MOST_OPEN = 32,
  NAME_BYTES_OF_DISK = 32,
  NOTHING = -1
};

static uint32_t random_state = 1;
static bool disk_loses_flushes;  // to see that this test notices it

static uint32_t draw(uint32_t bound) {
  random_state = random_state * 1664525u + 1013904223u;
  return (uint32_t)((uint64_t)random_state * bound >> 32);
}

// ---------------------------------------------------------------- the disk

// A file: what a read gives, and what stays without power.
typedef struct disk_node {
  uint8_t seen[MOST_BYTES];
  uint8_t stable[MOST_BYTES];
  size_t seen_bytes;
  size_t stable_bytes;
  bool is_dirty[MOST_PIECES];
  int lock;  // the open file that holds it, or NOTHING
} disk_node;

typedef struct disk_name {
  char name[NAME_BYTES_OF_DISK];
  int node;
} disk_name;

typedef struct disk_directory {
  disk_name names[MOST_NAMES];
  size_t count;
} disk_directory;

// A change of the directory that was not flushed. With two names it is a
// rename.
typedef struct disk_change {
  char from[NAME_BYTES_OF_DISK];  // is removed, if not empty
  char to[NAME_BYTES_OF_DISK];    // is set to `node`, if not empty
  int node;
} disk_change;

// An open file. Descriptors begin with 1; several may belong to one open file.
typedef struct open_file {
  int node;
  size_t descriptors;
} open_file;

static struct {
  disk_node nodes[MOST_NODES];
  disk_directory seen;
  disk_directory stable;
  disk_change changes[MOST_CHANGES];
  size_t change_count;
  open_file open[MOST_OPEN];
  size_t listed;      // entries that readdir has given
  size_t operations;  // since the run began
  size_t cut_at;
  size_t serial;  // of temporary names
  jmp_buf stop;
  struct dirent entry;
} disk;

static int find_name(const disk_directory* d, const char* name) {
  for (size_t i = 0; i < d->count; ++i) {
    if (strcmp(d->names[i].name, name) == 0) return (int)i;
  }
  return NOTHING;
}

static void remove_name(disk_directory* d, const char* name) {
  const int at = find_name(d, name);
  if (at != NOTHING) d->names[at] = d->names[--d->count];
}

static void set_name(disk_directory* d, const char* name, int node) {
  int at = find_name(d, name);
  if (at == NOTHING) {
    assert_true(d->count < MOST_NAMES);
    at = (int)d->count++;
    snprintf(d->names[at].name, sizeof d->names[at].name, "%s", name);
  }
  d->names[at].node = node;
}

static void apply(disk_directory* d, const disk_change* change) {
  if (change->to[0] != '\0') set_name(d, change->to, change->node);
  if (change->from[0] != '\0') remove_name(d, change->from);
}

static void change_directory(const char* from, const char* to, int node) {
  assert_true(disk.change_count < MOST_CHANGES);
  disk_change* const change = &disk.changes[disk.change_count++];
  snprintf(change->from, sizeof change->from, "%s", from);
  snprintf(change->to, sizeof change->to, "%s", to);
  change->node = node;
  apply(&disk.seen, change);
}

static void flush_node(disk_node* node) {
  memcpy(node->stable, node->seen, MOST_BYTES);
  node->stable_bytes = node->seen_bytes;
  memset(node->is_dirty, 0, sizeof node->is_dirty);
}

static void settle_node(disk_node* node) {
  const uint32_t share = draw(5);
  for (size_t i = 0; i < MOST_PIECES; ++i) {
    if (!node->is_dirty[i] || draw(4) >= share) continue;
    memcpy(node->stable + i * SECTOR, node->seen + i * SECTOR, SECTOR);
  }
  // The size is a fact of its own: it may come without what lies below it.
  if (draw(2) == 0) node->stable_bytes = node->seen_bytes;
}

// Puts a part of the changes on the disk: the first ones, or any of them.
static void settle_directory(void) {
  const bool is_ordered = draw(2) == 0;
  const size_t first = draw((uint32_t)disk.change_count + 1);
  const uint32_t share = draw(5);
  for (size_t i = 0; i < disk.change_count; ++i) {
    if (is_ordered ? i < first : draw(4) < share) {
      apply(&disk.stable, &disk.changes[i]);
    }
  }
}

// The process has ended.
static void forget_open_files(void) {
  memset(disk.open, 0, sizeof disk.open);
  for (size_t i = 0; i < MOST_NODES; ++i) disk.nodes[i].lock = NOTHING;
}

static void lose_power(void) {
  settle_directory();
  for (size_t i = 0; i < MOST_NODES; ++i) {
    disk_node* const node = &disk.nodes[i];
    settle_node(node);
    memcpy(node->seen, node->stable, MOST_BYTES);
    node->seen_bytes = node->stable_bytes;
    memset(node->is_dirty, 0, sizeof node->is_dirty);
  }
  disk.seen = disk.stable;
  disk.change_count = 0;
  forget_open_files();
}

// Before each operation that changes something. The interrupted one is done or
// not.
static void begin_operation(void) {
  if (disk.operations++ == disk.cut_at && draw(2) == 0) longjmp(disk.stop, 1);
}

static void end_operation(void) {
  if (disk.operations > disk.cut_at) longjmp(disk.stop, 1);
}

// -------------------------------------------- the calls of durable_file.c

static const char* name_of(const char* path) {
  return strncmp(path, "d/", 2) == 0 ? path + 2 : path;
}

// A descriptor of a new open file.
static int descriptor_of(int node) {
  for (int i = 0; i < MOST_OPEN; ++i) {
    if (disk.open[i].descriptors > 0) continue;
    disk.open[i] = (open_file){node, 1};
    return i + 1;
  }
  fail_msg("more than %d open files", MOST_OPEN);
  return -1;
}

static open_file* file_of(int descriptor) {
  assert_in_range(descriptor, 1, MOST_OPEN);
  return &disk.open[descriptor - 1];
}

static bool is_named(const disk_directory* d, int node) {
  for (size_t i = 0; i < d->count; ++i) {
    if (d->names[i].node == node) return true;
  }
  return false;
}

static bool is_in_use(int node) {
  for (size_t i = 0; i < MOST_OPEN; ++i) {
    if (disk.open[i].descriptors > 0 && disk.open[i].node == node) return true;
  }
  for (size_t i = 0; i < disk.change_count; ++i) {
    if (disk.changes[i].node == node) return true;
  }
  return is_named(&disk.seen, node) || is_named(&disk.stable, node);
}

static int new_node(void) {
  for (int i = 0; i < MOST_NODES; ++i) {
    if (is_in_use(i)) continue;
    memset(&disk.nodes[i], 0, sizeof disk.nodes[i]);
    disk.nodes[i].lock = NOTHING;
    return i;
  }
  fail_msg("more than %d files", MOST_NODES);
  return NOTHING;
}

enum { DIRECTORY_NODE = MOST_NODES };

static int disk_open(const char* path, int flags, ...) {
  if ((flags & O_DIRECTORY) != 0) return descriptor_of(DIRECTORY_NODE);
  assert_true((flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL));
  if (find_name(&disk.seen, name_of(path)) != NOTHING) {
    errno = EEXIST;
    return -1;
  }
  begin_operation();
  const int node = new_node();
  change_directory("", name_of(path), node);
  end_operation();
  return descriptor_of(node);
}

static int disk_openat(int directory, const char* name, int flags) {
  (void)directory, (void)flags;
  const int at = find_name(&disk.seen, name);
  if (at == NOTHING) {
    errno = ENOENT;
    return -1;
  }
  return descriptor_of(disk.seen.names[at].node);
}

static int disk_close(int descriptor) {
  open_file* const file = file_of(descriptor);
  assert_true(file->descriptors > 0);
  if (--file->descriptors == 0 && file->node != DIRECTORY_NODE &&
      disk.nodes[file->node].lock == descriptor) {
    disk.nodes[file->node].lock = NOTHING;
  }
  return 0;
}

static int disk_flock(int descriptor, int how) {
  (void)how;
  disk_node* const node = &disk.nodes[file_of(descriptor)->node];
  if (node->lock != NOTHING && node->lock != descriptor) {
    errno = EWOULDBLOCK;
    return -1;
  }
  node->lock = descriptor;
  return 0;
}

static int disk_fstat(int descriptor, struct stat* out) {
  const int node = file_of(descriptor)->node;
  memset(out, 0, sizeof *out);
  out->st_mode = S_IFREG;
  out->st_uid = geteuid();
  out->st_ino = (ino_t)node;
  out->st_nlink = is_named(&disk.seen, node) ? 1 : 0;
  return 0;
}

static int disk_stat(const char* path, struct stat* out) {
  const int at = find_name(&disk.seen, name_of(path));
  memset(out, 0, sizeof *out);
  out->st_mode = S_IFREG;
  out->st_uid = geteuid();
  if (at == NOTHING) {
    errno = ENOENT;
    return -1;
  }
  out->st_ino = (ino_t)disk.seen.names[at].node;
  return 0;
}

static int disk_fstatat(int directory, const char* name, struct stat* out,
                        int flags) {
  (void)directory, (void)flags;
  return disk_stat(name, out);
}

static int disk_unlink(const char* path) {
  const char* const name = name_of(path);
  if (find_name(&disk.seen, name) == NOTHING) {
    errno = ENOENT;
    return -1;
  }
  begin_operation();
  change_directory(name, "", NOTHING);
  end_operation();
  return 0;
}

static int disk_unlinkat(int directory, const char* name, int flags) {
  (void)directory, (void)flags;
  return disk_unlink(name);
}

static int disk_link(const char* from, const char* to) {
  const int at = find_name(&disk.seen, name_of(from));
  if (at == NOTHING) {
    errno = ENOENT;
    return -1;
  }
  begin_operation();
  change_directory("", name_of(to), disk.seen.names[at].node);
  end_operation();
  return 0;
}

static int disk_rename(const char* from, const char* to) {
  const int at = find_name(&disk.seen, name_of(from));
  assert_int_not_equal(at, NOTHING);
  begin_operation();
  change_directory(name_of(from), name_of(to), disk.seen.names[at].node);
  end_operation();
  return 0;
}

static int disk_fsync(int descriptor) {
  const int node = file_of(descriptor)->node;
  begin_operation();
  if (disk_loses_flushes) {
    // What was written is on the disk later, or never.
  } else if (node != DIRECTORY_NODE) {
    flush_node(&disk.nodes[node]);
  } else {
    disk.stable = disk.seen;
    disk.change_count = 0;
  }
  end_operation();
  return 0;
}

// A stream is its descriptor.
static FILE* disk_fdopen(int descriptor, const char* mode) {
  (void)mode;
  return (FILE*)&disk.open[descriptor - 1];
}

static int disk_fileno(FILE* stream) {
  return (int)((open_file*)(void*)stream - disk.open) + 1;
}

static size_t disk_fwrite(const void* bytes, size_t one, size_t size,
                          FILE* stream) {
  disk_node* const node = &disk.nodes[file_of(disk_fileno(stream))->node];
  (void)one;
  begin_operation();
  assert_true(node->seen_bytes + size <= MOST_BYTES);
  const size_t stop =
      disk.operations > disk.cut_at ? draw((uint32_t)size) : size;
  memcpy(node->seen + node->seen_bytes, bytes, stop);
  for (size_t i = 0; i < stop; ++i) {
    node->is_dirty[(node->seen_bytes + i) / SECTOR] = true;
  }
  node->seen_bytes += stop;
  end_operation();
  return size;
}

static int disk_fclose(FILE* stream) { return disk_close(disk_fileno(stream)); }

static int disk_fcntl(int descriptor, int command, int value) {
  (void)command, (void)value;
  ++file_of(descriptor)->descriptors;
  return descriptor;
}

static DIR* disk_fdopendir(int descriptor) {
  disk.listed = 0;
  return (DIR*)(void*)&disk.open[descriptor - 1];
}

// From the last one on: what was given may be removed.
static struct dirent* disk_readdir(DIR* list) {
  (void)list;
  if (disk.listed == 0) disk.listed = disk.seen.count + 1;
  if (--disk.listed == 0) return NULL;
  snprintf(disk.entry.d_name, sizeof disk.entry.d_name, "%s",
           disk.seen.names[disk.listed - 1].name);
  return &disk.entry;
}

static int disk_closedir(DIR* list) {
  return disk_close((int)((open_file*)(void*)list - disk.open) + 1);
}

static int disk_getentropy(void* bytes, size_t size) {
  memset(bytes, 0, size);
  memcpy(bytes, &disk.serial, sizeof disk.serial);
  ++disk.serial;
  return 0;
}

#undef _DEFAULT_SOURCE
#define open disk_open
#define openat disk_openat
#define close disk_close
#define flock(descriptor, how) disk_flock(descriptor, how)
#define fstat disk_fstat
#define fstatat disk_fstatat
#define stat(path, out) disk_stat(path, out)
#define unlink disk_unlink
#define unlinkat disk_unlinkat
#define link disk_link
#define rename disk_rename
#define fsync disk_fsync
#define fdopen disk_fdopen
#undef fileno
#define fileno disk_fileno
#define fwrite disk_fwrite
#define fclose disk_fclose
#define fflush(stream) 0
#undef ferror
#define ferror(stream) 0
#define setvbuf(stream, buffer, mode, size) 1
#define malloc(size) NULL
#define fcntl disk_fcntl
#define fdopendir disk_fdopendir
#define readdir disk_readdir
#define closedir disk_closedir
#define getentropy disk_getentropy
#include "exporter/host/durable_file.c"
#undef malloc

// ---------------------------------------------------------------- sets

static const char* const paths[MOST_FILES] = {"d/a.pte", "d/b.h", "d/c.yaml",
                                              "d/d.yaml", "d/e.safetensors"};

// Content `version` of a file: its size and its bytes differ from those of
// other versions and files.
static size_t content(size_t file, uint32_t version, uint8_t out[MOST_BYTES]) {
  const uint32_t mixed = version * 2654435761u + (uint32_t)file * 40503u;
  const size_t size = 1 + mixed % MOST_BYTES;
  for (size_t i = 0; i < size; ++i) {
    out[i] = (uint8_t)((mixed + i * 2246822519u) >> 13);
  }
  return size;
}

static etx_status write_file(etx_durable_file* out, size_t file,
                             uint32_t version) {
  uint8_t bytes[MOST_BYTES];
  const etx_bytes all = {bytes, content(file, version, bytes)};
  const etx_sink sink = etx_durable_file_sink(out);
  const size_t half = all.size / 2;
  ETX_TRY(etx_sink_write(&sink, all.data, half));
  ETX_TRY(etx_sink_write(&sink, all.data + half, all.size - half));
  return etx_durable_file_finish(out);
}

static etx_status write_set(size_t count, uint32_t version) {
  static etx_durable_file files[MOST_FILES];
  for (size_t i = 0; i < count; ++i) {
    ETX_TRY(etx_durable_file_open(&files[i], paths[i], NULL));
    ETX_TRY(write_file(&files[i], i, version));
  }
  return etx_durable_files_keep(files, count);
}

// What may be on the disk. A version below `sure` of a file would be lost.
typedef struct set_history {
  size_t count;
  uint32_t sure[MOST_FILES];  // 0: there may be no such file
  uint32_t attempted;
  bool follows_cut;  // no run has ended since the last interruption
} set_history;

typedef struct cut_tally {
  size_t cuts;
  size_t second_cuts;  // in a run that cleans up after an interrupted one
  size_t new_files;    // of an interrupted run, whole after the cut
  size_t mixed_sets;   // some files new and others old, each of them whole
  size_t bad_files;
} cut_tally;

// The version of a file, 0 if there is none, or UINT32_MAX if it is none of
// those that it may be.
static uint32_t version_of(const set_history* h, size_t file) {
  uint8_t bytes[MOST_BYTES];
  const int at = find_name(&disk.seen, name_of(paths[file]));
  if (at == NOTHING) return h->sure[file] == 0 ? 0 : UINT32_MAX;
  const disk_node* const node = &disk.nodes[disk.seen.names[at].node];
  const uint32_t first = h->sure[file] == 0 ? 1 : h->sure[file];
  for (uint32_t v = h->attempted; v >= first; --v) {
    const size_t size = content(file, v, bytes);
    if (size == node->seen_bytes && memcmp(bytes, node->seen, size) == 0) {
      return v;
    }
  }
  return UINT32_MAX;
}

// What is found after a loss of power stays.
static void check_files(set_history* h, bool stays, cut_tally* t) {
  size_t new_files = 0;
  for (size_t i = 0; i < h->count; ++i) {
    const uint32_t version = version_of(h, i);
    if (version == UINT32_MAX) {
      ++t->bad_files;
    } else if (stays) {
      h->sure[i] = version;
    }
    new_files += version == h->attempted;
  }
  t->new_files += new_files;
  t->mixed_sets += new_files > 0 && new_files < h->count;
}

static void check_names(const set_history* h) {
  assert_int_equal(disk.seen.count, h->count);
  for (size_t i = 0; i < h->count; ++i) {
    assert_int_not_equal(find_name(&disk.seen, name_of(paths[i])), NOTHING);
  }
}

// True if the run ended before the operation at which it was to be interrupted.
static bool run(set_history* h, size_t cut_at) {
  disk.operations = 0;
  disk.cut_at = cut_at;
  ++h->attempted;
  if (setjmp(disk.stop) != 0) return false;
  assert_int_equal(write_set(h->count, h->attempted), ETX_OK);
  for (size_t i = 0; i < h->count; ++i) h->sure[i] = h->attempted;
  h->follows_cut = false;
  check_names(h);
  return true;
}

// One more run, which is interrupted in half of the cases. Without power what
// was not flushed is lost in part; a process that was killed loses nothing, for
// the time being.
static void interrupt(set_history* h, cut_tally* t) {
  const bool is_cut = draw(3) > 0;
  const bool is_second = h->follows_cut;
  const bool has_ended = run(h, draw((uint32_t)h->count * 9 + 4));
  if (has_ended && draw(2) == 0) return;
  if (is_cut) {
    lose_power();
  } else {
    forget_open_files();
  }
  ++t->cuts;
  t->second_cuts += is_second && !has_ended;
  h->follows_cut = !has_ended;
  check_files(h, is_cut, t);
}

static void run_histories(size_t cuts, cut_tally* t) {
  while (t->cuts < cuts) {
    set_history h = {.count = 1 + draw(MOST_FILES)};
    memset(&disk, 0, sizeof disk);
    forget_open_files();
    for (uint32_t i = 1 + draw(20); i > 0; --i) interrupt(&h, t);
    assert_true(run(&h, SIZE_MAX));
  }
}

static size_t cuts_wanted(void) {
  const char* const text = getenv("ETX_POWER_CUTS");
  return text == NULL ? 20000 : strtoul(text, NULL, 10);
}

static void a_cut_leaves_each_file_old_or_new(void** state) {
  (void)state;
  cut_tally t = {0};
  const size_t wanted = cuts_wanted();
  run_histories(wanted, &t);
  printf(
      "%zu cuts, %zu of them in a run after an interrupted one; %zu files were "
      "new, %zu sets old in part\n",
      t.cuts, t.second_cuts, t.new_files, t.mixed_sets);
  assert_int_equal(t.bad_files, 0);
  assert_true(t.second_cuts > wanted / 10);
  assert_true(t.new_files > wanted / 10);
}

static void without_flushes_files_are_lost(void** state) {
  (void)state;
  cut_tally t = {0};
  disk_loses_flushes = true;
  run_histories(2000, &t);
  disk_loses_flushes = false;
  assert_true(t.bad_files > 200);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_cut_leaves_each_file_old_or_new),
      cmocka_unit_test(without_flushes_files_are_lost),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
