//! Children on fields: every option, generic parents, siblings that know each other, `#[cfg]`, a name of one's own.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use supervise::prelude::*;
use supervise::{ChildSpec, Decides, DecidesAll, Declare, EscalationsDecidedBy, Failure, RestartType};

#[actor]
struct Reader {
    path: PathBuf,
}

impl Reader {
    fn new(path: &PathBuf) -> Self {
        Self { path: path.clone() }
    }
}

#[actor]
impl Reader {
    #[handler]
    fn read(&mut self) -> io::Result<String> {
        std::fs::read_to_string(&self.path)
    }
}

#[actor]
struct Printer {
    #[child(given)]
    reader: Child<Reader>,
}

#[actor]
impl Printer {
    #[handler]
    async fn print(&self) -> Result<usize, AskError> {
        Ok(self.reader.actor().read().await?.len())
    }
}

#[actor]
#[supervise(
    rest_for_one(max_retries = 3, within = "10s", auto_shutdown = all_significant),
    on(io::Error | AskError) = Restart,
    on(Panic) = Restart,
)]
struct Office {
    path: PathBuf,
    #[child(
        |this| { let path = this.path.clone(); move || Reader::new(&path) },
        restart = permanent,
        stop_timeout = "2s",
    )]
    reader: Child<Reader>,
    #[child(|this| {
        let reader = this.reader.clone();
        move || Printer { reader: reader.clone() }
    }, name = "printer-1", significant)]
    r#type: Child<Printer>,
    #[cfg(any())]
    #[child(|_| || Missing)]
    missing: Child<Missing>,
    /// Fails to be built, at times.
    #[child(|_| || -> io::Result<Reader> { Err(io::ErrorKind::NotFound.into()) }, restart = temporary)]
    fallible: supervise::Child<Reader>,
}

#[actor]
impl Office {
    #[handler]
    async fn work(&self) -> Result<usize, AskError> {
        assert!(self.fallible.get().is_some());
        self.r#type.actor().print().await
    }
}

#[actor]
struct Copy<T> {
    of: T,
}

#[actor]
impl<T: Clone + Send + Sync + 'static> Copy<T> {
    #[handler]
    fn of(&self) -> Reply<T> {
        Reply(self.of.clone())
    }
}

/// Whatever it is given.
#[actor]
#[supervise(on(_) = Stop)]
struct Shelf<T: Clone + Send + Sync + 'static> {
    model: T,
    #[child(|this| { let of = this.model.clone(); move || Copy { of: of.clone() } })]
    copy: Child<Copy<T>>,
}

#[actor]
impl<T: Clone + Send + Sync + 'static> Shelf<T> {
    #[handler]
    async fn copy(&self) -> Result<T, AskError> {
        self.copy.actor().of().await
    }
}

/// By hand.
struct Desk {
    reader: Child<Reader>,
}

impl Supervisor for Desk {
    type Ref = ActorRef<Self>;
    const CHILDREN: &'static [ChildSpec] =
        &[ChildSpec::new("reader").restart(RestartType::Permanent).stop_timeout(Duration::from_secs(1))];

    fn declare_child(&mut self, name: &'static str, declare: Declare<'_, Self>) {
        if name == "reader" {
            declare.child(self, |this| &mut this.reader, |_| || Reader::new(&PathBuf::new()));
        }
    }
}

impl<E> Decides<E> for Desk {}
impl DecidesAll for Desk {}
impl<P> EscalationsDecidedBy<P> for Desk {}

impl Actor for Desk {
    type Message = ();

    async fn handle(&mut self, (): (), _: &mut Context<Self>) -> Result<(), Failure> {
        Ok(())
    }
}

pub(super) fn main() {
    let _ = |office: OfficeRef| async move { office.work().await };
    let _ = Desk { reader: Child::default() };
}
