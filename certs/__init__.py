"""CA and serving certificate of the webhook: issue, store, rotate with overlap. Serves nothing."""
