//! Leaked guards never bring a count round to zero.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use latch::{FrameLatch, FrameOrder, ReaderCounts};
use waits::SessionKind;

/// A get whose count is too high panics and isn't counted. Otherwise 2^16 of them would bring the
/// count to zero and let a writer in beside a reader, from safe code.
#[test]
fn shared_holds_that_leak_never_let_a_writer_in() {
    std::panic::set_hook(Box::new(|_| {}));
    let os = os::linux::start_with(Arc::new(|_| {}));
    let session = os.adopt("main", SessionKind::Foreground);
    let counts = ReaderCounts::new(&os, 1);
    let latch = FrameLatch::new(&os, &counts, 0, 7_u64);
    let reader = latch.try_shared(FrameOrder::Heap, &session).expect("free");
    let value: &u64 = &reader;
    for _ in 1..1 << 16 {
        let get = || std::mem::forget(latch.try_shared(FrameOrder::Heap, &session));
        let _ = catch_unwind(AssertUnwindSafe(get));
    }
    let writer = latch.try_exclusive(FrameOrder::Heap, &session);
    let _ = std::panic::take_hook();
    let (is_in, value) = (writer.is_some(), *value);
    // The counts are wrong by now.
    std::mem::forget((reader, writer));
    assert!(!is_in, "a writer is in beside a reader, who reads {value}");
}
