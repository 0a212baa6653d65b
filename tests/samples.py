"""A small scenario, snapshot and decision as text, with every kind of key and utility in them."""

SCENARIO_YAML = """\
version: 1
slots: 200
slot_seconds: 60
cluster:
  servers:
    - {name: s0, resources: {gpu: 8, memory_gib: 512}}
    - {name: s1, resources: {gpu: 4, memory_gib: 256}}
  switches: [rack0, core]
  links:
    - {ends: [s0, rack0], gbps: 100}
    - {ends: [s1, rack0], gbps: 40}
    - {ends: [rack0, core], gbps: 1600}
jobs:
  - name: resnet-7
    arrival: 3
    workers: {min: 1, max: 5}
    resources: {gpu: 1}
    budget: {gpu: 4000}
    bandwidth_gbps: 2.5
    rate: 120
    utility: {kind: sigmoid, priority: 50, sensitivity: 0.3, target: 900}
  - name: bert-2
    workers: {max: 4}
    resources: {gpu: 1, memory_gib: 16}
    bandwidth_gbps: 2
    timing:
      gradient_mb: 100
      reduce_gbps: 4
      forward_ms_per_sample: 0.5
      batch: 32
      backward_ms: 20
      overhead_ms: 4
    utility:
      kind: energy
      progress: {kind: table, points: [[0, 0], [10, 5], [20, 7.5]]}
      weight: 0.1
"""

SNAPSHOT_JSON = """\
{
  "version": 1,
  "slot": 17,
  "slots": 200,
  "cluster": {
    "servers": [
      {"name": "s0", "resources": {"gpu": 8}},
      {"name": "s1", "resources": {"gpu": 4.5}}
    ],
    "links": [{"ends": ["s0", "s1"], "gbps": 1e2}]
  },
  "jobs": [
    {
      "name": "bert-2",
      "workers": {"max": 3},
      "resources": {"gpu": 1},
      "bandwidth_gbps": 2.5,
      "rate": 120,
      "utility": {"kind": "log", "scale": 3},
      "served": 12,
      "work_done": 1400.5
    }
  ],
  "running": [
    {"job": "bert-2", "workers": ["s0", "s1"], "routes": [["s0", "s1"], ["s1", "s0"]]}
  ]
}
"""

DECISION_JSON = """\
{
  "version": 1, "slot": 17, "policy": "gadget", "seed": 0,
  "objective": 431.7, "upper_bound": 432.0, "status": "certified", "seconds": 0.041,
  "rings": [
    {
      "job": "bert-2",
      "workers": ["s0", "s0", "s1"],
      "routes": [["s0"], ["s0", "s1"], ["s1", "s0"]]
    }
  ],
  "waiting": [{"job": "vgg-1", "reason": "capacity", "detail": "9 gpu: no server has them"}],
  "surrogate": {"objective": 431.7, "upper_bound": null}
}
"""
