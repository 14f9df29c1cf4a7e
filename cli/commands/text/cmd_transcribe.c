// etx transcribe: a sound file in, its text out.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/exit_code.h"
#include "cli/base/mapped_file.h"
#include "cli/base/options.h"
#include "cli/commands/text/text_commands.h"
#include "cli/text/interrupt.h"
#include "cli/text/log_mel.h"
#include "cli/text/text_command.h"
#include "cli/text/wav_file.h"
#include "runtime/program.h"

static const char about[] =
    "Prints what is said in a WAV file (PCM of 8, 16, 24 or 32 bits or floats, "
    "any\n"
    "rate, channels are averaged), with a program whose method encode reads\n"
    "samples, or the features of Whisper, such as those that etx.hf exports. "
    "Sound\n"
    "that is longer than the program's window, 30 seconds for Whisper, is "
    "read\n"
    "window by window, and each gives a line.\n\n"
    "The decoder begins with the tokens that the program states. For a model "
    "of\n"
    "several languages --language chooses one, and --task translate writes\n"
    "English. Ctrl-C ends the command, with exit code 130.\n";

static const char examples[] =
    "  etx transcribe whisper.pte speech.wav\n"
    "  etx transcribe whisper.pte rede.wav --language de --task translate\n";

typedef struct transcribe_options {
  const char* file;
  const char* sound;
  const char* language;  // NULL: as the program states
  int task;              // of "transcribe|translate"
  etx_generation_options generation;
} transcribe_options;

typedef struct transcription {
  const transcribe_options* options;
  etx_text_program program;
  etx_text_model model;
  etx_text_answer answer;
  etx_wav wav;
  size_t window;  // samples of a call
  size_t bands;   // of the features that the encoder reads; 0: it reads samples
  etx_log_mel mel;
} transcription;

static etx_exit report(const char* file, etx_status status,
                       const etx_diag* diag) {
  return etx_error_report("transcribe", file, status, diag);
}

// ---- the sound ----

static etx_status read_sound(transcription* t, etx_diag* diag) {
  etx_mapped_file file;
  ETX_TRY(etx_mapped_file_open(&file, t->options->sound, diag));
  etx_status status = etx_wav_read(file.bytes, &t->model.pool, &t->wav, diag);
  etx_mapped_file_close(&file);
  if (status == ETX_OK && t->wav.count == 0) {
    status = etx_diag_fail(diag, ETX_BAD_FILE, "the file has no samples");
  }
  if (status != ETX_OK) return status;
  const int64_t rate =
      t->bands != 0
          ? ETX_LOG_MEL_RATE
          : etx_text_model_integer(&t->model, "sampling_rate", t->wav.rate);
  if (rate < 1 || rate > INT32_MAX) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "constant 'sampling_rate' of the program is %i", rate);
  }
  return etx_wav_resample(&t->wav, (uint32_t)rate, &t->model.pool, diag);
}

// The features are those of Whisper, whose program says so.
static etx_status find_features(transcription* t, const etx_pte_tensor* tensor,
                                etx_diag* diag) {
  etx_text kind = {NULL, 0};
  (void)etx_text_model_string(&t->model, "model_type", &kind);
  if (!etx_text_is(kind, "whisper")) {
    return etx_diag_fail(
        diag, ETX_UNSUPPORTED,
        "the features of sound that a model '%t' reads are not computed here, "
        "only Whisper's: export the model with samples=True, so that the "
        "program reads samples",
        kind);
  }
  if (tensor->rank != 3 || tensor->sizes[0] != 1 || tensor->sizes[1] < 1 ||
      tensor->sizes[2] < ETX_LOG_MEL_LEAST) {
    return etx_diag_fail(diag, ETX_UNSUPPORTED,
                         "input 'input_features' of 'encode' is not float32 "
                         "[1, bands, frames]: export the program with batch=1");
  }
  t->bands = (size_t)tensor->sizes[1];
  t->window = (size_t)tensor->sizes[2] * ETX_LOG_MEL_HOP;
  return etx_log_mel_init(&t->mel, t->bands, &t->model.pool, diag);
}

// The samples that a call of the encoder takes, or stand behind its features.
static etx_status find_window(transcription* t, etx_diag* diag) {
  etx_method* method = NULL;
  etx_port_info info;
  size_t index = 0;
  bool has_features = false;
  ETX_TRY(etx_run_session_method(&t->model.session, "encode", &method, diag));
  ETX_TRY(etx_generate_run_find_sound(method, &index, &has_features, diag));
  ETX_TRY(etx_program_input_at(method->program, etx_text_of("encode"), index,
                               &info, diag));
  const etx_pte_tensor* const tensor = &info.value.as.tensor;
  if (info.kind != ETX_PTE_TENSOR || tensor->dtype != ETX_DTYPE_FLOAT32) {
    return etx_diag_fail(diag, ETX_UNSUPPORTED,
                         "the sound that 'encode' reads is not float32");
  }
  if (has_features) return find_features(t, tensor, diag);
  if (tensor->rank != 2 || tensor->sizes[0] != 1 || tensor->sizes[1] < 1) {
    return etx_diag_fail(diag, ETX_UNSUPPORTED,
                         "input 'input_values' of 'encode' is not float32 [1, "
                         "samples]: export the program with batch=1");
  }
  t->window = (size_t)tensor->sizes[1];
  return ETX_OK;
}

// ---- the tokens that the decoder begins with ----

static etx_status add_token(transcription* t, const char* name, int64_t* ids,
                            size_t* count, etx_diag* diag) {
  const etx_text text = etx_pool_format(&t->model.pool, "<|%s|>", name);
  const int64_t id = etx_tokenizer_find(&t->model.tokenizer, text);
  if (id < 0) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "the tokenizer has no token '%t': the model does not "
                         "know this language or task",
                         text);
  }
  ids[(*count)++] = id;
  return ETX_OK;
}

// Start, language, task, and that no times are wanted, as Whisper was trained.
static etx_status set_begin(transcription* t, etx_diag* diag) {
  static const char* const tasks[] = {"transcribe", "translate"};
  if (t->options->language == NULL && t->options->task == 0) return ETX_OK;
  if (t->options->language == NULL) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "--task translate needs the language that is spoken, "
                         "such as --language de");
  }
  enum { COUNT = 4 };
  int64_t* const ids = etx_pool_take(&t->model.pool, COUNT * sizeof *ids);
  if (ids == NULL) return etx_diag_fail(diag, ETX_HOST_FAILED, "no memory");
  size_t count = 0;
  ids[count++] =
      etx_text_model_integer(&t->model, "get_decoder_start_token_id", 0);
  ETX_TRY(add_token(t, t->options->language, ids, &count, diag));
  ETX_TRY(add_token(t, tasks[t->options->task], ids, &count, diag));
  ETX_TRY(add_token(t, "notimestamps", ids, &count, diag));
  t->answer.run.decoder_start = (etx_token_list){ids, count};
  return ETX_OK;
}

// ---- windows ----

// Runs the samples of a window, of which `features` is made if there is one.
static etx_exit transcribe_window(transcription* t, const float* samples,
                                  float* features) {
  const int32_t frames = (int32_t)(t->window / ETX_LOG_MEL_HOP);
  const int32_t sizes[2][3] = {{1, (int32_t)t->window},
                               {1, (int32_t)t->bands, frames}};
  const etx_tensor sound = {
      .data = features != NULL ? (void*)features : (void*)(uintptr_t)samples,
      .sizes = sizes[features != NULL],
      .rank = features != NULL ? 3 : 2,
      .dtype = ETX_DTYPE_FLOAT32};
  etx_pool pool;
  if (features != NULL) {
    etx_log_mel_write(&t->mel, samples, (size_t)frames, features);
  }
  t->answer.run.sound = &sound;
  etx_pool_init(&pool);
  const etx_exit code = etx_text_answer_run(&t->answer, &pool, NULL);
  etx_pool_close(&pool);
  return code;
}

static etx_exit transcribe_windows(transcription* t) {
  float* const window = calloc(t->window, sizeof *window);
  float* const features = t->bands == 0 ? NULL
                                        : calloc(t->window / ETX_LOG_MEL_HOP,
                                                 t->bands * sizeof *features);
  etx_exit code = ETX_EXIT_DONE;
  if (window == NULL || (features == NULL && t->bands != 0)) {
    etx_diag diag;
    etx_diag_init(&diag);
    const etx_status status = etx_diag_fail(
        &diag, ETX_HOST_FAILED, "no memory for %z samples", t->window);
    code = report(t->options->file, status, &diag);
  }
  for (size_t at = 0; at < t->wav.count && code == ETX_EXIT_DONE;
       at += t->window) {
    const size_t left = t->wav.count - at;
    const size_t count = left < t->window ? left : t->window;
    memset(window, 0, t->window * sizeof *window);
    memcpy(window, t->wav.samples + at, count * sizeof *window);
    code = transcribe_window(t, window, features);
  }
  free(features);
  free(window);
  return code;
}

// of etx_text_program_use
static etx_exit transcribe(void* context) {
  transcription* const t = context;
  etx_diag diag;
  etx_diag_init(&diag);
  if (!etx_text_answer_init(&t->answer, &t->program, &t->options->generation,
                            &t->model, ETX_TEXT_AS_LINE)) {
    return ETX_EXIT_REFUSED;
  }
  etx_status status = find_window(t, &diag);
  if (status == ETX_OK) status = set_begin(t, &diag);
  if (status != ETX_OK) return report(t->options->file, status, &diag);
  status = read_sound(t, &diag);
  if (status != ETX_OK) return report(t->options->sound, status, &diag);
  etx_interrupt_watch();
  return transcribe_windows(t);
}

int etx_cmd_transcribe(int argc, char** argv) {
  transcribe_options options = {.file = NULL};
  etx_option rows[ETX_OPTION_MAX + 1];
  etx_generation_options_init(&options.generation, INT32_MAX);
  const etx_usage usage = {
      .command = "transcribe",
      .about = about,
      .examples = examples,
      .positionals =
          ETX_POSITIONALS({"FILE", "the program, .pte", &options.file, true},
                          {"AUDIO", "the sound, .wav", &options.sound, true}),
      .options = etx_generation_options_rows(
          &options.generation,
          ETX_OPTIONS(
              ETX_TEXT("language", 0, "CODE",
                       "the language that is spoken, as the model "
                       "names it: en, de, ...",
                       &options.language),
              ETX_CHOICE("task", 0, "transcribe|translate",
                         "what to write (default: transcribe)", &options.task)),
          rows),
  };
  const etx_options_result read = etx_options_read(&usage, argc, argv);
  if (read != ETX_OPTIONS_READ) return etx_options_exit(read);
  transcription t = {.options = &options,
                     .program = etx_generation_program(
                         "transcribe", options.file, &options.generation)};
  return (int)etx_text_program_use(&t.program, &t.model, transcribe, &t);
}
