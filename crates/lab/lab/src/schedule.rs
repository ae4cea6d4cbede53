//! How many rounds an experiment has, and of equals.
//!
//! Callers: `session`.

use experiment::{Plan, ROUNDS_MAX};
use stop::Stop;
use waits::Nanos;

use crate::Experiment;
use crate::alternate::Blocks;
use crate::session::invalid;

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

/// The time of settings that alternate, and what else of it would be taken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) budget: Nanos,
    /// The longest budget.
    pub(crate) longest: Nanos,
    /// Before the first block.
    pub(crate) warm_up: Nanos,
    pub(crate) blocks: Blocks,
    /// The shortest block.
    pub(crate) shortest: Nanos,
}

/// The plan of settings that alternate: as many rounds as the budget has room for.
pub(crate) fn alternating(span: &Span, settings: usize, seed: u64) -> Result<Plan, Stop> {
    let levels = levels(settings);
    let all = blocks_in(span, levels);
    let (equals, rounds) = (equals_of(all), rounds_of(all, levels));
    let block = span.blocks.length.as_secs_f64();
    let longest = (STRETCH_MAX.as_secs_f64() / block / 2.0).max(1.0) as u32;
    let together = u32::from(levels).min(equals);
    let stretches = (equals.div_ceil(longest * together).max(1) * together).min(equals);
    let plan = Plan { levels, rounds, equals, stretches, together, seed };
    plan.check().map_err(|_| {
        invalid(&format!(
            "{} has no room for two rounds of blocks of {}, with equals and a warm-up of {}: \
             choose {}",
            span.budget,
            span.blocks.length,
            span.warm_up,
            room(2, span, levels)
        ))
    })
}

/// The most rounds for which a budget has room; none of a plan of as many rounds as there can be.
pub(crate) fn most_rounds(span: &Span, settings: usize) -> Option<u32> {
    let (longest, levels) = (Span { budget: span.longest, ..*span }, levels(settings));
    Some(rounds_of(blocks_in(&longest, levels), levels)).filter(|rounds| *rounds < ROUNDS_MAX)
}

/// The blocks for which the budget has room, but no more than make a plan.
fn blocks_in(span: &Span, levels: u8) -> u32 {
    let seconds = span.budget.as_secs_f64() - span.warm_up.as_secs_f64();
    let most = f64::from(ROUNDS_MAX) * f64::from(levels) * 1.25;
    (seconds / span.blocks.length.as_secs_f64()).min(most) as u32
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
/// budget. What would be refused isn't advised.
pub(crate) fn room(rounds: u32, span: &Span, levels: u8) -> String {
    let warm_up = span.warm_up.as_secs_f64();
    let seconds = span.budget.as_secs_f64() - warm_up;
    let least = (1..).find(|blocks| rounds_of(*blocks, levels) >= rounds);
    let least = least.expect("some number has");
    // A plan rounds down, so what just fits may not.
    let all = f64::from(least) * span.blocks.length.as_secs_f64();
    let budget = (warm_up + all + 1e-6).ceil();
    let hundredths = (seconds / f64::from(least) * 100.0 - 1e-6).floor();
    let is_budget = budget <= span.longest.as_secs_f64();
    let is_block = hundredths / 100.0 >= span.shortest.as_secs_f64();
    let longer = is_budget.then(|| format!("--budget {budget}s or more"));
    let shorter = is_block.then(|| format!("--block {:.2} or less", hundredths / 100.0));
    let ways: Vec<String> = longer.into_iter().chain(shorter).collect();
    match ways.is_empty() {
        true => "a shorter warm-up or washout, or fewer settings".to_owned(),
        false => ways.join(", or "),
    }
}

fn levels(settings: usize) -> u8 {
    u8::try_from(settings).expect("a file has 26 at most")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Form;
    use crate::lengths::{BLOCK_LENGTHS, BUDGETS};

    /// Here, without a washout.
    fn span(seconds: u64, block_ms: u64) -> Span {
        let blocks = Blocks { length: Nanos::from_millis(block_ms), washout: Nanos::ZERO };
        Span {
            budget: Nanos::from_secs(seconds),
            longest: *BUDGETS.end(),
            warm_up: Form::modelled().warm_up,
            blocks,
            shortest: *BLOCK_LENGTHS.start(),
        }
    }

    fn in_blocks(seconds: u64, block_ms: u64, settings: usize) -> Plan {
        let span = Span { warm_up: Form::quick().warm_up, ..span(seconds, block_ms) };
        alternating(&span, settings, 1).expect("there is room")
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
        let plan =
            |seconds: u64, ms: u64, settings: usize| alternating(&span(seconds, ms), settings, 1);
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

    /// Else who does as is told is refused next: a model's hour (LB43), a washout that was given.
    #[test]
    fn what_would_be_refused_is_not_advised() {
        let refused = |span: Span| alternating(&span, 2, 1).expect_err("no room").to_string();
        let long = span(1_800, 1_200_000);
        assert!(refused(long).contains("choose --budget 7201s or more, or --block 299.96 or less"));
        let form = Form::modelled();
        let longest = form.longest_on_model();
        assert!(form.check_for_model(longest).is_ok());
        assert!(form.check_for_model(Nanos(longest.0 + 1)).is_err());
        let on_model = Span { longest, ..long };
        assert!(refused(on_model).contains("choose --block 299.96 or less"));
        let washed = Span { shortest: Nanos::from_secs(300), ..on_model };
        assert!(refused(washed).contains("choose a shorter warm-up or washout"));
    }

    /// So does the notice of a budget with fewer rounds than ever have an answer.
    #[test]
    fn a_budget_without_an_answer_says_how_much_may_have_one() {
        for levels in 2..=26 {
            let wanted = room(6, &span(9, 1_000), levels);
            let least = wanted.split("--budget ").nth(1).and_then(|of| of.split('s').next());
            let least: u64 = least.and_then(|of| of.parse().ok()).expect("a number of seconds");
            let rounds = |seconds: u64| {
                let span = span(seconds, 1_000);
                alternating(&span, levels.into(), 1).expect("room for two").rounds
            };
            assert!(rounds(least) >= 6 && rounds(least - 1) < 6, "{wanted}");
        }
    }

    /// As many as the longest budget has room for, whatever was asked for.
    #[test]
    fn no_more_rounds_are_possible_than_in_the_longest_budget() {
        for longest in [60, 3_600] {
            let of = Span { longest: Nanos::from_secs(longest), ..span(9, 1_000) };
            let plan = alternating(&span(longest, 1_000), 2, 1).expect("there is room");
            assert_eq!(most_rounds(&of, 2), Some(plan.rounds));
        }
        assert_eq!(most_rounds(&span(9, 20), 2), None, "a plan has no more");
    }

    /// A plan has an end before such a day has: its parts stay in proportion.
    #[test]
    fn a_day_of_short_blocks_has_as_many_rounds_as_a_plan_can_have() {
        let plan = in_blocks(86_400, 100, 2);
        assert_eq!(plan.rounds, ROUNDS_MAX);
        assert_eq!(plan.equals, ROUNDS_MAX / 4);
    }
}
