//! One fio job and its command line, the same text that is run and published.
//!
//! The settings are the best for fio (RM5). What only costs it time is off: a map of blocks already
//! visited, the scrambling of buffers before each write (the buffers hold random bytes, as ours
//! do), and the time of each I/O where ours takes none either. Buffers are in huge pages, as ours
//! are: fio itself can't ask for transparent ones, but its allocator can ([`HUGE_PAGES`]).
//!
//! Each run draws other offsets: the host caches, and the second reader of a block would win (RM1).
//! That takes `randrepeat=0` beside `randseed`, which alone changes nothing. The file must exist at
//! its full size: fio is never left to lay it out, or its file would be younger than ours; and told
//! not to (`allow_file_create=0`), it *removes* a file that is too short.
//!
//! A sync of a deep job is a barrier (RM3): fio itself only queues it among the writes, and it
//! makes durable what happens to be done. `thinktime` lets fio wait for all writes in flight, which
//! costs a microsecond; the sync is the next request, and the next writes go beside it.
//!
//! Callers: closures of a race, `Fio::run`.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::{Error, Result};

/// Which blocks are read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Random reads.
    RandRead,
    /// Random writes.
    RandWrite,
    /// Sequential reads.
    Read,
    /// Sequential writes.
    Write,
}

impl Pattern {
    /// Whether it changes the file.
    pub fn writes(self) -> bool {
        matches!(self, Pattern::RandWrite | Pattern::Write)
    }

    fn name(self) -> &'static str {
        match self {
            Pattern::RandRead => "randread",
            Pattern::RandWrite => "randwrite",
            Pattern::Read => "read",
            Pattern::Write => "write",
        }
    }
}

/// How fio asks the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// Asynchronous, through a ring.
    IoUring,
    /// pread and pwrite, one at a time.
    Psync,
}

/// When a write is durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Never asked for.
    None,
    /// Each write returns durable (O_DSYNC).
    ODsync,
    /// fdatasync after every so many writes, when all of them are done.
    Fdatasync {
        /// How many.
        every: u32,
    },
}

/// How many I/Os go through one call into the kernel, where the depth allows for more than one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Gathered before they are submitted; fewer where the depth is used up.
    pub submit: u32,
    /// Waited for.
    pub reap_min: u32,
    /// Reaped at most.
    pub reap_max: u32,
}

impl Batch {
    /// fio's defaults: one by one. A backend that batches would win by fio's settings, not by its
    /// own merit (RM5): at depth 32 they cost fio 7 to 18 us of CPU a read, batches 5 to 6.
    pub const ONE_BY_ONE: Batch = Batch { submit: 1, reap_min: 1, reap_max: 1 };

    /// Submits what there is room for and reaps what is done, without waiting for more.
    pub fn up_to(depth: u32) -> Batch {
        Batch { submit: depth, reap_min: 1, reap_max: depth }
    }
}

/// What fio shall do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FioJob {
    /// An existing file of at least `size` bytes.
    pub file: PathBuf,
    /// How much of the file is used.
    pub size: u64,
    /// Which blocks, read or written.
    pub pattern: Pattern,
    /// Bytes in one I/O.
    pub block_bytes: u32,
    /// I/Os in flight.
    pub depth: u32,
    /// How many I/Os go through one call into the kernel.
    pub batch: Batch,
    /// How long is measured, unless `once` says how much.
    pub runtime: Duration,
    /// So many bytes, each block once, however long that takes.
    pub once: Option<u64>,
    /// Whether the time of each I/O is taken.
    pub is_timed: bool,
    /// So many jobs at once, each with a part of the file of `size` bytes to itself.
    pub jobs: u32,
    /// How long runs before that, unmeasured.
    pub ramp: Duration,
    /// Around the page cache (O_DIRECT).
    pub direct: bool,
    /// How fio asks the kernel.
    pub engine: Engine,
    /// When a write is durable.
    pub durability: Durability,
    /// Buffers registered with the ring.
    pub fixed_buffers: bool,
    /// The file registered with the ring.
    pub registered_files: bool,
    /// Where the random offsets start; give each run another one.
    pub seed: u32,
    /// The only CPU it may use; any without.
    pub cpu: Option<u32>,
}

impl FioJob {
    /// A direct io_uring job at depth 1 for three seconds; set what differs.
    pub fn new(file: PathBuf, size: u64, pattern: Pattern, block_bytes: u32) -> FioJob {
        FioJob {
            file,
            size,
            pattern,
            block_bytes,
            depth: 1,
            batch: Batch::ONE_BY_ONE,
            runtime: Duration::from_secs(3),
            once: None,
            is_timed: true,
            jobs: 1,
            ramp: Duration::ZERO,
            direct: true,
            engine: Engine::IoUring,
            durability: Durability::None,
            fixed_buffers: false,
            registered_files: false,
            seed: 1,
            cpu: None,
        }
    }

    /// What is passed to fio, in its order.
    pub fn arguments(&self) -> Vec<String> {
        let engine = match self.engine {
            Engine::IoUring => "io_uring",
            Engine::Psync => "psync",
        };
        let mut arguments = vec![
            "--name=race".into(),
            format!("--filename={}", escaped(&self.file)),
            format!("--size={}", self.size),
            format!("--rw={}", self.pattern.name()),
            format!("--bs={}", self.block_bytes),
            format!("--iodepth={}", self.depth),
            format!("--iodepth_batch_submit={}", self.batch.submit),
            format!("--iodepth_batch_complete_min={}", self.batch.reap_min),
            format!("--iodepth_batch_complete_max={}", self.batch.reap_max),
            format!("--direct={}", u8::from(self.direct)),
            format!("--ioengine={engine}"),
        ];
        arguments.extend(self.amount());
        if !self.ramp.is_zero() {
            arguments.push(format!("--ramp_time={}ms", self.ramp.as_millis()));
        }
        if self.jobs > 1 {
            arguments.push(format!("--numjobs={}", self.jobs));
            arguments.push(format!("--offset_increment={}", self.size));
            arguments.push("--group_reporting".into());
        }
        match self.durability {
            Durability::None => {}
            Durability::ODsync => arguments.push("--sync=dsync".into()),
            Durability::Fdatasync { every } => {
                arguments.push(format!("--fdatasync={every}"));
                if self.depth > 1 {
                    arguments.push("--thinktime=1".into());
                    arguments.push(format!("--thinktime_blocks={every}"));
                    arguments.push("--thinktime_blocks_type=issue".into());
                }
            }
        }
        if self.fixed_buffers {
            arguments.push("--fixedbufs".into());
        }
        if self.registered_files {
            arguments.push("--registerfiles".into());
        }
        if let Some(cpu) = self.cpu {
            arguments.push(format!("--cpus_allowed={cpu}"));
        }
        arguments.push("--randrepeat=0".into());
        arguments.push(format!("--randseed={}", self.seed));
        arguments.extend(ALWAYS.map(str::to_owned));
        match self.is_timed {
            true => arguments.extend(TIMED.map(str::to_owned)),
            false => arguments.push("--gtod_reduce=1".into()),
        }
        // fio takes the time of syncs only where it takes that of completions.
        if self.is_timed && !matches!(self.durability, Durability::Fdatasync { .. }) {
            arguments.push("--disable_clat=1".into());
        }
        arguments
    }

    /// How much is done: for how long, or how many bytes.
    fn amount(&self) -> Vec<String> {
        match self.once {
            None => vec![
                "--time_based".into(),
                format!("--runtime={}ms", self.runtime.as_millis()),
                "--norandommap".into(),
            ],
            // A generator that never gives a block twice, and so needs no map of them.
            Some(bytes) => {
                vec![format!("--io_size={bytes}"), "--random_generator=lfsr".into()]
            }
        }
    }

    /// As [`FioJob::arguments`], in one line, with folder and seed, which change from run to run,
    /// left open: the settings to publish.
    pub fn settings(&self) -> String {
        let file = Path::new("DIR").join(self.file.file_name().unwrap_or_default());
        let arguments = FioJob { file, ..self.clone() }.arguments();
        let shown = arguments.iter().map(|argument| {
            if argument.starts_with("--randseed=") { "--randseed=N" } else { argument }
        });
        [HUGE_PAGES.0, "=", HUGE_PAGES.1, " fio "].concat() + &shown.collect::<Vec<_>>().join(" ")
    }

    /// Refuses what fio would refuse late, or do differently from what was asked. In particular a
    /// short file never gets as far as fio, which would remove it.
    pub(crate) fn check(&self) -> Result<()> {
        let refuse = |what: String| Err(Error::Refused(format!("fio job: {what}")));
        let shown = self.file.display();
        if self.block_bytes == 0 || self.depth == 0 {
            return refuse("block size and depth must be above zero".into());
        }
        let Batch { submit, reap_min, reap_max } = self.batch;
        if submit == 0 || reap_min == 0 || reap_min > reap_max || submit.max(reap_max) > self.depth
        {
            let depth = self.depth;
            return refuse(format!("{:?} doesn't fit a depth of {depth}", self.batch));
        }
        if self.jobs == 0 || self.once.is_some_and(|bytes| bytes < u64::from(self.block_bytes)) {
            return refuse("at least one job, and at least one block".into());
        }
        if self.jobs > 1 && self.engine != Engine::Psync {
            return refuse(
                "several jobs are for plain system calls: a ring is deep by itself".into(),
            );
        }
        if self.runtime.as_millis() == 0 {
            return refuse("a run of less than a millisecond measures nothing".into());
        }
        if u64::from(self.block_bytes) > self.size {
            let (block, size) = (self.block_bytes, self.size);
            return refuse(format!("a block of {block} bytes doesn't fit into {size} bytes"));
        }
        if self.durability == (Durability::Fdatasync { every: 0 }) {
            return refuse("fdatasync every 0 writes: say None instead".into());
        }
        if self.durability != Durability::None && !self.pattern.writes() {
            return refuse("a read has no durability".into());
        }
        let ring_only = self.fixed_buffers || self.registered_files || self.depth > 1;
        if self.engine == Engine::Psync && ring_only {
            return refuse("psync has depth 1 and registers neither buffers nor files".into());
        }
        match fs::metadata(&self.file) {
            Err(cause) => refuse(format!("{shown}: {cause}; lay it out first")),
            Ok(found) if found.len() < self.size * u64::from(self.jobs) => {
                let (len, size) = (found.len(), self.size * u64::from(self.jobs));
                refuse(format!("{shown} has {len} of {size} bytes; lay it out first"))
            }
            Ok(_) => Ok(()),
        }
    }
}

/// The environment in which fio gets its buffers in huge pages, as `os` gets ours: the allocator
/// advises the kernel so (glibc 2.35), for small buffers too if they come from the one heap.
pub(crate) const HUGE_PAGES: (&str, &str) = (
    "GLIBC_TUNABLES",
    "glibc.malloc.hugetlb=1:glibc.malloc.arena_max=1:glibc.malloc.mmap_threshold=1073741824",
);

/// What every job gets. One process (`thread`), so that its CPU time can be read in one place.
const ALWAYS: [&str; 6] = [
    "--allow_file_create=0",
    "--fallocate=none",
    "--thread",
    "--scramble_buffers=0",
    "--eta=never",
    "--output-format=json",
];

/// What a job gets whose I/Os are timed: the time from the request to the end, once.
const TIMED: [&str; 3] = ["--disable_slat=1", "--lat_percentiles=1", "--percentile_list=50:99"];

/// fio takes a colon in a file name for a separator.
fn escaped(path: &std::path::Path) -> String {
    path.display().to_string().replace(':', "\\:")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job() -> FioJob {
        FioJob::new("/tmp/data:1".into(), 1 << 20, Pattern::RandWrite, 8192)
    }

    #[test]
    fn a_job_becomes_exactly_this_command_line() {
        let job = FioJob {
            depth: 32,
            batch: Batch::up_to(32),
            ramp: Duration::from_millis(500),
            durability: Durability::Fdatasync { every: 64 },
            fixed_buffers: true,
            registered_files: true,
            is_timed: false,
            seed: 7,
            ..job()
        };
        assert_eq!(
            job.arguments().join(" "),
            "--name=race --filename=/tmp/data\\:1 --size=1048576 --rw=randwrite --bs=8192 \
             --iodepth=32 --iodepth_batch_submit=32 --iodepth_batch_complete_min=1 \
             --iodepth_batch_complete_max=32 --direct=1 --ioengine=io_uring --time_based \
             --runtime=3000ms --norandommap --ramp_time=500ms --fdatasync=64 --thinktime=1 \
             --thinktime_blocks=64 --thinktime_blocks_type=issue --fixedbufs --registerfiles \
             --randrepeat=0 --randseed=7 --allow_file_create=0 --fallocate=none --thread \
             --scramble_buffers=0 --eta=never --output-format=json --gtod_reduce=1"
        );
    }

    #[test]
    fn a_job_of_plain_calls_takes_the_time_of_each_and_may_read_each_block_once() {
        let job = FioJob {
            engine: Engine::Psync,
            pattern: Pattern::RandRead,
            once: Some(65_536),
            jobs: 3,
            ..job()
        };
        let text = job.arguments().join(" ");
        let ending =
            "--disable_slat=1 --lat_percentiles=1 --percentile_list=50:99 --disable_clat=1";
        assert!(text.ends_with(ending), "{text}");
        for part in [
            "--ioengine=psync --io_size=65536 --random_generator=lfsr",
            "--numjobs=3 --offset_increment=1048576 --group_reporting",
        ] {
            assert!(text.contains(part), "{part} is missing in {text}");
        }
        assert!(!text.contains("--runtime") && !text.contains("--norandommap"));
    }

    #[test]
    fn published_settings_are_the_same_for_every_seed() {
        assert_eq!(job().settings(), FioJob { seed: 9, ..job() }.settings());
        assert!(job().settings().contains(" fio --name=race --filename=DIR/"));
    }

    #[test]
    fn a_missing_or_short_file_is_refused_rather_than_laid_out() {
        let missing = FioJob { file: "/no/such/file".into(), ..job() };
        let text = missing.check().expect_err("the file is missing").to_string();
        assert!(text.contains("/no/such/file") && text.contains("lay it out first"), "{text}");
        let short = FioJob { file: "/dev/null".into(), ..job() };
        let text = short.check().expect_err("the file is empty").to_string();
        assert!(text.contains("has 0 of 1048576 bytes"), "{text}");
    }

    #[test]
    fn what_fio_would_silently_do_otherwise_is_refused() {
        let refused = |job: FioJob| job.check().expect_err("it makes no sense").to_string();
        let deep = FioJob { engine: Engine::Psync, depth: 4, ..job() };
        assert!(refused(deep).contains("psync has depth 1"));
        let read = FioJob { pattern: Pattern::Read, durability: Durability::ODsync, ..job() };
        assert!(refused(read).contains("a read has no durability"));
        let never = FioJob { durability: Durability::Fdatasync { every: 0 }, ..job() };
        assert!(refused(never).contains("every 0 writes"));
        let several = FioJob { jobs: 2, ..job() };
        assert!(refused(several).contains("several jobs are for plain system calls"));
        let batch = FioJob { batch: Batch::up_to(8), depth: 4, ..job() };
        assert!(refused(batch).contains("doesn't fit a depth of 4"));
    }
}
