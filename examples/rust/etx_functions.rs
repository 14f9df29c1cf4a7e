// The functions of libetx that this example calls, as
// <etx/runtime/module/module_ffi.h> declares them. Each opaque type is a struct
// that Rust cannot make, and that no thread but its owner may use.

use std::marker::{PhantomData, PhantomPinned};
use std::os::raw::{c_char, c_void};

macro_rules! opaque {
    ($($name:ident),*) => {$(
        #[repr(C)]
        pub struct $name {
            _bytes: [u8; 0],
            _owner: PhantomData<(*mut u8, PhantomPinned)>,
        }
    )*};
}
opaque!(Error, Program, Session, Method, Value);

// ETX_FFI_VERSION, and ETX_FFI_* of the kinds of values.
pub const VERSION: i32 = 1;
pub const INT: i32 = 1;
pub const TENSOR: i32 = 4;

#[link(name = "etx")]
extern "C" {
    pub fn etx_ffi_version() -> i32;
    pub fn etx_ffi_status_name(status: i32) -> *const c_char;
    pub fn etx_ffi_error_open() -> *mut Error;
    pub fn etx_ffi_error_close(error: *mut Error);
    pub fn etx_ffi_error_text(error: *const Error) -> *const c_char;

    pub fn etx_ffi_program_open(
        path: *const c_char,
        out_program: *mut *mut Program,
        error: *mut Error,
    ) -> i32;
    pub fn etx_ffi_program_close(program: *mut Program);

    pub fn etx_ffi_session_open(
        program: *mut Program,
        out_session: *mut *mut Session,
        error: *mut Error,
    ) -> i32;
    pub fn etx_ffi_session_close(session: *mut Session);
    pub fn etx_ffi_session_method(
        session: *mut Session,
        name: *const c_char,
        out_method: *mut *mut Method,
        error: *mut Error,
    ) -> i32;
    pub fn etx_ffi_session_constant(
        session: *mut Session,
        name: *const c_char,
        out_value: *mut *const Value,
        error: *mut Error,
    ) -> i32;
    pub fn etx_ffi_session_state(
        session: *mut Session,
        name: *const c_char,
        out_value: *mut *const Value,
        error: *mut Error,
    ) -> i32;
    pub fn etx_ffi_session_reset(
        session: *mut Session,
        name: *const c_char,
        error: *mut Error,
    ) -> i32;

    pub fn etx_ffi_method_input_count(method: *const Method) -> i64;
    pub fn etx_ffi_method_set_tensor(
        method: *mut Method,
        index: i64,
        data: *mut c_void,
        dtype: i32,
        rank: i32,
        sizes: *const i64,
        error: *mut Error,
    ) -> i32;
    pub fn etx_ffi_method_run(method: *mut Method, error: *mut Error) -> i32;
    pub fn etx_ffi_method_output(
        method: *const Method,
        index: i64,
        out_value: *mut *const Value,
        error: *mut Error,
    ) -> i32;

    pub fn etx_ffi_value_kind(value: *const Value) -> i32;
    pub fn etx_ffi_value_int(value: *const Value) -> i64;
    pub fn etx_ffi_value_dtype(value: *const Value) -> i32;
    pub fn etx_ffi_value_data(value: *const Value) -> *mut c_void;
    pub fn etx_ffi_value_bytes(value: *const Value) -> usize;
}
