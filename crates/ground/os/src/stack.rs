//! More stack for work that needs more of it than the thread has left.
//!
//! ```text
//!   the thread's own stack          another one, mapped for the work (crate `stacker`)
//!   ┌───────────────┐ highest       ┌───────────────┐
//!   │ callers       │               │ work          │  until it returns or panics; then the stack
//!   │ `with_stack`  │ ── switch ──▶ │               │  is unmapped, and a panic goes on in the
//!   │ too little    │               │               │  thread's own stack
//!   └───────────────┘ lowest        ├───────────────┤
//!                                   │ guard         │  to touch it ends the process
//!                                   └───────────────┘
//! ```
//!
//! Which stack work runs on changes nothing of what it does: the thread stays the same, with its
//! session, its locals and its waits. So a simulated run is the same with any stack.
//!
//! Callers: `database` and `sql`, for statements (rule O77).

/// The bytes of another stack. They are addresses: memory comes with the first touch. Work within
/// work finds enough there, so that it is seldom switched again.
const STACK_BYTES: usize = 64 << 20;

/// The most stack that work can ask for.
pub const STACK_ASKED_MAX: usize = 32 << 20;

const _: () = assert!(STACK_ASKED_MAX <= STACK_BYTES / 2);

/// Runs `work` with at least this many bytes of stack: where the caller is, or on another stack if
/// less is left there (rule O77).
///
/// # Panics
/// The machine gives no memory for another stack. `work` wasn't begun.
#[inline]
pub fn with_stack<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    assert!(bytes <= STACK_ASKED_MAX, "{bytes} bytes of stack are more than may be asked for");
    stacker::maybe_grow(bytes, STACK_BYTES, work)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::panic::catch_unwind;

    use super::*;

    fn left() -> usize {
        stacker::remaining_stack().expect("the bounds are known")
    }

    /// Takes a frame of a page for each level, and counts them.
    #[inline(never)]
    fn deep(levels: usize) -> usize {
        let page = std::hint::black_box([1_u8; 4_096]);
        match levels {
            0 => 0,
            _ => usize::from(page[levels % 4_096]) + deep(levels - 1),
        }
    }

    fn on_small_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
        let thread = std::thread::Builder::new().stack_size(128 << 10).spawn(work);
        thread.expect("started").join().expect("ended by itself")
    }

    /// Goes down until fewer bytes than these are left, and does `work` there.
    #[inline(never)]
    fn down_to(bytes: usize, work: &dyn Fn() -> usize) -> usize {
        let page = std::hint::black_box([1_u8; 4_096]);
        match left() < bytes {
            true => work(),
            false => down_to(bytes, work) + usize::from(page[0]) - 1,
        }
    }

    #[test]
    fn work_gets_the_stack_that_it_asks_for() {
        let levels = on_small_thread(|| {
            let first = with_stack(8 << 20, || {
                assert!(left() >= 8 << 20);
                // Where little is left of the second stack there is a third one.
                let third = || with_stack(8 << 20, || deep(500));
                down_to(1 << 20, &third) + deep(500)
            });
            first + with_stack(STACK_ASKED_MAX, || deep(500))
        });
        assert_eq!(levels, 1_500);
    }

    #[test]
    fn work_that_has_enough_stays_where_it_is() {
        let here = left();
        let within = with_stack(1_024, left);
        assert!(within.abs_diff(here) < 64 << 10, "{within} and {here}");
    }

    #[test]
    fn a_panic_goes_on_in_the_caller() {
        let told = on_small_thread(|| {
            let before = left();
            let panics = || -> usize { panic!("at {}", deep(100)) };
            let caught = catch_unwind(|| with_stack(1 << 20, panics));
            let panic = caught.expect_err("it panics");
            let after = left();
            assert!(after.abs_diff(before) < 64 << 10, "{after} and {before}");
            assert_eq!(with_stack(1 << 20, || deep(100)), 100);
            panic.downcast_ref::<String>().cloned()
        });
        assert_eq!(told.as_deref(), Some("at 100"));
    }

    #[test]
    fn what_is_dropped_in_the_end_of_a_thread_has_stack_too() {
        struct Deep(std::sync::mpsc::Sender<usize>);
        impl Drop for Deep {
            fn drop(&mut self) {
                let levels = with_stack(1 << 20, || deep(200));
                self.0.send(levels).expect("somebody listens");
            }
        }
        thread_local! {
            static LAST: Cell<Option<Deep>> = const { Cell::new(None) };
        }
        let (send, receive) = std::sync::mpsc::channel();
        on_small_thread(move || LAST.set(Some(Deep(send))));
        assert_eq!(receive.recv(), Ok(200));
    }
}
