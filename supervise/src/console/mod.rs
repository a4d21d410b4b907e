//! Shows what is wrong in a running system: actors that are stuck, keep restarting, fall behind or are near their restart
//! limit, and lost messages. Feature `console`.
//!
//! Rules 22.1, 22.2, 22.3, 22.4, 22.5, 22.6 and 22.7. [`docs::console`](crate::docs::console) says what each card means, and what to do about it.

mod actions;
mod ailments;
mod backlogs;
mod below;
mod cards;
mod collector;
mod detail;
mod failing;
mod history;
mod json;
#[cfg(feature = "tracing")]
mod lines;
mod outlet;
mod pace;
mod past;
mod places;
mod pulse;
mod rows;
mod running;
mod server;
mod text;
mod threads;
mod top;
mod waits;
mod watch;
mod wish;
mod words;

use std::fmt;
use std::io;
use std::net::ToSocketAddrs;

use supervise_core::ActorSystem;

use crate::{marks, sight};

pub use self::actions::Token;
pub use self::running::Running;
pub use self::server::{Body, Service};
pub use self::watch::Watch;

/// The console of a system, before it runs.
///
/// ```no_run
/// use supervise::prelude::*;
/// use supervise::console::Console;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let system = ActorSystem::new("shop");
/// let console = Console::of(&system).serve("127.0.0.1:6670")?;
/// // In a browser: http://127.0.0.1:6670. In a shell: curl -s 127.0.0.1:6670/text
/// println!("{}", console.text());
/// # Ok(())
/// # }
/// ```
///
/// It runs on a thread of its own, so it answers even while every worker of the system is blocked. It looks once a second while
/// somebody reads, and otherwise every five seconds. It sends no message and runs no code of an actor
/// (rule [22.1](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-22.1)). The thread ends with the system.
#[must_use = "it does nothing before it is started"]
pub struct Console {
    system: ActorSystem,
    texts: bool,
    anywhere: bool,
    hosts: Vec<String>,
    tokens: Vec<Token>,
}

impl Console {
    /// The console of this system, without a server and without a thread yet.
    pub fn of(system: &ActorSystem) -> Self {
        Self { system: system.clone(), texts: true, anywhere: false, hosts: Vec::new(), tokens: Vec::new() }
    }

    /// Hides the texts of errors. The console then shows only where a failure happened and what followed
    /// (rule [22.6](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-22.6)).
    pub fn without_texts(self) -> Self {
        Self { texts: false, ..self }
    }

    /// Answers requests whose `Host` is `host`, a name without a port. Without this, only requests to IP addresses, `localhost`
    /// and names below it are answered
    /// (rule [22.5](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-22.5)).
    pub fn allow_host(mut self, host: impl Into<String>) -> Self {
        self.hosts.push(host.into().to_ascii_lowercase());
        self
    }

    /// Lets [`serve`](Self::serve) listen on addresses that other machines reach. There is no password, so everybody who
    /// reaches the address can read the console.
    pub fn bind_anywhere(self) -> Self {
        Self { anywhere: true, ..self }
    }

    /// Lets the bearer of this token restart and stop actors, one at a time, from the page or by `POST /act`. Each
    /// call allows one token more. Without a call the console cannot change anything (rule
    /// [22.7](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-22.7)).
    ///
    /// ```no_run
    /// # use supervise::console::{Console, Token};
    /// # fn serve(system: &supervise::ActorSystem) -> std::io::Result<()> {
    /// let token = Token::random().label("shift");
    /// let console = Console::of(system).allow_actions(token).serve("127.0.0.1:6670")?;
    /// // http://127.0.0.1:6670/#token=...
    /// eprintln!("{}", console.operator_url().expect("it listens by TCP"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn allow_actions(mut self, token: Token) -> Self {
        self.tokens.push(token);
        self
    }

    /// Watches the system without a server, for [`Running::text`].
    ///
    /// # Errors
    ///
    /// If the operating system cannot start a thread.
    ///
    pub fn start(self) -> io::Result<Running> {
        running::start(self, server::Listener::None)
    }

    /// Watches the system and serves the page at `address`. Port 0 takes a free one: see [`Running::local_addr`].
    ///
    /// # Errors
    ///
    /// If the address is not a loopback address and [`bind_anywhere`](Self::bind_anywhere) was not called, if listening fails,
    /// or if the operating system cannot start a thread.
    pub fn serve(self, address: impl ToSocketAddrs) -> io::Result<Running> {
        let listener = server::Listener::tcp(address, self.anywhere)?;
        running::start(self, listener)
    }

    /// Watches the system and serves the page on a unix socket, for `ssh -L 6670:/run/shop/console.sock`. If an earlier process
    /// left a socket at `path`, it is replaced. Who may connect depends on the permissions of the folder and on those of the socket,
    /// which follow from the umask: with the usual 022, only its owner.
    ///
    /// # Errors
    ///
    /// If there is something else at `path`, if listening fails, or if the operating system cannot start a thread.
    #[cfg(unix)]
    pub fn unix(self, path: impl AsRef<std::path::Path>) -> io::Result<Running> {
        let listener = server::Listener::unix(path.as_ref())?;
        running::start(self, listener)
    }

    /// A tower service that answers with the page, to be mounted in a server of the program:
    /// `Router::new().nest_service("/supervise", console.service())`. It depends on that server: if all its workers are
    /// blocked, the console does not answer.
    ///
    /// # Panics
    ///
    /// If the operating system cannot start the console's thread.
    pub fn service(self) -> Service {
        match running::start(self, server::Listener::None) {
            Ok(running) => running.into_service(),
            Err(error) => panic!("the console has no thread: {error}"),
        }
    }

    /// Looks at the system only when you call [`Watch::look`].
    pub fn by_hand(self) -> Watch {
        Watch::new(&self.system, self.texts)
    }
}

impl fmt::Debug for Console {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Console").field("system", &self.system).finish_non_exhaustive()
    }
}
