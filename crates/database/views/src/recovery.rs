//! How much a recovery would have to do, and waits for latches by kind.

use instance::RecoveryAhead;
use latch::LatchKind;
use stop::Stop;
use value::Value;
use waits::Statistic;

use crate::Engine;
use crate::cells::{count, micros};
use crate::view::{Give, View, double, int, text};

pub(crate) const VIEWS: &[View] = &[
    View::new(
        "v$instance_recovery",
        "one row: what a recovery would have to do if the instance stopped now",
        &[
            int("recovery_estimated_ios", "dirty blocks, which recovery would read and write"),
            int("actual_redo_blks", "redo blocks from the checkpoint to the end"),
            int("log_file_size_redo_blks", "redo blocks of the largest log"),
            int("log_chkpt_interval_redo_blks", "log_checkpoint_interval; NULL: no bound"),
            int("target_mttr", "fast_start_mttr_target in seconds; 0: no bound"),
            double("estimated_mttr", "the estimated seconds of the recovery"),
            int("ckpt_block_writes", "blocks that were written for checkpoints"),
            int("writes_other", "blocks that were written to make buffers free"),
        ],
        recovery,
    )
    .expecting(1),
    View::new(
        "v$latch",
        "one row for each kind of latch: gets that had to wait. Gets that don't aren't counted",
        &[
            int("latch#", "its rank: latches are taken in this order"),
            int("level#", "its rank again"),
            text("name", "its name"),
            text("event", "the event of a wait for it"),
            int("sleeps", "gets that had to wait"),
            int("wait_time", "microseconds of these waits"),
            text("meaning", "what it guards"),
        ],
        latches,
    ),
];

fn recovery(engine: &Engine<'_>, give: &mut Give<'_>) -> Result<(), Stop> {
    let (instance, session) = (engine.instance, engine.session);
    let parameters = instance.parameters_shown(session);
    let RecoveryAhead { redo_blocks, dirty_blocks, log_blocks, estimate } =
        instance.recovery_ahead(session);
    let totals = session.os().totals();
    let written = totals.statistic(Statistic::PhysicalWrites);
    let made_free = totals.statistic(Statistic::PhysicalWritesNonCheckpoint);
    let interval = parameters.log_checkpoint_interval;
    give(&[
        count(dirty_blocks),
        count(redo_blocks),
        count(log_blocks),
        if interval == 0 { Value::Null } else { count(interval) },
        count(parameters.fast_start_mttr_target),
        Value::Double(estimate.as_secs_f64()),
        count(written.saturating_sub(made_free)),
        count(made_free),
    ])
}

fn latches(engine: &Engine<'_>, give: &mut Give<'_>) -> Result<(), Stop> {
    let totals = engine.session.os().totals();
    LatchKind::ALL.iter().try_for_each(|kind| {
        let info = kind.info();
        let waits = totals.event(info.event);
        give(&[
            count(info.number),
            count(info.number),
            Value::Text(info.name),
            Value::Text(info.event.name()),
            count(waits.count),
            micros(waits.total),
            Value::Text(info.meaning),
        ])
    })
}
