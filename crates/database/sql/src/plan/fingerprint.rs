//! `plan_hash_value`: a number that two plans have in common if they do the same things to the same
//! objects in the same order.
//!
//! It is made of the lines of the plan without estimates, numbers of objects or slots, so it is the
//! same in each run, and after statistics have changed without changing the plan. Of a long
//! constant, and of a long list of values, it has the beginning.
//!
//! Callers: `cache`, for `v$sql`; `explain`.

use super::node::FramePlan;
use super::text::lines;

/// The hash of a plan (FNV-1a, folded to 32 bits).
pub(crate) fn fingerprint(plan: &FramePlan) -> u32 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    let mut add = |text: &str| {
        for byte in text.bytes().chain([0]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    for line in lines(plan) {
        add(&line.depth.to_string());
        add(&line.operation);
        add(line.object.as_deref().unwrap_or_default());
        for detail in &line.details {
            add(detail.about);
            add(&detail.text);
        }
    }
    ((hash >> 32) ^ (hash & u64::from(u32::MAX))) as u32
}
