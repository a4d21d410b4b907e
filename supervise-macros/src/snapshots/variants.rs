/**
[`DbRef`] refers to this actor and has a method for each message.

# Supervision

`one_for_one`: A failure affects the failed child only.

| failure | directive |
|---|---|
| `DbError::Timeout` | `Restart` |
| `DbError::Gone` | `Stop` |
| anything else | `Escalate` |*/
enum Db {
    Open,
    Closed,
}
#[allow(deprecated)]
///Refers to a [`Db`]. Its methods make requests: `.await` asks, `.tell()` sends. `Display` shows the actor's path and `Uid`.
#[allow(dead_code)]
struct DbRef(::supervise::ActorRef<Db>);
::supervise::__private::impls_of_ref! {
    [#[allow(deprecated)]] [] [DbRef] [Db] [] [] [] [let _ =
    ::supervise::__private::has_messages:: < Db >;] []
}
#[allow(deprecated)]
#[automatically_derived]
impl ::supervise::Supervisor for Db {
    type Ref = DbRef;
    const STRATEGY: ::supervise::Strategy = ::supervise::Strategy::one_for_one();
    const TABLE: ::supervise::DeciderTable = ::supervise::DeciderTable::Rules(
        &[
            ::supervise::Rule::new("DbError::Timeout", ::supervise::Directive::Restart),
            ::supervise::Rule::new("DbError::Gone", ::supervise::Directive::Stop),
        ],
    );
    fn rule(
        failure: &::supervise::Failure,
        child: &::supervise::ChildInfo,
    ) -> ::core::result::Result<::supervise::Ruled, ::supervise::Failure> {
        let _ = child;
        if let ::core::option::Option::Some(error) = ::supervise::__private::error_as::<
            DbError,
        >(failure) {
            #[deny(unreachable_patterns)]
            match ::supervise::missing_rule::on(error) {
                ::supervise::missing_rule::on(DbError::Timeout) => {
                    return ::core::result::Result::Ok((
                        ::supervise::Directive::Restart,
                        ::core::option::Option::Some(0u16),
                    ));
                }
                ::supervise::missing_rule::on(DbError::Gone) => {
                    return ::core::result::Result::Ok((
                        ::supervise::Directive::Stop,
                        ::core::option::Option::Some(1u16),
                    ));
                }
                _ if false => {}
            }
        }
        ::core::result::Result::Ok((
            ::supervise::Directive::Escalate,
            ::core::option::Option::None,
        ))
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
impl<__E: ?::core::marker::Sized> ::supervise::Decides<__E> for Db
where
    Db: ::supervise::HasOneSpellingForTheTypeInAllRules<__E>,
{}
#[allow(deprecated)]
impl<__P> ::supervise::EscalationsDecidedBy<__P> for Db {}
#[allow(deprecated)]
#[automatically_derived]
impl ::supervise::HasOneSpellingForTheTypeInAllRules<DbError> for Db {}
#[allow(deprecated)]
impl<__P> ::supervise::DeclarationDecidedBy<__P> for Db {}
#[supervise(__already_read)]
const _: () = ();
