//! Replay: making changes again in recovery, block by block (CH5, CH12).

use std::iter::Peekable;

use cache::{Cache, ExclusiveBlock};
use format::{BlockHeader, RESTORE_ALL};
use ids::{Dba, Scn};
use latch::FrameOrder;
use os::Session;
use redo::Change;
use stop::{Failpoint, Failpoints, RefusalKind, Stop};

use crate::group::{apply, image_of};
use crate::{BlockMut, Layer};

/// What the replay of a block did.
#[derive(Debug)]
pub struct Replayed {
    /// How many vectors were applied.
    pub applied: u64,
    /// How many vectors were skipped.
    pub skipped: u64,
    /// Why the block is damaged, if none of these changes makes it anew: all were skipped, and it
    /// is an error unless a later one makes it anew (CH13).
    pub unusable: Option<Stop>,
    /// The SCN of the block's last change.
    pub changed: Scn,
}

/// Replays the changes of one block, in the order of the redo. Blocks are replayed in any order
/// (CH12): until recovery ends no other session looks at them.
pub fn replay<'r>(
    address: Dba,
    changes: impl Iterator<Item = Change<'r>>,
    layers: &[&'static Layer],
    cache: &Cache,
    failpoints: Failpoints,
    session: &Session,
) -> Result<Replayed, Stop> {
    let mut replayed = Replayed { applied: 0, skipped: 0, unusable: None, changed: Scn::ZERO };
    let mut changes = changes.peekable();
    let pin = match cache.pin_or_unwritten(address, session) {
        // CH13: the block on disk doesn't matter if it is made anew.
        Err(stop) if stop.is_of_medium() => {
            while changes.next_if(|change| !change.vector.anew).is_some() {
                replayed.skipped += 1;
            }
            if changes.peek().is_none() {
                // A block that can't be read now may be readable the next time, and lack these
                // changes.
                if stop.refusal() == Some(RefusalKind::Io) {
                    return Err(stop);
                }
                replayed.unusable = Some(stop);
                return Ok(replayed);
            }
            cache.pin_new(address, session)?
        }
        pinned => pinned?,
    };
    let is_checked = session.os().check_effort() > 0;
    while let Some(first) = changes.peek() {
        let layer = layer_of(first, layers)?;
        let mut block = pin.exclusive(layer.order, session);
        // CH34: a panic raises the halt before the latch goes.
        let critical = cache.halt().guard("a change was not finished in recovery", session);
        let replay = Replay { layers, order: layer.order, is_checked, failpoints };
        let done = replay.all(&mut changes, &mut block, &mut replayed);
        critical.disarm();
        done?;
        replayed.changed = BlockHeader::at(&block, 0).changed();
    }
    Ok(replayed)
}

/// The replay of changes under one hold of the block's latch.
struct Replay<'l> {
    layers: &'l [&'static Layer],
    /// The order in which the latch is held.
    order: FrameOrder,
    /// Whether the last change is followed by a check of the block (CH33).
    is_checked: bool,
    failpoints: Failpoints,
}

impl Replay<'_> {
    /// Replays changes up to the first whose layer takes the latch in another order.
    fn all<'r>(
        &self,
        changes: &mut Peekable<impl Iterator<Item = Change<'r>>>,
        block: &mut ExclusiveBlock<'_>,
        replayed: &mut Replayed,
    ) -> Result<(), Stop> {
        while let Some(change) = changes.peek() {
            let layer = layer_of(change, self.layers)?;
            if layer.order != self.order {
                break;
            }
            match replay_change(change, layer, block, self.failpoints)? {
                true => replayed.applied += 1,
                false => replayed.skipped += 1,
            }
            let change = *change;
            changes.next();
            if self.is_checked && changes.peek().is_none() && replayed.applied > 0 {
                let said = (layer.check)(block);
                said.map_err(|what| refuse(&change, &format!("leaves a broken block: {what}")))?;
            }
        }
        Ok(())
    }
}

fn layer_of(change: &Change<'_>, layers: &[&'static Layer]) -> Result<&'static Layer, Stop> {
    let layer = layers.iter().find(|layer| layer.number == change.vector.layer);
    layer.copied().ok_or_else(|| refuse(change, "is of an unknown layer"))
}

fn replay_change(
    change: &Change<'_>,
    layer: &'static Layer,
    block: &mut ExclusiveBlock<'_>,
    failpoints: Failpoints,
) -> Result<bool, Stop> {
    let vector = &change.vector;
    let header = BlockHeader::at(block, 0);
    let found = (header.changed(), header.sequence());
    let before = (vector.before_scn, vector.before_sequence);
    let after = (change.scn, change.number);
    if found >= after && !failpoints.has(Failpoint::ApplyTwice) {
        // CH7: written again, because what a read shows needn't be durable.
        block.will_change();
        return Ok(false);
    }
    if found != before && !vector.anew && !failpoints.has(Failpoint::ApplyTwice) {
        let what = format!(
            "changes version {} of the block into {}, and the block has {}: a write of it was lost",
            version(before.0, before.1),
            version(after.0, after.1),
            version(found.0, found.1)
        );
        return Err(refuse(change, &what));
    }
    // CH9: a layer reads only payloads that were checked.
    if let Err(fault) = layer.changes.check(vector.opcode, vector.payload) {
        let what = format!("can't be read, by layer {}: {fault}", layer.name);
        return Err(refuse(change, &what));
    }
    block.will_change();
    let (address, scn) = (vector.address, change.scn);
    let bytes = block.bytes_for_apply();
    // CH6: put back if the change gives another block than it gave when it was made.
    let unchanged = (vector.image != 0).then(|| bytes.to_vec());
    let block_mut = BlockMut { address, scn, bytes };
    apply(layer, block_mut, vector.opcode, vector.anew, vector.payload, change.number);
    if let Some(unchanged) = unchanged.filter(|_| vector.image != image_of(block)) {
        block.bytes_for_apply().copy_from_slice(&unchanged);
        let what = format!(
            "doesn't give the block that it gave when it was made (layer {}, change {})",
            layer.name, vector.opcode
        );
        return Err(refuse(change, &what));
    }
    Ok(true)
}

fn version(scn: Scn, sequence: u32) -> String {
    format!("{scn}.{sequence}")
}

fn refuse(change: &Change<'_>, what: &str) -> Stop {
    let message = format!(
        "cannot recover block {}: the redo at {} {what}; {RESTORE_ALL}",
        change.vector.address,
        change.rba()
    );
    Stop::refuse(RefusalKind::Corrupt, message)
}
