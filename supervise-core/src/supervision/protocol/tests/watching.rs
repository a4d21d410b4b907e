use super::*;

const SUBJECT: u32 = 7;

fn news(subject: u32) -> Message {
    Ended { subject, child: None, how: HowEnded::Graceful }
}

fn watching(kind: WatchKind) -> Actor {
    let mut actor = running(0);
    assert_eq!(
        command(&mut actor, |actor, effects| actor.watch(&SUBJECT, kind, effects)),
        [Effect::Watch(SUBJECT)]
    );
    actor
}

#[test]
fn watching_twice_is_watching_once_and_the_first_kind_stays() {
    let mut actor = watching(WatchKind::Notify);
    let mut effects = Vec::new();
    assert_eq!(actor.watch(&SUBJECT, WatchKind::DeathPact, &mut effects), Some(WatchKind::Notify));
    assert_eq!(effects, []);
}

#[test]
fn an_end_is_news_once() {
    let mut actor = watching(WatchKind::Notify);
    assert_eq!(drive(&mut actor, news(SUBJECT)), [Effect::Enqueue(SUBJECT)]);
    assert_eq!(drive(&mut actor, news(SUBJECT)), []);
    assert_eq!(actor.dequeued(&SUBJECT), Some((WatchKind::Notify, HowEnded::Graceful)));
    assert_eq!(actor.dequeued(&SUBJECT), None);
}

#[test]
fn unsolicited_news_is_none() {
    assert_eq!(drive(&mut running(0), news(SUBJECT)), []);
}

#[test]
fn unwatch_takes_back_queued_news() {
    let mut actor = watching(WatchKind::Notify);
    drive(&mut actor, news(SUBJECT));
    assert_eq!(command(&mut actor, |actor, effects| actor.unwatch(&SUBJECT, effects)), [Effect::Unwatch(SUBJECT)]);
    assert_eq!(actor.dequeued(&SUBJECT), None);
}

#[test]
fn a_watched_childs_end_is_queued_after_its_name_is_free() {
    let mut actor = running(1);
    command(&mut actor, |actor, effects| actor.watch(&A, WatchKind::Notify, effects));
    assert_eq!(drive(&mut actor, ended(A)), [Effect::Enqueue(A)]);
    assert_eq!(actor.spawn(&ActorName::from("child-0"), |_, _| B), Ok(B));
}

#[test]
fn stopping_the_children_for_a_restart_unwatches_them() {
    let mut actor = restarting(1);
    command(&mut actor, |actor, effects| actor.watch(&A, WatchKind::Notify, effects));
    assert_eq!(command(&mut actor, Protocol::stop_children), [Effect::Unwatch(A), Send(A, Terminate)]);
    assert_eq!(back(&mut actor, Returned::Ok), [DropInstance]);
    assert_eq!(drive(&mut actor, ended(A)), [rebuild(X)]);
}

#[test]
fn a_watch_outlives_a_restart() {
    let mut actor = watching(WatchKind::Notify);
    back(&mut actor, Returned::Err(X));
    drive(&mut actor, Restart(X));
    back(&mut actor, Returned::Ok);
    back(&mut actor, Returned::Ok);
    assert_eq!(drive(&mut actor, news(SUBJECT)), [Effect::Enqueue(SUBJECT)]);
}

#[test]
fn an_ending_actor_watches_nobody() {
    let mut actor = watching(WatchKind::Notify);
    assert_eq!(drive(&mut actor, Terminate), [Effect::AnnounceStop, Effect::Unwatch(SUBJECT), post_stop()]);
    assert_eq!(drive(&mut actor, news(SUBJECT)), []);
    assert_eq!(command(&mut actor, |actor, effects| actor.watch(&8, WatchKind::Notify, effects)), []);
}

#[test]
fn watchers_are_told_after_the_parent_and_only_those_that_still_watch() {
    let mut actor = running(0);
    for message in [Watch(3), Watch(4), Watch(5), Unwatch(4)] {
        assert_eq!(drive(&mut actor, message), []);
    }
    drive(&mut actor, Terminate);
    let mut end = back(&mut actor, Returned::Ok);
    let mut told: Vec<_> = end.drain(4..6).collect();
    assert_eq!(end, the_end(HowEnded::Graceful));
    told.sort_by_key(|effect| matches!(effect, Effect::TellWatcher(5, _)));
    assert_eq!(told, [3, 5].map(|watcher| Effect::TellWatcher(watcher, HowEnded::Graceful)));
}
