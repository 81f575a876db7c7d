"""Commands as handlers: templates, process groups, captured output, and a supervisor for a worker that dies."""
