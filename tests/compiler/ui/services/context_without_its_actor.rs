//! A handler takes a `Context` without its actor's type.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("the course {0} is full")]
struct CourseFull(String);

#[actor]
struct Course {
    title: String,
    students: u32,
}

#[actor]
impl Course {
    #[handler]
    fn enrol(&mut self) -> Result<u32, CourseFull> {
        self.students += 1;
        if self.students > 30 { Err(CourseFull(self.title.clone())) } else { Ok(self.students) }
    }
}

#[actor]
#[supervise(one_for_one, on(CourseFull) = Resume)]
struct School;

#[actor]
impl School {
    #[handler]
    fn offer(&mut self, title: String, ctx: &mut Context) -> Result<CourseRef, SpawnError> {
        ctx.spawn(title.clone(), move || Course { title: title.clone(), students: 0 })
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("school");
    let course = system.spawn("school", || School)?.offer("rust".to_owned()).await?;
    println!("{}", course.enrol().await?);
    system.terminate().await;
    Ok(())
}
