//! An experiment from the request to the verdict.
//!
//! Callers: the binary's `lab`.

mod on_model;

use std::path::{Path, PathBuf};

use experiment::{
    Audit, CarryOver, End, Execution, Level, News, NoVerdict, Origin, Plan, Question, ROUNDS_MIN,
    Rule, Run, Runner, Sensitivity, Untried, Verdict, World, before_resumed, carry_out,
    commits_lost, whole_rounds,
};
use instance::Parameters;
use os::Session;
use report::number::{counted, grouped};
use stop::{RefusalKind, Stop};
use waits::Nanos;

use crate::alternate::{Alternation, Following};
use crate::before::{Before, check_machine, check_settings, data_bytes_max};
use crate::enough::{has_ended, is_enough, leaves_open};
use crate::linux::{Chosen, LinuxRunner, fix_by_rows, free_bytes, prepare, this_machine};
use crate::model::Machine;
use crate::possible;
use crate::progress::{Loading, Teller};
use crate::schedule::{Span, alternating, by_restarts, going_on, most_rounds, room};
use crate::scratch::{Scratch, clear_left};
use crate::setting::run_name;
use crate::{Design, Experiment, Form, Setting};

/// The machine that runs are made on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RunOn {
    /// This one, with a scratch folder in this directory.
    ThisMachine(PathBuf),
    /// A built-in model of a machine, with a built-in model of a disk.
    Model {
        /// The machine.
        machine: String,
        /// Its disk.
        disk: String,
    },
}

/// The request for an experiment.
pub struct Request {
    /// Which experiment.
    pub experiment: Experiment,
    /// Its sizes, before the experiment's own.
    pub form: Form,
    /// Where the runs are made.
    pub run_on: RunOn,
    /// Orders and seeds the runs.
    pub seed: u64,
    /// Whether all settings are A, to see what the lab says of equals.
    pub equals: bool,
    /// The commit that the program was built from.
    pub commit: String,
    /// The command line that asks for it again.
    pub command: String,
    /// What is there already: the experiment goes on after it.
    pub before: Before,
}

/// How it ended.
pub enum Ending {
    /// With an answer, and the rows behind it.
    Answered(Box<Verdict>, Vec<Run>),
    /// It was told to stop, with these rows, and the verdict on them if they allow one.
    Stopped(Option<Box<Verdict>>, Vec<Run>),
}

/// Who follows an experiment. Closures that take lines for a person are followers.
pub trait Follower {
    /// A line for a person who waits.
    fn tell(&mut self, line: &str);

    /// What a person should know, in a line that no other one replaces.
    fn notice(&mut self, line: &str) {
        self.tell(&format!("notice: {line}"));
    }

    /// How far it is, in a line that the next one replaces, and as a share of the whole.
    fn shows(&mut self, line: &str, share: f64) {
        let _ = (line, share);
    }

    /// It begins, with this rule and these notes, before anything is loaded; again if it begins
    /// anew, by restarts.
    fn begins(&mut self, rule: &Rule, model: &str, notes: &[String]) {
        let _ = (rule, model, notes);
    }

    /// A run has ended.
    fn row(&mut self, run: &Run) {
        let _ = run;
    }

    /// A reader of the verdict should know this of the blocks of the instance that has ended.
    fn noted(&mut self, note: &str) {
        let _ = note;
    }

    /// The instance that runs shared has ended, and its commits were looked for.
    fn audited(&mut self, audit: Audit) {
        let _ = audit;
    }
}

impl<F: FnMut(&str)> Follower for F {
    fn tell(&mut self, line: &str) {
        self(line);
    }
}

/// Runs an experiment.
pub fn run(
    request: &Request,
    told_to_stop: &dyn Fn() -> bool,
    follower: &mut dyn Follower,
    session: &Session,
) -> Result<Ending, Stop> {
    let mut asked = Asked::of(request)?;
    request.before.check(&asked.rule, &asked.plan, &asked.span.blocks)?;
    // It may have been stopped when it had just begun anew, by restarts (LB62).
    let may_not_alternate = asked.instead(&asked.there())?.is_some();
    let mut found = match may_not_alternate {
        true => {
            asked.check_there()?;
            follower.begins(&asked.rule, "", &asked.notes);
            asked.there()
        }
        false => asked.find(told_to_stop, follower, session)?,
    };
    if let Some(instead) = asked.instead(&found)? {
        follower.tell("the effect of a setting goes on after it: once more, by restarts");
        asked = instead;
        found = asked.find(told_to_stop, follower, session)?;
    }
    let question = Question {
        rule: asked.rule,
        most_rounds: most_rounds(&asked.span, asked.experiment.settings.len()),
        command: request.command.clone(),
        model: found.model,
        sensitivity: found.sensitivity,
        untried: found.untried,
        audits: found.audits,
        notes: [asked.notes, found.notes].concat(),
    };
    let verdict = Verdict::of(&found.runs, &question);
    if let (true, Err(error)) = (found.is_stopped, &verdict) {
        if let NoVerdict::Idle { .. } = error {
            follower.notice(&format!("no verdict so far: {error}"));
        }
        let lost = commits_lost(&found.runs, &question.audits);
        if lost > 0 {
            let lost = grouped(lost);
            follower.notice(&format!("{lost} commits LOST: no figure is worth anything"));
        }
    }
    match (found.is_stopped, verdict) {
        (false, Ok(verdict)) => Ok(Ending::Answered(Box::new(verdict), found.runs)),
        (false, Err(error)) => Err(invalid(&error)),
        (true, verdict) => Ok(Ending::Stopped(verdict.ok().map(Box::new), found.runs)),
    }
}

pub(crate) fn invalid(error: &dyn std::fmt::Display) -> Stop {
    Stop::refuse(RefusalKind::Invalid, format!("cannot plan the experiment: {error}"))
}

/// Refuses two settings that are the same: their rounds, and their part of the error, would be for
/// nothing.
fn check_differ(settings: &[Setting], parameters: &Parameters) -> Result<(), Stop> {
    match Setting::same(settings, parameters)? {
        None => Ok(()),
        Some([first, later]) => Err(invalid(&format!(
            "settings {} and {} are the same ({}): leave one of them out (--equals compares A with \
             itself)",
            Level::of(first),
            Level::of(later),
            settings[later]
        ))),
    }
}

/// The request, checked and worked out.
struct Asked<'a> {
    request: &'a Request,
    /// As asked for, or A again and again.
    experiment: Experiment,
    form: Form,
    design: Design,
    span: Span,
    plan: Plan,
    rule: Rule,
    notes: Vec<String>,
    /// The rows that are there already.
    done: Vec<Run>,
}

/// What was found.
#[derive(Default)]
struct Found {
    runs: Vec<Run>,
    /// Of instances that runs share.
    audits: Vec<Audit>,
    model: String,
    sensitivity: Vec<Sensitivity>,
    untried: Untried,
    notes: Vec<String>,
    /// It was told to stop, so there are fewer rows than were asked for.
    is_stopped: bool,
}

/// What an execution that didn't fail came to.
struct Whole {
    /// The rows of whole runs.
    runs: Vec<Run>,
    is_stopped: bool,
}

impl<'a> Asked<'a> {
    fn of(request: &'a Request) -> Result<Asked<'a>, Stop> {
        Asked::by(request, None)
    }

    /// By this design, if one is given; else by the one that its experiment allows.
    fn by(request: &'a Request, given: Option<Design>) -> Result<Asked<'a>, Stop> {
        let mut experiment = request.experiment.clone();
        if request.equals {
            let a = experiment.settings[0].clone();
            experiment.settings.iter_mut().for_each(|setting| *setting = a.clone());
        }
        let mut form = experiment.form(request.form.clone())?;
        Setting::complete(&mut experiment.settings, &form.parameters)?;
        if !request.equals {
            check_differ(&experiment.settings, &form.parameters)?;
        }
        let done = request.before.runs.clone();
        let is_modelled = matches!(request.run_on, RunOn::Model { .. });
        let (usual, mut notes) = experiment.way(is_modelled)?;
        let mut design = given.unwrap_or(usual);
        if design == Design::Alternate && done.first().is_some_and(|run| run.block.is_none()) {
            // It had begun anew already, as `instead` says.
            design = Design::Restarts;
            notes.push(BY_RESTARTS.to_owned());
        }
        if is_modelled && design == Design::Alternate && experiment.until_decided {
            return Err(invalid(
                &"on a model, settings that alternate do so in one simulation, which needs an end: \
                  leave --until-decided out, or choose the design 'restarts'",
            ));
        }
        let span = experiment.span(&form, is_modelled)?;
        if is_modelled {
            form.check_for_model(match design {
                Design::Alternate => span.budget,
                Design::Restarts => form.length,
            })?;
        }
        if let (Design::Alternate, RunOn::ThisMachine(parent)) = (design, &request.run_on) {
            match experiment.until_decided {
                true => form.last_until_decided(data_bytes_max(&done), || free_bytes(parent))?,
                false => form.last_for(span.budget),
            }
        }
        if design == Design::Alternate && experiment.design.is_none() {
            // It may begin anew by restarts (`instead`): what is wrong with those is told now.
            by_restarts(&experiment, request.seed)?;
        }
        let plan = match design {
            Design::Restarts => by_restarts(&experiment, request.seed)?,
            Design::Alternate => alternating(&span, experiment.settings.len(), request.seed)?,
        };
        let rule = Rule {
            threshold: experiment.matters,
            error: experiment.error,
            rounds: plan.rounds,
            is_device_neutral: experiment.settings.iter().all(|s| s.is_device_neutral()),
            measure: experiment.measure(),
            is_open_ended: experiment.until_decided,
        };
        let plan = if rule.is_open_ended { going_on(plan) } else { plan };
        Ok(Asked { request, experiment, form, design, span, plan, rule, notes, done })
    }

    /// Makes the runs.
    fn find(
        &self,
        told_to_stop: &dyn Fn() -> bool,
        follower: &mut dyn Follower,
        session: &Session,
    ) -> Result<Found, Stop> {
        match &self.request.run_on {
            RunOn::ThisMachine(parent) => self.here(parent, told_to_stop, follower, session),
            RunOn::Model { machine: name, disk } => {
                let machine = Machine::named(name, disk)?;
                let model = machine.describe(name, disk);
                self.modelled(&machine, model, told_to_stop, follower, session)
            }
        }
    }

    /// It begins, before anything is loaded, so that what was asked is known however it ends. The
    /// follower is told of what may not be as a user expects it.
    fn begin(&self, model: &str, follower: &mut dyn Follower) {
        follower.begins(&self.rule, model, &self.notes);
        let is_unbounded = self.design == Design::Restarts && !self.rule.is_open_ended;
        if is_unbounded && self.experiment.budget.is_some() {
            follower.notice(&self.without_budget());
        }
        if self.design == Design::Restarts && self.rule.is_open_ended {
            follower.notice(&format!(
                "until it knows it goes on beyond {} rounds, from which on looks become rarer \
                 (--rounds, --until-decided)",
                self.rule.rounds
            ));
        }
        if self.plan.rounds < ROUNDS_MIN {
            let more = match self.design {
                Design::Restarts => format!("--rounds {ROUNDS_MIN} or more"),
                Design::Alternate => room(ROUNDS_MIN, &self.span, self.plan.levels),
            };
            follower.notice(&format!(
                "fewer than {ROUNDS_MIN} rounds never have an answer, only figures: ask for {more}"
            ));
        }
    }

    /// Says that a budget bounds nothing by restarts (LB80).
    fn without_budget(&self) -> String {
        let alternate = match self.request.run_on {
            RunOn::Model { .. } => "; --design alternate obeys a budget, in the model's own time",
            RunOn::ThisMachine(_) => "",
        };
        format!(
            "by restarts the budget bounds nothing: {} at most, of {} each, end it \
             (--rounds, --seconds){alternate}",
            counted(self.plan.run_count().into(), "run"),
            self.form.length
        )
    }

    /// Whether the rows that are there are all, or have decided.
    fn has_ended(&self) -> bool {
        has_ended(&self.done, &self.plan, &self.rule, self.experiment.settings.len())
    }

    /// What the rows that are there say, where no more are needed.
    fn ended(&self, model: String, follower: &mut dyn Follower) -> Found {
        follower.begins(&self.rule, &model, &self.notes);
        let levels = self.experiment.settings.len();
        let is_whole = self.done.len() >= self.plan.run_count() as usize;
        // On a terminal the verdict takes the place of another line.
        follower.notice(&match is_whole && leaves_open(&self.done, &self.rule, levels) {
            true => self.spent(),
            false => "the rows that are there are enough: nothing is run".to_owned(),
        });
        Found { model, ..self.there() }
    }

    /// Says that no round can be added to a plan that was carried out (LB81).
    fn spent(&self) -> String {
        let more = match (self.design, &self.request.run_on) {
            (Design::Restarts, _) => "more rounds (--rounds), or for --until-decided",
            (Design::Alternate, RunOn::ThisMachine(_)) => {
                "a larger budget (--budget), or for --until-decided"
            }
            // One simulation needs an end.
            (Design::Alternate, RunOn::Model { .. }) => "a larger budget (--budget)",
        };
        format!(
            "all {} of the plan are there and leave it open: nothing is run. None can be added, \
             because the looks spent the error that was declared for just so many: ask anew for \
             {more}, which measures all again",
            counted(self.plan.rounds.into(), "round")
        )
    }

    /// What is there, as if it were all.
    fn there(&self) -> Found {
        Found { is_stopped: false, ..self.stopped() }
    }

    /// Refused if what is there is of another machine, setting or load.
    fn check_there(&self) -> Result<(), Stop> {
        if let RunOn::ThisMachine(parent) = &self.request.run_on {
            check_machine(&self.done, &this_machine(parent))?;
        }
        self.as_chosen(None).map(|_| ())
    }

    /// The form and the settings by what the rows that are there had chosen, or else by what was
    /// chosen now.
    fn as_chosen(&self, now: Option<Chosen>) -> Result<(Form, Vec<Setting>), Stop> {
        let (mut form, mut settings) = (self.form.clone(), self.experiment.settings.clone());
        fix_by_rows(&self.done, &settings, &mut form.parameters)?;
        now.iter().for_each(|chosen| chosen.fix(&mut form.parameters));
        // What one setting gives and another doesn't is, under the other, what was chosen now.
        Setting::complete(&mut settings, &form.parameters)?;
        check_settings(&self.done, &form, &settings)?;
        Ok((form, settings))
    }

    fn origin(&self, world: World, machine: String) -> Origin {
        Origin {
            experiment: self.experiment.name.clone(),
            plan_seed: self.request.seed,
            commit: self.request.commit.clone(),
            machine,
            world,
            work: self.form.work(),
        }
    }

    fn here(
        &self,
        parent: &Path,
        told_to_stop: &dyn Fn() -> bool,
        follower: &mut dyn Follower,
        session: &Session,
    ) -> Result<Found, Stop> {
        let disk = os::linux::disk();
        if self.has_ended() {
            self.as_chosen(None)?;
            // It may have been killed behind its last row. If the place is gone, so is that.
            let _ = clear_left(&disk, parent, session);
            return Ok(self.ended(String::new(), follower));
        }
        let machine = this_machine(parent);
        check_machine(&self.done, &machine)?;
        possible::check(&self.form, &self.experiment.settings, self.design, session)?;
        let origin = self.origin(World::Linux, machine);
        let direct = self.form.parameters.filesystemio_options.file_options().direct;
        // This frees what killed experiments had left.
        let scratch = Scratch::make(&disk, parent, direct, session)?;
        self.form.check_room(&disk, parent)?;
        self.begin("", follower);
        let base = scratch.base();
        let has_budget = self.time().is_some();
        let mut loading = Loading { has_budget, began: session.now(), percent: None };
        let progress = |done: u64, all: u64| {
            let line = loading.line(done, all, session.now());
            line.iter().for_each(|line| follower.tell(line));
        };
        let prepared = prepare(&disk, &base, &self.form, progress, told_to_stop, session)?;
        let Some(chosen) = prepared else { return Ok(self.stopped()) };
        let (form, settings) = self.as_chosen(Some(chosen))?;
        let settings = &settings[..];
        let (mut audited, mut notes) = (None, Vec::new());
        let execution = {
            let (time, done) = (self.time(), &self.done[..]);
            let mut teller = Teller::new(self.rule, self.plan, time, done, follower);
            let mut news = |news: News<'_>| teller.tell(&news);
            let began = session.now();
            let is_over = || self.time().is_some_and(|time| session.now().since(began) > time);
            let mut enough = |rows: &[Run]| {
                is_enough(rows, &self.rule, self.experiment.settings.len()) || is_over()
            };
            let (enough, news, notes) = (&mut enough, &mut news, Some(&mut notes));
            let following = Following { told_to_stop, enough, news, notes };
            match self.design {
                Design::Alternate => {
                    let alternation = self.alternation(&form, settings, &origin);
                    let instance_ns = alternation.instance_ns();
                    let (execution, commits) = alternation.run(&disk, &base, following, session)?;
                    audited = Some(Audit { instance_ns: Some(instance_ns), commits });
                    execution
                }
                Design::Restarts => {
                    let (scratch, form, origin) = (&scratch, &form, &origin);
                    let mut runner = LinuxRunner { disk, scratch, form, settings, origin, session };
                    self.restart(self.done.clone(), &mut runner, following, session)
                }
            }
        };
        self.found_here(execution, notes, audited, follower)
    }

    /// What an execution here came to: the follower is told of notes, and of the audit.
    fn found_here(
        &self,
        execution: Execution<Stop>,
        notes: Vec<String>,
        audited: Option<Audit>,
        follower: &mut dyn Follower,
    ) -> Result<Found, Stop> {
        for note in &notes {
            follower.notice(note);
            follower.noted(note);
        }
        audited.into_iter().for_each(|audit| follower.audited(audit));
        let Whole { runs, is_stopped } = self.whole(execution)?;
        let went_on = runs.len() > whole_rounds(&self.done, &self.plan.steps());
        let notes = [self.notes_before(went_on), notes].concat();
        let mut audits = self.audits_before();
        audited.into_iter().for_each(|audit| audit.add_to(&mut audits));
        Ok(Found { runs, audits, notes, is_stopped, ..Found::default() })
    }

    /// Nothing was made anew.
    fn stopped(&self) -> Found {
        let (runs, audits) = (self.done.clone(), self.audits_before());
        let notes = self.notes_before(false);
        Found { runs, audits, notes, is_stopped: true, ..Found::default() }
    }

    /// The audits of the instances of the rows that are there, if they count.
    fn audits_before(&self) -> Vec<Audit> {
        if self.done.is_empty() { Vec::new() } else { self.request.before.audits.clone() }
    }

    /// The notes on the rows that are there, if they count; as such, if it went on behind them.
    fn notes_before(&self, went_on: bool) -> Vec<String> {
        let known = &self.request.before.notes;
        match (self.done.is_empty(), went_on) {
            (true, _) => Vec::new(),
            (false, true) => known.iter().map(|note| before_resumed(note)).collect(),
            (false, false) => known.clone(),
        }
    }

    /// How long it may take, where that is bounded.
    fn time(&self) -> Option<Nanos> {
        let is_bounded = self.design == Design::Alternate && !self.rule.is_open_ended;
        is_bounded.then_some(self.span.budget)
    }

    /// The rows, and whether it was told to stop. The error of a run says of which (LB15).
    fn whole(&self, execution: Execution<Stop>) -> Result<Whole, Stop> {
        let Execution { runs, end } = execution;
        match end {
            End::Complete => Ok(Whole { runs, is_stopped: false }),
            End::Stopped => Ok(Whole { runs, is_stopped: true }),
            End::Failed { step, error } => {
                let run = run_name(&step, &self.experiment.settings);
                Err(error.map_refusal(|refusal| refusal.led_by(&format!("{run}: "))))
            }
        }
    }

    fn alternation<'f>(
        &'f self,
        form: &'f Form,
        settings: &'f [Setting],
        origin: &'f Origin,
    ) -> Alternation<'f> {
        Alternation {
            plan: self.plan,
            blocks: self.span.blocks,
            form,
            settings,
            origin,
            done: self.done.clone(),
        }
    }

    fn restart(
        &self,
        done: Vec<Run>,
        runner: &mut impl Runner<Error = Stop>,
        following: Following<'_>,
        session: &Session,
    ) -> Execution<Stop> {
        let Following { told_to_stop, enough, news, .. } = following;
        let clock = session.os().clock();
        carry_out(&self.plan, done, runner, clock, told_to_stop, enough, news)
    }

    /// The same by restarts, if the effects of these settings go on after them (LB62).
    fn instead(&self, found: &Found) -> Result<Option<Asked<'a>>, Stop> {
        // Nothing is more important than commits that were lost.
        let lost = commits_lost(&found.runs, &found.audits) > 0;
        let may = self.design == Design::Alternate
            && self.request.experiment.design.is_none()
            && !found.is_stopped
            && !lost;
        if !may {
            return Ok(None);
        }
        let runs = &found.runs;
        let of = |level| CarryOver::of_rows(runs, level, &self.rule).filter(CarryOver::is_found);
        let mut levels = (1..self.experiment.settings.len()).map(Level::of);
        let Some(found) = levels.find_map(of) else { return Ok(None) };
        let mut request = Asked::by(self.request, Some(Design::Restarts))?;
        request.done = Vec::new();
        request.notes = vec![format!(
            "{BY_RESTARTS} What was seen in {} blocks: {}",
            runs.len(),
            found.words()
        )];
        Ok(Some(request))
    }
}

/// What the verdict says of settings that had begun to alternate.
const BY_RESTARTS: &str = "The settings can't alternate in one instance: the effect of one goes on \
                           after it. So they were compared by restarts.";
