// Startup of RISC-V in machine mode, 32 and 64 bits.

#include "board.h"
#include "board_stack.h"
#include "memory_start.h"

__attribute__((used)) static _Alignas(16) uint8_t fault_stack[512];

// The first instruction of the flash.
__attribute__((naked, section(".board_start"), used)) void board_start(void) {
  __asm__ volatile(
      "la sp, board_stack_top\n"
      "la tp, board_tls_start\n"
      "la t0, board_trap\n"
      "csrw mtvec, t0\n"
      "li t0, 0x2000\n"  // the floating-point unit, if there is one
      "csrs mstatus, t0\n"
      "j board_run");
}

// Traps leave the application's stack, which may be the reason.
__attribute__((naked, aligned(4), used)) void board_trap(void) {
  __asm__ volatile(
      "mv a0, sp\n"
      "la sp, fault_stack + 512\n"
      "j board_fault");
}

// Forbids the 64 MB below the memory to machine mode, too: an overrun of the
// stack traps. Everything else stays allowed.
static void guard_stack(void) {
  const uintptr_t size = (uintptr_t)64 << 20;
  const uintptr_t start = (uintptr_t)board_stack_bottom - size;
  __asm__ volatile("csrw pmpaddr0, %0" : : "r"(start >> 2 | (size / 8 - 1)));
  __asm__ volatile("csrw pmpcfg0, %0" : : "r"(0x98));  // locked, no rights
}

_Noreturn void board_run(void);

void board_run(void) {
  board_memory_start();
  guard_stack();
  board_exit(main());
}

#if __riscv_xlen == 32
uint64_t board_instructions(void) {
  uint32_t low;
  uint32_t high;
  uint32_t again;
  do {
    __asm__ volatile("csrr %0, minstreth" : "=r"(high));
    __asm__ volatile("csrr %0, minstret" : "=r"(low));
    __asm__ volatile("csrr %0, minstreth" : "=r"(again));
  } while (high != again);
  return (uint64_t)high << 32 | low;
}
#else
uint64_t board_instructions(void) {
  uint64_t count;
  __asm__ volatile("csrr %0, minstret" : "=r"(count));
  return count;
}
#endif
