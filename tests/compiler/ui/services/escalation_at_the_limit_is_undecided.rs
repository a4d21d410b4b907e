//! At its limit, a supervisor escalates a failure for which its own parent has no rule.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("the query timed out")]
struct QueryTimeout;

#[derive(Debug, thiserror::Error)]
#[error("the report is empty")]
struct EmptyReport;

#[actor]
struct Query;

#[actor]
impl Query {
    #[handler]
    fn run(&mut self, text: String) -> Result<usize, QueryTimeout> {
        if text.is_empty() { Err(QueryTimeout) } else { Ok(text.len()) }
    }
}

#[actor]
#[supervise(one_for_one(max_retries = 3, within = "10s", on_limit = Escalate), on(QueryTimeout) = Restart)]
struct Report {
    #[child(|_| || Query)]
    query: Child<Query>,
}

#[actor]
impl Report {
    #[handler]
    async fn rows(&mut self, text: String) -> Result<usize, EmptyReport> {
        self.query.actor().run(text).await.map_err(|_| EmptyReport)
    }
}

#[actor]
#[supervise(one_for_one, on(EmptyReport) = Restart, on(InitializationFailed) = Stop)]
struct Dashboard;

#[actor]
impl Dashboard {
    #[handler]
    fn open(&mut self, ctx: &mut Context<Self>) -> Result<ReportRef, SpawnError> {
        ctx.spawn_anonymous(|| Report { query: Child::default() })
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("reports");
    let report = system.spawn("dashboard", || Dashboard)?.open().await?;
    println!("{}", report.rows("select 1".to_owned()).await?);
    system.terminate().await;
    Ok(())
}
