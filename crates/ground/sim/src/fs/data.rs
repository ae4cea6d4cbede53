//! The operations on content: read, write, set_len, sync, and the faults that spoil them.

use std::io;

use super::crash::SECTOR_BYTES;
use super::errno::{EFBIG, ENOSPC, error, power_lost};
use super::faults::{Fault, FaultPlan, MISDIRECTION_BLOCK_BYTES as BLOCK, Request};
use super::image::{FILE_BYTES_MAX, to_u64, to_usize};
use super::names::Entry;
use super::system::{FileId, FileSystem, Operation, Step, as_error};

impl FileSystem {
    /// The length of an open file. The call isn't counted, and never fails by a fault.
    pub fn len(&self, file: FileId) -> io::Result<u64> {
        if self.power_lost() {
            return Err(power_lost());
        }
        self.require_open(file)?;
        Ok(self.node(file).view.len())
    }

    /// Reads into `buffer` from `offset`; the bytes are fewer at the end of the file.
    pub fn read(&mut self, file: FileId, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.require_open(file)?;
        let room = self.node(file).view.len().saturating_sub(offset);
        let bytes = room.min(to_u64(buffer.len()));
        let step = self.begin_file(Operation::Read, file, offset, bytes)?;
        let view = &self.node(file).view;
        match step.fault {
            None => Ok(view.read(offset, buffer)),
            Some(Fault::Short) => {
                let shorter = to_usize(self.shortened(offset, bytes, 1));
                Ok(self.node(file).view.read(offset, &mut buffer[..shorter]))
            }
            Some(Fault::Rot) => {
                let at = offset + self.plan().draw_below(bytes);
                let mask = 1 << self.plan().draw_below(8);
                self.plan().explain(format!(" of byte {at}, mask {mask:#04x}"));
                self.node_mut(file).rot(at, mask);
                Ok(self.node(file).view.read(offset, buffer))
            }
            Some(Fault::MisdirectedRead) => {
                let from = self.misdirected(file, offset, bytes);
                Ok(self.node(file).view.read(from, &mut buffer[..to_usize(bytes)]))
            }
            Some(fault) => Err(as_error(fault)),
        }
    }

    /// Writes `data` at `offset`, extending the file if needed. Returns the number of bytes.
    ///
    /// With `durable` (`O_DSYNC`, FUA) this write and the size that it needs are durable on return;
    /// earlier writes of the file are not. ENOSPC writes nothing.
    pub fn write(
        &mut self,
        file: FileId,
        offset: u64,
        data: &[u8],
        durable: bool,
    ) -> io::Result<usize> {
        self.require_open(file)?;
        let step = self.begin_file(Operation::Write, file, offset, to_u64(data.len()))?;
        let result = match step.fault {
            Some(Fault::Short) => {
                let shorter = self.shortened(offset, to_u64(data.len()), SECTOR_BYTES);
                let shorter = to_usize(shorter);
                self.store(file, offset, &data[..shorter], durable, &step)
            }
            Some(Fault::Eio) => {
                let sequence = self.next_sequence();
                self.node_mut(file).write_failed(offset, data, sequence);
                Err(as_error(Fault::Eio))
            }
            Some(Fault::Enospc) => Err(as_error(Fault::Enospc)),
            _ => self.store(file, offset, data, durable, &step),
        };
        step.end(result)
    }

    /// Truncates a file, or extends it by zeros.
    pub fn set_len(&mut self, file: FileId, len: u64) -> io::Result<()> {
        self.require_open(file)?;
        let step = self.begin_file(Operation::SetLen, file, len, 0)?;
        let result = match step.fault {
            Some(fault) => Err(as_error(fault)),
            None => self.charge(file, len).map(|()| {
                let sequence = self.next_sequence();
                self.node_mut(file).set_len(len, sequence);
            }),
        };
        step.end(result)
    }

    /// Applies a write that was in flight when the power failed: it may have reached the medium,
    /// wholly or in part, or not.
    ///
    /// # Panics If the power is still on.
    pub fn write_in_flight(&mut self, file: FileId, offset: u64, data: &[u8]) {
        assert!(self.power_lost(), "a write in flight is one that the power cut interrupts");
        if self.require_open(file).is_ok() && !data.is_empty() {
            let sequence = self.next_sequence();
            let node = self.node_mut(file);
            let before = node.view.len();
            node.write(offset, data, sequence);
            // The file may be longer now, whether or not there was room.
            let grown = node.view.len() - before;
            self.used += grown;
        }
    }

    /// Makes content and size of one file durable; not its directory entry.
    pub fn sync(&mut self, file: FileId) -> io::Result<()> {
        self.sync_up_to(file, u64::MAX)
    }

    /// Makes durable the changes up to `mark`; later ones stay pending.
    pub fn sync_up_to(&mut self, file: FileId, mark: u64) -> io::Result<()> {
        self.require_open(file)?;
        let step = self.begin_file(Operation::Sync, file, 0, 0)?;
        if let Some(fault) = step.fault {
            self.node_mut(file).sync_failed();
            return Err(as_error(fault));
        }
        if !step.dying && !self.node(file).pending.is_empty() {
            self.node_mut(file).sync(mark);
        }
        step.end(Ok(()))
    }

    /// Stores a write as the step demands: pending during a power cut, lost or misdirected by a
    /// fault.
    fn store(
        &mut self,
        file: FileId,
        offset: u64,
        data: &[u8],
        durable: bool,
        step: &Step,
    ) -> io::Result<usize> {
        if data.is_empty() {
            return Ok(0);
        }
        let end = offset.checked_add(to_u64(data.len())).ok_or_else(|| error(EFBIG))?;
        self.charge(file, end.max(self.node(file).view.len()))?;
        let sequence = self.next_sequence();
        let mut target = offset;
        if matches!(step.fault, Some(Fault::LostWrite | Fault::MisdirectedWrite)) {
            self.node_mut(file).grow(end, sequence);
            if durable {
                self.node_mut(file).settle_size(end);
            }
            if step.fault == Some(Fault::LostWrite) {
                return Ok(data.len());
            }
            target = self.misdirected(file, offset, to_u64(data.len()));
        }
        let node = self.node_mut(file);
        if durable && !step.dying {
            node.write_durable(target, data, sequence);
        } else {
            node.write(target, data, sequence);
        }
        Ok(data.len())
    }

    /// Charges the file for its new length, or refuses.
    fn charge(&mut self, file: FileId, len: u64) -> io::Result<()> {
        if len > FILE_BYTES_MAX {
            return Err(error(EFBIG));
        }
        let old = self.node(file).view.len();
        let used = self.used - old + len;
        if len > old && used > self.capacity {
            return Err(error(ENOSPC));
        }
        self.used = used;
        Ok(())
    }

    fn begin_file(
        &mut self,
        operation: Operation,
        file: FileId,
        offset: u64,
        bytes: u64,
    ) -> io::Result<Step> {
        self.begin(operation, |fs| {
            let path = fs.names.view.path_of(Entry::File(file));
            let path = path.unwrap_or_else(|| format!("/({file}, removed)"));
            let places = fs.places(file, operation, offset, bytes).1;
            Request { operation, path, offset, bytes, places }
        })
    }

    /// The first other offset, whole blocks away, at which `bytes` fit into the file, and the
    /// number of such offsets besides `offset` itself. A write is placed in the file as long as it
    /// will be.
    fn places(&self, file: FileId, operation: Operation, offset: u64, bytes: u64) -> (u64, u64) {
        let mut len = self.node(file).view.len();
        if operation == Operation::Write {
            len = len.max(offset.saturating_add(bytes).min(FILE_BYTES_MAX));
        }
        let first = offset % BLOCK;
        let all = len.checked_sub(first + bytes).map_or(0, |room| room / BLOCK + 1);
        (first, all.saturating_sub(1))
    }

    /// Another offset in the file, drawn by the plan.
    fn misdirected(&mut self, file: FileId, offset: u64, bytes: u64) -> u64 {
        let (first, others) = self.places(file, Operation::Read, offset, bytes);
        let own = offset / BLOCK;
        let mut block = self.plan().draw_below(others);
        if block >= own {
            block += 1;
        }
        let place = first + block * BLOCK;
        self.plan().explain(format!(" to offset {place}"));
        place
    }

    /// How many of the bytes are read or written by a short call, drawn by the plan. It stops
    /// between two steps, such as sectors, if it goes over several.
    fn shortened(&mut self, offset: u64, bytes: u64, step: u64) -> u64 {
        let drawn = 1 + self.plan().draw_below(bytes - 1);
        let end = offset + drawn;
        let (before, behind) = (end / step * step, end.next_multiple_of(step));
        let shorter = match () {
            () if before > offset => before - offset,
            () if behind < offset + bytes => behind - offset,
            () => drawn,
        };
        self.plan().explain(format!(", {shorter} of {bytes} bytes"));
        shorter
    }

    fn plan(&mut self) -> &mut FaultPlan {
        self.faults.as_mut().expect("only a plan injects faults")
    }
}
