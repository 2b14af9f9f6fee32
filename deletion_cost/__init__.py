"""Pod deletion cost: the controller that follows pods' load, and what an application imports to report its own."""
