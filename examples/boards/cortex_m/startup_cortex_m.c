// Startup of Cortex-M3, M4, M7 and M33. The application runs on the process
// stack, exceptions on a small one of their own, so that an overrun can still
// be reported.

#include <stdbool.h>

#include "board.h"
#include "board_stack.h"
#include "memory_start.h"

#define REGISTER(address) (*(volatile uint32_t*)(uintptr_t)(address))
#define COPROCESSORS REGISTER(0xE000ED88u)
#define FAULT_STATUS REGISTER(0xE000ED28u)
#define GUARD_CONTROL REGISTER(0xE000ED94u)
#define GUARD_START REGISTER(0xE000ED9Cu)
#define GUARD_SIZE REGISTER(0xE000EDA0u)
#define TIMER_CONTROL REGISTER(0xE000E010u)
#define TIMER_RELOAD REGISTER(0xE000E014u)
#define TIMER_VALUE REGISTER(0xE000E018u)

// The timer counts down, 25 million times a second. The emulator runs 10^9
// instructions a second (-icount shift=0).
enum { TIMER_BITS = 24, INSTRUCTIONS_A_TICK = 40 };

static _Alignas(8) uint32_t exception_stack[128];

// Makes the processor stop when the stack pointer or an access leaves the
// stack: a limit register, or a region of 16 MB below the memory without any
// rights.
static void guard_stack(void) {
#if defined(__ARM_ARCH_8M_MAIN__)
  __asm__ volatile("msr psplim, %0" : : "r"(board_stack_bottom));
#else
  enum {
    REGION_0 = 0x10,
    BYTES_16M = 23 << 1,
    ENABLED = 1,
    OTHERS_ALLOWED = 4
  };
  GUARD_START = ((uint32_t)board_stack_bottom - (16u << 20)) | REGION_0;
  GUARD_SIZE = BYTES_16M | ENABLED;
  GUARD_CONTROL = OTHERS_ALLOWED | ENABLED;
  __asm__ volatile("dsb\n\tisb");
#endif
}

static void set_up_processor(void) {
#if defined(__ARM_FP)
  COPROCESSORS |= 0xFu << 20;  // the floating-point unit
  __asm__ volatile("dsb\n\tisb");
#endif
  guard_stack();
  TIMER_RELOAD = (1u << TIMER_BITS) - 1;
  TIMER_VALUE = 0;
  TIMER_CONTROL = 5;  // enabled, processor clock, no interrupt
}

__attribute__((used)) static void run_application(void) {
  board_memory_start();
  set_up_processor();
  board_exit(main());
}

__attribute__((naked, used)) void board_start(void) {
  __asm__ volatile(
      "ldr r0, =board_stack_top\n"
      "msr psp, r0\n"
      "movs r0, #2\n"
      "msr control, r0\n"
      "isb\n"
      "b run_application\n"
      ".ltorg");
}

static void stop_at_fault(void) {
  // The guarded region was accessed, or the stack pointer met its limit.
  const uint32_t guard_faults = 1u << 20 | 0x3A;
  uintptr_t sp;
  __asm__ volatile("mrs %0, psp" : "=r"(sp));
  board_fault((FAULT_STATUS & guard_faults) != 0 ? 0 : sp);
}

typedef union vector {
  const void* stack;
  void (*handler)(void);
} vector;

// Interrupts stay off. Every fault ends at the hard fault, the third row.
__attribute__((section(".board_start"), used)) static const vector vectors[] = {
    {.stack = exception_stack + sizeof exception_stack / sizeof(uint32_t)},
    {.handler = board_start},
    {.handler = stop_at_fault},
    {.handler = stop_at_fault},
};

uint64_t board_instructions(void) {
  static uint32_t last;
  static uint64_t ticks;
  const uint32_t mask = (1u << TIMER_BITS) - 1;
  const uint32_t now = mask - TIMER_VALUE;
  ticks += (now - last) & mask;
  last = now;
  return ticks * INSTRUCTIONS_A_TICK;
}
