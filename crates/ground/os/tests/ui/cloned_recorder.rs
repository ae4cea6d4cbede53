//! An account has one writer.
use waits::Recorder;

fn second_hand(recorder: &Recorder) -> Recorder {
    recorder.clone()
}

fn main() {}
