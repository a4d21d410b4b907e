mod orders;
mod sessions;

pub use orders::Shop;
pub use sessions::Registry;
