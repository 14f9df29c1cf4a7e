// Semihosting: the emulator or debugger does what the board asks for.

#include "board.h"

enum { WRITE_TEXT = 0x04, EXIT_WITH_CODE = 0x20, APPLICATION_EXIT = 0x20026 };

// Asks for `operation` with the address or number in `argument`.
static void ask(uintptr_t operation, const void* argument) {
#if defined(__arm__)
  register uintptr_t r0 __asm__("r0") = operation;
  register const void* r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
#elif defined(__aarch64__)
  register uintptr_t x0 __asm__("x0") = operation;
  register const void* x1 __asm__("x1") = argument;
  __asm__ volatile("hlt #0xf000" : "+r"(x0) : "r"(x1) : "memory");
#elif defined(__riscv)
  register uintptr_t a0 __asm__("a0") = operation;
  register const void* a1 __asm__("a1") = argument;
  // The three instructions are a mark, and must be 4 bytes each on one page.
  __asm__ volatile(
      ".option push\n.option norvc\n.balign 16\n"
      "slli x0, x0, 0x1f\nebreak\nsrai x0, x0, 7\n.option pop"
      : "+r"(a0)
      : "r"(a1)
      : "memory");
#else
#error "semihosting.c: unknown processor; expected ARM, AArch64 or RISC-V"
#endif
}

void board_write(const char* text) { ask(WRITE_TEXT, text); }

void board_exit(int code) {
  const uintptr_t block[2] = {APPLICATION_EXIT, (uintptr_t)code};
  ask(EXIT_WITH_CODE, block);
  for (;;) {
  }
}
