//! The races between threads that queue tasks and carriers that steal, sleep, wake and end: each model is tried in every
//! interleaving of its threads, up to a number of preemptions, and with every value that a relaxed load may see.
//!
//! A carrier that nobody wakes waits for ever, which is a deadlock that the model finds. Only the last task to be
//! done ends the carriers, so that no carrier is woken for another reason.
//!
//! If tasks are queued from within turns, there is one scout. It stands for the one of the two scouts that can be
//! stolen.

use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use loom::future::block_on;
use loom::sync::atomic::fence;
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread::{self, JoinHandle};

use super::{Look, NextTask, RunQueues};

/// What a task does when it has its turn, before it is done.
#[derive(Debug, Clone, Copy)]
enum Turn {
    Nothing,
    /// Spends the carrier's budget.
    Yield,
    /// Queues these tasks, then blocks its thread until the first of them is done.
    PushAndWait(&'static [usize]),
    /// Queues these tasks.
    Push(&'static [usize]),
    /// Blocks its thread until this task is done.
    WaitFor(usize),
}

/// Carriers, and tasks that are numbers: what each does is in `turns`.
struct Model {
    queues: RunQueues<usize>,
    turns: &'static [Turn],
    scout: Mutex<Option<Waker>>,
    done: Mutex<Vec<usize>>,
    one_more: Condvar,
}

impl Model {
    fn new(carriers: usize, turns: &'static [Turn]) -> Arc<Self> {
        Arc::new(Self {
            queues: RunQueues::new(carriers),
            turns,
            scout: Mutex::new(None),
            done: Mutex::new(Vec::new()),
            one_more: Condvar::new(),
        })
    }

    /// Lets the carriers from `first` on work, each on its own thread.
    fn start(model: &Arc<Self>, first: usize) -> Vec<JoinHandle<()>> {
        let start = |me| {
            let model = Arc::clone(model);
            thread::spawn(move || model.work(me))
        };
        (first..model.queues.carriers()).map(start).collect()
    }

    /// Lets a scout of carrier `of` look whenever it is told to.
    fn start_scout(model: &Arc<Self>, of: usize) -> JoinHandle<()> {
        let model = Arc::clone(model);
        thread::spawn(move || block_on(poll_fn(|cx| model.scout(of, cx))))
    }

    /// Like the dispatcher. If the dispatcher would start a spare, the scout takes the task itself.
    fn scout(&self, of: usize, cx: &Context<'_>) -> Poll<()> {
        *self.scout.lock().unwrap() = Some(cx.waker().clone());
        fence(Ordering::SeqCst);
        if self.queues.is_over() {
            return Poll::Ready(());
        }
        while self.queues.look(Some(of)) == Look::AllBusy {
            let Some(NextTask { task, .. }) = self.queues.take_any() else { break };
            self.turn(None, task);
        }
        Poll::Pending
    }

    fn tell_scout(&self) {
        let waker = self.scout.lock().unwrap().clone();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Like the dispatcher. A turn can spend the whole budget.
    fn work(&self, me: usize) {
        block_on(poll_fn(|cx| {
            if self.queues.begin(me) {
                self.tell_scout();
            }
            loop {
                match self.queues.next(me, cx) {
                    Poll::Ready(Some(NextTask { task, more })) => {
                        if more {
                            self.tell_scout();
                        }
                        self.turn(Some(me), task);
                        if matches!(self.turns[task], Turn::Yield) {
                            self.queues.yields(me);
                            cx.waker().wake_by_ref();
                            return Poll::Pending;
                        }
                    }
                    Poll::Ready(None) => return Poll::Ready(()),
                    Poll::Pending => return Poll::Pending,
                }
            }
        }));
    }

    fn turn(&self, me: Option<usize>, task: usize) {
        let push = |tasks: &[usize]| {
            for task in tasks {
                match me {
                    Some(me) => {
                        self.queues.push_here(me, *task).unwrap();
                        self.tell_scout();
                    }
                    None => {
                        self.queues.push_from_outside(None, *task).unwrap();
                    }
                }
            }
        };
        match self.turns[task] {
            Turn::Nothing | Turn::Yield => {}
            Turn::Push(tasks) => push(tasks),
            Turn::PushAndWait(tasks) => {
                push(tasks);
                self.wait_for(tasks[0]);
            }
            Turn::WaitFor(other) => self.wait_for(other),
        }
        let mut done = self.done.lock().unwrap();
        done.push(task);
        self.one_more.notify_all();
        if done.len() == self.turns.len() {
            drop(done);
            self.queues.end();
            fence(Ordering::SeqCst);
            self.tell_scout();
        }
    }

    fn wait_for(&self, task: usize) {
        let mut done = self.done.lock().unwrap();
        while !done.contains(&task) {
            done = self.one_more.wait(done).unwrap();
        }
    }

    /// Each once.
    fn assert_all_done(&self) {
        let mut done = self.done.lock().unwrap();
        done.sort_unstable();
        assert_eq!(*done, (0..self.turns.len()).collect::<Vec<_>>());
    }
}

/// For models with three threads that all wake each other, which take many minutes with two preemptions.
fn model_with_one_preemption(model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(1);
    builder.check(model);
}

fn join(threads: Vec<JoinHandle<()>>) {
    for thread in threads {
        thread.join().unwrap();
    }
}

#[test]
fn a_task_from_outside_reaches_a_carrier_that_goes_to_sleep() {
    loom::model(|| {
        let model = Model::new(2, &[Turn::Nothing; 1]);
        let carriers = Model::start(&model, 0);
        model.queues.push_from_outside(None, 0).unwrap();
        join(carriers);
        model.assert_all_done();
    });
}

#[test]
fn tasks_from_outside_reach_the_carrier_of_a_runtime_with_one_thread() {
    loom::model(|| {
        let model = Model::new(1, &[Turn::Nothing; 2]);
        let carriers = Model::start(&model, 0);
        model.queues.push_from_outside(None, 0).unwrap();
        model.queues.push_from_outside(None, 1).unwrap();
        join(carriers);
        model.assert_all_done();
    });
}

#[test]
fn a_task_from_outside_does_not_wait_behind_a_busy_carrier_while_another_sleeps() {
    loom::model(|| {
        let model = Model::new(2, &[Turn::WaitFor(1), Turn::Nothing]);
        model.queues.push_from_outside(None, 0).unwrap();
        let carriers = Model::start(&model, 0);
        model.queues.push_from_outside(None, 1).unwrap();
        join(carriers);
        model.assert_all_done();
    });
}

#[test]
fn a_task_does_not_wait_for_the_turn_that_queued_it_while_another_carrier_sleeps() {
    loom::model(|| {
        let model = Model::new(2, &[Turn::PushAndWait(&[1]), Turn::Nothing]);
        model.queues.push_from_outside(Some(0), 0).unwrap();
        let mut threads = Model::start(&model, 1);
        threads.push(Model::start_scout(&model, 0));
        model.work(0);
        join(threads);
        model.assert_all_done();
    });
}

#[test]
fn a_task_behind_another_does_not_wait_for_its_carrier_while_another_sleeps() {
    model_with_one_preemption(|| {
        let model = Model::new(2, &[Turn::Push(&[1, 2]), Turn::WaitFor(2), Turn::Nothing]);
        model.queues.push_from_outside(Some(0), 0).unwrap();
        let mut threads = Model::start(&model, 1);
        threads.push(Model::start_scout(&model, 0));
        model.work(0);
        join(threads);
        model.assert_all_done();
    });
}

/// As with `block_in_place`: the thread of the scout is one that tokio has added.
#[test]
fn a_task_does_not_wait_where_every_carrier_is_busy_and_a_thread_is_not() {
    loom::model(|| {
        let model = Model::new(1, &[Turn::PushAndWait(&[1]), Turn::Nothing]);
        model.queues.push_from_outside(None, 0).unwrap();
        let scout = Model::start_scout(&model, 0);
        model.work(0);
        scout.join().unwrap();
        model.assert_all_done();
    });
}

/// The scout of the first carrier may rely on the second one, which then blocks its thread.
#[test]
fn a_carrier_that_was_relied_on_looks_at_all_queues() {
    model_with_one_preemption(|| {
        let turns = &[Turn::PushAndWait(&[1]), Turn::Nothing, Turn::Yield, Turn::WaitFor(1)];
        let model = Model::new(2, turns);
        model.queues.carriers[0].push(0).unwrap();
        model.queues.carriers[1].push(2).unwrap();
        model.queues.carriers[1].push(3).unwrap();
        let mut threads = Model::start(&model, 1);
        threads.push(Model::start_scout(&model, 0));
        model.work(0);
        join(threads);
        model.assert_all_done();
    });
}

#[test]
fn two_tasks_from_outside_do_not_count_on_the_same_sleeper() {
    loom::model(|| {
        let queues = Arc::new(RunQueues::new(2));
        let sleepers = [0, 1].map(|me| {
            let woken = std::sync::Arc::new(Woken::default());
            assert!(queues.next(me, &Context::from_waker(&Waker::from(woken.clone()))).is_pending());
            woken
        });
        let other = Arc::clone(&queues);
        let sender = thread::spawn(move || other.push_from_outside(None, 0).unwrap());
        let woke_one = queues.push_from_outside(None, 1).unwrap();
        assert!(woke_one && sender.join().unwrap());
        assert!(sleepers.iter().all(|sleeper| sleeper.0.load(Ordering::SeqCst)), "one sleeps on");
    });
}

#[test]
fn a_sleeping_carrier_can_be_found() {
    loom::model(|| {
        let queues = Arc::new(RunQueues::new(2));
        let other = Arc::clone(&queues);
        let sender = thread::spawn(move || other.push_from_outside(None, 0).unwrap());
        let carrier = std::sync::Arc::new(Woken::default());
        while queues.next(1, &Context::from_waker(&Waker::from(carrier.clone()))).is_ready() {}
        sender.join().unwrap();
        let found = queues.sleeper(Some(1)) == Some(1);
        assert!(found || carrier.0.load(Ordering::SeqCst), "it sleeps and seems awake");
    });
}

/// Whether it was woken.
#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[test]
fn carriers_that_go_to_sleep_learn_that_it_is_over() {
    loom::model(|| {
        let model = Model::new(2, &[]);
        let carriers = Model::start(&model, 0);
        model.queues.end();
        join(carriers);
    });
}

#[test]
fn a_scout_learns_that_it_is_over() {
    loom::model(|| {
        let model = Model::new(1, &[]);
        let scout = Model::start_scout(&model, 0);
        model.queues.end();
        fence(Ordering::SeqCst);
        model.tell_scout();
        scout.join().unwrap();
    });
}

#[test]
fn carriers_do_what_came_before_the_end() {
    loom::model(|| {
        let model = Model::new(2, &[Turn::Push(&[1]), Turn::Nothing]);
        let carriers = Model::start(&model, 0);
        model.queues.push_from_outside(None, 0).unwrap();
        model.queues.end();
        join(carriers);
        model.assert_all_done();
    });
}

#[test]
fn what_comes_after_the_end_is_done_or_left() {
    loom::model(|| {
        let model = Model::new(2, &[Turn::Nothing; 2]);
        model.queues.push_from_outside(None, 0).unwrap();
        let carriers = Model::start(&model, 0);
        model.queues.end();
        model.queues.push_from_outside(None, 1).unwrap();
        join(carriers);
        // Like the last carrier when it ends.
        model.done.lock().unwrap().extend(model.queues.close());
        model.assert_all_done();
    });
}

#[test]
fn a_task_is_left_or_refused_when_the_queues_close() {
    loom::model(|| {
        let model = Model::new(2, &[Turn::Nothing; 2]);
        let other = Arc::clone(&model);
        let sender = thread::spawn(move || {
            let refused = (0..2).filter_map(|task| other.queues.push_from_outside(None, task).err());
            refused.collect::<Vec<_>>()
        });
        let mut ended: Vec<_> = model.queues.close().collect();
        ended.extend(sender.join().unwrap());
        ended.sort_unstable();
        assert_eq!(ended, [0, 1]);
    });
}
