//! The type of a field comes from a `macro_rules!`, and the field has no `#[child]`.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("the file is gone")]
struct FileGone;

#[actor]
struct Reader;

#[actor]
impl Reader {
    #[handler]
    fn read(&mut self) -> Result<String, FileGone> {
        Err(FileGone)
    }
}

macro_rules! office {
    ($name:ident, $reader:ty) => {
        #[actor]
        #[supervise(one_for_one, on(FileGone) = Restart)]
        struct $name {
            reader: $reader,
        }

        #[actor]
        impl $name {
            #[handler]
            async fn read(&self) -> Result<String, AskError> {
                self.reader.actor().read().await
            }
        }
    };
}

office!(Library, Child<Reader>);

fn main() {}
