::core::compile_error! {
    "unknown directive `Restrat`: did you mean `Restart`?"
}
::core::compile_error! {
    "unknown kind of failure `Panics`: did you mean `Panic`? (If `Panics` is an error type, write `self::Panics`.)"
}
/**
[`ParentRef`] refers to this actor and has a method for each message.
*/
struct Parent {
    name: String,
}
#[allow(deprecated)]
///Refers to a [`Parent`]. Its methods make requests: `.await` asks, `.tell()` sends. `Display` shows the actor's path and `Uid`.
#[allow(dead_code)]
struct ParentRef(::supervise::ActorRef<Parent>);
#[allow(deprecated)]
#[automatically_derived]
impl ::core::clone::Clone for ParentRef {
    fn clone(&self) -> Self {
        Self(::core::clone::Clone::clone(&self.0))
    }
}
#[allow(deprecated)]
#[automatically_derived]
impl ::core::fmt::Debug for ParentRef {
    fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
        let _ = ::supervise::__private::has_messages::<Parent>;
        ::core::fmt::Debug::fmt(&self.0, f)
    }
}
#[allow(deprecated)]
#[automatically_derived]
impl ::core::fmt::Display for ParentRef {
    fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
        ::core::fmt::Display::fmt(&self.0, f)
    }
}
#[allow(deprecated)]
#[automatically_derived]
impl ::core::cmp::PartialEq for ParentRef {
    fn eq(&self, other: &Self) -> ::core::primitive::bool {
        ::core::cmp::PartialEq::eq(&self.0, &other.0)
    }
}
#[allow(deprecated)]
impl ::core::cmp::Eq for ParentRef {}
#[allow(deprecated)]
#[automatically_derived]
impl ::core::hash::Hash for ParentRef {
    fn hash<__H: ::core::hash::Hasher>(&self, state: &mut __H) {
        ::core::hash::Hash::hash(&self.0, state);
    }
}
#[allow(deprecated)]
#[automatically_derived]
impl ::core::convert::From<::supervise::ActorRef<Parent>> for ParentRef {
    fn from(actor: ::supervise::ActorRef<Parent>) -> Self {
        Self(actor)
    }
}
#[allow(deprecated)]
#[automatically_derived]
impl ::supervise::TypedRef for ParentRef {
    type Actor = Parent;
    fn actor_ref(&self) -> &::supervise::ActorRef<Parent> {
        &self.0
    }
}
#[allow(deprecated)]
impl ::supervise::__private::MigrationHints for ParentRef {}
#[allow(deprecated)]
impl ParentRef {
    /// The ref with the methods that do not depend on the actor's messages.
    #[allow(dead_code)]
    fn actor_ref(&self) -> &::supervise::ActorRef<Parent> {
        &self.0
    }
}
#[allow(deprecated)]
#[automatically_derived]
impl ::supervise::Supervisor for Parent {
    type Ref = ParentRef;
}
#[allow(deprecated)]
impl ::supervise::DecidesAll for Parent {}
#[allow(deprecated)]
impl<__E: ?::core::marker::Sized> ::supervise::Decides<__E> for Parent {}
#[allow(deprecated)]
impl<__P> ::supervise::EscalationsDecidedBy<__P> for Parent {}
#[allow(deprecated)]
impl<__P> ::supervise::DeclarationDecidedBy<__P> for Parent {}
#[supervise(__already_read)]
const _: () = ();
