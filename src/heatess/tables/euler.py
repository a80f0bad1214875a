"""Columns of Euler angles: by which names they are recognised, and what is asked about them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from .units import split_unit

#: The names of angles by the convention that they belong to, in its order.
_ROLES = {
    "bunge": ("phi1", "phi", "phi2"),
    "relion": ("rot", "tilt", "psi"),
    "yaw-pitch-roll": ("yaw", "pitch", "roll"),
    "roll-pitch-yaw": ("roll", "pitch", "yaw"),
}

#: Names that tell the order of the angles, whatever their axes are.
_ORDERED = (
    _ROLES["bunge"],
    ("euler1", "euler2", "euler3"),
    _ROLES["relion"],
    ("rlnanglerot", "rlnangletilt", "rlnanglepsi"),
    ("alpha", "beta", "gamma"),
)

#: One column of three angles.
_LISTS = ("euler", "eulers", "eulerangle", "eulerangles")


class _Likely(NamedTuple):
    """A convention that some names may stand for."""

    convention: str
    words: str
    order: tuple[int, ...] = ()  #: of the columns, where the names do not tell it


_CRYSTALS = _Likely("bunge", "crystals (ZXZ)")
_PARTICLES = _Likely("relion", "particles in cryo-EM (ZYZ)")
_VEHICLES = "vehicles (ZYX: yaw, then pitch, then roll)"

#: Names that are asked about, and what they may be.
_QUESTIONS = {
    _ROLES["bunge"]: (_CRYSTALS,),
    _ORDERED[1]: (_CRYSTALS, _PARTICLES),
    _ROLES["relion"]: (_PARTICLES,),
    _ROLES["yaw-pitch-roll"]: (_Likely("yaw-pitch-roll", _VEHICLES),),
    ("heading", "pitch", "roll"): (_Likely("yaw-pitch-roll", _VEHICLES, (0, 1, 2)),),
    _ORDERED[4]: (_Likely("ZYZ", "quantum mechanics"), _Likely("ZXZ", "classical mechanics")),
    ("phi", "theta", "psi"): (
        _Likely("ZXZ", "tops and gyroscopes", (0, 1, 2)),
        _Likely("yaw-pitch-roll", "vehicles, psi being the yaw", (2, 1, 0)),
    ),
}


def _plain(names: Sequence[str]) -> dict[str, str]:
    """Names in lower case, without a unit and without anything between words, and the columns.

    Also by the last word alone, as in imu.roll, imu.pitch and imu.yaw, where three or more begin alike.
    """
    found: dict[str, str] = {}
    groups: dict[str, dict[str, str]] = {}
    for name in names:
        base = split_unit(name).base
        found.setdefault(re.sub("[^a-z0-9]", "", base), name)
        if parted := re.fullmatch(r"(.+)[._/ ]([a-z]+\d?)", base):
            groups.setdefault(parted[1], {}).setdefault(parted[2], name)
    for group in groups.values():
        found = group | found if len(group) > 2 and not set(group) & set(found) else found
    return found


def _present(plain: dict[str, str], roles: Sequence[str]) -> list[str]:
    """The columns of some roles; none unless all are there."""
    found = [plain[role] for role in roles if role in plain]
    return found if len(found) == len(roles) else []


def angles_of(names: Sequence[str], lists: Sequence[str], convention: str) -> list[str]:
    """The columns of Euler angles of a convention, in its order; none where names do not tell the order.

    >>> angles_of(["roll", "pitch", "yaw"], [], "yaw-pitch-roll")
    ['yaw', 'pitch', 'roll']
    >>> angles_of(["roll", "pitch", "yaw"], [], "XYZ")
    []
    """
    plain = _plain(names)
    own = _present(plain, _ROLES.get(convention.lower(), (None,)))  # type: ignore[arg-type]
    groups = [own] if own else [group for roles in _ORDERED if (group := _present(plain, roles))]
    groups = groups or [[name] for key, name in _plain(lists).items() if key in _LISTS]
    return groups[0] if len(groups) == 1 else []


def likely_angles(names: Sequence[str], lists: Sequence[str] = ()) -> list[str]:
    """Columns that may be Euler angles by their names; none if no names do.

    >>> likely_angles(["t", "Phi2", "Phi1", "Phi"])
    ['Phi1', 'Phi', 'Phi2']
    """
    plain = _plain(names)
    found = (group for roles in _QUESTIONS if (group := _present(plain, roles)))
    listed = ([name] for key, name in _plain(lists).items() if key in _LISTS)
    return next(found, next(listed, []))


def question(columns: Sequence[str]) -> str:
    """What is asked about such columns, with the arguments that answer it."""
    plain = _plain(columns)
    likely = next(
        (choices for roles, choices in _QUESTIONS.items() if set(_present(plain, roles)) == set(columns)),
        (_CRYSTALS, _PARTICLES),
    )
    choices = []
    for choice in likely:
        order = f", columns={tuple(columns[place] for place in choice.order)}" if choice.order else ""
        choices.append(f"`euler={choice.convention!r}{order}` for those of {choice.words}")
    every = repr(columns[0]) if len(columns) == 1 else repr(tuple(columns))
    axes = "YXZ" if "pitch" in plain else "XYZ"
    return (
        f"columns {', '.join(columns)} may be Euler angles, of which there are many conventions; say "
        f"{', or '.join(choices)}, or other axes, such as `euler={axes!r}, columns={every}` (capitals turn with the "
        "body, small letters are fixed), and `units='deg'` or `units='rad'`"
    )
