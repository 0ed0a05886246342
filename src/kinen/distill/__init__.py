"""From passages to a digest: by a model, or by extraction."""
