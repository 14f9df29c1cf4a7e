// A diagram of letters. A column is one step, or several, of which the one with
// the most live bytes is shown. A row is a range of bytes: its letter is the
// value that has the most of them, or a dot if less than half are in use.

#include <inttypes.h>

#include "cli/tensors/host_tensor.h"
#include "cli/memory/memory_formats.h"
#include "cli/base/plural.h"

enum {
  MOST_COLUMNS = 84,  // with the label and the frame, 100
  MOST_STATE_COLUMNS = 16,
  MOST_ROWS = 40,
  MOST_STATE_ROWS = 8,
  LISTED = 8,  // values at the peak
  LETTERS = 52,
};

typedef struct picture {
  const etx_memory_method* method;
  const etx_memory_arena* arena;
  FILE* out;
  uint32_t columns;
  uint32_t rows;
  uint64_t row_bytes;
  char cells[MOST_ROWS][MOST_COLUMNS];
} picture;

// Names come from the file, so control characters are replaced.
static void put_name(etx_text name, FILE* out) {
  for (size_t i = 0; i < name.size; ++i) {
    const unsigned char byte = (unsigned char)name.data[i];
    fputc(byte < 0x20 || byte >= 0x7f ? '?' : byte, out);
  }
}

static void put_bytes(uint64_t bytes, FILE* out) {
  static const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  double amount = (double)bytes;
  while (amount >= 1024 && unit + 1 < sizeof units / sizeof *units) {
    amount /= 1024;
    ++unit;
  }
  fprintf(out, unit == 0 || amount >= 1000 ? "%.0f %s" : "%.1f %s", amount,
          units[unit]);
}

static char letter_of(size_t box) {
  const size_t at = box % LETTERS;
  return (char)(at < 26 ? 'a' + (int)at : 'A' + (int)at - 26);
}

static bool lives_at(const etx_memory_box* box, uint32_t step) {
  for (size_t s = 0; s < box->span_count; ++s) {
    if (box->spans[s].start <= step && step < box->spans[s].end) return true;
  }
  return false;
}

static uint64_t common_divisor(uint64_t a, uint64_t b) {
  while (b != 0) {
    const uint64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

// If all offsets and sizes are multiples of a large enough unit, a row is one
// unit. Otherwise there are `most` rows.
static void choose_rows(picture* p, size_t first, size_t end, uint32_t most) {
  uint64_t unit = p->arena->bytes;
  for (size_t i = first; i < end; ++i) {
    unit = common_divisor(unit, p->method->boxes[i].offset);
    unit = common_divisor(unit, p->method->boxes[i].bytes);
  }
  p->rows = most;
  if (p->arena->bytes / unit <= most) {
    p->rows = (uint32_t)(p->arena->bytes / unit);
  }
  p->row_bytes = p->arena->bytes / p->rows + (p->arena->bytes % p->rows != 0);
}

static uint32_t first_step(const picture* p, uint32_t column) {
  return (uint32_t)((uint64_t)p->method->step_count * column / p->columns);
}

static uint32_t fullest_step(const picture* p, uint32_t column) {
  uint32_t fullest = first_step(p, column);
  for (uint32_t s = fullest; s < first_step(p, column + 1); ++s) {
    if (p->arena->live[s] > p->arena->live[fullest]) fullest = s;
  }
  return fullest;
}

static void draw_column(picture* p, uint32_t column, size_t first, size_t end) {
  const uint32_t step = fullest_step(p, column);
  uint64_t used[MOST_ROWS] = {0};
  uint64_t most[MOST_ROWS] = {0};
  for (uint32_t r = 0; r < p->rows; ++r) p->cells[r][column] = '.';
  for (size_t i = first; i < end; ++i) {
    const etx_memory_box* const box = &p->method->boxes[i];
    const uint64_t box_end = box->offset + box->bytes;
    if (box->bytes == 0 || !lives_at(box, step)) continue;
    uint64_t at = box->offset;
    for (uint64_t r = at / p->row_bytes; r < p->rows && at < box_end; ++r) {
      const uint64_t row_end = (r + 1) * p->row_bytes;
      const uint64_t part = (box_end < row_end ? box_end : row_end) - at;
      used[r] += part;
      if (part > most[r]) {
        most[r] = part;
        p->cells[r][column] = letter_of(i - first);
      }
      at += part;
    }
  }
  for (uint32_t r = 0; r < p->rows; ++r) {
    const uint64_t start = r * p->row_bytes;
    const uint64_t left = p->arena->bytes - start;
    const uint64_t all = left < p->row_bytes ? left : p->row_bytes;
    if (used[r] < all - all / 2) p->cells[r][column] = '.';
  }
}

static void print_rows(const picture* p) {
  for (uint32_t r = p->rows; r-- > 0;) {
    const bool is_top = r == p->rows - 1;
    fprintf(p->out, "%12s |%.*s|\n", is_top ? "address ^" : "", (int)p->columns,
            p->cells[r]);
  }
  fprintf(p->out, "%12s  0", "step");
  if (p->columns > 1) {
    fprintf(p->out, "%*u", (int)p->columns - 1,
            (unsigned)p->method->step_count - 1);
  }
  fputc('\n', p->out);
}

// ---- figures below the diagram ----

static void print_box(const picture* p, const etx_memory_box* box,
                      char letter) {
  char text[128];
  const uint32_t maker = etx_memory_first_write(box);
  const etx_pte_tensor tensor = etx_memory_tensor(p->method, box);
  const etx_memory_span* const last = &box->spans[box->span_count - 1];
  fprintf(p->out, "    %c  %10" PRIu64 " at %-10" PRIu64 " %5u-%-5u #%-5u ",
          letter, box->bytes, box->offset, (unsigned)box->spans[0].start,
          (unsigned)last->end, (unsigned)box->value);
  etx_host_tensor_print_type(tensor.dtype, tensor.rank, tensor.sizes, p->out);
  fputc(' ', p->out);
  if (box->is_input) {
    fputs(" input", p->out);
  } else if (box->kind == ETX_MEMORY_KIND_STATE) {
    fputs(" state", p->out);
  } else if (maker != ETX_VERIFY_NONE) {
    fputc(' ', p->out);
    put_name(etx_memory_step_name(p->method, maker, text, sizeof text), p->out);
  }
  if (box->is_output) fputs(", output", p->out);
  if (box->name.size > 0) {
    fputs(" '", p->out);
    put_name(box->name, p->out);
    fputc('\'', p->out);
  }
  fputc('\n', p->out);
}

// The largest boxes at the peak, in descending order.
static void print_peak_boxes(const picture* p, size_t first, size_t end) {
  const etx_memory_box* const boxes = p->method->boxes;
  size_t last = SIZE_MAX;
  size_t count = 0;
  size_t listed = 0;
  for (size_t i = first; i < end; ++i) {
    count += lives_at(&boxes[i], p->arena->peak_step);
  }
  for (; listed < LISTED && listed < count; ++listed) {
    size_t best = SIZE_MAX;
    for (size_t i = first; i < end; ++i) {
      const bool is_after = last == SIZE_MAX ||
                            boxes[i].bytes < boxes[last].bytes ||
                            (boxes[i].bytes == boxes[last].bytes && i > last);
      if (!is_after || !lives_at(&boxes[i], p->arena->peak_step)) continue;
      if (best == SIZE_MAX || boxes[i].bytes > boxes[best].bytes) best = i;
    }
    print_box(p, &boxes[best], letter_of(best - first));
    last = best;
  }
  if (count > listed) fprintf(p->out, "    and %zu more\n", count - listed);
}

static void print_figures(const picture* p) {
  char text[128];
  const etx_memory_arena* const arena = p->arena;
  fputs("  peak ", p->out);
  put_bytes(arena->peak_bytes, p->out);
  fprintf(p->out, " at step %u", (unsigned)arena->peak_step);
  const etx_text name =
      etx_memory_step_name(p->method, arena->peak_step, text, sizeof text);
  if (name.size > 0) {
    fputs(" (", p->out);
    put_name(name, p->out);
    fputc(')', p->out);
  }
  if (!arena->holds_state && arena->bound > 0) {
    fputs(", lower bound ", p->out);
    put_bytes(arena->bound, p->out);
    const uint64_t gap = etx_memory_gap(arena);
    fprintf(p->out, ", gap %" PRIu64 " bytes, %.2f %%", gap,
            100 * (double)gap / (double)arena->bound);
  }
  fputc('\n', p->out);
}

static void print_head(const picture* p, size_t count) {
  fputs("\nmethod '", p->out);
  put_name(p->method->name, p->out);
  fprintf(p->out, "', arena %u%s: ", (unsigned)p->arena->id,
          p->arena->holds_state ? ", state" : "");
  put_bytes(p->arena->bytes, p->out);
  fprintf(p->out, " (%" PRIu64 "), %zu value%s, %u step%s\n", p->arena->bytes,
          count, etx_plural(count), (unsigned)p->method->step_count,
          etx_plural(p->method->step_count));
}

static size_t count_used(const picture* p, size_t first, size_t end) {
  size_t count = 0;
  for (size_t i = first; i < end; ++i) {
    count += p->method->boxes[i].span_count > 0;
  }
  return count;
}

static void print_arena(picture* p) {
  const bool is_state = p->arena->holds_state;
  const uint32_t most = is_state ? MOST_STATE_COLUMNS : MOST_COLUMNS;
  const size_t first = p->arena->first_box;
  const size_t end = first + p->arena->box_count;
  const size_t count = count_used(p, first, end);
  print_head(p, count);
  if (count == 0) return;
  p->columns = p->method->step_count < most ? p->method->step_count : most;
  choose_rows(p, first, end, is_state ? MOST_STATE_ROWS : MOST_ROWS);
  for (uint32_t c = 0; c < p->columns; ++c) draw_column(p, c, first, end);
  print_rows(p);
  print_figures(p);
  print_peak_boxes(p, first, end);
}

static void print_empty(const etx_memory_map* map, FILE* out) {
  const char* comma = "\nmethods without planned memory:";
  for (size_t i = 0; i < map->method_count; ++i) {
    if (map->methods[i].arena_count > 0) continue;
    fprintf(out, "%s ", comma);
    put_name(map->methods[i].name, out);
    comma = ",";
  }
  if (*comma == ',') fputc('\n', out);
}

static void print_guesses(const etx_memory_map* map, FILE* out) {
  for (size_t i = 0; i < map->method_count; ++i) {
    if (map->methods[i].guessed_count == 0) continue;
    fprintf(out, "method '");
    put_name(map->methods[i].name, out);
    fprintf(
        out,
        "': %zu instruction%s of delegates or unknown operators, counted as "
        "accesses to all their arguments\n",
        map->methods[i].guessed_count,
        etx_plural(map->methods[i].guessed_count));
  }
}

etx_status etx_memory_text_print(const etx_memory_map* map, const char* path,
                                 FILE* out) {
  fprintf(out,
          "%s: %zu method%s; x axis: steps, y axis: addresses, one letter "
          "for each value\n",
          path, map->method_count, etx_plural(map->method_count));
  for (size_t i = 0; i < map->method_count; ++i) {
    const etx_memory_method* const method = &map->methods[i];
    for (size_t a = 0; a < method->arena_count; ++a) {
      picture p = {.method = method, .arena = &method->arenas[a], .out = out};
      print_arena(&p);
    }
  }
  print_empty(map, out);
  print_guesses(map, out);
  return ETX_OK;
}
