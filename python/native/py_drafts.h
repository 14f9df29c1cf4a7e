// Where etx_py_generate gets drafts (generate/draft_source.h): the prompt, a
// session of another program, or a function in Python.

#ifndef ETX_PYTHON_NATIVE_PY_DRAFTS_H
#define ETX_PYTHON_NATIVE_PY_DRAFTS_H

#include "generate/assistant.h"
#include "generate/prompt_lookup.h"
#include "python/native/native_internal.h"

typedef struct etx_py_drafts {
  etx_draft_source source;  // propose NULL: no drafts
  etx_prompt_lookup lookup;
  etx_generator generator;  // of the assistant
  etx_assistant assistant;
  void* block;              // of the assistant
  etx_py_session* session;  // of the assistant, in use; NULL: none
  PyObject* function;       // (ids, most): ids, as bytes of int64
  PyThreadState** thread;   // of etx_py_generate, which has released the GIL
} etx_py_drafts;

// Opens what `tuple` describes: () for no drafts, ("lookup", tokens, n-gram),
// ("assistant", prefill or None, decode, tokens) or ("function", function).
// `config` is borrowed until the end. False with an exception.
bool etx_py_drafts_open(etx_py_drafts* drafts, PyObject* tuple,
                        const etx_generation_config* config,
                        PyThreadState** thread);
void etx_py_drafts_close(etx_py_drafts* drafts);

#endif
