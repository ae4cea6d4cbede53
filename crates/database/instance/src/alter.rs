//! Changing how an instance runs, while it runs.
//!
//! One session at a time changes a parameter, under the enqueue PR. A change that isn't allowed, or
//! whose resources can't be had, is refused, and then nothing has changed. A change counts until
//! the instance ends; the next opening chooses again.
//!
//! Invariants
//!   * [`Instance::parameters`] shows how the instance runs, or what a change under way will make
//!   * a writer's thread is joined before another one of its number starts (rule cache/CB25)
//!
//! Callers: administrators of an instance.

use os::Session;
use stop::{RefusalKind, Stop};

use ids::BlockSize;

use crate::incremental::Bounds;
use crate::open::index_of;
use crate::processes::{Processes, join_all};
use crate::{Changeable, Instance, Parameters};

/// The parameters of the instance, and the limits within which they can be changed.
pub(crate) struct Settings {
    pub(crate) parameters: Parameters,
    /// Bytes of all buffers when the instance opened.
    pub(crate) buffer_bytes: u64,
    /// Blocks of the doublewrite file.
    pub(crate) slots: u32,
    /// The number of redo writes in flight for which the log buffer was divided.
    pub(crate) log_writes_max: u32,
    pub(crate) processes: Processes,
}

impl Instance {
    /// The parameters that the instance runs with now.
    pub fn parameters(&self, session: &Session) -> Parameters {
        self.settings.hold(0, session).parameters.clone()
    }

    /// Sets the parameter `name` to `value`, as a user writes it. Refused if the parameter is
    /// chosen at opening only, if the value isn't allowed, or if it doesn't go with the others.
    pub fn set_parameter(&self, name: &str, value: &str, session: &Session) -> Result<(), Stop> {
        let info = Parameters::info(name)?;
        if info.changeable != Changeable::AnyTime {
            let message = format!(
                "{} is chosen when an instance opens: shut the database, and open it with another",
                info.name
            );
            return Err(Stop::refuse(RefusalKind::WrongState, message));
        }
        let mut settings = self.settings.hold(0, session);
        self.halt.check(session)?;
        let mut wanted = settings.parameters.clone();
        wanted.set(name, value)?;
        let memory = session.os().memory_bytes();
        wanted.check(self.cache().block_size(), settings.slots, memory)?;
        if wanted.sga_max_size == 0 {
            let bound = "sga_max_size is 0, which stands for what they had at opening,";
            wanted.check_sga(self.cache().block_size(), settings.buffer_bytes, bound)?;
        }
        self.take_over(&wanted, &mut settings, session)?;
        self.show(&wanted, session);
        settings.parameters = wanted;
        Ok(())
    }

    /// Makes the instance run with `wanted`, of which one parameter differs from now.
    fn take_over(
        &self,
        wanted: &Parameters,
        settings: &mut Settings,
        session: &Session,
    ) -> Result<(), Stop> {
        let now = settings.parameters.clone();
        let most = settings.log_writes_max;
        if wanted.log_writes_in_flight > most {
            let message = format!(
                "log_writes_in_flight is {0}: the log buffer was divided for {most} when the \
                 instance opened, so choose 1 to {most}, or open it with --set \
                 log_writes_in_flight={0}",
                wanted.log_writes_in_flight
            );
            return Err(Stop::refuse(RefusalKind::Invalid, message));
        }
        for size in BlockSize::ALL {
            self.resize(size, wanted, session)?;
        }
        let (had, wants) = (now.db_writer_processes, wanted.db_writer_processes);
        if wants < had {
            self.end_writers(wants, settings, session);
        }
        if wants > had {
            let started = self.start_writers(wants, settings, session);
            // A new writer gets the priority and the CPUs that the others have.
            let started = started.and_then(|()| self.reschedule(&now, wanted, settings, session));
            if let Err(stop) = started {
                self.end_writers(had, settings, session);
                return Err(stop);
            }
        }
        if !wanted.are_scheduled_as(&now) {
            self.reschedule(&now, wanted, settings, session)?;
        }
        let blocks = wanted.db_file_multiblock_read_count;
        self.cache().set_multiblock_read_count(blocks, session);
        self.redo().set_commit_leader(wanted.commit_leader, session);
        let writes = match wanted.log_writes_in_flight {
            0 => most,
            writes => writes,
        };
        self.redo().set_writes_in_flight(writes, session);
        self.commit_mode.store(index_of(wanted.commit_mode()), session);
        self.lock_timeouts.set(wanted);
        self.planted.set(wanted, session);
        let bytes = wanted.work_area_bytes(session.os().memory_bytes());
        self.work_areas.set_target(bytes, session);
        self.checkpointer.bind(Bounds::of(wanted), session);
        self.transactions().set_undo_retention(wanted.retention(), session);
        Ok(())
    }

    /// Changes the number of buffers for blocks of this size.
    fn resize(&self, size: BlockSize, wanted: &Parameters, session: &Session) -> Result<(), Stop> {
        let own = self.cache().block_size();
        let (has, wants) = (self.cache().buffers(size, session), wanted.frames(size, own));
        let limits = |buffers| match size == own {
            // Undo has blocks of the database's own size, and transactions pin mostly these.
            true => self.transactions().set_buffers(buffers, session),
            false => Ok(()),
        };
        if wants < has {
            limits(wants)?;
            let shrunk = self.cache().shrink_pool(size, has - wants, session);
            if shrunk.is_err() {
                limits(self.cache().buffers(size, session))?;
            }
            return shrunk;
        }
        if wants > has {
            self.cache().grow_pool(size, wants - has, session)?;
            limits(wants)?;
        }
        Ok(())
    }

    /// Starts writers until there are `count`. If one can't be started, those before it run.
    fn start_writers(
        &self,
        count: u32,
        settings: &mut Settings,
        session: &Session,
    ) -> Result<(), Stop> {
        let writers = &mut settings.processes.writers;
        self.cache().set_writers(count, session);
        for number in writers.len() as u32..count {
            writers.push(self.checkpointer.cache.start_writer(number, session)?);
        }
        Ok(())
    }

    /// Ends the last writers until there are `count`, and joins them.
    fn end_writers(&self, count: u32, settings: &mut Settings, session: &Session) {
        let writers = &mut settings.processes.writers;
        self.cache().set_writers(count, session);
        join_all(writers.split_off(writers.len().min(count as usize)), session);
    }
}
