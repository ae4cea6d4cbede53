//! From times to a model of the disk: a file of `kind = "measured"`.
//!
//! What lone requests take in the simulator on a disk that takes no time is the CPU's, and charged
//! there anyhow: it is taken off. Of many at once the elapsed time a request is what each holds the
//! gate, by the middle pass. A flush was measured with its write, whose own is taken off. All kinds
//! at once are measured and simulated alike: what the gate doesn't explain of the difference to
//! lone requests is `beside`.
//!
//! Callers: `validity`.

use std::fmt::Write;
use std::path::Path;

use sim::model::{CostList, DiskParameters, MachineParameters};
use sim::{DiskSpec, Simulation};

use super::disk::{BASE, Bench, Kind, LONG, PIECE, Samples, Times};

const RANKS: usize = 20;

/// The same passes on a simulated disk.
pub(super) fn simulated(
    machine: &MachineParameters,
    costs: &CostList,
    disk: DiskParameters,
    passes: u32,
) -> Result<Samples, String> {
    let mut simulation = Simulation::new(1);
    simulation.machine = machine.clone();
    simulation.costs = costs.clone();
    simulation.disks = vec![DiskSpec::empty("disk", disk)];
    let report = simulation.run(move |world, session| -> Result<Samples, os::Error> {
        let mut samples = Samples::default();
        let mut bench = Bench::prepare(&world.disk(), Path::new("/"), session)?;
        for _ in 0..passes {
            bench.pass(&mut samples, session)?;
        }
        Ok(samples)
    });
    let samples = report.result.map_err(|failure| failure.to_string())?;
    samples.map_err(|error| error.to_string())
}

/// A disk that takes next to no time.
pub(super) fn no_time() -> DiskParameters {
    let text = "name = \"none\"\nsource = \"by definition\"\nkind = \"fixed\"\n\
                service_us = 0.001\nservers = 64\n";
    DiskParameters::parse(text).expect("a valid text")
}

/// Passes in the simulator, to see how long requests take beside others, and how often that is
/// compared: what takes longer keeps others waiting.
const PASSES: u32 = 3;
const ROUNDS: u32 = 3;

/// The disk's file.
pub(super) fn fitted(
    measured: &Samples,
    machine: &MachineParameters,
    costs: &CostList,
    source: &str,
) -> Result<String, String> {
    let cpu = simulated(machine, costs, no_time(), 1)?;
    let parse = |text: &str| DiskParameters::parse(text).map_err(|error| error.to_string());
    let mut beside = [1.0; 4];
    for _ in 0..ROUNDS {
        let disk = parse(&file(measured, &cpu, beside, source))?;
        let explained = simulated(machine, costs, disk, PASSES)?;
        for (kind, beside) in beside.iter_mut().enumerate() {
            let alone = stats::mean(&measured[kind].lone);
            let more = stats::mean(&measured[kind].beside) - stats::mean(&explained[kind].beside);
            *beside = (*beside + more / alone).clamp(1.0, 100.0);
        }
    }
    Ok(file(measured, &cpu, beside, source))
}

/// Its text.
fn file(measured: &Samples, cpu: &Samples, beside: [f64; 4], source: &str) -> String {
    let mut text = format!(
        "# A disk as it was measured, written by `cargo xbench validity`.\n\
         name = \"this disk\"\nkind = \"measured\"\nsource = \"{source}\"\n"
    );
    let write_busy = stats::median(&measured[Kind::Write as usize].many);
    for (kind, (times, cpu)) in Kind::ALL.into_iter().zip(measured.iter().zip(cpu)) {
        let off = stats::median(&cpu.lone);
        let ranks = twentieths(&times.lone, off);
        let ranks: Vec<String> = ranks.iter().map(|us| format!("{us:.2}")).collect();
        let with_it = if kind == Kind::Flush { write_busy } else { 0.0 };
        let busy = (stats::median(&times.many) - with_it).max(0.0);
        let [kib, busy_kib] = slopes(kind, times);
        let (key, beside) = (kind.key(), beside[kind as usize]);
        write!(
            text,
            "\n{key}_us = [{}]  # of 8 KiB, alone: means of twentieths\n\
             {key}_kib_us = {kib:.4}\n{key}_busy_us = {busy:.2}\n\
             {key}_busy_kib_us = {busy_kib:.4}\n{key}_beside = {beside:.3}\n",
            ranks.join(", ")
        )
        .expect("writing to a string can't fail");
    }
    text
}

/// By the KiB, lone and among many. How long a large flush holds the gate isn't known.
fn slopes(kind: Kind, times: &Times) -> [f64; 2] {
    let long = if kind == Kind::Flush { PIECE } else { LONG };
    let kib = ((long - BASE) >> 10) as f64;
    let lone = stats::median(&times.lone_long) - stats::median(&times.lone);
    let many = match kind {
        Kind::Flush => 0.0,
        _ => stats::median(&times.many_long) - stats::median(&times.many),
    };
    [lone, many].map(|more| (more / kib).max(0.0))
}

/// The means of the twentieths, less `off`.
fn twentieths(times: &[f64], off: f64) -> [f64; RANKS] {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    std::array::from_fn(|rank| {
        let [from, to] = [rank, rank + 1].map(|bound| bound * sorted.len() / RANKS);
        let part = &sorted[from..to];
        (part.iter().sum::<f64>() / part.len() as f64 - off).max(0.0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: &str = "name = \"known\"\nkind = \"measured\"\nsource = \"a test\"\n\
        read_us = [90, 91, 92, 93, 94, 95, 96, 97, 98, 99, 100, 101, 102, 103, 104, 105, 106, \
                   110, 130, 300]\n\
        read_kib_us = 0.6\nread_busy_us = 20\nread_busy_kib_us = 0.5\nread_beside = 1.5\n\
        write_us = [50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 60, 60, 60, \
                    60, 60, 60, 90]\n\
        write_kib_us = 0.4\nwrite_busy_us = 30\nwrite_busy_kib_us = 0.3\nwrite_beside = 1.2\n\
        durable_us = [180, 180, 180, 180, 180, 180, 180, 180, 180, 180, \
                    180, 180, 180, 180, 180, 180, 180, 180, 180, 400]\n\
        durable_kib_us = 1\ndurable_busy_us = 70\ndurable_busy_kib_us = 0.5\ndurable_beside = 1.3\n\
        flush_us = [100, 100, 100, 100, 100, 100, 100, 100, 100, 100, \
                    100, 100, 100, 100, 100, 100, 100, 100, 100, 200]\n\
        flush_kib_us = 0.1\nflush_busy_us = 60\nflush_busy_kib_us = 0\nflush_beside = 1.1\n";

    /// Eight writes and a flush beside readers take longer than all kinds are measured together.
    #[test]
    fn a_slow_disk_is_measured_and_fitted_too() {
        let machine = MachineParameters::builtin("two-core").expect("it is built in");
        let costs = CostList::builtin("default").expect("it is built in");
        let slow = DiskParameters::builtin("disk-7200").expect("it is built in");
        let samples = simulated(&machine, &costs, slow, 1).expect("it runs");
        assert!(samples.iter().all(|of| !of.beside.is_empty()));
        fitted(&samples, &machine, &costs, "a test").expect("it is fitted");
    }

    /// A disk with known figures, measured in the simulator, gives them back.
    #[test]
    fn what_is_measured_of_a_known_disk_is_that_disk() {
        let machine = MachineParameters::builtin("two-core").expect("it is built in");
        let costs = CostList::builtin("default").expect("it is built in");
        let measure = |disk, passes| simulated(&machine, &costs, disk, passes).expect("it runs");
        let known = DiskParameters::parse(KNOWN).expect("it is valid");
        let found = fitted(&measure(known, 6), &machine, &costs, "a test").expect("it runs");
        DiskParameters::parse(&found).expect("what is written can be read");
        let [found, known] = [found.as_str(), KNOWN]
            .map(|text| -> toml::Table { text.parse().expect("it is TOML") });
        let number = |value: &toml::Value| {
            value.as_float().or(value.as_integer().map(|it| it as f64)).expect("a number")
        };
        let mean = |table: &toml::Table, key: &str| {
            let list = table[key].as_array().cloned().unwrap_or(vec![table[key].clone()]);
            list.iter().map(number).sum::<f64>() / list.len() as f64
        };
        let figure = |key: &&String| key.ends_with("_us") || key.ends_with("_beside");
        for key in known.keys().filter(figure) {
            let (found, known) = (mean(&found, key), mean(&known, key));
            let near = (found - known).abs() <= 0.1 * known + 0.05;
            assert!(near, "{key}: {found}, not {known}");
        }
    }
}
