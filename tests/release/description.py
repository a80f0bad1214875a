"""Whether the description in a wheel stands alone, as a package index shows it: `python description.py WHEEL`."""

from __future__ import annotations

import email
import re
import sys
import zipfile


def main(wheel: str) -> int:
    from readme_renderer import markdown  # only where releases are checked

    with zipfile.ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        metadata = email.message_from_bytes(archive.read(name))
    text = metadata.get_payload(decode=True).decode()
    html = markdown.render(text)
    if html is None:
        print("the description cannot be rendered", file=sys.stderr)
        return 1
    targets = re.findall(r'(?:href|src)="([^"]*)"', html)
    relative = [target for target in targets if not target.startswith(("https://", "http://", "mailto:", "#"))]
    if relative:
        print(f"links and pictures that lead nowhere on a package index: {relative}", file=sys.stderr)
    unsaid = [word for word in ("ducc0", "GNU General Public License", "BSD-3-Clause") if word not in text]
    if unsaid:
        print(f"the description does not speak of {unsaid}", file=sys.stderr)
    return int(bool(relative or unsaid))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
