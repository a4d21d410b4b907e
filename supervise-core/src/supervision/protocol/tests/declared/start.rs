//! How declared children start, and what happens when one does not.

use super::*;

#[test]
fn fields_start_in_order_each_after_the_one_before_is_up_and_all_before_pre_start() {
    let mut actor = beginning(&[TRANSIENT, TRANSIENT], AutoShutdown::Never);
    assert_eq!(back(&mut actor, Returned::Ok), [StartChild(0)]);
    make(&mut actor, 0);
    assert_eq!(drive(&mut actor, Suspend), [Send(A, Suspend)]);
    assert_eq!(drive(&mut actor, Resume(None)), [Send(A, Resume(None))]);
    assert_eq!(drive(&mut actor, up(A)), [declare(1)]);
    assert_eq!(back(&mut actor, Returned::Ok), [StartChild(1)]);
    make(&mut actor, 1);
    assert_eq!(drive(&mut actor, up(B)), [CREATE]);
    assert_eq!(actor.child_of_field(1), Some(&B));
}

#[test]
fn a_field_inherits_the_suspensions_of_its_parent() {
    let mut actor = beginning(&[TRANSIENT], AutoShutdown::Never);
    drive(&mut actor, Suspend);
    back(&mut actor, Returned::Ok);
    let mut told = None;
    actor.spawn_field(0, |name, id, inherited| {
        told = Some((name.to_string(), id, inherited));
        A
    });
    assert_eq!(told, Some(("a".to_owned(), ChildId(0), 1)));
}

#[test]
fn what_has_started_stops_in_reverse_when_a_later_field_does_not() {
    let mut actor = beginning(&[TRANSIENT; 2], AutoShutdown::Never);
    assert_eq!(back(&mut actor, Returned::Ok), [StartChild(0)]);
    make(&mut actor, 0);
    drive(&mut actor, up(A));
    assert_eq!(back(&mut actor, Returned::Ok), [StartChild(1)]);
    make(&mut actor, 1);
    assert_eq!(drive(&mut actor, failed(B, X)), [Effect::Decide(id(B), X)]);
    assert_eq!(
        decide(&mut actor, Directive::Restart, &ONE_FOR_ONE),
        [
            decided(B, X, Outcome::Escalated),
            DropInstance,
            Send(A, Suspend),
            Send(B, Suspend),
            reports(0, Why::Starting('x')),
            Send(B, Terminate)
        ]
    );
    assert_eq!(drive(&mut actor, ended(B)), [Send(A, Terminate)]);
    assert_eq!(drive(&mut actor, ended(A)), []);
    assert_eq!(drive(&mut actor, Restart(X)), [Note(News::TurnedIntoCreate), BUILD]);
}

/// An actor that has declared two fields, of which the first could not start.
fn waiting() -> Actor {
    let mut actor = beginning(&[TRANSIENT; 2], AutoShutdown::Never);
    back(&mut actor, Returned::Ok);
    make(&mut actor, 0);
    assert_eq!(drive(&mut actor, failed(A, Why::Starting('x'))), [Effect::Decide(id(A), Why::Starting('x'))]);
    actor
}

const SECOND: Duration = Duration::from_secs(1);
const LATER: Backoff = Backoff::exponential(SECOND, SECOND);

fn delayed() -> Does {
    let outcome = Outcome::Restarting { children: 1, delay: Some(SECOND) };
    decided(A, Why::Starting('x'), outcome)
}

#[test]
fn a_field_that_is_tried_again_later_keeps_nobody_else_from_starting() {
    let mut actor = waiting();
    let directive = Directive::RestartAfter(LATER);
    assert_eq!(
        decide(&mut actor, directive, &ONE_FOR_ONE),
        [delayed(), Effect::Arm(Timer::Restart(1), Some(SECOND)), declare(1)]
    );
    assert_eq!(back(&mut actor, Returned::Ok), [StartChild(1)]);
    make(&mut actor, 1);
    assert_eq!(drive(&mut actor, up(B)), [CREATE]);
    let restart = Restart(Why::Starting('x'));
    assert_eq!(step(&mut actor, Input::Due(Timer::Restart(1))), [Send(A, restart)]);
    assert_eq!(back(&mut actor, Returned::Ok), [Note(News::Started { again: false })]);
    assert_eq!(drive(&mut actor, up(A)), []);
}

#[test]
fn those_that_depend_on_a_field_that_is_tried_again_wait_for_it() {
    for strategy in [ALL_FOR_ONE, REST_FOR_ONE] {
        let mut actor = waiting();
        let strategy = strategy.backoff(LATER);
        assert_eq!(
            decide(&mut actor, Directive::Restart, &strategy),
            [delayed(), Effect::Arm(Timer::Restart(1), Some(SECOND))]
        );
        let restart = Restart(Why::Starting('x'));
        assert_eq!(step(&mut actor, Input::Due(Timer::Restart(1))), [Send(A, restart)]);
        assert_eq!(drive(&mut actor, up(A)), [declare(1)]);
    }
}

#[test]
fn a_field_that_is_tried_too_often_before_its_parent_has_started_fails_that_start() {
    for on_limit in [OnLimit::Stop, OnLimit::Escalate] {
        let mut actor = waiting();
        let strategy = ONE_FOR_ONE.backoff(LATER).max_retries(0).on_limit(on_limit);
        assert_eq!(
            decide(&mut actor, Directive::Restart, &strategy),
            [
                decided(A, Why::Starting('x'), Outcome::LimitEscalated),
                DropInstance,
                Send(A, Suspend),
                reports(0, Why::Starting('x')),
                Send(A, Terminate)
            ]
        );
    }
}

#[test]
fn a_decider_that_fails_about_a_first_start_fails_the_start_of_the_parent() {
    let mut actor = waiting();
    let failed = News::DeciderFailed { child: id(A), cause: Y, about: Why::Starting('x') };
    assert_eq!(
        decide_at(&mut actor, Err(Y), &ONE_FOR_ONE, Duration::ZERO),
        [Note(failed), DropInstance, Send(A, Suspend), reports(0, Why::Starting('y')), Send(A, Terminate)]
    );
}

#[test]
fn a_declaration_that_fails_is_an_initialization_failure() {
    let mut actor = beginning(&[TRANSIENT], AutoShutdown::Never);
    assert_eq!(back(&mut actor, Returned::Err(X)), [DropInstance, reports(0, Why::Starting('x'))]);
    assert_eq!(drive(&mut actor, Restart(X)), [Note(News::TurnedIntoCreate), BUILD]);
    assert_eq!(back(&mut actor, Returned::Ok), [declare(0)]);
}

#[test]
fn a_factory_that_fails_is_an_initialization_failure() {
    let mut actor = Protocol::new(0).with_fields(&[TRANSIENT], AutoShutdown::Never);
    actor.begin();
    assert_eq!(back(&mut actor, Returned::Err(X)), [DropInstance, reports(0, Why::Starting('x'))]);
}

#[test]
fn a_restart_while_fields_start_drops_the_instance_they_start_for() {
    let mut actor = beginning(&[TRANSIENT; 2], AutoShutdown::Never);
    back(&mut actor, Returned::Ok);
    make(&mut actor, 0);
    drive(&mut actor, Suspend);
    assert_eq!(drive(&mut actor, Restart(X)), [DropInstance, Note(News::TurnedIntoCreate), Send(A, Terminate)]);
    assert_eq!(drive(&mut actor, ended(A)), [BUILD]);
}

#[test]
fn the_name_of_a_field_is_taken_even_without_its_child() {
    let mut actor = fields(1);
    drive(&mut actor, ended(A));
    assert_eq!(actors(&actor), []);
    let name = ActorName::from("a");
    assert_eq!(actor.spawn(&name, |_, _| 99), Err(SpawnRefusal::NameTaken));
    assert_eq!(actor.spawn(&ActorName::from("z"), |_, _| 99), Ok(99));
}

#[test]
fn an_actor_without_fields_has_none() {
    let mut actor = Protocol::<u32, Why>::new(0).with_fields(&[], AutoShutdown::AllSignificant);
    assert_eq!(Effect::Call(actor.begin()), CREATE);
    assert_eq!(actor.child_of_field(0), None);
    assert_eq!(back(&mut actor, Returned::Ok), [Note(News::Started { again: false })]);
    let child = spawn(&mut actor);
    assert_eq!(drive(&mut actor, ended(child)), []);
}
