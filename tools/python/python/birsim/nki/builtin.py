"""`nki.builtin`: no kernel uses it."""
