//! What an administrator does with whole databases: they are made, opened, shut, killed, copied and
//! deleted.
//!
//! Callers: `actor`, `bed`.

use std::path::Path;

use database::{
    BlockSize, Creation, Database, DurableWrite, Error, ErrorKind, LogGroupSpec, Nanos, Options,
    Parameters, WaitEvent,
};

use super::actor::{Actor, BLOCK, log_bytes, table};
use super::files::{self, TABLE};
use super::known::Known;
use super::life::{LifeNo, State};
use super::names::{FIRST_DATA, PLACES};

/// A creation of files that no disk has room for is tried once in so many.
const TOO_LARGE_ONE_IN: u64 = 12;
/// And verified is a database that was shut once in so many.
const VERIFIED_ONE_IN: u64 = 3;

/// And given up, when it is almost done, one creation in so many.
const GIVEN_UP_ONE_IN: u64 = 6;
/// Others have so much time meanwhile.
const GIVEN_UP_AFTER: Nanos = Nanos::from_millis(40);

/// Small, and growing.
pub(super) fn options() -> Options {
    let creation = Creation {
        db_block_size: BlockSize::KIB_2,
        data_bytes: 40 * BLOCK,
        data_bytes_max: 400 * BLOCK,
        data_growth_bytes: 8 * BLOCK,
        undo_bytes: 32 * BLOCK,
        undo_bytes_max: 400 * BLOCK,
        undo_growth_bytes: 8 * BLOCK,
        extent_blocks: 4,
        log_file_bytes: log_bytes(),
        log_groups: 2,
        undo_segments: 2,
        undo_slots: 4,
        doublewrite_slots: 16,
        ..Creation::default()
    };
    let parameters = Parameters {
        db_cache_size: 64 * BLOCK,
        db_working_sets: 2,
        db_writer_batch: 4,
        log_buffer: redo::LOG_BUFFER_BYTES_MIN as u64,
        redo_write: Some(DurableWrite::DirectThenSync),
        redo_consistency: true,
        ..Parameters::default()
    };
    Options { creation, parameters, ..Options::default() }
}

impl Actor<'_> {
    pub(super) fn at_nothing(&mut self, place: usize) {
        match self.any(3) {
            0 => {
                let from = self.any(PLACES.len() as u64) as usize;
                self.copy(from, place);
            }
            _ => self.create(place),
        }
    }

    pub(super) fn at_shut(&mut self, life: LifeNo, place: usize) {
        match self.any(16) {
            0 => self.create(place),
            1 | 2 => self.delete(place, false),
            3 => self.delete(place, true),
            4..8 => {
                let to = self.any(PLACES.len() as u64) as usize;
                self.copy(place, to);
            }
            _ => self.open(life),
        }
    }

    /// Makes a database, with files of names that others may have.
    pub(super) fn create(&mut self, place: usize) {
        let directory = PLACES[place];
        let mut options = options();
        let creation = &mut options.creation;
        let mut data: Vec<String> = FIRST_DATA.map(String::from).to_vec();
        let mut logs: Vec<String> = ["redo01.log", "redo02.log"].map(String::from).to_vec();
        for _ in 0..self.any(3) {
            let path = self.spelled(directory);
            creation.data_files.push(self.file(&path));
            data.push(path);
        }
        if self.any(4) == 0 {
            logs = vec![self.spelled(directory), self.spelled(directory), "r.log".into()];
            let group =
                |members: &[String]| LogGroupSpec { bytes: log_bytes(), members: members.to_vec() };
            creation.log_files = vec![group(&logs[..1]), group(&logs[1..])];
        }
        if self.any(TOO_LARGE_ONE_IN) == 0 {
            creation.log_file_bytes = 1 << 40;
        }
        let first = format!("{TABLE}0");
        let gives_up = self.any(GIVEN_UP_ONE_IN) == 0;
        self.meet(place);
        let fill = |database: &Database| {
            let mut connection = database.connect_with(self.session);
            connection.create_table(&table(&first, "system"))?;
            drop(connection);
            if !gives_up {
                return Ok(());
            }
            let waiting = self.session.waiting(WaitEvent::PlSqlLockTimer);
            self.session.pause(GIVEN_UP_AFTER, waiting);
            self.known.with(|known| known.tally.given_up += 1);
            Err(Error::refuse(ErrorKind::Invalid, "there is no more of it"))
        };
        let creating = self.known.with(|known| known.creates(place, &[&data[..], &logs].concat()));
        let disk = self.world.disk();
        match Database::create_filled(&disk, Path::new(directory), &options, fill, self.session) {
            Ok(database) => {
                let life = self.known.with(|known| known.created(creating, &data, &logs, &first));
                self.handles.with(|handles| handles.insert(life, database.clone()));
                self.look_around(life, &database);
            }
            Err(stop) => self.known.with(|known| known.uncreated(creating, &stop)),
        }
    }

    /// Mostly who makes a database waits for others who do, in a directory that is there.
    fn meet(&mut self, place: usize) {
        let now = self.session.now().as_nanos();
        let is_new = self.any(3) > 0;
        let at = self.known.with(|known| known.meets(place, now, is_new));
        if at > now {
            let _ = self.world.disk().create_dir(Path::new(PLACES[place]), self.session);
            let now = self.session.now().as_nanos();
            let waiting = self.session.waiting(WaitEvent::PlSqlLockTimer);
            self.session.pause(Nanos(at.saturating_sub(now)), waiting);
        }
    }

    /// Opens a database that may be open, or whose files another may have.
    pub(super) fn open(&mut self, life: LifeNo) {
        let Some(call) = self.known.with(|known| known.opens(life)) else { return };
        let opened = self.opened(life);
        let state = self.known.with(|known| known.lives[life].state);
        match opened {
            Err(stop) => self.known.with(|known| known.unopened(call, &stop)),
            Ok(database) => {
                self.known.with(|known| known.opened(life));
                self.look_around(life, &database);
                match state {
                    State::Sound => {
                        let rows = files::rows(&database, self.session);
                        self.known.with(|known| known.found(life, rows));
                        self.handles.with(|handles| handles.insert(life, database));
                    }
                    _ => {
                        self.known.with(|known| known.ends(life, true));
                        database.abort_by(self.session);
                    }
                }
            }
        }
        self.known.with(|known| known.returned(call));
    }

    fn opened(&self, life: LifeNo) -> Result<Database, Error> {
        let (directory, is_settled) = self.known.with(|known| {
            let one = &known.lives[life];
            (one.directory(), one.is_settled || one.is_open)
        });
        let disk = self.world.disk();
        if !is_settled && let Ok(listed) = files::look(&disk, directory, self.session) {
            self.known.with(|known| known.looked(life, listed));
        }
        Database::open_in(&disk, Path::new(directory), &options(), self.session)
    }

    /// Shuts a database in good order, unless others are at work there.
    pub(super) fn shut(&mut self, life: LifeNo) {
        let handle = self.handles.with(|handles| handles.get(&life).cloned());
        let Some(database) = handle else { return };
        let call = self.known.with(|known| {
            let call = known.call(life);
            known.ends(life, false);
            call
        });
        database.instance().wait_for_dead(self.session);
        match database.shutdown_by(self.session) {
            Ok(()) => {
                let last = self.handles.with(|handles| handles.remove(&life));
                drop(last);
                self.known.with(|known| {
                    known.tally.shutdowns += 1;
                    known.ends(life, false);
                    known.returned(call);
                });
                if self.any(VERIFIED_ONE_IN) == 0 {
                    self.verify(life);
                }
                return;
            }
            Err(stop) if stop.refusal().is_some() => {
                let is_there = self.handles.with(|handles| handles.contains_key(&life));
                self.known.with(|known| known.goes_on(call, is_there, &stop));
            }
            Err(stop) => {
                let last = self.handles.with(|handles| handles.remove(&life));
                drop(last);
                self.known.with(|known| known.halted(call, &Default::default(), &stop));
            }
        }
        self.known.with(|known| known.returned(call));
    }

    /// Stops it at once, whoever is at work there.
    pub(super) fn kill(&mut self, life: LifeNo) {
        let handle = self.handles.with(|handles| handles.remove(&life));
        let Some(database) = handle else { return };
        let call = self.known.with(|known| {
            known.tally.kills += 1;
            known.ends(life, true);
            known.call(life)
        });
        database.abort_by(self.session);
        self.known.with(|known| known.returned(call));
    }

    fn delete(&mut self, place: usize, all: bool) {
        let begun = self.known.with(|known| known.deletes(place, all));
        let Some((files, deletion)) = begun else { return };
        files::delete(&self.world.disk(), PLACES[place], &files, all, self.session);
        self.known.with(|known| known.deleted(place, deletion));
    }

    fn copy(&mut self, from: usize, to: usize) {
        let Some(life) = self.known.with(|known| known.copies(from, to)) else { return };
        let disk = self.world.disk();
        let done = files::copy(&disk, PLACES[from], PLACES[to], self.session);
        // Somebody may say of a copy that it is the database, moved.
        let is_said = done && self.any(2) == 0;
        let moved = Path::new(PLACES[to]);
        let said = is_said.then(|| database::say_moved(&disk, moved, self.session));
        let listed = done.then(|| files::look(&disk, PLACES[to], self.session));
        self.known.with(|known| match listed {
            _ if let Some(Err(stop)) = &said => {
                known.finds(format!("{} can't be said to be moved: {stop}", PLACES[to]));
            }
            Some(Err(wrong)) => {
                known.finds(format!("a copy of {} can't be looked at: {wrong}", PLACES[from]));
            }
            Some(Ok(listed)) => known.copied(life, to, Some((listed, is_said))),
            None => known.copied(life, to, None),
        });
    }

    /// Checks a database that was shut, if nobody opens it meanwhile.
    pub(super) fn verify(&mut self, life: LifeNo) {
        let Some(call) = self.known.with(|known| known.opens(life)) else { return };
        let directory = self.known.with(|known| known.lives[life].directory());
        let verified = files::verify(&self.world.disk(), directory, self.session);
        self.known.with(|known| {
            known.verified(call, verified);
            known.returned(call);
        });
    }
}

/// Opens each database, looks at its rows, shuts and verifies it. Nobody else is at work.
pub(super) fn look_at_all(actor: &mut Actor<'_>) {
    let there = |known: &mut Known| -> Vec<LifeNo> {
        let all = known.lives.iter().enumerate();
        all.filter(|(_, life)| life.is_there).map(|(life, _)| life).collect()
    };
    let lives = actor.known.with(there);
    lives.iter().for_each(|life| actor.shut(*life));
    for life in lives {
        actor.open(life);
        actor.shut(life);
        actor.verify(life);
    }
}
