use super::*;

/// An actor that runs, with this many children and without a last hook.
fn running_bare(children: u32) -> Actor {
    let mut actor = Protocol::new(0).without_last_hook();
    assert_eq!(actor.begin(), Call::Create);
    back(&mut actor, Returned::Ok);
    for _ in 0..children {
        spawn(&mut actor);
    }
    actor
}

#[test]
fn without_a_last_hook_the_next_instance_is_made_at_once() {
    let mut actor = running_bare(0);
    back(&mut actor, Returned::Err(X));
    assert_eq!(drive(&mut actor, Restart(X)), [DropInstance, rebuild(X)]);
    assert_eq!(actor.suspensions(), 0);
    assert_eq!(back(&mut actor, Returned::Ok), [Note(News::Restarted(X))]);
    assert!(actor.accepts_messages());
}

#[test]
fn without_a_last_hook_a_stop_is_the_end() {
    let mut actor = running_bare(0);
    let expected: Vec<Does> = [Effect::AnnounceStop].into_iter().chain(the_end(HowEnded::Graceful)).collect();
    assert_eq!(drive(&mut actor, Terminate), expected);
    assert!(actor.has_ended());
}

#[test]
fn the_default_hook_is_called_while_there_are_children() {
    let mut actor = running_bare(1);
    back(&mut actor, Returned::Err(X));
    assert_eq!(drive(&mut actor, Restart(X)), [pre_restart(X, true)]);
    assert_eq!(command(&mut actor, Protocol::stop_children), [Send(A, Terminate)]);
    assert_eq!(back(&mut actor, Returned::Ok), [DropInstance]);
    assert_eq!(drive(&mut actor, ended(A)), [rebuild(X)]);
    back(&mut actor, Returned::Ok);
    assert_eq!(drive(&mut actor, Terminate)[1..], the_end(HowEnded::Graceful), "it has no children any more");
}

#[test]
fn a_handler_that_was_aborted_counts_without_a_last_hook() {
    let mut actor = running_bare(0);
    step(&mut actor, Input::Parked);
    assert_eq!(drive(&mut actor, Terminate), [Effect::AnnounceStop, Effect::Arm(Timer::Abort, None)]);
    assert_eq!(step(&mut actor, Input::Due(Timer::Abort)), [Note(News::Aborted), Effect::Abort]);
    assert_eq!(back(&mut actor, Returned::Aborted), the_end(HowEnded::Aborted));
}

/// Whatever happens to them, an actor without a last hook does the same as one whose hooks return at once.
#[test]
fn not_to_call_a_hook_is_like_a_hook_that_does_nothing() {
    fn answered(actor: &mut Actor, input: Input<'_, u32, Why>) -> Vec<Does> {
        let mut effects = step(actor, input);
        while let Some(Effect::Call(Call::PreRestart { .. } | Call::PostStop { .. })) = effects.last() {
            effects.pop();
            effects.extend(back(actor, Returned::Ok));
        }
        effects
    }
    for seed in 0..2_000 {
        let mut random = fastrand::Rng::with_seed(seed);
        let (mut with, mut without) = (running(0), running_bare(0));
        // What a performer may do next depends on what is out: a call, a parked handler, or nothing.
        // Each suspension gets one answer.
        let (mut out, mut unanswered) = (false, 0);
        for _ in 0..12 {
            let input = match random.u8(..8) {
                0 if !out && with.accepts_messages() => {
                    out = true;
                    Input::Parked
                }
                0..=2 if out || with.accepts_messages() => {
                    out = false;
                    Input::Returned(if random.bool() { Returned::Ok } else { Returned::Err(X) })
                }
                3 => {
                    unanswered += 1;
                    Input::Message(Suspend)
                }
                answer @ 4..=6 if unanswered > 0 => {
                    unanswered -= 1;
                    Input::Message(if answer == 4 { Resume(None) } else { Restart(Y) })
                }
                7 if random.u8(..3) == 0 => Input::Message(Terminate),
                _ => continue,
            };
            let effects = answered(&mut with, input.clone());
            assert_eq!(effects, answered(&mut without, input), "seed {seed}");
            out |= matches!(effects.last(), Some(Effect::Call(_)));
            unanswered += effects.iter().filter(|effect| matches!(effect, Effect::Report { .. })).count();
            assert_eq!(with.suspensions(), without.suspensions(), "seed {seed}");
            assert_eq!(with.accepts_messages(), without.accepts_messages(), "seed {seed}");
        }
    }
}
