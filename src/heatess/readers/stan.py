"""Rows of Stan's CSV files that are no draws of the posterior: those of a saved warm-up, and the mean of ADVI."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePath

from ..base.errors import InputError

_SETTING = re.compile(r"#\s*(save_warmup|num_warmup|thin|method|algorithm)\s*=\s*(\w+)", re.I)


def refuse_other_rows(lines: Iterable[str], name: str) -> None:
    """An `InputError` that says how to leave them out, if comments in the first *lines* tell that there are some.

    >>> refuse_other_rows(["# num_warmup = 1000 (Default)", "# save_warmup = 1", "# thin = 3"], "out.csv")
    Traceback (most recent call last):
    ...
    heatess.base.errors.InputError: out.csv: its first 334 rows are of the warm-up, and no draws of the posterior; to \
leave them out, type: pip install pandas && python -c "import pandas; pandas.read_csv('out.csv', \
comment='#').iloc[334:].to_csv('out-draws.csv', index=False)"
    """
    said: dict[str, str] = {}
    for line in lines:
        if found := _SETTING.match(line.lstrip()):
            said.setdefault(found[1].lower(), found[2].lower())
    if said.get("method") == "variational":
        count, what = 1, "first row is the mean of the approximation, and no draw"
    elif said.get("save_warmup") in ("1", "true") and said.get("algorithm") != "fixed_param":
        warm, step = (
            int(text) if text.isdecimal() else 1 for text in (said.get("num_warmup", ""), said.get("thin", ""))
        )
        count = -(-warm // max(step, 1))
        what = f"first {count:,} rows are of the warm-up, and no draws"
    else:
        return
    if count:
        out = f"{PurePath(name).name.partition('.')[0]}-draws.csv"
        code = f"import pandas; pandas.read_csv({name!r}, comment='#').iloc[{count}:].to_csv({out!r}, index=False)"
        line = f'pip install pandas && python -c "{code}"'
        them = "it" if count == 1 else "them"
        raise InputError(f"{name}: its {what} of the posterior; to leave {them} out, type: {line}")
