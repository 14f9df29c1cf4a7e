// Translation of sentences by a program: in batches with beam search, or one by
// one with greedy search.

#ifndef ETX_SAMPLES_TRANSLATE_TRANSLATE_BATCH_H
#define ETX_SAMPLES_TRANSLATE_TRANSLATE_BATCH_H

#include "samples/translate/translator.h"

// Translates all sentences, long ones first, `search->sentences` at once. A
// translation depends on its sentence only, not on the others.
ETX_MUST_USE etx_status etx_translator_translate_all(etx_translator* translator,
                                                     etx_sentence* sentences,
                                                     size_t count,
                                                     etx_search* search,
                                                     etx_diag* diag);

// Translates one sentence with greedy search.
ETX_MUST_USE etx_status
etx_translator_translate(etx_translator* translator, etx_text sentence,
                         etx_translation* out_translation, etx_diag* diag);

#endif
