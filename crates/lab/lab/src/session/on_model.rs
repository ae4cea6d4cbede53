//! An experiment on a model: the plan carried out as the machine is, and under other assumptions.
//!
//! Callers: `session`.

use std::path::Path;

use experiment::{
    Audit, Execution, News, Origin, Run, Sensitivity, Untried, World, compare, foremost,
};
use os::Session;
use sim::fs::FileSystem;
use stop::Stop;

use super::{Asked, Found, Whole};
use crate::alternate::{Alternation, Following};
use crate::before::check_settings;
use crate::enough::is_enough;
use crate::model::{DIRECTORY, Machine, ModelRunner, load};
use crate::possible;
use crate::progress::Teller;
use crate::{Design, Follower, RunOn};

/// The costs of scheduling are the least known figures of a model. The experiment is run again with
/// half and double of them, to see whether the answer depends on them.
static SCHEDULING_FACTORS: [(f64, &str); 2] =
    [(0.5, "half the migration and switch cost"), (2.0, "double the migration and switch cost")];

impl Asked<'_> {
    /// Makes the runs on a model (LB21).
    pub(super) fn modelled(
        &self,
        machine: &Machine,
        model: String,
        told_to_stop: &dyn Fn() -> bool,
        follower: &mut dyn Follower,
        session: &Session,
    ) -> Result<Found, Stop> {
        let RunOn::Model { machine: name, disk } = &self.request.run_on else {
            unreachable!("asked for a model")
        };
        check_settings(&self.done, &self.form, &self.experiment.settings)?;
        // Equals stay equal whatever scheduling costs.
        let factors = if self.request.equals { &[][..] } else { &SCHEDULING_FACTORS[..] };
        if self.has_ended() && factors.is_empty() {
            return Ok(self.ended(model, follower));
        }
        self.check_on(machine)?;
        self.begin(&model, follower);
        follower.tell("loading on the model");
        let base = load(machine, &self.form)?;
        let world = World::Simulated(name.clone());
        let origin = self.origin(world, format!("model {name} with disk {disk}"));
        let on = OnModel { asked: self, base, origin, parts: 1 + factors.len() };
        self.announce(on.parts, follower);
        let (execution, audit) =
            on.carry(machine.clone(), 1, &self.done, told_to_stop, follower, session)?;
        let Whole { runs, is_stopped } = self.whole(execution)?;
        // Settings that alternate did so in one simulation, which nobody could follow. Who goes on
        // behind rows that were enough has them already.
        if let Some(audit) = audit.filter(|_| !self.has_ended()) {
            runs.iter().for_each(|run| follower.row(run));
            follower.audited(audit);
        }
        let audits = audit.into_iter().collect();
        let mut found = Found { runs, audits, model, is_stopped, ..Found::default() };
        on.vary(&mut found, machine, factors, told_to_stop, follower, session)?;
        Ok(found)
    }

    /// Refuses settings that this machine can't have (LB33).
    fn check_on(&self, machine: &Machine) -> Result<(), Stop> {
        let (form, settings) = (self.form.clone(), self.experiment.settings.clone());
        let design = self.design;
        let body = move |_: &sim::World, session: &Session| {
            possible::check(&form, &settings, design, session)
        };
        machine.run(1, None, body).map(|_| ())
    }

    /// All in one simulation: nobody follows it from outside.
    fn alternate_on(
        &self,
        machine: Machine,
        base: &FileSystem,
        origin: &Origin,
    ) -> Result<(Execution<Stop>, Option<Audit>), Stop> {
        let (form, settings, origin) =
            (self.form.clone(), self.experiment.settings.clone(), origin.clone());
        let (plan, blocks, rule) = (self.plan, self.span.blocks, self.rule);
        let body = move |world: &sim::World, session: &Session| {
            let alternation = Alternation {
                plan,
                blocks,
                form: &form,
                settings: &settings,
                origin: &origin,
                done: Vec::new(),
            };
            let following = Following {
                told_to_stop: &|| false,
                enough: &mut |rows| is_enough(rows, &rule, settings.len()),
                news: &mut |_| (),
                notes: None,
            };
            alternation.run(&world.disk(), Path::new(DIRECTORY), following, session)
        };
        let ((execution, commits), _) = machine.run(plan.seed, Some(base.clone()), body)?;
        // What was there before doesn't count: it began anew, with its first instance.
        Ok((execution, Some(Audit { instance_ns: Some(0), commits })))
    }

    /// Says how much there is to come, and of whose time (LB21, LB80).
    fn announce(&self, parts: usize, follower: &mut dyn Follower) {
        if self.design == Design::Alternate {
            follower.notice(&format!(
                "the budget of {} is of the model's own time: to simulate it may take longer or \
                 shorter",
                self.span.budget
            ));
        }
        if parts > 1 {
            let others = parts - 1;
            follower.tell(&format!(
                "{parts} parts: the model as it is, and {others} times with other costs"
            ));
        }
    }
}

/// The plan on a model, which is carried out once for each assumption.
struct OnModel<'a> {
    asked: &'a Asked<'a>,
    /// The loaded database.
    base: FileSystem,
    origin: Origin,
    /// How often the plan is carried out.
    parts: usize,
}

impl OnModel<'_> {
    /// Carries the plan out on this machine, as this part, from 1. Where settings alternate there
    /// is an audit.
    fn carry(
        &self,
        machine: Machine,
        part: usize,
        done: &[Run],
        told_to_stop: &dyn Fn() -> bool,
        follower: &mut dyn Follower,
        session: &Session,
    ) -> Result<(Execution<Stop>, Option<Audit>), Stop> {
        let Asked { design, form, plan, rule, .. } = self.asked;
        if *design == Design::Alternate {
            return self.asked.alternate_on(machine, &self.base, &self.origin);
        }
        let settings = &self.asked.experiment.settings[..];
        let (base, origin) = (self.base.clone(), &self.origin);
        let mut runner = ModelRunner { machine, base, form, settings, origin };
        let teller = Teller::new(*rule, *plan, None, done, follower);
        let mut teller = teller.of_part(part, self.parts);
        let mut enough = |rows: &[Run]| is_enough(rows, rule, settings.len());
        let mut news = |news: News<'_>| teller.tell(&news);
        let (enough, news) = (&mut enough, &mut news);
        let following = Following { told_to_stop, enough, news, notes: None };
        Ok((self.asked.restart(done.to_vec(), &mut runner, following, session), None))
    }

    /// Carries the plan out under each other assumption, until it is told to stop.
    fn vary(
        &self,
        found: &mut Found,
        machine: &Machine,
        factors: &[(f64, &str)],
        told_to_stop: &dyn Fn() -> bool,
        follower: &mut dyn Follower,
        session: &Session,
    ) -> Result<(), Stop> {
        let level = foremost(&found.runs, &self.asked.rule);
        for (at, &(factor, change)) in factors.iter().enumerate() {
            found.is_stopped |= told_to_stop();
            if found.is_stopped {
                break;
            }
            let part = at + 2;
            follower.tell(&format!("once more with {change}: part {part} of {}", self.parts));
            let mut quiet = |line: &str| follower.tell(line);
            let changed = machine.with_scheduling(factor);
            let (execution, _) =
                self.carry(changed, part, &[], told_to_stop, &mut quiet, session)?;
            let Whole { runs, is_stopped } = self.asked.whole(execution)?;
            found.is_stopped |= is_stopped;
            if is_stopped {
                // What a broken-off one says isn't what the answer depends on.
                break;
            }
            let comparison = compare(&runs, level, &self.asked.rule);
            found.sensitivity.push(Sensitivity { change: change.to_owned(), comparison });
        }
        let left = &factors[found.sensitivity.len()..];
        if !left.is_empty() {
            let changes = left.iter().map(|(_, change)| (*change).to_owned());
            found.untried = Untried::Stopped(changes.collect());
            follower.tell("stopped before all of the model's costs were tried");
        }
        Ok(())
    }
}
