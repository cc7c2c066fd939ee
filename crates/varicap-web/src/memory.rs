//! The plain C interface: texts and bytes in the module's linear memory.
//!
//! A caller writes a request where [`varicap_request`] says, calls [`varicap_answer`] and reads the two blocks whose
//! places it then asks for. They stay as they are until the next request. After a panic, which ends a call with a trap,
//! [`varicap_fault`] has its message; nothing else of the module may be used any more.

#![expect(unsafe_code, reason = "names that a linker may find are declared with an unsafe attribute")]

use std::cell::RefCell;
use std::sync::{Mutex, PoisonError};

use crate::Laboratory;

thread_local! {
    static MEMORY: RefCell<Memory> = RefCell::new(Memory::default());
}

/// The message of a panic.
static FAULT: Mutex<String> = Mutex::new(String::new());

/// A laboratory with the blocks that come and go.
#[derive(Default)]
struct Memory {
    laboratory: Laboratory,
    request: Vec<u8>,
    text: String,
    bytes: Vec<u8>,
}

/// Keeps what a panic says; to be called once, first.
#[unsafe(no_mangle)]
pub extern "C" fn varicap_begin() {
    std::panic::set_hook(Box::new(|panic| {
        *FAULT.lock().unwrap_or_else(PoisonError::into_inner) = panic.to_string();
    }));
}

/// Room for a request of `length` bytes.
#[unsafe(no_mangle)]
pub extern "C" fn varicap_request(length: usize) -> *mut u8 {
    MEMORY.with_borrow_mut(|memory| {
        memory.request.clear();
        memory.request.resize(length, 0);
        memory.request.as_mut_ptr()
    })
}

/// Answers the request that was written.
#[unsafe(no_mangle)]
pub extern "C" fn varicap_answer() {
    MEMORY.with_borrow_mut(|memory| {
        let request = std::mem::take(&mut memory.request);
        let answer = memory.laboratory.answer(&request);
        (memory.text, memory.bytes) = (answer.text(), answer.bytes);
    });
}

/// Where the text of the answer is.
#[unsafe(no_mangle)]
pub extern "C" fn varicap_text() -> *const u8 {
    MEMORY.with_borrow(|memory| memory.text.as_ptr())
}

/// Length of the text of the answer [B].
#[unsafe(no_mangle)]
pub extern "C" fn varicap_text_length() -> usize {
    MEMORY.with_borrow(|memory| memory.text.len())
}

/// Where the arrays of the answer are.
#[unsafe(no_mangle)]
pub extern "C" fn varicap_bytes() -> *const u8 {
    MEMORY.with_borrow(|memory| memory.bytes.as_ptr())
}

/// Length of the arrays of the answer [B].
#[unsafe(no_mangle)]
pub extern "C" fn varicap_bytes_length() -> usize {
    MEMORY.with_borrow(|memory| memory.bytes.len())
}

/// Where the message of a panic is.
#[unsafe(no_mangle)]
pub extern "C" fn varicap_fault() -> *const u8 {
    FAULT.lock().unwrap_or_else(PoisonError::into_inner).as_ptr()
}

/// Length of the message of a panic [B]; zero if there was none.
#[unsafe(no_mangle)]
pub extern "C" fn varicap_fault_length() -> usize {
    FAULT.lock().unwrap_or_else(PoisonError::into_inner).len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_answered_in_the_blocks_whose_places_are_told() {
        let request = br#"{ "do": "about" }"#;
        let room = varicap_request(request.len());
        // SAFETY: the room is as long as the request, and nobody else has it.
        unsafe { std::ptr::copy_nonoverlapping(request.as_ptr(), room, request.len()) };
        varicap_answer();
        // SAFETY: the answer stays until the next request.
        let text = unsafe { std::slice::from_raw_parts(varicap_text(), varicap_text_length()) };
        let answer: serde_json::Value = serde_json::from_slice(text).unwrap();
        assert_eq!(answer["ok"]["version"], env!("CARGO_PKG_VERSION"));
        assert_eq!(varicap_bytes_length(), 0);
    }
}
