"""What deploys the service can be read by those who run it, and speaks of commands, options and files that exist."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from tests.house.places import ROOT

from rowlock.cli.program import program

DEPLOY = ROOT / "deploy"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
DOCKERFILE = DEPLOY / "docker" / "Dockerfile"
# The words that a Dockerfile is made of.
INSTRUCTIONS = {
    "CMD",
    "COPY",
    "ENTRYPOINT",
    "ENV",
    "EXPOSE",
    "FROM",
    "HEALTHCHECK",
    "LABEL",
    "RUN",
    "STOPSIGNAL",
    "USER",
    "VOLUME",
    "WORKDIR",
}
HARDENED = {
    "CapabilityBoundingSet": "",
    "DynamicUser": "yes",
    "NoNewPrivileges": "yes",
    "PrivateTmp": "yes",
    "ProtectHome": "yes",
    "ProtectSystem": "strict",
    "RestrictNamespaces": "yes",
    "SystemCallArchitectures": "native",
}


def unit(path: Path) -> dict[str, dict[str, list[str]]]:
    """The sections of a unit, each with its settings; a setting may come twice."""
    found: dict[str, dict[str, list[str]]] = {}
    for line in path.read_text().splitlines():
        if line.startswith("["):
            section = found.setdefault(line.strip("[]"), {})
        elif line and not line.startswith("#"):
            name, _, value = line.partition("=")
            section.setdefault(name, []).append(value)
    return found


def instructions(path: Path) -> list[tuple[str, str]]:
    """The instructions of a Dockerfile, each on one line."""
    text = re.sub(r"^#.*\n", "", path.read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    return [tuple(line.split(maxsplit=1)) for line in text.splitlines() if line.strip()]  # type: ignore[misc]


def document(name: str) -> Any:
    return yaml.safe_load((DEPLOY / name).read_text())


def check_command(words: list[str]) -> None:
    """The command line must take these words; it is not run."""
    command: click.Command = program
    with program.make_context("rowlock", list(words)) as context:
        name, found, rest = program.resolve_command(context, list(words))
        assert found is not None, words
        command, words = found, rest
    command.make_context(name, list(words), parent=context).close()


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.name)
def test_a_unit_runs_a_command_that_exists(path: Path) -> None:
    [started] = unit(path)["Service"]["ExecStart"]
    where, *words = shlex.split(started.replace("%i", "mail"))
    assert where == "/opt/rowlock/bin/rowlock"
    check_command(words)


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not installed")
def test_systemd_understands_each_line_of_a_unit(tmp_path: Path) -> None:
    units = tmp_path / "etc" / "systemd" / "system"
    units.mkdir(parents=True)
    for target in ("basic", "multi-user", "network-online", "shutdown", "sysinit"):
        (units / f"{target}.target").write_text(f"[Unit]\nDescription={target}\n")
    for path in UNITS:
        shutil.copy(path, units)
    program = tmp_path / "opt" / "rowlock" / "bin" / "rowlock"
    program.parent.mkdir(parents=True)
    program.touch(0o755)
    names = [path.name.replace("@", "@mail") for path in UNITS]
    command = ["systemd-analyze", "verify", f"--root={tmp_path}", *names]
    ran = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.name)
def test_a_unit_gives_away_no_more_than_it_must(path: Path) -> None:
    service = unit(path)["Service"]
    assert {name: service.get(name) for name in HARDENED} == {name: [value] for name, value in HARDENED.items()}


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.name)
def test_a_unit_is_given_time_to_stop_and_begins_again(path: Path) -> None:
    service = unit(path)["Service"]
    assert (service["Restart"], int(service["TimeoutStopSec"][0]) >= 30) == (["always"], True)
    assert unit(path)["Install"] == {"WantedBy": ["multi-user.target"]}


def test_a_worker_that_was_stopped_is_no_failed_unit() -> None:
    assert unit(DEPLOY / "systemd" / "rowlock-worker@.service")["Service"]["SuccessExitStatus"] == ["143"]


def test_the_service_is_not_reached_from_elsewhere_unless_somebody_says_so() -> None:
    [started] = unit(DEPLOY / "systemd" / "rowlock.service")["Service"]["ExecStart"]
    assert "--host 127.0.0.1" in started


def test_the_image_is_made_of_known_instructions() -> None:
    assert {word for word, _ in instructions(DOCKERFILE)} <= INSTRUCTIONS


def test_the_image_copies_what_is_there_and_what_is_let_in() -> None:
    ignored = (DEPLOY / "docker" / "Dockerfile.dockerignore").read_text().splitlines()
    copied = [words for word, words in instructions(DOCKERFILE) if word == "COPY" and "--from" not in words]
    sources = [words.split()[:-1] for words in copied]
    named = [source.removeprefix("./") for each in sources for source in each]
    assert [name for name in named if not (ROOT / name).exists() or f"!{name}" not in ignored] == []


def test_the_image_runs_as_nobody_in_particular() -> None:
    assert [words for word, words in instructions(DOCKERFILE) if word == "USER"] == ["10001:10001"]


def test_the_image_runs_a_command_that_exists() -> None:
    said = dict(instructions(DOCKERFILE))
    assert yaml.safe_load(said["ENTRYPOINT"]) == ["rowlock"]
    check_command(yaml.safe_load(said["CMD"]))


@pytest.mark.parametrize("name", ["migrate", "rowlock"])
def test_a_composed_service_runs_a_command_that_exists(name: str) -> None:
    check_command(document("docker/compose.yaml")["services"][name]["command"])


def test_what_is_composed_names_only_what_it_has() -> None:
    composed = document("docker/compose.yaml")
    services = composed["services"]
    secrets = {secret for each in services.values() for secret in each.get("secrets", ())}
    waited_for = {name for each in services.values() for name in each.get("depends_on", ())}
    assert (secrets, waited_for <= set(services)) == (set(composed["secrets"]), True)


def test_what_is_composed_mounts_files_that_are_there() -> None:
    services = document("docker/compose.yaml")["services"].values()
    mounts = [mount.partition(":")[0] for each in services for mount in each.get("volumes", ())]
    own = [path for path in mounts if path.startswith(".")]
    assert (len(own), [path for path in own if not (DEPLOY / "docker" / path).exists()]) == (3, [])


def test_nothing_that_is_composed_is_reached_from_elsewhere() -> None:
    ports = [port for each in document("docker/compose.yaml")["services"].values() for port in each.get("ports", ())]
    assert (len(ports), [port for port in ports if not port.startswith("127.0.0.1:")]) == (2, [])


def kubernetes(name: str) -> dict[str, Any]:
    """The documents of a manifest, by their kind."""
    return {each["kind"]: each for each in yaml.safe_load_all((DEPLOY / "kubernetes" / name).read_text())}


@pytest.mark.parametrize("name", ["rowlock.yaml", "worker.yaml"])
def test_a_container_in_kubernetes_runs_a_command_that_exists_with_few_rights(name: str) -> None:
    pod = kubernetes(name)["Deployment"]["spec"]["template"]["spec"]
    containers = [*pod.get("initContainers", []), *pod["containers"]]
    for container in containers:
        check_command(container["args"])
    assert pod["securityContext"]["runAsUser"] == 10001
    assert [each["securityContext"]["capabilities"] for each in containers] == [{"drop": ["ALL"]}] * len(containers)


@pytest.mark.parametrize("name", ["rowlock.yaml", "worker.yaml"])
def test_a_container_with_a_read_only_root_has_a_folder_for_temporary_files(name: str) -> None:
    pod = kubernetes(name)["Deployment"]["spec"]["template"]["spec"]
    [container] = pod["containers"]
    assert container["securityContext"]["readOnlyRootFilesystem"]
    assert container["volumeMounts"] == [{"name": "tmp", "mountPath": "/tmp"}]
    assert pod["volumes"] == [{"name": "tmp", "emptyDir": {}}]


def test_kubernetes_sends_requests_to_servers_that_are_ready() -> None:
    manifest = kubernetes("rowlock.yaml")
    template = manifest["Deployment"]["spec"]["template"]
    [container] = template["spec"]["containers"]
    probes = [container[name]["httpGet"]["path"] for name in ("readinessProbe", "livenessProbe")]
    assert (probes, template["spec"]["terminationGracePeriodSeconds"] > 30) == (["/readyz", "/livez"], True)
    assert manifest["Service"]["spec"]["selector"] == template["metadata"]["labels"]


def test_kubernetes_scales_the_workers_that_are_deployed() -> None:
    manifest = kubernetes("worker.yaml")
    target = manifest["ScaledObject"]["spec"]["scaleTargetRef"]["name"]
    assert target == manifest["Deployment"]["metadata"]["name"]


def test_the_page_makes_each_folder_before_it_writes_there() -> None:
    page = (ROOT / "docs" / "guides" / "deploying.md").read_text()
    assert page.index("mkdir -p /etc/rowlock") < page.index("> /etc/rowlock/rowlock.env")


def test_a_command_that_is_not_there_is_seen() -> None:
    with pytest.raises(click.UsageError):
        check_command(["serve", "--nowhere"])
