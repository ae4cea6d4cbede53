//! Databases larger than one extent map has room for.

use instance::{Creation, Instance, Parameters};
use sim::fs::FileSystem;
use stop::RefusalKind;

use crate::common::{directory, machine, run};

/// Data files beyond what one extent map has room for are several, of which each is allowed: what
/// refuses them is the disk alone.
#[test]
fn what_one_extent_map_has_no_room_for_is_spread_over_several_files() {
    for gib in [1, 20, 44, 1_600] {
        let data_bytes = (gib << 30) + (1 << 20);
        let data_bytes_max = (30 << 30).max(2 * data_bytes);
        let mut large = Creation { data_bytes, data_bytes_max, ..Creation::default() };
        large.spread_data();
        let mapped = 32 << 30;
        assert_eq!(large.data_files.len() as u64, (2 * data_bytes) / mapped, "{gib} GiB");
        let stop = run(machine(1, FileSystem::new(1 << 28)), move |world, session| {
            let disk = world.disk();
            let parameters = Parameters::default();
            let made = Instance::create(&disk, directory(), &large, &parameters, session);
            made.expect_err("the disk is too small")
        });
        assert_eq!(stop.refusal(), Some(RefusalKind::NoSpace), "{gib} GiB: {stop}");
        assert!(stop.to_string().contains(" MB are needed"), "{gib} GiB: {stop}");
    }
}
