//! In which order declared children stop.

use super::*;

#[test]
fn fields_stop_one_after_another_in_reverse_after_all_others() {
    let mut actor = fields(2);
    assert_eq!(spawn(&mut actor), C);
    let d = spawn(&mut actor);
    assert_eq!(drive(&mut actor, Terminate), [Effect::AnnounceStop, Send(d, Terminate), Send(C, Terminate)]);
    assert_eq!(drive(&mut actor, ended(d)), []);
    assert_eq!(drive(&mut actor, ended(C)), [Send(B, Terminate)]);
    assert_eq!(drive(&mut actor, ended(B)), [Send(A, Terminate)]);
    assert_eq!(drive(&mut actor, ended(A)), [post_stop()]);
}

#[test]
fn those_in_line_let_later_fields_stop_first() {
    let mut actor = fields(4);
    let d = C + 1;
    let fields = [id(A), id(B)];
    assert_eq!(command(&mut actor, |actor, effects| actor.stop_in_line(&fields, effects)), [Send(B, Terminate)]);
    assert_eq!(drive(&mut actor, Terminate), [Effect::AnnounceStop]);
    assert_eq!(drive(&mut actor, ended(B)), [Send(d, Terminate)]);
    assert_eq!(drive(&mut actor, ended(d)), [Send(C, Terminate)]);
    assert_eq!(drive(&mut actor, ended(C)), [Send(A, Terminate)]);
}

#[test]
fn one_that_ends_before_its_turn_is_not_waited_for() {
    let mut actor = fields(3);
    assert_eq!(drive(&mut actor, Terminate), [Effect::AnnounceStop, Send(C, Terminate)]);
    assert_eq!(drive(&mut actor, ended(B)), []);
    assert_eq!(drive(&mut actor, ended(C)), [Send(A, Terminate)]);
}

#[test]
fn a_field_is_asked_to_stop_once() {
    let mut actor = fields(1);
    let stop = |actor: &mut Actor| command(actor, |actor, effects| actor.stop_child(id(A), effects));
    assert_eq!(stop(&mut actor), [Send(A, Terminate)]);
    assert_eq!(stop(&mut actor), []);
}

#[test]
fn a_group_that_stops_does_so_in_line() {
    let mut actor = fields(3);
    drive(&mut actor, failed(B, X));
    assert_eq!(decide(&mut actor, Directive::Stop, &REST_FOR_ONE)[1..], [Send(C, Terminate)]);
    assert_eq!(drive(&mut actor, ended(C)), [Send(B, Terminate)]);
    assert_eq!(drive(&mut actor, ended(B)), []);
    assert_eq!(actors(&actor), [A]);
}
