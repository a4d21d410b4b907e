//! When the lease of another process is over. Pure: times are those of one clock, which nobody sets.
//!
//! Rule 27.6.

use std::ops::Add;
use std::time::Duration;

/// The lease of another process, as this one has seen it. Whether the server still has it depends on its clock, and the server forgets all leases
/// when it is started again. So this process measures the time itself.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Sighting<T> {
    /// The number of the lease, if it was there.
    revision: Option<u64>,
    /// The number that the server had assigned last, to any lease.
    newest: u64,
    /// The server that said so. It has another name each time that it is started.
    server: String,
    /// Since when it has not changed.
    since: T,
    /// When it was last there.
    last: T,
}

impl<T: Copy + Ord + Add<Duration, Output = T>> Sighting<T> {
    /// The lease was looked up for the first time.
    pub fn new(said: &Said, now: T) -> Self {
        Self { revision: said.present, newest: said.newest, server: said.server.clone(), since: now, last: now }
    }

    /// The lease was looked up. Returns whether its process has had a whole length of time to renew it.
    pub fn is_over(&mut self, said: &Said, now: T, length: Duration) -> bool {
        // If the server was started again, it has forgotten all leases, and gives the same numbers again.
        let was_restarted = said.server != self.server || said.newest < self.newest;
        let has_changed = was_restarted
            || match said.present {
                Some(_) => said.present != self.revision,
                // This process has not looked for so long that nobody knows when it was renewed last.
                None => self.revision.is_some() && now > self.last + length,
            };
        if has_changed {
            *self = Self::new(said, now);
            return false;
        }
        (self.revision, self.newest) = (said.present, said.newest);
        if said.present.is_some() {
            self.last = now;
        }
        now >= self.since + length
    }
}

/// What the server says about a lease.
#[derive(Debug, Clone)]
pub struct Said {
    /// The number of the lease.
    pub present: Option<u64>,
    /// The number that the server has assigned last, to any lease.
    pub newest: u64,
    /// The name of the server.
    pub server: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    const LENGTH: Duration = Duration::from_secs(10);

    fn at(began: Duration, seconds: u64) -> Duration {
        began + Duration::from_secs(seconds)
    }

    fn said(present: Option<u64>, newest: u64) -> Said {
        Said { present, newest, server: "one".to_owned() }
    }

    #[test]
    fn a_lease_that_is_not_renewed_is_over_after_its_length() {
        let began = Duration::ZERO;
        let mut seen = Sighting::new(&said(Some(7), 7), began);
        for second in 1..10 {
            assert!(!seen.is_over(&said(Some(7), 7), at(began, second), LENGTH), "second {second}");
        }
        // The server forgets it by itself when its time is over.
        assert!(seen.is_over(&said(None, 7), at(began, 10), LENGTH));
        assert!(seen.is_over(&said(None, 7), at(began, 30), LENGTH), "and it stays over");
        let mut seen = Sighting::new(&said(Some(7), 7), began);
        assert!(!seen.is_over(&said(Some(8), 8), at(began, 9), LENGTH), "it was renewed");
        assert!(!seen.is_over(&said(Some(8), 8), at(began, 18), LENGTH));
        assert!(seen.is_over(&said(Some(8), 8), at(began, 19), LENGTH), "although the server still has it");
    }

    #[test]
    fn a_lease_that_the_server_has_forgotten_has_its_whole_length_again() {
        let began = Duration::ZERO;
        let other = Said { server: "two".to_owned(), ..said(None, 9) };
        // The server was started again: it gives its numbers again, or has another name.
        for forgets in [said(None, 0), other] {
            let mut seen = Sighting::new(&said(Some(7), 7), began);
            assert!(!seen.is_over(&forgets, at(began, 10), LENGTH));
            assert!(!seen.is_over(&forgets, at(began, 19), LENGTH));
            assert!(seen.is_over(&forgets, at(began, 20), LENGTH));
        }
        let mut seen = Sighting::new(&said(Some(7), 7), began);
        let same = || Said { server: "two".to_owned(), ..said(Some(7), 7) };
        assert!(!seen.is_over(&same(), at(began, 10), LENGTH), "it is another lease of the same number");
        assert!(seen.is_over(&same(), at(began, 20), LENGTH));
        // It was gone, and the server was started again before this process looked again.
        let mut seen = Sighting::new(&said(Some(7), 7), began);
        assert!(!seen.is_over(&said(None, 7), at(began, 9), LENGTH));
        let other = Said { server: "two".to_owned(), ..said(None, 7) };
        assert!(!seen.is_over(&other, at(began, 10), LENGTH), "its process may have taken it again in between");
        assert!(seen.is_over(&other, at(began, 20), LENGTH));
        // This process has not looked for so long that the lease may have been renewed in the meantime.
        let mut seen = Sighting::new(&said(Some(7), 7), began);
        assert!(!seen.is_over(&said(None, 9), at(began, 11), LENGTH));
        assert!(seen.is_over(&said(None, 9), at(began, 21), LENGTH));
        // A lease that this process has never seen.
        let mut seen = Sighting::new(&said(None, 0), began);
        assert!(!seen.is_over(&said(None, 0), at(began, 9), LENGTH));
        assert!(seen.is_over(&said(None, 0), at(began, 10), LENGTH));
    }
}
