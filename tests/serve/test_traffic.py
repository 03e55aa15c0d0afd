"""Counters as Prometheus reads them."""

import re

from rankwise.serve.traffic import BUCKETS, Traffic


def test_counts_add_up():
    traffic = Traffic()
    for seconds in (0.0005, 0.001, 0.003, 20.0):
        traffic.count("/rank", 200, seconds)
    traffic.count("/rank", 422, 0.1)
    traffic.items = 12
    text = traffic.text({"rankwise_x": ("An x.", "gauge", 1.5)})
    assert 'rankwise_requests_total{path="/rank",status="200"} 4\n' in text
    assert 'rankwise_request_seconds_bucket{path="/rank",le="0.001"} 2\n' in text
    assert 'rankwise_request_seconds_bucket{path="/rank",le="+Inf"} 5\n' in text
    assert 'rankwise_request_seconds_count{path="/rank"} 5\n' in text
    assert "rankwise_items_total 12\n" in text and "rankwise_x 1.5\n" in text
    assert text.count("_bucket{") == len(BUCKETS) + 1
    for line in text.splitlines():
        assert re.fullmatch(r'# (HELP|TYPE) \w+ .+|\w+(\{(\w+="[^"]*",?)+\})? [-+\d.einf]+', line)
