"""Equinoxes of right ascension: what is said is what the file states, and the line that is advised turns them."""

from __future__ import annotations

import re

import numpy as np
import pytest
from click.testing import CliRunner

import heatess as he
from heatess.cli import main

RA, DEC = np.array([10.0, 100.0, 250.0]), np.array([-20.0, 35.0, 70.0])

FORM = """<VOTABLE version="1.3" xmlns="http://www.ivoa.net/xml/VOTable/v1.3"><RESOURCE><COOSYS ID="S" {system}/><TABLE>
<FIELD name="ra" ucd="pos.eq.ra;meta.main" ref="S" unit="deg" datatype="double"/>
<FIELD name="dec" ucd="pos.eq.dec;meta.main" ref="S" unit="deg" datatype="double"/><DATA><TABLEDATA>{rows}</TABLEDATA>
</DATA></TABLE></RESOURCE></VOTABLE>"""

CASES = {
    'system="eq_FK4" equinox="B1975"': ("in FK4 of the equinox B1975, up to 0.35 degrees", "fk4", "B1975"),
    'system="eq_FK4"': ("in FK4, whose equinox is not said, B1950 by convention, up to 0.7", "fk4", "B1950"),
    'system="eq_FK5" equinox="J1900"': ("in FK5 of the equinox J1900, up to 1.4 degrees", "fk5", "J1900"),
    'system="FK5" equinox="1990.0"': ("in FK5 of the equinox J1990, up to 0.14 degrees", "fk5", "J1990"),
}


def votable(path, system):
    rows = "".join(f"<TR><TD>{a}</TD><TD>{b}</TD></TR>" for a, b in zip(RA, DEC, strict=True))
    path.write_text(FORM.format(system=system, rows=rows))


@pytest.mark.parametrize("system", CASES)
def test_the_equinox_of_a_votable_is_the_one_that_it_states(tmp_path, monkeypatch, system):
    coordinates = pytest.importorskip("astropy.coordinates")
    monkeypatch.chdir(tmp_path)
    votable(tmp_path / "a.vot", system)
    words, frame, equinox = CASES[system]
    with pytest.raises(he.InputError) as asked:
        he.read("a.vot")
    assert words in str(asked.value)
    assert ("B1950" in str(asked.value)) == (equinox == "B1950")
    out = CliRunner().invoke(main, ["inspect", "a.vot"])
    assert words in out.stderr
    exec(re.search('python -c "(.*)"', out.stderr)[1])
    turned = coordinates.SkyCoord(RA, DEC, unit="deg", frame=frame, equinox=equinox).icrs
    truth = he.from_lonlat(turned.ra.deg, turned.dec.deg, units="deg")
    np.testing.assert_allclose(he.read("a_icrs.ecsv").points, truth, atol=1e-11)
    assert he.read("a.vot", **asked.value.remedies[0]).known.frame == "icrs"


@pytest.mark.parametrize(
    "system", ['system="eq_FK5" equinox="J2000"', 'system="eq_FK5"', 'system="ICRS" epoch="J1991.25"']
)
def test_j2000_is_icrs(tmp_path, system):
    pytest.importorskip("astropy")
    votable(tmp_path / "a.vot", system)
    assert he.read(tmp_path / "a.vot").known.frame == "icrs"
