//! A plan that runs: the state of a frame, and the world that its row sources see.
//!
//! ```text
//!   Machine ─┬─ source: the tree of row sources
//!            └─ FrameState: slots │ arena │ answers to subqueries │ queries computed once
//!                                               └─ each has a machine of its own
//!   Running = FrameState, for one call + Env: the connection, the relations, the view
//! ```
//!
//! Invariants
//!   * a machine borrows nothing: it lives between calls, and may be started again
//!   * all frames of a statement have one view (rule SQ40)
//!
//! Callers: `execution`, `subquery`, `change`.

use std::cell::RefCell;
use std::sync::Arc;

use expression::{Arena, Evaluation, Rows};
use os::Session;
use relation::Relation;
use rowsource::{Counts, Figures, Source, Spill, World};
use sort::Budget;
use stop::Stop;
use txn::View;
use value::{OwnedValue, Timestamp};
use waits::Statistic;

use super::build::build;
use super::host::Host;
use super::host_calls::HostAnswers;
use super::shared::SharedRows;
use super::subquery::Answerer;
use crate::logical::HostCall;
use crate::plan::{FramePlan, Node, Operation, Plan};

/// A row source of a statement, whatever it is made of.
pub(crate) type Boxed = Box<dyn for<'a> Source<Running<'a>>>;

/// What all frames of a statement have in common during one call.
pub(crate) struct Env<'a> {
    pub(crate) host: &'a Host<'a>,
    /// The tables of the plan, by place.
    pub(crate) relations: &'a [Arc<Relation>],
    /// What is seen of the rows.
    pub(crate) view: View,
    /// The number of the call among those of the statement: states that are kept between calls take
    /// the view anew.
    pub(crate) call: u64,
    /// The moment of `now()`.
    pub(crate) moment: Timestamp,
}

/// The state of a frame: the statement, or a subquery in an expression.
pub(crate) struct FrameState {
    plan: Arc<Plan>,
    /// The numbers of the subqueries that lead to it; empty for the statement.
    path: Vec<usize>,
    /// Whether what its sources do is measured.
    is_measured: bool,
    pub(crate) slots: Vec<OwnedValue>,
    arena: Arena,
    batch: usize,
    /// By the places of nodes, as far as they are measured.
    figures: Vec<Figures>,
    calls: Vec<HostCall>,
    pub(super) answerers: Vec<RefCell<Answerer>>,
    /// None while a query is being computed.
    pub(super) shared: Vec<Option<SharedRows>>,
}

/// A frame that runs.
pub(crate) struct Running<'a> {
    pub(crate) env: &'a Env<'a>,
    pub(crate) frame: &'a mut FrameState,
}

/// A frame with the sources of its rows.
pub(crate) struct Machine {
    pub(crate) frame: FrameState,
    pub(crate) source: Boxed,
    /// The number of columns of its rows.
    pub(crate) width: usize,
}

/// The plan of a frame, by the numbers of the subqueries that lead to it.
fn frame_at<'p>(plan: &'p Plan, path: &[usize]) -> &'p FramePlan {
    path.iter().fold(&plan.frame, |frame, number| {
        let subquery = frame.subqueries[*number].as_ref();
        &subquery.expect("a subquery that is asked has a plan").frame
    })
}

/// How many nodes of a frame read the query of WITH with this number.
fn readers_of(frame: &FramePlan, number: usize) -> usize {
    fn below(node: &Node, number: usize) -> usize {
        let reads = matches!(node.operation, Operation::Shared { number: of, .. } if of == number);
        let inputs = node.inputs().into_iter().map(|input| below(input, number));
        usize::from(reads) + inputs.sum::<usize>()
    }
    let queries = frame.shared.iter().flatten();
    queries.chain([&frame.root]).map(|node| below(node, number)).sum()
}

impl Machine {
    /// A machine for the frame that the path leads to.
    pub(super) fn new(plan: &Arc<Plan>, path: Vec<usize>, is_measured: bool) -> Machine {
        let of = frame_at(plan, &path);
        let (source, width) = (build(&of.root, is_measured), of.root.width());
        let shared = of.shared.iter().enumerate().map(|(number, node)| {
            let node = node.as_ref()?;
            let readers = readers_of(of, number);
            Some(SharedRows::new(build(node, is_measured), node.width(), readers))
        });
        let frame = FrameState {
            is_measured,
            slots: vec![OwnedValue::NULL; of.slots.len()],
            arena: Arena::new(),
            batch: rowsource::BATCH_ROWS_MAX,
            figures: Vec::new(),
            calls: of.calls.clone(),
            answerers: (0..of.subqueries.len()).map(|_| RefCell::default()).collect(),
            shared: shared.collect(),
            plan: Arc::clone(plan),
            path,
        };
        Machine { frame, source, width }
    }

    /// Takes the values of the statement's parameters, which are the first slots.
    pub(crate) fn set_binds(&mut self, binds: &[OwnedValue]) {
        self.frame.slots[..binds.len()].clone_from_slice(binds);
        // Those of subqueries have them too.
        self.frame.answerers.iter_mut().for_each(|answerer| answerer.get_mut().forget());
        self.frame.figures.clear();
    }

    /// Starts, or starts again.
    pub(crate) fn open(&mut self, env: &Env<'_>) -> Result<(), Stop> {
        self.frame.forget_shared();
        self.frame.arena.set_limit(env.host.text_bytes());
        self.source.open(&mut Running { env, frame: &mut self.frame })
    }

    /// Appends at most `most` rows to `into`. Returns false if none come after these.
    pub(crate) fn fetch(
        &mut self,
        most: usize,
        env: &Env<'_>,
        into: &mut Rows,
    ) -> Result<bool, Stop> {
        self.frame.batch = most.clamp(1, rowsource::BATCH_ROWS_MAX);
        self.frame.arena.set_limit(env.host.text_bytes());
        self.source.fetch(&mut Running { env, frame: &mut self.frame }, into)
    }

    /// Does `work` with what expressions of the frame are evaluated with, while no source runs. It
    /// may be about a whole batch of rows.
    pub(crate) fn evaluate<T>(
        &mut self,
        env: &Env<'_>,
        work: impl FnOnce(&Evaluation<'_>) -> T,
    ) -> T {
        let mut world = Running { env, frame: &mut self.frame };
        world.reset_arena();
        world.frame.arena.set_limit(u64::MAX);
        work(&world.evaluation())
    }

    /// Gives everything back, and forgets what subqueries have answered: the statement begins again
    /// with another view.
    pub(crate) fn begin_again(&mut self, env: &Env<'_>) {
        self.close(env);
        self.frame.answerers.iter_mut().for_each(|answerer| answerer.get_mut().forget());
    }

    /// Gives memory and files back.
    pub(crate) fn close(&mut self, env: &Env<'_>) {
        self.source.close(&mut Running { env, frame: &mut self.frame });
        for number in 0..self.frame.shared.len() {
            // Those that it reads stay where its readers find them.
            let Some(mut rows) = self.frame.shared[number].take() else { continue };
            rows.close(&mut Running { env, frame: &mut self.frame });
            self.frame.shared[number] = Some(rows);
        }
        for answerer in &mut self.frame.answerers {
            answerer.get_mut().close(env);
        }
        self.frame.arena.reset();
    }

    /// Whether what its sources do is measured.
    pub(super) fn is_measured(&self) -> bool {
        self.frame.is_measured
    }

    /// Adds the figures of its sources, and of those of its subqueries, to `into`.
    pub(crate) fn add_figures(&self, into: &mut Vec<Figures>) {
        for (place, figures) in self.frame.figures.iter().enumerate() {
            add(figures, figures_at(into, place));
        }
        for answerer in &self.frame.answerers {
            answerer.borrow().add_figures(into);
        }
    }
}

fn figures_at(figures: &mut Vec<Figures>, place: usize) -> &mut Figures {
    if figures.len() <= place {
        figures.resize(place + 1, Figures::default());
    }
    &mut figures[place]
}

fn add(from: &Figures, to: &mut Figures) {
    to.starts += from.starts;
    to.rows += from.rows;
    to.elapsed.0 += from.elapsed.0;
    to.counts.add(from.counts);
    to.memory_bytes_max = to.memory_bytes_max.max(from.memory_bytes_max);
    to.temp_bytes += from.temp_bytes;
}

impl FrameState {
    /// A machine for a subquery of this frame, with the slots that its plan says, of which the
    /// parameters have their values.
    pub(super) fn machine_of(&self, number: usize) -> Machine {
        let mut path = self.path.clone();
        path.push(number);
        let mut machine = Machine::new(&self.plan, path, self.is_measured);
        let binds = frame_at(&self.plan, &self.path).binds;
        machine.set_binds(&self.slots[..binds]);
        machine
    }

    /// The plan of the frame.
    pub(super) fn plan(&self) -> &FramePlan {
        frame_at(&self.plan, &self.path)
    }

    /// Has the queries that are computed once computed again: the slots have other values.
    fn forget_shared(&mut self) {
        self.shared.iter_mut().flatten().for_each(SharedRows::forget);
    }
}

impl World for Running<'_> {
    fn session(&self) -> &Session {
        self.env.host.session
    }

    fn budget(&self) -> &Budget {
        self.env.host.budget
    }

    fn spill(&self) -> Spill<'_> {
        self.env.host.spill()
    }

    fn check(&self) -> Result<(), Stop> {
        self.env.host.check()
    }

    fn evaluation(&self) -> Evaluation<'_> {
        Evaluation {
            slots: &self.frame.slots,
            arena: &self.frame.arena,
            moment: self.env.moment,
            user: self.env.host.connected.user(),
            dice: self.env.host.dice,
            subqueries: Some(self),
        }
    }

    fn reset_arena(&mut self) {
        self.frame.arena.reset();
    }

    fn slots(&self) -> &[OwnedValue] {
        &self.frame.slots
    }

    fn set_slot(&mut self, slot: usize, value: OwnedValue) {
        self.frame.slots[slot] = value;
    }

    fn batch(&self) -> usize {
        self.frame.batch
    }

    fn set_batch(&mut self, rows: usize) {
        self.frame.batch = rows;
    }

    fn counts(&self) -> Counts {
        let account = self.env.host.session.account();
        Counts {
            consistent_gets: account.statistic(Statistic::ConsistentGets),
            current_gets: account.statistic(Statistic::CurrentGets),
            physical_reads: account.statistic(Statistic::PhysicalReads),
        }
    }

    fn figures(&mut self, place: usize) -> &mut Figures {
        figures_at(&mut self.frame.figures, place)
    }
}

impl Running<'_> {
    /// What answers questions to the connection.
    pub(super) fn host_answers(&self) -> HostAnswers<'_> {
        HostAnswers { host: self.env.host, calls: &self.frame.calls }
    }
}
