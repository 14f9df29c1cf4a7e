// One operator in etx and in the stock ExecuTorch libraries, in one process.
//
//   bench_operators LONG.pte SHORT.pte INSTRUCTIONS ROUNDS INPUTS...
//
// LONG runs the same instruction INSTRUCTIONS times, SHORT once; what an
// instruction costs is the slope between them, so that nothing of setting up a
// run is counted. INPUTS are raw files, one for each tensor input; both
// runtimes read the same bytes. Rounds alternate between the two. Prints one
// line of JSON: nanoseconds an instruction, each round, and the largest
// difference between the two runtimes' first output if that is float32.

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include <executorch/extension/kernel_util/make_boxed_from_unboxed_functor.h>
#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>
#include <executorch/runtime/platform/runtime.h>

#include "tests/bench/bench_etx.h"

namespace executorch::extension::threadpool {
class ThreadPool {
 public:
  bool _unsafe_reset_threadpool(uint32_t n);
};
ThreadPool* get_threadpool();
}  // namespace executorch::extension::threadpool

using namespace executorch::extension;
using namespace executorch::runtime;

namespace {

// An operator that does nothing, for what an instruction costs by itself
// (bench_dispatch.py).
executorch::aten::Tensor& nothing(KernelRuntimeContext& context,
                                  const executorch::aten::Tensor& self,
                                  executorch::aten::Tensor& out) {
  (void)context;
  (void)self;
  return out;
}

std::vector<void*> inputs;

void read_input(const char* path) {
  FILE* const file = std::fopen(path, "rb");
  if (file == nullptr) std::exit(2);
  std::fseek(file, 0, SEEK_END);
  const size_t bytes = static_cast<size_t>(std::ftell(file));
  std::rewind(file);
  void* const data = std::aligned_alloc(64, (bytes + 127) / 64 * 64);
  if (std::fread(data, 1, bytes, file) != bytes) std::exit(2);
  std::fclose(file);
  inputs.push_back(data);
}

class Stock {
 public:
  bool open(const char* path) {
    module_ = std::make_unique<Module>(path, Module::LoadMode::File, nullptr,
                                       nullptr, nullptr, true);
    if (module_->load_method("forward") != Error::Ok) return false;
    auto meta = module_->method_meta("forward");
    std::vector<EValue> values;
    size_t tensors = 0;
    for (size_t i = 0; i < meta->num_inputs(); ++i) {
      auto info = meta->input_tensor_meta(i);
      if (!info.ok()) return false;
      std::vector<executorch::aten::SizesType> sizes(info->sizes().begin(),
                                                     info->sizes().end());
      kept_.push_back(from_blob(inputs[tensors++], sizes, info->scalar_type()));
      values.push_back(*kept_.back());
    }
    if (module_->set_inputs("forward", values) != Error::Ok) return false;
    method_ = module_->method("forward").get();
    return true;
  }
  bool run() { return method_->execute() == Error::Ok; }
  const void* output(size_t* bytes) {
    const EValue& value = method_->get_output(0);
    if (!value.isTensor()) return nullptr;
    *bytes = value.toTensor().nbytes();
    is_float_ =
        value.toTensor().scalar_type() == executorch::aten::ScalarType::Float;
    return value.toTensor().const_data_ptr();
  }
  bool is_float() const { return is_float_; }

 private:
  std::unique_ptr<Module> module_;
  Method* method_ = nullptr;
  std::vector<TensorPtr> kept_;
  bool is_float_ = false;
};

struct Ours {
  bench_etx* b = nullptr;
  bool open(const char* path) {
    b = bench_etx_open(path, inputs.data());
    return b != nullptr;
  }
  bool run() { return bench_etx_run(b) == 0; }
};

// Nanoseconds that this thread has had a processor: what else the machine does
// is not counted.
double now() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return 1e9 * static_cast<double>(time.tv_sec) +
         static_cast<double>(time.tv_nsec);
}

// Nanoseconds of one run, the mean over `count` runs.
template <typename Runner>
double time_runs(Runner* runner, size_t count) {
  const double start = now();
  for (size_t i = 0; i < count; ++i) runner->run();
  return (now() - start) / static_cast<double>(count);
}

template <typename Runner>
size_t count_runs(Runner* runner) {
  const double one = time_runs(runner, 2);
  return one > 4e5 ? 1 : static_cast<size_t>(4e5 / (one + 1)) + 1;
}

template <typename Runner>
struct Pair {
  Runner longer, shorter;
  size_t long_runs = 1, short_runs = 1;
  bool opened = false;
  std::vector<double> slopes;

  void open(const char* long_path, const char* short_path) {
    opened = longer.open(long_path) && shorter.open(short_path) &&
             longer.run() && shorter.run();
    if (!opened) return;
    long_runs = count_runs(&longer);
    short_runs = count_runs(&shorter);
  }
  void round(double instructions) {
    if (!opened) return;
    const double a = time_runs(&longer, long_runs);
    const double b = time_runs(&shorter, short_runs);
    slopes.push_back((a - b) / (instructions - 1));
  }
  std::string json() const {
    std::string text = "[";
    for (double slope : slopes) {
      char one[32];
      std::snprintf(one, sizeof(one), "%s%.2f", text.size() > 1 ? ", " : "",
                    slope);
      text += one;
    }
    return text + "]";
  }
};

double largest_difference(Stock* stock, const Ours& ours) {
  size_t stock_bytes = 0, our_bytes = 0;
  const void* const a = stock->output(&stock_bytes);
  const void* const b = bench_etx_output(ours.b, 0, &our_bytes);
  if (a == nullptr || b == nullptr || stock_bytes != our_bytes) return INFINITY;
  if (!stock->is_float()) {
    return std::memcmp(a, b, stock_bytes) == 0 ? 0 : INFINITY;
  }
  double worst = 0;
  for (size_t i = 0; i < stock_bytes / sizeof(float); ++i) {
    const double x = static_cast<const float*>(a)[i];
    const double y = static_cast<const float*>(b)[i];
    if (std::isnan(x) && std::isnan(y)) continue;
    const double d = x == y ? 0 : std::fabs(x - y) / (1 + std::fabs(x));
    if (!(d <= worst)) worst = d;
  }
  return worst;
}

}  // namespace

EXECUTORCH_LIBRARY(etx_bench, "nothing.out", nothing);

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  const double instructions = std::atof(argv[3]);
  const int rounds = std::atoi(argv[4]);
  for (int i = 5; i < argc; ++i) read_input(argv[i]);
  runtime_init();
  threadpool::get_threadpool()->_unsafe_reset_threadpool(1);
  static Pair<Ours> ours;
  static Pair<Stock> stock;
  ours.open(argv[1], argv[2]);
  stock.open(argv[1], argv[2]);
  for (int i = 0; i < rounds; ++i) {
    ours.round(instructions);
    stock.round(instructions);
  }
  double difference = NAN;
  if (ours.opened && stock.opened) {
    difference = largest_difference(&stock.longer, ours.longer);
  }
  std::printf("{\"etx\": %s, \"stock\": %s, \"difference\": ",
              ours.json().c_str(), stock.json().c_str());
  if (std::isfinite(difference)) {
    std::printf("%.3g}\n", difference);
  } else {
    std::printf("null}\n");
  }
  return 0;
}
