//! Statements about rows: they get a plan, run, and are committed if they stand alone.
//!
//! ```text
//!   plan ─▶ run ─┬─ done ─▶ commit, if no transaction is open ─▶ outcome
//!                ├─ stale ─▶ plan anew, at most TRIES times
//!                └─ refused ─▶ nothing of it is left
//! ```
//!
//! Callers: `dispatch`; `explain`, `define`, which run statements of their own.

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::sync::Arc;

use catalog::Catalog;
use expression::{Expression, Fault, Kind, Rows, Typed};
use instance::Instance;
use os::{Cost, Session};
use rowsource::Figures;
use sort::Budget;
use sqlparser::ast::Expr;
use stop::{RefusalKind, SqlState, Stop};
use syntax::{Binds, Parsed, Statement};
use txn::Transaction;
use value::{OwnedValue, Value};
use waits::{Nanos, Statistic, Timestamp};

use super::prepared::{Gave, Kept, Planned, Prepared, Took};
use super::{Columns, Outcome, Parts, Written};
use crate::bind::Binder;
use crate::cache::{Entry, TEXT_BYTES_MAX, Wish};
use crate::change::{self, Changed};
use crate::dictionary::Dictionary;
use crate::engine::{Engine, Frame};
use crate::plan::{Action, Methods, Plan, Surroundings, plan_statement};
use crate::refuse::refuse;
use crate::run::{self, Cursor, Opened, Ran};
use crate::stack::{MAKING, with_stack};

/// How often a statement is planned anew because a definition has changed meanwhile.
pub(crate) const TRIES: u32 = 20;

/// What is needed to bind and plan.
#[derive(Clone, Copy)]
pub(crate) struct Ground<'a> {
    pub(crate) instance: &'a Instance,
    pub(crate) catalog: &'a Catalog,
    pub(crate) engine: &'a Engine,
    pub(crate) budget: &'a Budget,
    pub(crate) session: &'a Session,
}

impl<'a> Ground<'a> {
    /// The dictionary.
    pub(crate) fn dictionary(&self) -> Dictionary<'a> {
        Dictionary { catalog: self.catalog, engine: self.engine, session: self.session }
    }

    /// What plans depend on beside statements and tables.
    pub(crate) fn surroundings(&self, methods: Methods) -> Surroundings {
        let cache = self.instance.cache();
        let buffers = cache.buffers(cache.block_size(), self.session);
        let target = self.budget.reading(self.session).target_bytes;
        // One work area gets an eighth of the target at most.
        let memory_bytes = (target / 8) as f64;
        Surroundings { cache_blocks: f64::from(buffers), memory_bytes, methods }
    }

    /// Plans a statement about rows, whose text this is.
    pub(crate) fn plan(
        &self,
        text: &str,
        statement: &Statement,
        binds: &Binds,
        wish: Wish<'_>,
    ) -> Result<Plan, Stop> {
        // Read before anything is bound: whatever changes from now on makes the plan stale.
        let generation = self.catalog.generation(self.session);
        let now = self.session.now();
        let dictionary = self.dictionary();
        let binder = Binder::new(&dictionary, binds.count()).saying(wish.said);
        let bound = binder.statement(statement).map_err(|refused| refused.within(text))?;
        let plan = plan_statement(bound, generation, self.surroundings(wish.methods));
        plan.basis.note_looked(now);
        Ok(plan)
    }
}

/// Parses a text that a session has given. What follows from it, binding and planning, is charged
/// here too (rule SQ67).
pub(super) fn parse(text: &str, session: &Session) -> Result<Parsed, Stop> {
    session.charge(Cost::StatementMade, 1);
    session.charge(Cost::StatementByte, text.len() as u64);
    syntax::parse(text).map_err(Stop::from)
}

/// Whether a statement has a plan.
pub(super) fn has_plan(statement: &Statement) -> bool {
    matches!(
        statement,
        Statement::Query(_)
            | Statement::Insert(_)
            | Statement::Update(_)
            | Statement::Delete(_)
            | Statement::Merge(_)
    )
}

impl Frame<'_> {
    /// What is needed to bind and plan.
    pub(crate) fn ground(&self) -> Ground<'_> {
        let Frame { instance, catalog, engine, budget, session, .. } = self;
        Ground { instance, catalog, engine, budget, session }
    }

    fn methods(&self) -> Methods {
        self.state.own.settings.used.methods
    }

    /// Keeps a statement to be run, with these kinds of its parameters.
    pub(crate) fn prepare_as(&mut self, text: &str, said: &[Kind]) -> Result<Prepared, Stop> {
        let wish = Wish { said, methods: self.methods() };
        if let Some(entry) = self.found(text, wish)? {
            return self.prepared(text, entry, wish);
        }
        with_stack(MAKING, || self.made(text, wish))
    }

    /// A statement that is made of its text.
    fn made(&self, text: &str, wish: Wish<'_>) -> Result<Prepared, Stop> {
        let parsed = parse(text, self.session)?;
        if !has_plan(&parsed.statement) {
            let kept = Kept::other(text, parsed.statement, parsed.binds, self.engine);
            return Ok(Prepared(Rc::new(kept)));
        }
        let entry = self.planned_entry(text, &parsed.statement, parsed.binds, wish)?;
        self.prepared(text, entry, wish)
    }

    /// The shared plan of a text, if there is one that holds, and that no table has outgrown.
    fn found(&self, text: &str, wish: Wish<'_>) -> Result<Option<Arc<Entry>>, Stop> {
        let Ground { engine, catalog, session, .. } = self.ground();
        let Some(entry) = engine.plans.find(text, wish, catalog, session) else { return Ok(None) };
        let outgrown = self.ground().dictionary().has_outgrown(&entry.plan, session.now())?;
        Ok((!outgrown).then_some(entry))
    }

    /// A statement about rows with this plan.
    fn prepared(&self, text: &str, entry: Arc<Entry>, wish: Wish<'_>) -> Result<Prepared, Stop> {
        let planned = self.opened(text, entry, wish)?;
        let kept = Rc::new(Kept::planned(wish.said.to_vec(), planned, self.engine));
        self.state.statements.note_opened(&kept);
        Ok(Prepared(kept))
    }

    /// Plans a statement, and shares the plan.
    fn planned_entry(
        &self,
        text: &str,
        statement: &Statement,
        binds: Binds,
        wish: Wish<'_>,
    ) -> Result<Arc<Entry>, Stop> {
        let plan = Arc::new(self.ground().plan(text, statement, &binds, wish)?);
        Ok(self.shared_entry(text, statement, binds, wish, plan))
    }

    /// A plan of this text, which is shared if the text isn't too long.
    fn shared_entry(
        &self,
        text: &str,
        statement: &Statement,
        binds: Binds,
        wish: Wish<'_>,
        plan: Arc<Plan>,
    ) -> Arc<Entry> {
        let Ground { engine, session, .. } = self.ground();
        let entry = Entry::new(text, statement.tag(), binds, wish, plan, session.os());
        match text.len() <= TEXT_BYTES_MAX {
            true => engine.plans.keep(entry, session),
            false => Arc::new(entry),
        }
    }

    /// The plan of a statement that is a part of another one's text: the one that the statement has
    /// by its own text, or else one that is made and shared. What is wrong is said of the whole
    /// text.
    pub(crate) fn entry_within(
        &self,
        own: &str,
        statement: &Statement,
        written: Written<'_>,
    ) -> Result<Arc<Entry>, Stop> {
        let wish = Wish { said: &[], methods: self.methods() };
        if let Some(entry) = self.found(own, wish)? {
            return Ok(entry);
        }
        let plan = Arc::new(self.ground().plan(written.text, statement, written.binds, wish)?);
        Ok(self.shared_entry(own, statement, written.binds.clone(), wish, plan))
    }

    /// The plan of a text, which is made if there is none that holds.
    fn entry_of(&self, text: &str, wish: Wish<'_>) -> Result<Arc<Entry>, Stop> {
        match self.found(text, wish)? {
            Some(entry) => Ok(entry),
            None => with_stack(MAKING, || {
                let parsed = parse(text, self.session)?;
                self.planned_entry(text, &parsed.statement, parsed.binds, wish)
            }),
        }
    }

    /// A plan with its tables open. If one of these has gone meanwhile, it is made anew.
    fn opened(&self, text: &str, mut entry: Arc<Entry>, wish: Wish<'_>) -> Result<Planned, Stop> {
        for _ in 1..TRIES {
            let open = || Opened::open(Arc::clone(&entry.plan), self.catalog, self.session);
            match with_stack(entry.plan.stack(), open) {
                Ok(opened) => return Ok(Planned { entry, opened: Rc::new(opened) }),
                Err(stop) if is_of_definition(&stop) => entry = self.entry_of(text, wish)?,
                Err(stop) => return Err(stop),
            }
        }
        Err(changes_all_the_time())
    }

    /// The plan of a statement that is kept: the one that it has, or else one that holds now, in
    /// place of one that is stale or that a table has outgrown.
    pub(crate) fn planned(
        &self,
        kept: &Rc<Kept>,
        is_stale: bool,
        now: Timestamp,
    ) -> Result<Planned, Stop> {
        let wish = Wish { said: &kept.said, methods: self.methods() };
        if !is_stale
            && let Some(planned) = kept.plan_for(wish)
            && !self.ground().dictionary().has_outgrown(&planned.entry.plan, now)?
        {
            return Ok(planned);
        }
        let entry = self.entry_of(&kept.text, wish)?;
        let planned = self.opened(&kept.text, entry, wish)?;
        kept.set_plan(planned.clone());
        self.state.statements.note_opened(kept);
        Ok(planned)
    }

    /// Runs a statement about rows with these parameters, and gives its first rows, at most `most`.
    pub(super) fn execute_rows(
        &mut self,
        kept: &Rc<Kept>,
        binds: &[OwnedValue],
        most: usize,
        into: &mut Rows,
    ) -> Result<Outcome, Stop> {
        let is_measured = kept.is_long() || self.state.statements.cpu.is_next();
        let watch = Watch::start(is_measured, self.session);
        self.session.charge(Cost::Statement, 1);
        for tried in 0..TRIES {
            let planned = self.planned(kept, tried > 0, watch.began)?;
            let plan = planned.opened.plan();
            let values = binds_for(plan, binds)?;
            let binds: &[OwnedValue] = &values;
            let ran = with_stack(plan.stack(), || match plan.action {
                Action::Query => self.start(&planned.opened, binds, most, into),
                _ => self.change(&planned.opened, binds, most, into),
            })?;
            if let Ran::Done(given) = ran {
                let gave = Gave { rows: given.rows, is_all: given.cursor.is_none() };
                let took = watch.took(self.session);
                let cpu = self.state.statements.cpu.of(took, || self.session.thread_cpu());
                let took = Took { cpu: Some(cpu), ..took };
                if let Some(cursor) = given.cursor {
                    self.state.cursors.count_in(cursor, &planned.entry);
                    self.state.cursors.spend(cursor, took.elapsed);
                }
                kept.count(&planned.entry, gave, took, self.session);
                return Ok(Outcome {
                    tag: planned.entry.tag,
                    rows: given.rows,
                    columns: Columns::of_plan(plan),
                    cursor: given.cursor,
                    notice: None,
                });
            }
        }
        Err(changes_all_the_time())
    }

    /// Starts a query.
    fn start(
        &mut self,
        opened: &Rc<Opened>,
        binds: &[OwnedValue],
        most: usize,
        into: &mut Rows,
    ) -> Result<Ran<Given>, Stop> {
        into.set_width(opened.plan().frame.root.width());
        self.with_host(|host, Parts { cursors, transaction, .. }| {
            let transaction = transaction.as_ref();
            Ok(match run::start(opened, binds, host, transaction, most, into)? {
                Ran::Stale => Ran::Stale,
                Ran::Done(cursor) => {
                    // Outside of a transaction nothing ends it but its last row.
                    let is_of_transaction = transaction.is_some();
                    let cursor = cursor.map(|cursor| cursors.add(cursor, is_of_transaction));
                    Ran::Done(Given { rows: into.len() as u64, cursor })
                }
            })
        })
    }

    /// Runs a statement that changes or locks rows, and gives the first of those that it returns.
    fn change(
        &mut self,
        opened: &Rc<Opened>,
        binds: &[OwnedValue],
        most: usize,
        into: &mut Rows,
    ) -> Result<Ran<Given>, Stop> {
        into.set_width(0);
        let is_alone = self.transaction.is_none();
        Ok(match self.changed(opened, binds, None)? {
            Ran::Stale => Ran::Stale,
            Ran::Done(changed) => Ran::Done(self.give(opened, changed, most, into, !is_alone)?),
        })
    }

    /// Runs a statement that changes or locks rows; alone it is a transaction of its own. If
    /// `figures` are wanted, its sources are measured.
    pub(crate) fn changed(
        &mut self,
        opened: &Rc<Opened>,
        binds: &[OwnedValue],
        figures: Option<&mut Vec<Figures>>,
    ) -> Result<Ran<Changed>, Stop> {
        if self.transaction.is_some() {
            return self.change_within(opened, binds, figures, false);
        }
        *self.transaction = Some(self.new_transaction(None)?);
        // A panic goes on when the transaction has ended: nobody else knows that it was begun.
        let ran =
            catch_unwind(AssertUnwindSafe(|| self.change_within(opened, binds, figures, true)));
        let own = self.transaction.take().expect("it was begun");
        match &ran {
            Ok(Ok(Ran::Done(_))) => self.commit_alone(own)?,
            Ok(_) => self.instance.rollback(own, self.session)?,
            Err(_) => drop(self.instance.rollback(own, self.session)),
        }
        ran.unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// Runs a statement that changes or locks rows in the transaction that there is.
    fn change_within(
        &mut self,
        opened: &Rc<Opened>,
        binds: &[OwnedValue],
        figures: Option<&mut Vec<Figures>>,
        is_alone: bool,
    ) -> Result<Ran<Changed>, Stop> {
        self.check_may_change(is_alone)?;
        self.with_host(|host, Parts { scratch, transaction, .. }| {
            let transaction = transaction.as_mut().expect("it was begun");
            change::run(opened, binds, host, transaction, scratch, figures)
        })
    }

    /// Gives the first of the rows that a statement returns.
    fn give(
        &mut self,
        opened: &Rc<Opened>,
        changed: Changed,
        most: usize,
        into: &mut Rows,
        is_of_transaction: bool,
    ) -> Result<Given, Stop> {
        let Changed { rows, returned } = changed;
        let Some(returned) = returned else { return Ok(Given { rows, cursor: None }) };
        into.set_width(opened.plan().columns.len());
        // The statement is done: a cancel that comes now doesn't tell of a refusal.
        let _held = self.session.hold_off();
        self.with_host(|host, Parts { cursors, transaction, .. }| {
            let mut cursor = Cursor::Kept(Box::new(returned));
            let goes_on = cursor.fetch(host, transaction.as_ref(), most, into);
            if goes_on.is_err() {
                cursor.close(host);
            }
            let cursor = goes_on?.then(|| cursors.add(cursor, is_of_transaction));
            Ok(Given { rows, cursor })
        })
    }

    fn commit_alone(&mut self, transaction: Transaction) -> Result<(), Stop> {
        match self.state.own.settings.used.commit_mode() {
            None => self.instance.commit(transaction, self.session),
            Some(mode) => self.instance.commit_with(transaction, mode, self.session).map(|_| ()),
        }
    }

    /// The values of expressions that stand by themselves, such as those of EXECUTE; each is of the
    /// kind that was said for it, if one was. Their places are those of this text.
    pub(crate) fn values_of(
        &mut self,
        exprs: &[Expr],
        said: &[Kind],
        text: &str,
    ) -> Result<Vec<OwnedValue>, Stop> {
        if exprs.is_empty() {
            return Ok(Vec::new());
        }
        for _ in 0..TRIES {
            let plan = {
                let ground = self.ground();
                let generation = ground.catalog.generation(ground.session);
                let dictionary = ground.dictionary();
                let bound = Binder::new(&dictionary, 0).values_alone(exprs, said);
                let bound = bound.map_err(|refused| refused.within(text))?;
                plan_statement(bound, generation, ground.surroundings(self.methods()))
            };
            let opened = Rc::new(Opened::open(Arc::new(plan), self.catalog, self.session)?);
            let mut row = Rows::new(exprs.len());
            let ran = self.start(&opened, &[], 1, &mut row)?;
            if let Ran::Done(given) = ran {
                if let Some(cursor) = given.cursor {
                    self.close(cursor);
                }
                return Ok((0..exprs.len()).map(|at| row.get(0, at).to_owned()).collect());
            }
        }
        Err(changes_all_the_time())
    }
}

/// Measures how long a run takes, and its gets and reads of blocks.
pub(super) struct Watch {
    began: Timestamp,
    /// The thread's time on a CPU before, if that is measured.
    cpu: Option<Nanos>,
    /// The session's gets and reads before.
    gets: u64,
    reads: u64,
}

impl Watch {
    #[inline]
    pub(super) fn start(is_measured: bool, session: &Session) -> Watch {
        let cpu = is_measured.then(|| session.thread_cpu());
        Watch { began: session.now(), cpu, gets: gets_of(session), reads: reads_of(session) }
    }

    #[inline]
    pub(super) fn took(&self, session: &Session) -> Took {
        let elapsed = session.now().since(self.began);
        let on_cpu = |before: Nanos| session.thread_cpu().0.saturating_sub(before.0);
        let cpu = self.cpu.map(|before| Nanos(on_cpu(before).min(elapsed.0)));
        let gets = gets_of(session).wrapping_sub(self.gets);
        let reads = reads_of(session).wrapping_sub(self.reads);
        Took { elapsed, cpu, gets, reads }
    }
}

/// All gets of blocks of a session so far.
#[inline]
fn gets_of(session: &Session) -> u64 {
    let account = session.account();
    let consistent = account.statistic(Statistic::ConsistentGets);
    consistent.wrapping_add(account.statistic(Statistic::CurrentGets))
}

/// All blocks that a session has read from disk so far.
#[inline]
fn reads_of(session: &Session) -> u64 {
    session.account().statistic(Statistic::PhysicalReads)
}

/// What a run has given.
struct Given {
    rows: u64,
    cursor: Option<run::CursorNo>,
}

fn is_of_definition(stop: &Stop) -> bool {
    matches!(stop.refusal(), Some(RefusalKind::DefinitionChanged | RefusalKind::NotFound))
}

/// Refuses another number of values than the statement has parameters.
pub(super) fn check_binds(wanted: usize, given: usize) -> Result<(), Stop> {
    if wanted == given {
        return Ok(());
    }
    let message = format!("the statement has {wanted} parameters, and {given} values were given");
    Err(refuse(SqlState::PROTOCOL_VIOLATION, message))
}

/// The values of a plan's parameters, as it takes them.
pub(crate) fn binds_for<'b>(
    plan: &Plan,
    given: &'b [OwnedValue],
) -> Result<Cow<'b, [OwnedValue]>, Stop> {
    check_binds(plan.binds.len(), given.len())?;
    taken(given, &plan.binds)
}

/// The values of parameters of these kinds: a text becomes what is needed, and another value that
/// can't be compared with that is refused (rule SQ13).
fn taken<'b>(binds: &'b [OwnedValue], kinds: &[Kind]) -> Result<Cow<'b, [OwnedValue]>, Stop> {
    let is_right = |(value, kind): (&OwnedValue, &Kind)| is_taken(value.get(), *kind);
    if binds.iter().zip(kinds).all(is_right) {
        return Ok(Cow::Borrowed(binds));
    }
    let mut all = binds.to_vec();
    for (number, (value, kind)) in all.iter_mut().zip(kinds).enumerate() {
        if is_taken(value.get(), *kind) {
            continue;
        }
        let own = match Kind::of(value.get()) {
            Kind::Text => Kind::Unknown,
            own => own,
        };
        let given = Typed::new(Expression::Constant(value.clone()), own);
        let place = |fault: Fault| {
            let lead = format!("parameter ${}: ", number + 1);
            Stop::from(fault).map_refusal(|refusal| refusal.led_by(&lead))
        };
        let mut made = given.implicit(*kind).map_err(place)?.expression;
        made.fold();
        if let Expression::Constant(made) = made {
            *value = made;
        }
    }
    Ok(Cow::Owned(all))
}

/// Whether a value is taken as it is where this kind is needed.
#[inline]
fn is_taken(value: Value<'_>, kind: Kind) -> bool {
    match (kind, value) {
        (Kind::Unknown | Kind::Text | Kind::Char, _) | (_, Value::Null) => true,
        (Kind::Whole | Kind::Number | Kind::Double, _) => Kind::of(value).is_number(),
        (Kind::Date | Kind::Timestamp, _) => Kind::of(value).is_moment(),
        (kind, value) => Kind::of(value) == kind,
    }
}

#[cold]
pub(crate) fn changes_all_the_time() -> Stop {
    let message = "what the statement reads is redefined again and again; run it later";
    refuse(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
}
