//! The faults that the service must withstand, and the ledger of the run.

use std::error::Error;
use std::fs::File;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use supervise_examples::service::process::signal;
use supervise_examples::service::{Ledger, Scratch, Values, say};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::client::{self, Connection};
use crate::postgres::Postgres;
use crate::tally::Tally;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Within this time an actor has heard of a row that the table has.
const CATCHES_UP: Duration = Duration::from_secs(2);
const TABLE: &str = "CREATE TABLE orders (id text PRIMARY KEY, customer text NOT NULL, number bigint NOT NULL, \
    article text NOT NULL, UNIQUE (customer, number))";
/// How long the service may take to recover once the fault is over, on a busy machine.
const RECOVERY: Duration = Duration::from_secs(5);
/// How long the service may take to end. Its phases have five seconds each.
const END: Duration = Duration::from_secs(15);
/// A label of the metrics.
const CUSTOMER: &str = "customer::Customer\"";
const RUSH: usize = 600;

/// A fault that the service went through.
struct Fault {
    name: &'static str,
    hurt: Instant,
    healed: Instant,
    /// `None` if the fault did not affect the database.
    probes: Option<Probes>,
}

/// How often the probes of the service failed while a fault lasted.
#[derive(Clone, Copy, Default)]
struct Probes {
    ready: usize,
    live: usize,
}

pub(crate) async fn run(values: Values) -> Outcome<Ledger> {
    let calm = Duration::from_secs(values.get("--calm"));
    let port = values.get("--port");
    // The service would report the same, but only in its log.
    drop(
        std::net::TcpListener::bind(("127.0.0.1", port))
            .map_err(|error| format!("cannot listen on 127.0.0.1:{port}: {error}"))?,
    );
    let scratch = Scratch::new("intake")?;
    let postgres = Postgres::start(scratch.path()).await?;
    postgres.connect().await?.batch_execute(TABLE).await?;
    let service = Service::start(scratch.path(), port, &postgres).await?;
    say(&format!("PostgreSQL and the service run; http://{}/metrics", service.address));
    let mut drill =
        Drill { postgres, service, tally: Tally::default(), calm, scratch, faults: Vec::new(), refused_fast: 0 };
    let ledger = drill.run(values.get("--clients")).await?;
    if !ledger.is_right() {
        say(&format!("the logs are in {}", drill.scratch.keep().display()));
    }
    Ok(ledger)
}

struct Drill {
    postgres: Postgres,
    service: Service,
    tally: Tally,
    calm: Duration,
    scratch: Scratch,
    faults: Vec<Fault>,
    refused_fast: usize,
}

impl Drill {
    async fn run(&mut self, clients: u64) -> Outcome<Ledger> {
        let address = self.service.address;
        let (end, ended) = watch::channel(false);
        let mut sending = JoinSet::new();
        for number in 0..clients {
            sending.spawn(client::order(number, address, self.tally.clone(), ended.clone()));
        }
        sleep(self.calm).await;
        self.kill_the_database().await?;
        self.suspend_the_database().await?;
        self.break_the_schema().await?;
        let metrics = self.service.metrics().await;
        let first = self.end_the_service().await?;
        let disagreeing = self.disagreeing().await?;
        let last_sent = Instant::now();
        // Clients send while it ends.
        let second = self.service.end().await?;
        end.send_replace(true);
        sending.join_all().await;
        self.ledger(&metrics, [first, second], disagreeing, last_sent).await
    }

    async fn kill_the_database(&mut self) -> Outcome<()> {
        say("kill -9 of all processes of the database");
        let hurt = Instant::now();
        self.postgres.kill()?;
        let probes = self.lasts(Duration::from_millis(1500)).await;
        self.postgres.start_again().await?;
        self.healed("database killed", hurt, Some(probes)).await;
        Ok(())
    }

    async fn suspend_the_database(&mut self) -> Outcome<()> {
        say("SIGSTOP of all processes of the database, and a rush of orders");
        let hurt = Instant::now();
        self.postgres.signal_all("STOP")?;
        let rush = client::rush(RUSH, self.service.address, &self.tally, Duration::from_millis(700));
        let (refused_fast, probes) = tokio::join!(rush, self.lasts(Duration::from_millis(2500)));
        self.refused_fast = refused_fast;
        self.postgres.signal_all("CONT")?;
        self.healed("database suspended", hurt, Some(probes)).await;
        Ok(())
    }

    async fn break_the_schema(&mut self) -> Outcome<()> {
        say("the table is renamed");
        let database = self.postgres.connect().await?;
        let hurt = Instant::now();
        database.batch_execute("ALTER TABLE orders RENAME TO mislaid").await?;
        let probes = self.lasts(Duration::from_millis(1500)).await;
        database.batch_execute("ALTER TABLE mislaid RENAME TO orders").await?;
        self.healed("table renamed", hurt, Some(probes)).await;
        Ok(())
    }

    /// A deployment: SIGTERM while clients send, then the service starts again at the same port.
    async fn end_the_service(&mut self) -> Outcome<Ended> {
        say("SIGTERM for the service, which then starts again");
        let hurt = Instant::now();
        let ended = self.service.end().await?;
        self.service = Service::start(self.scratch.path(), self.service.address.port(), &self.postgres).await?;
        self.healed("service ended and started", hurt, None).await;
        Ok(ended)
    }

    /// Leaves a fault alone for a while, and for longer if the readiness probe has not failed yet.
    async fn lasts(&self, time: Duration) -> Probes {
        let until = Instant::now() + time;
        let mut probes = Probes::default();
        while Instant::now() < until || (probes.ready == 0 && Instant::now() < until + RECOVERY) {
            probes.ready += usize::from(!self.service.answers("/ready").await);
            probes.live += usize::from(!self.service.answers("/live").await);
            sleep(Duration::from_millis(50)).await;
        }
        probes
    }

    async fn healed(&mut self, name: &'static str, hurt: Instant, probes: Option<Probes>) {
        self.faults.push(Fault { name, hurt, healed: Instant::now(), probes });
        sleep(self.calm).await;
    }

    /// How many customers' actors have another count of orders than the table.
    async fn disagreeing(&self) -> Outcome<Vec<String>> {
        let database = self.postgres.connect().await?;
        let customers = database.query("SELECT DISTINCT customer FROM orders ORDER BY 1", &[]).await?;
        let mut connection = Connection::new(self.service.address);
        let mut disagreeing = Vec::new();
        for customer in customers {
            let customer: String = customer.get(0);
            // Clients still order from some of them, so the actor's count is between the table's before and after. The actor hears of
            // a row a moment after the table has it.
            let counted = "SELECT count(*) FROM orders WHERE customer = $1";
            let before: i64 = database.query_one(counted, &[&customer]).await?.get(0);
            let asked = Instant::now();
            let (answer, count) = loop {
                let answer = connection.request("GET", &format!("/customers/{customer}"), "").await;
                let count = answer.as_ref().and_then(|(_, body)| body.parse::<i64>().ok());
                if count.is_none_or(|count| count >= before) || asked.elapsed() > CATCHES_UP {
                    break (answer, count);
                }
            };
            let after: i64 = database.query_one(counted, &[&customer]).await?.get(0);
            if !count.is_some_and(|count| (before..=after).contains(&count)) {
                disagreeing.push(format!("{customer}: {answer:?}, in the table {before} to {after}"));
            }
        }
        Ok(disagreeing)
    }

    async fn ledger(
        &self,
        metrics: &Metrics,
        ends: [Ended; 2],
        disagreeing: Vec<String>,
        last_sent: Instant,
    ) -> Outcome<Ledger> {
        let database = self.postgres.connect().await?;
        let rows = database.query("SELECT id, number FROM orders", &[]).await?;
        let rows: Vec<(String, i64)> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
        let in_table: std::collections::HashMap<&str, i64> =
            rows.iter().map(|(id, number)| (id.as_str(), *number)).collect();
        let counts = self.tally.counts();
        let mut ledger = Ledger::default();

        ledger.note("orders sent", counts.sent.len());
        ledger.some("answered 201", counts.status(201));
        ledger.note("answered 200: sent again, and already in the table", counts.status(200));
        ledger.some("answered 503", counts.status(503));
        ledger.note("connections that broke before the answer", counts.unanswered);
        ledger.some("answered 500: orders that panic their customer", counts.status(500));
        let others = counts.statuses.iter().filter(|(status, _)| !matches!(status, 200 | 201 | 500 | 503));
        ledger.none("answered with another status", others.map(|(_, times)| times).sum());
        ledger.note("in the database", rows.len());
        let lost = counts.accepted.iter().filter(|(id, _)| !in_table.contains_key(id.as_str())).count();
        ledger.none("lost: accepted, but not in the database", lost);
        ledger.none("doubled: rows beyond the first of an id", rows.len() - in_table.len());
        let misnumbered =
            counts.accepted.iter().filter(|(id, number)| in_table.get(id.as_str()) != Some(number)).count();
        ledger.none("in the database with a number that differs from the answer's", misnumbered - lost);
        ledger.none("answered twice with different numbers", counts.contradicted);
        ledger.none(
            "in the database, but never sent",
            rows.iter().filter(|(id, _)| !counts.sent.contains(id)).count(),
        );
        let unknown = rows.iter().filter(|(id, _)| !counts.accepted.contains_key(id)).count();
        ledger.note("in the database, but never confirmed (the rush and the last requests)", unknown);
        ledger.none("customers whose actor has another count than the table", disagreeing.len());
        disagreeing.iter().take(3).for_each(|line| say(line));
        ledger.some("refused at once in the rush, because mailboxes were full", self.refused_fast);
        ledger.note("slowest answer", millis(counts.slowest));

        let ends_of_faults = self.faults.iter().skip(1).map(|fault| fault.hurt).chain([last_sent]);
        for (fault, until) in self.faults.iter().zip(ends_of_faults) {
            let Fault { name, hurt, healed, probes } = fault;
            ledger.note(format!("{name}: longest time without success"), millis(counts.longest_gap(*hurt, until)));
            let recovered = counts.next_after(*healed).unwrap_or(Duration::MAX);
            ledger.demand(
                format!("{name}: first success after the fault ended"),
                millis(recovered),
                "within 5 s",
                recovered <= RECOVERY,
            );
            if let Some(Probes { ready, live }) = probes {
                ledger.some(format!("{name}: failures of /ready"), *ready);
                ledger.none(format!("{name}: failures of /live"), *live);
            }
        }
        for ended in ends {
            ledger.demand("SIGTERM: exit code", ended.code.map_or(-1, i64::from), "0", ended.code == Some(0));
            ledger.note("SIGTERM: ended after", millis(ended.after));
        }
        let ended = |reason| metrics.sum("supervise_actors_ended_total", &[CUSTOMER, reason]);
        ledger.some("connections restarted", metrics.sum("supervise_restarts_total", &["writer::Writer\""]));
        ledger.some("customers ended because an outcome was unknown", ended("reason=\"failed\""));
        ledger.some("customers passivated", ended("reason=\"stopped_itself\""));
        ledger
            .note("customers alive at the end of the first service", metrics.sum("supervise_actors", &[CUSTOMER]));
        Ok(ledger)
    }
}

fn millis(time: Duration) -> String {
    if time == Duration::MAX { "never".to_owned() } else { format!("{} ms", time.as_millis()) }
}

/// The service's process. Dropping this value kills it.
struct Service {
    process: Child,
    address: SocketAddr,
}

/// How a service ended.
struct Ended {
    code: Option<i32>,
    after: Duration,
}

/// The answer of `/metrics`.
struct Metrics(String);

impl Service {
    async fn start(scratch: &Path, port: u16, postgres: &Postgres) -> Outcome<Self> {
        let log = File::options().create(true).append(true).open(scratch.join("service.log"))?;
        let mut process = Command::new(std::env::current_exe()?)
            .args(["serve", &port.to_string(), &postgres.config()])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .kill_on_drop(true)
            .spawn()?;
        let stdout = process.stdout.take().ok_or("the service has no output")?;
        let mut lines = BufReader::new(stdout).lines();
        let line = timeout(RECOVERY, lines.next_line()).await.map_err(|_| "the service does not start")??;
        let address = line.as_deref().and_then(|line| line.strip_prefix("listening on "));
        let address = address.ok_or_else(|| {
            let log = std::fs::read_to_string(scratch.join("service.log")).unwrap_or_default();
            format!("the service does not start: {}", log.lines().last().unwrap_or("it says nothing"))
        })?;
        Ok(Self { process, address: address.parse()? })
    }

    async fn get(&self, path: &str) -> Option<(u16, String)> {
        Connection::new(self.address).request("GET", path, "").await
    }

    /// Whether a probe of this path succeeds.
    async fn answers(&self, path: &str) -> bool {
        self.get(path).await.is_some_and(|(status, _)| status == 200)
    }

    async fn metrics(&self) -> Metrics {
        Metrics(self.get("/metrics").await.map(|(_, body)| body).unwrap_or_default())
    }

    /// Sends SIGTERM and waits.
    async fn end(&mut self) -> Outcome<Ended> {
        let began = Instant::now();
        signal("TERM", self.process.id().ok_or("the service has ended by itself")?)?;
        let status = timeout(END, self.process.wait()).await.map_err(|_| "the service does not end")??;
        Ok(Ended { code: status.code(), after: began.elapsed() })
    }
}

impl Metrics {
    /// The sum of a metric's series whose labels contain these texts.
    fn sum(&self, metric: &str, labels: &[&str]) -> usize {
        let series = self.0.lines().filter(|line| {
            line.strip_prefix(metric)
                .is_some_and(|rest| rest.starts_with('{') && labels.iter().all(|label| rest.contains(label)))
        });
        series.filter_map(|line| line.rsplit(' ').next()?.parse::<usize>().ok()).sum()
    }
}
