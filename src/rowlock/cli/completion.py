"""`rowlock completion`: the script that makes a shell complete commands, options and names of lists."""

import click

from rowlock.cli import output
from rowlock.cli.invocation import command


@command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, *, shell: str) -> None:
    """Print the completion script of a shell.

    bash: eval "$(rowlock completion bash)" in ~/.bashrc; zsh: the same in ~/.zshrc; fish: rowlock completion fish >
    ~/.config/fish/completions/rowlock.fish
    """
    from click.shell_completion import get_completion_class  # only this command needs it

    kind = get_completion_class(shell)
    assert kind is not None, "click knows the three shells"  # noqa: S101
    script = kind(context.find_root().command, {}, "rowlock", "_ROWLOCK_COMPLETE")
    output.write(script.source_template % script.source_vars() + "\n")
