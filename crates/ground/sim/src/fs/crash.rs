//! The file systems that a power cut can leave: all of them, or a sample.
//!
//! ```text
//!   pending names   ── 2^n subsets, equal trees merged ──▶ SurvivingTree: a tree, and the files in
//!                                                          it that have pending changes
//!   pending changes ── version of the size ─▶ VersionPlan: for each write that this size does not
//!   of one file                               hide, a Slot: how many ways it can survive
//!
//!   states = sum over name outcomes of product over files of sum over versions of product of slots
//! ```
//!
//! A write over k sectors survives in any subset of them if k <= 4; else dropped, whole, as a
//! proper prefix, a proper suffix, or with one sector missing. Changes are applied in order, so a
//! dropped write shows the older content and a kept one hides it.
//!
//! States that can't differ aren't enumerated: files without a surviving name, writes beyond the
//! surviving size. Some states may still be equal (a write of unchanged bytes): count
//! `image_hash`es.
//!
//! Callers: crash tests, the simulated machine's restart.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

use super::file::{Change, FileNode};
use super::image::{to_u64, to_usize};
use super::mix::Random;
use super::names::{Entry, NameChange, Tree};
use super::survival::{FileChoice, FilePlan, Slot, VersionPlan, next_digit};
use super::system::{FileId, FileSystem};

/// A write that a disk makes whole or not at all.
pub const SECTOR_BYTES: u64 = 512;
/// Up to this many sectors every subset of them is tried.
pub const SECTORS_SUBSETS_MAX: u64 = 4;
/// The most unflushed changes of names that are enumerated; more are only sampled, because their
/// subsets are too many.
pub const NAME_CHANGES_ENUMERATED_MAX: usize = 12;
/// The most unflushed sizes of one file that are enumerated; more are only sampled.
pub const SIZES_ENUMERATED_MAX: usize = 64;

/// One surviving tree, and the files in it that can differ.
struct SurvivingTree {
    kept: Vec<bool>,
    /// The tree with the files that have no pending changes.
    base: FileSystem,
    /// The files in the tree that have pending changes.
    unsettled: Vec<FileId>,
    states: Option<u64>,
}

/// One state, spelled out.
struct Choice {
    kept: Vec<bool>,
    files: BTreeMap<FileId, FileChoice>,
}

/// The file systems that a power cut at this moment can leave.
pub struct CrashStates {
    crashed: FileSystem,
    plans: BTreeMap<FileId, FilePlan>,
    /// The outcomes; empty if there are too many changes of names.
    outcomes: Vec<SurvivingTree>,
    total: Option<u64>,
}

/// One surviving state.
pub struct CrashState {
    /// Its number among the states, from 0: the same crash has the same states in the same order.
    pub number: u64,
    /// The surviving file system, ready to be used: nothing is pending, nothing open.
    pub fs: FileSystem,
}

impl CrashStates {
    /// The states of a crash of `fs` now.
    #[must_use]
    pub fn of(fs: &FileSystem) -> CrashStates {
        let unsettled = fs.files.iter().filter(|(_, node)| !node.pending.is_empty());
        let mut states = CrashStates {
            crashed: fs.clone(),
            plans: unsettled.map(|(file, node)| (*file, FilePlan::of(node))).collect(),
            outcomes: Vec::new(),
            total: None,
        };
        let changes = fs.names.pending.len();
        if changes > NAME_CHANGES_ENUMERATED_MAX {
            return states;
        }
        let mut seen = BTreeSet::new();
        for subset in 0..1_u64 << changes {
            let kept: Vec<bool> = (0..changes).map(|index| subset >> index & 1 == 1).collect();
            let tree = states.tree(&kept);
            if seen.insert(tree.clone()) {
                let outcome = states.surviving_tree(kept, tree);
                states.outcomes.push(outcome);
            }
        }
        states.total = states
            .outcomes
            .iter()
            .try_fold(0_u64, |total, outcome| total.checked_add(outcome.states?));
        states
    }

    /// The number of states; None if they are too many to count.
    #[must_use]
    pub fn total(&self) -> Option<u64> {
        self.total
    }

    /// Every state, or None if there are more than `limit`: then draw with [`Self::sample`].
    #[must_use]
    pub fn exhaustive(&self, limit: u64) -> Option<Exhaustive<'_>> {
        let total = self.total.filter(|total| *total <= limit)?;
        Some(Exhaustive { states: self, total, number: 0, outcome: 0, within: 0, last: Vec::new() })
    }

    /// Draws one state by `seed`. Either everything survives up to a moment, or each change is kept
    /// or dropped by itself, with a bias to one or the other, or without.
    #[must_use]
    pub fn sample(&self, seed: u64) -> FileSystem {
        self.build(&self.draw(seed))
    }

    /// The outcome of each pending change in state `number`, for messages.
    #[must_use]
    pub fn describe(&self, number: u64) -> String {
        let mut within = number;
        for outcome in &self.outcomes {
            let states = outcome.states.expect("a numbered state belongs to a countable crash");
            if within < states {
                return self.tell(&self.choice(outcome, within));
            }
            within -= states;
        }
        format!("(there is no state {number})")
    }

    /// The outcome of each pending change in the state drawn by `seed`.
    #[must_use]
    pub fn describe_sample(&self, seed: u64) -> String {
        self.tell(&self.draw(seed))
    }

    fn tree(&self, kept: &[bool]) -> Tree {
        let mut tree = self.crashed.names.durable.clone();
        for (pending, _) in self.crashed.names.pending.iter().zip(kept).filter(|(_, kept)| **kept) {
            tree.apply(&pending.change);
        }
        tree.reachable()
    }

    fn surviving_tree(&self, kept: Vec<bool>, tree: Tree) -> SurvivingTree {
        let (unsettled, settled): (Vec<_>, Vec<_>) =
            tree.files().partition(|file| self.plans.contains_key(file));
        let node = |file: FileId| (file, Arc::clone(&self.crashed.files[&file]));
        let settled = settled.into_iter().map(node).collect();
        let mut states = Some(1_u64);
        for file in &unsettled {
            states = states.zip(self.plans[file].states).and_then(|(all, of)| all.checked_mul(of));
        }
        let FileSystem { capacity, .. } = self.crashed;
        let base = FileSystem::survivor(tree, settled, capacity, self.crashed.next_id());
        SurvivingTree { kept, base, unsettled, states }
    }

    fn build(&self, choice: &Choice) -> FileSystem {
        let outcome = self.surviving_tree(choice.kept.clone(), self.tree(&choice.kept));
        let mut fs = outcome.base;
        for file in outcome.unsettled {
            let (node, choice) = (&self.plans[&file].node, &choice.files[&file]);
            let mut outcomes = choice.outcomes.iter();
            let image = VersionPlan::of(node, choice.sizes)
                .image(node, |_| *outcomes.next().expect("one outcome for each slot"));
            place(&mut fs, file, Arc::new(FileNode::survivor(image)));
        }
        fs
    }

    fn choice(&self, outcome: &SurvivingTree, mut within: u64) -> Choice {
        let mut files = BTreeMap::new();
        for file in &outcome.unsettled {
            let plan = &self.plans[file];
            files.insert(*file, plan.choice(next_digit(&mut within, plan.states)));
        }
        Choice { kept: outcome.kept.clone(), files }
    }

    fn draw(&self, seed: u64) -> Choice {
        let mut random = Random::from_seed(seed);
        let mut rule = SurvivalRule::draw(&mut random, &self.crashed);
        let names = self.crashed.names.pending.iter();
        let kept = names.map(|name| rule.keeps(&mut random, name.sequence)).collect();
        let mut files = BTreeMap::new();
        for (file, plan) in &self.plans {
            let mut sizes = 0;
            let mut number = 0;
            for pending in &plan.node.pending {
                if matches!(pending.change, Change::SetLen(_)) {
                    number += 1;
                    if rule.keeps(&mut random, pending.sequence) {
                        sizes = number;
                    }
                }
            }
            let slots = VersionPlan::of(&plan.node, sizes).slots;
            let outcome = |slot: &Slot| {
                rule.outcome(&mut random, plan.node.pending[slot.pending].sequence, slot)
            };
            files
                .insert(*file, FileChoice { sizes, outcomes: slots.iter().map(outcome).collect() });
        }
        Choice { kept, files }
    }

    fn tell(&self, choice: &Choice) -> String {
        let mut text = String::new();
        for (pending, kept) in self.crashed.names.pending.iter().zip(&choice.kept) {
            let result = if *kept { "kept" } else { "dropped" };
            let what = self.tell_name(&pending.change);
            _ = write!(text, "{what}: {result}; ");
        }
        for (file, choice) in &choice.files {
            self.tell_file(&mut text, *file, choice);
        }
        if text.is_empty() { "nothing was pending".to_owned() } else { text }
    }

    fn tell_name(&self, change: &NameChange) -> String {
        let path = |key: &super::names::Key| {
            let dir = self.crashed.names.view.path_of(Entry::Dir(key.dir));
            let dir = dir.unwrap_or_else(|| "(removed directory)".to_owned());
            format!("{}/{}", dir.trim_end_matches('/'), key.name)
        };
        match change {
            NameChange::Link { at, .. } => format!("create {}", path(at)),
            NameChange::Unlink { at } => format!("remove {}", path(at)),
            NameChange::Rename { from, to, .. } => format!("rename {} to {}", path(from), path(to)),
        }
    }

    fn tell_file(&self, text: &mut String, file: FileId, choice: &FileChoice) {
        let name = self.crashed.names.view.path_of(Entry::File(file));
        let name = name.unwrap_or_else(|| file.to_string());
        let plan = &self.plans[&file];
        let version = VersionPlan::of(&plan.node, choice.sizes);
        let sizes = plan.sizes();
        if sizes > 0 {
            _ = write!(text, "{name}: {} of {sizes} new sizes kept; ", choice.sizes);
        }
        for (slot, outcome) in version.slots.iter().zip(&choice.outcomes) {
            let Change::Write { offset, data } = &plan.node.pending[slot.pending].change else {
                unreachable!("a slot is a write");
            };
            let kept = (0..slot.sectors).map(|sector| match slot.keeps(*outcome, sector) {
                true => '#',
                false => '.',
            });
            let kept: String = kept.collect();
            _ = write!(text, "{name}: write of {} at {offset}: sectors {kept}; ", data.len());
        }
    }
}

fn place(fs: &mut FileSystem, file: FileId, node: Arc<FileNode>) {
    fs.used += node.view.len();
    fs.files.insert(file, node);
}

/// The way in which a sampled crash treats the pending changes.
enum SurvivalRule {
    /// Changes before this moment survive, later ones don't, and the change at the moment may tear.
    Moment(u64),
    /// Each change survives by itself, with this chance per million.
    Leaning(u32),
}

impl SurvivalRule {
    fn draw(random: &mut Random, crashed: &FileSystem) -> SurvivalRule {
        let names = crashed.names.pending.iter().map(|pending| pending.sequence);
        let nodes = crashed.files.values().flat_map(|node| &node.pending);
        let mut moments: Vec<u64> = names.chain(nodes.map(|pending| pending.sequence)).collect();
        moments.sort_unstable();
        match random.below(4) {
            0 if !moments.is_empty() => {
                SurvivalRule::Moment(moments[to_usize(random.below(to_u64(moments.len())))])
            }
            1 => SurvivalRule::Leaning(100_000),
            2 => SurvivalRule::Leaning(900_000),
            _ => SurvivalRule::Leaning(500_000),
        }
    }

    fn keeps(&mut self, random: &mut Random, sequence: u64) -> bool {
        match self {
            SurvivalRule::Moment(moment) if sequence == *moment => random.chance(500_000),
            SurvivalRule::Moment(moment) => sequence < *moment,
            SurvivalRule::Leaning(chance) => random.chance(*chance),
        }
    }

    fn outcome(&mut self, random: &mut Random, sequence: u64, slot: &Slot) -> u64 {
        let torn = match self {
            SurvivalRule::Moment(moment) => sequence == *moment,
            SurvivalRule::Leaning(_) => random.chance(333_333),
        };
        if torn {
            return random.below(slot.outcomes().unwrap_or(u64::MAX));
        }
        if self.keeps(random, sequence) { slot.whole() } else { 0 }
    }
}

/// Iterator over all states of a crash. See [`CrashStates::exhaustive`].
pub struct Exhaustive<'a> {
    states: &'a CrashStates,
    total: u64,
    number: u64,
    outcome: usize,
    within: u64,
    /// The files of the previous state with their digits: two neighbours have most files in common.
    last: Vec<(u64, Arc<FileNode>)>,
}

impl Exhaustive<'_> {
    /// The number of states.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }
}

impl Iterator for Exhaustive<'_> {
    type Item = CrashState;

    fn next(&mut self) -> Option<CrashState> {
        let mut outcome = self.states.outcomes.get(self.outcome)?;
        if outcome.states == Some(self.within) {
            self.outcome += 1;
            self.within = 0;
            self.last.clear();
            outcome = self.states.outcomes.get(self.outcome)?;
        }
        let mut rest = self.within;
        let mut fs = outcome.base.clone();
        for (index, file) in outcome.unsettled.iter().enumerate() {
            let plan = &self.states.plans[file];
            let digit = next_digit(&mut rest, plan.states);
            let known = self.last.get(index).filter(|(last, _)| *last == digit);
            let node = match known {
                Some((_, node)) => Arc::clone(node),
                None => Arc::new(FileNode::survivor(plan.image(digit))),
            };
            match self.last.get_mut(index) {
                Some(last) => *last = (digit, Arc::clone(&node)),
                None => self.last.push((digit, Arc::clone(&node))),
            }
            place(&mut fs, *file, node);
        }
        let number = self.number;
        self.number += 1;
        self.within += 1;
        Some(CrashState { number, fs })
    }
}
