"""What a program and a session show of themselves."""

from __future__ import annotations

import numpy as np
import pytest

import etx
from conftest import DATA


def test_a_report_names_methods_states_and_bytes(programs):
    text = etx.load(programs["stateful"]).report()
    assert "get_cache(data: float32[b, t]) -> ()" in text
    assert "state cache: float32[10, 20], at 0" in text and "for etx" in text


def test_a_notebook_shows_methods_and_memory(programs):
    pytest.importorskip("etx._planner")
    page = etx.load(programs["stateful"])._repr_html_()
    assert "get_cache(data" in page and "<iframe srcdoc=" in page
    assert "<script" not in page  # only inside the frame, escaped


def test_planning_shows_its_report(programs, tmp_path):
    pytest.importorskip("etx._planner")
    report = etx.plan(programs["two"].parent / "two", tmp_path / "x.pte")
    assert report["file"].endswith("x.pte") and report["methods"][0]["name"] == "add"
    assert "<table>" in report._repr_html_()


def test_a_former_name_of_a_pass_warns(programs, tmp_path):
    pytest.importorskip("etx._planner")
    folder = programs["two"].parent / "two"
    with pytest.warns(FutureWarning, match="fuse_chains is now called fuse_elementwise"):
        etx.plan(folder, tmp_path / "x.pte", passes="-fuse_chains")


def test_caps_bound_sizes_that_data_decide(tmp_path):
    pytest.importorskip("etx._planner")
    methods, program = DATA / "pt2" / "routed", tmp_path / "x.pte"
    caps = {"spread.u0": 16, "unlimited.u0": 16, "indices.u0": 16}
    with pytest.raises(etx.ExportError, match="has no upper bound"):
        etx.plan(methods, program)
    with pytest.raises(etx.ExportError, match="of method 'spread'"):
        etx.plan(methods, program, cap={"unlimited.u0": 16, "indices.u0": 16})
    assert not program.exists()
    etx.plan(methods, program, cap=caps)
    assert "spread" in etx.load(program).methods


def test_a_plan_keeps_source_lines_on_request(programs, tmp_path):
    pytest.importorskip("etx._planner")
    folder = programs["two"].parent / "two"
    etx.plan(folder, tmp_path / "with.pte", source_lines=True)
    etx.plan(folder, tmp_path / "without.pte")
    kept = (tmp_path / "with.pte").read_bytes()
    assert b"etx.source.v1" in kept and b"add.yaml" in kept
    assert b"etx.source.v1" not in (tmp_path / "without.pte").read_bytes()
    x = np.ones(4, np.float32)
    assert etx.load(tmp_path / "with.pte").session().add(x, x).tolist() == [2, 2, 2, 2]


def test_a_profile_counts_operators(programs):
    session = etx.load(programs["two"]).session()
    x = np.ones(4, np.float32)
    session.add(x, x)
    with session.profile() as profile:
        for _ in range(7):
            session.add(x, x)
    session.add(x, x)
    assert [(row.method, row.operator, row.calls) for row in profile.rows] == [
        ("add", "aten::add.out", 7)
    ]
    assert profile.rows[0].nanoseconds > 0
    assert "aten::add.out" in str(profile) and "<table>" in profile._repr_html_()
    with session.profile() as again:
        pass
    assert again.rows == []


def test_a_trace_has_what_ran(programs, tmp_path):
    session = etx.load(programs["stateful"]).session()
    with session.trace() as use:
        session.get_cache(np.zeros((1, 3), np.float32))
    use.save(tmp_path / "use.yaml")
    assert (tmp_path / "use.yaml").read_text() == use.yaml
    assert f'- "{programs["stateful"].name}:get_cache"' in use.yaml
    assert ":set_cache" not in use.yaml and "aten::" in use.yaml
    with session.trace() as again:
        pass
    assert "aten::" not in again.yaml
    with session.trace():
        with pytest.raises(etx.StateError, match="already being traced"):
            session.profile().__enter__()
    with session.profile():
        with pytest.raises(etx.StateError, match="already being profiled"):
            session.trace().__enter__()


def test_names_are_completed(programs):
    session = etx.load(programs["stateful"]).session()
    session.get_cache  # found once, it is an attribute
    names = dir(session)
    assert {"get_cache", "set_cache", "save"} <= set(names)
    assert names == sorted(set(names))


def test_planning_tells_its_stages(programs, tmp_path):
    pytest.importorskip("etx._planner")
    source, told = programs["two"].parent / "two", []
    etx.plan(source, tmp_path / "x.pte", progress=lambda *stage: told.append(stage))
    assert [done for _, done, _ in told] == list(range(len(told))) and len(told) >= 4
    assert {total for _, _, total in told} == {len(told)}


def test_what_progress_raises_ends_up_with_the_caller(programs, tmp_path):
    pytest.importorskip("etx._planner")

    def stop(stage, done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        etx.plan(programs["two"].parent / "two", tmp_path / "x.pte", progress=stop)
    assert list(tmp_path.iterdir()) == []


def test_progress_is_silent_without_a_terminal(programs, tmp_path, capsys):
    pytest.importorskip("etx._planner")
    etx.plan(programs["two"].parent / "two", tmp_path / "x.pte", progress=True)
    assert capsys.readouterr() == ("", "")
