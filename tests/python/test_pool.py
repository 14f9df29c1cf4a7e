"""Pools of sessions: threads, waiting, what a session keeps, what is refused."""

from __future__ import annotations

import gc
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import etx

ONES = np.ones((10, 20), np.float32)


@pytest.fixture
def program(programs):
    return etx.load(programs["stateful"])


def cache_of(session) -> np.ndarray:
    data = np.full((10, 20), -1, np.float32)
    session.get_cache(data)
    return data


def test_eight_threads_share_three_sessions(program):
    pool = program.pool(3)
    initial = cache_of(program.session())
    inside, most, lock = 0, 0, threading.Lock()

    def work(number):
        nonlocal inside, most
        for step in range(100):
            with pool.session() as session:
                with lock:
                    inside += 1
                    most = max(most, inside)
                assert (cache_of(session) == initial).all()
                session.set_cache(ONES * (number * 1000 + step))
                assert (cache_of(session) == number * 1000 + step).all()
                with lock:
                    inside -= 1
        return number

    with ThreadPoolExecutor(8) as threads:
        assert sorted(threads.map(work, range(8))) == list(range(8))
    counts = pool.counts
    assert counts.in_use == 0 and counts.gets == 800
    assert most <= counts.most_in_use <= 3


def test_a_waiting_thread_gets_the_session_that_goes_back(program):
    pool = program.pool(1)
    session = pool.session()
    got = []

    def wait():
        with pool.session(timeout=60) as other:
            got.append(cache_of(other))

    threads = [threading.Thread(target=wait) for _ in range(3)]
    for thread in threads:
        thread.start()
    time.sleep(0.05)
    assert not got
    session.close()
    for thread in threads:
        thread.join(60)
    assert len(got) == 3


def test_a_lost_session_goes_back_and_wakes_a_thread(program):
    pool = program.pool(1)
    session = pool.session()
    got = []

    def wait():
        with pool.session(timeout=60):
            got.append(True)

    thread = threading.Thread(target=wait)
    thread.start()
    time.sleep(0.05)
    del session
    gc.collect()
    thread.join(60)
    assert got == [True] and pool.counts.in_use == 0


def test_an_empty_pool_refuses_after_the_timeout(program):
    pool = program.pool(2)
    first, second = pool.session(), pool.session()
    for timeout in (0, 0.01):
        with pytest.raises(etx.StateError, match="all 2 sessions of this pool are in use"):
            pool.session(timeout=timeout)
    assert pool.counts == etx.PoolCounts(in_use=2, most_in_use=2, gets=2, empties=pool.counts.empties)
    assert pool.counts.empties >= 2
    first.close()
    assert pool.session(timeout=0).is_open
    second.close()


def test_state_is_reset_or_kept(program):
    for keep_state in (False, True):
        pool = program.pool(1, keep_state=keep_state)
        with pool.session() as session:
            initial = cache_of(session)
            session.set_cache(ONES * 5)
        with pool.session() as session:
            assert (cache_of(session) == (ONES * 5 if keep_state else initial)).all()


def test_a_session_that_went_back_is_closed(program):
    pool = program.pool(1)
    with pool.session() as session:
        get_cache = session.get_cache
    with pool.session() as other:
        assert not session.is_open and other.is_open
        for use in (
            lambda: get_cache(ONES.copy()),
            lambda: session.set_cache(ONES),
            lambda: session.reset(),
            lambda: session.state["cache"],
            lambda: session.save(),
        ):
            with pytest.raises(etx.StateError, match="closed"):
                use()
        session.close()  # again: does not take the session from `other`
        assert pool.counts.in_use == 1
        assert (cache_of(other) != 77).all()


def test_a_session_of_a_pool_does_what_others_do(program):
    pool = program.pool(1)
    plain = program.session()
    with pool.session() as session:
        session.set_cache(ONES * 3)
        fork = session.fork()
        plain.restore(session.save())
        for name in program.state:
            session.state[name][...] = 9
            break
        with session.profile() as profile:
            session.set_cache(ONES * 4)
        assert profile.rows
    assert (cache_of(fork) == 3).all() and (cache_of(plain) == 3).all()


def test_arrays_keep_a_session_out(program):
    pool = program.pool(1)
    name = next(iter(program.state))
    session = pool.session()
    shown = session.state[name]
    with pytest.raises(etx.StateError, match="arrays still use memory"):
        session.close()
    assert pool.counts.in_use == 1
    del shown
    session.close()
    assert pool.counts.in_use == 0
    # The exception of a block is not hidden by the arrays that its traceback holds.
    with pytest.raises(KeyError):
        with pool.session() as session:
            held = session.state[name]
            raise KeyError(held.shape)
    del session, held
    gc.collect()
    assert pool.counts.in_use == 0


def test_named_methods_alone_are_loaded(program):
    pool = program.pool(1, methods=["get_cache"])
    with pool.session() as session:
        cache_of(session)
        with pytest.raises(etx.NotFoundError, match="without method 'set_cache'"):
            session.set_cache(ONES)


def test_a_pool_is_closed_before_its_program(program):
    pool = program.pool(2)
    session = pool.session()
    with pytest.raises(etx.StateError, match="1 sessions of this pool are open"):
        pool.close()
    with pytest.raises(etx.StateError, match="are open"):
        program.close()
    session.close()
    pool.close()
    pool.close()
    with pytest.raises(etx.StateError, match="this pool is closed"):
        pool.session()
    program.close()
    with pytest.raises(etx.StateError, match="this program is closed"):
        program.pool(1)


@pytest.mark.parametrize("count", [0, -1, 65536, True, "2", 1.0])
def test_invalid_counts_are_refused(program, count):
    with pytest.raises(etx.ArgumentError, match="'count'"):
        program.pool(count)


def test_unknown_methods_are_refused(program):
    with pytest.raises(etx.MissingMethodError, match="no method 'sett_cache'"):
        program.pool(1, methods=["sett_cache"])
