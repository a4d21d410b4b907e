use super::*;

const H: Why = Why::Bare('h');

fn by_hand(actor: &mut Actor, child: u32, restarts: u32) -> Vec<Does> {
    drive(actor, SystemMessage::RestartByHand { child: id(child), cause: H, restarts })
}

#[test]
fn a_child_restarts_alone_and_uncharged() {
    let mut actor = running(2);
    assert_eq!(by_hand(&mut actor, A, 0), [Send(A, Suspend), Send(A, Restart(H))]);
    let once = Strategy::all_for_one().max_retries(1);
    drive(&mut actor, failed(B, X));
    let granted = Outcome::Restarting { children: 2, delay: None };
    assert_eq!(decide(&mut actor, Directive::Restart, &once)[0], decided(B, X, granted));
}

#[test]
fn who_has_not_seen_the_last_restart_restarts_nothing() {
    let mut actor = running(1);
    by_hand(&mut actor, A, 0);
    assert_eq!(by_hand(&mut actor, A, 0), []);
    assert_eq!(by_hand(&mut actor, A, 1), [Send(A, Suspend), Send(A, Restart(H))]);
    assert_eq!(by_hand(&mut actor, B, 0), []);
}

#[test]
fn a_failure_that_the_restart_meets_is_answered_by_it() {
    let mut actor = running(1);
    by_hand(&mut actor, A, 0);
    drive(&mut actor, Failed { child: id(A), cause: X, restarts: 0, runs: 1 });
    let answered = decided(A, X, Outcome::AlreadyAnswered);
    assert_eq!(decide(&mut actor, Directive::Restart, &ONE_FOR_ONE), [answered, Send(A, Resume(None))]);
}

#[test]
fn a_parent_that_restarts_restarts_its_survivors_once() {
    let mut actor = restarting(1);
    assert_eq!(by_hand(&mut actor, A, 0), []);
    let mut actor = rebuilding(1);
    assert_eq!(by_hand(&mut actor, A, 0), []);
    assert_eq!(back(&mut actor, Returned::Ok)[1..], [Send(A, Restart(X))]);
    let mut actor = half_built(1);
    assert_eq!(by_hand(&mut actor, A, 0), []);
}

#[test]
fn what_stops_does_not_restart() {
    let mut actor = running(2);
    command(&mut actor, |actor, effects| actor.stop_child(id(A), effects));
    assert_eq!(by_hand(&mut actor, A, 0), []);
    drive(&mut actor, Terminate);
    assert_eq!(by_hand(&mut actor, B, 0), []);
}
