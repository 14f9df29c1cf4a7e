#include <stdio.h>
#include <string.h>

#include "cli/bench/bench_report.h"
#include "cli/base/plural.h"

// Operators and kinds that are listed. Further operators are one row together.
enum { MAX_ROWS = 20, MAX_KINDS = 24 };

static void format_unit(double value, const char* const* units, size_t count,
                        double step, char out[ETX_BENCH_TEXT]) {
  size_t unit = 0;
  while (unit + 1 < count && value >= 999.5) {
    value /= step;
    ++unit;
  }
  const int digits = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  snprintf(out, ETX_BENCH_TEXT, "%.*f %s", value == 0 ? 0 : digits, value,
           units[unit]);
}

static void format_bytes(double bytes, char out[ETX_BENCH_TEXT]) {
  static const char* const units[] = {"B", "KB", "MB", "GB", "TB"};
  format_unit(bytes, units, 5, 1000, out);
  // Whole bytes have no fraction.
  if (bytes < 999.5) snprintf(out, ETX_BENCH_TEXT, "%.0f B", bytes);
}

void etx_bench_format_seconds(double seconds, char out[ETX_BENCH_TEXT]) {
  static const char* const units[] = {"ns", "us", "ms", "s"};
  format_unit(1e9 * seconds, units, 4, 1000, out);
}

static void format_count(double count, char out[ETX_BENCH_TEXT]) {
  static const char* const units[] = {"", "K", "M", "G", "T"};
  if (count < 1000) {
    snprintf(out, ETX_BENCH_TEXT, "%.0f", count);
  } else {
    format_unit(count, units, 5, 1000, out);
  }
}

double etx_bench_roofline_seconds(const etx_operator_cost* cost,
                                  const etx_machine_limits* limits) {
  const double reading =
      limits->read_bytes > 0 ? (double)cost->bytes / limits->read_bytes : 0;
  const uint64_t singles = cost->multiply_adds - cost->byte_multiply_adds;
  const double multiplying =
      limits->multiply_adds > 0
          ? (double)singles / limits->multiply_adds +
                (double)cost->byte_multiply_adds / limits->byte_multiply_adds
          : 0;
  return reading > multiplying ? reading : multiplying;
}

static void print_memory(const etx_memory_needed* memory) {
  char scratch[ETX_BENCH_TEXT], temporary[ETX_BENCH_TEXT];
  char state[ETX_BENCH_TEXT], structures[ETX_BENCH_TEXT];
  format_bytes((double)memory->scratch_bytes, scratch);
  format_bytes((double)memory->temporary_bytes, temporary);
  format_bytes((double)memory->state_bytes, state);
  format_bytes((double)memory->structure_bytes, structures);
  printf("  memory: scratch %s, temporary %s, state %s, structures %s\n",
         scratch, temporary, state, structures);
}

static void print_inputs(const etx_bench_result* method) {
  if (method->inputs.count == 0) return;
  fputs("  inputs:", stdout);
  for (size_t i = 0; i < method->inputs.count; ++i) {
    const etx_synthetic_input* input = &method->inputs.items[i];
    printf("%s %s", i == 0 ? "" : ",", input->port.name);
    if (input->ordered.data == NULL) continue;
    putchar(' ');
    etx_host_tensor_print_type(input->tensor.dtype, input->tensor.rank,
                               input->tensor.sizes, stdout);
  }
  puts(method->restores ? "; inputs and state are restored before every call"
                        : "");
}

static void print_times(const etx_bench_result* method) {
  char text[5][ETX_BENCH_TEXT];
  const etx_bench_times* times = &method->times;
  etx_bench_format_seconds(times->median, text[0]);
  etx_bench_format_seconds(times->least, text[1]);
  etx_bench_format_seconds(times->tenth, text[2]);
  etx_bench_format_seconds(times->ninetieth, text[3]);
  etx_bench_format_seconds(times->ninety_ninth, text[4]);
  printf(
      "  a call: median %s; least %s, 10 %% %s, 90 %% %s, 99 %% %s (%zu "
      "times)\n",
      text[0], text[1], text[2], text[3], text[4], times->calls);
}

static void print_cost(const etx_bench_result* method) {
  char bytes[ETX_BENCH_TEXT], constants[ETX_BENCH_TEXT];
  char work[ETX_BENCH_TEXT];
  format_bytes((double)method->cost.bytes, bytes);
  format_bytes((double)method->cost.constant_bytes, constants);
  format_count((double)method->cost.multiply_adds, work);
  printf("  reads and writes %s (%s of constants), %s multiply-adds\n", bytes,
         constants, work);
  const double seconds = method->times.median;
  if (seconds <= 0 || method->limits.multiply_adds == 0) return;
  const double bound =
      etx_bench_roofline_seconds(&method->cost, &method->limits);
  char least[ETX_BENCH_TEXT];
  etx_bench_format_seconds(bound, least);
  printf("  that is %.1f GB/s and %.1f G multiply-adds/s\n",
         1e-9 * (double)method->cost.bytes / seconds,
         1e-9 * (double)method->cost.multiply_adds / seconds);
  printf(
      "  limits in this run: %.1f GB/s for as much memory, %.1f G "
      "multiply-adds/s (float32; int8 %.0f): %s, %.0f %% of the median\n",
      1e-9 * method->limits.read_bytes, 1e-9 * method->limits.multiply_adds,
      1e-9 * method->limits.byte_multiply_adds, least, 100 * bound / seconds);
}

// A row of the table of kinds or of operators.
static void print_row(const char* name, const etx_bench_operator* row,
                      const etx_bench_result* method,
                      const etx_bench_program* program) {
  char time[ETX_BENCH_TEXT], bytes[ETX_BENCH_TEXT], work[ETX_BENCH_TEXT];
  format_bytes((double)row->cost.bytes, bytes);
  format_count((double)row->cost.multiply_adds, work);
  if (program->is_static) {
    printf("  %6zu %10s %9s  %s\n", row->calls, bytes, work, name);
    return;
  }
  etx_bench_format_seconds(row->seconds, time);
  const double bound = etx_bench_roofline_seconds(&row->cost, &method->limits);
  printf("  %5.1f %% %9s %6zu %10s %9s",
         method->seconds > 0 ? 100 * row->seconds / method->seconds : 0, time,
         row->calls, bytes, work);
  if (method->limits.multiply_adds > 0 && row->seconds > 0) {
    printf(" %6.0f %%", 100 * bound / row->seconds);
  }
  printf("  %s\n", name);
}

static void print_head(const char* what, const etx_bench_result* method,
                       const etx_bench_program* program) {
  if (program->is_static) {
    printf("   calls      bytes       MAC  %s\n", what);
  } else {
    printf("    share      time  calls      bytes       MAC%s  %s\n",
           method->limits.multiply_adds > 0 ? "  limit" : "", what);
  }
}

static void add_row(etx_bench_operator* to, const etx_bench_operator* row) {
  to->calls += row->calls;
  to->seconds += row->seconds;
  etx_operator_cost_add(&to->cost, &row->cost);
}

static void print_kinds(const etx_bench_result* method,
                        const etx_bench_program* program) {
  const char* names[MAX_KINDS] = {NULL};
  etx_bench_operator rows[MAX_KINDS] = {{.calls = 0}};
  size_t count = 0;
  for (size_t i = 0; i < method->operator_count; ++i) {
    const char* kind = etx_operator_cost_kind(method->operators[i].op);
    size_t at = 0;
    while (at < count && strcmp(names[at], kind) != 0) ++at;
    if (at == MAX_KINDS) continue;
    if (at == count) names[count++] = kind;
    add_row(&rows[at], &method->operators[i]);
  }
  print_head("kind", method, program);
  // Selection sort: there are few kinds.
  for (size_t done = 0; done < count; ++done) {
    size_t best = done;
    for (size_t i = done + 1; i < count; ++i) {
      const bool is_more = program->is_static
                               ? rows[i].cost.bytes > rows[best].cost.bytes
                               : rows[i].seconds > rows[best].seconds;
      if (is_more) best = i;
    }
    print_row(names[best], &rows[best], method, program);
    names[best] = names[done];
    rows[best] = rows[done];
  }
}

static void print_operators(const etx_bench_result* method,
                            const etx_bench_program* program) {
  etx_bench_operator rest = {.calls = 0};
  char name[128];
  print_head("operator", method, program);
  for (size_t i = 0; i < method->operator_count; ++i) {
    const etx_bench_operator* row = &method->operators[i];
    if (i >= MAX_ROWS) {
      add_row(&rest, row);
      continue;
    }
    snprintf(name, sizeof name, "%s%s%s", row->op->name,
             row->op->overload[0] == '\0' ? "" : ".", row->op->overload);
    print_row(name, row, method, program);
  }
  if (rest.calls == 0) return;
  snprintf(name, sizeof name, "%zu other%s", method->operator_count - MAX_ROWS,
           etx_plural(method->operator_count - MAX_ROWS));
  print_row(name, &rest, method, program);
}

static void print_changes(const etx_bench_changes* changes) {
  printf(
      "  changes in measured calls: %llu shape phase%s, %llu kept size%s "
      "found, addresses computed %llu time%s\n",
      (unsigned long long)changes->phases, etx_plural(changes->phases),
      (unsigned long long)changes->hits, etx_plural(changes->hits),
      (unsigned long long)changes->addresses, etx_plural(changes->addresses));
}

static void print_method(const etx_bench_result* method,
                         const etx_bench_program* program) {
  char load[ETX_BENCH_TEXT], first[ETX_BENCH_TEXT];
  printf("\n%s", method->name);
  if (method->variant.size > 0) {
    printf(", variant %.*s", (int)method->variant.size, method->variant.data);
  }
  printf(": %zu instruction%s", method->instructions,
         etx_plural(method->instructions));
  if (!program->is_static) {
    etx_bench_format_seconds(method->load_seconds, load);
    etx_bench_format_seconds(method->first_seconds, first);
    printf(", %zu kernel call%s in a run, loaded in %s, first call %s",
           method->calls, etx_plural(method->calls), load, first);
  }
  putchar('\n');
  if (!program->is_static && method->method->symbol_count > 0) {
    print_changes(&method->changes);
  }
  print_memory(&method->memory);
  print_inputs(method);
  if (!program->is_static) print_times(method);
  print_cost(method);
  if (method->operator_count == 0) return;
  print_kinds(method, program);
  print_operators(method, program);
}

void etx_bench_print(const etx_bench_program* program) {
  char bytes[ETX_BENCH_TEXT], state[ETX_BENCH_TEXT], open[ETX_BENCH_TEXT];
  format_bytes((double)program->file_bytes, bytes);
  format_bytes((double)program->state_bytes, state);
  etx_bench_format_seconds(program->open_seconds, open);
  printf("%s: %s, state %s, opened in %s", program->path, bytes, state, open);
  if (program->is_static) {
    puts("; nothing was run, dynamic sizes are the largest");
  } else {
    char peak[ETX_BENCH_TEXT], own[ETX_BENCH_TEXT];
    format_bytes((double)program->memory.peak_bytes, peak);
    format_bytes((double)program->memory.own_bytes, own);
    printf(", %zu thread%s; resident memory: peak %s, anonymous %s\n",
           program->threads, etx_plural(program->threads), peak, own);
  }
  for (size_t i = 0; i < program->method_count; ++i) {
    print_method(&program->methods[i], program);
  }
}
