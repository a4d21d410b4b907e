//! stub
use proc_macro::TokenStream;
/// x
#[proc_macro_attribute]
pub fn actor(_: TokenStream, item: TokenStream) -> TokenStream {
    item
}
/// x
#[proc_macro_attribute]
pub fn supervise(_: TokenStream, item: TokenStream) -> TokenStream {
    item
}
