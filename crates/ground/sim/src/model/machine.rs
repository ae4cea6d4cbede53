//! The processors of a simulated machine.
//!
//! The simulator charges CPU from one list of costs, measured on the *calibrated* machine. A
//! machine's `cpu_scale` is the factor by which the same work takes longer on one of its CPUs: 1.0
//! is the calibrated machine, 2.0 takes twice as long. Scheduling has costs of its own: a thread
//! runs for at most a time slice while others wait, a change of thread costs `switch_cost_ns`, and
//! a thread that continues on another CPU than before pays `migration_cost_ns` for its cold caches.
//! A thread that wakes another on an idle CPU pays `wake_idle_ns` for calling that CPU: next to
//! nothing on bare metal, and an exit to the hypervisor in a virtual machine.
//!
//! Two facts of its operating system decide how writes to files queue. `buffered_writes_alone` says
//! that a buffered write has its file for itself until it is done. `asynchronous_files` says
//! whether asynchronous I/O on files is asynchronous; where it isn't, the user of the machine has
//! to do without it (`disk_asynch_io`).
//!
//! Invariant: a description is always valid; `parse` is the only way to make one.
//!
//! Callers: the simulated port's scheduler, reports.

use super::error::ModelError;
use super::reader::Reader;

const BUILTIN: [(&str, &str); 4] = [
    ("two-core", include_str!("../../models/machine-two-core.toml")),
    ("eight-core", include_str!("../../models/machine-eight-core.toml")),
    ("thirty-two-core", include_str!("../../models/machine-thirty-two-core.toml")),
    ("hp-ux", include_str!("../../models/machine-hp-ux.toml")),
];

/// A description of a machine.
#[derive(Clone, Debug, PartialEq)]
pub struct MachineParameters {
    /// The name that the file gives itself.
    pub name: String,
    /// The origin of the file's figures, in a sentence; reports print it.
    pub source: String,
    /// The number of CPUs, which is the number of threads that can run at once.
    pub cpus: u16,
    /// The time for which a thread runs while others of its priority wait.
    pub time_slice_us: u32,
    /// The CPU time of a change of thread.
    pub switch_cost_ns: u32,
    /// The cost to a thread that continues on another CPU.
    pub migration_cost_ns: u32,
    /// The cost to a thread that wakes another on an idle CPU, beyond the wake itself.
    pub wake_idle_ns: u32,
    /// Whether only one buffered write at a time gets into a file. Reads don't wait for it.
    pub buffered_writes_alone: bool,
    /// Whether there is asynchronous I/O on files. The simulator doesn't enforce it.
    pub asynchronous_files: bool,
    /// The factor by which charged work takes longer than on the calibrated machine.
    pub cpu_scale: f64,
}

impl MachineParameters {
    /// Reads a description; see the files `models/machine-*.toml`.
    pub fn parse(text: &str) -> Result<MachineParameters, ModelError> {
        const FITS: &str = "the range fits the type";
        let mut reader = Reader::new("machine", text)?;
        let u32_of = |reader: &mut Reader, key, low, high| {
            reader.whole(key, low..=high).map(|value| u32::try_from(value).expect(FITS))
        };
        let machine = MachineParameters {
            name: reader.text("name")?,
            source: reader.text("source")?,
            cpus: u16::try_from(reader.whole("cpus", 1..=u64::from(os::CpuSet::CPUS_MAX))?)
                .expect(FITS),
            time_slice_us: u32_of(&mut reader, "time_slice_us", 1, 1_000_000)?,
            switch_cost_ns: u32_of(&mut reader, "switch_cost_ns", 0, 1_000_000)?,
            migration_cost_ns: u32_of(&mut reader, "migration_cost_ns", 0, 100_000_000)?,
            wake_idle_ns: u32_of(&mut reader, "wake_idle_ns", 0, 1_000_000)?,
            buffered_writes_alone: reader.flag("buffered_writes_alone")?,
            asynchronous_files: reader.flag("asynchronous_files")?,
            cpu_scale: reader.number("cpu_scale", 0.01..=100.0)?,
        };
        reader.finish()?;
        Ok(machine)
    }

    /// A description that comes with the program.
    pub fn builtin(name: &str) -> Result<MachineParameters, ModelError> {
        match BUILTIN.iter().find(|(known, _)| *known == name) {
            Some((_, text)) => MachineParameters::parse(text),
            None => Err(ModelError::UnknownName {
                subject: "machine",
                name: name.to_owned(),
                known: MachineParameters::builtin_names().collect(),
            }),
        }
    }

    /// The names that [`MachineParameters::builtin`] knows.
    pub fn builtin_names() -> impl Iterator<Item = &'static str> {
        BUILTIN.iter().map(|(name, _)| *name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_builtin_machine_parses_under_its_own_name() {
        for name in MachineParameters::builtin_names() {
            let machine = MachineParameters::builtin(name).expect("a builtin machine is valid");
            assert_eq!(machine.name, name);
        }
        let cpus = |name| MachineParameters::builtin(name).expect("it exists").cpus;
        assert_eq!((cpus("two-core"), cpus("eight-core"), cpus("thirty-two-core")), (2, 8, 32));
    }

    #[test]
    fn a_machine_without_cpus_or_with_a_misspelt_key_is_refused_by_the_keys_name() {
        let text = include_str!("../../models/machine-two-core.toml");
        let error = MachineParameters::parse(&text.replace("cpus = 2", "cpus = 0"));
        let message = error.expect_err("no CPUs").to_string();
        assert_eq!(message, "machine \"two-core\": `cpus` = 0 must lie between 1 and 128");
        let error = MachineParameters::parse(&format!("{text}\ncpu_turbo = 1\n"));
        let message = error.expect_err("a key that doesn't exist").to_string();
        assert!(message.contains("unknown key `cpu_turbo`; its keys are: name, source, cpus"));
        let message = MachineParameters::builtin("two-cores").expect_err("no such").to_string();
        let known = "two-core, eight-core, thirty-two-core, hp-ux";
        assert_eq!(message, format!("no machine is called \"two-cores\"; there are: {known}"));
    }
}
