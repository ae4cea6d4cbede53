//! An actor: one step after the other, whatever is to be done where it looks; and what it does in a
//! database that is open.
//!
//! Callers: `bed`.

use std::collections::{BTreeMap, BTreeSet};

use database::{
    BlockSize, ColumnSpec, Database, Error, ErrorKind, LogChange, LogGroupSpec, TableSpec,
    TablespaceSpec, Type, Value, WaitEvent,
};
use instance::DataFileSpec;
use os::Session;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use sim::{Outside, World};
use waits::Nanos;

use super::files::{TABLE, body, first_of};
use super::known::{Call, Known, Seen};
use super::life::LifeNo;
use super::names::{PLACES, place_of, spelled};

/// A block of every tablespace.
pub(super) const BLOCK: u64 = 2048;

/// Databases that are open on this machine.
pub(super) type Handles = Outside<BTreeMap<LifeNo, Database>>;

/// An actor.
pub(super) struct Actor<'a> {
    pub(super) known: Outside<Known>,
    pub(super) handles: Handles,
    pub(super) world: &'a World,
    pub(super) session: &'a Session,
    random: Xoshiro256PlusPlus,
}

/// Works until there are no steps left.
pub(super) fn run(actor: &mut Actor<'_>) {
    while actor.known.with(Known::step) {
        let place = actor.any(PLACES.len() as u64) as usize;
        let now = actor.session.now().as_nanos();
        let meeting = actor.known.with(|known| known.meeting(now));
        let place = meeting.filter(|_| actor.any(3) > 0).unwrap_or(place);
        let seen = actor.known.with(|known| known.see(place));
        match seen {
            Seen::Reserved => {}
            Seen::Nothing => actor.at_nothing(place),
            Seen::Creating => {
                if actor.any(3) > 0 {
                    actor.create(place);
                }
            }
            Seen::Shut(life) => actor.at_shut(life, place),
            Seen::Open(life) => actor.at_open(life, place),
        }
        if actor.any(4) == 0 {
            actor.pause(20_000);
        }
        if actor.known.with(|known| known.breach.is_some()) {
            actor.world.cut_power();
        }
    }
}

impl<'a> Actor<'a> {
    pub(super) fn new(
        known: &Outside<Known>,
        handles: &Handles,
        world: &'a World,
        session: &'a Session,
        seed: u64,
    ) -> Actor<'a> {
        let random = Xoshiro256PlusPlus::seed_from_u64(seed);
        Actor { known: known.clone(), handles: handles.clone(), world, session, random }
    }

    pub(super) fn any(&mut self, below: u64) -> u64 {
        self.random.random_range(0..below)
    }

    pub(super) fn spelled(&mut self, directory: &str) -> String {
        spelled(directory, &mut |below| self.random.random_range(0..below))
    }

    pub(super) fn pause(&mut self, micros: u64) {
        let length = Nanos::from_micros(self.any(micros));
        self.session.pause(length, self.session.waiting(WaitEvent::PlSqlLockTimer));
    }

    fn at_open(&mut self, life: LifeNo, place: usize) {
        match self.any(32) {
            0..14 => self.work(life),
            14..17 => self.add_tablespace(life),
            17..19 => self.add_data_file(life),
            19..22 => self.add_logs(life),
            22 | 23 => self.drop_logs(life),
            24 | 25 => self.switch(life),
            26 | 27 => self.shut(life),
            28 => self.kill(life),
            29 => self.create(place),
            _ => self.open(life),
        }
    }

    /// Does something with an open database, if it is still open.
    fn with(&mut self, life: LifeNo, act: impl FnOnce(&mut Self, &Database, Call)) {
        let handle = self.handles.with(|handles| handles.get(&life).cloned());
        let Some(database) = handle else { return };
        let call = self.known.with(|known| known.call(life));
        act(self, &database, call);
        self.look_around(life, &database);
        drop(database);
        self.known.with(|known| known.returned(call));
    }

    /// Which files the instance uses.
    pub(super) fn look_around(&self, life: LifeNo, database: &Database) {
        let groups = database.instance().log_groups(self.session);
        let members = groups.into_iter().flat_map(|group| group.members);
        let good = members.filter(|(_, good)| *good);
        let logs = good.map(|(path, _)| place_of("/", &path.to_string_lossy())).collect();
        self.known.with(|known| known.uses(life, logs));
    }

    /// What a statement about these files was told. True if it was done.
    fn hear(&self, call: Call, what: &str, files: &[String], told: Result<(), Error>) -> bool {
        let files: BTreeSet<String> = files.iter().cloned().collect();
        match told {
            Ok(()) => return true,
            Err(stop) if stop.refusal().is_none() => {
                self.known.with(|known| known.halted(call, &files, &stop));
            }
            Err(stop) => {
                let what = format!("{what} {files:?}");
                self.known.with(|known| known.refused(call, &what, &stop));
            }
        }
        false
    }

    fn work(&mut self, life: LifeNo) {
        self.with(life, |actor, database, call| {
            let tables = actor.known.with(|known| known.lives[life].tables.clone());
            let at = actor.any(tables.len() as u64) as usize;
            let table = tables.into_iter().nth(at).expect("every database has a table");
            for _ in 0..1 + actor.any(3) {
                let done = actor.transaction(life, database, &table);
                if !actor.hear(call, "a transaction", &[], done) {
                    return;
                }
            }
        });
    }

    fn transaction(&mut self, life: LifeNo, database: &Database, name: &str) -> Result<(), Error> {
        let mut connection = database.connect_with(self.session);
        let table = connection.table(name)?;
        let number = self.known.with(Known::number) as i64;
        let rows = 1 + self.any(12) as i64;
        let mut tx = connection.begin();
        for id in first_of(number)..first_of(number) + rows {
            tx.insert(&table, &[Value::Int(id), Value::Text(&body(id))])?;
        }
        if self.any(8) == 0 {
            return tx.rollback();
        }
        self.known.with(|known| known.commits(life, number, name, rows));
        let committed = tx.commit();
        self.known.with(|known| match &committed {
            Ok(()) => {
                known.tally.commits += 1;
                known.committed(life, number, true);
            }
            Err(stop) if stop.refusal().is_some() => known.committed(life, number, false),
            Err(_) => {}
        });
        committed
    }

    pub(super) fn file(&mut self, path: &str) -> DataFileSpec {
        let bytes = BLOCK * [16, 24, 40][self.any(3) as usize];
        let growth_bytes = BLOCK * [0, 8][self.any(2) as usize];
        let bytes_max = if growth_bytes == 0 { 0 } else { bytes * 4 };
        DataFileSpec { path: path.to_string(), bytes, bytes_max, growth_bytes }
    }

    /// One to three names, and where they are. Mostly the same name isn't taken twice.
    fn names(&mut self, life: LifeNo, most: u64) -> (Vec<String>, Vec<String>) {
        let directory = self.known.with(|known| known.lives[life].directory());
        let count = 1 + self.any(most);
        let mut names: Vec<String> = (0..count).map(|_| self.spelled(directory)).collect();
        // Where somebody else is just making a database.
        let made = self.known.with(|known| known.is_made());
        if let Some(made) = made.filter(|_| self.any(2) == 0) {
            names[0] = self.spelled(PLACES[made]);
            names[0] = place_of(PLACES[made], &names[0]);
        }
        let places = names.iter().map(|name| place_of(directory, name)).collect();
        (names, places)
    }

    fn add_tablespace(&mut self, life: LifeNo) {
        self.with(life, |actor, database, call| {
            let (names, places) = actor.names(life, 3);
            let number = actor.known.with(Known::number);
            let files = names.iter().map(|name| actor.file(name)).collect();
            let spec = TablespaceSpec {
                name: format!("space{number}"),
                block_size: BlockSize::KIB_2,
                extent_blocks: 4,
                files,
            };
            let made = database.instance().create_tablespace(&spec, actor.session);
            if !actor.hear(call, "a tablespace of", &places, made) {
                return;
            }
            actor.known.with(|known| {
                known.tally.tablespaces += 1;
                known.lives[life].tablespaces.insert(spec.name.clone());
                known.listed(call, &places, true);
            });
            let name = format!("{TABLE}{number}");
            let mut connection = database.connect_with(actor.session);
            let made = connection.create_table(&table(&name, &spec.name)).map(drop);
            if actor.hear(call, "a table in", &places, made) {
                actor.known.with(|known| _ = known.lives[life].tables.insert(name));
            }
        });
    }

    fn add_data_file(&mut self, life: LifeNo) {
        self.with(life, |actor, database, call| {
            let (names, places) = actor.names(life, 1);
            let spaces = actor.known.with(|known| known.lives[life].tablespaces.clone());
            let at = actor.any(spaces.len() as u64 + 1) as usize;
            let space = spaces.into_iter().nth(at).unwrap_or_else(|| "system".into());
            let file = actor.file(&names[0]);
            let added = database.instance().add_data_file(&space, &file, actor.session);
            if actor.hear(call, "a data file", &places, added) {
                actor.known.with(|known| {
                    known.tally.data_files += 1;
                    known.listed(call, &places, true);
                });
            }
        });
    }

    fn add_logs(&mut self, life: LifeNo) {
        self.with(life, |actor, database, call| {
            let is_group = actor.any(2) == 0;
            let (names, places) = actor.names(life, if is_group { 2 } else { 1 });
            let change = match is_group {
                true => LogChange::AddGroup(LogGroupSpec { bytes: log_bytes(), members: names }),
                false => LogChange::AddMember(1 + actor.any(4) as u16, names[0].clone()),
            };
            let added = database.instance().change_logs(&change, actor.session);
            if actor.hear(call, "redo logs", &places, added) {
                actor.known.with(|known| {
                    known.tally.logs += 1;
                    known.listed(call, &places, false);
                });
            }
        });
    }

    /// A group or a member goes, or is refused. What goes isn't expected from the call on.
    fn drop_logs(&mut self, life: LifeNo) {
        self.with(life, |actor, database, call| {
            let groups = database.instance().log_groups(actor.session);
            if groups.is_empty() {
                return;
            }
            let at = actor.any(groups.len() as u64) as usize;
            let group = &groups[at];
            let paths = group.members.iter().map(|(path, _)| path.to_string_lossy().into_owned());
            let paths: Vec<String> = paths.collect();
            let (change, leaving) = if actor.any(2) == 0 || paths.is_empty() {
                (LogChange::DropGroup(group.number), paths)
            } else {
                let path = paths[actor.any(paths.len() as u64) as usize].clone();
                (LogChange::DropMember(path.clone()), vec![path])
            };
            let leaving: Vec<String> = leaving.iter().map(|path| place_of("/", path)).collect();
            let gone = actor.known.with(|known| {
                let logs = &mut known.lives[life].logs;
                leaving.iter().filter(|path| logs.remove(*path)).cloned().collect::<Vec<_>>()
            });
            let dropped = database.instance().change_logs(&change, actor.session);
            let is_halted = dropped.as_ref().is_err_and(|stop| stop.refusal().is_none());
            let is_done = actor.hear(call, "to drop", &leaving, dropped);
            actor.known.with(|known| {
                known.tally.logs_dropped += u64::from(is_done);
                if !is_done && !is_halted {
                    known.lives[life].logs.extend(gone);
                }
            });
        });
    }

    fn switch(&mut self, life: LifeNo) {
        self.with(life, |actor, database, call| {
            let switched = match actor.any(2) {
                0 => database.instance().checkpoint(actor.session),
                _ => database.instance().change_logs(&LogChange::Switch, actor.session),
            };
            let switched = match switched {
                Err(stop) if stop.refusal() == Some(ErrorKind::Busy) => Ok(()),
                other => other,
            };
            actor.hear(call, "a log switch", &[], switched);
        });
    }
}

/// The smallest redo log.
pub(super) fn log_bytes() -> u64 {
    u64::from(redo::LOG_BLOCKS_MIN) * 4096
}

/// A table with rows of `body`.
pub(super) fn table(name: &str, tablespace: &str) -> TableSpec {
    TableSpec::new(name)
        .in_tablespace(tablespace)
        .column(ColumnSpec::new("id", Type::BigInt))
        .column(ColumnSpec::new("body", Type::Text))
        .primary_key(["id"])
}
