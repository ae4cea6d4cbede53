//! The survival of one file in a power cut: one of its sizes, and some sectors of each write.
//!
//! Invariant: the states of a file are numbered without gaps, the number decides everything, and
//! two calls for one number give the same image.
//!
//! Caller: `crash`, which combines files and names.

use std::sync::Arc;

use super::crash::{SECTOR_BYTES, SECTORS_SUBSETS_MAX, SIZES_ENUMERATED_MAX};
use super::file::{Change, FileNode, Pending};
use super::image::{Image, to_u64, to_usize};

/// One way in which a pending write can survive: `sectors` of it starting with sector `first`.
pub(super) struct Slot {
    pub(super) pending: usize,
    pub(super) first: u64,
    pub(super) sectors: u64,
}

impl Slot {
    pub(super) fn outcomes(&self) -> Option<u64> {
        match self.sectors {
            0..=SECTORS_SUBSETS_MAX => Some(1 << self.sectors),
            sectors => sectors.checked_mul(3)?.checked_sub(2),
        }
    }

    /// Whether sector number `sector` of the write survives.
    pub(super) fn keeps(&self, outcome: u64, sector: u64) -> bool {
        let sectors = self.sectors;
        if sectors <= SECTORS_SUBSETS_MAX {
            return outcome >> sector & 1 == 1;
        }
        match outcome {
            0 => false,
            1 => true,
            prefix if prefix <= sectors => sector < prefix - 1,
            suffix if suffix < 2 * sectors => sector >= suffix - sectors,
            missing => sector != missing - 2 * sectors + 1,
        }
    }

    pub(super) fn whole(&self) -> u64 {
        if self.sectors <= SECTORS_SUBSETS_MAX { (1 << self.sectors) - 1 } else { 1 }
    }
}

/// The ways in which a file can survive with the first `sizes` of its pending sizes.
pub(super) struct VersionPlan {
    pub(super) sizes: usize,
    pub(super) slots: Vec<Slot>,
}

impl VersionPlan {
    pub(super) fn of(node: &FileNode, sizes: usize) -> VersionPlan {
        let mut seen = 0;
        let mut len = node.durable.len();
        let mut lens = Vec::with_capacity(node.pending.len());
        for pending in &node.pending {
            if let Change::SetLen(new) = pending.change {
                seen += 1;
                if seen <= sizes {
                    len = new;
                }
            }
            lens.push(len);
        }
        let mut slots = Vec::new();
        let mut clip = u64::MAX;
        for (index, pending) in node.pending.iter().enumerate().rev() {
            clip = clip.min(lens[index]);
            if let Change::Write { offset, data } = &pending.change
                && *offset < clip
            {
                let end = clip.min(offset + to_u64(data.len()));
                let first = offset / SECTOR_BYTES;
                slots.push(Slot {
                    pending: index,
                    first,
                    sectors: end.div_ceil(SECTOR_BYTES) - first,
                });
            }
        }
        slots.reverse();
        VersionPlan { sizes, slots }
    }

    pub(super) fn states(&self) -> Option<u64> {
        self.slots.iter().try_fold(1_u64, |states, slot| states.checked_mul(slot.outcomes()?))
    }

    /// The surviving image, given the outcome of each slot.
    pub(super) fn image(&self, node: &FileNode, mut outcome: impl FnMut(&Slot) -> u64) -> Image {
        let mut image = node.durable.clone();
        let mut slots = self.slots.iter().peekable();
        let mut sizes = 0;
        for (index, pending) in node.pending.iter().enumerate() {
            match &pending.change {
                Change::SetLen(len) => {
                    sizes += 1;
                    if sizes <= self.sizes {
                        image.set_len(*len);
                    }
                }
                Change::Write { offset, data } => {
                    if let Some(slot) = slots.next_if(|slot| slot.pending == index) {
                        survive(&mut image, *offset, data, slot, outcome(slot));
                    }
                }
            }
        }
        image
    }
}

/// Stores the surviving sectors of one write, run by run.
fn survive(image: &mut Image, offset: u64, data: &[u8], slot: &Slot, outcome: u64) {
    let mut sector = 0;
    while sector < slot.sectors {
        let start = sector;
        while sector < slot.sectors && slot.keeps(outcome, sector) {
            sector += 1;
        }
        if sector > start {
            let from = ((slot.first + start) * SECTOR_BYTES).max(offset);
            let to = ((slot.first + sector) * SECTOR_BYTES).min(offset + to_u64(data.len()));
            image.write_clipped(from, &data[to_usize(from - offset)..to_usize(to - offset)]);
        }
        sector += 1;
    }
}

/// The ways in which a file with pending changes can survive.
pub(super) struct FilePlan {
    pub(super) node: Arc<FileNode>,
    pub(super) versions: Vec<(VersionPlan, u64)>,
    /// The number of states; None if they are too many to count.
    pub(super) states: Option<u64>,
}

impl FilePlan {
    pub(super) fn of(node: &Arc<FileNode>) -> FilePlan {
        let mut plan = FilePlan { node: Arc::clone(node), versions: Vec::new(), states: Some(0) };
        let sizes = plan.sizes();
        if sizes > SIZES_ENUMERATED_MAX {
            plan.states = None;
            return plan;
        }
        for sizes in 0..=sizes {
            let version = VersionPlan::of(node, sizes);
            let states = version.states();
            plan.states = plan.states.zip(states).and_then(|(sum, more)| sum.checked_add(more));
            plan.versions.push((version, states.unwrap_or(u64::MAX)));
        }
        plan
    }

    pub(super) fn sizes(&self) -> usize {
        let sizes = |pending: &&Pending| matches!(pending.change, Change::SetLen(_));
        self.node.pending.iter().filter(sizes).count()
    }

    /// The version of state number `digit`, and the number of the state within it.
    pub(super) fn locate(&self, mut digit: u64) -> (&VersionPlan, u64) {
        for (version, states) in &self.versions {
            if digit < *states {
                return (version, digit);
            }
            digit -= states;
        }
        panic!("a file's state number is below its number of states")
    }

    pub(super) fn image(&self, digit: u64) -> Image {
        let (version, mut rest) = self.locate(digit);
        version.image(&self.node, |slot| next_digit(&mut rest, slot.outcomes()))
    }

    pub(super) fn choice(&self, digit: u64) -> FileChoice {
        let (version, mut rest) = self.locate(digit);
        let next = |slot: &Slot| next_digit(&mut rest, slot.outcomes());
        FileChoice { sizes: version.sizes, outcomes: version.slots.iter().map(next).collect() }
    }
}

pub(super) fn next_digit(rest: &mut u64, radix: Option<u64>) -> u64 {
    let radix = radix.expect("a counted state has countable outcomes");
    let digit = *rest % radix;
    *rest /= radix;
    digit
}

/// The survival of one file: one of its sizes, and the outcome of each slot.
pub(super) struct FileChoice {
    pub(super) sizes: usize,
    pub(super) outcomes: Vec<u64>,
}
