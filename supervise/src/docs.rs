//! Pages about `supervise` as a whole: its rules, how they were checked, and how the code is built.

/// A page about a feature, whose links and programs need that feature. Without it, the page says how to read it.
macro_rules! page_of_feature {
    ($feature:literal, $name:ident, $file:literal) => {
        #[cfg_attr(feature = $feature, doc = include_str!($file))]
        #[cfg_attr(
            not(feature = $feature),
            doc = concat!(
                "This page is about the feature `", $feature, "`. To read it, build the documentation with that feature: ",
                "`cargo doc --open --no-deps -p supervise-actors --features ", $feature, "`."
            )
        )]
        pub mod $name {}
    };
}

#[doc = include_str!("../docs/semantics.md")]
pub mod semantics {}
#[doc = include_str!("../docs/checks.md")]
pub mod checks {}
#[doc = include_str!("../docs/reliability.md")]
pub mod reliability {}
/// What services need, shown in programs that compile and run as tests.
///
/// Each page begins with the dependencies of its programs. Until the crate is published, write
/// `path = "../supervise/supervise"` in place of the version, with the path of this package in your clone of the
/// repository.
pub mod cookbook {
    #[doc = include_str!("../docs/cookbook/service.md")]
    pub mod service {}
    #[doc = include_str!("../docs/cookbook/shutdown.md")]
    pub mod shutdown {}
    #[doc = include_str!("../docs/cookbook/http.md")]
    pub mod http {}
    #[doc = include_str!("../docs/cookbook/tasks.md")]
    pub mod tasks {}
    #[doc = include_str!("../docs/cookbook/registry.md")]
    pub mod registry {}
    #[doc = include_str!("../docs/cookbook/configuration.md")]
    pub mod configuration {}
    #[doc = include_str!("../docs/cookbook/replies.md")]
    pub mod replies {}
    #[doc = include_str!("../docs/cookbook/flow.md")]
    pub mod flow {}
    page_of_feature!("protocol", protocols, "../docs/cookbook/protocols.md");
    #[doc = include_str!("../docs/cookbook/routing.md")]
    pub mod routing {}
    #[doc = include_str!("../docs/cookbook/tcp.md")]
    pub mod tcp {}
    #[doc = include_str!("../docs/cookbook/connections.md")]
    pub mod connections {}
    page_of_feature!("testkit", testing, "../docs/cookbook/testing.md");
    #[doc = include_str!("../docs/cookbook/deploying.md")]
    pub mod deploying {}
}
/// Guides for people who know another way to write actors. Each has a table of what to write instead, the differences, and a
/// program that compiles and runs as a test.
pub mod guides {
    #[doc = include_str!("../docs/guides/akka.md")]
    pub mod akka {}
    #[doc = include_str!("../docs/guides/erlang.md")]
    pub mod erlang {}
    #[doc = include_str!("../docs/guides/proto_actor.md")]
    pub mod proto_actor {}
    #[doc = include_str!("../docs/guides/rust_actors.md")]
    pub mod rust_actors {}
    #[doc = include_str!("../docs/guides/tokio_tasks.md")]
    pub mod tokio_tasks {}
}
page_of_feature!("durable", durable, "../docs/durable.md");
page_of_feature!("remote", remote, "../docs/remote.md");
page_of_feature!("console", console, "../docs/console.md");
page_of_feature!("metrics", metrics, "../docs/metrics.md");
page_of_feature!("spans", spans, "../docs/spans.md");
#[doc = include_str!("../docs/architecture.md")]
pub mod architecture {}
