//! The rows that a statement works on, as its view sees them.
//!
//! Invariant: a statement that begins again gets its rows anew, with the new view, and what
//! subqueries have answered is forgotten.
//!
//! Callers: all statements of `change`.

use std::ops::ControlFlow;

use expression::{Arena, Evaluation, Expression, Rows};
use rowsource::{BATCH_ROWS_MAX, Figures};
use stop::Stop;
use value::OwnedValue;

use super::Ground;
use crate::run::{Env, HostAnswers, Machine, Short, evaluation};

/// What is done with a batch of rows: none of them is there twice. A break ends the rows.
pub(super) type Act<'b> = dyn FnMut(&Rows, &Evaluation<'_>) -> Result<ControlFlow<()>, Stop> + 'b;

/// The rows that a statement works on.
pub(super) struct Feed<'g> {
    ground: Ground<'g>,
    binds: &'g [OwnedValue],
    way: Way<'g>,
    arena: Arena,
    batch: Rows,
}

/// How the rows are made.
enum Way<'g> {
    /// One row at most, without sources.
    Short(&'g Short),
    /// By sources.
    Sources {
        machine: Box<Machine>,
        /// Whether they were started.
        is_begun: bool,
        /// The environment of the last start.
        last: Option<Env<'g>>,
    },
}

impl Way<'_> {
    fn sources(machine: Machine) -> Self {
        Way::Sources { machine: Box::new(machine), is_begun: false, last: None }
    }
}

impl<'g> Feed<'g> {
    /// The rows of a plan, with these parameters.
    pub(super) fn new(ground: Ground<'g>, binds: &'g [OwnedValue]) -> Feed<'g> {
        let way = match ground.opened.short() {
            Some(short) => Way::Short(short),
            None => Way::sources(ground.opened.machine(binds)),
        };
        Feed::by(way, ground, binds)
    }

    /// The same by sources, which are measured.
    pub(super) fn measured(ground: Ground<'g>, binds: &'g [OwnedValue]) -> Feed<'g> {
        Feed::by(Way::sources(ground.opened.measured_machine(binds)), ground, binds)
    }

    fn by(way: Way<'g>, ground: Ground<'g>, binds: &'g [OwnedValue]) -> Feed<'g> {
        let width = ground.opened.plan().frame.root.width();
        let mut arena = Arena::new();
        arena.set_limit(ground.host.text_bytes());
        Feed { ground, binds, way, arena, batch: Rows::new(width) }
    }

    /// Whether one row at most comes.
    pub(super) fn is_of_one_row(&self) -> bool {
        matches!(self.way, Way::Short(_))
    }

    /// Gives the rows to `act` in batches: the first has at most `first` rows, and those behind it
    /// more.
    pub(super) fn each(
        &mut self,
        env: Env<'g>,
        first: usize,
        act: &mut Act<'_>,
    ) -> Result<(), Stop> {
        let Feed { ground, binds, way, arena, batch } = self;
        match way {
            Way::Short(short) => {
                batch.clear();
                arena.reset();
                let answers = HostAnswers::of(ground.host, &ground.opened.plan().frame);
                let with = evaluation(binds, env.moment, arena, &answers);
                short.row(&env, &with, batch)?;
                if !batch.is_empty() {
                    // What it returns says whether more rows are wanted.
                    let _ = act(batch, &with)?;
                }
                Ok(())
            }
            Way::Sources { machine, is_begun, last } => {
                let env = last.insert(env);
                if std::mem::replace(is_begun, true) {
                    machine.begin_again(env);
                }
                machine.open(env)?;
                let (mut most, mut goes_on) = (first, true);
                while goes_on {
                    env.host.check()?;
                    batch.clear();
                    goes_on = machine.fetch(most, env, batch)?;
                    most = most.saturating_mul(4).min(BATCH_ROWS_MAX);
                    if !batch.is_empty() {
                        let flow = machine.evaluate(env, |with| act(batch, with))?;
                        goes_on &= flow.is_continue();
                    }
                }
                Ok(())
            }
        }
    }

    /// The values of the one row that is written out, if the statement has one, and they need no
    /// snapshot.
    pub(super) fn written(&self) -> Option<&'g [Expression]> {
        match self.way {
            Way::Short(Short::Values(values)) => Some(values),
            _ => None,
        }
    }

    /// Does `work` with what expressions of a statement without subqueries are evaluated with.
    pub(super) fn evaluate<T>(&mut self, work: impl FnOnce(&Evaluation<'_>) -> T) -> T {
        let Feed { ground, binds, arena, .. } = self;
        arena.reset();
        let answers = HostAnswers::of(ground.host, &ground.opened.plan().frame);
        work(&evaluation(binds, ground.moment, arena, &answers))
    }

    /// Gives memory and files back, also after a refusal. What measured sources did is added to
    /// `figures`.
    pub(super) fn close(self, figures: Option<&mut Vec<Figures>>) {
        let Feed { ground, way, .. } = self;
        let Way::Sources { mut machine, last, .. } = way else { return };
        if let Some(env) = last {
            machine.close(&env);
        }
        match figures {
            Some(figures) => machine.add_figures(figures),
            None => ground.opened.give_back(*machine),
        }
    }
}
