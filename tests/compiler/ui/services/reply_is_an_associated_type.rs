//! A handler replies with a trait's associated type, which is a `Result` for the driver at hand.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("the bus is jammed")]
struct Jammed;

trait Driver: Send + 'static {
    type Answer: Send + 'static;
    fn read(&mut self, register: u8) -> Self::Answer;
}

struct Serial;

impl Driver for Serial {
    type Answer = Result<u16, Jammed>;
    fn read(&mut self, register: u8) -> Result<u16, Jammed> {
        if register > 9 { Err(Jammed) } else { Ok(u16::from(register)) }
    }
}

#[actor]
struct Device<D: Driver> {
    driver: D,
}

#[actor]
impl<D: Driver> Device<D> {
    #[handler]
    fn read(&mut self, register: u8) -> D::Answer {
        self.driver.read(register)
    }
}

#[actor]
#[supervise(one_for_one, on(Jammed) = Restart)]
struct Plant {
    #[child(|_| || Device { driver: Serial })]
    device: Child<Device<Serial>>,
}

#[actor]
impl Plant {
    #[handler]
    async fn poll(&self) -> Result<Option<u16>, AskError> {
        Ok(self.device.actor().read(10).await?.ok())
    }
}

fn main() {}
