"""The journal as documents."""
