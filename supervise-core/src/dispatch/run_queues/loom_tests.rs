//! The races between those who queue tasks and workers that steal, go to sleep, wake and end: each model is tried in every
//! interleaving of its threads, up to a number of preemptions, and with every value that a relaxed load may see.
//!
//! A worker that nobody wakes waits for ever, which is a deadlock that the model finds. So that nobody is woken for
//! another reason, the last task to be done ends the workers, and no one else does.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use loom::future::block_on;
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread::{self, JoinHandle};

use super::RunQueues;

/// What a task does when it has its turn, before it is done.
#[derive(Debug, Clone, Copy)]
enum Turn {
    Nothing,
    /// Queues these tasks, then blocks its thread until the first of them is done.
    PushAndWait(&'static [usize]),
    /// Queues these tasks.
    Push(&'static [usize]),
    /// Blocks its thread until this task is done.
    WaitFor(usize),
}

/// Workers, and tasks that are numbers: what each does is in `turns`.
struct Model {
    queues: RunQueues<usize>,
    turns: &'static [Turn],
    done: Mutex<Vec<usize>>,
    one_more: Condvar,
}

impl Model {
    fn new(workers: usize, turns: &'static [Turn]) -> Arc<Self> {
        let (done, one_more) = (Mutex::new(Vec::new()), Condvar::new());
        Arc::new(Self { queues: RunQueues::new(workers), turns, done, one_more })
    }

    /// Lets the workers from `first` on work, each on its own thread.
    fn start(model: &Arc<Self>, first: usize) -> Vec<JoinHandle<()>> {
        let start = |me| {
            let model = Arc::clone(model);
            thread::spawn(move || model.work(me))
        };
        (first..model.queues.workers()).map(start).collect()
    }

    /// As the dispatcher does, with a budget that is never spent.
    fn work(&self, me: usize) {
        block_on(poll_fn(|cx| {
            if self.queues.workers() == 1 {
                return self.work_alone(cx);
            }
            self.queues.rise(me);
            loop {
                match self.queues.next(me, cx) {
                    Poll::Ready(Some(task)) => self.turn(me, task),
                    Poll::Ready(None) => return Poll::Ready(()),
                    Poll::Pending => return Poll::Pending,
                }
            }
        }));
    }

    fn work_alone(&self, cx: &Context<'_>) -> Poll<()> {
        let mut tasks = VecDeque::new();
        let over = self.queues.take_all(&mut tasks, cx);
        // With a budget of one.
        if let Some(task) = tasks.pop_front() {
            self.turn(0, task);
        }
        if tasks.is_empty() {
            return over;
        }
        self.queues.give_back(&mut tasks);
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    fn turn(&self, me: usize, task: usize) {
        let push = |tasks: &[usize]| tasks.iter().for_each(|task| self.queues.push_here(me, *task).unwrap());
        match self.turns[task] {
            Turn::Nothing => {}
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
            self.queues.end();
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

fn join(threads: Vec<JoinHandle<()>>) {
    for thread in threads {
        thread.join().unwrap();
    }
}

#[test]
fn a_task_from_outside_reaches_the_only_worker() {
    loom::model(|| {
        let model = Model::new(1, &[Turn::Nothing; 2]);
        let workers = Model::start(&model, 0);
        model.queues.push_from_outside(0).unwrap();
        model.queues.push_from_outside(1).unwrap();
        join(workers);
        model.assert_all_done();
    });
}

#[test]
fn a_task_from_outside_reaches_a_worker_that_goes_to_sleep() {
    loom::model(|| {
        let model = Model::new(2, &[Turn::Nothing; 1]);
        let workers = Model::start(&model, 0);
        model.queues.push_from_outside(0).unwrap();
        join(workers);
        model.assert_all_done();
    });
}

#[test]
fn a_task_from_outside_does_not_wait_behind_a_busy_worker_while_another_sleeps() {
    loom::model(|| {
        let model = Model::new(2, &[Turn::WaitFor(1), Turn::Nothing]);
        model.queues.push_from_outside(0).unwrap();
        let workers = Model::start(&model, 0);
        model.queues.push_from_outside(1).unwrap();
        join(workers);
        model.assert_all_done();
    });
}

#[test]
fn a_task_behind_the_next_does_not_wait_for_its_worker_while_another_sleeps() {
    loom::model(|| {
        let model = Model::new(2, &[Turn::PushAndWait(&[1, 2]), Turn::Nothing, Turn::Nothing]);
        model.queues.push_from_outside(0).unwrap();
        let workers = Model::start(&model, 1);
        model.work(0);
        join(workers);
        model.assert_all_done();
    });
}

#[test]
fn a_stolen_task_does_not_wait_for_the_thief_while_another_sleeps() {
    loom::model(|| {
        let turns = &[Turn::Push(&[1, 2, 3]), Turn::WaitFor(2), Turn::Nothing, Turn::Nothing];
        let model = Model::new(2, turns);
        model.queues.push_from_outside(0).unwrap();
        let workers = Model::start(&model, 1);
        model.work(0);
        join(workers);
        model.assert_all_done();
    });
}

/// A worker that goes to sleep is never counted off before it is counted, which would hide the other.
#[test]
fn a_sleeper_is_seen_while_another_is_claimed() {
    loom::model(|| {
        let queues = Arc::new(RunQueues::new(3));
        let sleeper = std::sync::Arc::new(Woken::default());
        assert!(queues.next(2, &Context::from_waker(&Waker::from(sleeper.clone()))).is_pending());
        // What comes from outside while nobody sleeps goes to the second.
        queues.next.store(1, Ordering::SeqCst);
        let other = Arc::clone(&queues);
        // From a worker that is busy ever after.
        let busy = thread::spawn(move || {
            other.push_here(0, 0).unwrap();
            other.push_here(0, 1).unwrap();
            other.push_from_outside(2).unwrap();
        });
        let second = std::sync::Arc::new(Woken::default());
        // Busy ever after too, if it has something to do.
        let _turn = queues.next(1, &Context::from_waker(&Waker::from(second.clone())));
        busy.join().unwrap();
        let behind = queues.workers[0].lock().tasks.len().saturating_sub(1) + queues.workers[1].lock().tasks.len();
        let woken = [sleeper, second].iter().filter(|worker| worker.0.load(Ordering::SeqCst)).count();
        assert!(behind <= woken, "{behind} wait, {woken} come");
    });
}

#[test]
fn two_tasks_do_not_count_on_the_same_sleeper() {
    loom::model(|| {
        let queues = Arc::new(RunQueues::new(3));
        let sleepers = [1, 2].map(|me| {
            let woken = std::sync::Arc::new(Woken::default());
            assert!(queues.next(me, &Context::from_waker(&Waker::from(woken.clone()))).is_pending());
            woken
        });
        let other = Arc::clone(&queues);
        let sender = thread::spawn(move || other.push_from_outside(0).unwrap());
        queues.push_here(0, 1).unwrap();
        queues.push_here(0, 2).unwrap();
        sender.join().unwrap();
        assert!(sleepers.iter().all(|sleeper| sleeper.0.load(Ordering::SeqCst)), "one sleeps on");
    });
}

#[test]
fn who_sleeps_can_be_found() {
    loom::model(|| {
        let queues = Arc::new(RunQueues::new(2));
        let other = Arc::clone(&queues);
        let sender = thread::spawn(move || other.push_from_outside(0).unwrap());
        while queues.next(1, &Context::from_waker(Waker::noop())).is_ready() {}
        sender.join().unwrap();
        let worker = &queues.workers[1];
        let unwoken = worker.lock().waker.is_some();
        assert!(!unwoken || worker.asleep.load(Ordering::SeqCst), "it sleeps and seems awake");
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
fn workers_that_go_to_sleep_learn_that_it_is_over() {
    loom::model(|| {
        let model = Model::new(2, &[]);
        let workers = Model::start(&model, 0);
        model.queues.end();
        join(workers);
    });
}

#[test]
fn the_only_worker_does_what_came_before_the_end() {
    loom::model(|| {
        let model = Model::new(1, &[Turn::Push(&[1]), Turn::Nothing]);
        let workers = Model::start(&model, 0);
        model.queues.push_from_outside(0).unwrap();
        model.queues.end();
        join(workers);
        model.assert_all_done();
    });
}

#[test]
fn workers_do_what_came_before_the_end() {
    loom::model(|| {
        let model = Model::new(2, &[Turn::Push(&[1]), Turn::Nothing]);
        let workers = Model::start(&model, 0);
        model.queues.push_from_outside(0).unwrap();
        model.queues.end();
        join(workers);
        model.assert_all_done();
    });
}

#[test]
fn what_comes_after_the_end_is_done_or_left() {
    loom::model(|| {
        let model = Model::new(2, &[Turn::Nothing; 2]);
        model.queues.push_from_outside(0).unwrap();
        let workers = Model::start(&model, 0);
        model.queues.end();
        model.queues.push_from_outside(1).unwrap();
        join(workers);
        // As the last worker does when it goes.
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
            let refused = (0..2).filter_map(|task| other.queues.push_from_outside(task).err());
            refused.collect::<Vec<_>>()
        });
        let mut ended: Vec<_> = model.queues.close().collect();
        ended.extend(sender.join().unwrap());
        ended.sort_unstable();
        assert_eq!(ended, [0, 1]);
    });
}
