"""One folder per role, one file per choice. No folder imports another one."""
