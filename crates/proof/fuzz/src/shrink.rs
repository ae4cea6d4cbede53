//! The shortest script that does the same: acts are left out, then tokens of the acts that are
//! left, in parts that get smaller and smaller.
//!
//! Callers: the example `play`, which plays each try in a process of its own.
//! Source: Zeller and Hildebrandt, Simplifying and Isolating Failure-Inducing Input (TSE 2002).

use crate::script::{Act, Script};
use crate::tokens::tokens_of;

/// The shortest script that was found with at most so many tries and that still fails, as `fails`
/// says. What is given has failed.
pub fn shrink(script: Script, tries: usize, fails: &mut dyn FnMut(&[Act]) -> bool) -> Script {
    let mut tries = Tries { left: tries, fails };
    // What comes behind the act at which it fails isn't needed, and most of what comes before.
    let mut script = tries.without_parts(script, &|acts| acts.to_vec());
    for place in (0..script.len()).rev() {
        let act = script[place].clone();
        let tokens: Vec<String> = tokens_of(&act.text).into_iter().map(String::from).collect();
        let around = script.clone();
        let with = |tokens: &[String]| {
            let mut script = around.clone();
            script[place] = Act { text: tokens.concat(), ..act.clone() };
            script
        };
        let tokens = tries.without_parts(tokens, &with);
        script[place].text = tokens.concat();
    }
    script
}

struct Tries<'f> {
    left: usize,
    fails: &'f mut dyn FnMut(&[Act]) -> bool,
}

impl Tries<'_> {
    fn fails(&mut self, script: &[Act]) -> bool {
        let may = self.left > 0;
        self.left = self.left.saturating_sub(1);
        may && (self.fails)(script)
    }

    /// The parts without those that aren't needed for the script that they make to fail.
    fn without_parts<T: Clone>(&mut self, parts: Vec<T>, made: &dyn Fn(&[T]) -> Script) -> Vec<T> {
        let mut parts = parts;
        let mut size = parts.len().div_ceil(2).max(1);
        loop {
            // From the end on: what comes last is needed least.
            let mut end = parts.len();
            while end > 0 {
                let begin = end.saturating_sub(size);
                let mut fewer = parts[..begin].to_vec();
                fewer.extend_from_slice(&parts[end..]);
                if self.fails(&made(&fewer)) {
                    parts = fewer;
                }
                end = begin;
            }
            if size == 1 || self.left == 0 {
                return parts;
            }
            size = size.div_ceil(2);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_needed_is_left_out() {
        let script: Script = (0..100)
            .map(|n| match n {
                13 => Act::text("create table t (a int, b text)"),
                70 => Act::text("select a, b, repeat('x', 3) from t where a = 1 order by b"),
                n => Act::text(format!("select {n}")),
            })
            .collect();
        let mut asked = 0;
        let mut fails = |script: &[Act]| {
            asked += 1;
            let has = |words: &str| script.iter().position(|act| act.text.contains(words));
            has("create table").zip(has("repeat")).is_some_and(|(made, used)| made < used)
        };
        let small = shrink(script, 1_000, &mut fails);
        assert_eq!(small, [Act::text("create table"), Act::text("repeat")]);
        assert!(asked < 300, "{asked}");
    }

    #[test]
    fn without_tries_nothing_is_left_out() {
        let script = vec![Act::text("select 1"), Act::text("select 2")];
        assert_eq!(shrink(script.clone(), 0, &mut |_| true), script);
    }
}
