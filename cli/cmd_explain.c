#include <stdio.h>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/options.h"

static const char about[] =
    "Tells what an exit code of etx (0 to 6) or a status of the C interface\n"
    "(such as TORN_STATE) means. Without CODE it lists all of them.\n";

static const char examples[] =
    "  etx explain 4\n"
    "  etx explain TORN_STATE\n";

typedef struct row {
  const char* code;
  const char* sentence;
} row;

static const row exit_codes[] = {
#define EXIT_CODE(NAME, number, sentence) {#number, sentence},
#include "cli/exit_code.def"
#undef EXIT_CODE
};

static const row statuses[] = {
#define STATUS(name, text) {#name, text},
#include "format/base/status.def"
#undef STATUS
};

static size_t print_rows(const row* rows, size_t count, etx_text wanted) {
  size_t printed = 0;
  for (size_t i = 0; i < count; ++i) {
    if (wanted.size != 0 && !etx_text_is(wanted, rows[i].code)) continue;
    printf("%-18s%s\n", rows[i].code, rows[i].sentence);
    ++printed;
  }
  return printed;
}

int etx_cmd_explain(int argc, char** argv) {
  const char* code = NULL;
  const etx_positional positionals[] = {
      {"CODE", "an exit code or the name of a status", &code, false}};
  const etx_usage usage = {"explain", about, positionals, 1,
                           NULL,      0,     examples,    NULL};
  const etx_options_result result = etx_options_read(&usage, argc, argv);
  if (result != ETX_OPTIONS_READ) return etx_options_exit(result);
  etx_text wanted = etx_text_of(code);
  const etx_text prefix = etx_text_of("ETX_");
  if (etx_text_starts_with(wanted, prefix)) {
    wanted.data += prefix.size;
    wanted.size -= prefix.size;
  }
  const size_t printed =
      print_rows(exit_codes, sizeof exit_codes / sizeof *exit_codes, wanted) +
      print_rows(statuses, sizeof statuses / sizeof *statuses, wanted);
  if (printed != 0) return ETX_EXIT_DONE;
  return (int)etx_refuse("explain", "no exit code or status is called '%s'",
                         code);
}
