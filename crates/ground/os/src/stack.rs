//! More stack for work that needs more of it than the thread has left.
//!
//! ```text
//!   the thread's own stack          another one, mapped by the thread when it first needs it
//!   ┌───────────────┐ highest       ┌───────────────┐
//!   │ callers       │               │ work          │  until it returns or panics; a panic goes
//!   │ `with_stack`  │ ── switch ──▶ │               │  on in the thread's own stack
//!   │ too little    │               │               │
//!   └───────────────┘ lowest        ├───────────────┤
//!                                   │ guard         │  to touch it ends the process
//!                                   └───────────────┘
//! ```
//!
//! Which stack work runs on changes nothing of what it does: the thread stays the same, with its
//! session, its locals and its waits. So a simulated run is the same with any stack.
//!
//! The switch is that of the C library (`makecontext`, `swapcontext`), which knows the registers of
//! each machine, the mask of signals, and shadow stacks.
//!
//! Invariants
//!   * work on another stack has ended, by return or by panic, before its caller goes on
//!   * a thread keeps one stack that isn't in use, and unmaps it when it ends
//!
//! Callers: `database` and `sql`, for statements (rule O77).

use std::cell::Cell;
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::{NonNull, from_ref, null_mut};

use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};

use crate::{Cause, Error};

/// The bytes of another stack. They are addresses: memory comes with the first touch.
const STACK_BYTES: usize = 64 << 20;

/// The bytes below it that nobody may touch. A frame that is longer than a page touches each of its
/// pages in turn, so none steps over them.
const GUARD_BYTES: usize = 64 << 10;

/// The most stack that work can ask for.
pub const STACK_ASKED_MAX: usize = 32 << 20;

const _: () = assert!(STACK_ASKED_MAX <= STACK_BYTES / 2);

/// The addresses of a stack.
#[derive(Clone, Copy)]
struct Bounds {
    lowest: usize,
    /// The first one behind it; 0: the system wasn't asked yet.
    highest: usize,
}

thread_local! {
    /// The stack that the thread is on.
    static BOUNDS: Cell<Bounds> = const { Cell::new(Bounds { lowest: 0, highest: 0 }) };
    /// A stack that isn't in use.
    static SPARE: Cell<Option<Stack>> = const { Cell::new(None) };
    /// What the stack that is switched to runs: an [`Entered`].
    static ENTERED: Cell<*mut c_void> = const { Cell::new(null_mut()) };
}

/// Runs `work` with at least this many bytes of stack: where the caller is, or on another stack if
/// less is left there (rule O77).
///
/// # Errors
/// The machine gives no memory for another stack (`NoMemory`); `work` was dropped unrun.
#[inline]
pub fn with_stack<T, F: FnOnce() -> T>(bytes: usize, work: F) -> Result<T, Error> {
    match left() >= bytes {
        true => Ok(work()),
        false => elsewhere(bytes, work).map_err(|_| no_stack(bytes)),
    }
}

/// As [`with_stack`], for work that can't be refused, such as dropping a value: if no other stack
/// can be had it runs with what is left.
#[inline]
pub fn with_stack_if_any<T, F: FnOnce() -> T>(bytes: usize, work: F) -> T {
    match left() >= bytes {
        true => work(),
        false => elsewhere(bytes, work).unwrap_or_else(|work| work()),
    }
}

/// The bytes that are left of the stack that the thread is on. 0 if they aren't known: the bounds
/// can't be had, or the program has switched to a stack of its own.
#[inline]
fn left() -> usize {
    let mark = 0_u8;
    let here = from_ref(std::hint::black_box(&mark)).addr();
    let mut bounds = BOUNDS.get();
    if bounds.highest == 0 {
        bounds = ask();
    }
    match here < bounds.highest {
        true => here.saturating_sub(bounds.lowest),
        false => 0,
    }
}

/// Asks the system for the bounds of the thread's own stack, once.
#[cold]
fn ask() -> Bounds {
    // Nothing lies within the bounds that stand for unknown ones.
    let bounds = own_bounds().unwrap_or(Bounds { lowest: usize::MAX, highest: usize::MAX });
    BOUNDS.set(bounds);
    bounds
}

fn own_bounds() -> Option<Bounds> {
    let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
    let (mut lowest, mut bytes): (*mut c_void, usize) = (null_mut(), 0);
    // SAFETY: the thread asks about itself, `attributes` has room for what the first call fills,
    // and the others, which come only if it has, read it and free what it holds, once.
    let got = unsafe {
        if libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) != 0 {
            return None;
        }
        let got = libc::pthread_attr_getstack(attributes.as_ptr(), &mut lowest, &mut bytes);
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        got
    };
    let lowest = lowest.addr();
    (got == 0).then_some(Bounds { lowest, highest: lowest.saturating_add(bytes) })
}

#[cold]
fn no_stack(bytes: usize) -> Error {
    let what = format!("get a stack of {bytes} bytes");
    Error::new(what, Cause::NoMemory, "the machine maps no memory for it")
}

/// Work for another stack, and what came of it.
struct Entered<T, F> {
    work: Option<F>,
    done: Option<std::thread::Result<T>>,
}

/// Runs `work` on another stack, and gives it back if there is none.
#[cold]
#[inline(never)]
fn elsewhere<T, F: FnOnce() -> T>(bytes: usize, work: F) -> Result<T, F> {
    assert!(bytes <= STACK_ASKED_MAX, "{bytes} bytes of stack are more than a stack may have left");
    let spare = SPARE.try_with(Cell::take).ok().flatten();
    let Some(stack) = spare.or_else(Stack::map) else { return Err(work) };
    let mut entered = Entered { work: Some(work), done: None };
    ENTERED.set((&raw mut entered).cast());
    let before = BOUNDS.replace(stack.bounds());
    stack.switch(enter::<T, F>);
    BOUNDS.set(before);
    // A thread that is ending keeps none.
    let _ = SPARE.try_with(|spare| spare.set(Some(stack)));
    match entered {
        Entered { done: Some(Ok(done)), .. } => Ok(done),
        Entered { done: Some(Err(panic)), .. } => resume_unwind(panic),
        Entered { work, .. } => Err(work.expect("work that wasn't begun wasn't taken")),
    }
}

/// The first function on another stack. A panic must not leave it: below it are no frames.
extern "C" fn enter<T, F: FnOnce() -> T>() {
    let entered = ENTERED.get().cast::<Entered<T, F>>();
    // SAFETY: `elsewhere` has put the address of an `Entered` of these types there just before it
    // has switched to here, and looks at it again only when this has returned.
    let entered = unsafe { &mut *entered };
    let work = entered.work.take().expect("a stack is entered once for each work");
    entered.done = Some(catch_unwind(AssertUnwindSafe(work)));
}

/// A stack that is no thread's own.
struct Stack {
    /// The lowest address, of the guard.
    base: NonNull<c_void>,
}

impl Stack {
    /// Maps one. None: the machine gives none.
    fn map() -> Option<Stack> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE | MapFlags::STACK;
        // SAFETY: a new private mapping, at an address that the kernel chooses.
        let base = unsafe { mmap_anonymous(null_mut(), STACK_BYTES, access, flags) }.ok()?;
        let stack = Stack { base: NonNull::new(base)? };
        // SAFETY: the lowest pages of the mapping just made, which nobody has used.
        unsafe { mprotect(base, GUARD_BYTES, MprotectFlags::empty()) }.ok()?;
        Some(stack)
    }

    fn bounds(&self) -> Bounds {
        let base = self.base.addr().get();
        Bounds { lowest: base + GUARD_BYTES, highest: base + STACK_BYTES }
    }

    /// Calls a function on this stack.
    fn switch(&self, function: extern "C" fn()) {
        let mut here = MaybeUninit::<libc::ucontext_t>::zeroed();
        let mut there = MaybeUninit::<libc::ucontext_t>::zeroed();
        let (here, there) = (here.as_mut_ptr(), there.as_mut_ptr());
        // SAFETY: both have room for a context, and stay where they are until this returns.
        // `getcontext` fills `there`; the memory that it gets then is this stack's, which is mapped
        // and which nobody else uses. `swapcontext` fills `here`, and comes back when `function`
        // has returned, by `uc_link`.
        unsafe {
            if libc::getcontext(there) != 0 {
                return;
            }
            (*there).uc_stack.ss_sp = self.base.as_ptr().byte_add(GUARD_BYTES);
            (*there).uc_stack.ss_size = STACK_BYTES - GUARD_BYTES;
            (*there).uc_link = here;
            libc::makecontext(there, function, 0);
            libc::swapcontext(here, there);
        }
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        // SAFETY: `map` has made this mapping, and a stack that is dropped isn't in use. If the
        // kernel refuses, the addresses stay.
        let _ = unsafe { munmap(self.base.as_ptr(), STACK_BYTES) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
                let third = || with_stack(8 << 20, || deep(500)).expect("there is one");
                down_to(1 << 20, &third) + deep(500)
            });
            first.expect("there is one") + with_stack(STACK_ASKED_MAX, || deep(500)).expect("too")
        });
        assert_eq!(levels, 1_500);
    }

    #[test]
    fn work_that_has_enough_stays_where_it_is() {
        let here = left();
        assert!(here > 0, "the bounds are known");
        let within = with_stack(1_024, left).expect("it is there");
        assert!(within.abs_diff(here) < 64 << 10, "{within} and {here}");
    }

    #[test]
    fn a_panic_goes_on_in_the_caller() {
        let told = on_small_thread(|| {
            let before = left();
            let panics = || -> usize { panic!("at {}", deep(100)) };
            let caught = catch_unwind(|| with_stack(1 << 20, panics));
            let panic = caught.err().expect("it panics");
            let after = left();
            assert!(after.abs_diff(before) < 64 << 10, "{after} and {before}");
            // The stack can be used again.
            assert_eq!(with_stack(1 << 20, || deep(100)).expect("there"), 100);
            panic.downcast_ref::<String>().cloned()
        });
        assert_eq!(told.as_deref(), Some("at 100"));
    }

    #[test]
    fn what_is_dropped_in_the_end_of_a_thread_has_stack_too() {
        struct Deep(std::sync::mpsc::Sender<usize>);
        impl Drop for Deep {
            fn drop(&mut self) {
                let levels = with_stack_if_any(1 << 20, || deep(200));
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
