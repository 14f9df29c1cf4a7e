// Startup of AArch64 at exception level 1: memory map, vectors, stack.

    .section .board_start, "ax"
    .global board_start
board_start:
    ldr x0, =board_stack_top
    mov sp, x0
    ldr x0, =board_tls_start - 16
    msr tpidr_el0, x0
    ldr x0, =vectors
    msr vbar_el1, x0
    mov x0, #(3 << 20)             // floating point and vectors
    msr cpacr_el1, x0
    mov x0, #0xff                  // memory 0: normal, cached
    msr mair_el1, x0
    ldr x0, =0x803519              // 39 bits of address, pages of 4 KB
    msr tcr_el1, x0
    ldr x0, =gigabytes
    msr ttbr0_el1, x0
    isb
    mrs x0, sctlr_el1
    mov x1, #0x1005                // memory map and caches on
    orr x0, x0, x1
    msr sctlr_el1, x0
    isb
    mov x0, #0x47                  // count cycles
    msr pmcr_el0, x0
    ldr x0, =0x80000000
    msr pmcntenset_el0, x0
    b board_run
    .ltorg

// The flash, which cannot be written, and the memory. Nothing else is there, so
// that an overrun of the stack faults.
    .balign 4096
gigabytes:
    .quad flash_blocks + 3
    .quad 0x40000000 + 0x701
    .fill 510, 8, 0
flash_blocks:
    .set at, 0
    .rept 32
    .quad at + 0x781
    .set at, at + 0x200000
    .endr
    .fill 480, 8, 0

    .balign 2048
vectors:
    .rept 16
    .balign 128
    b stop_at_fault
    .endr

// Faults leave the application's stack, which may be the reason.
stop_at_fault:
    mov x0, sp
    ldr x1, =fault_stack_top
    mov sp, x1
    b board_fault
    .ltorg

    .bss
    .balign 16
    .fill 1024
fault_stack_top:
