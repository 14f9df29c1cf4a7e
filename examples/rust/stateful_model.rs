//! Two methods share one cache: set_cache writes it, get_cache reads it. The
//! same as samples/stateful_model/main.c, in Rust.

mod etx;

use etx::{Input, Program, Result, Session};

fn set_and_get(session: &mut Session) -> Result<()> {
    let mut written = [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0];
    let mut read = [0.0f32; 8];
    session.run("set_cache", &mut [Input::new(&mut written, &[2, 3])?])?;
    // get_cache writes into its input. The last column was never set.
    session.run("get_cache", &mut [Input::new(&mut read, &[2, 4])?])?;
    for row in read.chunks(4) {
        println!("{} {} {} {}", row[0], row[1], row[2], row[3]);
    }
    Ok(())
}

/// Errors are values, and the session stays usable: a wrong type, a method
/// that is not there, an output that is not there.
fn print_errors(session: &mut Session) -> Result<()> {
    let (mut wrong, mut right) = ([0.0f64; 4], [0.0f32; 4]);
    let mut wrong = [Input::new(&mut wrong, &[2, 2])?];
    let mut right = [Input::new(&mut right, &[2, 2])?];
    for (method, inputs) in
        [("set_cache", &mut wrong[..]), ("set_cash", &mut []), ("set_cache", &mut right)]
    {
        let result = session.run(method, inputs);
        if let Err(error) = result.and_then(|outputs| Ok(outputs.tensor::<f32>(0)?.len())) {
            println!("{}", error);
        }
    }
    Ok(())
}

fn run(path: &str) -> Result<()> {
    let mut session = {
        let program = Program::open(path)?;
        program.session()?
    }; // the session keeps the program
    println!(
        "the cache holds {} rows of {}",
        session.constant("max_batch")?,
        session.constant("max_length")?
    );
    set_and_get(&mut session)?;
    session.reset()?;
    println!("after the reset the first number is {}", session.state::<f32>("cache")?[0]);
    print_errors(&mut session)
}

fn main() {
    let path = std::env::args().nth(1).unwrap_or("stateful_model.pte".into());
    if let Err(error) = run(&path) {
        eprintln!("stateful_model: {}", error);
        std::process::exit(1);
    }
}
