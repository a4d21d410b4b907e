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
///Refers to a [`Parent`]. Its methods make requests: `.await` asks, `.tell()` sends. `Display` shows the actor's path and `Uid`.
#[allow(dead_code)]
struct ParentRef(::supervise::ActorRef<Parent>);
::supervise::__private::impls_of_ref! {
    [] [] [ParentRef] [Parent] [] [] [] [let _ = ::supervise::__private::has_messages:: <
    Parent >;] []
}
#[automatically_derived]
impl ::supervise::Supervisor for Parent {
    type Ref = ParentRef;
}
impl ::supervise::DecidesAll for Parent {}
impl<__E: ?::core::marker::Sized> ::supervise::Decides<__E> for Parent {}
impl<__P> ::supervise::EscalationsDecidedBy<__P> for Parent {}
impl<__P> ::supervise::DeclarationDecidedBy<__P> for Parent {}
#[supervise(__already_read)]
const _: () = ();
