//! OTP-02 to OTP-07, OTP-10: actors that decline to be started. OTP's start function returns `ignore`; here an actor stops
//! itself in `pre_start`.

use supervise::prelude::*;
use supervise::testkit::{ProbeHandle, TestSystem};
use supervise::{ChildSpec, Event, HowEnded, RestartType, Strategy};

use crate::fixture::{child, keeper, names_of_children, secs, within};

/// Has nothing to do and says so at its start.
#[actor]
struct Declining {
    stops: ProbeHandle<&'static str>,
}

#[actor]
impl Declining {
    #[pre_start]
    fn decline(&mut self, ctx: &mut Context<Self>) {
        ctx.stop_self();
    }

    #[handler]
    fn ping(&self) -> &'static str {
        "pong"
    }

    #[post_stop]
    fn stopped(&mut self) {
        self.stops.note("stopped");
    }
}

fn declining(stops: &ProbeHandle<&'static str>) -> impl FnMut() -> Declining + Send + 'static + use<> {
    let stops = stops.clone();
    move || Declining { stops: stops.clone() }
}

/// Works.
#[actor]
struct Sound;

#[actor]
impl Sound {
    #[handler]
    fn ping(&self) -> &'static str {
        "pong"
    }
}

/// Has children that decline among its fields.
#[actor]
struct Office {
    stops: ProbeHandle<&'static str>,
    #[child(|this| declining(&this.stops))]
    transient: Child<Declining>,
    #[child(|this| declining(&this.stops), restart = temporary, stop_timeout = "2s")]
    temporary: Child<Declining>,
    #[child(|_| || Sound, restart = permanent, name = "worker")]
    sound: Child<Sound>,
}

#[actor]
impl Office {
    #[handler]
    async fn ping_all(&self) -> [bool; 3] {
        [
            self.transient.actor().ping().await.is_ok(),
            self.temporary.actor().ping().await.is_ok(),
            self.sound.actor().ping().await.is_ok(),
        ]
    }

    #[handler]
    fn hire(&mut self, name: &'static str, ctx: &mut Context<Self>) -> Reply<Result<(), SpawnError>> {
        Reply(ctx.spawn(name, || Sound).map(drop))
    }
}

/// Rule 8.6.
#[supervise::test]
async fn otp_02_a_supervisor_that_declines_ends_normally(system: &TestSystem) {
    let stops = system.probe();
    let declined = system.spawn("declined", declining(&stops.handle())).unwrap();
    assert_eq!(system.expect_terminated(&declined).await, HowEnded::Graceful);
    assert!(
        system.take_all(|event| matches!(event, Event::Decided { .. })).await.is_empty(),
        "it is not a failure"
    );
    assert_eq!(stops.all().await, ["stopped"], "its start succeeded");
    system.spawn("declined", declining(&stops.handle())).unwrap();
}

/// Rules 14.1, 14.2, 14.6.
#[supervise::test]
async fn otp_03_otp_04_a_field_that_declines_is_down_and_its_siblings_work(system: &TestSystem) {
    let stops = system.probe();
    let handle = stops.handle();
    let office = system.spawn("office", move || Office {
        stops: handle.clone(),
        transient: Child::default(),
        temporary: Child::default(),
        sound: Child::default(),
    });
    let office = office.unwrap();
    assert_eq!(office.ping_all().await.unwrap(), [false, false, true]);
    assert_eq!(stops.all().await, ["stopped", "stopped"], "once each: nobody starts them again");
    system.advance(secs(60)).await;
    stops.expect_none().await;
    for (name, is_free) in [("transient", false), ("temporary", false), ("worker", false), ("another", true)] {
        assert_eq!(office.hire(name).await.unwrap().is_ok(), is_free, "{name}");
    }
    assert!(system.take_all(|event| matches!(event, Event::Decided { .. })).await.is_empty());
    system.allow_dead_letters();
}

/// Rules 5.4, 6.3.
#[supervise::test]
async fn otp_05_otp_06_nothing_is_kept_of_a_dynamic_child_that_declines(system: &TestSystem) {
    let stops = system.probe();
    let boss = keeper(system, Strategy::all_for_one());
    for _ in 0..2 {
        let named = child(&boss, "named", declining(&stops.handle())).await;
        let handle = stops.handle();
        let anonymous =
            within(&boss, move |ctx| ctx.spawn_anonymous(declining(&handle)).expect("a name of its own"));
        system.expect_terminated(&anonymous.await).await;
        system.expect_terminated(&named).await;
        assert_eq!(names_of_children(&boss).await, Vec::<String>::new());
    }
    assert_eq!(stops.all().await.len(), 4);
}

/// Rule 14.2.
#[test]
fn otp_10_what_a_field_does_not_say_has_a_default() {
    let [transient, temporary, sound] = <Office as Supervisor>::CHILDREN else {
        panic!("three fields: {:?}", <Office as Supervisor>::CHILDREN)
    };
    assert_eq!(*transient, ChildSpec::new("transient"));
    assert_eq!(
        (transient.restart, transient.stop_timeout, transient.significant),
        (RestartType::Transient, None, false)
    );
    assert_eq!((temporary.restart, temporary.stop_timeout), (RestartType::Temporary, Some(secs(2))));
    assert_eq!((sound.name, sound.restart), ("worker", RestartType::Permanent));
}
