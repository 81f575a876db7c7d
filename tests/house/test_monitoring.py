"""What watches the service asks for metrics that it has, by labels that they have."""

import json
import re
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families
from tests.house.places import ROOT
from tests.http.serving import serving

from rowlock import Engine

DEPLOY = ROOT / "deploy"
RULES = yaml.safe_load((DEPLOY / "prometheus" / "alerts.yaml").read_text())
ALERTS = [rule for group in RULES["groups"] for rule in group["rules"]]
DASHBOARD = json.loads((DEPLOY / "grafana" / "rowlock.json").read_text())
TARGETS = [(panel, target) for panel in DASHBOARD["panels"] for target in panel["targets"]]
_, SCALED = yaml.safe_load_all((DEPLOY / "kubernetes" / "worker.yaml").read_text())
EXPRESSIONS = {
    **{rule["alert"]: rule["expr"] for rule in ALERTS},
    **{f"{panel['title']} {target['refId']}": target["expr"] for panel, target in TARGETS},
    "workers in Kubernetes": SCALED["spec"]["triggers"][0]["metadata"]["query"],
    "choice of lists": DASHBOARD["templating"]["list"][1]["query"]["query"],
}
Told = dict[str, dict[str, set[str]]]

# What Prometheus knows by itself.
OF_PROMETHEUS = {"up": {"job", "instance"}}

_METRIC = re.compile(r"\b(rowlock_\w+|up)\b(?:\{([^}]*)\})?")
_LABEL = re.compile(r"(\w+)\s*(=~|!~|!=|=)\s*\"([^\"]*)\"")
_BY = re.compile(r"\bby \(([^)]*)\)")


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    """Every metric that a service tells, with its labels and what stands in them."""
    with Engine(str(tmp_path_factory.mktemp("told") / "work.db")) as engine, serving(engine) as found:
        engine["work"].add(["a", "b"])
        with engine.session() as session:
            claim = session.take("work", limit=1)
            assert claim is not None
            claim.done(claim.items[0])
            claim.settle()
        found.client("GET", "/v1/lists")
        text = found.client("GET", "/metrics").text
    known: Told = {}
    for sample in (each for family in text_string_to_metric_families(text) for each in family.samples):
        labels = known.setdefault(sample.name, {})
        for label, value in sample.labels.items():
            labels.setdefault(label, set()).add(value)
    return known


def asked(expression: str) -> list[tuple[str, list[tuple[str, str, str]]]]:
    """The metrics that an expression names, each with what it wants of labels."""
    return [(name, _LABEL.findall(labels or "")) for name, labels in _METRIC.findall(expression)]


@pytest.mark.parametrize("expression", EXPRESSIONS.values(), ids=EXPRESSIONS)
def test_an_expression_asks_for_metrics_that_are_told(told: Told, expression: str) -> None:
    names = {name for name, _ in asked(expression)}
    assert (bool(names), names - set(told) - set(OF_PROMETHEUS)) == (True, set())


@pytest.mark.parametrize("expression", EXPRESSIONS.values(), ids=EXPRESSIONS)
def test_an_expression_asks_for_labels_that_are_told(told: Told, expression: str) -> None:
    known = {name: set(labels) for name, labels in told.items()} | OF_PROMETHEUS
    wrong = [(name, label) for name, labels in asked(expression) for label, _, _ in labels if label not in known[name]]
    grouped = {label.strip() for labels in _BY.findall(expression) for label in labels.split(",")}
    everywhere = set().union(*(known[name] for name, _ in asked(expression)))
    assert (wrong, grouped - everywhere) == ([], set())


@pytest.mark.parametrize("expression", EXPRESSIONS.values(), ids=EXPRESSIONS)
def test_an_expression_asks_for_states_and_outcomes_that_there_are(told: Told, expression: str) -> None:
    wanted = [
        (name, label, value)
        for name, labels in asked(expression)
        for label, _, values in labels
        if label in ("state", "outcome")
        for value in values.split("|")
    ]
    assert [each for each in wanted if each[2] not in told[each[0]][each[1]]] == []


@pytest.mark.parametrize("expression", EXPRESSIONS.values(), ids=EXPRESSIONS)
def test_the_brackets_of_an_expression_are_closed(expression: str) -> None:
    bare = re.sub(r'"[^"]*"', '""', expression)
    assert [bare.count(one) - bare.count(other) for one, other in ("()", "[]", "{}")] == [0, 0, 0]


@pytest.mark.parametrize("rule", ALERTS, ids=lambda rule: rule["alert"])
def test_an_alert_says_what_is_wrong_and_what_to_do(rule: dict[str, Any]) -> None:
    assert (set(rule["annotations"]), rule["labels"]["severity"] in ("page", "ticket")) == ({"summary", "action"}, True)


def test_the_panels_of_the_dashboard_do_not_overlap() -> None:
    cells = [
        (x, y)
        for panel in DASHBOARD["panels"]
        for place in [panel["gridPos"]]
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert (len(cells), max(x for x, _ in cells)) == (len(set(cells)), 23)


def test_every_metric_is_looked_at_by_somebody(told: Told) -> None:
    used = {name for expression in EXPRESSIONS.values() for name, _ in asked(expression)}
    assert {name for name in told if not name.endswith(("_sum", "_created"))} - used == set()


def test_a_metric_that_is_not_told_is_seen(told: Told) -> None:
    assert asked('rate(rowlock_nothing_total{list="a"}[5m])') == [("rowlock_nothing_total", [("list", "=", "a")])]
    assert "rowlock_nothing_total" not in told
