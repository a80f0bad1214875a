"""Work that takes long says so, where somebody looks."""

from __future__ import annotations

from heatess.progress import WAITING, Progress


def shown() -> Progress:
    bar = Progress(False)
    bar.shown = True
    return bar


def test_compiling_is_told_once_and_only_to_those_who_look(capsys):
    import numba

    import heatess.compiled  # listens

    def compile_one() -> None:
        assert numba.njit(lambda x: x + x)(2.0) == 4.0

    assert heatess.compiled

    compile_one()
    with Progress(False).told():
        compile_one()
    assert capsys.readouterr().err == ""
    with shown().told():
        compile_one()
        compile_one()
    assert capsys.readouterr().err.count("compiling loops, once for this machine") == 1
    assert WAITING == []
