//! Programs of etx, without unsafe code for the caller. The compiler checks
//! what module_ffi.h asks for: nothing is used after it was closed, inputs live
//! until the run has ended, results are not read after the next run, and one
//! thread at a time uses a session.

use std::ffi::{c_void, CStr, CString};
use std::os::raw::c_char;
use std::{fmt, ptr};

#[path = "etx_functions.rs"]
mod functions;
use functions as c;

/// Why a call failed.
#[derive(Debug)]
pub struct Error {
    /// The name of the status, such as `BAD_FILE`.
    pub status: String,
    /// A sentence.
    pub text: String,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}: {}", self.status, self.text)
    }
}

impl std::error::Error for Error {}

pub type Result<T> = std::result::Result<T, Error>;

fn refuse<T>(status: &str, text: String) -> Result<T> {
    Err(Error { status: status.to_string(), text })
}

/// Makes a call with an error object, and takes its text if the call fails.
fn call(function: impl FnOnce(*mut c::Error) -> i32) -> Result<()> {
    // SAFETY: a NULL error is allowed everywhere, and texts end with NUL.
    unsafe {
        let error = c::etx_ffi_error_open();
        let status = function(error);
        let text = |from| CStr::from_ptr(from).to_string_lossy().into_owned();
        let result = match status {
            0 => Ok(()),
            _ => refuse(
                &text(c::etx_ffi_status_name(status)),
                text(c::etx_ffi_error_text(error)),
            ),
        };
        c::etx_ffi_error_close(error);
        result
    }
}

fn text(name: &str) -> Result<CString> {
    CString::new(name)
        .or_else(|_| refuse("BAD_ARGUMENT", format!("{:?} contains NUL", name)))
}

/// A type of elements, with its number in PyTorch and in files.
///
/// # Safety
/// The number is that of a type with this layout, all bits of which are valid.
pub unsafe trait Element: Copy {
    const DTYPE: i32;
}

macro_rules! element {
    ($($rust:ty = $dtype:literal),*) => {
        $(unsafe impl Element for $rust { const DTYPE: i32 = $dtype; })*
    };
}
element!(u8 = 0, i8 = 1, i16 = 2, i32 = 3, i64 = 4, f32 = 6, f64 = 7);

/// An opened program file. All threads may use it.
pub struct Program(*mut c::Program);

// SAFETY: a program is constant, and its references are counted atomically.
unsafe impl Send for Program {}
unsafe impl Sync for Program {}

impl Program {
    pub fn open(path: &str) -> Result<Program> {
        // SAFETY: it reads nothing.
        let version = unsafe { c::etx_ffi_version() };
        if version != c::VERSION {
            return refuse(
                "UNSUPPORTED",
                format!("libetx has interface {}, not {}", version, c::VERSION),
            );
        }
        let path = text(path)?;
        let mut program = ptr::null_mut();
        // SAFETY: both pointers are valid during the call.
        call(|e| unsafe { c::etx_ffi_program_open(path.as_ptr(), &mut program, e) })?;
        Ok(Program(program))
    }

    /// A session with the initial values of all states. It keeps the file open.
    pub fn session(&self) -> Result<Session> {
        let mut session = ptr::null_mut();
        // SAFETY: the program is open.
        call(|e| unsafe { c::etx_ffi_session_open(self.0, &mut session, e) })?;
        Ok(Session(session))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: it was open, and nothing uses it any more.
        unsafe { c::etx_ffi_program_close(self.0) }
    }
}

/// One copy of the state of a program. It may move to another thread.
pub struct Session(*mut c::Session);

// SAFETY: a session is not bound to the thread that opened it.
unsafe impl Send for Session {}

impl Drop for Session {
    fn drop(&mut self) {
        // SAFETY: it was open, and nothing uses it any more.
        unsafe { c::etx_ffi_session_close(self.0) }
    }
}

/// An input of a call: elements, which the method may change, and sizes.
pub struct Input<'a> {
    data: *mut c_void,
    dtype: i32,
    sizes: &'a [i64],
}

impl<'a> Input<'a> {
    /// Elements in row-major order, as many as the sizes say.
    pub fn new<T: Element>(data: &'a mut [T], sizes: &'a [i64]) -> Result<Input<'a>> {
        let count = sizes
            .iter()
            .try_fold(1i64, |n, &size| n.checked_mul(size).filter(|&n| n >= 0));
        if count != Some(data.len() as i64) {
            return refuse(
                "BAD_ARGUMENT",
                format!("{} elements for sizes {:?}", data.len(), sizes),
            );
        }
        Ok(Input { data: data.as_mut_ptr().cast(), dtype: T::DTYPE, sizes })
    }
}

impl Session {
    /// Runs a method on all of its inputs, and returns it for reading its
    /// outputs, one of which may be an input.
    pub fn run<'a>(
        &'a mut self,
        method: &str,
        inputs: &'a mut [Input],
    ) -> Result<Outputs<'a>> {
        let name = text(method)?;
        let mut method = ptr::null_mut();
        // SAFETY: the session is open and borrowed, so no other call uses it.
        // The inputs are borrowed as long as the outputs are, and none is left
        // from an earlier call, because all of them are set.
        unsafe {
            call(|e| c::etx_ffi_session_method(self.0, name.as_ptr(), &mut method, e))?;
            let count = c::etx_ffi_method_input_count(method);
            if count != inputs.len() as i64 {
                let text = format!("{} inputs, expected {}", inputs.len(), count);
                return refuse("BAD_ARGUMENT", text);
            }
            for (index, input) in inputs.iter().enumerate() {
                call(|e| {
                    c::etx_ffi_method_set_tensor(
                        method,
                        index as i64,
                        input.data,
                        input.dtype,
                        input.sizes.len() as i32,
                        input.sizes.as_ptr(),
                        e,
                    )
                })?;
            }
            call(|e| c::etx_ffi_method_run(method, e))?;
        }
        Ok(Outputs { method, _session: std::marker::PhantomData })
    }

    /// The value of a constant method.
    pub fn constant(&mut self, name: &str) -> Result<i64> {
        let c_name = text(name)?;
        let mut value = ptr::null();
        // SAFETY: the session is open; the value is read at once.
        unsafe {
            call(|e| c::etx_ffi_session_constant(self.0, c_name.as_ptr(), &mut value, e))?;
            match c::etx_ffi_value_kind(value) {
                c::INT => Ok(c::etx_ffi_value_int(value)),
                _ => refuse("BAD_ARGUMENT", format!("'{}' is no integer", name)),
            }
        }
    }

    /// The elements of a state: the state itself, not a copy.
    pub fn state<T: Element>(&mut self, name: &str) -> Result<&mut [T]> {
        let name = text(name)?;
        let mut value = ptr::null();
        // SAFETY: the state stays where it is while the session is borrowed.
        unsafe {
            call(|e| c::etx_ffi_session_state(self.0, name.as_ptr(), &mut value, e))?;
            let (data, count) = elements::<T>(value)?;
            Ok(std::slice::from_raw_parts_mut(data, count))
        }
    }

    /// Writes the initial values of all states again.
    pub fn reset(&mut self) -> Result<()> {
        let all = ptr::null::<c_char>();
        // SAFETY: the session is open.
        call(|e| unsafe { c::etx_ffi_session_reset(self.0, all, e) })
    }
}

/// The outputs of a run, until the next call with the session.
pub struct Outputs<'a> {
    method: *mut c::Method,
    _session: std::marker::PhantomData<&'a mut Session>,
}

impl Outputs<'_> {
    /// The elements of an output that is a tensor.
    pub fn tensor<T: Element>(&self, index: i64) -> Result<&[T]> {
        let mut value = ptr::null();
        // SAFETY: the session is borrowed as long as the outputs are.
        unsafe {
            call(|e| c::etx_ffi_method_output(self.method, index, &mut value, e))?;
            let (data, count) = elements::<T>(value)?;
            Ok(std::slice::from_raw_parts(data, count))
        }
    }
}

/// The first element of a tensor and their number.
unsafe fn elements<T: Element>(value: *const c::Value) -> Result<(*mut T, usize)> {
    if c::etx_ffi_value_kind(value) != c::TENSOR
        || c::etx_ffi_value_dtype(value) != T::DTYPE
    {
        return refuse("BAD_ARGUMENT", "it is a tensor of another type, or none".into());
    }
    let count = c::etx_ffi_value_bytes(value) / std::mem::size_of::<T>();
    let data = c::etx_ffi_value_data(value).cast::<T>();
    match count {
        0 => Ok((ptr::NonNull::dangling().as_ptr(), 0)),
        _ => Ok((data, count)),
    }
}
