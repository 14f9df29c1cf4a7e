#include "print_results.h"

#include "board.h"

enum { DIGITS = 21 };

// Writes `number` with at least `least` digits.
static void write_number(uint64_t number, unsigned base, int least) {
  char text[DIGITS + 1];
  char* at = text + DIGITS;
  *at = 0;
  for (int i = 0; i < least || number != 0; ++i) {
    *--at = "0123456789abcdef"[number % base];
    number /= base;
  }
  board_write(at);
}

void print_bits(const char* name, const void* data, size_t count) {
  board_write("bits ");
  board_write(name);
  for (size_t i = 0; i < count; ++i) {
    uint32_t bits;
    memcpy(&bits, (const char*)data + 4 * i, sizeof bits);
    board_write(" ");
    write_number(bits, 16, 8);
  }
  board_write("\n");
}

void print_number(const char* name, uint64_t number) {
  board_write(name);
  board_write(" ");
  write_number(number, 10, 1);
  board_write("\n");
}

// Images without messages have the name of a status, which `etx explain` knows,
// and a place.
static void print_error(etx_status status, const etx_diag* diag) {
  board_write("error: ");
  board_write(diag->text_size != 0 ? diag->text : etx_status_name(status));
  board_write("\n");
  if (diag->text_size != 0) return;
  if (diag->offset != 0) print_number("byte", diag->offset);
  if (diag->line != 0) print_number("instruction", diag->line);
}

int print_end(etx_status status, const etx_diag* diag) {
  const size_t used = board_stack_used();
  print_number("stack", used);
  if (board_stack_overrun()) {
    board_write("error: the stack was overrun, so no result is right\n");
    return 1;
  }
  if (status == ETX_OK) return 0;
  print_error(status, diag);
  return 1;
}
