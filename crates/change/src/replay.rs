//! Doing a record again, in recovery (CH5, CH6).

use cache::{Cache, Pin};
use format::BlockHeader;
use ids::Scn;
use os::Session;
use redo::{Record, Vector};
use stop::{RefusalKind, Stop};

use crate::group::{apply, image_of};
use crate::{BlockMut, Layer};

/// What replaying did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Replayed {
    /// Vectors that were applied.
    pub applied: u64,
    /// Vectors whose block had the change already.
    pub skipped: u64,
}

/// What a test breaks on purpose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sabotage {
    /// As it should be.
    None,
    /// Replay doesn't ask whether a block has a change already.
    #[cfg(feature = "sabotage")]
    ApplyTwice,
}

impl Sabotage {
    fn applies_twice(self) -> bool {
        match self {
            Sabotage::None => false,
            #[cfg(feature = "sabotage")]
            Sabotage::ApplyTwice => true,
        }
    }
}

/// Does the changes of a record again, to the blocks that haven't got them. One vector after the
/// other: until recovery ends nobody else looks.
pub fn replay(
    record: &Record<'_>,
    layers: &[&'static Layer],
    cache: &Cache,
    sabotage: Sabotage,
    session: &Session,
) -> Result<Replayed, Stop> {
    let mut replayed = Replayed::default();
    for (number, vector) in (0..).zip(record.vectors()) {
        let layer = layers.iter().find(|layer| layer.number == vector.layer);
        let layer = layer.ok_or_else(|| refuse(record, &vector, "is of an unknown layer"))?;
        let pin = cache.pin(vector.address, session)?;
        if replay_vector((record, &vector, number), layer, &pin, sabotage, session)? {
            replayed.applied += 1;
        } else {
            replayed.skipped += 1;
        }
    }
    Ok(replayed)
}

fn replay_vector(
    (record, vector, number): (&Record<'_>, &Vector<'_>, u32),
    layer: &'static Layer,
    pin: &Pin<'_>,
    sabotage: Sabotage,
    session: &Session,
) -> Result<bool, Stop> {
    let mut block = pin.exclusive(layer.order, session);
    let header = BlockHeader::at(&block, 0);
    let found = (header.changed(), header.sequence());
    let (before, after) = ((vector.before_scn, vector.before_sequence), (record.scn, number));
    if found >= after && !sabotage.applies_twice() {
        // What a read shows needn't be durable (rule CH7): it is written again.
        block.will_change();
        return Ok(false);
    }
    if found != before && !sabotage.applies_twice() {
        let what = format!(
            "changes version {} of the block into {}, and the block has {}: a write of it was lost",
            version(before),
            version(after),
            version(found)
        );
        return Err(refuse(record, vector, &what));
    }
    block.will_change();
    let (address, scn) = (vector.address, record.scn);
    let bytes = block.bytes_for_apply();
    apply(layer, BlockMut { address, scn, bytes }, vector.opcode, vector.payload, number);
    if vector.image != 0 && vector.image != image_of(&block) {
        let what = format!(
            "doesn't give the block that it gave when it was made (layer {}, change {})",
            layer.name, vector.opcode
        );
        return Err(refuse(record, vector, &what));
    }
    Ok(true)
}

fn version((scn, sequence): (Scn, u32)) -> String {
    format!("{scn}.{sequence}")
}

fn refuse(record: &Record<'_>, vector: &Vector<'_>, what: &str) -> Stop {
    let message = format!(
        "cannot recover block {}: the redo at {} {what}; restore the data file from a good copy",
        vector.address, record.rba
    );
    Stop::refuse(RefusalKind::Corrupt, message)
}
