#include "cli/text/draft_options.h"

#include "cli/base/exit_code.h"

static etx_status open_assistant(etx_drafts* drafts,
                                 const etx_draft_options* options,
                                 const etx_run_session_options* session,
                                 etx_pool* pool, const etx_generate_run* run,
                                 etx_diag* diag) {
  size_t bytes = 0;
  ETX_TRY(etx_run_session_open(&drafts->session, options->assistant_model,
                               session, diag));
  drafts->has_session = true;
  ETX_TRY(etx_generate_run_open(&drafts->session, &drafts->generator, diag));
  ETX_TRY(etx_assistant_needed(&drafts->generator, &run->config, &bytes, diag));
  uint8_t* const memory = etx_pool_take(pool, bytes);
  if (memory == NULL) {
    return etx_diag_fail(diag, ETX_HOST_FAILED, "no memory of %z bytes", bytes);
  }
  return etx_assistant_init(&drafts->assistant, &drafts->generator,
                            &run->config, (etx_bytes_mut){memory, bytes}, diag);
}

etx_exit etx_drafts_open(etx_drafts* drafts, const char* command,
                         const etx_draft_options* options,
                         const etx_run_session_options* session, etx_pool* pool,
                         etx_generate_run* run) {
  etx_diag diag;
  etx_diag_init(&diag);
  *drafts = (etx_drafts){.has_session = false};
  if (options->assistant_model != NULL &&
      options->prompt_lookup_num_tokens != 0) {
    return etx_usage_error_report(
        command,
        "--assistant-model and --prompt-lookup-num-tokens are both given, "
        "expected one source of drafts");
  }
  if (options->assistant_model != NULL) {
    const etx_status status =
        open_assistant(drafts, options, session, pool, run, &diag);
    if (status != ETX_OK) {
      return etx_error_report(command, options->assistant_model, status, &diag);
    }
    drafts->assistant.num_assistant_tokens =
        (size_t)options->num_assistant_tokens;
    drafts->source = etx_assistant_source(&drafts->assistant);
    run->assistant = &drafts->assistant;
  } else if (options->prompt_lookup_num_tokens != 0) {
    drafts->lookup =
        (etx_prompt_lookup){(size_t)options->prompt_lookup_num_tokens,
                            (size_t)options->max_matching_ngram_size};
    drafts->source = etx_prompt_lookup_source(&drafts->lookup);
  }
  if (drafts->source.propose != NULL) run->drafts = &drafts->source;
  return ETX_EXIT_DONE;
}

void etx_drafts_close(etx_drafts* drafts) {
  if (drafts->has_session) etx_run_session_close(&drafts->session);
}
