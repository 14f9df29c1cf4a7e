// etx bisect: finds the first pass or other mechanism that changes a result.

#include <stdio.h>
#include <unistd.h>

#include "cli/base/exit_code.h"
#include "cli/base/kernels_option.h"
#include "cli/base/options.h"
#include "cli/bisect/model_bisect.h"
#include "cli/commands/commands.h"
#include "cli/json/json_value.h"
#include "cli/plan/operators_option.h"
#include "cli/plan/size_cap_option.h"

static const char about[] =
    "Plans the methods of DIR, or of one file, without and with what etx does\n"
    "to make them fast, calls METHOD with the same inputs, and finds the "
    "first\n"
    "mechanism that changes an output. Mechanisms are the optional passes of\n"
    "'etx plan' in their order, memory that values share over time, wider\n"
    "instruction sets and threads. The search switches on the first half of\n"
    "them, then a quarter more or less, and so on.\n\n"
    "Then METHOD is called without and with that mechanism, and the first\n"
    "instruction whose result differs is printed, as 'etx diff' prints it.\n"
    "With --case, the inputs are those of the first recorded call of METHOD,\n"
    "after the calls before it; without it they are generated. Numbers must\n"
    "be equal unless a tolerance is given. The exit code is 6 if a mechanism\n"
    "changes an output.\n";

static const char examples[] =
    "  etx bisect methods/ forward\n"
    "  etx bisect methods/ decode --case recorded --pack\n"
    "  etx bisect methods/ forward --passes=-fuse_attention\n"
    "  etx bisect model.pt2 forward --rtol 1e-5 --atol 1e-6 --json\n";

typedef struct bisect_command {
  etx_bisect_options search;
  const char* case_directory;
  uint64_t threads;
  bool json;
  bool quiet;
} bisect_command;

static void show_progress(size_t test, size_t most, const char* mechanism) {
  fprintf(stderr, "\r\033[Ktest %zu of at most %zu: on up to %s", test, most,
          mechanism);
  fflush(stderr);
}

static etx_exit report(const bisect_command* c, const etx_bisect_result* r) {
  if (!c->json) {
    etx_bisect_print(r, c->search.method);
  } else if (!etx_json_print(etx_bisect_json(r, c->search.method))) {
    return ETX_EXIT_MACHINE_FAILED;
  }
  return r->position == r->mechanisms.count ? ETX_EXIT_DONE
                                            : ETX_EXIT_DIFFERENT;
}

static etx_exit search(const bisect_command* c, etx_pool* pool) {
  etx_diag diag;
  etx_diag_init(&diag);
  etx_bisect_result* const result = etx_pool_take(pool, sizeof *result);
  if (result == NULL) {
    return etx_error_report("bisect", NULL, ETX_OUT_OF_MEMORY, &diag);
  }
  const etx_status status = etx_bisect_run(&c->search, pool, result, &diag);
  if (c->search.progress != NULL) fputs("\r\033[K", stderr);
  etx_exit code = ETX_EXIT_DONE;
  if (status == ETX_OK) {
    code = report(c, result);
  } else {
    code = etx_error_report("bisect", c->search.input, status, &diag);
    if (result->is_refused) code = etx_exit_from_run_status(status);
  }
  etx_bisect_close(result);
  return code;
}

static etx_exit run(bisect_command* c, etx_pool* pool) {
  etx_case_file cases;
  if (c->case_directory != NULL) {
    etx_diag diag;
    etx_diag_init(&diag);
    const etx_status status =
        etx_case_file_read(c->case_directory, pool, &cases, &diag);
    if (status != ETX_OK) {
      return etx_error_report("bisect", c->case_directory, status, &diag);
    }
    c->search.cases = &cases;
  }
  c->search.threads = (size_t)c->threads;
  if (!c->quiet && isatty(STDERR_FILENO)) c->search.progress = show_progress;
  return search(c, pool);
}

int etx_cmd_bisect(int argc, char** argv) {
  bisect_command c = {.threads = 2};
  etx_bisect_options* const o = &c.search;
  const etx_usage usage = {
      .command = "bisect",
      .about = about,
      .examples = examples,
      .positionals = ETX_POSITIONALS(
          {"DIR", "directory of methods, or one file", &o->input, true},
          {"METHOD", "the method to call", &o->method, true}),
      .options = ETX_OPTIONS(
          ETX_TEXT("case", 0, "DIR",
                   "take the inputs and earlier calls of recorded calls",
                   &c.case_directory),
          ETX_FLAG("pack", 0,
                   "plan with --pack: the pass pack_weights is one "
                   "of the mechanisms",
                   &o->packs),
          ETX_TEXT("passes", 0, "-NAME,...",
                   "leave optional passes off, to find what changes a result "
                   "besides them",
                   &o->passes_off),
          ETX_LIST("quantize", 0, "KIND[:PATTERN,...]",
                   "quantise weights as 'etx plan' does, in every plan",
                   &o->quantize),
          ETX_SIZE_CAP_OPTION(&o->cap), ETX_OPERATORS_OPTION(&o->ops),
          ETX_KERNELS_OPTION(&o->kernels),
          ETX_COUNT("threads", 0, "N",
                    "threads of the last mechanism (default: 2)", &c.threads),
          ETX_REAL("rtol", 0, "X", "relative tolerance (default: 0)",
                   &o->tolerance.relative),
          ETX_REAL("atol", 0, "X", "absolute tolerance (default: 0)",
                   &o->tolerance.absolute),
          ETX_FLAG("json", 0, "print the result as JSON", &c.json),
          ETX_FLAG("quiet", 'q', "print no progress", &c.quiet)),
  };
  const etx_options_result result = etx_options_read(&usage, argc, argv);
  if (result != ETX_OPTIONS_READ) return etx_options_exit(result);
  etx_pool pool;
  etx_pool_init(&pool);
  const etx_exit code = run(&c, &pool);
  etx_pool_close(&pool);
  return (int)code;
}
