//! What `supervise` costs, in comparison with a hand-written tokio loop and other actor frameworks. `README.md` says
//! how to run it.

mod fairness;
mod framework;
mod measure;
mod observability;
mod options;
mod parallelism;
mod plot;
mod process;
mod run;
mod scale;
mod scaling;
mod services;
mod table;
mod workload;

use std::process::ExitCode;

use options::Command;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // Panics that a workload causes on purpose are not printed.
    std::panic::set_hook(Box::new(|panic| {
        if panic.payload().downcast_ref::<&str>() != Some(&"as told") {
            eprintln!("{panic}");
        }
    }));
    let done = match options::parse(&arguments) {
        Ok(Command::Help) => {
            println!("{}", options::USAGE);
            Ok(())
        }
        Ok(Command::One { framework, workload, flavour, scale, subscriber }) => {
            if subscriber {
                observability::subscribe();
            }
            run::one(&framework, workload, flavour, scale)
        }
        Ok(Command::Run(options)) => run::all(&options),
        Ok(Command::ScalingPoint { axis, size }) => scaling::point(&axis, size),
        Ok(Command::Scaling { rounds }) => scaling::run(rounds),
        Ok(Command::Fairness) => {
            fairness::run();
            Ok(())
        }
        Ok(Command::Scene { scene, actors, threads, quick }) => parallelism::one(&scene, &actors, threads, quick),
        Ok(Command::Parallelism(options)) => parallelism::run(&options),
        Ok(Command::Observability { quick, rounds }) => observability::run(quick, rounds),
        Err(mistake) => Err(format!("{mistake}\n\n{}", options::USAGE).into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
