"""CA and serving certificates of the webhook: issue, store, rotate with overlap."""
