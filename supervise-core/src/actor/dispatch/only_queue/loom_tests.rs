//! The races between threads that queue tasks and the only carrier, which takes them over, sleeps and ends.
//!
//! A carrier that nobody wakes waits for ever, which is a deadlock that the model finds. Only the last task to be
//! done ends the carrier, so that the carrier is not woken for another reason.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::task::{Context, Poll};

use loom::future::block_on;
use loom::sync::{Arc, Mutex};
use loom::thread;

use super::OnlyQueue;

/// Tasks that are numbers. Each pushes the tasks that `leads_to` names for it from its own turn.
struct Model {
    queue: OnlyQueue<usize>,
    leads_to: &'static [&'static [usize]],
    done: Mutex<Vec<usize>>,
}

impl Model {
    fn new(leads_to: &'static [&'static [usize]]) -> Arc<Self> {
        Arc::new(Self { queue: OnlyQueue::new(), leads_to, done: Mutex::new(Vec::new()) })
    }

    fn start(model: &Arc<Self>) -> thread::JoinHandle<()> {
        let model = Arc::clone(model);
        thread::spawn(move || block_on(poll_fn(|cx| model.poll(cx))))
    }

    /// Like the dispatcher, with a budget of one.
    fn poll(&self, cx: &Context<'_>) -> Poll<()> {
        let mut tasks = VecDeque::new();
        let rest = self.queue.take_all(&mut tasks, cx);
        let Some(task) = tasks.pop_front() else { return rest };
        tasks.extend(self.leads_to[task]);
        let mut done = self.done.lock().unwrap();
        done.push(task);
        if done.len() == self.leads_to.len() {
            self.queue.end();
        }
        drop(done);
        self.queue.give_back(&mut tasks);
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    fn assert_all_done_in_order(&self) {
        assert_eq!(*self.done.lock().unwrap(), (0..self.leads_to.len()).collect::<Vec<_>>());
    }
}

#[test]
fn tasks_from_outside_reach_the_carrier_in_their_order() {
    loom::model(|| {
        let model = Model::new(&[&[], &[]]);
        let carrier = Model::start(&model);
        model.queue.push(0).unwrap();
        model.queue.push(1).unwrap();
        carrier.join().unwrap();
        model.assert_all_done_in_order();
    });
}

#[test]
fn what_came_before_the_end_and_what_it_leads_to_is_done() {
    loom::model(|| {
        let model = Model::new(&[&[1], &[]]);
        let carrier = Model::start(&model);
        model.queue.push(0).unwrap();
        model.queue.end();
        carrier.join().unwrap();
        model.assert_all_done_in_order();
    });
}

#[test]
fn a_task_is_left_or_refused_when_the_queue_closes() {
    loom::model(|| {
        let queue = Arc::new(OnlyQueue::new());
        let other = Arc::clone(&queue);
        let sender = thread::spawn(move || (0..2).filter_map(|task| other.push(task).err()).collect::<Vec<_>>());
        let mut ended: Vec<_> = queue.close().into();
        ended.extend(sender.join().unwrap());
        ended.sort_unstable();
        assert_eq!(ended, [0, 1]);
    });
}
