//! The stage: a simulated machine with a table of two rows, and transactions that do as they are
//! told, each in a session of its own, by calls of the API or by SQL text.
//!
//! ```text
//!   case ── order ──▶ actor's session: begin ─▶ statements ─▶ commit or rollback
//!        ◀─ answer ──
//! ```

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use database::{
    Bounds, ColumnSpec, Connection, Database, Direction, Done, Error, ErrorKind, IndexSpec,
    Options, Row as RowView, Selection, Table, TableSpec, Tx, Type, Value,
};
use ids::BlockSize;
use instance::{Creation, Instance, Parameters};
use latch::{Latch, LatchKind};
use os::{Session, ThreadHandle, ThreadSpec};
use proof::By;
use sim::Perturbation;
use sim::fs::FileSystem;
use waits::{Nanos, WaitEvent};

const NAME: &str = "test";
const DIRECTORY: &str = "/db";

/// So many schedules of each case; by every second one rows are found by an index, and by two of
/// four everything is said in SQL.
const SEEDS: u64 = 20;

/// So long a step is given to show that it doesn't end.
const LONG: Nanos = Nanos::from_millis(50);

/// So long an actor, or who waits for one, pauses before it looks again.
const MOMENT: Nanos = Nanos::from_micros(100);

/// What a transaction is promised.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Level {
    ReadCommitted,
    Serializable,
}

impl Level {
    /// Texts that begin such a transaction, one set for each of some seeds.
    fn begins(self, seed: u64) -> &'static [&'static str] {
        let ways: &[&[&str]] = match self {
            Level::ReadCommitted => &[
                &["begin"],
                &["begin isolation level read committed"],
                &["start transaction isolation level read uncommitted"],
            ],
            Level::Serializable => &[
                &["begin isolation level serializable"],
                &["start transaction isolation level repeatable read"],
                &["begin", "set transaction isolation level serializable"],
                &["set default_transaction_isolation = 'serializable'", "begin"],
            ],
        };
        ways[seed as usize % ways.len()]
    }
}

/// A row: its number and its value.
pub(crate) type Row = (u32, u32);

/// A condition on a value: as SQL says it, and as the reader of an API's rows looks at it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Condition {
    pub(crate) text: &'static str,
    pub(crate) holds: fn(u32) -> bool,
}

/// Each row meets it.
const ANY: Condition = Condition { text: "true", holds: |_| true };

/// What an actor is to do.
#[derive(Clone, Copy, Debug)]
enum Order {
    Read(Condition),
    Set(u32, u32),
    Delete(u32),
    Insert(u32, u32),
    Commit,
    Rollback,
}

/// What came of it.
#[derive(Debug)]
enum Answer {
    Rows(Vec<Row>),
    /// False if it was refused.
    Done(bool),
}

/// What passes between the case and an actor.
#[derive(Default)]
struct Line {
    order: Option<Order>,
    answer: Option<Answer>,
}

/// A transaction.
#[derive(Clone)]
pub(crate) struct Actor {
    line: Arc<Latch<Line>>,
    thread: Arc<ThreadHandle>,
    /// Whether its last change was done, and not refused.
    pub(crate) last: bool,
}

impl Actor {
    /// The transaction itself, for a step that waits.
    pub(crate) fn take(&mut self) -> Actor {
        self.clone()
    }
}

/// What is on stage.
pub(crate) struct Play<'a> {
    database: Database,
    session: &'a Session,
    how: How,
}

/// How actors do what they are told.
#[derive(Clone, Copy, Debug)]
struct How {
    by: By,
    /// Whether rows are found by the index of values.
    by_index: bool,
    seed: u64,
}

/// The actor's end of its line.
struct Ear<'s> {
    line: Arc<Latch<Line>>,
    session: &'s Session,
}

impl Ear<'_> {
    /// The next order.
    fn order(&self) -> Order {
        loop {
            let order = self.line.exclusive(self.session).order.take();
            if let Some(order) = order {
                return order;
            }
            self.session.pause(MOMENT, self.session.waiting(WaitEvent::PlSqlLockTimer));
        }
    }

    fn answer(&self, answer: Answer) {
        self.line.exclusive(self.session).answer = Some(answer);
    }
}

/// A step that waits.
pub(crate) struct Waiting(Actor);

impl Waiting {
    /// What it came to, now that it can go on.
    pub(crate) fn ended(self, play: &Play<'_>) -> Actor {
        let Waiting(mut actor) = self;
        actor.last = play.was_done(&actor);
        actor
    }
}

/// A database with the table, which was made this way.
fn base(by: By) -> FileSystem {
    let simulation = proof::machine(0, FileSystem::new(1 << 30), Perturbation::NONE);
    let mut report = simulation.run(move |world, session| {
        let (disk, directory) = (world.disk(), Path::new(DIRECTORY));
        let Options { creation, parameters, .. } = &options();
        Instance::create(&disk, directory, creation, parameters, session).expect("created");
        let opened = Database::open_in(&disk, directory, &options(), session);
        let database = opened.expect("opened");
        make(by, &mut database.connect_with(session)).expect("made");
        database.shutdown_by(session).expect("in good order");
    });
    let mut disk = report.disks.remove("disk").expect("the machine has one disk");
    disk.close_all();
    report.result.unwrap_or_else(|failure| panic!("the base: {failure}"));
    disk
}

/// Plays a case under many schedules.
pub(crate) fn on_stage(case: impl Fn(&mut Play<'_>) + Clone + Send + 'static) {
    let bases = By::ALL.map(base);
    for seed in 0..SEEDS {
        let (case, at) = (case.clone(), (seed / 2 % 2) as usize);
        let simulation = proof::machine(seed, bases[at].clone(), Perturbation::RACES);
        let report = simulation.run(move |world, session| {
            let opened =
                Database::open_in(&world.disk(), Path::new(DIRECTORY), &options(), session);
            let database = opened.expect("opened");
            let how = How { by: By::ALL[at], by_index: seed % 2 == 1, seed };
            let mut play = Play { database, session, how };
            case(&mut play);
            play.database.shutdown_by(session).expect("all actors have ended");
        });
        report.result.unwrap_or_else(|failure| panic!("seed {seed}: {failure}"));
    }
}

fn options() -> Options {
    let creation = Creation {
        db_block_size: BlockSize::KIB_2,
        data_bytes: 400 * 2_048,
        data_bytes_max: 4_000 * 2_048,
        data_growth_bytes: 64 * 2_048,
        log_file_bytes: u64::from(redo::LOG_BLOCKS_MIN) * 4_096,
        ..Creation::default()
    };
    let parameters = Parameters { db_cache_size: 128 * 2_048, ..Parameters::default() };
    Options { creation, parameters, ..Options::default() }
}

/// The same table, whichever way it is made.
const BY_SQL: [&str; 3] = [
    "create table test (id bigint primary key, value bigint)",
    "create index by_value on test (value)",
    "insert into test values (1, 10), (2, 20)",
];

fn make(by: By, connection: &mut Connection<'_>) -> Result<(), Error> {
    if by == By::Sql {
        return BY_SQL.iter().try_for_each(|text| connection.execute(text, &[]).map(drop));
    }
    let spec = TableSpec::new(NAME)
        .column(ColumnSpec::new("id", Type::BigInt))
        .column(ColumnSpec::new("value", Type::BigInt))
        .primary_key(["id"]);
    let table = connection.create_table(&spec)?;
    connection.create_index(&IndexSpec::new("by_value", NAME, ["value"]))?;
    let mut tx = connection.begin();
    tx.insert(&table, &[Value::Int(1), Value::Int(10)])?;
    tx.insert(&table, &[Value::Int(2), Value::Int(20)])?;
    tx.commit()
}

impl Play<'_> {
    pub(crate) fn begin(&self, level: Level) -> Actor {
        let line = Latch::new(self.session.os(), LatchKind::Innermost, Line::default());
        let line = Arc::new(line);
        let (its, database, how) = (Arc::clone(&line), self.database.clone(), self.how);
        let body = move |session: &Session| {
            let mut connection = database.connect_with(session);
            let ear = Ear { line: its, session };
            match how.by {
                By::Api => act_by_api(&mut connection, level, how, &ear),
                By::Sql => act_by_sql(&mut connection, level, how, &ear),
            }
        };
        let spec = ThreadSpec::foreground("actor");
        let thread = Arc::new(self.session.spawn(spec, body).expect("started"));
        let actor = Actor { line, thread, last: true };
        assert!(self.was_done(&actor), "it has begun");
        actor
    }

    fn order(&self, actor: &Actor, order: Order) {
        actor.line.exclusive(self.session).order = Some(order);
    }

    fn answer(&self, actor: &Actor) -> Answer {
        loop {
            let answer = actor.line.exclusive(self.session).answer.take();
            if let Some(answer) = answer {
                return answer;
            }
            self.session.pause(MOMENT, self.session.waiting(WaitEvent::PlSqlLockTimer));
        }
    }

    fn was_done(&self, actor: &Actor) -> bool {
        match self.answer(actor) {
            Answer::Done(done) => done,
            Answer::Rows(rows) => panic!("a change was told {rows:?}"),
        }
    }

    fn does(&self, actor: &mut Actor, order: Order) -> bool {
        self.order(actor, order);
        actor.last = self.was_done(actor);
        actor.last
    }

    fn ends(&self, mut actor: Actor, order: Order) {
        assert!(self.does(&mut actor, order));
        assert!(actor.thread.join(self.session).is_ok(), "the actor panicked");
    }

    pub(crate) fn commit(&self, actor: Actor) {
        self.ends(actor, Order::Commit);
    }

    pub(crate) fn rollback(&self, actor: Actor) {
        self.ends(actor, Order::Rollback);
    }

    pub(crate) fn insert(&self, actor: &mut Actor, number: u32, value: u32) {
        assert!(self.does(actor, Order::Insert(number, value)));
    }

    /// All rows that the transaction sees, by number.
    pub(crate) fn scan(&self, actor: &Actor) -> Vec<Row> {
        self.matching(actor, ANY)
    }

    /// Those whose value is like this.
    pub(crate) fn matching(&self, actor: &Actor, condition: Condition) -> Vec<Row> {
        self.order(actor, Order::Read(condition));
        match self.answer(actor) {
            Answer::Rows(rows) => rows,
            Answer::Done(done) => panic!("a read was told {done}"),
        }
    }

    pub(crate) fn get(&self, actor: &Actor, number: u32) -> Option<u32> {
        let found = self.scan(actor).into_iter().find(|(found, _)| *found == number);
        found.map(|(_, value)| value)
    }

    /// What a new transaction sees.
    pub(crate) fn all(&self) -> Vec<Row> {
        let reader = self.begin(Level::ReadCommitted);
        let all = self.scan(&reader);
        self.commit(reader);
        all
    }

    /// `update … set value = … where id = …`; false if it was refused.
    pub(crate) fn set(&self, actor: &mut Actor, number: u32, value: u32) -> bool {
        self.does(actor, Order::Set(number, value))
    }

    /// `delete … where value = …`.
    pub(crate) fn delete(&self, actor: &mut Actor, value: u32) -> bool {
        self.does(actor, Order::Delete(value))
    }

    /// The same, and it is seen to wait.
    pub(crate) fn set_waiting(&self, actor: Actor, number: u32, value: u32) -> Waiting {
        self.waiting(actor, Order::Set(number, value))
    }

    pub(crate) fn delete_waiting(&self, actor: Actor, value: u32) -> Waiting {
        self.waiting(actor, Order::Delete(value))
    }

    fn waiting(&self, actor: Actor, order: Order) -> Waiting {
        self.order(&actor, order);
        self.session.pause(LONG, self.session.waiting(WaitEvent::PlSqlLockTimer));
        let line = actor.line.exclusive(self.session);
        assert!(line.order.is_none() && line.answer.is_none(), "the step has to wait");
        drop(line);
        Waiting(actor)
    }
}

/// A transaction by the API: it does as it is told, to its end.
fn act_by_api(connection: &mut Connection<'_>, level: Level, how: How, ear: &Ear<'_>) {
    let table = connection.table(NAME).expect("it was made");
    let mut tx = match level {
        Level::ReadCommitted => connection.begin(),
        Level::Serializable => connection.begin_serializable().expect("begun"),
    };
    ear.answer(Answer::Done(true));
    loop {
        match ear.order() {
            Order::Commit => tx.commit().expect("committed"),
            Order::Rollback => tx.rollback().expect("rolled back"),
            order => {
                ear.answer(act(&mut tx, (&table, how.by_index), order));
                continue;
            }
        }
        return ear.answer(Answer::Done(true));
    }
}

/// Does a step, in the actor's session.
fn act(tx: &mut Tx<'_, '_>, (table, by_index): (&Table, bool), order: Order) -> Answer {
    let by_value = table.index("by_value").expect("it was made");
    let done = match order {
        Order::Read(condition) => {
            let mut rows = Vec::new();
            let mut see = |row: RowView<'_>| {
                let at = |column| number(row.get_i64(column).expect("no row has NULL"));
                rows.push((at(0), at(1)));
            };
            let read = match by_index {
                false => tx.scan(table, see),
                true => {
                    let all = Bounds::equal(&[]);
                    tx.range(table, by_value, &all, Direction::Ascending, |row| {
                        see(row);
                        ControlFlow::Continue(())
                    })
                }
            };
            read.expect("a read isn't refused");
            rows.retain(|(_, value)| (condition.holds)(*value));
            rows.sort_unstable();
            return Answer::Rows(rows);
        }
        Order::Set(number, value) => {
            let key = [int(number)];
            tx.update(table, &key, |_, new| new.set(1, int(value))).map(|_| ())
        }
        Order::Delete(value) => {
            let equal = [int(value)];
            let deleted = match by_index {
                true => {
                    tx.delete_where(table, Selection::Range(by_value, Bounds::equal(&equal)), None)
                }
                false => {
                    let is_meant = &mut |row: &RowView<'_>| row.get_i64(1) == Some(value.into());
                    tx.delete_where(table, Selection::All, Some(is_meant))
                }
            };
            deleted.map(|_| ())
        }
        Order::Insert(number, value) => tx.insert(table, &[int(number), int(value)]).map(|_| ()),
        Order::Commit | Order::Rollback => unreachable!("these end the actor"),
    };
    told(done)
}

/// A transaction by SQL text: the same.
fn act_by_sql(connection: &mut Connection<'_>, level: Level, how: How, ear: &Ear<'_>) {
    if how.by_index {
        say(connection, "set enable_seqscan = off", &[]).expect("it is a setting");
    }
    for text in level.begins(how.seed / 4) {
        say(connection, text, &[]).expect("begun");
    }
    ear.answer(Answer::Done(true));
    loop {
        let done = match ear.order() {
            Order::Commit => {
                say(connection, "commit", &[]).expect("committed");
                return ear.answer(Answer::Done(true));
            }
            Order::Rollback => {
                say(connection, "rollback", &[]).expect("rolled back");
                return ear.answer(Answer::Done(true));
            }
            Order::Read(condition) => {
                ear.answer(Answer::Rows(rows(connection, condition)));
                continue;
            }
            Order::Set(number, value) => {
                let text = "update test set value = $2 where id = $1";
                say(connection, text, &[int(number), int(value)])
            }
            Order::Delete(value) => {
                say(connection, "delete from test where value = $1", &[int(value)])
            }
            Order::Insert(number, value) => {
                say(connection, "insert into test values ($1, $2)", &[int(number), int(value)])
            }
        };
        ear.answer(told(done.map(drop)));
    }
}

fn say(connection: &mut Connection<'_>, text: &str, binds: &[Value<'_>]) -> Result<Done, Error> {
    connection.execute(text, binds)
}

/// The rows whose values meet a condition, by number.
fn rows(connection: &mut Connection<'_>, condition: Condition) -> Vec<Row> {
    let text = format!("select id, value from test where {} order by id", condition.text);
    let mut cursor = connection.query(&text, &[]).expect("a read isn't refused");
    let mut rows = Vec::new();
    while let Some(row) = cursor.next_row().expect("a read isn't refused") {
        let at = |place: usize| number(row.get::<i64>(place).expect("no row has NULL"));
        rows.push((at(0), at(1)));
    }
    rows
}

/// What came of a change: done, or refused because of somebody else's.
fn told(done: Result<(), Error>) -> Answer {
    if let Err(stop) = &done {
        let expected = [ErrorKind::Serialization, ErrorKind::Deadlock];
        assert!(stop.refusal().is_some_and(|kind| expected.contains(&kind)), "{stop}");
    }
    Answer::Done(done.is_ok())
}

fn int(number: u32) -> Value<'static> {
    Value::Int(number.into())
}

fn number(value: i64) -> u32 {
    u32::try_from(value).expect("no value is larger")
}
