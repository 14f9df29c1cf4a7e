#include "generate/token_choice.h"

static etx_status choose(const etx_generation_config* config,
                         const etx_text_so_far* text, float* logits,
                         const etx_choice_scratch* scratch, int64_t* out_id,
                         etx_diag* diag) {
  const size_t vocab = scratch->vocab_size;
  size_t count = 0;
  etx_logits_process(config, text, logits, vocab, scratch->marks);
  if (!config->do_sample) return etx_token_argmax(logits, vocab, out_id, diag);
  ETX_TRY(etx_token_candidates(config, logits, vocab, scratch->candidates,
                               &count, diag));
  *out_id = etx_token_draw(scratch->candidates, count, scratch->random);
  return ETX_OK;
}

etx_status etx_token_choose(const etx_generation_config* config,
                            const etx_text_so_far* text, float* logits,
                            const etx_choice_scratch* scratch, int64_t* out_id,
                            etx_diag* diag) {
  return etx_diag_seal(diag,
                       choose(config, text, logits, scratch, out_id, diag));
}
