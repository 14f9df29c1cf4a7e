// Files that end too early, or one byte too late.

#include "tests/format/fixtures/format_test.h"

#include "format/pte/pte_header.h"
#include "format/pte/pte_segments.h"
#include "tests/format/fixtures/sample_program.h"
#include "tests/hostile/hostile_program.h"
#include "tests/hostile/hostile_samples.h"

static hostile_samples samples;

static int open_samples(void** state) {
  (void)state;
  hostile_samples_open(&samples, 1 << 16);
  return 0;
}

static int close_samples(void** state) {
  (void)state;
  hostile_samples_close(&samples);
  return 0;
}

// Shows that undamaged files do reach the kernels.
static void undamaged_samples_run(void** state) {
  (void)state;
  for (size_t i = 0; i < samples.count; ++i) {
    hostile_counts counts = {0};
    hostile_try(sample_view(samples.items[i].bytes), &counts);
    hostile_print(samples.items[i].name, &counts);
    assert_int_equal(counts.opened, 1);
    if (i == 0) assert_int_equal(counts.ran, 3);
  }
}

static void cut(const hostile_sample* sample, size_t size,
                hostile_counts* counts) {
  const etx_bytes bytes = {sample->bytes.data, size};
  hostile_try(bytes, counts);
}

static void programs_cut_anywhere_are_refused_or_harmless(void** state) {
  (void)state;
  for (size_t i = 0; i < samples.count; ++i) {
    const hostile_sample* sample = &samples.items[i];
    hostile_counts counts = {0};
    etx_pte pte;
    assert_int_equal(etx_pte_open(&pte, sample_view(sample->bytes), NULL, NULL),
                     ETX_OK);
    for (size_t size = 0; size < pte.fb.size; ++size) {
      cut(sample, size, &counts);
    }
    hostile_print(sample->name, &counts);
    // Without a header, a file may only lose its padding without being refused.
    assert_true(counts.opened <= (pte.has_header ? 0 : 16));
  }
}

// The same, with a header that states the new length, so that the comparison of
// the two lengths does not find the truncation.
static void programs_cut_with_an_adjusted_header_are_refused_or_harmless(
    void** state) {
  (void)state;
  for (size_t i = 0; i < samples.count; ++i) {
    const etx_bytes_mut file = samples.items[i].bytes;
    hostile_counts counts = {0};
    etx_pte_header header;
    assert_int_equal(etx_pte_header_read(sample_view(file), &header, NULL),
                     ETX_OK);
    if (!header.is_present || header.program_bytes > 4096) continue;
    const etx_bytes_mut copy = sample_copy(sample_view(file));
    for (size_t size = 64; size < header.program_bytes; ++size) {
      etx_pte_header shorter = header;
      shorter.program_bytes = size;
      etx_pte_header_write(&shorter, copy.data + 8);
      hostile_try(sample_view(copy), &counts);
    }
    hostile_print(samples.items[i].name, &counts);
    sample_release(copy);
  }
}

static void around(const hostile_sample* sample, uint64_t end,
                   hostile_counts* counts) {
  for (uint64_t size = end - 1; size <= end + 1; ++size) {
    if (size <= sample->bytes.size) cut(sample, (size_t)size, counts);
  }
}

// Truncates near the start and the end of each constant that a tensor refers
// to.
static void around_constants(const hostile_sample* sample, const etx_pte* pte,
                             hostile_counts* counts) {
  for (size_t i = 0; i < etx_pte_plan_count(pte); ++i) {
    const etx_pte_plan plan = etx_pte_plan_at(pte, i);
    for (size_t j = 0; j < etx_pte_value_count(&plan); ++j) {
      etx_bytes data = {NULL, 0};
      if (etx_pte_value_kind(&plan, j) != ETX_PTE_TENSOR) continue;
      const etx_pte_tensor tensor = etx_pte_value_at(&plan, j).as.tensor;
      if (tensor.has_allocation ||
          !etx_pte_constant_find(pte, tensor.data_buffer_index, &data)) {
        continue;
      }
      const size_t start = (size_t)(data.data - sample->bytes.data);
      around(sample, start, counts);
      around(sample, start + etx_pte_tensor_bytes(&tensor), counts);
    }
  }
}

static void files_cut_near_segment_ends_are_refused_or_harmless(void** state) {
  (void)state;
  for (size_t i = 0; i < samples.count; ++i) {
    const hostile_sample* sample = &samples.items[i];
    hostile_counts counts = {0};
    etx_pte pte;
    assert_int_equal(etx_pte_open(&pte, sample_view(sample->bytes), NULL, NULL),
                     ETX_OK);
    for (size_t j = 0; j < etx_pte_segment_count(&pte); ++j) {
      uint64_t offset = 0;
      uint64_t size = 0;
      etx_pte_segment_at(&pte, j, &offset, &size);
      if (size == 0) continue;
      around(sample, pte.segment_base + offset, &counts);
      around(sample, pte.segment_base + offset + size, &counts);
    }
    around_constants(sample, &pte, &counts);
    hostile_print(sample->name, &counts);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(undamaged_samples_run),
      cmocka_unit_test(programs_cut_anywhere_are_refused_or_harmless),
      cmocka_unit_test(
          programs_cut_with_an_adjusted_header_are_refused_or_harmless),
      cmocka_unit_test(files_cut_near_segment_ends_are_refused_or_harmless),
  };
  return cmocka_run_group_tests(tests, open_samples, close_samples);
}
