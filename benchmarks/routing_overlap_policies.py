"""What to prune in a network with advertisements: nothing, subscriptions, advertisements or both (B56).

The thesis concludes that advertisements should be pruned instead of subscriptions and never runs a network to show
it. Here is a line of brokers. Subscriptions are pruned in the tables of brokers, after they were forwarded as they
are; advertisements before they are sent, so that all brokers have the pruned ones. Events are those of the
workload that conform to an advertisement of their broker. All policies must deliver the same.
"""

from __future__ import annotations

from benchmarks.report import Figures, Size, number, table
from benchmarks.routing_overlap_data import SCALES, Found
from tamis.lab.claims.advertising_policies import BROKERS, PLAIN, POLICIES, Run, check_delivered, conforming, ran
from tamis.lab.claims.networks import progress
from tamis.lab.claims.overlaps import auctions


def policies(size: Size) -> Found:
    """Bytes of tables and messages of each policy, by the number of advertisements of a broker."""
    scale = SCALES[size]
    subscriptions, most = scale.network
    figures: Figures = {"sizes": f"{BROKERS} brokers in a line, {subscriptions} subscriptions"}
    rows: list[tuple[object, ...]] = []
    heads: tuple[str, ...] = ()
    for publishers in scale.publishers:
        given = auctions(subscriptions, publishers * BROKERS, scale.events)
        events = conforming(given, most)
        title = f"{publishers} advertisements a broker, {sum(batch.rows for batch in events)} events"
        runs: dict[str, Run] = {}
        for name, policy in POLICIES.items():
            progress(f"policies: {title}, {name}")
            runs[name] = ran(given, policy, events)
            check_delivered(name, runs[name], next(iter(runs.values())))
        plain = _told(runs[PLAIN])
        for name, run in runs.items():
            told = _told(run)
            heads = ("advertisements a broker", "policy", *told)
            rows.append((publishers, name, *map(number, told.values())))
            figures[f"{title}: {name}"] = ", ".join(f"{what} {number(value)}" for what, value in told.items())
            for what in ("bytes", "messages"):
                ratio = number(told[what] / plain[what])
                figures[f"{title}: {name}, {what} by those with {PLAIN}"] = ratio
    return figures, {}, [table(heads, rows)]


def _told(run: Run) -> dict[str, float]:
    messages = run.report.messages
    return {
        "bytes of event tables": run.event_table_bytes,
        "bytes of subscription tables": run.subscription_table_bytes,
        "bytes": run.event_table_bytes + run.subscription_table_bytes,
        "subscriptions sent": messages["subscriptions"],
        "advertisements sent": messages["advertisements"],
        "events sent": messages["events"],
        "of them in vain": run.report.false_forwards,
        "messages": sum(messages.values()),
        "deliveries": run.report.deliveries,
        "share removed of subscriptions": run.report.removed_share,
    }
