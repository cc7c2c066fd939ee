//! The files that the parts of a link name: traces.

use std::any::{Any, TypeId};
use std::collections::BTreeSet;
use std::io::BufRead;
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::NetError;

/// Opens the file of a name, or says why it cannot. A trace is read from it line by line and never held as a text.
pub type ReadFile<'a> = dyn FnMut(&str) -> Result<Box<dyn BufRead>, String> + 'a;

/// Most files of which is kept what was read: those of the points of a study that are read last.
const MOST_KEPT: usize = 32;

/// The file, the type of what was made of it, and how it was read.
type Key = (String, TypeId, String);

/// The files that were read and understood, for all scenarios that name them: the points of a study, and the flows of an
/// isolated run.
#[derive(Debug, Default)]
pub struct KeptFiles(Mutex<Vec<(Key, Arc<dyn Any + Send + Sync>)>>);

impl KeptFiles {
    fn find<T: Send + Sync + 'static>(&self, key: &Key) -> Option<Arc<T>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, made) = kept.iter().find(|(known, _)| known == key)?;
        made.clone().downcast().ok()
    }

    fn keep(&self, key: Key, made: Arc<dyn Any + Send + Sync>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() == MOST_KEPT {
            kept.remove(0);
        }
        kept.push((key, made));
    }
}

/// The files that a scenario names: each is opened, read and understood once.
#[expect(missing_debug_implementations, reason = "a closure opens them")]
pub struct Files<'a> {
    open: Box<ReadFile<'a>>,
    named: BTreeSet<String>,
    kept: Arc<KeptFiles>,
}

impl<'a> Files<'a> {
    /// Files that `read_file` opens.
    pub fn of(read_file: &'a mut ReadFile<'_>) -> Files<'a> {
        Files::keeping(read_file, Arc::default())
    }

    /// Files that `read_file` opens unless what was made of them is `kept`.
    pub fn keeping(read_file: &'a mut ReadFile<'_>, kept: Arc<KeptFiles>) -> Files<'a> {
        Files { open: Box::new(read_file), named: BTreeSet::new(), kept }
    }

    /// Opens the file of a name, or says why it cannot.
    pub fn open(&mut self, file: &str) -> Result<Box<dyn BufRead>, String> {
        self.named.insert(file.to_owned());
        (self.open)(file)
    }

    /// The names of those that were asked for.
    pub fn into_named(self) -> BTreeSet<String> {
        self.named
    }

    /// The result of `parse` on the text of `file`, or its result from before, if the `way` of reading was the same.
    pub(crate) fn read<T: Send + Sync + 'static>(
        &mut self,
        file: &str,
        way: String,
        parse: impl FnOnce(Box<dyn BufRead>) -> Result<T, NetError>,
    ) -> Result<Arc<T>, NetError> {
        let key = (file.to_owned(), TypeId::of::<T>(), way);
        if let Some(made) = self.kept.find(&key) {
            self.named.insert(file.to_owned());
            return Ok(made);
        }
        let text = self.open(file).map_err(|reason| NetError::file(file, reason));
        let made = Arc::new(text.and_then(parse).map_err(|error| error.within("file"))?);
        self.kept.keep(key, made.clone());
        Ok(made)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn text(mut bytes: Box<dyn BufRead>) -> Result<String, NetError> {
        let mut text = String::new();
        bytes.read_line(&mut text).unwrap();
        Ok(text)
    }

    #[test]
    fn each_file_is_opened_once_for_each_way_of_reading_it() {
        let opened = Cell::new(0);
        let mut open = |name: &str| -> Result<Box<dyn BufRead>, String> {
            opened.set(opened.get() + 1);
            if name == "missing" { Err("no such file".to_owned()) } else { Ok(Box::new(&b"1 2"[..])) }
        };
        let kept = Arc::<KeptFiles>::default();
        for _ in 0..2 {
            let mut files = Files::keeping(&mut open, kept.clone());
            for way in ["", "other"] {
                assert_eq!(*files.read("a", way.to_owned(), text).unwrap(), "1 2");
            }
            assert!(files.read("missing", String::new(), text).is_err());
            let named: Vec<String> = files.into_named().into_iter().collect();
            assert_eq!(named, ["a", "missing"], "whether it was opened or kept");
        }
        // Twice what is there; what is not there is looked for each time.
        assert_eq!(opened.get(), 4);
    }

    #[test]
    fn the_last_files_are_kept() {
        let opened = Cell::new(0);
        let mut open = |_: &str| -> Result<Box<dyn BufRead>, String> {
            opened.set(opened.get() + 1);
            Ok(Box::new(&b""[..]))
        };
        let mut files = Files::of(&mut open);
        (0..=MOST_KEPT).for_each(|name| drop(files.read(&name.to_string(), String::new(), text)));
        for name in [MOST_KEPT, 1, 0] {
            files.read(&name.to_string(), String::new(), text).unwrap();
        }
        drop(files);
        assert_eq!(opened.get(), MOST_KEPT + 2, "the first one again");
    }
}
