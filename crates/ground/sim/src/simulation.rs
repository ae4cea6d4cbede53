//! One simulation: a machine, its disks, a seed, a program; and the report.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use os::{Disk, Os, Session, VirtualClock};
use waits::SessionKind;

use crate::crash_point::CrashPoints;
use crate::device::{Device, Devices};
use crate::failure::Failure;
use crate::fs::FileSystem;
use crate::fs::faults::{FaultPlan, Injection};
use crate::kernel::{Kernel, KernelOptions};
use crate::log::{EventLog, LogMode};
use crate::model::{CostList, DiskModel, DiskParameters, MachineParameters};
use crate::perturbation::{Luck, Perturbation};
use crate::port::{SimDisk, SimPort};
use crate::real_cpu::RealCpu;
use crate::scheduler::{Machine, Scheduler};
use crate::watchdog;

/// One disk of the machine.
#[derive(Clone)]
pub struct DiskSpec {
    /// The name under which the program finds it.
    pub name: String,
    /// The model of its request times.
    pub model: DiskParameters,
    /// Its content at the start, with the planned faults and the planned power cut.
    pub content: FileSystem,
}

impl DiskSpec {
    /// The bytes of files that a disk without a capacity of its own holds: 1 TiB.
    const UNBOUNDED_BYTES: u64 = 1 << 40;

    /// An empty disk of this model.
    pub fn empty(name: &str, model: DiskParameters) -> DiskSpec {
        let capacity = model.capacity_bytes().min(DiskSpec::UNBOUNDED_BYTES);
        DiskSpec { name: name.into(), model, content: FileSystem::new(capacity) }
    }
}

/// The parameters of a simulation. Start from [`Simulation::new`] and change fields.
#[derive(Clone)]
pub struct Simulation {
    /// The seed, from which everything random follows.
    pub seed: u64,
    /// The CPUs and the costs of scheduling.
    pub machine: MachineParameters,
    /// The cost of each operation, before the machine's `cpu_scale`.
    pub costs: CostList,
    /// The amount by which the schedule may stray from that of the costs.
    pub perturbation: Perturbation,
    /// The disks; [`World::disk`] returns the first.
    pub disks: Vec<DiskSpec>,
    /// The part of the event log that is kept.
    pub log: LogMode,
    /// The virtual time at which the simulation ends, in ns.
    pub time_limit_ns: u64,
    /// Whether a panic ends its thread only, as in production; else it ends the simulation.
    pub contain_panics: bool,
    /// The real time after which the baton's holder is given up.
    pub stuck_after: Duration,
    /// The share of the structures in memory that is checked while they change
    /// ([`Os::set_check_effort`]); none for the build's default.
    pub check_effort: Option<u32>,
    /// The observer of crash points, at each operation.
    pub crash_points: Option<CrashPoints>,
}

impl Simulation {
    /// A machine of two CPUs with the built-in costs and one disk that answers in 100 us.
    pub fn new(seed: u64) -> Simulation {
        let machine = MachineParameters::builtin("two-core").expect("a built-in machine");
        let model = DiskParameters::builtin("fixed").expect("a built-in disk");
        Simulation {
            seed,
            machine,
            costs: CostList::builtin("default").expect("a built-in list of costs"),
            perturbation: Perturbation::NONE,
            disks: vec![DiskSpec::empty("disk", model)],
            log: LogMode::Hash,
            time_limit_ns: 3_600_000_000_000,
            contain_panics: false,
            stuck_after: Duration::from_secs(30),
            check_effort: None,
            crash_points: None,
        }
    }

    /// Runs `program` as the machine's first thread, until all threads have ended.
    pub fn run<R: Send + 'static>(
        self,
        program: impl FnOnce(&World, &Session) -> R + Send + 'static,
    ) -> Report<R> {
        let names: Vec<String> = self.disks.iter().map(|disk| disk.name.clone()).collect();
        let kernel = Arc::new(self.kernel());
        let notices: Arc<Mutex<Vec<String>>> = Arc::default();
        let noted = Arc::clone(&notices);
        let sink = move |line: &str| {
            noted.lock().unwrap_or_else(PoisonError::into_inner).push(line.to_string());
        };
        let os = Os::new(Arc::new(SimPort(Arc::clone(&kernel))), Arc::new(sink));
        self.check_effort.into_iter().for_each(|effort| os.set_check_effort(effort));
        let world = World { os, kernel: Arc::clone(&kernel), names: names.clone() };
        let result: Arc<Mutex<Option<R>>> = Arc::default();
        let returned = Arc::clone(&result);
        let body = Box::new(move || {
            let session = world.os.adopt("main", SessionKind::Foreground);
            let value = program(&world, &session);
            *returned.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
        });
        kernel.start("main", body).expect("the host can start one more thread");
        watchdog::watch(&kernel, self.stuck_after);
        let ended = kernel.wait_for_the_end();
        if !matches!(ended, Err(Failure::Stuck { .. })) {
            kernel.join_threads();
        }
        let value = result.lock().unwrap_or_else(PoisonError::into_inner).take();
        let notices = std::mem::take(&mut *notices.lock().unwrap_or_else(PoisonError::into_inner));
        let outcome = ended.map(|()| value.expect("a program that ended has a result"));
        report(&kernel, outcome, &names, notices)
    }

    fn kernel(&self) -> Kernel {
        let scale = |cost: u32| (f64::from(cost) * self.machine.cpu_scale).round() as u32;
        let clock = Arc::new(VirtualClock::new(self.costs.costs.map(scale)));
        let machine = Machine {
            cpus: usize::from(self.machine.cpus),
            slice_ns: u64::from(self.machine.time_slice_us) * 1_000,
            switch_ns: u64::from(self.machine.switch_cost_ns),
            migration_ns: u64::from(self.machine.migration_cost_ns),
        };
        let log = EventLog::new(self.log);
        let luck = Luck::new(self.perturbation, self.seed);
        let scheduler = Scheduler::new(machine, self.time_limit_ns, luck, log);
        let mut devices = Devices::shown_to(self.crash_points.clone());
        for (number, disk) in self.disks.iter().enumerate() {
            let capacity = disk.model.capacity_bytes();
            let model = DiskModel::new(&disk.model, self.seed ^ (number as u64 + 1) << 56);
            let mut content = disk.content.clone();
            content.unlock_all();
            devices.list.push(Device::new(content, model, capacity));
        }
        let options = KernelOptions {
            perturbation: self.perturbation,
            contain_panics: self.contain_panics,
            pin_to: RealCpu::take(),
            wake_ns: scale(self.costs.ns(os::Cost::Wake)).into(),
            wake_idle_ns: self.machine.wake_idle_ns.into(),
            buffered_writes_alone: self.machine.buffered_writes_alone,
        };
        Kernel::new(scheduler, devices, clock, options)
    }
}

/// The simulated world as its program sees it.
#[derive(Clone)]
pub struct World {
    os: Os,
    kernel: Arc<Kernel>,
    names: Vec<String>,
}

impl World {
    /// The port's handle.
    pub fn os(&self) -> &Os {
        &self.os
    }

    /// The first disk.
    pub fn disk(&self) -> Disk {
        self.disk_number(0)
    }

    /// The disk of this name.
    ///
    /// # Panics If the machine has none: the program and its machine don't fit.
    pub fn disk_called(&self, name: &str) -> Disk {
        let number = self.names.iter().position(|known| known == name);
        self.disk_number(number.unwrap_or_else(|| panic!("the machine has no disk '{name}'")))
    }

    /// Cuts the power now: the calling thread and all others unwind.
    pub fn cut_power(&self) {
        let _ = self.kernel.call(|state, _| {
            state.devices.cut_power();
            self.kernel.stop(state, Failure::PowerLost);
        });
    }

    /// Lets `plan` decide over every operation of the first disk from now on: the first one that
    /// comes is number 1 to its rules.
    pub fn plan_faults(&self, plan: FaultPlan) {
        let _ = self.kernel.call(|state, _| state.devices.list[0].fs.plan_faults(plan));
    }

    /// The faults of the first disk that its present plan has injected so far.
    pub fn injected(&self) -> Vec<Injection> {
        let injected = self.kernel.call(|state, _| state.devices.list[0].fs.injected().to_vec());
        injected.unwrap_or_default()
    }

    /// From now on `count` threads may be started, and each further one is refused, as under a
    /// limit of processes. `None` lifts the limit.
    pub fn limit_threads(&self, count: Option<u32>) {
        let _ = self.kernel.call(|state, _| state.threads_left = count);
    }

    /// Sleeps without a wait event, which the engine must never do. For tests of the account.
    pub fn sleep_without_a_name(&self, length: waits::Nanos) {
        let _ = self.kernel.sleep(None, Some(length), |_, _| Some(crate::thread::On::Unnamed));
    }

    fn disk_number(&self, number: usize) -> Disk {
        Disk::new(Arc::new(SimDisk { kernel: Arc::clone(&self.kernel), number }))
    }
}

/// The times of one thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ThreadReport {
    /// Its name.
    pub name: String,
    /// Time on a CPU, in ns.
    pub cpu_ns: u64,
    /// Time in the run queue.
    pub run_queue_ns: u64,
    /// Time asleep.
    pub blocked_ns: u64,
    /// The time from its start to its end, or to the end of the simulation: the sum of the three.
    pub age_ns: u64,
    /// The number of times that it came to a CPU that had run another thread before.
    pub switches: u64,
    /// The number of times that it came to another CPU than before.
    pub migrations: u64,
}

/// The report of a simulation.
pub struct Report<R> {
    /// The program's result, or the reason why there is none.
    pub result: Result<R, Failure>,
    /// The event log, if it was kept.
    pub log: Vec<u8>,
    /// The hash of the event log.
    pub log_hash: u64,
    /// The number of lines of the event log.
    pub log_lines: u64,
    /// Virtual time at the end, in ns.
    pub elapsed_ns: u64,
    /// The number of times that the baton was passed.
    pub hand_offs: u64,
    /// Every thread, in the order of their numbers.
    pub threads: Vec<ThreadReport>,
    /// The disks as they were left, by name. After a power cut their crash states can be had.
    pub disks: BTreeMap<String, FileSystem>,
    /// One-line notices for users.
    pub notices: Vec<String>,
}

impl<R> Report<R> {
    /// Whether the power was cut; false if the program came to its end. Tests that cut the power
    /// ask this, so that no other failure passes for the cut.
    ///
    /// # Panics
    ///
    /// If the simulation ended otherwise: a thread panicked, or all threads wait for ever.
    #[must_use]
    pub fn was_cut(&self, what: impl fmt::Display) -> bool {
        match &self.result {
            Ok(_) => false,
            Err(Failure::PowerLost) => true,
            Err(failure) => panic!("{what}: {failure}"),
        }
    }
}

impl<R> fmt::Debug for Report<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Report")
            .field("failure", &self.result.as_ref().err())
            .field("elapsed_ns", &self.elapsed_ns)
            .field("hand_offs", &self.hand_offs)
            .field("threads", &self.threads)
            .finish_non_exhaustive()
    }
}

fn report<R>(
    kernel: &Kernel,
    result: Result<R, Failure>,
    names: &[String],
    notices: Vec<String>,
) -> Report<R> {
    let mut state = kernel.lock();
    let threads = state.scheduler.threads().iter().enumerate().map(|(tid, thread)| {
        let [cpu_ns, run_queue_ns, blocked_ns, age_ns] = state.scheduler.life(tid);
        let (switches, migrations) = (thread.switches, thread.migrations);
        let name = thread.name.clone();
        ThreadReport { name, cpu_ns, run_queue_ns, blocked_ns, age_ns, switches, migrations }
    });
    Report {
        threads: threads.collect(),
        log_hash: state.scheduler.log.hash(),
        log_lines: state.scheduler.log.lines(),
        elapsed_ns: state.scheduler.now,
        hand_offs: state.hand_offs,
        disks: names.iter().cloned().zip(state.devices.list.iter().map(|d| d.fs.clone())).collect(),
        log: state.scheduler.log.take_text(),
        result,
        notices,
    }
}
