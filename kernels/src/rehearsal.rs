//! Rehearsing an instruction: everything is checked, no element is computed.
//!
//! What a kernel refuses because of its parameters, shapes and dtypes it refuses before it looks at an element. A rehearsal
//! runs the kernel as it is and ends where the loop over lanes would begin, so that nobody has to write the same rules a
//! second time to know them before a run.

use std::cell::Cell;

thread_local! {
    static ON: Cell<bool> = const { Cell::new(false) };
}

/// Restores the state from before the rehearsal, also after a panic.
struct Restore(bool);

impl Drop for Restore {
    fn drop(&mut self) {
        ON.set(self.0);
    }
}

/// Runs `f`, in which kernels of this thread check and do not compute.
pub fn rehearse<R>(f: impl FnOnce() -> R) -> R {
    let _restore = Restore(ON.replace(true));
    f()
}

/// Whether this thread rehearses.
#[inline]
pub(crate) fn is_on() -> bool {
    ON.get()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::{Dst, Pair, Pattern, Src};
    use crate::{Code, Dtype, Profile, copy};

    #[test]
    fn d66_a_rehearsal_checks_and_computes_nothing() {
        let dense = |n: u32| Pattern::new(Dtype::Uint8, 0, &[Pair { stride: 1, num: n }]).unwrap();
        let (from, to, short) = (dense(4), dense(4), dense(3));
        let (src, mut out) = ([7u8; 4], [0u8; 4]);
        let profile = Profile::default();
        let src = Src::new(&src, &from).unwrap();
        rehearse(|| {
            copy::copy(&src, &mut Dst::new(&mut out, &to).unwrap(), &profile).unwrap();
            let e = copy::copy(&src, &mut Dst::new(&mut out, &short).unwrap(), &profile).unwrap_err();
            assert_eq!(e.code(), Code::S002);
        });
        assert_eq!(out, [0; 4]);
        copy::copy(&src, &mut Dst::new(&mut out, &to).unwrap(), &profile).unwrap();
        assert_eq!(out, [7; 4]);
    }
}
