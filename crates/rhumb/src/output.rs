//! Printing that never ends the program: a terminal may be closed while a
//! crawl runs, and what cannot be told must not keep it from its clean end.

use std::fmt::Arguments;
use std::io::Write;

use crate::failure::Failure;

/// A line for whoever watches, on standard error.
pub fn say(line: Arguments<'_>) {
    // Nobody is left to hear that nobody is left.
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// A line of the answer, on standard output.
pub fn answer(line: Arguments<'_>) -> Result<(), Failure> {
    writeln!(std::io::stdout(), "{line}").map_err(Failure::output)
}
