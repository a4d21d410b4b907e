use super::*;

#[test]
fn an_actor_begins_with_its_factory() {
    assert_eq!(Actor::new(0).begin(), Call::Create);
}

#[test]
fn a_child_of_a_suspended_parent_starts_but_handles_nothing() {
    let mut actor = Protocol::new(2);
    assert_eq!(actor.begin(), Call::Create);
    assert_eq!(back(&mut actor, Returned::Ok), [Note(News::Started { again: false })]);
    assert!(!actor.accepts_messages());
    drive(&mut actor, Resume(None));
    assert!(!actor.accepts_messages());
    drive(&mut actor, Resume(None));
    assert!(actor.accepts_messages());
}

#[test]
fn a_new_child_inherits_the_suspensions_of_its_parent() {
    let mut actor = failing(0);
    drive(&mut actor, Suspend);
    let mut inherited = 0;
    actor
        .spawn(&ActorName::from("late"), |_, count| {
            inherited = count;
            A
        })
        .unwrap();
    assert_eq!(inherited, 2);
}

#[test]
fn a_failed_creation_is_reported_as_such_and_leaves_no_instance() {
    let mut actor = creating();
    assert_eq!(back(&mut actor, Returned::Err(X)), [DropInstance, reports(0, Why::Starting('x'))]);
    assert_eq!(actor.suspensions(), 1);
    assert_eq!(drive(&mut actor, Terminate)[1..], the_end(HowEnded::Graceful));
}

#[test]
fn a_failed_creation_is_tried_again_when_its_children_are_gone() {
    for answer in [Restart(X), Resume(Some(X))] {
        let again = matches!(answer, Restart(_));
        let mut actor = creating();
        spawn(&mut actor);
        assert_eq!(
            back(&mut actor, Returned::Err(X)),
            [DropInstance, Send(A, Suspend), reports(0, Why::Starting('x'))]
        );
        assert_eq!(drive(&mut actor, answer), [Note(News::TurnedIntoCreate), Send(A, Terminate)]);
        assert_eq!(drive(&mut actor, ended(A)), [Effect::Call(Call::Create)]);
        assert_eq!(back(&mut actor, Returned::Ok), [Note(News::Started { again })]);
        assert!(actor.accepts_messages());
    }
}

#[test]
fn a_resume_from_an_ancestor_creates_nothing() {
    let mut actor = creating();
    back(&mut actor, Returned::Err(X));
    drive(&mut actor, Suspend);
    assert_eq!(drive(&mut actor, Resume(None)), []);
    assert_eq!(actor.suspensions(), 1);
}

#[test]
fn a_name_is_free_when_the_end_of_its_holder_has_been_processed() {
    let mut actor = running(0);
    let name = ActorName::from("name");
    assert_eq!(actor.spawn(&name, |_, _| A), Ok(A));
    assert_eq!(actor.spawn(&name, |_, _| B), Err(SpawnRefusal::NameTaken));
    command(&mut actor, |actor, effects| actor.stop_child(id(A), effects));
    assert_eq!(actor.spawn(&name, |_, _| B), Err(SpawnRefusal::NameTaken));
    drive(&mut actor, ended(A));
    assert_eq!(actor.spawn(&name, |_, _| B), Ok(B));
}

#[test]
fn an_ending_actor_has_no_new_children() {
    let mut actor = running(1);
    drive(&mut actor, Terminate);
    assert_eq!(actor.spawn(&ActorName::from("late"), |_, _| B), Err(SpawnRefusal::Stopping));
}
