#include "tests/hostile/hostile_mutation.h"

#include <string.h>

static const uint32_t numbers[] = {
    0,     1,     2,          3,          4,          5,         7,   8,
    16,    17,    64,         127,        128,        255,       256, 1000,
    65535, 65536, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff};

typedef enum change_kind {
  FLIP,    // one bit
  BYTE,    // any byte
  NUMBER,  // a special number at an aligned position
  NUDGE,   // a small number added or subtracted at an aligned position
  LONG,    // eight bytes with a number
  MOVE,    // some bytes, copied from elsewhere
  ZERO,    // a range of zeros
  MARK,    // a character with a meaning in texts
  CHANGE_COUNT
} change_kind;

static void change(uint8_t* bytes, size_t size, hostile_random* random) {
  const size_t word = size < 4 ? 0 : hostile_below(random, size / 4) * 4;
  const size_t place = hostile_below(random, size);
  uint32_t number =
      numbers[hostile_below(random, sizeof numbers / sizeof *numbers)];
  switch ((change_kind)hostile_below(random, CHANGE_COUNT)) {
    case FLIP:
      bytes[place] ^= (uint8_t)(1u << hostile_below(random, 8));
      break;
    case BYTE:
      bytes[place] = (uint8_t)hostile_next(random);
      break;
    case NUMBER:
      if (size >= 4) memcpy(bytes + word, &number, sizeof number);
      break;
    case NUDGE:
      if (size < 4) break;
      memcpy(&number, bytes + word, sizeof number);
      number += (uint32_t)hostile_below(random, 9) - 4;
      memcpy(bytes + word, &number, sizeof number);
      break;
    case LONG: {
      const uint64_t wide = (uint64_t)number << hostile_below(random, 33);
      if (word + 8 <= size) memcpy(bytes + word, &wide, sizeof wide);
      break;
    }
    case MOVE: {
      const size_t length =
          1 + hostile_below(random, size - place < 32 ? size - place : 32);
      memmove(bytes + place, bytes + hostile_below(random, size - length + 1),
              length);
      break;
    }
    case ZERO: {
      const size_t left = size - place;
      memset(bytes + place, 0,
             1 + hostile_below(random, left < 16 ? left : 16));
      break;
    }
    case MARK: {
      static const char marks[] = "{}[]\"',:#-0129.eE \n\t&*!|>%@`~";
      bytes[place] = (uint8_t)marks[hostile_below(random, sizeof marks - 1)];
      break;
    }
    case CHANGE_COUNT:
      break;
  }
}

size_t hostile_mutate(uint8_t* bytes, size_t size, hostile_random* random) {
  const size_t change_count = 1 + hostile_below(random, 4);
  if (size == 0) return 0;
  for (size_t i = 0; i < change_count; ++i) change(bytes, size, random);
  return hostile_below(random, 32) == 0 ? hostile_below(random, size) : size;
}
