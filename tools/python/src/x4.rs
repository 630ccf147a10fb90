//! NumPy user types for the packed element types: four values in one item, opaque to arithmetic.
//!
//! Kernels' tests write `np.zeros(shape, dtype=nl.float8_e4m3fn_x4)` and look at `str(a.dtype)`, so the names must be NumPy types. An
//! item is its bits: it can be viewed as an unsigned integer of the same width, and every cast to a number is refused.

use numpy::npyffi::{
    NpyTypes, PY_ARRAY_API, PyArray_ArrFuncs, PyArray_DescrProto, array::PyArrayAPI, get_type_object, npy_intp,
};
use pyo3::ffi;
use pyo3::prelude::*;
use std::ffi::{CString, c_char, c_int, c_uchar, c_uint, c_void};

/// NumPy hands items out, and takes them, through the functions below.
const GETITEM_SETITEM: c_char = 0x20 | 0x40;

/// A scalar: an object with the bits of one item.
#[repr(C)]
struct Item {
    base: ffi::PyObject,
    bits: u32,
}

/// Width and scalar type of one packed type; static, because NumPy calls back without a context.
trait Packed {
    /// Bytes of an item.
    const BYTES: usize;
    /// The scalar type.
    fn kind() -> &'static std::sync::atomic::AtomicPtr<ffi::PyTypeObject>;
}

macro_rules! packed {
    ($name:ident, $bytes:expr) => {
        struct $name;
        impl Packed for $name {
            const BYTES: usize = $bytes;
            fn kind() -> &'static std::sync::atomic::AtomicPtr<ffi::PyTypeObject> {
                static KIND: std::sync::atomic::AtomicPtr<ffi::PyTypeObject> =
                    std::sync::atomic::AtomicPtr::new(std::ptr::null_mut());
                &KIND
            }
        }
    };
}
packed!(Float8E4m3fnX4, 4);
packed!(Float8E5m2X4, 4);
packed!(Float4E2m1fnX4, 2);

/// The bits of the item at `at`, which may be unaligned.
///
/// # Safety
/// `at` points at `T::BYTES` readable bytes.
unsafe fn bits<T: Packed>(at: *const c_void) -> u32 {
    let mut raw = [0u8; 4];
    // SAFETY: the caller's promise; `raw` holds four bytes and BYTES is at most four.
    unsafe { std::ptr::copy_nonoverlapping(at.cast::<u8>(), raw.as_mut_ptr(), T::BYTES) };
    u32::from_le_bytes(raw)
}

/// A new scalar object.
///
/// # Safety
/// The GIL is held and the type is registered.
unsafe fn item(kind: *mut ffi::PyTypeObject, bits: u32) -> *mut ffi::PyObject {
    // SAFETY: `kind` is a ready heap type whose instances have room for `Item`.
    unsafe {
        let made = ffi::PyType_GenericAlloc(kind, 0);
        if !made.is_null() {
            (*made.cast::<Item>()).bits = bits;
        }
        made
    }
}

unsafe extern "C" fn getitem<T: Packed>(at: *mut c_void, _array: *mut c_void) -> *mut ffi::PyObject {
    // SAFETY: NumPy passes an item of an array of this type and holds the GIL.
    unsafe { item(T::kind().load(std::sync::atomic::Ordering::Acquire), bits::<T>(at)) }
}

unsafe extern "C" fn setitem<T: Packed>(value: *mut ffi::PyObject, at: *mut c_void, _array: *mut c_void) -> c_int {
    // SAFETY: NumPy passes a live object and an item of an array of this type, and holds the GIL.
    unsafe {
        let given = if ffi::Py_TYPE(value) == T::kind().load(std::sync::atomic::Ordering::Acquire) {
            (*value.cast::<Item>()).bits
        } else {
            let number = ffi::PyLong_AsUnsignedLongMask(value);
            if !ffi::PyErr_Occurred().is_null() {
                return -1;
            }
            number as u32
        };
        std::ptr::copy_nonoverlapping(given.to_le_bytes().as_ptr(), at.cast::<u8>(), T::BYTES);
    }
    0
}

unsafe extern "C" fn copyswap<T: Packed>(to: *mut c_void, from: *mut c_void, swap: c_int, _array: *mut c_void) {
    // SAFETY: NumPy passes items of arrays of this type; `from` may be null, which means in place.
    unsafe {
        if !from.is_null() {
            std::ptr::copy(from.cast::<u8>(), to.cast::<u8>(), T::BYTES);
        }
        if swap != 0 {
            std::slice::from_raw_parts_mut(to.cast::<u8>(), T::BYTES).reverse();
        }
    }
}

unsafe extern "C" fn copyswapn<T: Packed>(
    to: *mut c_void,
    to_step: npy_intp,
    from: *mut c_void,
    from_step: npy_intp,
    count: npy_intp,
    swap: c_int,
    array: *mut c_void,
) {
    for i in 0..count {
        // SAFETY: NumPy passes `count` items at these steps.
        unsafe {
            let source = if from.is_null() { from } else { from.byte_offset(i * from_step) };
            copyswap::<T>(to.byte_offset(i * to_step), source, swap, array);
        }
    }
}

unsafe extern "C" fn nonzero<T: Packed>(at: *mut c_void, _array: *mut c_void) -> c_uchar {
    // SAFETY: NumPy passes an item of an array of this type.
    u8::from(unsafe { bits::<T>(at) } != 0)
}

unsafe extern "C" fn compare<T: Packed>(a: *const c_void, b: *const c_void, _array: *mut c_void) -> c_int {
    // SAFETY: NumPy passes items of arrays of this type.
    unsafe { bits::<T>(a).cmp(&bits::<T>(b)) as c_int }
}

unsafe extern "C" fn fill(_at: *mut c_void, _count: npy_intp, _array: *mut c_void) -> c_int {
    // Only `arange` fills, and packed items have no order to count in.
    0
}

unsafe extern "C" fn from_bits<T: Packed>(
    from: *mut c_void,
    to: *mut c_void,
    count: npy_intp,
    _source: *mut c_void,
    _target: *mut c_void,
) {
    // SAFETY: NumPy passes `count` contiguous unsigned integers and as many items of the same width.
    unsafe { std::ptr::copy_nonoverlapping(from.cast::<u8>(), to.cast::<u8>(), count as usize * T::BYTES) };
}

unsafe extern "C" fn new(
    kind: *mut ffi::PyTypeObject,
    arguments: *mut ffi::PyObject,
    _keywords: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: Python calls the slot with a tuple and the GIL held.
    unsafe {
        let mut number: c_uint = 0;
        if ffi::PyArg_ParseTuple(arguments, c"|I".as_ptr(), &mut number as *mut c_uint) == 0 {
            return std::ptr::null_mut();
        }
        item(kind, number)
    }
}

unsafe extern "C" fn text(object: *mut ffi::PyObject) -> *mut ffi::PyObject {
    // SAFETY: the slot of a type whose instances are `Item`.
    let shown = format!("0x{:x}", unsafe { (*object.cast::<Item>()).bits });
    // SAFETY: the pointer and the length are those of `shown`.
    unsafe { ffi::PyUnicode_FromStringAndSize(shown.as_ptr().cast(), shown.len() as isize) }
}

unsafe extern "C" fn integer(object: *mut ffi::PyObject) -> *mut ffi::PyObject {
    // SAFETY: the slot of a type whose instances are `Item`.
    unsafe { ffi::PyLong_FromUnsignedLong((*object.cast::<Item>()).bits.into()) }
}

unsafe extern "C" fn hash(object: *mut ffi::PyObject) -> ffi::Py_hash_t {
    // SAFETY: the slot of a type whose instances are `Item`.
    unsafe { (*object.cast::<Item>()).bits as ffi::Py_hash_t }
}

unsafe extern "C" fn equal(a: *mut ffi::PyObject, b: *mut ffi::PyObject, op: c_int) -> *mut ffi::PyObject {
    // SAFETY: the slot of a type whose instances are `Item`; the bits are read only when both are of it.
    unsafe {
        if ffi::Py_TYPE(a) != ffi::Py_TYPE(b) || (op != ffi::Py_EQ && op != ffi::Py_NE) {
            let unknown = ffi::Py_NotImplemented();
            ffi::Py_IncRef(unknown);
            return unknown;
        }
        let same = (*a.cast::<Item>()).bits == (*b.cast::<Item>()).bits;
        ffi::PyBool_FromLong((same == (op == ffi::Py_EQ)).into())
    }
}

/// Registers one type under `name` unless NumPy knows the name already.
fn register_one<T: Packed>(py: Python<'_>, name: &str) -> PyResult<()> {
    let numpy = py.import("numpy")?;
    if numpy.getattr("dtype")?.call1((name,)).is_ok() {
        return Ok(());
    }
    let c_name = CString::new(format!("birsim.{name}")).expect("names have no zero bytes");
    let slot = |slot: c_int, pfunc: *mut c_void| ffi::PyType_Slot { slot, pfunc };
    let mut slots = [
        slot(ffi::Py_tp_new, new as *mut c_void),
        slot(ffi::Py_tp_repr, text as *mut c_void),
        slot(ffi::Py_tp_str, text as *mut c_void),
        slot(ffi::Py_tp_hash, hash as *mut c_void),
        slot(ffi::Py_tp_richcompare, equal as *mut c_void),
        slot(ffi::Py_nb_int, integer as *mut c_void),
        slot(ffi::Py_nb_index, integer as *mut c_void),
        slot(0, std::ptr::null_mut()),
    ];
    let mut spec = ffi::PyType_Spec {
        name: c_name.into_raw(),
        basicsize: size_of::<Item>() as c_int,
        itemsize: 0,
        flags: ffi::Py_TPFLAGS_DEFAULT as c_uint,
        slots: slots.as_mut_ptr(),
    };
    // SAFETY: the GIL is held; the specification lives through the call and its name for ever; every pointer handed to NumPy (the
    // function table, the type, the descriptor) is never freed, as NumPy keeps them.
    unsafe {
        let base = get_type_object(py, NpyTypes::PyGenericArrType_Type);
        let bases = ffi::PyTuple_Pack(1, base.cast::<ffi::PyObject>());
        let kind = ffi::PyType_FromSpecWithBases(&mut spec, bases);
        ffi::Py_DecRef(bases);
        if kind.is_null() {
            return Err(PyErr::fetch(py));
        }
        T::kind().store(kind.cast(), std::sync::atomic::Ordering::Release);
        let functions: &'static mut PyArray_ArrFuncs = Box::leak(Box::new(std::mem::zeroed()));
        let api: &PyArrayAPI = &PY_ARRAY_API;
        api.PyArray_InitArrFuncs(py, functions);
        functions.getitem = Some(getitem::<T>);
        functions.setitem = Some(setitem::<T>);
        functions.copyswap = Some(copyswap::<T>);
        functions.copyswapn = Some(copyswapn::<T>);
        functions.nonzero = Some(nonzero::<T>);
        functions.compare = Some(compare::<T>);
        functions.fill = Some(fill);

        // NumPy 1 makes this very object the descriptor, so it must be one that Python may count.
        let proto = ffi::PyObject_Malloc(size_of::<PyArray_DescrProto>()).cast::<PyArray_DescrProto>();
        if proto.is_null() {
            return Err(pyo3::exceptions::PyMemoryError::new_err("no memory for a type descriptor"));
        }
        std::ptr::write_bytes(proto, 0, 1);
        ffi::PyObject_Init(proto.cast(), get_type_object(py, NpyTypes::PyArrayDescr_Type));
        (*proto).typeobj = kind.cast();
        (*proto).kind = b'V' as c_char;
        (*proto).type_ = b'V' as c_char;
        (*proto).byteorder = b'=' as c_char;
        (*proto).flags = GETITEM_SETITEM;
        (*proto).elsize = T::BYTES as c_int;
        (*proto).alignment = T::BYTES as c_int;
        (*proto).f = functions;
        (*proto).hash = -1;
        let number = api.PyArray_RegisterDataType(py, proto);
        if number < 0 {
            return Err(PyErr::fetch(py));
        }
        let carrier = if T::BYTES == 4 { "uint32" } else { "uint16" };
        let carrier = numpy.getattr("dtype")?.call1((carrier,))?;
        if api.PyArray_RegisterCastFunc(py, carrier.as_ptr().cast(), number, Some(from_bits::<T>)) < 0 {
            return Err(PyErr::fetch(py));
        }
        let kind: Bound<'_, PyAny> = Bound::from_owned_ptr(py, kind);
        let descriptor: Bound<'_, PyAny> = Bound::from_owned_ptr(py, api.PyArray_DescrFromType(py, number).cast());
        kind.setattr("dtype", descriptor)?;
        // The dictionary behind `np.dtype("name")`, where ml_dtypes enters its types as well.
        let names = match numpy.getattr("sctypeDict") {
            Ok(names) => names,
            Err(_) => py.import("numpy.core.numerictypes")?.getattr("sctypeDict")?,
        };
        names.set_item(name, kind)?;
    }
    Ok(())
}

/// Registers the packed types of NKI.
pub fn register(py: Python<'_>) -> PyResult<()> {
    register_one::<Float8E4m3fnX4>(py, "float8_e4m3fn_x4")?;
    register_one::<Float8E5m2X4>(py, "float8_e5m2_x4")?;
    register_one::<Float4E2m1fnX4>(py, "float4_e2m1fn_x4")
}
