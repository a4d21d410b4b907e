//! Every role may be `async`, but for `stash_while`.

use supervise::prelude::*;

#[actor(stash = 10, stop_timeout = 250ms)]
struct Patient;

#[actor]
impl Patient {
    #[pre_start]
    async fn open(&mut self) {
        tokio::task::yield_now().await;
    }

    #[post_stop]
    async fn close(&self, ctx: &mut Context<Self>) -> std::io::Result<()> {
        tokio::task::yield_now().await;
        let _ = ctx.was_aborted();
        Ok(())
    }

    #[pre_restart]
    async fn before(&mut self, message: Option<PatientMessage>, ctx: &mut Context<Self>, cause: &Failure) {
        tokio::task::yield_now().await;
        let _ = (message, ctx.path(), cause.to_string());
    }

    #[post_restart]
    async fn after(&mut self, cause: &Failure) -> Result<(), std::fmt::Error> {
        let _ = cause;
        Ok(())
    }

    #[watch]
    async fn gone(&mut self, _gone: Terminated<Patient>) {
        tokio::task::yield_now().await;
    }

    #[handler]
    async fn read(&self, other: PatientRef) -> Result<u8, AskError> {
        tokio::task::yield_now().await;
        other.read(other.clone()).timeout(std::time::Duration::from_secs(1)).await
    }

    #[stash_while]
    fn busy(&self, _message: &PatientMessage) -> bool {
        false
    }
}

pub(super) fn main() {}
