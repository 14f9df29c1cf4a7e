// The kernels of my::scale for ExecuTorch's own runtime, which
// runs programs of `etx plan --target executorch` (docs/custom-operators.md). In a
// shared library they register themselves when it is loaded.

#include <executorch/extension/kernel_util/make_boxed_from_unboxed_functor.h>
#include <executorch/runtime/kernel/kernel_includes.h>

namespace {

using executorch::aten::Tensor;
using executorch::runtime::KernelRuntimeContext;

Tensor& scale_out(KernelRuntimeContext& context, const Tensor& x, double factor,
                  Tensor& out) {
  const float* const from = x.const_data_ptr<float>();
  float* const to = out.mutable_data_ptr<float>();
  (void)context;
  for (ssize_t i = 0; i < x.numel(); ++i) to[i] = from[i] * (float)factor;
  return out;
}

EXECUTORCH_LIBRARY(my, "scale.out", scale_out);

}  // namespace
