//! Statements that change or lock rows: INSERT, UPDATE, DELETE, MERGE, SELECT FOR UPDATE.
//!
//! ```text
//!   Feed: a short way, or a machine ─ rows, as the statement's view sees them
//!     │
//!     ▼                 insert, update, delete, lock           the end
//!   action ─▶ StatementWork (relation's driver) ─────────▶ late keys, foreign keys ─▶ done
//!     │            │ changed since the view: all is taken back, and everything begins again
//!     └─▶ Returned: rows to give back, kept until the statement has ended
//! ```
//!
//! | module | what it has |
//! |---|---|
//! | `feed` | [`Feed`]: the rows that a statement works on |
//! | `returned` | what RETURNING gives, and rows that were locked |
//! | `insert`, `conflict`, `load` | INSERT; ON CONFLICT; the direct path |
//! | `update`, `delete`, `merge`, `lock` | the other statements |
//!
//! Invariants
//!   * a statement sees none of its own changes: its view is that of its beginning (rule SQ50)
//!   * nothing is told before the statement has ended: it may begin again (rule SQ51)
//!   * new values are computed once for each row, before the row is changed, outside of latches
//!     (rule SQ52)
//!
//! Callers: the session.

mod conflict;
mod delete;
mod feed;
mod insert;
mod load;
mod lock;
mod merge;
mod returned;
mod update;

use std::rc::Rc;

use relation::{Relation, Scratch, Work};
use rowsource::Figures;
use stop::{SqlState, Stop};
use txn::{Transaction, View};
use value::{OwnedValue, Timestamp};

pub(crate) use load::fill;

use crate::plan::Action;
use crate::refuse::refuse;
use crate::run::{Env, Host, KeptCursor, Opened, Ran};
use feed::Feed;

/// What a statement has done.
pub(crate) struct Changed {
    /// How many rows it has inserted, updated, deleted or locked.
    pub(crate) rows: u64,
    /// The rows that it gives.
    pub(crate) returned: Option<KeptCursor>,
}

/// What a statement runs with, beside its transaction.
#[derive(Clone, Copy)]
pub(super) struct Ground<'g> {
    opened: &'g Opened,
    host: &'g Host<'g>,
    moment: Timestamp,
}

impl<'g> Ground<'g> {
    fn of(opened: &'g Opened, host: &'g Host<'g>) -> Ground<'g> {
        Ground { opened, host, moment: host.moment() }
    }

    /// What its sources see, in a statement with this view. Refused if the plan doesn't hold for
    /// the view's snapshot.
    fn env(&self, view: View) -> Result<Env<'g>, Stop> {
        let Ground { opened, host, moment } = *self;
        opened.check_current(host)?;
        Ok(Env { host, relations: opened.relations(), view, call: 0, moment })
    }

    /// The relation of a table of the plan.
    fn relation(&self, table: usize) -> &'g Relation {
        &self.opened.relations()[table]
    }
}

/// Runs a statement that changes or locks rows. If it is refused, nothing of it is left. If
/// `figures` are wanted, those of its sources are added to them.
pub(crate) fn run(
    opened: &Rc<Opened>,
    binds: &[OwnedValue],
    host: &Host<'_>,
    transaction: &mut Transaction,
    scratch: &mut Scratch,
    figures: Option<&mut Vec<Figures>>,
) -> Result<Ran<Changed>, Stop> {
    host.check()?;
    // Before a value of a sequence is taken for a table that isn't there any more.
    if opened.has_stale_table(host) {
        return Ok(Ran::Stale);
    }
    let ground = Ground::of(opened, host);
    let mut feed = match figures.is_some() {
        true => Feed::measured(ground, binds),
        false => Feed::new(ground, binds),
    };
    let (relations, session) = (host.catalog, host.session);
    let mut work = Work { transaction, scratch, relations, session };
    let done = match &opened.plan().action {
        Action::Query => unreachable!("a query changes nothing: it is started"),
        Action::Lock(action) => lock::run(ground, &mut feed, action, &mut work),
        Action::Insert(action) => insert::run(ground, &mut feed, action, &mut work),
        Action::Update(action) => update::run(ground, &mut feed, action, &mut work),
        Action::Delete(action) => delete::run(ground, &mut feed, action, &mut work),
        Action::Merge(action) => merge::run(ground, &mut feed, action, &mut work),
    };
    feed.close(figures);
    opened.ran(done, host)
}

/// A statement would change a row twice, and which of the two changes counts isn't known.
#[cold]
fn second_time(statement: &str) -> Stop {
    let message = format!(
        "{statement} would change a row a second time; have it meet each row of the table once"
    );
    refuse(SqlState::CARDINALITY_VIOLATION, message)
}
