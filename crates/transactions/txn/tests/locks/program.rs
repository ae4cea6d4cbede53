//! Random programs, a step at a time. After each step every session does what the model says: it
//! goes on or waits, has the modes that it should have, and is refused exactly if it closes a
//! cycle.

use std::sync::Arc;

use ids::TxnId;
use latch::Signal;
use os::Session;
use sim::{Failure, Outside, World};
use stop::{Failpoints, Stop};
use testbed::{Dice, pause};
use txn::{LockWait, TableMode};
use waits::{Nanos, WaitEvent};

use crate::common::{Bed, SETTLED, racy_with, settle, start};
use crate::model::{Manner, Model, Outcome, Step};

const STEPS: u64 = 120;

/// The number of steps between two times at which time passes, at most: waits with a limit aren't
/// over by then.
const STEPS_IN_A_WHILE: u64 = 8;
const A_WHILE: Nanos = Nanos(SETTLED.0 * STEPS_IN_A_WHILE * 4);

/// What the driver and a user tell each other.
struct Post {
    signal: Signal,
    step: Outside<Option<Step>>,
    /// None while the user works on it.
    outcome: Outside<Option<Outcome>>,
    /// The user's present transaction.
    id: Outside<TxnId>,
    text: Outside<String>,
}

/// A user: it makes the steps that it is told, until it is told none.
fn user(bed: &Bed, number: usize, posts: &[Post], session: &Session) {
    let post = &posts[number];
    loop {
        post.signal.wait(session.waiting(WaitEvent::RdbmsIpcMessage), None);
        let Some(step) = post.step.take() else { return };
        let id = post.id.with(|id| *id);
        let done = match step {
            Step::Lock(table, mode, manner) => {
                let mode = TableMode::ALL[usize::from(mode - 2)];
                bed.locks.lock_table(id, table as u32, mode, lock_wait(manner), session)
            }
            Step::Await(other, manner) => {
                let holder = posts[other].id.with(|id| *id);
                bed.await_end(holder, id, lock_wait(manner), session)
            }
            Step::End => {
                bed.end(id, session);
                let next = bed.begin(number as u16, session);
                post.id.with(|id| *id = next);
                Ok(())
            }
        };
        let outcome = done.map_err(|stop: Stop| {
            post.text.with(|text| *text = stop.to_string());
            stop.refusal().expect("nobody halts")
        });
        post.outcome.with(|last| *last = Some(outcome));
    }
}

fn lock_wait(manner: Manner) -> LockWait {
    match manner {
        Manner::Patient => LockWait::Forever,
        Manner::AWhile => LockWait::For(A_WHILE),
        Manner::NoWait => LockWait::NoWait,
    }
}

struct Driver {
    bed: Arc<Bed>,
    posts: Arc<Vec<Post>>,
    model: Model,
}

impl Driver {
    fn tell(&mut self, user: usize, step: Step, session: &Session) {
        self.posts[user].outcome.with(|outcome| *outcome = None);
        self.posts[user].step.with(|place| *place = Some(step));
        self.posts[user].signal.post(session);
        settle(session);
        self.model.step(user, step);
        self.compare(&format!("user {user}: {step:?}"), session);
        if self.model.outcomes[user] == Some(Err(stop::RefusalKind::Deadlock)) {
            let text = self.posts[user].text.with(|text| text.clone());
            assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        }
    }

    fn time_passes(&mut self, session: &Session) {
        pause(Nanos(A_WHILE.0 * 2), session);
        self.model.time_passes();
        self.compare("time passes", session);
    }

    fn compare(&self, after: &str, session: &Session) {
        for (user, post) in self.posts.iter().enumerate() {
            let outcome = post.outcome.with(|outcome| *outcome);
            assert_eq!(outcome, self.model.outcomes[user], "user {user} after {after}");
        }
        let held = self.bed.locks.held(session);
        let held = held.iter().map(|held| {
            (usize::from(held.owner.segment), held.object as usize, held.mode.number())
        });
        assert_eq!(held.collect::<Vec<_>>(), self.model.held(), "after {after}");
        let waiting = self.bed.locks.waiting(session);
        let waiters: Vec<_> = waiting.iter().map(|one| usize::from(one.waiter.segment)).collect();
        let users = 0..self.posts.len();
        let expected: Vec<_> = users.filter(|user| self.model.waits(*user)).collect();
        assert_eq!(waiters, expected, "after {after}");
        for one in waiting {
            let blockers = self.model.blockers(one.waiter.segment.into());
            assert!(!one.blockers.is_empty());
            for blocker in one.blockers {
                assert!(blockers.contains(&blocker.segment.into()), "after {after}");
            }
        }
    }
}

fn drive(world: &World, session: &Session, seed: u64, failpoints: Failpoints) -> u64 {
    let mut dice = Dice(seed);
    let (users, tables) = (2 + dice.below(7) as usize, 1 + dice.below(3) as usize);
    let bed = Bed::broken_at(world.os(), users as u16, failpoints, session);
    let post = |number| Post {
        signal: Signal::new(world.os()),
        step: Outside::new(None),
        outcome: Outside::new(Some(Ok(()))),
        id: Outside::new(bed.begin(number, session)),
        text: Outside::default(),
    };
    let posts: Arc<Vec<Post>> = Arc::new((0..users as u16).map(post).collect());
    let threads: Vec<_> = (0..users)
        .map(|number| {
            let posts = Arc::clone(&posts);
            let name = format!("user{number}");
            start(&name, &bed, session, move |bed, session| user(bed, number, &posts, session))
        })
        .collect();
    let mut driver = Driver { bed, posts, model: Model::new(users, tables) };
    for number in 0..STEPS {
        let ready: Vec<_> = (0..users).filter(|user| !driver.model.waits(*user)).collect();
        assert!(!ready.is_empty(), "all wait");
        let user = dice.one_of(&ready);
        let step = random_step(&mut dice, user, users, tables);
        driver.tell(user, step, session);
        if number % STEPS_IN_A_WHILE == STEPS_IN_A_WHILE - 1 && driver.model.anybody_is_impatient()
        {
            driver.time_passes(session);
        }
    }
    for _ in 0..users {
        for user in 0..users {
            if !driver.model.waits(user) {
                driver.tell(user, Step::End, session);
            }
        }
    }
    assert!((0..users).all(|user| !driver.model.waits(user)), "somebody waits for ever");
    assert_eq!(driver.bed.locks.tables_watched(session), 0);
    driver.posts.iter().for_each(|post| post.signal.post(session));
    threads.into_iter().for_each(|thread| thread.join(session).expect("no panic"));
    driver.model.deadlocks
}

fn random_step(dice: &mut Dice, user: usize, users: usize, tables: usize) -> Step {
    let manners = [Manner::Patient, Manner::AWhile];
    let manner = if dice.below(8) == 0 { Manner::NoWait } else { dice.one_of(&manners) };
    let table = dice.below(tables as u64) as usize;
    match dice.below(18) {
        0..10 => Step::Lock(table, dice.one_of(&[2, 3, 3, 3, 4, 5, 6]), manner),
        10..15 => {
            let other = (user + 1 + dice.below(users as u64 - 1) as usize) % users;
            Step::Await(other, manner)
        }
        _ => Step::End,
    }
}

/// Runs a program against the model. Returns the number of deadlocks.
pub(crate) fn run(seed: u64, failpoints: Failpoints) -> Result<u64, Failure> {
    let simulation = racy_with(seed, failpoints);
    simulation.run(move |world, session| drive(world, session, seed, failpoints)).result
}

/// Tables, rows, conversions and limited waits of two to eight sessions: each waits and goes on
/// when the model says, and a wait is refused exactly if it closes a cycle.
#[test]
fn sessions_wait_go_on_and_are_refused_as_in_the_model() {
    let mut deadlocks = 0;
    for seed in 0..400 {
        let ran = run(seed, Failpoints::NONE);
        deadlocks += ran.unwrap_or_else(|failure| panic!("seed {seed}: {failure}"));
    }
    println!("{deadlocks} deadlocks in 400 programs of {STEPS} steps");
    assert!(deadlocks >= 1000, "{deadlocks} deadlocks only: the programs test nothing");
}
