//! How many rounds an experiment has, and of equals.
//!
//! Callers: `session`.

use experiment::{Plan, ROUNDS_MAX};
use stop::Stop;
use waits::Nanos;

use crate::alternate::Blocks;
use crate::lengths::{BLOCK_LENGTHS, BUDGETS};
use crate::session::invalid;
use crate::{Experiment, Form};

/// Of the blocks of an alternating experiment, one in so many is for equals. With fewer a slow
/// effect is hardly seen, with more a difference is.
const EQUALS_EVERY: u32 = 5;
/// Equals make a stretch of each setting, and more where stretches would be longer than this.
const STRETCH_MAX: Nanos = Nanos::from_secs(30);

/// The plan of an experiment by restarts: by the numbers of its file.
pub(crate) fn by_restarts(experiment: &Experiment, seed: u64) -> Result<Plan, Stop> {
    let [rounds, equals] = experiment.rounds;
    let levels = levels(experiment.settings.len());
    let plan = Plan { levels, rounds, equals, stretches: equals, together: 1, seed };
    plan.check().map_err(|error| invalid(&error))
}

/// The same, of an experiment that goes on until it knows: in practice without an end.
pub(crate) fn going_on(plan: Plan) -> Plan {
    let times = ROUNDS_MAX / plan.rounds.max(plan.equals).max(1);
    let Plan { rounds, equals, stretches, .. } = plan;
    Plan { rounds: rounds * times, equals: equals * times, stretches: stretches * times, ..plan }
}

/// The plan of settings that alternate: as many rounds as the budget has room for.
pub(crate) fn alternating(
    budget: Nanos,
    blocks: Blocks,
    settings: usize,
    form: &Form,
    seed: u64,
) -> Result<Plan, Stop> {
    let levels = levels(settings);
    let block = blocks.length.as_secs_f64();
    let seconds = budget.as_secs_f64() - form.warm_up.as_secs_f64();
    // No more than make a plan.
    let most = f64::from(ROUNDS_MAX) * f64::from(levels) * 1.25;
    let all = (seconds / block).min(most) as u32;
    let (equals, rounds) = (equals_of(all), rounds_of(all, levels));
    let longest = (STRETCH_MAX.as_secs_f64() / block / 2.0).max(1.0) as u32;
    let together = u32::from(levels).min(equals);
    let stretches = (equals.div_ceil(longest * together).max(1) * together).min(equals);
    let plan = Plan { levels, rounds, equals, stretches, together, seed };
    plan.check().map_err(|_| {
        invalid(&format!(
            "{budget} has no room for two rounds of blocks of {}, with equals and a warm-up of \
             {}: choose {}",
            blocks.length,
            form.warm_up,
            room(2, budget, blocks.length, levels, form.warm_up)
        ))
    })
}

/// The rounds of equals among so many blocks.
fn equals_of(blocks: u32) -> u32 {
    (blocks / EQUALS_EVERY / 2).clamp(1, ROUNDS_MAX)
}

/// The rounds that compare among so many blocks.
fn rounds_of(blocks: u32, levels: u8) -> u32 {
    (blocks.saturating_sub(2 * equals_of(blocks)) / u32::from(levels)).min(ROUNDS_MAX)
}

/// What has room for so many rounds: a budget, of blocks of this length, or shorter blocks in this
/// budget.
pub(crate) fn room(rounds: u32, budget: Nanos, block: Nanos, levels: u8, warm_up: Nanos) -> String {
    let seconds = budget.as_secs_f64() - warm_up.as_secs_f64();
    let least = (1..).find(|blocks| rounds_of(*blocks, levels) >= rounds);
    let least = least.expect("some number has");
    // A plan rounds down, so what just fits may not.
    let all = f64::from(least) * block.as_secs_f64();
    let budget = (warm_up.as_secs_f64() + all + 1e-6).ceil();
    let hundredths = (seconds / f64::from(least) * 100.0 - 1e-6).floor();
    let is_day = budget <= BUDGETS.end().as_secs_f64();
    let is_block = hundredths / 100.0 >= BLOCK_LENGTHS.start().as_secs_f64();
    let longer = is_day.then(|| format!("--budget {budget}s or more"));
    let shorter = is_block.then(|| format!("--block {:.2} or less", hundredths / 100.0));
    let ways: Vec<String> = longer.into_iter().chain(shorter).collect();
    match ways.is_empty() {
        true => "a shorter warm-up, or fewer settings".to_owned(),
        false => ways.join(", or "),
    }
}

fn levels(settings: usize) -> u8 {
    u8::try_from(settings).expect("a file has 26 at most")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_blocks(seconds: u64, block_ms: u64, settings: usize) -> Plan {
        let length = Nanos::from_millis(block_ms);
        let blocks = Blocks { length, washout: Nanos(length.0 / 10) };
        let budget = Nanos::from_secs(seconds);
        alternating(budget, blocks, settings, &Form::quick(), 1).expect("there is room")
    }

    #[test]
    fn a_fifth_of_the_blocks_are_equals_in_long_stretches() {
        let plans = [(300, 1_000, 2), (300, 100, 2), (900, 1_000, 8), (86_400, 1_000, 2)];
        for (seconds, block_ms, settings) in plans {
            let plan = in_blocks(seconds, block_ms, settings);
            let share = f64::from(2 * plan.equals) / f64::from(plan.run_count());
            assert!((0.17..0.21).contains(&share), "{plan:?}");
            let stretch_ms = u64::from(2 * plan.equals / plan.stretches) * block_ms;
            assert!((20_000..=30_000).contains(&stretch_ms), "{plan:?}");
            assert!(plan.stretches.is_multiple_of(settings as u32), "{plan:?}");
        }
    }

    /// What is told to choose has room, and a second less has none.
    #[test]
    fn a_budget_without_room_says_how_much_has_room() {
        let blocks = |ms| Blocks { length: Nanos::from_millis(ms), washout: Nanos::ZERO };
        let plan = |seconds: u64, ms: u64, settings: usize| {
            let form = Form::modelled();
            alternating(Nanos::from_secs(seconds), blocks(ms), settings, &form, 1)
        };
        let refused = plan(3, 1_000, 2).expect_err("two rounds are 4 s").to_string();
        assert!(refused.contains("--budget 7s or more, or --block 0.46 or less"), "{refused}");
        assert!(plan(7, 1_000, 2).is_ok() && plan(6, 1_000, 2).is_err());
        assert!(plan(3, 460, 2).is_ok() && plan(3, 470, 2).is_err());
        // More than a day is no budget.
        let refused = plan(86_400, 3_600_000, 26).expect_err("52 h").to_string();
        assert!(refused.contains("choose --block ") && !refused.contains("--budget"), "{refused}");
        for settings in 2..=26 {
            let refused = plan(1, 1_000, settings).expect_err("no room").to_string();
            let least = refused.split("--budget ").nth(1).and_then(|of| of.split('s').next());
            let least: u64 = least.and_then(|of| of.parse().ok()).expect("a number of seconds");
            assert!(plan(least, 1_000, settings).is_ok(), "{refused}");
            assert!(plan(least - 1, 1_000, settings).is_err(), "{refused}");
        }
    }

    /// So does the notice of a budget with fewer rounds than ever have an answer.
    #[test]
    fn a_budget_without_an_answer_says_how_much_may_have_one() {
        let length = Nanos::from_secs(1);
        let blocks = Blocks { length, washout: Nanos::ZERO };
        let form = Form::modelled();
        for levels in 2..=26 {
            let wanted = room(6, Nanos::from_secs(9), length, levels, form.warm_up);
            let least = wanted.split("--budget ").nth(1).and_then(|of| of.split('s').next());
            let least: u64 = least.and_then(|of| of.parse().ok()).expect("a number of seconds");
            let rounds = |seconds: u64| {
                let budget = Nanos::from_secs(seconds);
                alternating(budget, blocks, levels.into(), &form, 1).expect("room for two").rounds
            };
            assert!(rounds(least) >= 6 && rounds(least - 1) < 6, "{wanted}");
        }
    }

    /// A plan has an end before such a day has: its parts stay in proportion.
    #[test]
    fn a_day_of_short_blocks_has_as_many_rounds_as_a_plan_can_have() {
        let plan = in_blocks(86_400, 100, 2);
        assert_eq!(plan.rounds, ROUNDS_MAX);
        assert_eq!(plan.equals, ROUNDS_MAX / 4);
    }
}
