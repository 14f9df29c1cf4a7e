// Replaces libFuzzer's changes, half of the time, by those of text_mutation.h.

#include "tests/hostile/fuzz/fuzz_target.h"
#include "tests/hostile/text_mutation.h"

size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                               unsigned seed);

size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                               unsigned seed) {
  static const text_words none = {NULL, 0};
  hostile_random random = hostile_random_of(seed, size);
  if (hostile_chance(&random, 50))
    return LLVMFuzzerMutate(data, size, max_size);
  return text_mutate((char*)data, size, max_size, &none, &random);
}
