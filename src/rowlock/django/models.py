"""No models: Django sends `post_migrate`, by which our tables are made, only to applications that have this module."""
