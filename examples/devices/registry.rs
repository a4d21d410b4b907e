//! The devices. A device outlives its connections and knows which readings it has counted.

use supervise::prelude::*;

use crate::session::SessionRef;

#[actor]
#[supervise(one_for_one(max_retries = 3, within = "1m"), on(_) = Restart)]
pub(crate) struct Registry {
    /// How many devices there are at most. A client chooses its device's number, so it could make up any number of devices.
    most: usize,
    #[child(|_| |_: &u32| Device::default(), limit = self.most)]
    devices: Children<u32, Device>,
}

impl Registry {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, devices: Children::default() }
    }
}

#[actor]
impl Registry {
    /// The device of this number. A refusal is an answer and not a failure, which would end all devices.
    #[handler(inline)]
    fn device(&self, number: u32) -> Reply<Result<DeviceRef, SpawnError>> {
        Reply(self.devices.get_or_spawn(number))
    }
}

/// What the registry knows about a device.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) last: u32,
    pub(crate) sum: i64,
    /// Readings that came again, because the device did not learn that they were counted.
    pub(crate) repeated: u32,
    /// Connections that were still open when the device came back.
    pub(crate) replaced: u32,
}

#[actor]
#[derive(Default)]
pub(crate) struct Device {
    count: Count,
    session: Option<SessionRef>,
}

#[actor]
impl Device {
    /// A device has one connection. Returns the number of its last reading.
    #[handler]
    fn connected(&mut self, session: SessionRef) -> u32 {
        if let Some(before) = self.session.replace(session)
            && before.replaced().tell().is_ok()
        {
            self.count.replaced += 1;
        }
        self.count.last
    }

    /// Counts a reading, once. Returns whether it was its turn.
    #[handler]
    fn read(&mut self, number: u32, value: i32) -> bool {
        if number == self.count.last + 1 {
            self.count.last = number;
            self.count.sum += i64::from(value);
        } else {
            self.count.repeated += 1;
        }
        number <= self.count.last
    }

    #[handler]
    fn count(&self) -> Count {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_device_too_many_is_refused_and_the_others_keep_their_counts() {
        let system = ActorSystem::new("devices");
        let registry = system.spawn("registry", || Registry::new(2)).unwrap();
        let first = registry.device(1).await.unwrap().unwrap();
        assert!(first.read(1, 7).await.unwrap());
        registry.device(2).await.unwrap().unwrap();
        let refused = registry.device(3).await.unwrap();
        assert!(matches!(refused, Err(SpawnError::TooManyChildren { limit: 2, .. })), "{refused:?}");
        assert_eq!(registry.device(1).await.unwrap().unwrap().count().await.unwrap().sum, 7);
    }
}
