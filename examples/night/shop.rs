//! A shop in which much is wrong: the system that `night` shows, and that the browser tests read.

use std::io;
use std::time::Duration;

use supervise::prelude::*;

#[actor]
struct Storefront;

#[actor]
impl Storefront {
    #[handler]
    fn open(&mut self, sessions: usize, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        for _ in 0..sessions {
            ctx.spawn_anonymous(|| Session { pages: 0 })?;
        }
        Ok(())
    }
}

#[actor]
struct Session {
    pages: u32,
}

#[actor]
impl Session {
    #[handler]
    fn show(&mut self) {
        self.pages += 1;
    }
}

/// Supervises the gateway and the audit.
#[actor]
#[supervise(one_for_one, on(io::Error) = Restart(backoff(min = "1s", max = "30s")))]
struct Payments;

#[actor]
impl Payments {
    #[handler]
    fn gateway(&mut self, ctx: &mut Context<Self>) -> Result<GatewayRef, SpawnError> {
        ctx.spawn("gateway", || Gateway)
    }

    #[handler]
    fn audit(&mut self, ctx: &mut Context<Self>) -> Result<AuditRef, SpawnError> {
        ctx.spawn("audit", || Audit { entries: 0 })
    }
}

#[actor]
struct Gateway;

#[actor]
impl Gateway {
    #[handler]
    fn charge(&mut self) -> io::Result<()> {
        Err(io::Error::new(io::ErrorKind::ConnectionRefused, "cannot reach the acquirer: connection refused"))
    }
}

#[actor]
struct Audit {
    entries: u64,
}

#[actor]
impl Audit {
    #[handler]
    async fn enter(&mut self) {
        tokio::time::sleep(Duration::from_millis(10)).await;
        self.entries += 1;
    }
}

/// Supervises the mail, which may restart three times in two minutes.
#[actor]
#[supervise(one_for_one(max_retries = 3, within = "120s", on_limit = Escalate), on(io::Error) = Restart)]
struct Mail;

#[actor]
impl Mail {
    #[handler]
    fn smtp(&mut self, ctx: &mut Context<Self>) -> Result<SmtpRef, SpawnError> {
        ctx.spawn("newsletter", || Newsletter)?;
        ctx.spawn("smtp", || Smtp)
    }
}

#[actor]
struct Newsletter;

#[actor]
impl Newsletter {}

#[actor]
struct Smtp;

#[actor]
impl Smtp {
    #[handler]
    fn deliver(&mut self) -> io::Result<()> {
        Err(io::Error::other("421 too many connections"))
    }
}

#[actor]
#[supervise(on(AskError) = Restart)]
struct Stock;

#[actor]
impl Stock {
    /// Opens this many orders, and places them.
    #[handler]
    fn open(&mut self, orders: u32, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        let connection = ctx.spawn("conn-2", || Connection)?;
        let ledger = ctx.spawn("ledger", move || Ledger { connection: connection.clone() })?;
        for number in 1..=orders {
            let ledger = ledger.clone();
            let order = ctx.spawn(format!("order-{number}"), move || Order { ledger: ledger.clone() })?;
            // It has just begun, so it takes its first message.
            let _placed = order.place().tell();
        }
        Ok(())
    }
}

#[actor]
struct Order {
    ledger: LedgerRef,
}

#[actor]
impl Order {
    #[handler]
    async fn place(&mut self) -> Result<(), AskError> {
        self.ledger.reserve().await
    }
}

#[actor]
struct Ledger {
    connection: ConnectionRef,
}

#[actor]
impl Ledger {
    #[handler]
    async fn reserve(&mut self) -> Result<(), AskError> {
        self.connection.query().await
    }
}

#[actor]
struct Connection;

#[actor]
impl Connection {
    /// The database never answers.
    #[handler]
    async fn query(&mut self) {
        std::future::pending::<()>().await;
    }
}

#[actor]
#[supervise(one_for_one(max_retries = 5, within = "60s"), on(io::Error) = Restart)]
struct Office;

#[actor]
impl Office {
    #[handler]
    fn reports(&mut self, ctx: &mut Context<Self>) -> Result<ReportsRef, SpawnError> {
        ctx.spawn("reports", || Reports)
    }
}

#[actor]
struct Reports;

#[actor]
impl Reports {
    #[handler]
    fn track(&mut self) -> io::Result<()> {
        Err(io::Error::other("disk quota exceeded"))
    }
}

/// Reports each sale.
#[actor]
struct Till {
    reports: ReportsRef,
}

#[actor]
impl Till {
    #[handler]
    fn sell(&mut self) {
        // Messages to an actor that has stopped are lost.
        let _lost = self.reports.track().tell();
    }
}

/// The refs through which the shop is kept busy.
pub(crate) struct Shop {
    gateway: GatewayRef,
    audit: AuditRef,
    smtp: SmtpRef,
    till: TillRef,
}

impl Shop {
    /// Opens the shop with this many sessions.
    ///
    /// # Errors
    /// If the system ends in the meantime.
    pub(crate) async fn open(system: &ActorSystem, sessions: usize) -> Result<Self, Box<dyn std::error::Error>> {
        let storefront = system.spawn("storefront", || Storefront)?;
        storefront.open(sessions).await?;
        let payments = system.spawn("payments", || Payments)?;
        let (gateway, audit) = (payments.gateway().await?, payments.audit().await?);
        let smtp = system.spawn("mail", || Mail)?.smtp().await?;
        system.spawn("stock", || Stock)?.open(41).await?;
        let reports = system.spawn("office", || Office)?.reports().await?;
        for _ in 0..6 {
            reports.track().tell()?;
        }
        let till = system.spawn("till", move || Till { reports: reports.clone() })?;
        Ok(Self { gateway, audit, smtp, till })
    }

    /// One twentieth of a second of work, the `tick`th.
    ///
    /// # Errors
    ///
    /// If the system has ended.
    pub(crate) fn work(&self, tick: u64) -> Result<(), Box<dyn std::error::Error>> {
        self.till.sell().tell()?;
        for _ in 0..20 {
            self.audit.enter().tell()?;
        }
        if tick.is_multiple_of(20) {
            self.gateway.charge().tell()?;
        }
        // Twice in two minutes: one restart is left then, until the count starts anew.
        if [0, 400].contains(&(tick % 2_500)) {
            self.smtp.deliver().tell()?;
        }
        Ok(())
    }
}
