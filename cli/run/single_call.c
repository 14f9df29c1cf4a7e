#include "cli/run/single_call.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/run/input_value.h"
#include "cli/json/json_value.h"
#include "cli/run/dim_order_input.h"
#include "cli/program/port.h"
#include "cli/run/run_profile.h"
#include "cli/tensors/tensor_file.h"
#include "cli/program/instruction_source.h"
#include "cli/tensors/tensor_json.h"

// Tensors of more elements are printed with the edges of each dimension only.
enum { MOST_PRINTED = 64 };

typedef struct single_call_runner {
  etx_run_session* session;
  const etx_single_call* what;
  etx_pool* pool;
  etx_method* method;
  etx_port* inputs;
  etx_host_tensor* tensors;    // data of the inputs
  etx_dim_order_input* given;  // the same in the method's dimension order
  bool* is_set;                // by input: has a value
  bool* is_written;            // by output: was written to a file
  bool* is_input_written;      // by input: was written to a file
  json_t* printed;             // the object of --json, or NULL
  etx_diag diag;
} single_call_runner;

static etx_exit fail(const single_call_runner* run, etx_status status) {
  return etx_error_report("run", run->what->file, status, &run->diag);
}

static etx_exit fail_run(const single_call_runner* run, etx_status status) {
  etx_error_report("run", run->what->file, status, &run->diag);
  etx_instruction_source_explain(&run->session->module.program.pte, &run->diag,
                                 "run", run->what->file);
  return etx_exit_from_run_status(status);
}

static etx_text method_name(const single_call_runner* run) {
  return etx_text_of(run->what->method);
}

static const etx_program* program_of(const single_call_runner* run) {
  return &run->session->module.program;
}

static void print_port(const single_call_runner* run, const etx_port* port,
                       FILE* out) {
  fprintf(out, "%s: ", port->name);
  etx_port_print_type(program_of(run), method_name(run), port, out);
}

static etx_status describe(single_call_runner* run) {
  const size_t count = run->method->input_count;
  run->inputs = etx_pool_take(run->pool, count * sizeof *run->inputs);
  run->tensors = etx_pool_take(run->pool, count * sizeof *run->tensors);
  run->given = etx_pool_take(run->pool, count * sizeof *run->given);
  run->is_set = etx_pool_take(run->pool, count * sizeof *run->is_set);
  run->is_input_written =
      etx_pool_take(run->pool, count * sizeof *run->is_input_written);
  run->is_written =
      etx_pool_take(run->pool, run->method->output_count * sizeof(bool));
  if (run->inputs == NULL || run->tensors == NULL || run->given == NULL ||
      run->is_set == NULL || run->is_written == NULL ||
      run->is_input_written == NULL) {
    return etx_diag_fail(&run->diag, ETX_OUT_OF_MEMORY,
                         "not enough memory for inputs");
  }
  for (size_t i = 0; i < count; ++i) {
    ETX_TRY(etx_port_input(program_of(run), method_name(run), i,
                           &run->inputs[i], &run->diag));
  }
  return ETX_OK;
}

// Finds the input whose name is the first `size` bytes of `name`.
static bool find_input(const single_call_runner* run, const char* name,
                       size_t size, size_t* out_index) {
  for (size_t i = 0; i < run->method->input_count; ++i) {
    const char* const candidate = run->inputs[i].name;
    if (strlen(candidate) == size && memcmp(candidate, name, size) == 0) {
      *out_index = i;
      return true;
    }
  }
  return false;
}

static etx_exit refuse_input(const single_call_runner* run, const char* word) {
  const etx_text name = {word, strcspn(word, "=")};
  etx_usage_error_report("run",
                         "method '%s' has no input '%t'; its inputs are:",
                         run->what->method, name);
  for (size_t i = 0; i < run->method->input_count; ++i) {
    fputs("  ", stderr);
    print_port(run, &run->inputs[i], stderr);
    fputc('\n', stderr);
  }
  return ETX_EXIT_REFUSED;
}

static etx_status give(single_call_runner* run, size_t index,
                       const etx_value* value) {
  run->is_set[index] = true;
  if (value->kind == ETX_VALUE_TENSOR) {
    return etx_dim_order_input_set(run->method, index, &run->tensors[index],
                                   run->pool, &run->given[index], &run->diag);
  }
  return etx_method_set_value(run->method, index, value, &run->diag);
}

static etx_exit set_input(single_call_runner* run, const char* word) {
  const char* const equals = strchr(word, '=');
  if (equals == NULL) {
    return etx_usage_error_report(
        "run", "'--in %s' is not of the form NAME=VALUE", word);
  }
  size_t index = 0;
  if (!find_input(run, word, (size_t)(equals - word), &index)) {
    return refuse_input(run, word);
  }
  if (run->is_set[index]) {
    return etx_usage_error_report("run", "input '%s' is given twice",
                                  run->inputs[index].name);
  }
  etx_value value;
  const etx_status status =
      etx_input_value_read(&run->inputs[index], equals + 1, run->pool,
                           &run->tensors[index], &value, &run->diag);
  if (status != ETX_OK) return fail(run, status);
  const etx_status given = give(run, index, &value);
  return given == ETX_OK ? ETX_EXIT_DONE : fail_run(run, given);
}

// Scalars that were fixed when exported need not be given.
static etx_exit set_rest(single_call_runner* run) {
  for (size_t i = 0; i < run->method->input_count; ++i) {
    const etx_port* const port = &run->inputs[i];
    if (run->is_set[i]) continue;
    if (port->info.kind == ETX_PTE_TENSOR || port->info.varies) {
      fprintf(stderr,
              "etx run: input '%s' of method '%s' has no value; set it with "
              "--in ",
              port->name, run->what->method);
      print_port(run, port, stderr);
      fputc('\n', stderr);
      return ETX_EXIT_REFUSED;
    }
    const etx_value value = etx_port_fixed_value(port);
    const etx_status status = give(run, i, &value);
    if (status != ETX_OK) return fail_run(run, status);
  }
  return ETX_EXIT_DONE;
}

// The tensor that "--out NAME" names: an output, an input or a state.
static etx_status find_result(single_call_runner* run, etx_text name,
                              etx_host_tensor* out_tensor) {
  size_t index = 0;
  for (index = 0; index < run->method->output_count; ++index) {
    etx_port port;
    ETX_TRY(etx_port_output(program_of(run), method_name(run), index, &port,
                            &run->diag));
    if (!etx_text_is(name, port.name)) continue;
    const etx_value* value = NULL;
    ETX_TRY(etx_method_output(run->method, index, &value));
    if (value->kind != ETX_VALUE_TENSOR) {
      return etx_diag_fail(&run->diag, ETX_BAD_ARGUMENT,
                           "output '%t' is not a tensor", name);
    }
    run->is_written[index] = true;
    return etx_host_tensor_copy(&value->as.tensor, run->pool, out_tensor,
                                &run->diag);
  }
  if (find_input(run, name.data, name.size, &index) &&
      run->inputs[index].info.kind == ETX_PTE_TENSOR) {
    run->is_input_written[index] = true;
    *out_tensor = run->tensors[index];
    return ETX_OK;
  }
  etx_tensor state;
  etx_state_hold hold;
  if (etx_shared_memory_find(&run->session->shared.memory, name, &state, &hold,
                             NULL) == ETX_OK) {
    return etx_host_tensor_copy(&state, run->pool, out_tensor, &run->diag);
  }
  return etx_diag_fail(&run->diag, ETX_NOT_FOUND,
                       "the method has no output, input or state '%t'", name);
}

// Writes one file with the tensors of all --out options that name it.
static etx_exit write_file(single_call_runner* run, const char* path) {
  etx_tensor_item items[ETX_OPTION_LIST_MAX];
  size_t count = 0;
  for (size_t i = 0; i < run->what->outputs->count; ++i) {
    const char* const word = run->what->outputs->items[i];
    const char* const equals = strchr(word, '=');
    if (strcmp(equals + 1, path) != 0) continue;
    items[count].name.data = word;
    items[count].name.size = (size_t)(equals - word);
    const etx_status status =
        find_result(run, items[count].name, &items[count].tensor);
    if (status != ETX_OK) return fail(run, status);
    ++count;
  }
  const etx_status status =
      etx_tensor_file_write(path, items, count, run->pool, &run->diag);
  return status == ETX_OK ? ETX_EXIT_DONE
                          : etx_error_report("run", NULL, status, &run->diag);
}

static bool is_first_of_its_file(const etx_option_list* list, size_t index) {
  const char* const path = strchr(list->items[index], '=');
  for (size_t i = 0; i < index; ++i) {
    if (strcmp(strchr(list->items[i], '='), path) == 0) return false;
  }
  return true;
}

static etx_exit write_files(single_call_runner* run) {
  const etx_option_list* const list = run->what->outputs;
  for (size_t i = 0; i < list->count; ++i) {
    if (!is_first_of_its_file(list, i)) continue;
    const etx_exit code = write_file(run, strchr(list->items[i], '=') + 1);
    if (code != ETX_EXIT_DONE) return code;
  }
  return ETX_EXIT_DONE;
}

static json_t* json_of(const etx_value* value, const etx_host_tensor* tensor) {
  switch (value->kind) {
    case ETX_VALUE_TENSOR:
      return etx_tensor_json(tensor);
    case ETX_VALUE_INT:
      return json_integer(value->as.integer);
    case ETX_VALUE_BOOL:
      return json_boolean(value->as.boolean);
    case ETX_VALUE_DOUBLE:
      return etx_json_real(value->as.real);
    case ETX_VALUE_STRING:
      return etx_json_text(value->as.string);
    default:
      return json_null();
  }
}

static void print_value(const char* name, const etx_value* value,
                        const etx_host_tensor* tensor) {
  printf("%s: ", name);
  switch (value->kind) {
    case ETX_VALUE_TENSOR:
      etx_host_tensor_print_type(tensor->dtype, tensor->rank, tensor->sizes,
                                 stdout);
      fputs(" = ", stdout);
      etx_host_tensor_print(tensor, MOST_PRINTED, stdout);
      break;
    case ETX_VALUE_INT:
      printf("int = %" PRId64, value->as.integer);
      break;
    case ETX_VALUE_BOOL:
      printf("bool = %s", value->as.boolean ? "true" : "false");
      break;
    case ETX_VALUE_DOUBLE:
      printf("float = %.17g", value->as.real);
      break;
    case ETX_VALUE_STRING:
      printf("string = %.*s", (int)value->as.string.size,
             value->as.string.data);
      break;
    default:
      fputs("none", stdout);
      break;
  }
  fputc('\n', stdout);
}

static etx_status show(single_call_runner* run, const char* name,
                       const etx_value* value) {
  etx_host_tensor tensor = {.rank = 0};
  if (value->kind == ETX_VALUE_TENSOR) {
    ETX_TRY(etx_host_tensor_copy(&value->as.tensor, run->pool, &tensor,
                                 &run->diag));
  }
  if (run->printed != NULL) {
    json_object_set_new(run->printed, name, json_of(value, &tensor));
  } else {
    print_value(name, value, &tensor);
  }
  return ETX_OK;
}

static etx_status show_results(single_call_runner* run) {
  for (size_t i = 0; i < run->method->output_count; ++i) {
    etx_port port;
    const etx_value* value = NULL;
    ETX_TRY(etx_port_output(program_of(run), method_name(run), i, &port,
                            &run->diag));
    ETX_TRY(etx_method_output(run->method, i, &value));
    if (!run->is_written[i]) ETX_TRY(show(run, port.name, value));
  }
  for (size_t i = 0; i < run->method->input_count; ++i) {
    if (!run->inputs[i].info.is_mutable || run->is_input_written[i]) continue;
    const etx_value value = {
        .kind = ETX_VALUE_TENSOR,
        .as.tensor = etx_host_tensor_view(&run->tensors[i])};
    ETX_TRY(show(run, run->inputs[i].name, &value));
  }
  return ETX_OK;
}

static etx_exit run_method(single_call_runner* run) {
  if (run->what->profile == NULL) {
    const etx_status status =
        etx_run_session_run(run->session, run->method, &run->diag);
    return status == ETX_OK ? ETX_EXIT_DONE : fail_run(run, status);
  }
  etx_run_profile profile;
  etx_run_profile_init(&profile);
  const etx_status status =
      etx_run_profile_call(&profile, run->method, &run->diag);
  const etx_exit code =
      status == ETX_OK
          ? etx_run_profile_write(&profile, run->session->file.program,
                                  run->what->file, run->what->profile)
          : fail_run(run, status);
  etx_run_profile_close(&profile);
  return code;
}

static etx_exit execute(single_call_runner* run) {
  for (size_t i = 0; i < run->what->inputs->count; ++i) {
    const etx_exit code = set_input(run, run->what->inputs->items[i]);
    if (code != ETX_EXIT_DONE) return code;
  }
  const etx_exit rest = set_rest(run);
  if (rest != ETX_EXIT_DONE) return rest;
  const etx_exit ran = run_method(run);
  if (ran != ETX_EXIT_DONE) return ran;
  for (size_t i = 0; i < run->method->input_count; ++i) {
    if (run->given[i].dense != NULL)
      etx_dim_order_input_read_back(&run->given[i]);
  }
  const etx_exit written = write_files(run);
  if (written != ETX_EXIT_DONE) return written;
  if (run->what->json) run->printed = json_object();
  const etx_status shown = show_results(run);
  if (shown != ETX_OK) return fail(run, shown);
  if (run->printed == NULL || etx_json_print(run->printed)) {
    return ETX_EXIT_DONE;
  }
  return ETX_EXIT_MACHINE_FAILED;
}

etx_exit etx_single_call_run(etx_run_session* session,
                             const etx_single_call* what, etx_pool* pool) {
  for (size_t i = 0; i < what->outputs->count; ++i) {
    const char* const equals = strchr(what->outputs->items[i], '=');
    if (equals == NULL || !etx_tensor_file_has_known_suffix(equals + 1)) {
      return etx_usage_error_report(
          "run",
          "'--out %s' is not of the form NAME=FILE.npy or "
          "NAME=FILE.safetensors",
          what->outputs->items[i]);
    }
  }
  single_call_runner run = {.session = session, .what = what, .pool = pool};
  etx_diag_init(&run.diag);
  etx_status status =
      etx_run_session_method(session, what->method, &run.method, &run.diag);
  if (status == ETX_OK) status = describe(&run);
  if (status != ETX_OK) return fail(&run, status);
  return execute(&run);
}
