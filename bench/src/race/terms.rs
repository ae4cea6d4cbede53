//! The terms of a race: what a reader has to know before its figures mean anything.
//!
//! Each race states them at the head of its file. They are printed before the race begins and go
//! into its JSON line, so a figure never travels without them.
//!
//! Callers: the races of `xbench race`, `run`, `line`.

use serde::{Deserialize, Serialize};

/// Four sentences or more, which together are one paragraph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terms<Text = &'static str> {
    /// What each side does, and which figure of it is compared.
    pub compared: Text,
    /// How the rival is built and set, and why that is its best.
    pub rival: Text,
    /// What is within the measured time, and what is outside, on both sides: warm-up, syncs,
    /// checkpoints, CPU time of the background.
    pub timed: Text,
    /// Which side gains where the two can't be made equal.
    pub favours: Text,
}

impl Terms {
    /// What holds for every race whose rival is another build of ours.
    pub(crate) const AGAINST_A_BUILD: Terms = Terms {
        compared: "Two builds of ours do the same work in turn, each on a database of its own.",
        rival: "The rival is the other build, with the settings of this one.",
        timed: "Both are timed as ours is in the race against its rival.",
        favours: "Neither side is favoured.",
    };

    /// The same, owned.
    pub fn to_owned(self) -> Terms<String> {
        Terms {
            compared: self.compared.into(),
            rival: self.rival.into(),
            timed: self.timed.into(),
            favours: self.favours.into(),
        }
    }
}

impl<Text: AsRef<str>> Terms<Text> {
    /// The paragraph.
    pub fn paragraph(&self) -> String {
        let parts = [&self.compared, &self.rival, &self.timed, &self.favours];
        parts.map(|part| part.as_ref()).join(" ")
    }
}
