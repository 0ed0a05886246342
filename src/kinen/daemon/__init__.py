"""The daemon: one quiet process per user that keeps the model warm, watches, and serves."""
