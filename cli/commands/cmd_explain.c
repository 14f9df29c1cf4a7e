// etx explain: what an exit code or a status means, when it occurs and what to
// do.

#include <stdbool.h>
#include <stdio.h>

#include "cli/commands/commands.h"
#include "cli/base/exit_code.h"
#include "cli/base/options.h"

static const char about[] =
    "Explains an exit code of etx (0 to 6) or a status of the C interface "
    "(such\n"
    "as TORN_STATE): what it means, when it occurs and what to do. Without "
    "CODE\n"
    "it lists all of them.\n";

static const char examples[] =
    "  etx explain 4\n"
    "  etx explain TORN_STATE\n";

typedef struct code_row {
  const char* code;
  const char* sentence;
  const char* page;  // explain_pages.def
} code_row;

static const char* const exit_pages[] = {
#define EXIT_PAGE(NAME, text) [ETX_EXIT_##NAME] = (text),
#define STATUS_PAGE(name, text)
#include "cli/commands/explain_pages.def"
#undef EXIT_PAGE
#undef STATUS_PAGE
};

static const char* const status_pages[ETX_STATUS_COUNT] = {
#define EXIT_PAGE(NAME, text)
#define STATUS_PAGE(name, text) [ETX_##name] = (text),
#include "cli/commands/explain_pages.def"
#undef EXIT_PAGE
#undef STATUS_PAGE
};

// Fills `out` with the rows of both lists, exit codes first, and returns their
// number.
static size_t read_rows(code_row* out) {
  size_t count = 0;
#define EXIT_CODE(NAME, number, sentence) \
  out[count++] = (code_row){#number, sentence, exit_pages[number]};
#include "cli/base/exit_code.def"
#undef EXIT_CODE
#define STATUS(name, text) \
  out[count++] = (code_row){#name, text, status_pages[ETX_##name]};
#include "format/base/status.def"
#undef STATUS
  return count;
}

enum { MAX_ROWS = 32 };

static bool print_page(const code_row* rows, size_t count, etx_text name) {
  for (size_t i = 0; i < count; ++i) {
    if (!etx_text_is(name, rows[i].code)) continue;
    printf("%s: %s\n\n%s", rows[i].code, rows[i].sentence, rows[i].page);
    return true;
  }
  return false;
}

int etx_cmd_explain(int argc, char** argv) {
  const char* code = NULL;
  const etx_usage usage = {
      .command = "explain",
      .about = about,
      .examples = examples,
      .positionals = ETX_POSITIONALS(
          {"CODE", "an exit code or the name of a status", &code, false}),
  };
  const etx_options_result result = etx_options_read(&usage, argc, argv);
  if (result != ETX_OPTIONS_READ) return etx_options_exit(result);
  etx_text name = etx_text_of(code);
  const etx_text prefix = etx_text_of("ETX_");
  if (etx_text_starts_with(name, prefix)) {
    name.data += prefix.size;
    name.size -= prefix.size;
  }
  code_row rows[MAX_ROWS];
  const size_t count = read_rows(rows);
  if (code == NULL) {
    for (size_t i = 0; i < count; ++i) {
      printf("%-18s%s\n", rows[i].code, rows[i].sentence);
    }
    return ETX_EXIT_DONE;
  }
  if (print_page(rows, count, name)) return ETX_EXIT_DONE;
  return (int)etx_usage_error_report(
      "explain", "no exit code or status is called '%s'", code);
}
