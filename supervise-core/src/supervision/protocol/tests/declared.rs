use super::*;
use crate::supervision::vocabulary::Effect::{Renew, StartChild, TellHalted, TellStarted};
use crate::supervision::vocabulary::SystemMessage::{Halt, Halted, ResetBackoff, Started};
use crate::supervision::{AutoShutdown, Backoff, ChildSpec, OnLimit, RestartType};

const BUILD: Does = Effect::Call(Call::Build);
const CREATE: Does = Effect::Call(Call::Create);
const ALL_FOR_ONE: Strategy = Strategy::all_for_one();
const REST_FOR_ONE: Strategy = Strategy::rest_for_one();
const TRANSIENT: ChildSpec = ChildSpec::new("a");
/// Why a permanent child is made anew.
const END: Why = Why::Bare('e');

fn declare(field: usize) -> Does {
    Effect::Call(Call::Declare(field))
}

/// Fields called a, b, c ...
fn named(specs: &[ChildSpec]) -> Vec<ChildSpec> {
    let names = ["a", "b", "c", "d"];
    specs.iter().zip(names).map(|(spec, name)| ChildSpec { name, ..*spec }).collect()
}

/// Makes the child of a field, as the performer does.
fn make(actor: &mut Actor, field: usize) -> u32 {
    actor.spawn_field(field, |_, id, _| A + u32::try_from(id.0).unwrap()).unwrap()
}

fn beginning(specs: &[ChildSpec], auto_shutdown: AutoShutdown) -> Actor {
    let mut actor = Protocol::new(0).with_fields(&named(specs), auto_shutdown);
    assert_eq!(step(&mut actor, Input::Begin), [BUILD]);
    assert_eq!(back(&mut actor, Returned::Ok), [declare(0)]);
    actor
}

/// Starts the fields from the declaration of `first` on.
fn start_from(actor: &mut Actor, first: usize, fields: usize) {
    for field in first..fields {
        assert_eq!(back(actor, Returned::Ok), [StartChild(field)]);
        let child = make(actor, field);
        let next = if field + 1 < fields { declare(field + 1) } else { CREATE };
        assert_eq!(drive(actor, Started(id(child))), [next]);
    }
}

fn with(specs: &[ChildSpec], auto_shutdown: AutoShutdown) -> Actor {
    let mut actor = beginning(specs, auto_shutdown);
    start_from(&mut actor, 0, specs.len());
    assert_eq!(back(&mut actor, Returned::Ok), [Note(News::Started)]);
    actor
}

/// An actor that runs, with so many transient fields.
fn fields(count: usize) -> Actor {
    with(&vec![TRANSIENT; count], AutoShutdown::Never)
}

fn of(restart: RestartType) -> Actor {
    with(&[TRANSIENT.restart(restart)], AutoShutdown::Never)
}

fn down(child: u32) -> Message {
    Halted(id(child))
}

fn up(child: u32) -> Message {
    Started(id(child))
}

fn restarts(actor: &mut Actor, culprit: u32, strategy: &Strategy) -> Vec<Does> {
    drive(actor, failed(culprit, X));
    decide(actor, Directive::Restart, strategy)[1..].to_vec()
}

fn actors(actor: &Actor) -> Vec<u32> {
    actor.children().map(|(_, target)| *target).collect()
}

// ---- starts ----------------------------------------------------------------------------------------------------------

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
    assert_eq!(
        drive(&mut actor, failed(B, X)),
        [DropInstance, Send(A, Suspend), Send(B, Suspend), Report(Why::Starting('x')), Send(B, Terminate)]
    );
    assert_eq!(drive(&mut actor, ended(B)), [Send(A, Terminate)]);
    assert_eq!(drive(&mut actor, ended(A)), []);
    assert_eq!(drive(&mut actor, Recreate(X)), [Note(News::TurnedIntoCreate), BUILD]);
}

#[test]
fn a_declaration_that_fails_is_an_initialization_failure() {
    let mut actor = beginning(&[TRANSIENT], AutoShutdown::Never);
    assert_eq!(back(&mut actor, Returned::Err(X)), [DropInstance, Report(Why::Starting('x'))]);
    assert_eq!(drive(&mut actor, Recreate(X)), [Note(News::TurnedIntoCreate), BUILD]);
    assert_eq!(back(&mut actor, Returned::Ok), [declare(0)]);
}

#[test]
fn a_factory_that_fails_is_an_initialization_failure() {
    let mut actor = Protocol::new(0).with_fields(&[TRANSIENT], AutoShutdown::Never);
    step(&mut actor, Input::Begin);
    assert_eq!(back(&mut actor, Returned::Err(X)), [DropInstance, Report(Why::Starting('x'))]);
}

#[test]
fn a_restart_while_fields_start_drops_the_instance_they_start_for() {
    let mut actor = beginning(&[TRANSIENT; 2], AutoShutdown::Never);
    back(&mut actor, Returned::Ok);
    make(&mut actor, 0);
    drive(&mut actor, Suspend);
    assert_eq!(drive(&mut actor, Recreate(X)), [DropInstance, Note(News::TurnedIntoCreate), Send(A, Terminate)]);
    assert_eq!(drive(&mut actor, ended(A)), [BUILD]);
}

#[test]
fn the_name_of_a_field_is_taken_even_without_its_child() {
    let mut actor = fields(1);
    drive(&mut actor, ended(A));
    assert_eq!(actors(&actor), []);
    let name = Arc::from("a");
    assert_eq!(actor.spawn(&name, |_, _| 99), Err(SpawnRefusal::NameTaken));
    assert_eq!(actor.spawn(&Arc::from("z"), |_, _| 99), Ok(99));
}

#[test]
fn an_actor_without_fields_has_none() {
    let mut actor = Protocol::<u32, Why>::new(0).with_fields(&[], AutoShutdown::AllSignificant);
    assert_eq!(step(&mut actor, Input::Begin), [CREATE]);
    assert_eq!(actor.child_of_field(0), None);
    assert_eq!(back(&mut actor, Returned::Ok), [Note(News::Started)]);
    let child = spawn(&mut actor);
    assert_eq!(drive(&mut actor, ended(child)), []);
}

// ---- stops -----------------------------------------------------------------------------------------------------------

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

// ---- group restarts --------------------------------------------------------------------------------------------------

#[test]
fn one_for_one_restarts_a_field_at_once() {
    let mut actor = fields(2);
    assert_eq!(restarts(&mut actor, A, &ONE_FOR_ONE), [Send(A, Recreate(X))]);
}

#[test]
fn rest_for_one_halts_in_reverse_and_starts_in_order() {
    let mut actor = fields(3);
    assert_eq!(restarts(&mut actor, B, &REST_FOR_ONE), [Send(C, Suspend), Send(C, Halt(X))]);
    assert_eq!(drive(&mut actor, down(C)), [Send(B, Halt(X))]);
    assert_eq!(drive(&mut actor, down(B)), [Send(B, Recreate(X))]);
    assert_eq!(drive(&mut actor, up(B)), [Send(C, Recreate(X))]);
    assert_eq!(drive(&mut actor, up(C)), []);
    assert_eq!(restarts(&mut actor, C, &REST_FOR_ONE), [Send(C, Halt(X))]);
}

#[test]
fn all_for_one_takes_the_dynamic_children_along() {
    let mut actor = fields(2);
    assert_eq!(spawn(&mut actor), C);
    assert_eq!(
        restarts(&mut actor, A, &ALL_FOR_ONE),
        [Send(B, Suspend), Send(C, Suspend), Send(C, Recreate(X)), Send(B, Halt(X))]
    );
    assert_eq!(drive(&mut actor, down(B)), [Send(A, Halt(X))]);
    assert_eq!(drive(&mut actor, down(A)), [Send(A, Recreate(X))]);
    assert_eq!(drive(&mut actor, up(A)), [Send(B, Recreate(X))]);
}

#[test]
fn a_dynamic_child_takes_no_field_along_under_rest_for_one() {
    let mut actor = fields(1);
    spawn(&mut actor);
    spawn(&mut actor);
    assert_eq!(
        restarts(&mut actor, B, &REST_FOR_ONE),
        [Send(B, Recreate(X)), Send(C, Suspend), Send(C, Recreate(X))]
    );
}

#[test]
fn a_condemned_field_that_fails_restarts_once_and_is_undone_twice() {
    let mut actor = fields(2);
    restarts(&mut actor, A, &ALL_FOR_ONE);
    assert_eq!(drive(&mut actor, failed(B, Y)), []);
    drive(&mut actor, down(B));
    drive(&mut actor, down(A));
    assert_eq!(drive(&mut actor, up(A)), [Send(B, Recreate(X)), Send(B, Resume(None))]);
}

#[test]
fn a_field_that_fails_to_come_back_is_decided_about_while_those_after_it_wait() {
    let mut actor = fields(2);
    restarts(&mut actor, A, &ALL_FOR_ONE);
    drive(&mut actor, down(B));
    assert_eq!(drive(&mut actor, down(A)), [Send(A, Recreate(X))]);
    assert_eq!(drive(&mut actor, failed(A, Y)), [Decide(id(A), Y)]);
    assert_eq!(decide(&mut actor, Directive::Restart, &ALL_FOR_ONE)[1..], [Send(A, Recreate(Y))]);
    assert_eq!(drive(&mut actor, up(A)), [Send(B, Recreate(Y))]);
    assert_eq!(drive(&mut actor, up(B)), []);
}

#[test]
fn a_field_whose_restart_is_over_lets_the_group_go_on_when_it_is_stopped() {
    let mut actor = fields(2);
    restarts(&mut actor, A, &ALL_FOR_ONE);
    drive(&mut actor, down(B));
    drive(&mut actor, down(A));
    drive(&mut actor, failed(A, Y));
    assert_eq!(decide(&mut actor, Directive::Stop, &ONE_FOR_ONE)[1..], [Send(A, Terminate), Send(B, Recreate(X))]);
}

#[test]
fn a_delayed_group_suspends_at_once_and_halts_when_the_delay_is_over() {
    let mut actor = fields(2);
    let second = Duration::from_secs(1);
    let slow = ALL_FOR_ONE.backoff(Backoff::exponential(second, second));
    assert_eq!(restarts(&mut actor, A, &slow), [Send(B, Suspend), Effect::Arm(Timer::Round(1), Some(second))]);
    assert_eq!(step(&mut actor, Input::Due(Timer::Round(1))), [Send(B, Halt(X))]);
    assert_eq!(drive(&mut actor, down(B)), [Send(A, Halt(X))]);
}

#[test]
fn a_temporary_sibling_is_stopped_where_the_others_restart() {
    let mut actor = with(&[TRANSIENT, TRANSIENT.restart(RestartType::Temporary)], AutoShutdown::Never);
    assert_eq!(restarts(&mut actor, A, &ALL_FOR_ONE), [Send(B, Suspend), Send(B, Terminate)]);
    assert_eq!(drive(&mut actor, ended(B)), [Send(A, Halt(X))]);
    assert_eq!(drive(&mut actor, down(A)), [Send(A, Recreate(X))]);
    assert_eq!(drive(&mut actor, up(A)), []);
    assert_eq!(actors(&actor), [A]);
}

#[test]
fn a_group_goes_no_further_while_a_restart_of_its_parent_waits() {
    let mut actor = fields(2);
    restarts(&mut actor, A, &ALL_FOR_ONE);
    step(&mut actor, Input::Parked);
    drive(&mut actor, Suspend);
    assert_eq!(drive(&mut actor, Recreate(Y)), [Effect::Arm(Timer::Abort, None)]);
    assert_eq!(drive(&mut actor, down(B)), []);
}

#[test]
fn a_field_that_fails_again_before_it_is_up_is_decided_about_again() {
    let mut actor = fields(2);
    restarts(&mut actor, A, &ALL_FOR_ONE);
    drive(&mut actor, down(B));
    drive(&mut actor, down(A));
    for _ in 0..2 {
        assert_eq!(drive(&mut actor, failed(A, Y)), [Decide(id(A), Y)]);
        assert_eq!(decide(&mut actor, Directive::Resume, &ALL_FOR_ONE)[1..], [Send(A, Resume(Some(Y)))]);
    }
    assert_eq!(drive(&mut actor, up(A)), [Send(B, Recreate(X))]);
}

#[test]
fn a_field_that_is_due_owes_a_second_restart_of_its_group_nothing() {
    let mut actor = with(&[TRANSIENT.restart(RestartType::Permanent), TRANSIENT], AutoShutdown::Never);
    assert_eq!(spawn(&mut actor), C);
    drive(&mut actor, ended(A));
    decide(&mut actor, Directive::Restart, &ALL_FOR_ONE);
    restarts(&mut actor, C, &ALL_FOR_ONE);
    assert_eq!(drive(&mut actor, down(B)), [StartChild(0)]);
    let anew = make(&mut actor, 0);
    drive(&mut actor, up(anew));
    drive(&mut actor, up(B));
    assert_eq!(restarts(&mut actor, B, &ALL_FOR_ONE)[0], Send(anew, Suspend));
}

// ---- restart types ---------------------------------------------------------------------------------------------------

#[test]
fn a_transient_child_that_ends_stays_away() {
    let mut actor = of(RestartType::Transient);
    assert_eq!(drive(&mut actor, ended(A)), []);
    assert_eq!(actors(&actor), []);
    assert_eq!(actor.child_of_field(0), None);
}

#[test]
fn a_permanent_child_that_ends_is_made_anew() {
    let mut actor = of(RestartType::Permanent);
    assert_eq!(drive(&mut actor, ended(A)), [Renew(id(A))]);
    assert_eq!(decide(&mut actor, Directive::Restart, &ONE_FOR_ONE)[1..], [StartChild(0)]);
    assert_eq!(make(&mut actor, 0), B);
    assert_eq!(drive(&mut actor, up(B)), []);
    assert_eq!(actors(&actor), [B]);
    assert_eq!(drive(&mut actor, ended(B)), [Renew(id(B))]);
}

#[test]
fn a_permanent_child_comes_back_alone_while_a_later_field_starts() {
    let mut actor = beginning(&[TRANSIENT.restart(RestartType::Permanent), TRANSIENT], AutoShutdown::Never);
    back(&mut actor, Returned::Ok);
    make(&mut actor, 0);
    drive(&mut actor, up(A));
    assert_eq!(back(&mut actor, Returned::Ok), [StartChild(1)]);
    make(&mut actor, 1);
    assert_eq!(drive(&mut actor, ended(A)), [Renew(id(A))]);
    assert_eq!(decide(&mut actor, Directive::Restart, &ONE_FOR_ONE)[1..], [StartChild(0)]);
}

#[test]
fn a_permanent_childs_ends_count_against_the_limit() {
    let mut actor = of(RestartType::Permanent);
    let once = ONE_FOR_ONE.max_retries(1);
    drive(&mut actor, ended(A));
    decide(&mut actor, Directive::Restart, &once);
    make(&mut actor, 0);
    drive(&mut actor, up(B));
    drive(&mut actor, ended(B));
    let refused = decided(B, END, Directive::Restart, Outcome::LimitReached { children: 1 });
    assert_eq!(decide(&mut actor, Directive::Restart, &once), [refused]);
    assert_eq!(actors(&actor), []);
}

#[test]
fn a_permanent_child_that_was_asked_to_stop_stays_away() {
    let mut actor = of(RestartType::Permanent);
    command(&mut actor, |actor, effects| actor.stop_child(id(A), effects));
    assert_eq!(drive(&mut actor, ended(A)), []);
}

#[test]
fn a_permanent_child_that_ends_before_its_group_restarts_leaves_no_debt_to_the_next_incarnation() {
    let mut actor = with(&[TRANSIENT.restart(RestartType::Permanent), TRANSIENT], AutoShutdown::Never);
    restarts(&mut actor, B, &ALL_FOR_ONE);
    drive(&mut actor, ended(A));
    decide(&mut actor, Directive::Restart, &ALL_FOR_ONE.max_retries(0).on_limit(OnLimit::Escalate));
    drive(&mut actor, Resume(Some(END)));
    assert_eq!(drive(&mut actor, down(B)), [StartChild(0)]);
    assert_eq!(make(&mut actor, 0), C);
    drive(&mut actor, up(C));
    drive(&mut actor, up(B));
    assert_eq!(restarts(&mut actor, B, &ALL_FOR_ONE), [Send(C, Suspend), Send(B, Halt(X))]);
}

#[test]
fn a_permanent_child_whose_end_was_escalated_is_made_anew_by_a_resume() {
    let mut actor = with(&[TRANSIENT.restart(RestartType::Permanent), TRANSIENT], AutoShutdown::Never);
    drive(&mut actor, ended(A));
    let never = ONE_FOR_ONE.max_retries(0).on_limit(OnLimit::Escalate);
    assert_eq!(decide(&mut actor, Directive::Restart, &never)[1..], [Send(B, Suspend), Report(END)]);
    assert_eq!(
        drive(&mut actor, Resume(Some(END))),
        [Send(A, Resume(Some(END))), Send(B, Resume(None)), StartChild(0)]
    );
}

#[test]
fn a_permanent_child_takes_its_group_along() {
    let permanent = TRANSIENT.restart(RestartType::Permanent);
    let mut actor = with(&[permanent, TRANSIENT], AutoShutdown::Never);
    drive(&mut actor, ended(A));
    assert_eq!(decide(&mut actor, Directive::Restart, &ALL_FOR_ONE)[1..], [Send(B, Suspend), Send(B, Halt(END))]);
    assert_eq!(drive(&mut actor, down(B)), [StartChild(0)]);
    assert_eq!(make(&mut actor, 0), C);
    assert_eq!(drive(&mut actor, up(C)), [Send(B, Recreate(END))]);
}

#[test]
fn a_permanent_child_that_ends_while_its_parent_stops_stays_away() {
    let mut actor = of(RestartType::Permanent);
    drive(&mut actor, Terminate);
    assert_eq!(drive(&mut actor, ended(A)), [post_stop()]);
}

#[test]
fn a_gone_child_does_not_keep_its_parent_from_stopping() {
    let mut actor = of(RestartType::Permanent);
    drive(&mut actor, Suspend);
    assert_eq!(drive(&mut actor, ended(A)), [Note(News::ReportDeferred(id(A)))]);
    assert_eq!(
        drive(&mut actor, Terminate),
        [Effect::AnnounceStop, Note(News::ReportDropped(id(A), END)), post_stop()]
    );
}

#[test]
fn a_temporary_child_that_fails_goes() {
    for directive in [Directive::Restart, Directive::Stop] {
        let mut actor = of(RestartType::Temporary);
        drive(&mut actor, failed(A, X));
        let stopped = decided(A, X, directive, Outcome::Stopped { children: 1 });
        assert_eq!(decide(&mut actor, directive, &ONE_FOR_ONE), [stopped, Send(A, Terminate)]);
    }
}

#[test]
fn a_temporary_child_can_be_resumed_and_passed_on() {
    let mut actor = of(RestartType::Temporary);
    drive(&mut actor, failed(A, X));
    assert_eq!(decide(&mut actor, Directive::Resume, &ONE_FOR_ONE)[1..], [Send(A, Resume(Some(X)))]);
    drive(&mut actor, failed(A, X));
    assert_eq!(decide(&mut actor, Directive::Escalate, &ONE_FOR_ONE)[1..], [Report(X)]);
}

#[test]
fn a_temporary_child_that_cannot_start_is_not_resumed() {
    let mut actor = of(RestartType::Temporary);
    drive(&mut actor, failed(A, Why::Starting('x')));
    assert_eq!(decide(&mut actor, Directive::Resume, &ONE_FOR_ONE)[1..], [Send(A, Terminate)]);
}

#[test]
fn a_reset_of_the_backoff_reaches_a_field() {
    let mut actor = fields(1);
    let slow = ONE_FOR_ONE.backoff(Backoff::exponential(Duration::from_secs(1), Duration::from_secs(60)));
    let first = Effect::Arm(Timer::Round(1), Some(Duration::from_secs(1)));
    assert_eq!(restarts(&mut actor, A, &slow), [first]);
    assert_eq!(step(&mut actor, Input::Due(Timer::Round(1))), [Send(A, Recreate(X))]);
    drive(&mut actor, ResetBackoff(id(A)));
    assert_eq!(restarts(&mut actor, A, &slow), [Effect::Arm(Timer::Round(2), Some(Duration::from_secs(1)))]);
}

// ---- significant children --------------------------------------------------------------------------------------------

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

// ---- the parent restarts ---------------------------------------------------------------------------------------------

#[test]
fn fields_that_survive_are_declared_again_and_restarted() {
    let mut actor = fields(2);
    back(&mut actor, Returned::Err(X));
    assert_eq!(drive(&mut actor, Recreate(X)), [pre_restart(X, true)]);
    assert_eq!(back(&mut actor, Returned::Ok), [DropInstance, BUILD]);
    assert_eq!(back(&mut actor, Returned::Ok), [declare(0)]);
    assert_eq!(back(&mut actor, Returned::Ok), [declare(1)]);
    assert_eq!(back(&mut actor, Returned::Ok), [rebuild(X)]);
    assert_eq!(
        back(&mut actor, Returned::Ok),
        [Note(News::Restarted(X)), Send(A, Recreate(X)), Send(B, Recreate(X))]
    );
}

#[test]
fn fields_that_were_stopped_start_anew_before_post_restart() {
    let mut actor = fields(2);
    back(&mut actor, Returned::Err(X));
    drive(&mut actor, Recreate(X));
    assert_eq!(command(&mut actor, Actor::stop_children), [Send(B, Terminate)]);
    assert_eq!(back(&mut actor, Returned::Ok), [DropInstance]);
    assert_eq!(drive(&mut actor, ended(B)), [Send(A, Terminate)]);
    assert_eq!(drive(&mut actor, ended(A)), [BUILD]);
    back(&mut actor, Returned::Ok);
    assert_eq!(back(&mut actor, Returned::Ok), [StartChild(0)]);
    assert_eq!(make(&mut actor, 0), C);
    assert_eq!(drive(&mut actor, up(C)), [declare(1)]);
    assert_eq!(back(&mut actor, Returned::Ok), [StartChild(1)]);
    let d = make(&mut actor, 1);
    assert_eq!(drive(&mut actor, up(d)), [rebuild(X)]);
    assert_eq!(back(&mut actor, Returned::Ok), [Note(News::Restarted(X))]);
}

#[test]
fn a_temporary_survivor_is_stopped() {
    let mut actor = of(RestartType::Temporary);
    back(&mut actor, Returned::Err(X));
    drive(&mut actor, Recreate(X));
    back(&mut actor, Returned::Ok);
    back(&mut actor, Returned::Ok);
    assert_eq!(back(&mut actor, Returned::Ok), [rebuild(X)]);
    assert_eq!(back(&mut actor, Returned::Ok), [Note(News::Restarted(X)), Send(A, Terminate)]);
}

#[test]
fn a_group_that_was_restarting_restarts_with_its_parent() {
    let mut actor = fields(2);
    restarts(&mut actor, A, &ALL_FOR_ONE);
    back(&mut actor, Returned::Err(X));
    drive(&mut actor, Recreate(X));
    back(&mut actor, Returned::Ok);
    back(&mut actor, Returned::Ok);
    back(&mut actor, Returned::Ok);
    assert_eq!(back(&mut actor, Returned::Ok), [rebuild(X)]);
    assert_eq!(
        back(&mut actor, Returned::Ok),
        [
            Note(News::Restarted(X)),
            Send(A, Recreate(X)),
            Send(A, Resume(None)),
            Send(B, Recreate(X)),
            Send(B, Resume(None)),
        ]
    );
}

#[test]
fn a_halt_from_before_a_restart_of_the_parent_does_not_pass_for_the_next_one() {
    let mut actor = fields(2);
    restarts(&mut actor, A, &ALL_FOR_ONE);
    back(&mut actor, Returned::Err(X));
    drive(&mut actor, Recreate(X));
    for _ in 0..5 {
        back(&mut actor, Returned::Ok);
    }
    assert_eq!(restarts(&mut actor, A, &ALL_FOR_ONE), [Send(B, Suspend), Send(B, Halt(X))]);
    assert_eq!(drive(&mut actor, down(B)), []);
    assert_eq!(drive(&mut actor, down(B)), [Send(A, Halt(X))]);
}

#[test]
fn a_field_that_waits_for_a_delay_does_not_keep_its_parent_from_restarting() {
    let mut actor = fields(1);
    back(&mut actor, Returned::Err(X));
    drive(&mut actor, Recreate(X));
    assert_eq!(back(&mut actor, Returned::Ok), [DropInstance, BUILD]);
    restarts(&mut actor, A, &ALL_FOR_ONE);
    drive(&mut actor, down(A));
    drive(&mut actor, failed(A, Why::Restarting('y')));
    assert_eq!(decide(&mut actor, Directive::Restart, &ALL_FOR_ONE).len(), 2, "a note, and the delay");
    assert_eq!(back(&mut actor, Returned::Ok), []);
    assert_eq!(step(&mut actor, Input::Due(Timer::Round(2))), [declare(0)]);
}

#[test]
fn a_field_that_is_up_when_its_delay_ends_waits_for_its_parent() {
    let mut actor = fields(1);
    back(&mut actor, Returned::Err(X));
    drive(&mut actor, Recreate(X));
    back(&mut actor, Returned::Ok);
    let second = Duration::from_secs(1);
    restarts(&mut actor, A, &ONE_FOR_ONE.backoff(Backoff::exponential(second, second)));
    assert_eq!(step(&mut actor, Input::Due(Timer::Round(1))), []);
    assert_eq!(back(&mut actor, Returned::Ok), [declare(0)]);
}

#[test]
fn a_permanent_child_whose_delay_ends_while_its_parent_restarts_is_made_anew() {
    let mut actor = of(RestartType::Permanent);
    back(&mut actor, Returned::Err(X));
    drive(&mut actor, Recreate(X));
    assert_eq!(back(&mut actor, Returned::Ok), [DropInstance, BUILD]);
    assert_eq!(drive(&mut actor, ended(A)), [Renew(id(A))]);
    let second = Duration::from_secs(1);
    decide(&mut actor, Directive::Restart, &ONE_FOR_ONE.backoff(Backoff::exponential(second, second)));
    assert_eq!(step(&mut actor, Input::Due(Timer::Round(1))), [StartChild(0)]);
}

#[test]
fn a_group_that_begins_to_restart_while_its_parent_does_restarts_with_it() {
    let mut actor = with(&[TRANSIENT.restart(RestartType::Permanent), TRANSIENT], AutoShutdown::Never);
    back(&mut actor, Returned::Err(X));
    drive(&mut actor, Recreate(X));
    for _ in 0..3 {
        back(&mut actor, Returned::Ok);
    }
    assert_eq!(back(&mut actor, Returned::Ok), [rebuild(X)]);
    step(&mut actor, Input::Parked);
    assert_eq!(restarts(&mut actor, B, &ALL_FOR_ONE), [Send(A, Suspend), Send(B, Halt(X))]);
    assert_eq!(
        back(&mut actor, Returned::Ok),
        [
            Note(News::Restarted(X)),
            Send(A, Recreate(X)),
            Send(A, Resume(None)),
            Send(B, Recreate(X)),
            Send(B, Resume(None)),
        ]
    );
    assert_eq!(drive(&mut actor, down(B)), []);
}

#[test]
fn a_field_resumed_from_above_before_its_turn_restarts_with_its_group_all_the_same() {
    let mut actor = fields(2);
    restarts(&mut actor, A, &ALL_FOR_ONE);
    assert_eq!(drive(&mut actor, down(B)), [Send(A, Halt(X))]);
    assert_eq!(drive(&mut actor, up(B)), []);
    assert_eq!(drive(&mut actor, down(A)), [Send(B, Halt(X))]);
    assert_eq!(drive(&mut actor, down(B)), [Send(A, Recreate(X))]);
    assert_eq!(drive(&mut actor, up(A)), [Send(B, Recreate(X))]);
}

#[test]
fn a_field_that_does_not_start_breaks_the_restart() {
    let mut actor = fields(1);
    back(&mut actor, Returned::Err(X));
    drive(&mut actor, Recreate(X));
    command(&mut actor, Actor::stop_children);
    back(&mut actor, Returned::Ok);
    drive(&mut actor, ended(A));
    back(&mut actor, Returned::Ok);
    back(&mut actor, Returned::Ok);
    make(&mut actor, 0);
    assert_eq!(
        drive(&mut actor, failed(B, Y)),
        [DropInstance, Send(B, Suspend), Report(Why::Restarting('y')), Send(B, Terminate)]
    );
}

#[test]
fn a_permanent_child_that_was_gone_is_down_for_the_new_instance() {
    let mut actor = of(RestartType::Permanent);
    back(&mut actor, Returned::Err(X));
    drive(&mut actor, ended(A));
    drive(&mut actor, Recreate(X));
    assert_eq!(back(&mut actor, Returned::Ok), [DropInstance, BUILD]);
    assert_eq!(back(&mut actor, Returned::Ok), [Note(News::ReportDropped(id(A), END)), declare(0)]);
    assert_eq!(back(&mut actor, Returned::Ok), [StartChild(0)]);
}

// ---- as the child of a field -----------------------------------------------------------------------------------------

fn field() -> Actor {
    let mut actor = Protocol::new(0).as_field();
    step(&mut actor, Input::Begin);
    assert_eq!(back(&mut actor, Returned::Ok), [Note(News::Started), TellStarted]);
    actor
}

#[test]
fn the_child_of_a_field_restarts_in_two_halves() {
    let mut actor = field();
    drive(&mut actor, Suspend);
    assert_eq!(drive(&mut actor, Halt(X)), [pre_restart(X, false)]);
    assert_eq!(back(&mut actor, Returned::Ok), [DropInstance, TellHalted]);
    assert_eq!(drive(&mut actor, Recreate(X)), [rebuild(X)]);
    assert_eq!(back(&mut actor, Returned::Ok), [Note(News::Restarted(X)), TellStarted]);
    assert_eq!(actor.suspensions(), 0);
}

#[test]
fn a_halt_waits_for_children_that_are_to_end() {
    let mut actor = field();
    spawn(&mut actor);
    spawn(&mut actor);
    drive(&mut actor, Suspend);
    assert_eq!(drive(&mut actor, Halt(X)), [pre_restart(X, false)]);
    command(&mut actor, |actor, effects| actor.stop_child(id(A), effects));
    assert_eq!(back(&mut actor, Returned::Ok), [DropInstance]);
    assert_eq!(drive(&mut actor, ended(A)), [TellHalted]);
    assert_eq!(drive(&mut actor, Recreate(X)), [rebuild(X)]);
    assert_eq!(back(&mut actor, Returned::Ok), [Note(News::Restarted(X)), TellStarted, Send(B, Recreate(X))]);
}

#[test]
fn a_halt_of_an_actor_that_never_started_is_done_without_a_hook() {
    let mut actor = Protocol::new(0).as_field();
    step(&mut actor, Input::Begin);
    spawn(&mut actor);
    back(&mut actor, Returned::Err(X));
    assert_eq!(drive(&mut actor, Halt(X)), [Send(A, Terminate)]);
    assert_eq!(drive(&mut actor, ended(A)), [TellHalted]);
    assert_eq!(drive(&mut actor, Recreate(X))[1..], [CREATE]);
}

#[test]
fn a_halt_after_a_failed_restart_keeps_the_survivors() {
    let mut actor = field();
    spawn(&mut actor);
    back(&mut actor, Returned::Err(X));
    drive(&mut actor, Recreate(X));
    back(&mut actor, Returned::Ok);
    spawn(&mut actor);
    back(&mut actor, Returned::Err(Y));
    assert_eq!(drive(&mut actor, Halt(Y)), [Send(B, Terminate)]);
    assert_eq!(drive(&mut actor, ended(B)), [TellHalted]);
    assert_eq!(actors(&actor), [A]);
}

#[test]
fn a_halt_waits_for_parked_code_at_most_the_stop_timeout() {
    let mut actor = field();
    step(&mut actor, Input::Parked);
    drive(&mut actor, Suspend);
    assert_eq!(drive(&mut actor, Halt(X)), [Effect::Arm(Timer::Abort, None)]);
    assert_eq!(back(&mut actor, Returned::Ok), [Effect::Disarm(Timer::Abort), pre_restart(X, false)]);
}

#[test]
fn a_halt_that_reaches_an_ending_actor_is_nothing() {
    let mut actor = field();
    spawn(&mut actor);
    drive(&mut actor, Terminate);
    assert_eq!(drive(&mut actor, Halt(X)), []);
    assert_eq!(drive(&mut actor, ended(A)), [post_stop()]);
}
