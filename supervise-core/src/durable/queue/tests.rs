//! Queues on their own: what is pushed, and in which order.

use super::*;

fn fresh(window: usize) -> Queue {
    Queue::claimed(window, 3, Seq(0), Seq(0), None, false)
}

fn seen(numbers: impl IntoIterator<Item = u64>) -> Vec<Seen> {
    numbers.into_iter().map(|seq| Seen { seq: Seq(seq), crashes: 0, is_damaged: false }).collect()
}

fn pushed(fed: &[Fed]) -> Vec<u64> {
    let number = |fed: &Fed| match fed {
        Fed::Push(seq) | Fed::Try(seq) => Some(seq.0),
        _ => None,
    };
    fed.iter().filter_map(number).collect()
}

#[test]
fn what_has_room_goes_into_the_lane_and_the_rest_is_read() {
    let mut queue = fresh(2);
    assert_eq!([1, 2, 3, 4].map(|seq| queue.committed(Seq(seq))), [true, true, false, false]);
    assert_eq!(queue.wants(), None, "the window is full");
    queue.end(Seq(1));
    let wanted = queue.wants().expect("there is room for one");
    assert_eq!(wanted, Wanted { after: Seq(2), messages: 1 });
    assert!(!queue.committed(Seq(5)), "others wait before it");
    assert_eq!(pushed(&queue.page(wanted, &seen([3]), true)), [3]);
    assert_eq!(queue.handled(), Seq(1));
    queue.end(Seq(3));
    assert_eq!(queue.handled(), Seq(1), "2 is still open");
    queue.end(Seq(2));
    assert_eq!(queue.handled(), Seq(3));
    let wanted = queue.wants().expect("4 and 5 wait");
    assert_eq!(pushed(&queue.page(wanted, &seen([4, 5]), true)), [4, 5]);
    assert!(queue.has_pushed(Seq(5)));
}

#[test]
fn what_is_given_back_comes_again_and_nothing_else_does() {
    let mut queue = fresh(8);
    assert!((1..=4).all(|seq| queue.committed(Seq(seq))));
    queue.end(Seq(1));
    queue.give_back(Seq(2));
    queue.end(Seq(3));
    assert!(!queue.committed(Seq(5)), "2 comes first");
    let wanted = queue.wants().expect("2 waits");
    assert_eq!(wanted.after, Seq(1));
    assert_eq!(pushed(&queue.page(wanted, &seen([2, 3, 4, 5]), true)), [2, 5]);
    assert_eq!(queue.handled(), Seq(1));
}

#[test]
fn what_is_given_back_while_a_page_is_read_comes_before_the_page() {
    let mut queue = fresh(8);
    assert!((1..=8).all(|seq| queue.committed(Seq(seq))));
    assert!(!queue.committed(Seq(9)));
    (1..=4).for_each(|seq| queue.end(Seq(seq)));
    let wanted = queue.wants().expect("9 waits");
    queue.give_back(Seq(5));
    assert_eq!(queue.page(wanted, &seen([9]), true), []);
    assert_eq!(queue.handled(), Seq(4), "5 was not handled");
    let wanted = queue.wants().expect("5 waits");
    assert_eq!(pushed(&queue.page(wanted, &seen([5, 6, 7, 8, 9]), true)), [5, 9]);
}

#[test]
fn a_retried_message_is_read_in_its_turn() {
    let mut queue = fresh(1);
    assert!(queue.committed(Seq(1)));
    queue.note_retried(Seq(2));
    assert!(!queue.committed(Seq(3)), "2 comes first");
    queue.end(Seq(1));
    assert_eq!(queue.handled(), Seq(1));
    let wanted = queue.wants().expect("2 waits");
    assert_eq!(pushed(&queue.page(wanted, &seen([2]), true)), [2]);
    queue.end(Seq(2));
    assert_eq!(queue.wants(), Some(Wanted { after: Seq(2), messages: 1 }));
}

#[test]
fn nothing_passes_a_control() {
    let mut queue = Queue::claimed(4, 3, Seq(3), Seq(0), None, true);
    queue.stop_at(Some(Seq(3)));
    assert!(!queue.committed(Seq(4)));
    let wanted = queue.wants().expect("there is a backlog");
    assert_eq!(pushed(&queue.page(wanted, &seen([1, 2, 3, 4]), true)), [1, 2, 3]);
    assert!(queue.has_pushed(Seq(3)));
    (1..=3).for_each(|seq| queue.end(Seq(seq)));
    assert_eq!(queue.wants(), None);
    queue.stop_at(None);
    let wanted = queue.wants().expect("4 waits");
    assert_eq!(pushed(&queue.page(wanted, &seen([4]), true)), [4]);
}

#[test]
fn a_queue_without_messages_passes_its_gaps() {
    let mut queue = Queue::claimed(4, 3, Seq(9), Seq(0), None, true);
    let wanted = queue.wants().expect("the store says that something waits");
    assert_eq!(queue.page(wanted, &[], true), []);
    assert!(queue.committed(Seq(10)));
}

#[test]
fn what_an_earlier_process_handled_is_forgotten() {
    let mut queue = Queue::claimed(4, 3, Seq(3), Seq(2), None, true);
    let wanted = queue.wants().expect("there is a backlog");
    let fed = queue.page(wanted, &seen([1, 2, 3]), true);
    assert_eq!(fed, [Fed::Forget(Seq(1)), Fed::Forget(Seq(2)), Fed::Push(Seq(3))]);
}

#[test]
fn what_was_under_way_is_charged_before_it_is_tried() {
    let mut queue = Queue::claimed(4, 2, Seq(2), Seq(0), Some(Seq(1)), true);
    let wanted = queue.wants().expect("there is a backlog");
    assert_eq!(queue.page(wanted, &seen([1, 2]), true), [Fed::Charge(Seq(1))]);
    let again = [Seen { crashes: 1, ..seen([1])[0] }, seen([2])[0]];
    let wanted = queue.wants().expect("it is read again");
    assert_eq!(queue.page(wanted, &again, false), [], "another suspect is tried");
    assert!(queue.is_held() && queue.wants().is_none());
    queue.let_in();
    let wanted = queue.wants().expect("it may be tried");
    assert_eq!(queue.page(wanted, &again, true), [Fed::Try(Seq(1)), Fed::Push(Seq(2))]);
}

#[test]
fn the_message_that_killed_the_process_too_often_is_never_pushed() {
    let mut queue = Queue::claimed(4, 2, Seq(2), Seq(0), Some(Seq(1)), true);
    let page = [Seen { crashes: 1, ..seen([1])[0] }, seen([2])[0]];
    let wanted = queue.wants().expect("there is a backlog");
    assert_eq!(queue.page(wanted, &page, true), [Fed::Crashed(Seq(1)), Fed::Push(Seq(2))]);
    assert_eq!(queue.handled(), Seq(0), "not before the quarantine is durable");
    queue.end(Seq(1));
    assert_eq!(queue.handled(), Seq(1));
}

#[test]
fn a_batch_that_was_under_way_is_charged_before_anything_is_tried() {
    let queue = Queue::claimed(8, 2, Seq(9), Seq(1), Some(Seq(4)), true);
    let alone = queue.clone();
    let mut queue = queue.of_batches();
    let wanted = queue.wants().expect("there is a backlog");
    let page = seen([2, 3, 4, 5]);
    assert_eq!(queue.page(wanted, &page, true), [2, 3, 4].map(|seq| Fed::Charge(Seq(seq))));
    let charged = |seq: u64, crashes| Seen { crashes, ..seen([seq])[0] };
    let again = [charged(2, 1), charged(3, 1), charged(4, 1), charged(5, 0)];
    let wanted = queue.wants().expect("they are read again");
    assert_eq!(queue.page(wanted, &again, true), [Fed::Try(Seq(2))], "nothing passes 3, which is not tried yet");
    assert!(queue.may_have_begun(Seq(4)) && !queue.may_have_begun(Seq(5)));
    // An actor that does not handle batches had one of them under way, and had set the others aside.
    let mut queue = alone;
    let wanted = queue.wants().expect("there is a backlog");
    let fed = queue.page(wanted, &page, true);
    assert_eq!(fed, [Fed::Push(Seq(2)), Fed::Push(Seq(3)), Fed::Charge(Seq(4))]);
    assert!(queue.may_have_begun(Seq(3)), "it may have been handled since the last group");
}

#[test]
fn a_batch_of_which_some_have_been_charged_too_often_loses_none() {
    let mut queue = Queue::claimed(8, 2, Seq(4), Seq(0), Some(Seq(3)), true).of_batches();
    let charged = |seq: u64, crashes| Seen { crashes, ..seen([seq])[0] };
    let wanted = queue.wants().expect("there is a backlog");
    let page = [charged(1, 0), charged(2, 1), charged(3, 0), charged(4, 0)];
    assert_eq!(queue.page(wanted, &page, true), [Fed::Charge(Seq(1))]);
    let page = [charged(1, 1), charged(2, 1), charged(3, 0), charged(4, 0)];
    let wanted = queue.wants().expect("they are read again");
    let fed = queue.page(wanted, &page, true);
    assert_eq!(fed, [Fed::Try(Seq(1)), Fed::Crashed(Seq(2)), Fed::Charge(Seq(3))]);
    let page = [charged(3, 1), charged(4, 0)];
    queue.end(Seq(1));
    let wanted = queue.wants().expect("they are read again");
    assert_eq!(queue.page(wanted, &page, true), [Fed::Try(Seq(3)), Fed::Push(Seq(4))]);
}

#[test]
fn what_was_pushed_is_known_when_its_queue_is_lost() {
    let mut alone = Queue::claimed(2, 3, Seq(9), Seq(0), None, true);
    assert_eq!(alone.pushed(), Seq(0));
    let wanted = alone.wants().expect("there is a backlog");
    assert_eq!(alone.page(wanted, &seen([3, 4]), true).len(), 2);
    alone.end(Seq(4));
    assert_eq!(alone.pushed(), Seq(4), "it has ended, and perhaps nobody knows that");
    let mut shared = Queue::shared(2, 3, Seq(9));
    assert_eq!(shared.pushed(), Seq(0), "others may have the messages that are there");
    assert_eq!(shared.taken(&seen([5, 7]), true, false).len(), 2);
    shared.end(Seq(7));
    shared.forget_ended(Seq(7));
    assert_eq!(shared.taken(&seen([2]), true, false).len(), 1);
    assert_eq!(shared.pushed(), Seq(7));
}
