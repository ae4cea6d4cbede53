//! Sizes and lengths: the quick form, the full one, and the one for a simulated machine.
//!
//! Logs are small enough that each run switches several times, so that every run has whole
//! checkpoint cycles in it. The number of working sets is the same for every setting: else a
//! change of the number of writers would also change the replacement.

use std::collections::BTreeMap;
use std::path::Path;

use database::Options;
use ids::BlockSize;
use instance::{Creation, Parameters};
use os::Disk;
use space::DataFileShape;
use stop::{RefusalKind, Stop};
use waits::Nanos;
use workload::{Mixture, Scale};

use crate::checks;
use crate::load::Load;
use crate::model::TIME_LIMIT_NS;

/// Sizes and lengths of an experiment.
#[derive(Clone, Debug)]
pub struct Form {
    pub(crate) creation: Creation,
    pub(crate) parameters: Parameters,
    pub(crate) load: Load,
    /// How long sessions work before anything counts.
    pub(crate) warm_up: Nanos,
    /// Of a run by restart: the time that counts.
    pub(crate) length: Nanos,
    /// By how much the data files may grow while settings alternate.
    growth: u64,
}

const MIB: u64 = 1 << 20;
/// What history may grow by: a commit makes 62 bytes of it, so this is for 67,000 a second.
const HISTORY_BYTES_A_SECOND: u64 = 4 * MIB;
/// The parameter with the size to which the first data file may grow.
pub(crate) const DATA_BYTES_MAX: &str = "data_bytes_max";

impl Form {
    /// A verdict in a few minutes, by restarts.
    pub fn quick() -> Form {
        Form::of(256 * MIB, 64 * MIB, 16 * MIB, Nanos::from_millis(800), Nanos::from_secs(4))
    }

    /// A verdict in a few minutes, in one instance. Its logs are larger: with small ones the stalls
    /// of checkpoints that overlap are most of the noise (docs/log/lab.md).
    pub fn alternating() -> Form {
        Form::of(256 * MIB, 64 * MIB, 128 * MIB, Nanos::from_secs(3), Nanos::from_secs(4))
    }

    /// For a result to be quoted: longer runs of more data.
    pub fn full() -> Form {
        let (warm_up, length) = (Nanos::from_secs(10), Nanos::from_secs(60));
        Form::of(2_048 * MIB, 512 * MIB, 128 * MIB, warm_up, length)
    }

    /// For simulated machines: real time goes by events, so there are fewer.
    pub fn modelled() -> Form {
        Form::of(32 * MIB, 8 * MIB, 4 * MIB, Nanos::from_millis(200), Nanos::from_secs(1))
    }

    /// The smallest that still compares something, for tests.
    pub fn tiny() -> Form {
        let (warm_up, length) = (Nanos::from_millis(20), Nanos::from_millis(60));
        let mut form = Form::of(2 * MIB, MIB, MIB, warm_up, length);
        form.parameters.redo_consistency = true;
        form
    }

    /// This form with runs of another measured length, warmed up for a fifth of it.
    #[must_use]
    pub fn lasting(mut self, length: Nanos) -> Form {
        self.length = length;
        self.warm_up = Nanos(length.0 / 5);
        self
    }

    /// The options to create its database.
    pub(crate) fn options(&self) -> Options {
        Options {
            creation: self.creation.clone(),
            parameters: self.parameters.clone(),
            ..Options::default()
        }
    }

    /// Lets `change` set parameters of both settings.
    pub fn set<E>(
        &mut self,
        change: impl FnOnce(&mut Creation, &mut Parameters) -> Result<(), E>,
    ) -> Result<(), E> {
        change(&mut self.creation, &mut self.parameters)
    }

    /// Takes this load. The data file, as it is made and as it may grow, gets room for it, unless a
    /// caller chose these sizes.
    pub(crate) fn carry(&mut self, load: Load) {
        let (had, has) = (self.load.bytes(), load.bytes());
        let creation = &mut self.creation;
        if creation.data_bytes == data_bytes(had) {
            creation.data_bytes = creation.data_bytes.max(data_bytes(has));
        }
        if creation.data_bytes_max == data_bytes_max(had) {
            creation.data_bytes_max = creation.data_bytes_max.max(data_bytes_max(has));
        }
        self.load = load;
    }

    /// Where settings alternate, history grows until the experiment ends. Gives the data file room
    /// for what sessions add in this budget, as far as its extent map has room, unless a caller
    /// chose its size.
    pub(crate) fn last_for(&mut self, budget: Nanos) {
        let seconds = budget.0.div_ceil(1_000_000_000);
        let history = seconds.saturating_mul(HISTORY_BYTES_A_SECOND);
        let usual = data_bytes_max(self.load.bytes());
        if self.creation.data_bytes_max == usual {
            let most = self.mapped().max(usual);
            self.creation.data_bytes_max = usual.saturating_add(history).min(most);
        }
        self.growth = history.min(self.growth_max());
    }

    /// The same for an experiment that goes on until it knows: half of the `free` bytes that the
    /// first files leave. If it has rows already, it has what they had.
    pub(crate) fn last_until_decided(
        &mut self,
        had: Option<&String>,
        free: impl FnOnce() -> Result<u64, Stop>,
    ) -> Result<(), Stop> {
        if self.creation.data_bytes_max == data_bytes_max(self.load.bytes()) {
            match had {
                Some(had) => self.creation.set(DATA_BYTES_MAX, had)?,
                None => {
                    let half = free()?.saturating_sub(self.disk_bytes()) / 2;
                    let bytes = self.creation.data_bytes;
                    let most = self.mapped().max(bytes);
                    self.creation.data_bytes_max = (bytes + half / MIB * MIB).min(most);
                }
            }
        }
        self.growth = self.growth_max();
        Ok(())
    }

    /// The longest data file for which an extent map has room.
    fn mapped(&self) -> u64 {
        DataFileShape::bytes_max(self.creation.db_block_size, self.creation.extent_blocks)
    }

    /// What all data files can grow by.
    fn growth_max(&self) -> u64 {
        let (c, mapped) = (&self.creation, self.mapped());
        let grows = |bytes: u64, most: u64| most.min(mapped).saturating_sub(bytes);
        let others = c.data_files.iter().map(|file| grows(file.bytes, file.bytes_max));
        grows(c.data_bytes, c.data_bytes_max) + others.sum::<u64>()
    }

    /// Refuses a place without room (LB10).
    pub(crate) fn check_room(&self, disk: &Disk, parent: &Path) -> Result<(), Stop> {
        let (needed, free) = (self.disk_bytes() + self.growth, disk.free_bytes(parent)?);
        if free >= needed {
            return Ok(());
        }
        let megabytes = |bytes: u64| bytes.div_ceil(1_000_000);
        let history = match self.growth {
            0 => String::new(),
            growth => format!(" ({} of them for rows of history)", megabytes(growth)),
        };
        let message = format!(
            "cannot run in {}: {} MB are needed{history} and {} MB are free; free some, or choose \
             another place with --dir",
            parent.display(),
            megabytes(needed),
            free / 1_000_000
        );
        Err(Stop::refuse(RefusalKind::NoSpace, message))
    }

    /// Refuses what takes all the time of a simulation by its warm-up and this length alone: in it
    /// an instance is opened, crashes and is audited too.
    pub(crate) fn check_for_model(&self, length: Nanos) -> Result<(), Stop> {
        let warm_up = self.warm_up;
        if warm_up.0.saturating_add(length.0) < TIME_LIMIT_NS {
            return Ok(());
        }
        Err(checks::invalid(format!(
            "cannot simulate {:.3} s after a warm-up of {:.3} s: a simulation ends at {:.0} s, and \
             opening and audit are in it; choose shorter runs, or a smaller budget for settings \
             that alternate",
            length.as_secs_f64(),
            warm_up.as_secs_f64(),
            Nanos(TIME_LIMIT_NS).as_secs_f64()
        )))
    }

    /// The longest that [`check_for_model`](Form::check_for_model) takes.
    pub(crate) fn longest_on_model(&self) -> Nanos {
        Nanos(TIME_LIMIT_NS.saturating_sub(self.warm_up.0).saturating_sub(1))
    }

    fn of(data: u64, cache: u64, log: u64, warm_up: Nanos, length: Nanos) -> Form {
        let scale = Scale::of_mib(data / MIB);
        let creation = Creation {
            db_block_size: BlockSize::KIB_8,
            data_bytes: data_bytes(scale.bytes()),
            data_bytes_max: data_bytes_max(scale.bytes()),
            log_file_bytes: log,
            doublewrite_slots: 8 * 128,
            ..Creation::default()
        };
        let parameters = Parameters {
            db_cache_size: cache,
            log_buffer: (log / 4).min(8 * MIB),
            db_working_sets: 8,
            ..Parameters::default()
        };
        let mixture = Mixture {
            seed: 0,
            sessions: 12,
            first_session: 0,
            mass_update_every: 100,
            mass_update_rows: 200,
            warm_up: Nanos::ZERO,
            length: Nanos::ZERO,
            rate: None,
        };
        let load = Load::DebitCredit { scale, mixture };
        Form { creation, parameters, load, warm_up, length, growth: 0 }
    }

    /// Bytes of disk that an experiment needs: the loaded database, and the copy that runs use.
    pub(crate) fn disk_bytes(&self) -> u64 {
        let c = &self.creation;
        let files = c.data_bytes + c.data_files.iter().map(|file| file.bytes).sum::<u64>();
        let data = files.max(data_bytes(self.load.bytes())) + c.undo_bytes;
        let doublewrite = u64::from(c.doublewrite_slots) * c.db_block_size.bytes() as u64;
        let logs = u64::from(c.log_groups) * u64::from(c.log_members) * c.log_file_bytes;
        2 * (data + logs + doublewrite + MIB)
    }

    /// The parameters and sizes that a row names, under a setting.
    pub(crate) fn describe(&self, parameters: &Parameters) -> BTreeMap<String, String> {
        let chosen = listed(&self.creation, parameters);
        let mut load = self.load.describe();
        load.push(("warm_up_ms", (self.warm_up.0 / 1_000_000).to_string()));
        load.push(("length_ms", (self.length.0 / 1_000_000).to_string()));
        chosen.chain(load).map(|(name, value)| (name.to_string(), value)).collect()
    }

    /// The load in one line, for its hash.
    pub(crate) fn work(&self) -> String {
        format!("{:?} {:?} {:?}", self.load, self.warm_up, self.length)
    }
}

/// Both kinds of parameters with their values, by the lists: a parameter that comes is in them.
pub(crate) fn listed(
    creation: &Creation,
    parameters: &Parameters,
) -> impl Iterator<Item = (&'static str, String)> {
    let fixed = Creation::list().into_iter().map(|info| (info.name, creation.get(info.name)));
    let chosen = Parameters::list().into_iter().map(|info| (info.name, parameters.get(info.name)));
    fixed.chain(chosen).map(|(name, value)| (name, value.expect("it is listed")))
}

/// The rows, and room for history, into which the file needn't grow.
fn data_bytes(rows: u64) -> u64 {
    (rows * 13 / 8).next_multiple_of(MIB) + 24 * MIB
}

/// To which the file may grow: history becomes ever more.
fn data_bytes_max(rows: u64) -> u64 {
    rows * 4 + 1_024 * MIB
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Else runs that aren't alike have the same hash.
    #[test]
    fn a_row_names_every_parameter_by_what_it_is_set_to() {
        let form = Form::tiny();
        let plain = form.describe(&form.parameters);
        for (name, value) in [("disk_asynch_io", "false"), ("lock_timeout", "7")] {
            let mut changed = form.parameters.clone();
            changed.set(name, value).expect("it is one");
            assert_eq!(form.describe(&changed)[name], value);
            assert_ne!(plain[name], value);
        }
        let listed = Creation::list().into_iter().chain(Parameters::list());
        assert!(listed.into_iter().all(|info| plain.contains_key(info.name)), "{plain:?}");
    }

    fn loaded(form: Form, load: &str) -> Result<Form, Stop> {
        let text = format!("question = \"x\"\n[factor]\nlock_timeout = [1, 2]\n{load}");
        crate::Experiment::parse("test", &text)?.form(form)
    }

    /// LB23: else the load would end minutes later for want of space.
    #[test]
    fn the_file_has_room_for_the_data_that_a_file_of_an_experiment_asks_for() {
        let usual = loaded(Form::quick(), "").expect("it is one");
        let sizes = |of: &Form| (of.creation.data_bytes, of.creation.data_bytes_max);
        assert_eq!(sizes(&usual), sizes(&Form::quick()));
        let order_entry = "[load]\nkind = \"order-entry\"\nwarehouses";
        for load in ["[load]\ndata = \"4g\"", &format!("{order_entry} = 30")] {
            let form = loaded(Form::quick(), load).expect("it is one");
            let (creation, rows) = (&form.creation, form.load.bytes());
            let files = || creation.data_files.iter();
            let bytes = creation.data_bytes + files().map(|file| file.bytes).sum::<u64>();
            let most = creation.data_bytes_max + files().map(|file| file.bytes_max).sum::<u64>();
            assert!(bytes > rows * 3 / 2 && most > rows * 3, "{rows} {bytes} {most}");
            assert!(form.disk_bytes() > 2 * bytes, "{} {bytes}", form.disk_bytes());
        }
        let mut chosen = Form::quick();
        chosen.creation.data_bytes_max = 8 << 30;
        let chosen = loaded(chosen, "[load]\ndata = \"4g\"").expect("it is one").creation;
        let most = chosen.data_files.iter().map(|file| file.bytes_max).sum::<u64>();
        assert!(chosen.data_bytes_max + most < 9 << 30, "a caller's own size stays");
        for load in [&format!("{order_entry} = 0"), "[load]\ndata = \"9999t\""] {
            let refused = loaded(Form::quick(), load).expect_err("it is refused").to_string();
            assert!(refused.contains("choose"), "{refused}");
        }
    }

    /// LB23: its rows would be refused by who reads them, when all runs are made.
    #[test]
    fn a_run_of_no_time_is_refused() {
        let refused = loaded(Form::tiny(), "[runs]\nlength = 0").expect_err("no run");
        assert!(refused.to_string().contains("choose 0.01s to 24h"), "{refused}");
        assert!(loaded(Form::tiny(), "[runs]\nlength = 0.01\nwarm_up = 0").is_ok());
    }

    /// Else an experiment ends before its budget does (LB78). One extent map ends it all the same.
    #[test]
    fn history_has_room_for_all_of_the_budget_that_a_file_has_room_for() {
        let budget = Nanos::from_secs(3_600);
        let mut form = Form::alternating();
        form.last_for(budget);
        let (rows, commits) = (form.load.bytes(), 25_000 * 3_600);
        let most = |form: &Form| form.creation.data_bytes_max.min(form.mapped());
        assert!(most(&form) > rows + commits * 62, "{:?}", form.creation);
        assert_eq!(form.growth, 3_600 * HISTORY_BYTES_A_SECOND);
        let mut chosen = Form::alternating();
        chosen.creation.data_bytes_max = 8 << 30;
        chosen.last_for(budget);
        assert_eq!(chosen.creation.data_bytes_max, 8 << 30, "a caller's own size stays");
        assert_eq!(chosen.growth, (8 << 30) - chosen.creation.data_bytes);
        let mut day = Form::alternating();
        day.last_for(Nanos::from_secs(24 * 3_600));
        assert_eq!(day.creation.data_bytes_max, day.mapped());
        assert_eq!(day.growth, day.mapped() - day.creation.data_bytes);
    }

    /// LB75: with the room of its budget it would end before it knows, with that of the whole disk
    /// other programs would fail first.
    #[test]
    fn an_experiment_without_an_end_has_half_of_the_disk_or_one_extent_map() {
        let lasting = |had: Option<&String>, free: u64| {
            let mut form = Form::alternating();
            form.last_until_decided(had, || Ok(free)).map(|()| form)
        };
        let form = lasting(None, 1 << 40).expect("there is room");
        assert_eq!(form.creation.data_bytes_max, form.mapped());
        let free = 20 << 30;
        let form = lasting(None, free).expect("there is room");
        let left = free - form.disk_bytes();
        assert!((left / 2 - MIB..=left / 2).contains(&form.growth), "{left} {}", form.growth);
        assert_eq!(form.growth, form.creation.data_bytes_max - form.creation.data_bytes);
        // LB68: else its rows are of another setting when it goes on.
        let had = form.creation.get(DATA_BYTES_MAX).expect("it is one");
        let on = lasting(Some(&had), 1 << 40).expect("there is room");
        assert_eq!(on.creation.data_bytes_max, form.creation.data_bytes_max);
    }

    /// LB10: else it takes the last byte of a file system, hours later.
    #[test]
    fn a_place_without_room_for_history_is_refused() {
        let mut form = Form::alternating();
        let here = Path::new(".");
        form.growth = 1 << 60;
        let refused = form.check_room(&os::linux::disk(), here).expect_err("no disk has that");
        assert_eq!(refused.refusal(), Some(RefusalKind::NoSpace));
        assert!(refused.to_string().contains("for rows of history"), "{refused}");
    }

    #[test]
    fn the_disk_has_room_for_undo_too() {
        let form = Form::quick();
        let (data, undo) = (form.creation.data_bytes, form.creation.undo_bytes);
        assert!(data > 590 * MIB, "the file would grow under the load: {data}");
        assert!(form.disk_bytes() > 2 * (data + undo), "{}", form.disk_bytes());
    }
}
