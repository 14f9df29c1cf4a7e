// The rows of passes/pass_list.def as a table, the check of --passes, and the
// runner.

#include "exporter/pass_list.h"

#include "exporter/host/nearest_name.h"

enum { REQUIRED = false, OPTIONAL = true, IMPORTED = false, LOWERED = true };

static const etx_pass passes[] = {
#define PASS(name, function, kind, ir, sentence) \
  {#name, kind, ir, sentence, function},
#include "exporter/passes/pass_list.def"
#undef PASS
    {NULL, false, false, NULL, NULL},
};

size_t etx_pass_count(void) { return sizeof passes / sizeof passes[0] - 1; }

const etx_pass* etx_pass_at(size_t index) { return &passes[index]; }

static const etx_pass* find_pass(etx_text name) {
  const etx_text present = etx_pass_present_name(name);
  for (size_t i = 0; i < etx_pass_count(); ++i) {
    if (etx_text_is(present, passes[i].name)) return &passes[i];
  }
  return NULL;
}

static etx_status fail_unknown(etx_text name, etx_diag* diag) {
  etx_nearest_name nearest = etx_nearest_start(name);
  char hint[96];
  for (size_t i = 0; i < etx_pass_count(); ++i) {
    etx_nearest_offer(&nearest, etx_text_of(passes[i].name));
  }
#define RENAMED(old, new) etx_nearest_offer(&nearest, etx_text_of(#old));
#include "exporter/passes/renamed_passes.def"
#undef RENAMED
  nearest.best = etx_pass_present_name(nearest.best);
  return etx_diag_fail(diag, ETX_NOT_FOUND, "there is no pass '%t'%s", name,
                       etx_nearest_hint(&nearest, hint, sizeof hint));
}

etx_status etx_pass_check_name(etx_text name, etx_diag* diag) {
  return find_pass(name) != NULL ? ETX_OK : fail_unknown(name, diag);
}

bool etx_pass_next_former_name(const char** list, etx_text* out_former,
                               etx_text* out_present) {
  etx_text entry;
  while (etx_pass_entry_next(list, &entry)) {
    *out_former = etx_pass_entry_name(entry);
    *out_present = etx_pass_present_name(*out_former);
    if (out_present->data != out_former->data) return true;
  }
  return false;
}

static etx_status check_entries(const char* switched_off, etx_diag* diag) {
  etx_text entry;
  while (etx_pass_entry_next(&switched_off, &entry)) {
    const etx_text name = etx_pass_entry_name(entry);
    const etx_pass* const pass = find_pass(name);
    if (pass == NULL) return fail_unknown(name, diag);
    // Without a mark, a name looks as if only that pass should run.
    if (name.size == entry.size) {
      return etx_diag_fail(
          diag, ETX_BAD_ARGUMENT,
          "passes can only be switched off: write '-%t', not '%t'", name, name);
    }
    const bool is_forced = entry.data[0] == '!';
    if (!pass->is_optional && !is_forced) {
      return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                           "pass '%t' cannot be switched off", name);
    }
  }
  return ETX_OK;
}

static etx_status run_one(etx_pass_context* context, const etx_pass* pass) {
  const size_t problems_before = context->problems->count;
  ETX_TRY(pass->run(context));
  if (context->problems->count != problems_before) {
    return etx_diag_fail(
        context->diag, ETX_UNSUPPORTED, "%z problems found by pass '%s'",
        context->problems->count - problems_before, pass->name);
  }
  const etx_status status =
      etx_ir_verify(context->module, pass->is_lowered, context->diag);
  if (status != ETX_OK) {
    etx_diag_append(context->diag, ", after pass '%s'", pass->name);
    return status;
  }
  if (context->after == NULL) return ETX_OK;
  return context->after(context->after_context, etx_text_of(pass->name),
                        pass->is_lowered, context->module);
}

etx_status etx_passes_run(etx_pass_context* context) {
  const char* const switched_off = context->options->passes;
  ETX_TRY(check_entries(switched_off, context->diag));
  for (size_t i = 0; i < etx_pass_count(); ++i) {
    if (etx_pass_entry_switches_off(switched_off, passes[i].name)) continue;
    ETX_TRY(run_one(context, &passes[i]));
  }
  return ETX_OK;
}
