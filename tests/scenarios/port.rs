//! An actor that owns a port: an async trait of the application, boxed, as `#[async_trait]` makes it.

use async_trait::async_trait;
use supervise::prelude::*;
use supervise::testkit::{ProbeHandle, TestSystem};

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
enum PortError {
    #[error("the line is down")]
    LineDown,
    #[error("nobody knows {0}")]
    Unknown(&'static str),
}

#[async_trait]
trait Port {
    async fn look_up(&mut self, name: &'static str) -> Result<u32, PortError>;

    async fn look_ups(&self) -> u32;
}

/// The first line fails when it is used. Each line reports when it is opened and closed.
struct Line {
    number: u32,
    look_ups: u32,
    probe: ProbeHandle<String>,
}

impl Line {
    fn open(number: u32, probe: &ProbeHandle<String>) -> Self {
        probe.note(format!("line {number} opens"));
        Self { number, look_ups: 0, probe: probe.clone() }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.probe.note(format!("line {} closes", self.number));
    }
}

#[async_trait]
impl Port for Line {
    async fn look_up(&mut self, name: &'static str) -> Result<u32, PortError> {
        self.look_ups += 1;
        tokio::task::yield_now().await;
        match (self.number, name) {
            (1, _) => Err(PortError::LineDown),
            (_, "Ada") => Ok(1815),
            (_, unknown) => Err(PortError::Unknown(unknown)),
        }
    }

    async fn look_ups(&self) -> u32 {
        tokio::task::yield_now().await;
        self.look_ups
    }
}

#[actor]
struct Directory {
    port: Box<dyn Port + Send + Sync>,
}

#[actor]
impl Directory {
    #[handler]
    async fn look_up(&mut self, name: &'static str) -> Result<u32, PortError> {
        self.port.look_up(name).await
    }

    #[handler]
    async fn look_ups(&self) -> u32 {
        self.port.look_ups().await
    }
}

#[actor]
#[supervise(on(PortError::LineDown) = Restart, on(PortError::Unknown(_)) = Resume)]
struct Exchange {
    probe: ProbeHandle<String>,
    #[child(|this| {
        let (mut lines, probe) = (0, this.probe.clone());
        move || {
            lines += 1;
            Directory { port: Box::new(Line::open(lines, &probe)) }
        }
    })]
    directory: Child<Directory>,
}

#[actor]
impl Exchange {
    #[handler]
    fn directory(&self) -> DirectoryRef {
        self.directory.actor()
    }
}

/// Rules 2.2, 3.4, 4.2.
#[supervise::test]
async fn an_actor_whose_port_fails_goes_on_with_a_fresh_one(system: &TestSystem) {
    let lines = system.probe();
    let handle = lines.handle();
    let build = move || Exchange { probe: handle.clone(), directory: Child::default() };
    let directory = system.spawn("exchange", build).unwrap().directory().await.unwrap();

    let Err(AskError::Failed(failure)) = directory.look_up("Ada").await else { panic!("the first line is down") };
    assert_eq!(failure.downcast_ref(), Some(&PortError::LineDown));
    assert_eq!(directory.look_up("Ada").await.unwrap(), 1815);
    system.expect_restarts(&directory, 1).await;
    assert_eq!(lines.all().await, ["line 1 opens", "line 1 closes", "line 2 opens"]);

    assert!(directory.look_up("Bob").await.is_err());
    assert_eq!(directory.look_ups().await.unwrap(), 2, "a port that is resumed keeps what it knows");
    system.expect_decision(&directory).await;
}
