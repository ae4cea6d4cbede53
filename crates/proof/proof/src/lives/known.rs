//! What is known outside the machine: which databases there are, who is at what, and what nobody
//! may be told then.
//!
//! Invariants
//!   * what is told of a call is held against everything that was under way during the call
//!   * files are taken away only from databases that nobody has open, and that nobody opens
//!
//! Callers: `actor`, `administer` and `bed`.

use std::collections::{BTreeSet, VecDeque};
use std::fmt;

use database::{Error, ErrorKind};

use super::files::Verified;
use super::life::{Came, Life, LifeNo, Rows, State, Transaction};
use super::names::{PLACES, place_of};
use super::tally::LivesTally;

/// Data files and members of redo log groups that a control file lists.
type Listed = (BTreeSet<String>, BTreeSet<String>);

/// A directory for a database.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Place {
    pub(super) life: Option<LifeNo>,
    /// Creations under way.
    pub(super) creators: u32,
    /// Creations that have begun, ever.
    pub(super) creations: u64,
    /// Somebody deletes or copies there.
    pub(super) is_reserved: bool,
    /// When creators begin who wait for each other, in ns.
    meeting: u64,
}

/// Creators wait so long for each other.
const MEETING_NS: u64 = 4_000_000;

/// Files that were deleted.
#[derive(Clone, Debug)]
struct Deletion {
    files: BTreeSet<String>,
    /// And all that lay in there.
    directory: Option<String>,
    /// When that was done.
    ended: Option<u64>,
}

impl Deletion {
    fn has(&self, file: &String) -> bool {
        let lies_in = |directory: &String| file.starts_with(directory.as_str());
        self.files.contains(file) || self.directory.as_ref().is_some_and(lies_in)
    }
}

/// What a directory looks like to who looks for work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Seen {
    Nothing,
    Reserved,
    Creating,
    Shut(LifeNo),
    Open(LifeNo),
}

/// Steps that are shown with what is wrong.
const SHOWN_MAX: usize = 40;

/// What is known.
#[derive(Default)]
pub(super) struct Known {
    pub(super) lives: Vec<Life>,
    pub(super) places: [Place; PLACES.len()],
    pub(super) tally: LivesTally,
    /// What was found wrong first.
    pub(super) breach: Option<String>,
    /// Steps that are left in this round.
    pub(super) steps: u32,
    /// The last steps, and what came of them.
    story: VecDeque<String>,
    /// Of this round.
    deletions: Vec<Deletion>,
    /// Numbers of families, tablespaces, transactions and moments.
    numbers: u64,
}

/// A call under way, and how things were when it began.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    pub(super) life: LifeNo,
    kills: u64,
    /// Somebody else had files of the database, or of one that shares some with it.
    is_beside: bool,
    moves: u64,
    began: u64,
    creations: u64,
    /// Somebody was just making a database.
    is_made: bool,
}

/// A creation under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Creating {
    pub(super) place: usize,
    creations: u64,
    is_beside: bool,
    began: u64,
}

impl Known {
    pub(super) fn finds(&mut self, what: impl ToString) {
        let story = &self.story;
        self.breach.get_or_insert_with(|| {
            let steps: String = story.iter().map(|step| format!("\n  {step}")).collect();
            format!("{}{steps}", what.to_string())
        });
    }

    /// A step has come to something.
    fn note(&mut self, life: LifeNo, what: fmt::Arguments<'_>) {
        let Life { place, family, state, .. } = self.lives[life];
        let line =
            format!("{} (database {life}, family {family}, {state:?}): {what}", PLACES[place]);
        self.tell(line);
    }

    fn tell(&mut self, line: String) {
        self.story.push_back(line);
        if self.story.len() > SHOWN_MAX {
            self.story.pop_front();
        }
    }

    pub(super) fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    pub(super) fn see(&self, place: usize) -> Seen {
        let Place { life, creators, is_reserved, .. } = self.places[place];
        match life {
            _ if is_reserved => Seen::Reserved,
            _ if creators > 0 => Seen::Creating,
            None => Seen::Nothing,
            Some(life) if self.lives[life].is_open => Seen::Open(life),
            Some(life) => Seen::Shut(life),
        }
    }

    /// A step is done; false if there are none left.
    pub(super) fn step(&mut self) -> bool {
        let is_left = self.steps > 0 && self.breach.is_none();
        self.steps = self.steps.saturating_sub(1);
        is_left
    }

    /// Databases that share a file with this one.
    fn sharers(&self, life: LifeNo) -> impl Iterator<Item = LifeNo> {
        let mine = &self.lives[life];
        let others = self.lives.iter().enumerate();
        others
            .filter(move |(other, one)| *other != life && one.is_there && one.shares(mine))
            .map(|(other, _)| other)
    }

    fn moves_around(&self, life: LifeNo) -> u64 {
        let others = self.sharers(life).map(|other| self.lives[other].moves);
        self.lives[life].moves + others.sum::<u64>()
    }

    fn creations(&self) -> u64 {
        self.places.iter().map(|place| place.creations).sum()
    }

    /// Whether one of these files may have been deleted since, or meanwhile.
    fn is_deleted(&self, files: &BTreeSet<String>, since: u64) -> bool {
        let mut later = self.deletions.iter().filter(|one| one.ended.is_none_or(|at| at > since));
        later.any(|one| files.iter().any(|file| one.has(file)))
    }

    /// Somebody begins to use files of a database.
    pub(super) fn call(&mut self, life: LifeNo) -> Call {
        let is_beside = self.lives[life].is_busy()
            || self.sharers(life).any(|other| self.lives[other].is_busy());
        self.lives[life].users += 1;
        self.lives[life].moves += 1;
        let (began, creations) = (self.number(), self.creations());
        let (moves, kills) = (self.moves_around(life), self.lives[life].kills);
        let is_made = self.places.iter().any(|place| place.creators > 0);
        Call { life, kills, is_beside, moves, began, creations, is_made }
    }

    pub(super) fn returned(&mut self, call: Call) {
        self.lives[call.life].users -= 1;
        self.lives[call.life].moves += 1;
    }

    /// Whether nobody else had, or came to have, or let go, files of the database during the call.
    pub(super) fn is_alone(&self, call: Call) -> bool {
        !call.is_beside && self.moves_around(call.life) == call.moves
    }

    /// Whether somebody made a database at any time of the call.
    fn is_made_beside(&self, call: Call) -> bool {
        call.is_made || self.creations() != call.creations
    }

    /// A session was told that the instance has halted.
    pub(super) fn halted(&mut self, call: Call, files: &BTreeSet<String>, stop: &Error) {
        self.note(call.life, format_args!("{files:?}: {stop}"));
        let life = &mut self.lives[call.life];
        life.is_settled = life.is_settled && files.is_empty();
        let is_killed = life.kills != call.kills;
        if is_killed {
            self.tally.halted += 1;
        }
        if self.is_deleted(files, call.began) {
            self.lives[call.life].state = State::Lost;
        } else if !is_killed && !files.is_empty() && self.is_made_beside(call) {
            // Who makes a database gives its files their names at once, and may have taken the
            // name of one that was just made (rule space/SP21).
            self.lives[call.life].state = self.lives[call.life].state.max(State::Doubtful);
        } else if !is_killed && self.lives[call.life].state == State::Sound {
            let directory = self.lives[call.life].directory();
            self.finds(format!("{directory}: nobody has killed it, and {stop}"));
        }
    }

    /// A statement was refused: whether it may be.
    pub(super) fn refused(&mut self, call: Call, what: &str, stop: &Error) {
        self.note(call.life, format_args!("{what} is refused: {stop}"));
        let is_sound = self.lives[call.life].state == State::Sound;
        match stop.refusal() {
            Some(ErrorKind::AlreadyExists) => self.tally.refused_exists += 1,
            Some(ErrorKind::NoSpace) => self.tally.refused_full += 1,
            // It is being shut, a log is in use, a number is no group's.
            Some(ErrorKind::WrongState | ErrorKind::NotFound | ErrorKind::Invalid) => {
                self.tally.refused += 1;
            }
            _ if is_sound => self.finds(format!("{what} was refused: {stop}")),
            _ => {}
        }
    }

    /// Files were added to a database: none of them is another's, or is there twice.
    pub(super) fn listed(&mut self, call: Call, places: &[String], is_data: bool) {
        self.note(call.life, format_args!("it gets {places:?}"));
        let new: BTreeSet<String> = places.iter().cloned().collect();
        let life = &self.lives[call.life];
        let directory = life.directory();
        let files = life.files();
        if self.is_deleted(&new, call.began) {
            self.lives[call.life].state = State::Lost;
        }
        let is_twice = new.len() < places.len() || new.iter().any(|file| files.contains(file));
        if self.lives[call.life].state == State::Sound {
            if is_twice {
                self.finds(format!("{directory} lists a file twice: {places:?} and {files:?}"));
            }
            self.check_others(call.life, &new);
        }
        let life = &mut self.lives[call.life];
        if is_data { life.data.extend(new) } else { life.logs.extend(new) }
    }

    /// Files of a database that are also of one that isn't a copy of it.
    fn check_others(&mut self, life: LifeNo, files: &BTreeSet<String>) {
        let (family, directory) = (self.lives[life].family, self.lives[life].directory());
        let mut others = self
            .lives
            .iter()
            .filter(|one| one.is_there && one.family != family && one.state == State::Sound);
        let both = others.find_map(|one| {
            let file = one.files().into_iter().find(|file| files.contains(file))?;
            Some((one.directory(), file))
        });
        if let Some((other, file)) = both {
            self.finds(format!("{file} is a file of {other}, and {directory} was given it"));
        }
    }

    /// An open instance uses these files: nobody else does.
    pub(super) fn uses(&mut self, life: LifeNo, logs: BTreeSet<String>) {
        let one = &mut self.lives[life];
        one.used = one.data.iter().cloned().chain(one.own()).chain(logs).collect();
        if !one.is_open || one.state == State::Lost {
            return;
        }
        let one = &self.lives[life];
        let others = self.lives.iter().enumerate().filter(|(other, _)| *other != life);
        let open = others.filter(|(_, other)| other.is_open && other.state != State::Lost);
        let both = open.filter_map(|(_, other)| {
            let file = other.used.iter().find(|file| one.used.contains(*file))?;
            Some(format!("{} and {} are both open, and use {file}", one.directory(), {
                other.directory()
            }))
        });
        let both: Vec<String> = both.collect();
        if let Some(both) = both.first() {
            self.finds(both);
        }
    }

    /// A database is to be opened, or looked at. None if an administrator has it.
    pub(super) fn opens(&mut self, life: LifeNo) -> Option<Call> {
        let one = &self.lives[life];
        (one.is_there && !self.places[one.place].is_reserved).then(|| self.call(life))
    }

    /// An instance is about to end: its files may be another's from now on.
    pub(super) fn ends(&mut self, life: LifeNo, is_killed: bool) {
        self.note(life, format_args!("it ends{}", if is_killed { ", killed" } else { "" }));
        let one = &mut self.lives[life];
        one.is_open = false;
        one.used.clear();
        one.kills += u64::from(is_killed);
    }

    /// It wasn't shut after all; nor by others, if there is still a handle of it.
    pub(super) fn goes_on(&mut self, call: Call, is_there: bool, stop: &Error) {
        self.tally.shutdowns_refused += 1;
        let one = &mut self.lives[call.life];
        one.is_open = is_there;
        let directory = one.directory();
        let is_alone = one.users == 1 && self.moves_around(call.life) == call.moves;
        if is_alone || stop.refusal() != Some(ErrorKind::WrongState) {
            self.finds(format!("{directory} can't be shut: {stop}"));
        }
    }

    /// A database that was shut was verified.
    pub(super) fn verified(&mut self, call: Call, came: Result<(), Verified>) {
        let one = &self.lives[call.life];
        let directory = one.directory();
        let is_certain = self.is_alone(call) && one.state == State::Sound;
        match came {
            Ok(()) => self.tally.verified += 1,
            Err(wrong) if is_certain => {
                self.finds(format!("{directory}, shut, isn't in order: {wrong}"));
            }
            Err(_) => {}
        }
    }

    /// A database has opened: copies of it with files of it needn't open any more.
    pub(super) fn opened(&mut self, life: LifeNo) {
        self.note(life, format_args!("it opens"));
        self.tally.opened += 1;
        if self.lives[life].is_open {
            let directory = self.lives[life].directory();
            self.finds(format!("{directory} was open, and was opened again"));
        }
        if self.lives[life].is_settled && self.lives[life].may_be_a_copy() {
            let directory = self.lives[life].directory();
            self.finds(format!("{directory} was opened, a copy with files of its original"));
        }
        self.lives[life].said = self.lives[life].place;
        self.lives[life].is_open = true;
        let family = self.lives[life].family;
        let sharers: Vec<LifeNo> = self.sharers(life).collect();
        for other in sharers {
            let other = &mut self.lives[other];
            if other.family == family {
                other.state = other.state.max(State::Doubtful);
            }
        }
    }

    /// A database hasn't opened: whether that may be.
    pub(super) fn unopened(&mut self, call: Call, stop: &Error) {
        self.note(call.life, format_args!("it doesn't open: {stop}"));
        let life = &self.lives[call.life];
        let directory = life.directory();
        let is_copy = stop.to_string().contains("it was used in another directory");
        let is_twin = self.sharers(call.life).any(|other| self.lives[other].is_busy());
        match life.state {
            _ if is_copy && life.may_be_a_copy() => self.tally.unopened_copy += 1,
            _ if !self.is_alone(call) && is_twin => self.tally.unopened_twin += 1,
            _ if !self.is_alone(call) => self.tally.unopened += 1,
            State::Doubtful | State::Lost => self.tally.unopened_doubtful += 1,
            State::Sound => self.finds(format!("{directory} doesn't open: {stop}")),
        }
    }

    /// Rows were found at an opening: whether they are all.
    pub(super) fn found(&mut self, life: LifeNo, rows: Result<Rows, String>) {
        let one = &mut self.lives[life];
        let directory = one.directory();
        let found = rows.and_then(|rows| one.found(&rows));
        match found {
            Err(wrong) if one.state == State::Sound => self.finds(format!("{directory}: {wrong}")),
            _ => {}
        }
    }

    /// A transaction is about to be committed; its number.
    pub(super) fn commits(&mut self, life: LifeNo, number: i64, table: &str, rows: i64) {
        let one = Transaction { table: table.to_string(), rows, came: Came::InDoubt };
        self.lives[life].transactions.insert(number, one);
    }

    /// And was, or wasn't.
    pub(super) fn committed(&mut self, life: LifeNo, number: i64, is_there: bool) {
        let transactions = &mut self.lives[life].transactions;
        match (transactions.get_mut(&number), is_there) {
            (Some(one), true) => one.came = Came::There,
            (_, false) => _ = transactions.remove(&number),
            (None, true) => {}
        }
    }

    /// A directory in which creators wait for others.
    pub(super) fn meeting(&self, now: u64) -> Option<usize> {
        self.places.iter().position(|place| place.meeting > now && !place.is_reserved)
    }

    /// One in which somebody makes a database.
    pub(super) fn is_made(&self) -> Option<usize> {
        self.places.iter().position(|place| place.creators > 0 && place.life.is_none())
    }

    /// When who makes a database there begins: with others, if some wait, or he waits for some.
    pub(super) fn meets(&mut self, place: usize, now: u64, is_new: bool) -> u64 {
        let one = &mut self.places[place];
        if one.meeting <= now && is_new && one.life.is_none() {
            one.meeting = now + MEETING_NS;
        }
        one.meeting.max(now)
    }

    /// A creation begins.
    pub(super) fn creates(&mut self, place: usize, files: &[String]) -> Creating {
        self.tell(format!("{}: a creation begins, with {files:?}", PLACES[place]));
        let began = self.number();
        let one = &mut self.places[place];
        let is_beside = one.creators > 0;
        one.creators += 1;
        one.creations += 1;
        Creating { place, creations: one.creations, is_beside, began }
    }

    /// It has come to its end: the new database is open.
    pub(super) fn created(
        &mut self,
        creating: Creating,
        data: &[String],
        logs: &[String],
        table: &str,
    ) -> LifeNo {
        let place = creating.place;
        self.places[place].creators -= 1;
        self.tally.created += 1;
        let directory = PLACES[place];
        if let Some(other) = self.places[place].life {
            let state = self.lives[other].state;
            self.finds(format!("a database was made in {directory}, where one is ({state:?})"));
        }
        let family = self.number();
        let mut life = Life::new(place, family);
        let places = |paths: &[String]| -> Vec<String> {
            paths.iter().map(|path| place_of(directory, path)).collect()
        };
        let (data, logs) = (places(data), places(logs));
        life.data = data.iter().cloned().collect();
        life.logs = logs.iter().cloned().collect();
        life.tables.insert(table.to_string());
        life.is_open = true;
        let (files, count) = (life.files(), data.len() + logs.len());
        if life.data.len() + life.logs.len() < count {
            self.finds(format!("{directory} lists a file twice: {data:?} and {logs:?}"));
        }
        if self.is_deleted(&files, creating.began) {
            life.state = State::Lost;
        }
        self.lives.push(life);
        let number = self.lives.len() - 1;
        self.note(number, format_args!("it is made, with {files:?}"));
        self.places[place].life = Some(number);
        self.check_others(number, &files);
        number
    }

    /// Nothing came of it.
    pub(super) fn uncreated(&mut self, creating: Creating, stop: &Error) {
        self.tell(format!("{}: it isn't made: {stop}", PLACES[creating.place]));
        let place = &mut self.places[creating.place];
        place.creators -= 1;
        if creating.is_beside || place.creations != creating.creations {
            self.tally.rivals += 1;
        }
        match stop.refusal() {
            Some(ErrorKind::AlreadyExists) => self.tally.uncreated_exists += 1,
            Some(ErrorKind::NoSpace) => self.tally.uncreated_full += 1,
            Some(_) => {}
            None => {
                let directory = PLACES[creating.place];
                self.finds(format!("a creation in {directory} has halted: {stop}"));
            }
        }
    }

    /// A database that nobody has open is deleted, file by file or with all that lies in its
    /// directory: its files, and the deletion's number. None if somebody is there.
    pub(super) fn deletes(&mut self, place: usize, all: bool) -> Option<(BTreeSet<String>, usize)> {
        let Seen::Shut(life) = self.see(place) else { return None };
        if self.lives[life].is_busy() {
            return None;
        }
        let files = self.lives[life].files();
        self.note(
            life,
            format_args!("it is deleted, {files:?}{}", if all { ", and all" } else { "" }),
        );
        self.lives[life].is_there = false;
        let one = &mut self.places[place];
        (one.life, one.is_reserved) = (None, true);
        let directory = all.then(|| format!("{}/", PLACES[place]));
        let deletion = Deletion { files: files.clone(), directory, ended: None };
        for other in self.lives.iter_mut().filter(|other| other.is_there) {
            if other.files().iter().any(|file| deletion.has(file)) {
                self.tally.lost += u64::from(other.state != State::Lost);
                other.state = State::Lost;
            }
        }
        match all {
            true => self.tally.cleared += 1,
            false => self.tally.deleted += 1,
        }
        self.deletions.push(deletion);
        Some((files, self.deletions.len() - 1))
    }

    pub(super) fn deleted(&mut self, place: usize, deletion: usize) {
        self.tell(format!("{}: the deletion has ended", PLACES[place]));
        self.places[place].is_reserved = false;
        self.deletions[deletion].ended = Some(self.number());
    }

    /// A sound database that nobody has open is to be copied to an empty directory. None if
    /// somebody is there.
    pub(super) fn copies(&mut self, from: usize, to: usize) -> Option<LifeNo> {
        let Seen::Shut(life) = self.see(from) else { return None };
        let one = &self.lives[life];
        if self.see(to) != Seen::Nothing || one.is_busy() || one.state != State::Sound {
            return None;
        }
        self.places[from].is_reserved = true;
        self.places[to].is_reserved = true;
        Some(life)
    }

    /// It was; the copy lists these files, and says that it was moved to where it is, or doesn't.
    /// None if it was given up.
    pub(super) fn copied(&mut self, life: LifeNo, to: usize, listed: Option<(Listed, bool)>) {
        let from = self.lives[life].place;
        self.places[from].is_reserved = false;
        self.places[to].is_reserved = false;
        let Some(((data, logs), is_said)) = listed else { return };
        let said = if is_said { to } else { self.lives[life].said };
        let mut copy =
            Life { place: to, said, data, logs, is_open: false, ..self.lives[life].clone() };
        (copy.users, copy.moves) = (0, 0);
        copy.used.clear();
        self.tally.copies += 1;
        self.tally.copies_sharing += u64::from(copy.shares(&self.lives[life]));
        self.lives.push(copy);
        self.places[to].life = Some(self.lives.len() - 1);
        self.note(self.lives.len() - 1, format_args!("it is made, a copy of database {life}"));
    }

    /// What the control file of a database that nobody has open lists: all that was acknowledged.
    pub(super) fn looked(&mut self, life: LifeNo, (data, logs): Listed) {
        self.note(life, format_args!("it lists {data:?} and {logs:?}"));
        let one = &mut self.lives[life];
        let directory = one.directory();
        let missing = one.data.difference(&data).chain(one.logs.difference(&logs)).next().cloned();
        (one.data, one.logs, one.is_settled) = (data, logs, true);
        if let Some(file) = missing.filter(|_| one.state == State::Sound) {
            self.finds(format!("{directory} doesn't list {file}, which it was given"));
        }
    }

    /// Files of a database aren't there, or say nothing.
    pub(super) fn is_gone(&mut self, life: LifeNo, wrong: &str) {
        let one = &mut self.lives[life];
        let (directory, state) = (one.directory(), one.state);
        one.state = State::Lost;
        if state == State::Sound {
            self.finds(format!("{directory}: {wrong}"));
        }
    }

    /// A round begins: nobody is at work any more.
    pub(super) fn begin(&mut self, steps: u32) {
        self.steps = steps;
        self.deletions.clear();
        for place in &mut self.places {
            (place.creators, place.is_reserved, place.meeting) = (0, false, 0);
        }
        for life in &mut self.lives {
            (life.users, life.is_open) = (0, false);
            life.used.clear();
        }
    }
}
