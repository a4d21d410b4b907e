//! Declared children whose end is their parent's.

use super::*;

const SIGNIFICANT: ChildSpec = TRANSIENT.significant();

#[test]
fn any_significant_child_that_ends_ends_its_parent() {
    let mut actor = with(&[SIGNIFICANT, SIGNIFICANT], AutoShutdown::AnySignificant);
    assert_eq!(drive(&mut actor, ended(B)), [Effect::AnnounceStop, Send(A, Terminate)]);
}

#[test]
fn all_significant_children_have_to_end() {
    let mut actor = with(&[SIGNIFICANT, SIGNIFICANT, TRANSIENT], AutoShutdown::AllSignificant);
    assert_eq!(drive(&mut actor, ended(B)), []);
    assert_eq!(drive(&mut actor, ended(A)), [Effect::AnnounceStop, Send(C, Terminate)]);
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
    assert_eq!(drive(&mut actor, ended(A)), [Effect::AnnounceStop, post_stop()]);
}
