//! Network namespaces: making them, entering them, and configuring what lies in them.
