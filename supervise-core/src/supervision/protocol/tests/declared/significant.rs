//! Declared children whose end also ends their parent.

use super::*;

const SIGNIFICANT: ChildSpec = TRANSIENT.significant();

#[test]
fn any_significant_child_that_ends_ends_its_parent() {
    let mut actor = with(&[SIGNIFICANT, SIGNIFICANT], AutoShutdown::AnySignificant);
    assert_eq!(drive(&mut actor, ended(B)), [Effect::EndsByItself, Effect::AnnounceStop, Send(A, Terminate)]);
}

#[test]
fn all_significant_children_have_to_end() {
    let mut actor = with(&[SIGNIFICANT, SIGNIFICANT, TRANSIENT], AutoShutdown::AllSignificant);
    assert_eq!(drive(&mut actor, ended(B)), []);
    assert_eq!(drive(&mut actor, ended(A)), [Effect::EndsByItself, Effect::AnnounceStop, Send(C, Terminate)]);
}

#[test]
fn the_end_of_others_ends_nobody() {
    let mut actor = with(&[TRANSIENT, SIGNIFICANT], AutoShutdown::AnySignificant);
    assert_eq!(drive(&mut actor, ended(A)), []);
    let mut actor = with(&[TRANSIENT], AutoShutdown::AllSignificant);
    assert_eq!(drive(&mut actor, ended(A)), []);
    let mut actor = with(&[SIGNIFICANT], AutoShutdown::Never);
    assert_eq!(drive(&mut actor, ended(A)), []);
}

#[test]
fn a_significant_child_that_was_asked_to_stop_ends_nobody() {
    let mut actor = with(&[SIGNIFICANT], AutoShutdown::AnySignificant);
    command(&mut actor, |actor, effects| actor.stop_child(id(A), effects));
    assert_eq!(drive(&mut actor, ended(A)), []);
}

#[test]
fn a_temporary_significant_child_that_fails_ends_its_parent() {
    let temporary = SIGNIFICANT.restart(RestartType::Temporary);
    let mut actor = with(&[temporary], AutoShutdown::AnySignificant);
    assert_eq!(restarts(&mut actor, A, &ONE_FOR_ONE), [Send(A, Terminate)]);
    assert_eq!(drive(&mut actor, ended(A)), [Effect::EndsByItself, Effect::AnnounceStop, post_stop()]);
}

#[test]
fn the_last_significant_child_that_ends_by_itself_ends_its_parent_however_the_others_ended() {
    let mut actor = with(&[SIGNIFICANT, SIGNIFICANT, SIGNIFICANT], AutoShutdown::AllSignificant);
    // One was stopped, and one stops at its limit.
    command(&mut actor, |actor, effects| actor.stop_child(id(A), effects));
    assert_eq!(drive(&mut actor, ended(A)), []);
    assert_eq!(restarts(&mut actor, B, &ONE_FOR_ONE.max_retries(0)), [Send(B, Terminate)]);
    assert_eq!(drive(&mut actor, ended(B)), []);
    assert_eq!(drive(&mut actor, ended(C)), [Effect::EndsByItself, Effect::AnnounceStop, post_stop()]);
}

#[test]
fn the_last_significant_child_ends_nobody_where_somebody_stopped_it() {
    let mut actor = with(&[SIGNIFICANT, SIGNIFICANT], AutoShutdown::AllSignificant);
    assert_eq!(drive(&mut actor, ended(B)), []);
    command(&mut actor, |actor, effects| actor.stop_child(id(A), effects));
    assert_eq!(drive(&mut actor, ended(A)), []);
}

#[test]
fn a_significant_child_that_is_to_start_yet_is_another_one() {
    let mut actor = beginning(&[SIGNIFICANT, SIGNIFICANT], AutoShutdown::AllSignificant);
    assert_eq!(back(&mut actor, Returned::Ok), [StartChild(0)]);
    assert_eq!(make(&mut actor, 0), A);
    assert_eq!(drive(&mut actor, Started(id(A))), [declare(1)]);
    assert_eq!(drive(&mut actor, ended(A)), []);
    start_from(&mut actor, 1, 2);
    assert_eq!(back(&mut actor, Returned::Ok), [Note(News::Started { again: false })]);
    assert_eq!(drive(&mut actor, ended(B)), [Effect::EndsByItself, Effect::AnnounceStop, post_stop()]);
}

#[test]
fn significant_children_that_a_restart_makes_anew_are_others() {
    let mut actor = with(&[SIGNIFICANT, SIGNIFICANT], AutoShutdown::AllSignificant);
    back(&mut actor, Returned::Err(X));
    drive(&mut actor, Restart(X));
    command(&mut actor, |actor, effects| actor.stop_child(id(B), effects));
    drive(&mut actor, ended(B));
    assert_eq!(drive(&mut actor, ended(A)), [], "both are made anew");
}

#[test]
fn a_significant_child_that_ends_while_its_parent_restarts_ends_the_parent_before_it_is_replaced() {
    let temporary = SIGNIFICANT.restart(RestartType::Temporary);
    let mut actor = with(&[temporary], AutoShutdown::AnySignificant);
    assert_eq!(restarts(&mut actor, A, &ONE_FOR_ONE), [Send(A, Terminate)]);
    drive(&mut actor, Suspend);
    assert_eq!(drive(&mut actor, RestartTogether(X)), [pre_restart(X, false)]);
    assert_eq!(back(&mut actor, Returned::Ok), [DropInstance]);
    let does = drive(&mut actor, ended(A));
    assert_eq!(does[..2], [Effect::EndsByItself, Effect::AnnounceStop], "no new instance is announced");
    assert_eq!(does[2..], the_end(HowEnded::Graceful));
}
