//! A redo log that isn't what the database left there: gone, or an older copy of itself. Each would
//! lose what was committed, so opening is refused (rules redo/RD27 and recovery/RC11).

use instance::{Instance, LogStatus};
use os::{FileOptions, IoBuf, Session};
use sim::World;
use sim::fs::FileSystem;
use waits::Nanos;

use crate::common::{
    TABLE, bytes_of, database, directory, fill, machine, open, parameters, pause, put, run,
    run_kept,
};
use crate::rows::Rows;

/// What lies in the file of the current log, and which that is.
fn current(instance: &Instance, world: &World, session: &Session) -> (String, Vec<u8>) {
    let views = instance.log_groups(session);
    let view = views.iter().find(|view| view.status == LogStatus::Current).expect("there is one");
    let path = &view.members[0].0;
    let plain = FileOptions { direct: false, write_through: false };
    let file = world.disk().open_read_only(path, plain, session).expect("there");
    let mut bytes = IoBuf::zeroed(file.length().expect("there") as usize);
    let waiting = session.waiting(waits::WaitEvent::LogFileSequentialRead);
    file.read_at(0, &mut bytes, waiting).expect("read");
    (path.display().to_string(), bytes.to_vec())
}

/// A life that ends by a crash: `work` is done after the current log was copied. The disk, the name
/// of the log, and the copy.
fn life(base: &FileSystem, work: fn(&Instance, &Session)) -> (FileSystem, String, Vec<u8>) {
    let ((path, copy), disk) = run_kept(machine(5, base.clone()), move |world, session| {
        let instance = open(world, session);
        let table = Rows::open(&instance, TABLE, session).expect("there");
        fill(&instance, &table, 5, session);
        let copied = current(&instance, world, session);
        fill(&instance, &table, 20, session);
        work(&instance, session);
        assert_eq!(current(&instance, world, session).0, copied.0, "no log was begun");
        drop(table);
        instance.abort(session);
        copied
    });
    (disk, path, copy)
}

fn refused(mut disk: FileSystem, (path, bytes): (&str, &[u8]), says: &str) {
    put(&mut disk, path, bytes);
    let said = run(machine(6, disk), |world, session| {
        let opened = Instance::open(&world.disk(), directory(), &parameters(), session);
        opened.map(|instance| instance.abort(session)).map_err(|stop| stop.to_string())
    })
    .expect_err("what was committed is gone");
    assert!(said.contains("redo is missing") && said.contains(says), "{said}");
}

/// The opening that began the log has had the control file say so.
#[test]
fn a_current_log_that_is_gone_or_of_an_earlier_life_is_refused() {
    let base = database(20);
    let (disk, path, copy) = life(&base, |_, _| ());
    refused(disk.clone(), (&path, &vec![0; copy.len()]), "has begun, the control file says");
    let before = bytes_of(&mut base.clone(), &path);
    refused(disk, (&path, &before), "has begun, the control file says");
}

/// The checkpoint lies where the copy has nothing yet.
#[test]
fn a_current_log_that_ends_before_the_checkpoint_is_refused() {
    let (disk, path, copy) = life(&database(20), |instance, session| {
        instance.checkpoint(session).expect("written");
        pause(Nanos::from_secs(7), session);
    });
    refused(disk, (&path, &copy), "older copy of itself");
}

/// The blocks were written, and the control file says nothing of it yet.
#[test]
fn a_current_log_that_ends_before_what_is_in_blocks_is_refused() {
    let (disk, path, copy) = life(&database(20), |instance, session| {
        instance.checkpoint(session).expect("written");
    });
    refused(disk, (&path, &copy), "was changed at SCN");
}
