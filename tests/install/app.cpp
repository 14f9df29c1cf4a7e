// Tests the C++ header with two methods on one cache, an error and a snapshot. It
// is built with and without exceptions and prints the same.

#include ETX_HEADER

#include <cstdio>
#include <vector>

#if ETX_EXCEPTIONS
#define MUST(call) call
#define FAILS(call, what)         \
  try {                           \
    call;                         \
  } catch (const etx::error& e) { \
    what(e);                      \
  }
#else
#define MUST(call) \
  if (auto e = call) return std::printf("%s\n", e.what()), 1
#define FAILS(call, what) \
  if (auto e = call) what(e)
#endif

static void tell(const etx::error& e) {
  std::printf("%s: %s\n", etx_status_name(e.status()), e.what());
}

static void print(etx::view<const float> numbers) {
  for (const float x : numbers) std::printf("%g ", static_cast<double>(x));
  std::printf("\n");
}

static int use(const char* path) {
  etx::program program;
  etx::session session;
  etx::session other;
  MUST(program.open(path));
  MUST(session.open(program));
  MUST(other.open(program));
  const float written[] = {1, 2, 3, 4, 5, 6};
  float read[4] = {9, 9, 9, 9};
  MUST(session.run("set_cache", etx::tensor(written, 2, 3)));
  MUST(session.run("get_cache", etx::tensor(read, 2, 2)));
  print({read, 4});
  MUST(other.run("get_cache", etx::tensor(read, 2, 2)));
  print({read, 4});

  std::vector<std::uint8_t> kept(session.save_needed());
  MUST(session.save({kept.data(), kept.size()}));
  MUST(session.reset());
  etx::view<float> cache;
  MUST(session.state("cache", cache));
  print({cache.data(), 3});
  MUST(session.restore({kept.data(), kept.size()}));
  print({cache.data(), 3});

  etx::view<double> wrong;
  FAILS(session.state("cache", wrong), tell);
  FAILS(session.run("no_such_method"), tell);
  return 0;
}

int main(int argc, char** argv) { return argc == 2 ? use(argv[1]) : 2; }
