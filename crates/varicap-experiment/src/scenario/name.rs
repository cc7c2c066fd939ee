//! The characters of names.

/// Longest name of a scenario, a link or a flow [B].
pub(crate) const LONGEST_NAME: usize = 100;

/// Whether the name of a scenario may hold this character.
pub(crate) fn in_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ' ' | '+' | '=' | ',')
}
