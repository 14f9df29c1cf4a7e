// C++17 over etx.h: programs and sessions that close themselves, views of what
// comes out. Inline wrappers and no code of its own: what a call does is said
// where the C function is declared.
//
//   etx::program program("model.pte");
//   etx::session session(program);
//   session.run("encode", etx::tensor(ids, 1, 12));
//   session.run("decode", etx::tensor(&token, 1, 1), position);
//   for (float logit : session.output<float>("decode", 0)) ...
//
// Failure  With exceptions a call throws etx::error. Without them (as the
//          compiler is told, or with -DETX_EXCEPTIONS=0) it returns an
//          etx::error, which must be looked at: `if (auto e = session.open(
//          program)) return e.status();`. Constructors that can fail and calls
//          that return a view are there with exceptions only; open() and calls
//          that take a view are there with both.
// Memory   Nothing here allocates but etx_module does, by its options.
// Threads  One program object and its sessions, one thread.

#ifndef ETX_ETX_HPP
#define ETX_ETX_HPP

#include "etx.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <type_traits>

// 1: calls throw etx::error. 0: they return it.
#ifndef ETX_EXCEPTIONS
#ifdef __cpp_exceptions
#define ETX_EXCEPTIONS 1
#else
#define ETX_EXCEPTIONS 0
#endif
#endif

// Programs, sessions and their inputs and outputs.
namespace etx {

// Why a call failed; true if it did.
class [[nodiscard]] error : public std::exception {
 public:
  // The status and the message of a C function.
  error(etx_status status, const etx_diag& diag)
      : status_(status), diag_(diag) {}
  // True if the call failed.
  explicit operator bool() const { return status_ != ETX_OK; }
  // How the call ended.
  etx_status status() const { return status_; }
  // The message, with the place that it is about.
  const etx_diag& diag() const { return diag_; }
  // The text of the message; without one, that of the status.
  const char* what() const noexcept override {
    return diag_.text_size != 0 ? diag_.text : etx_status_text(status_);
  }

 private:
  etx_status status_;
  etx_diag diag_;
};

#if ETX_EXCEPTIONS
// What a call returns: nothing, because it throws if it fails.
using outcome = void;
// Throws unless the status is ETX_OK.
inline void done(etx_status status, const etx_diag& diag) {
  if (status != ETX_OK) throw error(status, diag);
}
#else
// What a call returns: whether it failed, and why.
using outcome = error;
// The error of a status.
inline error done(etx_status status, const etx_diag& diag) {
  return error(status, diag);
}
#endif

// Elements that somebody else owns.
template <class T>
class view {
 public:
  // No elements.
  view() = default;
  // `size` elements, of which `data` is the first.
  view(T* data, std::size_t size) : data_(data), size_(size) {}
  // The first element; null if there is no memory.
  T* data() const { return data_; }
  // The number of elements.
  std::size_t size() const { return size_; }
  // True if there are no elements.
  bool empty() const { return size_ == 0; }
  // The first element, for range-based loops.
  T* begin() const { return data_; }
  // The place behind the last element.
  T* end() const { return data_ + size_; }
  // Element i, which is not checked.
  T& operator[](std::size_t i) const { return data_[i]; }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

// The element type of a C++ type. Halves, which C++17 has not, are
// tensors of an etx_value made by etx_module_tensor.
template <class T>
constexpr etx_dtype dtype_of() {
  using U = std::remove_cv_t<T>;
  if constexpr (std::is_same_v<U, float>)
    return ETX_DTYPE_FLOAT32;
  else if constexpr (std::is_same_v<U, double>)
    return ETX_DTYPE_FLOAT64;
  else if constexpr (std::is_same_v<U, bool>)
    return ETX_DTYPE_BOOL;
  else if constexpr (std::is_same_v<U, std::uint8_t>)
    return ETX_DTYPE_UINT8;
  else {
    static_assert(std::is_integral_v<U> && std::is_signed_v<U>,
                  "no element type of tensors is called that");
    if constexpr (sizeof(U) == 1)
      return ETX_DTYPE_INT8;
    else if constexpr (sizeof(U) == 2)
      return ETX_DTYPE_INT16;
    else if constexpr (sizeof(U) == 4)
      return ETX_DTYPE_INT32;
    else
      return ETX_DTYPE_INT64;
  }
}

// An input: the caller's elements and their sizes, contiguous. Const elements
// are only for inputs that the method does not write.
template <class T, std::size_t Rank>
class tensor {
 public:
  // Elements in row-major order, and the size of each dimension.
  template <class... Sizes>
  explicit tensor(T* data, Sizes... sizes)
      : data_(data), sizes_{static_cast<std::int32_t>(sizes)...} {}
  // The argument that the C functions take. It points to this object's sizes.
  etx_value value() const {
    return etx_module_tensor(const_cast<std::remove_cv_t<T>*>(data_),
                             dtype_of<T>(), sizes_.data(),
                             static_cast<std::uint8_t>(Rank));
  }

 private:
  T* data_;
  std::array<std::int32_t, Rank> sizes_;
};
// The number of sizes is the rank.
template <class T, class... Sizes>
tensor(T*, Sizes...) -> tensor<T, sizeof...(Sizes)>;

// The argument for a tensor.
template <class T, std::size_t Rank>
etx_value value_of(const tensor<T, Rank>& input) {
  return input.value();
}
// An argument stays as it is.
inline etx_value value_of(const etx_value& input) { return input; }
// The argument for a number: a Boolean, a double or an integer.
template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
etx_value value_of(T number) {
  etx_value value{};
  if constexpr (std::is_same_v<T, bool>) {
    value.kind = ETX_VALUE_BOOL;
    value.as.boolean = number;
  } else if constexpr (std::is_floating_point_v<T>) {
    value.kind = ETX_VALUE_DOUBLE;
    value.as.real = static_cast<double>(number);
  } else {
    value.kind = ETX_VALUE_INT;
    value.as.integer = static_cast<std::int64_t>(number);
  }
  return value;
}

// An open program file. Stays where it was opened.
class program {
 public:
  // No program is open.
  program() = default;
  // Cannot be copied.
  program(const program&) = delete;
  // Cannot be copied.
  program& operator=(const program&) = delete;
  // Closes it.
  ~program() { close(); }
#if ETX_EXCEPTIONS
  // Opens a file; throws etx::error if it cannot.
  explicit program(const char* path,
                   const etx_module_options* options = nullptr) {
    open(path, options);
  }
#endif
  // Closes what is open, then opens a file (etx_module_open).
  outcome open(const char* path, const etx_module_options* options = nullptr) {
    etx_diag diag;
    etx_diag_init(&diag);
    close();
    const etx_status status = etx_module_open(&module_, path, options, &diag);
    is_open_ = status == ETX_OK;
    return done(status, diag);
  }
  // Frees the program. Its sessions must be closed before.
  void close() {
    if (is_open_) etx_module_close(&module_);
    is_open_ = false;
  }
  // The C object, for functions that have no wrapper here.
  etx_module* get() { return &module_; }

 private:
  etx_module module_{};
  bool is_open_ = false;
};

// One set of state over a program, which outlives it. Runs methods on it.
class session {
 public:
  // No session is open.
  session() = default;
  // Cannot be copied.
  session(const session&) = delete;
  // Cannot be copied.
  session& operator=(const session&) = delete;
  // Closes it.
  ~session() { close(); }
#if ETX_EXCEPTIONS
  // Starts a session; throws etx::error if it cannot.
  explicit session(program& over) { open(over); }
#endif
  // Closes what is open, then starts a session (etx_module_shared_open).
  outcome open(program& over) {
    etx_diag diag;
    etx_diag_init(&diag);
    close();
    const etx_status status =
        etx_module_shared_open(&shared_, over.get(), &diag);
    is_open_ = status == ETX_OK;
    return done(status, diag);
  }
  // Frees the states.
  void close() {
    if (is_open_) etx_module_shared_close(&shared_);
    is_open_ = false;
  }

  // Loads the method if need be, binds it to this session, runs it.
  template <class... Inputs>
  outcome run(const char* method, const Inputs&... inputs) {
    const std::array<etx_value, sizeof...(Inputs) + 1> values{
        value_of(inputs)..., etx_value{}};
    etx_diag diag;
    etx_diag_init(&diag);
    etx_status status = bind(method, &diag);
    if (status == ETX_OK) {
      status = etx_module_execute(shared_.module, method, values.data(),
                                  sizeof...(Inputs), &diag);
    }
    return done(status, diag);
  }

  // A tensor that the last run of the method gave.
  template <class T>
  outcome output(const char* method, std::size_t index, view<const T>& out) {
    const etx_value* value = nullptr;
    etx_diag diag;
    etx_diag_init(&diag);
    etx_status status =
        etx_module_output(shared_.module, method, index, &value, &diag);
    if (status == ETX_OK) status = take(*value, method, out, &diag);
    return done(status, diag);
  }
  // A state by its full name, to be read and written.
  template <class T>
  outcome state(const char* name, view<T>& out) {
    etx_value value{};
    etx_state_hold hold;
    etx_diag diag;
    etx_diag_init(&diag);
    value.kind = ETX_VALUE_TENSOR;
    etx_status status = etx_shared_memory_find(
        &shared_.memory, etx_text_of(name), &value.as.tensor, &hold, &diag);
    if (status == ETX_OK) status = take(value, name, out, &diag);
    return done(status, diag);
  }
#if ETX_EXCEPTIONS
  // The same; throws etx::error if it fails.
  template <class T>
  view<const T> output(const char* method, std::size_t index) {
    view<const T> out;
    output(method, index, out);
    return out;
  }
  // The same; throws etx::error if it fails.
  template <class T>
  view<T> state(const char* name) {
    view<T> out;
    state(name, out);
    return out;
  }
#endif

  // Initial values again: of all states, of one, of all below a module.
  outcome reset(const char* name_or_prefix = "") {
    etx_diag diag;
    etx_diag_init(&diag);
    return done(etx_shared_memory_reset(&shared_.memory,
                                        etx_text_of(name_or_prefix), &diag),
                diag);
  }
  // Keeps the first rows of caches (etx_shared_memory_truncate): of all, of one,
  // of all below a module.
  outcome truncate(std::uint64_t length, const char* name_or_prefix = "") {
    etx_diag diag;
    etx_diag_init(&diag);
    return done(
        etx_shared_memory_truncate(&shared_.memory, etx_text_of(name_or_prefix),
                                   length, &diag),
        diag);
  }
  // The bytes of a snapshot of all states.
  std::size_t save_needed() const {
    return etx_shared_memory_save_needed(&shared_.memory);
  }
  // Writes a snapshot (etx_shared_memory_save).
  outcome save(view<std::uint8_t> out) const {
    std::size_t size = 0;
    etx_diag diag;
    etx_diag_init(&diag);
    return done(etx_shared_memory_save(&shared_.memory,
                                       {out.data(), out.size()}, &size, &diag),
                diag);
  }
  // Reads a snapshot back (etx_shared_memory_restore).
  outcome restore(view<const std::uint8_t> snapshot) {
    etx_diag diag;
    etx_diag_init(&diag);
    return done(etx_shared_memory_restore(
                    &shared_.memory, {snapshot.data(), snapshot.size()}, &diag),
                diag);
  }
  // The C object, for functions that have no wrapper here.
  etx_module_shared* get() { return &shared_; }

 private:
  etx_status bind(const char* method, etx_diag* diag) {
    const etx_method* const loaded = etx_module_method(shared_.module, method);
    if (loaded != nullptr &&
        loaded->state.data == shared_.memory.planned.data) {
      return ETX_OK;
    }
    etx_planned_memory allocator;
    ETX_TRY(etx_module_shared_allocator(&shared_, method, &allocator, diag));
    return etx_module_load_method(shared_.module, method, &allocator, diag);
  }
  template <class T>
  static etx_status take(const etx_value& value, const char* name, view<T>& out,
                         etx_diag* diag) {
    if (value.kind != ETX_VALUE_TENSOR ||
        value.as.tensor.dtype != dtype_of<T>()) {
      return etx_diag_fail(
          diag, ETX_BAD_ARGUMENT,
          "'%s' is asked for as a tensor of '%s', which it is not", name,
          etx_dtype_name(dtype_of<T>()));
    }
    out = view<T>(static_cast<T*>(value.as.tensor.data),
                  etx_tensor_numel(&value.as.tensor));
    return ETX_OK;
  }

  etx_module_shared shared_{};
  bool is_open_ = false;
};

}  // namespace etx

#endif
