//! The files that the parts of a link name: traces.

use std::io::BufRead;

use crate::error::NetError;

/// Opens the file of a name, or says why it cannot. A trace is read from it line by line and never held as a text.
pub type ReadFile<'a> = dyn FnMut(&str) -> Result<Box<dyn BufRead>, String> + 'a;

/// Opens the `file` of a table through `read_file`, and makes of its text what `parse` does.
pub(crate) fn read_named<T>(
    file: &str,
    read_file: &mut ReadFile<'_>,
    parse: impl FnOnce(Box<dyn BufRead>) -> Result<T, NetError>,
) -> Result<T, NetError> {
    let text = read_file(file).map_err(|reason| NetError::file(file, reason));
    text.and_then(parse).map_err(|error| error.within("file"))
}
