// For the scripts of this folder: writes the sample program, or prints the sum
// of what a file says.
//
//   sample_tool write FILE
//   sample_tool sum FILE

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tests/format/program_walk.h"
#include "tests/format/sample_program.h"

static int write_sample(const char* path) {
  const etx_bytes_mut bytes = sample_write(sample_content());
  FILE* file = fopen(path, "wb");
  const bool good = file != NULL &&
                    fwrite(bytes.data, 1, bytes.size, file) == bytes.size &&
                    fclose(file) == 0;
  sample_release(bytes);
  if (!good) perror(path);
  return good ? 0 : 1;
}

static int print_sum(const char* path) {
  etx_pte pte;
  etx_diag diag;
  etx_diag_init(&diag);
  const etx_bytes_mut file = sample_read_file(path);
  const etx_status status = etx_pte_open(&pte, sample_view(file), NULL, &diag);
  if (status == ETX_OK) {
    printf("%016" PRIx64 "\n", program_walk(&pte));
  } else {
    fprintf(stderr, "%s: %s\n", path, diag.text);
  }
  sample_release(file);
  return status == ETX_OK ? 0 : 2;
}

int main(int count, char** arguments) {
  if (count == 3 && strcmp(arguments[1], "write") == 0) {
    return write_sample(arguments[2]);
  }
  if (count == 3 && strcmp(arguments[1], "sum") == 0) {
    return print_sum(arguments[2]);
  }
  fprintf(stderr, "usage: sample_tool write|sum FILE\n");
  return 2;
}
