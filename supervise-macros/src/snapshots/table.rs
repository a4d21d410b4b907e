/**
[`StandingsRef`] refers to this actor and has a method for each message.

# Supervision

`one_for_one(max_retries = 10, within = "60s")`: A failure affects the failed child only.

| failure | directive |
|---|---|
| `FeedError::Malformed { .. }` | `Resume` |
| `FeedError::Timeout if \|error\| error.is_first()` | `Restart(backoff(min = "100ms", max = "10s", jitter = 0.2))` |
| `FeedError` | `Restart` |
| `io::Error` | `Escalate` |
| `Panic` | `Restart` |
| anything else | `Escalate` |*/
struct Standings;
#[allow(deprecated)]
///Refers to a [`Standings`]. Its methods make requests: `.await` asks, `.tell()` sends. `Display` shows the actor's path and `Uid`.
#[allow(dead_code)]
struct StandingsRef(::supervise::ActorRef<Standings>);
::supervise::__private::impls_of_ref! {
    [#[allow(deprecated)]] [] [StandingsRef] [Standings] [] [] [] [let _ =
    ::supervise::__private::has_messages:: < Standings >;] []
}
#[allow(deprecated)]
#[automatically_derived]
impl ::supervise::Supervisor for Standings {
    type Ref = StandingsRef;
    const STRATEGY: ::supervise::Strategy = ::supervise::Strategy::one_for_one()
        .max_retries(10u32)
        .within(::core::time::Duration::from_secs(60u64));
    const TABLE: ::supervise::DeciderTable = ::supervise::DeciderTable::Rules(
        &[
            ::supervise::Rule::new(
                "FeedError::Malformed { .. }",
                ::supervise::Directive::Resume,
            ),
            ::supervise::Rule::new(
                "FeedError::Timeout if |error| error.is_first()",
                ::supervise::Directive::RestartAfter(
                    ::supervise::Backoff::exponential(
                            ::core::time::Duration::from_millis(100u64),
                            ::core::time::Duration::from_secs(10u64),
                        )
                        .jitter(0.2f64),
                ),
            ),
            ::supervise::Rule::new("FeedError", ::supervise::Directive::Restart),
            ::supervise::Rule::new("io::Error", ::supervise::Directive::Escalate),
            ::supervise::Rule::new("Panic", ::supervise::Directive::Restart),
        ],
    );
    fn rule(
        failure: &::supervise::Failure,
        child: &::supervise::ChildInfo,
    ) -> ::core::result::Result<::supervise::Ruled, ::supervise::Failure> {
        let _ = child;
        if let ::core::option::Option::Some(error) = ::supervise::__private::error_as::<
            FeedError,
        >(failure) {
            #[deny(unreachable_patterns)]
            match ::supervise::missing_rule::on(error) {
                ::supervise::missing_rule::on(FeedError::Malformed { .. }) => {
                    return ::core::result::Result::Ok((
                        ::supervise::Directive::Resume,
                        ::core::option::Option::Some(0u16),
                    ));
                }
                ::supervise::missing_rule::on(
                    FeedError::Timeout,
                ) if ::supervise::__private::guard::<
                    FeedError,
                >(error, |error| error.is_first()) => {
                    return ::core::result::Result::Ok((
                        ::supervise::Directive::RestartAfter(
                            ::supervise::Backoff::exponential(
                                    ::core::time::Duration::from_millis(100u64),
                                    ::core::time::Duration::from_secs(10u64),
                                )
                                .jitter(0.2f64),
                        ),
                        ::core::option::Option::Some(1u16),
                    ));
                }
                _ => {
                    return ::core::result::Result::Ok((
                        ::supervise::Directive::Restart,
                        ::core::option::Option::Some(2u16),
                    ));
                }
            }
        }
        if let ::core::option::Option::Some(_) = ::supervise::__private::error_as::<
            io::Error,
        >(failure) {
            return ::core::result::Result::Ok((
                ::supervise::Directive::Escalate,
                ::core::option::Option::Some(3u16),
            ));
        }
        ::core::result::Result::Ok(
            match failure.kind() {
                ::supervise::FailureKind::Panic => {
                    (::supervise::Directive::Restart, ::core::option::Option::Some(4u16))
                }
                _ => (::supervise::Directive::Escalate, ::core::option::Option::None),
            },
        )
    }
    fn decide(
        failure: &::supervise::Failure,
        child: &::supervise::ChildInfo,
    ) -> ::core::result::Result<::supervise::Directive, ::supervise::Failure> {
        let (directive, _) = <Self as ::supervise::Supervisor>::rule(failure, child)?;
        ::core::result::Result::Ok(directive)
    }
}
#[allow(deprecated)]
impl<__E: ?::core::marker::Sized> ::supervise::Decides<__E> for Standings
where
    Standings: ::supervise::HasOneSpellingForTheTypeInAllRules<__E>,
{}
#[allow(deprecated)]
impl<__P> ::supervise::EscalationsDecidedBy<__P> for Standings
where
    io::Error: ::supervise::EscalatedErrorDecidedBy<__P>,
{}
#[allow(deprecated)]
#[automatically_derived]
impl ::supervise::HasOneSpellingForTheTypeInAllRules<FeedError> for Standings {}
#[allow(deprecated)]
#[automatically_derived]
impl ::supervise::HasOneSpellingForTheTypeInAllRules<io::Error> for Standings {}
#[allow(deprecated)]
impl<__P> ::supervise::DeclarationDecidedBy<__P> for Standings {}
#[supervise(__already_read)]
const _: () = ();
