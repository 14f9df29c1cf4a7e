// Links the core library alone. A program of four bytes must be refused.

#include <etx/runtime/method.h>
#include <stdio.h>

int main(void) {
  static const uint64_t words[2] = {0, 0};
  const etx_bytes file = {(const uint8_t*)words, 4};
  etx_program program;
  const etx_status status =
      etx_program_open(&program, file, &etx_all_kernels, NULL, NULL);
  printf("%s\n", etx_status_name(status));
  return status == ETX_OK;
}
