#include "cli/run/run_trace.h"

#include <stdlib.h>

#include "cli/base/output_file.h"

void etx_run_trace_init(etx_run_trace* trace) {
  *trace = (etx_run_trace){.traces = NULL};
}

void etx_run_trace_close(etx_run_trace* trace) {
  for (size_t i = 0; i < trace->count; ++i) {
    free(trace->traces[i]->marks);
    free(trace->traces[i]);
  }
  free(trace->traces);
}

static etx_status start(etx_call_trace* trace, etx_method* method,
                        etx_diag* diag) {
  const size_t bytes = etx_call_trace_needed(method);
  uint8_t* const marks = malloc(bytes);
  if (marks == NULL) return ETX_OUT_OF_MEMORY;
  const etx_status status =
      etx_call_trace_start(trace, method, (etx_bytes_mut){marks, bytes}, diag);
  if (status != ETX_OK) free(marks);
  return status;
}

static etx_status find_or_start(etx_run_trace* all, etx_method* method,
                                etx_call_trace** out_trace, etx_diag* diag) {
  for (size_t i = 0; i < all->count; ++i) {
    if (all->traces[i]->method != method) continue;
    *out_trace = all->traces[i];
    return ETX_OK;
  }
  etx_call_trace** const traces =
      realloc(all->traces, (all->count + 1) * sizeof *traces);
  if (traces == NULL) return ETX_OUT_OF_MEMORY;
  all->traces = traces;
  etx_call_trace* const trace = malloc(sizeof *trace);
  if (trace == NULL) return ETX_OUT_OF_MEMORY;
  const etx_status status = start(trace, method, diag);
  if (status != ETX_OK) {
    free(trace);
    return status;
  }
  traces[all->count++] = trace;
  *out_trace = trace;
  return ETX_OK;
}

etx_status etx_run_trace_call(etx_run_trace* all, etx_method* method,
                              etx_diag* diag) {
  etx_call_trace* trace = NULL;
  ETX_TRY(find_or_start(all, method, &trace, diag));
  etx_method_observe(method, &trace->observer);
  const etx_status status = etx_method_run(method, diag);
  etx_call_trace_stop(trace);
  return status;
}

static etx_status write_file(const etx_run_trace* trace, const char* name,
                             const char* path, etx_diag* diag) {
  etx_output_file output;
  ETX_TRY(etx_output_file_open(&output, path, diag));
  const etx_sink sink = etx_output_file_sink(&output);
  etx_status status =
      etx_call_trace_write((const etx_call_trace* const*)trace->traces,
                           trace->count, etx_text_of(name), &sink);
  if (status == ETX_OK) status = etx_output_file_finish(&output);
  if (status == ETX_OK) status = etx_output_file_keep(&output);
  etx_output_file_discard(&output);
  return status;
}

etx_exit etx_run_trace_write(const etx_run_trace* trace, const char* command,
                             const char* name, const char* path) {
  etx_diag diag;
  etx_diag_init(&diag);
  const etx_status status = write_file(trace, name, path, &diag);
  return status == ETX_OK ? ETX_EXIT_DONE
                          : etx_error_report(command, path, status, &diag);
}
