// What the methods of a program take and give.

#include "generate/generator.h"

#include "format/pte/pte_program.h"
#include "generate/program_tokens.h"
#include "runtime/program.h"

static etx_status refuse(const etx_generator_method* bound, const char* what,
                         etx_diag* diag) {
  return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                       "method '%t' is not one that generates text: %s",
                       etx_pte_plan_name(&bound->method->plan), what);
}

// The upper bounds of an input's sizes, if it is int64 of that rank.
static bool read_input(const etx_generator_method* bound, size_t index,
                       uint8_t rank, etx_pte_tensor* out) {
  etx_port_info info;
  if (etx_program_input_at(bound->method->program,
                           etx_pte_plan_name(&bound->method->plan), index,
                           &info, NULL) != ETX_OK ||
      info.kind != ETX_PTE_TENSOR ||
      info.value.as.tensor.dtype != ETX_DTYPE_INT64 ||
      info.value.as.tensor.rank != rank) {
    return false;
  }
  *out = info.value.as.tensor;
  return true;
}

static size_t find(const etx_generator_method* bound, const char* name) {
  size_t index = SIZE_MAX;
  if (etx_method_find_input(bound->method, etx_text_of(name), &index) !=
      ETX_OK) {
    return SIZE_MAX;
  }
  return index;
}

static etx_status bind_optional(etx_generator_method* bound, etx_diag* diag) {
  etx_pte_tensor input;
  const size_t expected = 2 + (bound->padding != SIZE_MAX ? 1u : 0u) +
                          (bound->beam_rows != SIZE_MAX ? 1u : 0u);
  if (bound->method->input_count != expected) {
    return refuse(bound,
                  "it has inputs other than input_ids, position, padding and "
                  "beam_rows",
                  diag);
  }
  if (bound->padding != SIZE_MAX &&
      (!read_input(bound, bound->padding, 1, &input) ||
       (size_t)input.sizes[0] != bound->rows)) {
    return refuse(bound, "padding is not int64 [B]", diag);
  }
  if (bound->beam_rows == SIZE_MAX) return ETX_OK;
  if (!read_input(bound, bound->beam_rows, 2, &input) ||
      (size_t)input.sizes[0] != bound->rows) {
    return refuse(bound, "beam_rows is not int64 [B, L]", diag);
  }
  bound->most_entries = (size_t)input.sizes[1];
  return ETX_OK;
}

static etx_status bind_logits(etx_generator_method* bound, etx_diag* diag) {
  etx_port_info info;
  ETX_TRY(etx_program_output_at(bound->method->program,
                                etx_pte_plan_name(&bound->method->plan), 0,
                                &info, diag));
  const etx_pte_tensor* const tensor = &info.value.as.tensor;
  if (info.kind != ETX_PTE_TENSOR || tensor->dtype != ETX_DTYPE_FLOAT32 ||
      tensor->rank < 2 || tensor->rank > 3 ||
      (size_t)tensor->sizes[0] != bound->rows ||
      tensor->sizes[tensor->rank - 1] < 1) {
    return refuse(bound, "its first output is not float32 [B, V] or [B, S, V]",
                  diag);
  }
  bound->vocab_size = (size_t)tensor->sizes[tensor->rank - 1];
  bound->has_all_logits =
      tensor->rank == 3 && (size_t)tensor->sizes[1] == bound->most_tokens;
  return ETX_OK;
}

static etx_status bind_method(etx_generator_method* bound, etx_method* method,
                              etx_diag* diag) {
  etx_pte_tensor input;
  *bound = (etx_generator_method){.method = method};
  bound->input_ids = find(bound, "input_ids");
  bound->position = find(bound, "position");
  bound->padding = find(bound, "padding");
  bound->beam_rows = find(bound, "beam_rows");
  if (bound->position == SIZE_MAX ||
      !read_input(bound, bound->position, 1, &input)) {
    return refuse(bound, "it has no input position, int64 [1]", diag);
  }
  if (bound->input_ids == SIZE_MAX ||
      !read_input(bound, bound->input_ids, 2, &input) || input.sizes[0] < 1 ||
      input.sizes[1] < 1) {
    return refuse(bound, "it has no input input_ids, int64 [B, S]", diag);
  }
  bound->rows = (size_t)input.sizes[0];
  bound->most_tokens = (size_t)input.sizes[1];
  bound->least_tokens =
      input.dynamism == ETX_PTE_STATIC ? bound->most_tokens : 1;
  ETX_TRY(bind_optional(bound, diag));
  return bind_logits(bound, diag);
}

// ---- constant methods ----

static bool read_constant(const etx_generator* generator, const char* name,
                          etx_value* out_value) {
  etx_constant_hold hold;
  return etx_program_constant(generator->decode.method->program,
                              etx_text_of(name), out_value, &hold,
                              NULL) == ETX_OK;
}

static bool read_integer(const etx_generator* generator, const char* name,
                         int64_t* out_value) {
  etx_value value;
  if (!read_constant(generator, name, &value) || value.kind != ETX_VALUE_INT) {
    return false;
  }
  *out_value = value.as.integer;
  return true;
}

// A list of tokens that lies in the program, if there is one.
static void read_tokens(const etx_generator* generator, const char* name,
                        etx_token_list* out_list) {
  etx_value value;
  if (!read_constant(generator, name, &value) ||
      value.kind != ETX_VALUE_TENSOR ||
      value.as.tensor.dtype != ETX_DTYPE_INT64 || value.as.tensor.rank != 1) {
    return;
  }
  *out_list = (etx_token_list){value.as.tensor.data,
                               etx_tensor_numel(&value.as.tensor)};
}

// The tokens that end a text, if the program states them. An integer below 0
// says that there is none.
static etx_status read_ends(etx_generator* generator, etx_diag* diag) {
  static const char name[] = "get_eos_ids";
  const etx_program* const program = generator->decode.method->program;
  int64_t* const own = generator->eos_ids;
  etx_token_list ends;
  const etx_status status = etx_program_tokens(program, name, own, &ends, NULL);
  if (status == ETX_OUT_OF_RANGE) {
    return etx_program_tokens(program, name, own, &ends, diag);
  }
  if (status != ETX_OK || ends.ids != own) return ETX_OK;
  for (size_t i = 0; i < ends.count; ++i) {
    if (own[i] >= 0) own[generator->eos_count++] = own[i];
  }
  return ETX_OK;
}

static void read_context_length(etx_generator* generator) {
  int64_t length = 0;
  generator->context_length = SIZE_MAX;
  if (read_integer(generator, "get_max_context_len", &length) && length > 0) {
    generator->context_length = (size_t)length;
  }
  const size_t entries = generator->decode.most_entries;
  if (entries != 0 && entries < generator->context_length) {
    generator->context_length = entries;
  }
}

static etx_status check_sizes(const etx_generator_method* bound,
                              const etx_generator_method* decode,
                              etx_diag* diag) {
  if (bound->rows == decode->rows && bound->vocab_size == decode->vocab_size &&
      bound->most_entries == decode->most_entries) {
    return ETX_OK;
  }
  return refuse(bound, "its sizes are not those of decode", diag);
}

static etx_status init_generator(etx_generator* generator, etx_method* prefill,
                                 etx_method* decode, etx_diag* diag) {
  *generator = (etx_generator){.eos_count = 0};
  etx_generator_method* const bound = &generator->decode;
  ETX_TRY(bind_method(bound, decode, diag));
  if (prefill != NULL) {
    ETX_TRY(bind_method(&generator->prefill, prefill, diag));
    ETX_TRY(check_sizes(&generator->prefill, bound, diag));
  }
  generator->rows = bound->rows;
  generator->vocab_size = bound->vocab_size;
  read_context_length(generator);
  return read_ends(generator, diag);
}

etx_status etx_generator_init(etx_generator* generator, etx_method* prefill,
                              etx_method* decode, etx_diag* diag) {
  return etx_diag_seal(diag, init_generator(generator, prefill, decode, diag));
}

static etx_status add_verify(etx_generator* generator, etx_method* method,
                             etx_diag* diag) {
  etx_generator_method bound;
  ETX_TRY(bind_method(&bound, method, diag));
  ETX_TRY(check_sizes(&bound, &generator->decode, diag));
  if (!bound.has_all_logits || bound.most_tokens < 2) {
    return refuse(&bound, "it has no logits [B, S, V] of two tokens or more",
                  diag);
  }
  generator->verify = bound;
  return ETX_OK;
}

etx_status etx_generator_add_verify(etx_generator* generator,
                                    etx_method* verify, etx_diag* diag) {
  return etx_diag_seal(diag, add_verify(generator, verify, diag));
}

void etx_generator_defaults(const etx_generator* generator,
                            etx_generation_config* config) {
  if (generator->eos_count != 0) {
    config->eos_token_id =
        (etx_token_list){generator->eos_ids, generator->eos_count};
  } else {
    read_tokens(generator, "get_eos_ids", &config->eos_token_id);
  }
  (void)read_integer(generator, "get_pad_id", &config->pad_token_id);
  read_tokens(generator, "suppress_tokens", &config->suppress_tokens);
  read_tokens(generator, "begin_suppress_tokens",
              &config->begin_suppress_tokens);
}
