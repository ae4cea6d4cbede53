//! The listed limits of parameters, held against what creation and opening do: each end of a range
//! works with some values of the other parameters.

use ids::BlockSize;
use instance::{Allowed, Creation, Instance, Parameters};
use os::Session;
use sim::World;
use sim::fs::FileSystem;
use stop::Stop;

use crate::common::{self, CAPACITY, directory, machine, open_as, run, shut};

/// The parameters of small databases, with a batch of one block, and a cache for all block sizes.
fn parameters() -> Parameters {
    Parameters {
        db_cache_size: 1 << 20,
        db_writer_batch: 1,
        db_working_sets: 1,
        ..common::parameters()
    }
}

/// Small databases whose files grow and don't grow, and one whose files are large.
fn bases() -> [Creation; 3] {
    let grows = Creation {
        data_bytes_max: 64 << 20,
        data_growth_bytes: 1 << 20,
        undo_bytes_max: 64 << 20,
        undo_growth_bytes: 1 << 20,
        ..common::creation()
    };
    let stays = Creation { undo_bytes: 1 << 20, undo_bytes_max: 0, ..common::creation() };
    let large = Creation {
        db_block_size: BlockSize::KIB_32,
        extent_blocks: 1 << 16,
        data_bytes: 1 << 40,
        undo_bytes: 1 << 40,
        undo_bytes_max: 0,
        data_growth_bytes: 1 << 40,
        ..common::creation()
    };
    [grows, stays, large]
}

/// Creates a database and opens it.
fn created(creation: &Creation) -> Result<(), Stop> {
    let creation = creation.clone();
    run(machine(1, FileSystem::new(CAPACITY)), move |world: &World, session: &Session| {
        Instance::create(&world.disk(), directory(), &creation, &parameters(), session)?;
        let instance = Instance::open(&world.disk(), directory(), &parameters(), session)?;
        instance.shutdown(session)
    })
}

/// A database is made with each least and each largest number, or would be on a larger disk.
#[test]
fn a_database_is_made_with_each_end_of_a_parameters_range() {
    for info in Creation::list() {
        let Allowed::Between(least, most) = info.allowed else { continue };
        for number in [least, most] {
            let mut refused = Vec::new();
            let is_made = bases().into_iter().any(|mut creation| {
                creation.set(info.name, &number.to_string()).expect("within the range");
                match created(&creation) {
                    Ok(()) => true,
                    Err(stop) => {
                        refused.push(stop.to_string());
                        number == most && refused.iter().any(|said| said.contains("MB are free"))
                    }
                }
            });
            assert!(is_made, "{} = {number}: {refused:#?}", info.name);
        }
    }
}

/// An instance opens with the least number of each parameter.
#[test]
fn a_database_is_opened_with_the_least_of_each_parameter() {
    let base = common::database(1);
    for info in Parameters::list() {
        let Allowed::Between(least, _) = info.allowed else { continue };
        let mut parameters = parameters();
        parameters.set(info.name, &least.to_string()).expect("within the range");
        run(machine(1, base.clone()), move |world, session| {
            shut(open_as(&parameters, world, session), session);
        });
    }
}
